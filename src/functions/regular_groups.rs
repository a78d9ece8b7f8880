//! Which part of a match each group of a regular expression matched, as PostgreSQL decides: of a sequence the first part
//! takes as much as it can (or as little, where its quantifier asks for that) while the rest can still match, of an
//! alternation the first branch that can. `regular_expression` knows where the whole match is, and asks.
//!
//! Each part of the pattern that such a decision needs is an automaton of its own, run over a slice of the text, so
//! that no decision goes back on another and nothing recurses deeper than the pattern is nested.

use std::cell::{Cell, OnceCell};

use regex_automata::{Anchored, Input};
use regex_syntax::hir::{Hir, HirKind, Repetition};

use super::regular_automaton::Automaton;
use crate::error::Limit;
use crate::{Error, Result};

/// Bytes that one search for groups may look at, over and over.
const WORK_MAX: usize = 1 << 30;
/// Iterations of a group whose number is bounded have an automaton for each number that is left, up to these.
const COUNTED_MAX: u32 = 256;

/// Where a group matched: from one byte up to another.
pub(super) type Span = (usize, usize);

/// A match: the whole first, then each group.
pub(super) type Groups = Vec<Option<Span>>;

/// Which of several lengths a part of a pattern prefers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Longest,
    Shortest,
}

/// What the pattern prefers; `None`: it has no quantifier that says.
pub(super) fn preferred_length(hir: &Hir) -> Option<Length> {
    match hir.kind() {
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => None,
        HirKind::Capture(capture) => preferred_length(&capture.sub),
        HirKind::Concat(items) => items.iter().find_map(preferred_length),
        HirKind::Alternation(_) => Some(Length::Longest),
        HirKind::Repetition(repetition) => match (repetition.max, repetition.greedy) {
            (Some(max), _) if max == repetition.min => preferred_length(&repetition.sub),
            (_, true) => Some(Length::Longest),
            (_, false) => Some(Length::Shortest),
        },
    }
}

/// A part of a pattern, and what finds where it ends.
#[derive(Debug)]
pub(super) struct Part {
    hir: Hir,
    automaton: OnceCell<Option<Automaton>>,
}

impl Part {
    pub(super) fn new(hir: Hir) -> Part {
        Part {
            hir,
            automaton: OnceCell::new(),
        }
    }

    /// Where a match that begins at `from` ends that ends by `limit`. Errors: 54000 for a pattern that is too large.
    pub(super) fn end(&self, text: &str, from: usize, limit: usize, length: Length) -> Result<Option<usize>> {
        let automaton = self.automaton.get_or_init(|| Automaton::new(&self.hir));
        let automaton = automaton.as_ref().ok_or_else(too_complex)?;
        let input = Input::new(text)
            .range(from..limit)
            .anchored(Anchored::Yes)
            .earliest(length == Length::Shortest);
        Ok(automaton.end(&input))
    }
}

/// 54000 for a pattern whose groups take too much to be found.
pub(super) fn too_complex() -> Error {
    Error::LimitExceeded {
        state: Limit::Program,
        message: "regular expression is too complex".to_string(),
        hint: "Use fewer groups and bounded repetitions, or shorter texts.".to_string(),
    }
}

/// A pattern as groups see it.
#[derive(Debug)]
pub(super) enum Node {
    /// No group in it.
    Plain,
    /// A group by its number.
    Group(usize, Box<Node>),
    /// One after the other; with each what comes behind it.
    Sequence(Vec<Step>),
    /// One of them.
    Alternation(Vec<(Part, Node)>),
    /// The same so many times.
    Iteration(Box<Iteration>),
}

/// A part of a sequence.
#[derive(Debug)]
pub(super) struct Step {
    part: Part,
    node: Node,
    prefers: Length,
    /// What comes behind it.
    rest: Part,
}

/// A part that comes several times, or not at all.
#[derive(Debug)]
pub(super) struct Iteration {
    part: Part,
    node: Node,
    prefers: Length,
    /// The numbers of the groups in it.
    groups: std::ops::Range<usize>,
    max: Option<u32>,
    /// By the number of iterations before: how often it still comes behind the next.
    rests: Vec<Part>,
}

