//! `RegularExpression`: PostgreSQL's advanced regular expressions. Of the matches that begin first it takes the longest, or
//! the shortest where the pattern's first quantifier asks for that, and gives its groups their parts of it
//! (`regular_groups`). Automata do all of it, so that the time of a search is bounded; but back references and look-around,
//! which no automaton knows, backtrack (`regular_backtracking`). How patterns are written, `regular_syntax` knows. Whoever
//! evaluates patterns compiles here; knows nothing of columns.

use std::cell::OnceCell;

use regex_automata::Input;
use regex_automata::meta;
use regex_syntax::hir::Hir;

use super::regular_automaton::REGEX_BYTES_MAX;
use super::regular_backtracking::Backtracking;
use super::regular_fault::{TOO_COMPLEX, invalid};
use super::regular_groups::{Groups, Length, Node, Part, Search, Span, preferred_length};
use super::regular_options::RegularOptions;
use super::regular_syntax::rust_pattern;
use crate::Result;

/// A compiled pattern.
#[derive(Debug)]
pub(super) enum RegularExpression {
    Automata(Box<Automata>),
    Backtracking(Box<Backtracking>),
}

/// A pattern that automata know.
#[derive(Debug)]
pub(super) struct Automata {
    /// Finds where matches begin.
    first: meta::Regex,
    /// Finds where they end.
    whole: Part,
    prefers: Length,
    groups: usize,
    hir: Hir,
    nodes: OnceCell<Node>,
}

impl RegularExpression {
    /// Errors: 2201B for a pattern that is none, 22023 for flags that are none.
    pub(super) fn new(pattern: &str, flags: &str) -> Result<RegularExpression> {
        let pattern = rust_pattern(pattern, RegularOptions::read(flags)?)?;
        if pattern.backtracks {
            let regex = Backtracking::new(&pattern)?;
            return Ok(RegularExpression::Backtracking(Box::new(regex)));
        }
        let options = pattern.options;
        let hir = regex_syntax::ParserBuilder::new()
            .case_insensitive(options.ignores_case)
            .dot_matches_new_line(options.dot_matches_newline)
            .multi_line(options.anchors_match_lines)
            .build()
            .parse(&pattern.text)
            .map_err(|_| invalid(TOO_COMPLEX))?;
        Ok(RegularExpression::Automata(Box::new(Automata::new(
            hir,
            pattern.groups,
        )?)))
    }

    /// What it takes at least. In bytes.
    pub(super) fn bytes(&self) -> usize {
        match self {
            RegularExpression::Automata(automata) => automata.first.memory_usage(),
            RegularExpression::Backtracking(regex) => regex.bytes(),
        }
    }

    /// Whether it matches somewhere. Errors: 54000.
    pub(super) fn is_match(&self, text: &str) -> Result<bool> {
        match self {
            RegularExpression::Automata(automata) => Ok(automata.first.is_match(text)),
            RegularExpression::Backtracking(regex) => regex.is_match(text),
        }
    }

    /// How many groups it has.
    pub(super) fn group_count(&self) -> usize {
        match self {
            RegularExpression::Automata(automata) => automata.groups,
            RegularExpression::Backtracking(regex) => regex.group_count(),
        }
    }

    /// The first match from a byte on. Errors: 54000.
    pub(super) fn find_at(&self, text: &str, from: usize) -> Result<Option<Span>> {
        match self {
            RegularExpression::Automata(automata) => automata.find_at(text, from),
            RegularExpression::Backtracking(regex) => regex.find_at(text, from),
        }
    }

    /// The first match from a byte on, with its groups. Errors: 54000.
    pub(super) fn groups_at(&self, text: &str, from: usize) -> Result<Option<Groups>> {
        match self {
            RegularExpression::Automata(automata) => automata.groups_at(text, from),
            RegularExpression::Backtracking(regex) => regex.groups_at(text, from),
        }
    }

    /// Every match from a byte on, one behind the other; behind an empty one the search goes on a character further.
    /// Errors of each: 54000.
    pub(super) fn find_all<'a>(
        &'a self,
        text: &'a str,
        from: usize,
    ) -> impl Iterator<Item = Result<Span>> + 'a {
        matches(text, from, |at| self.find_at(text, at), |span| *span)
    }

    /// As `find_all`, with the groups.
    pub(super) fn groups_of_all<'a>(
        &'a self,
        text: &'a str,
        from: usize,
    ) -> impl Iterator<Item = Result<Groups>> + 'a {
        let whole = |groups: &Groups| {
            groups
                .first()
                .copied()
                .flatten()
                .unwrap_or((text.len(), text.len()))
        };
        matches(text, from, |at| self.groups_at(text, at), whole)
    }
}

impl Automata {
    fn new(hir: Hir, groups: usize) -> Result<Automata> {
        let config = meta::Config::new().nfa_size_limit(Some(REGEX_BYTES_MAX));
        let first = meta::Regex::builder().configure(config).build_from_hir(&hir);
        Ok(Automata {
            first: first.map_err(|_| invalid(TOO_COMPLEX))?,
            whole: Part::new(hir.clone()),
            prefers: preferred_length(&hir).unwrap_or(Length::Longest),
            groups,
            hir,
            nodes: OnceCell::new(),
        })
    }

    fn find_at(&self, text: &str, from: usize) -> Result<Option<Span>> {
        let Some(found) = self.first.search(&Input::new(text).range(from..)) else {
            return Ok(None);
        };
        let end = self.whole.end(text, found.start(), text.len(), self.prefers)?;
        Ok(Some((found.start(), end.unwrap_or(found.end()))))
    }

    fn groups_at(&self, text: &str, from: usize) -> Result<Option<Groups>> {
        let Some(span) = self.find_at(text, from)? else {
            return Ok(None);
        };
        let mut groups = vec![None; self.groups + 1];
        groups[0] = Some(span);
        let nodes = self.nodes.get_or_init(|| Node::new(&self.hir));
        Search::new(text).find(nodes, span, &mut groups)?;
        Ok(Some(groups))
    }
}

fn matches<'a, M: 'a>(
    text: &'a str,
    from: usize,
    next: impl Fn(usize) -> Result<Option<M>> + 'a,
    span: impl Fn(&M) -> Span + 'a,
) -> impl Iterator<Item = Result<M>> + 'a {
    let mut at = Some(from);
    std::iter::from_fn(move || {
        let found = match next(at.take()?) {
            Ok(found) => found?,
            Err(error) => return Some(Err(error)),
        };
        let (start, end) = span(&found);
        at = match text[end..].chars().next() {
            _ if start < end => Some(end),
            Some(character) => Some(end + character.len_utf8()),
            None => None,
        };
        Some(Ok(found))
    })
}
