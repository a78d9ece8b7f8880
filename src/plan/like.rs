//! LIKE patterns: parsed once, then asked for the prefix that bounds a key, or matched against values. Used by the
//! planner, and by whoever computes LIKE: `scan::residual`, `operators::like_test`, `functions::pattern_list`. Knows nothing of columns.

use memchr::memmem::Finder;

use super::Predicate;
use crate::types::Value;
use crate::types::letter_case::lowercase;
use crate::{Error, Result};

/// Whether a LIKE has a pattern that parses: one that ends in its escape character is an error only where a value gets
/// as far as that, which is for whoever evaluates row by row to raise.
pub(crate) fn has_sound_pattern(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Like { pattern, escape, .. } => match pattern {
            Value::Text(text) => LikePattern::parse(text.as_bytes(), *escape).is_sound(),
            Value::Bytes(bytes) => LikePattern::parse(bytes, *escape).is_sound(),
            _ => true,
        },
        _ => true,
    }
}

/// A parsed pattern.
#[derive(Debug, Clone)]
pub(crate) struct LikePattern {
    tokens: Vec<Token>,
}

/// What a pattern says about the start of the values it matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LikeShape {
    /// No wildcard: the value itself.
    Exact(Vec<u8>),
    /// `prefix%`: every value that starts so, and no other.
    Prefix(Vec<u8>),
    /// Every match starts so (may be empty), but not everything that starts so matches.
    Loose(Vec<u8>),
}

#[derive(Debug, Clone)]
enum Token {
    /// These bytes.
    Literal(Box<Finder<'static>>),
    /// `_`.
    One,
    /// `%`.
    Any,
    /// The escape character at the end: an error for the value that gets as far.
    Unfinished,
}

/// A pattern that is asked of many values.
#[derive(Debug, Clone)]
pub(crate) struct LikeMatcher {
    pattern: LikePattern,
    case_insensitive: bool,
    is_text: bool,
}

impl LikeMatcher {
    /// `is_text`: `_` takes one character rather than one byte.
    pub(crate) fn new(
        pattern: &[u8],
        escape: Option<char>,
        case_insensitive: bool,
        is_text: bool,
    ) -> LikeMatcher {
        let pattern = LikePattern::parse(pattern, escape);
        LikeMatcher {
            pattern: match case_insensitive {
                true => pattern.to_lowercase(),
                false => pattern,
            },
            case_insensitive,
            is_text,
        }
    }

    /// Errors: 22025 for a value that gets as far as an escape at the end.
    pub(crate) fn matches(&self, value: &[u8]) -> Result<bool> {
        if self.case_insensitive
            && let Ok(text) = std::str::from_utf8(value)
        {
            return self.pattern.matches(lowercase(text).as_bytes(), self.is_text);
        }
        self.pattern.matches(value, self.is_text)
    }
}

impl LikePattern {
    /// Parses a pattern. `escape`: the character that takes the next one literally.
    pub(crate) fn parse(pattern: &[u8], escape: Option<char>) -> LikePattern {
        let mut buffer = [0; 4];
        let escape = escape.map(|escape| escape.encode_utf8(&mut buffer).as_bytes());
        let mut tokens = Vec::new();
        let mut literal = Vec::new();
        let finish = |literal: &mut Vec<u8>, tokens: &mut Vec<Token>| {
            if !literal.is_empty() {
                tokens.push(Token::literal(literal));
                literal.clear();
            }
        };
        let mut rest = pattern;
        while let Some(&first) = rest.first() {
            if let Some(after) = escape.and_then(|escape| rest.strip_prefix(escape)) {
                // What follows the escape is taken as it is; the later bytes of a character are literal anyway.
                match after.split_first() {
                    Some((&taken, after)) => {
                        literal.push(taken);
                        rest = after;
                    }
                    None => {
                        finish(&mut literal, &mut tokens);
                        tokens.push(Token::Unfinished);
                        rest = after;
                    }
                }
                continue;
            }
            rest = &rest[1..];
            match first {
                b'%' => {
                    finish(&mut literal, &mut tokens);
                    if !matches!(tokens.last(), Some(Token::Any)) {
                        tokens.push(Token::Any);
                    }
                }
                b'_' => {
                    finish(&mut literal, &mut tokens);
                    tokens.push(Token::One);
                }
                byte => literal.push(byte),
            }
        }
        finish(&mut literal, &mut tokens);
        LikePattern { tokens }
    }

    /// Whether it does not end in its escape character.
    pub(crate) fn is_sound(&self) -> bool {
        !matches!(self.tokens.last(), Some(Token::Unfinished))
    }

    /// The pattern in lower case, for ILIKE against values in lower case.
    pub(crate) fn to_lowercase(&self) -> LikePattern {
        let lower = |token: &Token| match token {
            Token::Literal(bytes) => {
                Token::literal(lowercase(&String::from_utf8_lossy(bytes.needle())).as_bytes())
            }
            other => other.clone(),
        };
        LikePattern {
            tokens: self.tokens.iter().map(lower).collect(),
        }
    }