impl Node {
    /// The pattern with its groups.
    pub(super) fn new(hir: &Hir) -> Node {
        if hir.properties().explicit_captures_len() == 0 {
            return Node::Plain;
        }
        match hir.kind() {
            HirKind::Capture(capture) => {
                Node::Group(capture.index as usize, Box::new(Node::new(&capture.sub)))
            }
            HirKind::Concat(items) => Node::Sequence(sequence(items)),
            HirKind::Alternation(branches) => {
                let branch = |hir: &Hir| (Part::new(hir.clone()), Node::new(hir));
                Node::Alternation(branches.iter().map(branch).collect())
            }
            HirKind::Repetition(repetition) if repetition.min > 0 => Node::Sequence(last_apart(repetition)),
            HirKind::Repetition(repetition) => Node::Iteration(Box::new(iteration(repetition))),
            HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => Node::Plain,
        }
    }
}

/// Parts without groups that prefer the same length are one part.
fn sequence(items: &[Hir]) -> Vec<Step> {
    let mut parts: Vec<(Vec<Hir>, Option<Length>, bool)> = Vec::new();
    for item in items {
        let (prefers, is_plain) = (
            preferred_length(item),
            item.properties().explicit_captures_len() == 0,
        );
        match parts.last_mut() {
            Some((together, common, true))
                if is_plain && (common.is_none() || prefers.is_none() || *common == prefers) =>
            {
                together.push(item.clone());
                *common = common.or(prefers);
            }
            _ => parts.push((vec![item.clone()], prefers, is_plain)),
        }
    }
    let whole: Vec<Hir> = parts
        .iter()
        .map(|(items, ..)| Hir::concat(items.clone()))
        .collect();
    let step = |(at, (items, prefers, is_plain)): (usize, (Vec<Hir>, Option<Length>, bool))| Step {
        part: Part::new(whole[at].clone()),
        node: match items.as_slice() {
            [item] if !is_plain => Node::new(item),
            _ => Node::Plain,
        },
        prefers: prefers.unwrap_or(Length::Longest),
        rest: Part::new(Hir::concat(whole[at + 1..].to_vec())),
    };
    parts.into_iter().enumerate().map(step).collect()
}

/// `x+` as `x*x`: of what comes once at least PostgreSQL takes all but the last, as much as it can, and the groups are those of the
/// last.
fn last_apart(repetition: &Repetition) -> Vec<Step> {
    let before = Hir::repetition(Repetition {
        min: repetition.min - 1,
        max: repetition.max.map(|max| max.saturating_sub(1)),
        greedy: repetition.greedy,
        sub: Box::new(without_groups(&repetition.sub)),
    });
    sequence(&[before, (*repetition.sub).clone()])
}

/// The same pattern, its groups no groups.
fn without_groups(hir: &Hir) -> Hir {
    match hir.kind() {
        HirKind::Capture(capture) => without_groups(&capture.sub),
        HirKind::Repetition(repetition) => Hir::repetition(Repetition {
            sub: Box::new(without_groups(&repetition.sub)),
            ..repetition.clone()
        }),
        HirKind::Concat(items) => Hir::concat(items.iter().map(without_groups).collect()),
        HirKind::Alternation(items) => Hir::alternation(items.iter().map(without_groups).collect()),
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => hir.clone(),
    }
}

fn iteration(repetition: &Repetition) -> Iteration {
    let max = repetition.max;
    let rest = |done: u32| {
        Part::new(Hir::repetition(Repetition {
            min: 0,
            max: max.map(|max| max.saturating_sub(done)),
            greedy: true,
            sub: repetition.sub.clone(),
        }))
    };
    let mut groups = group_numbers(&repetition.sub);
    groups.sort_unstable();
    let first = groups.first().copied().unwrap_or(0);
    Iteration {
        part: Part::new((*repetition.sub).clone()),
        node: Node::new(&repetition.sub),
        prefers: preferred_length(&repetition.sub).unwrap_or(Length::Longest),
        groups: first..groups.last().map_or(first, |last| last + 1),
        max,
        // From the last on all rests are alike, unless the number is bounded.
        rests: (1..=max.unwrap_or(1).clamp(1, COUNTED_MAX)).map(rest).collect(),
    }
}

