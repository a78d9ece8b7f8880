//! PostgreSQL's errors for text that does not read, from the tokenizer's and the parser's.

use sqlparser::parser::ParserError;
use sqlparser::tokenizer::{Location, TokenWithSpan, TokenizerError};

use super::position::character_position;
use crate::Error;
use crate::error::{Limit, utf8};

/// How deep expressions and subqueries may nest (54001 above it).
pub(super) const NESTING_MAX: usize = 200;

/// 54001.
pub(super) fn too_deep() -> Error {
    Error::LimitExceeded {
        state: Limit::Complexity,
        message: "stack depth limit exceeded".to_string(),
        hint: format!("Nest the statement less deeply; {NESTING_MAX} levels are read."),
    }
}

/// The error at a token of the text.
pub(super) fn near(token: &TokenWithSpan, text: &str) -> Error {
    near_text(
        &token.token.to_string(),
        character_position(token.span.start, text),
    )
}

/// The error at a character of the text.
pub(super) fn near_text(near: &str, position: usize) -> Error {
    Error::Syntax {
        message: format!("syntax error at or near \"{near}\""),
        position,
    }
}

/// The error behind the last character of the text.
pub(super) fn end_of_input(text: &str) -> Error {
    end_at(text.trim_end().chars().count() + 1)
}

/// The error at a character behind which nothing stands.
pub(super) fn end_at(position: usize) -> Error {
    Error::Syntax {
        message: "syntax error at end of input".to_string(),
        position,
    }
}

/// Why the text cannot be cut into tokens.
pub(super) fn of_tokenizer(error: TokenizerError, text: &str) -> Error {
    let position = character_position(error.location, text);
    let rest: String = text.chars().skip(position.saturating_sub(1)).collect();
    if error.message == "Unterminated encoded string literal"
        && let Some(fault) = surrogate_fault(&rest, position).or_else(|| escape_fault(&rest))
    {
        return fault;
    }
    let message = match error.message.as_str() {
        "Unterminated string literal" => format!("unterminated quoted string at or near \"{rest}\""),
        "Unterminated encoded string literal" => format!("unterminated quoted string at or near \"{rest}\""),
        message if message.starts_with("Expected close delimiter") => {
            format!("unterminated quoted identifier at or near \"{rest}\"")
        }
        message if message.contains("multi-line comment") => {
            format!("unterminated /* comment at or near \"{rest}\"")
        }
        message if message.contains("dollar") => {
            format!("unterminated dollar-quoted string at or near \"{rest}\"")
        }
        message => format!("syntax error: {}", message.to_lowercase()),
    };
    Error::Syntax { message, position }
}

/// Why the tokens make no tree. sqlparser says `Expected: a, found: b at Line: 1, Column: 5`; PostgreSQL names only what
/// was found.
pub(super) fn of_parser(error: ParserError, text: &str) -> Error {
    let message = match error {
        ParserError::RecursionLimitExceeded => return too_deep(),
        ParserError::ParserError(message) | ParserError::TokenizerError(message) => message,
    };
    let location = read_location(&message);
    let position = location.map_or(0, |location| character_position(location, text));
    let found = message
        .split_once("found: ")
        .map(|(_, rest)| match rest.rfind(" at Line: ") {
            Some(end) => &rest[..end],
            None => rest,
        });
    match found {
        Some("EOF") => end_of_input(text),
        Some(found) => near_text(found, position),
        None => unread(
            message.split(" at Line: ").next().unwrap_or_default(),
            position,
            text,
        ),
    }
}

/// The error of a message that names nothing found: at the token of which it speaks.
fn unread(message: &str, position: usize, text: &str) -> Error {
    // It stands in front of the place.
    if let Some(word) = message.strip_prefix("Unsupported statement ") {
        let before: String = text.chars().take(position.saturating_sub(1)).collect();
        let at = before.to_ascii_uppercase().rfind(word);
        return near_text(word, at.map_or(position, |at| before[..at].chars().count() + 1));
    }
    let rest = text.chars().skip(position.saturating_sub(1));
    let word: String = rest
        .clone()
        .take_while(|c| c.is_alphanumeric() || *c == '_')
        .collect();
    let near = match word.is_empty() {
        true => rest.take(1).collect(),
        false => word,
    };
    match message.starts_with("No infix parser") && !near.is_empty() {
        true => near_text(&near, position),
        false => Error::Syntax {
            message: format!("syntax error: {}", message.to_lowercase()),
            position,
        },
    }
}

