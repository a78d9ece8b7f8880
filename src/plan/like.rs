//! LIKE patterns: parsed once, then asked for the prefix that bounds a key, or matched against values. Used by the
//! planner and by `scan::residual`; knows nothing of columns.

use super::Predicate;
use crate::types::Value;
use crate::types::letter_case::lowercase;
use crate::{Error, Result};

/// Whether a LIKE has a pattern that parses: one that ends in its escape character is an error only where a value gets
/// as far as that, which is for whoever evaluates row by row to raise.
pub(crate) fn has_sound_pattern(predicate: &Predicate) -> bool {
    match predicate {
        Predicate::Like {
            pattern: Value::Text(text),
            escape,
            ..
        } => LikePattern::parse(text.as_bytes(), *escape).is_ok(),
        Predicate::Like {
            pattern: Value::Bytes(bytes),
            escape,
            ..
        } => LikePattern::parse(bytes, *escape).is_ok(),
        _ => true,
    }
}

/// A parsed pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
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

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// These bytes.
    Literal(Vec<u8>),
    /// `_`.
    One,
    /// `%`.
    Any,
}

impl LikePattern {
    /// Parses a pattern. `escape`: the character that takes the next one literally. Errors: 22025 for an escape at the end.
    pub(crate) fn parse(pattern: &[u8], escape: Option<char>) -> Result<LikePattern> {
        let mut buffer = [0; 4];
        let escape = escape.map(|escape| escape.encode_utf8(&mut buffer).as_bytes());
        let mut tokens = Vec::new();
        let mut literal = Vec::new();
        let mut rest = pattern;
        while let Some(&first) = rest.first() {
            if let Some(after) = escape.and_then(|escape| rest.strip_prefix(escape)) {
                // What follows the escape is taken as it is; the later bytes of a character are literal anyway.
                let (&taken, after) = after.split_first().ok_or_else(trailing_escape)?;
                literal.push(taken);
                rest = after;
                continue;
            }
            rest = &rest[1..];
            match first {
                b'%' | b'_' => {
                    if !literal.is_empty() {
                        tokens.push(Token::Literal(std::mem::take(&mut literal)));
                    }
                    let wildcard = if first == b'%' { Token::Any } else { Token::One };
                    if wildcard != Token::Any || tokens.last() != Some(&Token::Any) {
                        tokens.push(wildcard);
                    }
                }
                byte => literal.push(byte),
            }
        }
        if !literal.is_empty() {
            tokens.push(Token::Literal(literal));
        }
        Ok(LikePattern { tokens })
    }

    /// The pattern in lower case, for ILIKE against values in lower case.
    pub(crate) fn to_lowercase(&self) -> LikePattern {
        let lower = |token: &Token| match token {
            Token::Literal(bytes) => Token::Literal(
                lowercase(&String::from_utf8_lossy(bytes))
                    .into_owned()
                    .into_bytes(),
            ),
            other => other.clone(),
        };
        LikePattern {
            tokens: self.tokens.iter().map(lower).collect(),
        }
    }

    /// What it says about the start of its matches.
    pub(crate) fn shape(&self) -> LikeShape {
        match self.tokens.as_slice() {
            [] => LikeShape::Exact(Vec::new()),
            [Token::Literal(bytes)] => LikeShape::Exact(bytes.clone()),
            [Token::Any] => LikeShape::Prefix(Vec::new()),
            [Token::Literal(bytes), Token::Any] => LikeShape::Prefix(bytes.clone()),
            [Token::Literal(bytes), ..] => LikeShape::Loose(bytes.clone()),
            _ => LikeShape::Loose(Vec::new()),
        }
    }

    /// Whether the value matches. `utf8`: `_` takes one character rather than one byte.
    pub(crate) fn matches(&self, value: &[u8], utf8: bool) -> bool {
        // The position after the last `%` and where in the value it was tried: the only place worth going back to.
        let mut retry: Option<(usize, usize)> = None;
        let (mut token, mut at) = (0, 0);
        loop {
            let step = match self.tokens.get(token) {
                None if at == value.len() => return true,
                None => None,
                Some(Token::Any) => {
                    retry = Some((token + 1, at));
                    Some(at)
                }
                Some(Token::One) => (at < value.len()).then(|| at + character_length(&value[at..], utf8)),
                Some(Token::Literal(bytes)) => value[at..].starts_with(bytes).then(|| at + bytes.len()),
            };
            match (step, retry) {
                (Some(next), _) => (token, at) = (token + 1, next),
                (None, Some((after_any, tried))) if tried < value.len() => {
                    let next = tried + character_length(&value[tried..], utf8);
                    retry = Some((after_any, next));
                    (token, at) = (after_any, next);
                }
                (None, _) => return false,
            }
        }
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
        LikePattern::parse(pattern.as_bytes(), escape).unwrap().shape()
    }

    fn matches(value: &str, pattern: &str) -> bool {
        LikePattern::parse(pattern.as_bytes(), Some('\\'))
            .unwrap()
            .matches(value.as_bytes(), true)
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
        assert!(LikePattern::parse(b"ab\\", Some('\\')).is_err());
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