    /// What it says about the start of its matches.
    pub(crate) fn shape(&self) -> LikeShape {
        let bytes = |literal: &Finder<'_>| literal.needle().to_vec();
        match self.tokens.as_slice() {
            [] => LikeShape::Exact(Vec::new()),
            [Token::Literal(literal)] => LikeShape::Exact(bytes(literal)),
            [Token::Any] => LikeShape::Prefix(Vec::new()),
            [Token::Literal(literal), Token::Any] => LikeShape::Prefix(bytes(literal)),
            [Token::Literal(literal), ..] => LikeShape::Loose(bytes(literal)),
            _ => LikeShape::Loose(Vec::new()),
        }
    }

    /// Whether the value matches. `utf8`: `_` takes one character rather than one byte. Errors: 22025 for a value that gets as far as
    /// an escape at the end.
    pub(crate) fn matches(&self, value: &[u8], utf8: bool) -> Result<bool> {
        // The position after the last `%` and from where in the value on it is tried next: the only place worth going back to.
        let mut retry: Option<(usize, usize)> = None;
        let (mut token, mut at) = (0, 0);
        loop {
            let rest = &value[at..];
            let taken = match self.tokens.get(token) {
                None if rest.is_empty() => return Ok(true),
                None => None,
                Some(Token::Any) => {
                    retry = Some((token + 1, at));
                    None
                }
                Some(Token::One) => (!rest.is_empty()).then(|| character_length(rest, utf8)),
                Some(Token::Literal(literal)) => {
                    let literal = literal.needle();
                    rest.starts_with(literal).then_some(literal.len())
                }
                Some(Token::Unfinished) if !rest.is_empty() => return Err(trailing_escape()),
                Some(Token::Unfinished) => None,
            };
            if let Some(taken) = taken {
                (token, at) = (token + 1, at + taken);
                continue;
            }
            let Some((after_any, from)) = retry.filter(|(_, from)| *from <= value.len()) else {
                return Ok(false);
            };
            let Some(skipped) = self.candidate(after_any, &value[from..]) else {
                return Ok(false);
            };
            (token, at) = (after_any, from + skipped);
            let next = match &value[at..] {
                [] => at + 1,
                rest => at + character_length(rest, utf8),
            };
            retry = Some((after_any, next));
        }
    }

    /// How much of `rest` a `%` takes at least, for the token behind it to fit; `None`: it fits nowhere. What is last fits at the end only.
    fn candidate(&self, token: usize, rest: &[u8]) -> Option<usize> {
        match &self.tokens[token..] {
            [] => Some(rest.len()),
            [Token::Literal(last)] => {
                let found = rest.ends_with(last.needle());
                found.then(|| rest.len() - last.needle().len())
            }
            [Token::Literal(literal), ..] => literal.find(rest),
            _ => Some(0),
        }
    }
}

impl Token {
    fn literal(bytes: &[u8]) -> Token {
        Token::Literal(Box::new(Finder::new(bytes).into_owned()))
    }
}

/// Bytes of the first character of `rest`, which is not empty.
fn character_length(rest: &[u8], utf8: bool) -> usize {
    if !utf8 {
        return 1;
    }
    1 + rest[1..].iter().take_while(|byte| **byte & 0xC0 == 0x80).count()
}

fn trailing_escape() -> Error {
    Error::DataException {
        state: "22025",
        message: "LIKE pattern must not end with escape character".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(pattern: &str, escape: Option<char>) -> LikeShape {
        LikePattern::parse(pattern.as_bytes(), escape).shape()
    }

    fn matches(value: &str, pattern: &str) -> bool {
        LikePattern::parse(pattern.as_bytes(), Some('\\'))
            .matches(value.as_bytes(), true)
            .unwrap()
    }

    #[test]
    fn shapes_follow_wildcards_and_escapes() {
        assert_eq!(shape("abc%", Some('\\')), LikeShape::Prefix(b"abc".to_vec()));
        assert_eq!(shape("abc%%", Some('\\')), LikeShape::Prefix(b"abc".to_vec()));
        assert_eq!(shape("ab\\_", Some('\\')), LikeShape::Exact(b"ab_".to_vec()));
        assert_eq!(shape("abc!%%", Some('!')), LikeShape::Prefix(b"abc%".to_vec()));
        assert_eq!(shape("a\\b%", None), LikeShape::Prefix(b"a\\b".to_vec()));
        assert_eq!(shape("a%c", Some('\\')), LikeShape::Loose(b"a".to_vec()));
        assert_eq!(shape("ab_", Some('\\')), LikeShape::Loose(b"ab".to_vec()));
        assert_eq!(shape("%b", Some('\\')), LikeShape::Loose(Vec::new()));
        assert_eq!(shape("", Some('\\')), LikeShape::Exact(Vec::new()));
        assert!(!LikePattern::parse(b"ab\\", Some('\\')).is_sound());
    }

    #[test]
    fn matching_is_by_character_and_goes_back() {
        for (value, pattern, expected) in [
            ("", "", true),
            ("", "%", true),
            ("a", "", false),
            ("abc", "abc", true),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abcabd", "%ab_", true),
            ("mississippi", "%iss%ip%", true),
            ("mississippi", "%iss%ipx%", false),
            ("\u{ff}", "_", true),
            ("\u{10ffff}z", "_z", true),
            ("\u{10ffff}z", "__", true),
            ("\u{10ffff}z", "___", false),
            ("a%c", "a\\%c", true),
            ("abc", "a\\%c", false),
            ("aaa", "a%a%a%a", false),
        ] {
            assert_eq!(matches(value, pattern), expected, "{value:?} LIKE {pattern:?}");
        }
    }
}
