//! The texts of queries: tsquery's own (`'fat' & !'cat':AB <-> 'rat':*`) and that of websearch_to_tsquery; how a query prints.
//! What a word of a text means is said by who asks for the query, for to_tsquery makes several of one, or none.

use std::fmt;

use super::query::{
    DEPTH_MAX, DISTANCE_MAX, Operand, QueryNode, TsQuery, out_of_distance, priority, too_deep,
};
use super::vector::Weight;
use super::word_reader::{WordReader, check_length, escaped, invalid};
use crate::Result;
use crate::types::spaces::is_space;

/// How the text of a query is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueryStyle {
    /// tsquery's own operators; what is no query is an error.
    Operators,
    /// That of search engines: quotes, `or`, `-`; nothing is an error.
    Web,
}

/// What a word of the text means; `None`: nothing that is searched for.
pub(crate) type WordMeaning<'a> = dyn FnMut(Operand) -> Result<Option<QueryNode>> + 'a;

/// The query of a text. Errors: 42601, 22023, 54001, and those of `meaning`.
pub(crate) fn parse_query(text: &str, style: QueryStyle, meaning: &mut WordMeaning<'_>) -> Result<TsQuery> {
    let is_operator: fn(char) -> bool = match style {
        QueryStyle::Operators => |letter| matches!(letter, '!' | '&' | '|' | '(' | ')' | '<'),
        QueryStyle::Web => |letter| matches!(letter, '!' | '&' | '|' | '(' | ')' | '<' | '"'),
    };
    let mut parser = Parser {
        reader: WordReader {
            text,
            rest: text,
            type_name: "tsquery",
            is_operator,
        },
        meaning,
    };
    let part = match style {
        QueryStyle::Operators => parser.whole()?,
        QueryStyle::Web => parser.web()?,
    };
    TsQuery::new(part.cleaned())
}

impl TsQuery {
    /// Reads the text form. Errors: 42601, 22023, 54000, 54001.
    pub(crate) fn parse(text: &str) -> Result<TsQuery> {
        parse_query(text, QueryStyle::Operators, &mut |operand| {
            Ok(Some(QueryNode::Word(operand)))
        })
    }
}

/// A part of a query that is being read. Words that mean nothing are left out: where they stood in a phrase the distance of the others grows.
#[derive(Debug)]
struct Part {
    node: Option<QueryNode>,
    /// Operators within each other, at most.
    depth: usize,
    /// What the distance to what stands before it, and behind it, in a phrase is to grow by.
    before: u16,
    behind: u16,
}

impl Part {
    fn of(node: Option<QueryNode>) -> Part {
        Part {
            depth: node.as_ref().map_or(1, QueryNode::depth),
            node,
            before: 0,
            behind: 0,
        }
    }

    fn cleaned(self) -> Option<QueryNode> {
        self.node
    }

    /// Errors: 54001.
    fn checked(self) -> Result<Part> {
        match self.depth > DEPTH_MAX {
            true => Err(too_deep()),
            false => Ok(self),
        }
    }

    fn not(self) -> Result<Part> {
        let part = Part {
            node: self.node.map(|node| QueryNode::Not(Box::new(node))),
            depth: self.depth + 1,
            ..self
        };
        part.checked()
    }

    /// Both, or one of both.
    fn join(self, other: Part, join: fn(QueryNode, QueryNode) -> QueryNode) -> Result<Part> {
        let depth = self.depth.max(other.depth + 1);
        let part = match (self.node, other.node) {
            (Some(left), Some(right)) => Part {
                node: Some(join(left, right)),
                depth,
                before: 0,
                behind: 0,
            },
            (Some(node), None) => Part {
                node: Some(node),
                ..self
            },
            (None, Some(node)) => Part {
                node: Some(node),
                ..other
            },
            (None, None) => {
                let width = self.before.max(other.before);
                Part {
                    node: None,
                    depth,
                    before: width,
                    behind: width,
                }
            }
        };
        part.checked()
    }

    /// One behind the other.
    fn phrase(self, other: Part, distance: u16) -> Result<Part> {
        let depth = self.depth.max(other.depth) + 1;
        let part = match (self.node, other.node) {
            (Some(left), Some(right)) => {
                let distance = distance.saturating_add(self.behind).saturating_add(other.before);
                Part {
                    node: Some(QueryNode::phrase(left, right, distance.min(DISTANCE_MAX))),
                    depth,
                    before: self.before,
                    behind: other.behind,
                }
            }
            (Some(node), None) => Part {
                node: Some(node),
                depth: self.depth,
                before: self.before,
                behind: sum([self.behind, distance, other.behind]),
            },
            (None, Some(node)) => Part {
                node: Some(node),
                depth: other.depth,
                before: sum([self.before, distance, other.before]),
                behind: other.behind,
            },
            (None, None) => {
                let width = sum([self.before, distance, other.before]);
                Part {
                    node: None,
                    depth,
                    before: width,
                    behind: width,
                }
            }
        };
        part.checked()
    }
}