fn group_numbers(hir: &Hir) -> Vec<usize> {
    match hir.kind() {
        HirKind::Capture(capture) => {
            let mut numbers = group_numbers(&capture.sub);
            numbers.push(capture.index as usize);
            numbers
        }
        HirKind::Repetition(repetition) => group_numbers(&repetition.sub),
        HirKind::Concat(items) | HirKind::Alternation(items) => {
            items.iter().flat_map(group_numbers).collect()
        }
        HirKind::Empty | HirKind::Literal(_) | HirKind::Class(_) | HirKind::Look(_) => Vec::new(),
    }
}

/// A search for the groups of one match.
pub(super) struct Search<'t> {
    text: &'t str,
    work: Cell<usize>,
}

impl<'t> Search<'t> {
    pub(super) fn new(text: &'t str) -> Search<'t> {
        Search {
            text,
            work: Cell::new(0),
        }
    }

    /// Finds the groups of a node that matches `span`. Errors: 54000.
    pub(super) fn find(&self, node: &Node, span: Span, groups: &mut [Option<Span>]) -> Result<()> {
        match node {
            Node::Plain => Ok(()),
            Node::Group(number, inner) => {
                groups[*number] = Some(span);
                self.find(inner, span, groups)
            }
            Node::Sequence(steps) => {
                let (mut from, end) = span;
                for step in steps {
                    let Some(middle) = self.middle(step, from, end)? else {
                        return Ok(());
                    };
                    self.find(&step.node, (from, middle), groups)?;
                    from = middle;
                }
                Ok(())
            }
            Node::Alternation(branches) => {
                for (part, node) in branches {
                    if self.is_exact(part, span)? {
                        return self.find(node, span, groups);
                    }
                }
                Ok(())
            }
            Node::Iteration(iteration) => self.iterate(iteration, span, groups),
        }
    }

    /// Each iteration in turn; the last one's groups count.
    fn iterate(&self, iteration: &Iteration, span: Span, groups: &mut [Option<Span>]) -> Result<()> {
        let (mut from, end) = span;
        if from == end && !self.is_exact(&iteration.part, span)? {
            return Ok(());
        }
        let mut done = 0_usize;
        loop {
            let last = iteration.rests.len() - 1;
            if iteration.max.is_some() && done > last {
                return Ok(());
            }
            let rest = &iteration.rests[done.min(last)];
            let is_next = |middle: usize| (middle > from || from == end).then_some(middle);
            let middle = self.split(&iteration.part, rest, (from, end), iteration.prefers, is_next)?;
            let Some(middle) = middle else { return Ok(()) };
            groups[iteration.groups.clone()].fill(None);
            self.find(&iteration.node, (from, middle), groups)?;
            (from, done) = (middle, done + 1);
            if from == end {
                return Ok(());
            }
        }
    }

    fn middle(&self, step: &Step, from: usize, end: usize) -> Result<Option<usize>> {
        self.split(&step.part, &step.rest, (from, end), step.prefers, Some)
    }

    /// Where the first part ends so that the rest matches up to the end, at the longest or the shortest.
    fn split(
        &self,
        part: &Part,
        rest: &Part,
        (from, end): Span,
        prefers: Length,
        accept: impl Fn(usize) -> Option<usize>,
    ) -> Result<Option<usize>> {
        let is_split = |middle: usize| -> Result<bool> {
            Ok(accept(middle).is_some() && self.is_exact(rest, (middle, end))?)
        };
        if prefers == Length::Shortest {
            let Some(first) = self.end(part, from, end, Length::Shortest)? else {
                return Ok(None);
            };
            let boundaries = (first..=end).filter(|at| self.text.is_char_boundary(*at));
            for middle in boundaries {
                if (middle == first || self.is_exact(part, (from, middle))?) && is_split(middle)? {
                    return Ok(Some(middle));
                }
            }
            return Ok(None);
        }
        let mut limit = end;
        while let Some(middle) = self.end(part, from, limit, Length::Longest)? {
            if is_split(middle)? {
                return Ok(Some(middle));
            }
            match self.text[from..middle].chars().next_back() {
                Some(character) => limit = middle - character.len_utf8(),
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    fn is_exact(&self, part: &Part, (from, end): Span) -> Result<bool> {
        Ok(self.end(part, from, end, Length::Longest)? == Some(end))
    }

    fn end(&self, part: &Part, from: usize, limit: usize, length: Length) -> Result<Option<usize>> {
        self.work.set(self.work.get() + (limit - from) + 16);
        if self.work.get() > WORK_MAX {
            return Err(too_complex());
        }
        part.end(self.text, from, limit, length)
    }
}
