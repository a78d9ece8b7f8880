//! `RegularExpression`: PostgreSQL's advanced regular expressions. Of the matches that begin first it takes the longest, or
//! the shortest where the pattern's first quantifier asks for that, and gives its groups their parts of it
//! (`regular_groups`). Automata do all of it, so that the time of a search is bounded; back references and look-around, which no
//! automaton knows, are refused. Whoever evaluates patterns compiles here; knows nothing of columns.

use std::cell::OnceCell;

use regex_automata::Input;
use regex_automata::meta;
use regex_syntax::ast::ErrorKind;
use regex_syntax::hir::Hir;

use super::regular_automaton::REGEX_BYTES_MAX;
use super::regular_groups::{Length, Node, Part, Search, Span, preferred_length};
use crate::{Error, Result};

/// A compiled pattern.
#[derive(Debug)]
pub(super) struct RegularExpression {
    /// Finds where matches begin.
    first: meta::Regex,
    /// Finds where they end.
    whole: Part,
    prefers: Length,
    hir: Hir,
    nodes: OnceCell<Node>,
}

/// A match: the whole first, then each group.
pub(super) type Groups = Vec<Option<Span>>;

impl RegularExpression {
    /// Errors: 2201B for a pattern that is none, 22023 for flags that are none.
    pub(super) fn new(pattern: &str, flags: &str) -> Result<RegularExpression> {
        let options = Options::read(flags)?;
        let pattern = match options.is_literal {
            true => regex::escape(pattern),
            false => translated(pattern),
        };
        let hir = options
            .parser()
            .build()
            .parse(&pattern)
            .map_err(|error| match error {
                regex_syntax::Error::Parse(error) => fault(error.kind()),
                regex_syntax::Error::Translate(error) => invalid(error.kind()),
                other => invalid(other),
            })?;
        let config = meta::Config::new().nfa_size_limit(Some(REGEX_BYTES_MAX));
        let first = meta::Regex::builder().configure(config).build_from_hir(&hir);
        Ok(RegularExpression {
            first: first.map_err(|_| invalid("regular expression is too complex"))?,
            whole: Part::new(hir.clone()),
            prefers: preferred_length(&hir).unwrap_or(Length::Longest),
            hir,
            nodes: OnceCell::new(),
        })
    }

    /// What it takes at least. In bytes.
    pub(super) fn bytes(&self) -> usize {
        self.first.memory_usage()
    }

    /// Whether it matches somewhere.
    pub(super) fn is_match(&self, text: &str) -> bool {
        self.first.is_match(text)
    }

    /// How many groups it has.
    pub(super) fn group_count(&self) -> usize {
        self.hir.properties().explicit_captures_len()
    }

    /// The first match from a byte on. Errors: 54000.
    pub(super) fn find_at(&self, text: &str, from: usize) -> Result<Option<Span>> {
        let Some(found) = self.first.search(&Input::new(text).range(from..)) else {
            return Ok(None);
        };
        let end = self.whole.end(text, found.start(), text.len(), self.prefers)?;
        Ok(Some((found.start(), end.unwrap_or(found.end()))))
    }