fn sum(distances: [u16; 3]) -> u16 {
    distances.into_iter().fold(0, u16::saturating_add)
}

/// Words one behind the other, each behind so many places of what means nothing, as a part of a query.
pub(crate) fn phrase_of(words: impl IntoIterator<Item = (u16, QueryNode)>) -> Result<Option<QueryNode>> {
    let mut phrase: Option<Part> = None;
    for (distance, node) in words {
        let word = Part::of(Some(node));
        phrase = Some(match phrase {
            None => word,
            Some(phrase) => phrase.phrase(word, distance)?,
        });
    }
    Ok(phrase.and_then(Part::cleaned))
}

struct Parser<'a, 'm> {
    reader: WordReader<'a>,
    meaning: &'m mut WordMeaning<'m>,
}

impl Parser<'_, '_> {
    fn whole(&mut self) -> Result<Part> {
        self.reader.skip_spaces();
        if self.reader.peek().is_none() {
            return Ok(Part::of(None));
        }
        let part = self.either(0)?;
        self.reader.skip_spaces();
        match self.reader.peek() {
            None => Ok(part),
            Some(_) => Err(self.reader.fault()),
        }
    }

    /// Takes the character, if it comes next behind spaces.
    fn takes(&mut self, wanted: char) -> bool {
        self.reader.skip_spaces();
        let comes = self.reader.peek() == Some(wanted);
        if comes {
            self.reader.next();
        }
        comes
    }

    fn either(&mut self, depth: usize) -> Result<Part> {
        let mut part = self.all(depth)?;
        while self.takes('|') {
            part = part.join(self.all(depth)?, QueryNode::or)?;
        }
        Ok(part)
    }

    fn all(&mut self, depth: usize) -> Result<Part> {
        let mut part = self.phrase(depth)?;
        while self.takes('&') {
            part = part.join(self.phrase(depth)?, QueryNode::and)?;
        }
        Ok(part)
    }

    fn phrase(&mut self, depth: usize) -> Result<Part> {
        let mut part = self.single(depth)?;
        while self.takes('<') {
            let distance = self.distance()?;
            part = part.phrase(self.single(depth)?, distance)?;
        }
        Ok(part)
    }

    /// What stands between `<` and `>`.
    fn distance(&mut self) -> Result<u16> {
        let (inner, rest) = self
            .reader
            .rest
            .split_once('>')
            .ok_or_else(|| self.reader.fault())?;
        let is_number = !inner.is_empty() && inner.bytes().all(|byte| byte.is_ascii_digit());
        let distance = match inner {
            "-" => 1,
            digits if is_number => digits.parse::<u32>().unwrap_or(u32::MAX),
            _ => return Err(self.reader.fault()),
        };
        self.reader.rest = rest;
        let distance = u16::try_from(distance)
            .ok()
            .filter(|distance| *distance <= DISTANCE_MAX);
        distance.ok_or_else(out_of_distance)
    }

    fn single(&mut self, depth: usize) -> Result<Part> {
        if depth > DEPTH_MAX {
            return Err(too_deep());
        }
        if self.takes('!') {
            return self.single(depth + 1)?.not();
        }
        if self.takes('(') {
            let part = self.either(depth + 1)?;
            return match self.takes(')') {
                true => Ok(part),
                false => Err(self.reader.fault()),
            };
        }
        if self.reader.peek() == Some(':') {
            return Err(self.reader.fault());
        }
        let Some(word) = self.reader.word()? else {
            let text = self.reader.text;
            return Err(invalid(format!("no operand in tsquery: \"{text}\"")));
        };
        check_length(&word)?;
        let (weights, is_prefix) = self.weights();
        let operand = Operand {
            word,
            weights,
            is_prefix,
        };
        (self.meaning)(operand).map(Part::of)
    }

    /// The letters behind `:`.
    fn weights(&mut self) -> (u8, bool) {
        let (mut weights, mut is_prefix) = (0, false);
        if self.reader.peek() != Some(':') {
            return (weights, is_prefix);
        }
        self.reader.next();
        while let Some(letter) = self.reader.peek() {
            match (letter, Weight::of_letter(letter)) {
                ('*', _) => is_prefix = true,
                (_, Some(weight)) => weights |= weight.bit(),
                _ => break,
            }
            self.reader.next();
        }
        (weights, is_prefix)
    }