/// The location at the end of sqlparser's message.
fn read_location(message: &str) -> Option<Location> {
    let (_, rest) = message.rsplit_once(" at Line: ")?;
    let (line, column) = rest.split_once(", Column: ")?;
    Some(Location {
        line: line.trim().parse().ok()?,
        column: column.trim().parse().ok()?,
    })
}

/// The error of the first escape in an `E'…'` string that is half of a pair of UTF-16, or of what stands in the place of the other half.
/// `position`: of the string. `None`: there is no such escape.
fn surrogate_fault(rest: &str, position: usize) -> Option<Error> {
    let body = rest.get(2..)?;
    let escape = |at: usize| {
        let length = match body.get(at..at + 2)? {
            "\\u" => 6,
            "\\U" => 10,
            _ => return None,
        };
        let code = u32::from_str_radix(body.get(at + 2..at + length)?, 16).ok()?;
        Some((code, length))
    };
    let mut at = 0;
    loop {
        let c = body[at..].chars().next().filter(|c| *c != '\'')?;
        let Some((code, length)) = escape(at) else {
            at += c.len_utf8();
            if c == '\\' {
                at += body[at..].chars().next()?.len_utf8();
            }
            continue;
        };
        let wrong = match code {
            0xD800..0xDC00 => match escape(at + length) {
                Some((0xDC00..0xE000, second)) => {
                    at += length + second;
                    continue;
                }
                _ => at + length,
            },
            0xDC00..0xE000 => at,
            _ => {
                at += length;
                continue;
            }
        };
        let first = body[wrong..].chars().next()?.len_utf8();
        let near = &body[wrong..wrong + escape(wrong).map_or(first, |(_, length)| length)];
        return Some(Error::Syntax {
            message: format!("invalid Unicode surrogate pair at or near \"{near}\""),
            position: position + 2 + body[..wrong].chars().count(),
        });
    }
}

/// Why an `E'…'` string does not read: PostgreSQL's error for its first wrong escape. `None`: it has none.
fn escape_fault(rest: &str) -> Option<Error> {
    let body = rest.get(2..)?;
    let mut bytes = Vec::new();
    let mut chars = body.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' if body[at + 1..].starts_with('\'') => {
                bytes.push(b'\'');
                chars.next();
            }
            '\'' => break,
            '\\' => {
                let (_, escape) = chars.next()?;
                match escape {
                    'u' | 'U' => {
                        let digits = if escape == 'u' { 4 } else { 8 };
                        let code = body.get(at + 2..at + 2 + digits);
                        let code = code.and_then(|code| u32::from_str_radix(code, 16).ok());
                        if code.is_none() {
                            return Some(Error::DataException {
                                state: "22025",
                                message: "invalid Unicode escape".to_string(),
                            });
                        }
                    }
                    'x' => {
                        let digits: String = body[at + 2..]
                            .chars()
                            .take(2)
                            .take_while(char::is_ascii_hexdigit)
                            .collect();
                        bytes.extend(u8::from_str_radix(&digits, 16).ok());
                    }
                    '0'..='7' => {
                        let digits: String = body[at + 1..]
                            .chars()
                            .take(3)
                            .take_while(|c| ('0'..='7').contains(c))
                            .collect();
                        bytes.extend(
                            u32::from_str_radix(&digits, 8)
                                .ok()
                                .map(|code| (code & 0xff) as u8),
                        );
                    }
                    other => bytes.extend(other.encode_utf8(&mut [0; 4]).as_bytes()),
                }
            }
            other => bytes.extend(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    utf8::text(&bytes).err()
}