    /// The first match from a byte on, with its groups. Errors: 54000.
    pub(super) fn groups_at(&self, text: &str, from: usize) -> Result<Option<Groups>> {
        let Some(span) = self.find_at(text, from)? else {
            return Ok(None);
        };
        let mut groups = vec![None; self.group_count() + 1];
        groups[0] = Some(span);
        let nodes = self.nodes.get_or_init(|| Node::new(&self.hir));
        Search::new(text).find(nodes, span, &mut groups)?;
        Ok(Some(groups))
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

fn fault(kind: &ErrorKind) -> Error {
    match kind {
        ErrorKind::UnsupportedBackreference => {
            Error::unsupported("a back reference in a regular expression", None)
        }
        ErrorKind::UnsupportedLookAround => Error::unsupported("look-around in a regular expression", None),
        ErrorKind::GroupUnclosed | ErrorKind::GroupUnopened => invalid("parentheses () not balanced"),
        ErrorKind::ClassUnclosed => invalid("brackets [] not balanced"),
        ErrorKind::RepetitionMissing => invalid("quantifier operand invalid"),
        ErrorKind::RepetitionCountUnclosed => invalid("braces {} not balanced"),
        ErrorKind::RepetitionCountInvalid
        | ErrorKind::RepetitionCountDecimalEmpty
        | ErrorKind::DecimalEmpty
        | ErrorKind::DecimalInvalid => invalid("invalid repetition count(s)"),
        ErrorKind::ClassRangeInvalid | ErrorKind::ClassRangeLiteral => invalid("invalid character range"),
        ErrorKind::EscapeUnrecognized
        | ErrorKind::EscapeUnexpectedEof
        | ErrorKind::ClassEscapeInvalid
        | ErrorKind::UnicodeClassInvalid => invalid("invalid escape \\ sequence"),
        other => invalid(other),
    }
}

fn invalid(reason: impl std::fmt::Display) -> Error {
    Error::DataException {
        state: "2201B",
        message: format!("invalid regular expression: {reason}"),
    }
}

/// What flags ask for.
#[derive(Debug, Clone, Copy)]
struct Options {
    ignores_case: bool,
    /// Whether a dot matches a newline.
    dot_matches_newline: bool,
    /// Whether `^` and `$` match at newlines.
    anchors_match_lines: bool,
    is_expanded: bool,
    is_literal: bool,
}

impl Options {
    /// Errors: 22023.
    fn read(flags: &str) -> Result<Options> {
        // PostgreSQL's dot takes newlines and its anchors only the ends, unless told otherwise.
        let mut options = Options {
            ignores_case: false,
            dot_matches_newline: true,
            anchors_match_lines: false,
            is_expanded: false,
            is_literal: false,
        };
        for flag in flags.chars() {
            let lines = match flag {
                'n' | 'm' => Some((false, true)),
                'p' => Some((false, false)),
                'w' => Some((true, true)),
                's' => Some((true, false)),
                _ => None,
            };
            match (flag, lines) {
                (_, Some((dot, anchors))) => {
                    (options.dot_matches_newline, options.anchors_match_lines) = (dot, anchors);
                }
                ('i', _) => options.ignores_case = true,
                ('c', _) => options.ignores_case = false,
                ('x', _) => options.is_expanded = true,
                ('t', _) => options.is_expanded = false,
                ('q', _) => options.is_literal = true,
                // What is done with the matches, or how the pattern is written.
                ('g' | 'e', _) => {}
                (other, _) => {
                    return Err(Error::InvalidParameter {
                        message: format!("invalid regular expression option: \"{other}\""),
                        hint: None,
                    });
                }
            }
        }
        Ok(options)
    }

    fn parser(self) -> regex_syntax::ParserBuilder {
        let mut builder = regex_syntax::ParserBuilder::new();
        builder
            .case_insensitive(self.ignores_case)
            .dot_matches_new_line(self.dot_matches_newline)
            .multi_line(self.anchors_match_lines)
            .ignore_whitespace(self.is_expanded);
        builder
    }
}

/// The classes of characters that are those of Unicode.
const CLASSES: &[(&str, &str)] = &[
    ("[:alpha:]", "\\p{Alphabetic}"),
    ("[:alnum:]", "\\p{Alphabetic}0-9"),
    ("[:upper:]", "\\p{Uppercase}"),
    ("[:lower:]", "\\p{Lowercase}"),
    ("[:space:]", "\\s"),
    ("[:punct:]", "\\p{P}\\p{S}"),
];

/// PostgreSQL's directors and escapes that Rust's syntax spells otherwise.
fn translated(pattern: &str) -> String {
    if let Some(literal) = pattern.strip_prefix("***=") {
        return regex::escape(literal);
    }
    let pattern = pattern.strip_prefix("***:").unwrap_or(pattern);
    let pattern = pattern.replace("[[:<:]]", "\\m").replace("[[:>:]]", "\\M");
    // Rust's classes of these names have ASCII's characters alone.
    let pattern = CLASSES
        .iter()
        .fold(pattern, |pattern, (name, class)| pattern.replace(name, class));
    let mut translated = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            translated.push(character);
            continue;
        }
        match characters.next() {
            Some('m') => translated.push_str("\\b{start}"),
            Some('M') => translated.push_str("\\b{end}"),
            Some('y') => translated.push_str("\\b"),
            Some('Y') => translated.push_str("\\B"),
            Some('Z') => translated.push_str("\\z"),
            other => {
                translated.push('\\');
                translated.extend(other);
            }
        }
    }
    translated
}