    /// What search engines take: whatever it is.
    fn web(&mut self) -> Result<Part> {
        let mut whole: Option<Part> = None;
        let mut alternative: Option<Part> = None;
        loop {
            let Some(part) = self.web_operand()? else { break };
            alternative = Some(match alternative {
                None => part,
                Some(before) => before.join(part, QueryNode::and)?,
            });
            if self.takes_or() {
                whole = Some(match (whole.take(), alternative.take()) {
                    (Some(whole), Some(part)) => whole.join(part, QueryNode::or)?,
                    (whole, part) => whole.or(part).unwrap_or(Part::of(None)),
                });
            }
        }
        Ok(match (whole, alternative) {
            (Some(whole), Some(part)) => whole.join(part, QueryNode::or)?,
            (whole, part) => whole.or(part).unwrap_or(Part::of(None)),
        })
    }

    /// `None`: nothing is left.
    fn web_operand(&mut self) -> Result<Option<Part>> {
        let mut negations = 0;
        loop {
            self.reader.skip_spaces();
            match self.reader.peek() {
                None if negations > 0 => return Ok(Some(Part::of(None))),
                None => return Ok(None),
                Some('-') => {
                    negations += 1;
                    self.reader.next();
                }
                Some('"') => break,
                Some(other) if (self.reader.is_operator)(other) => drop(self.reader.next()),
                Some(_) => break,
            }
        }
        let text = match self.reader.peek() {
            Some('"') => {
                self.reader.next();
                let (inner, rest) = self.reader.rest.split_once('"').unwrap_or((self.reader.rest, ""));
                self.reader.rest = rest;
                inner.to_string()
            }
            _ => self.web_word(),
        };
        let part = Part::of((self.meaning)(Operand::any(text))?);
        // Twice negated is once in no more.
        let mut part = part;
        for _ in 0..negations.min(DEPTH_MAX) {
            part = part.not()?;
        }
        Ok(Some(part))
    }

    fn web_word(&mut self) -> String {
        let is_operator = self.reader.is_operator;
        let rest = self.reader.rest;
        let ends = |(at, letter): &(usize, char)| {
            *at > 0 && (is_space(*letter) || *letter == ':' || is_operator(*letter))
        };
        let end = rest.char_indices().find(ends).map_or(rest.len(), |(at, _)| at);
        let (word, rest) = rest.split_at(end);
        self.reader.rest = rest;
        word.to_string()
    }

    /// Takes `or` that stands by itself, with something behind it; operators in front of it mean nothing.
    fn takes_or(&mut self) -> bool {
        let is_operator = self.reader.is_operator;
        let is_skipped = |letter: char| is_space(letter) || letter != '"' && is_operator(letter);
        let rest = self.reader.rest.trim_start_matches(is_skipped);
        let Some((word, behind)) = rest.split_at_checked(2) else {
            return false;
        };
        let goes_on = |next: char| matches!(next, '-' | '_') || next.is_alphanumeric();
        let is_word = word.eq_ignore_ascii_case("or") && !behind.starts_with(goes_on);
        let mut letters = behind.chars();
        let is_taken = is_word && letters.next().is_some() && letters.any(|letter| !is_space(letter));
        if is_taken {
            self.reader.rest = behind;
        }
        is_taken
    }
}

impl fmt::Display for TsQuery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.root {
            Some(root) => put(f, root, 0, false),
            None => Ok(()),
        }
    }
}

/// `outer`: how the operator around it binds; `behind`: it is the right side of a phrase.
fn put(f: &mut fmt::Formatter<'_>, node: &QueryNode, outer: u8, behind: bool) -> fmt::Result {
    let own = priority(node);
    let is_phrase = matches!(node, QueryNode::Phrase(..));
    let has_parentheses = own < outer || is_phrase && behind;
    if has_parentheses {
        f.write_str("( ")?;
    }
    match node {
        QueryNode::Word(operand) => put_operand(f, operand)?,
        QueryNode::Not(inner) => {
            f.write_str("!")?;
            put(f, inner, own, false)?;
        }
        QueryNode::And(list) | QueryNode::Or(list) => {
            let symbol = if matches!(node, QueryNode::And(_)) {
                " & "
            } else {
                " | "
            };
            for (at, part) in list.iter().enumerate() {
                if at > 0 {
                    f.write_str(symbol)?;
                }
                put(f, part, own, false)?;
            }
        }
        QueryNode::Phrase(left, right, distance) => {
            put(f, left, own, false)?;
            match distance {
                1 => f.write_str(" <-> ")?,
                distance => write!(f, " <{distance}> ")?,
            }
            put(f, right, own, true)?;
        }
    }
    if has_parentheses {
        f.write_str(" )")?;
    }
    Ok(())
}

fn put_operand(f: &mut fmt::Formatter<'_>, operand: &Operand) -> fmt::Result {
    write!(f, "'{}'", escaped(&operand.word))?;
    if operand.weights == 0 && !operand.is_prefix {
        return Ok(());
    }
    f.write_str(if operand.is_prefix { ":*" } else { ":" })?;
    for weight in [Weight::A, Weight::B, Weight::C, Weight::D] {
        if operand.weights & weight.bit() != 0 {
            write!(f, "{}", weight.letter())?;
        }
    }
    Ok(())
}
