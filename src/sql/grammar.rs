//! What PostgreSQL's grammar refuses and the parser lets through, read off the tokens of a statement before they are
//! parsed. Called by `statement`.

use sqlparser::tokenizer::{Token, TokenWithSpan};

use super::word::is_word;
use crate::Error;

/// Words that no relation may have as its name, unless quoted, and that begin no expression either.
const CLAUSE_WORDS: &[&str] = &[
    "EXCEPT",
    "FETCH",
    "FROM",
    "GROUP",
    "HAVING",
    "INTERSECT",
    "INTO",
    "LIMIT",
    "OFFSET",
    "ON",
    "ORDER",
    "RETURNING",
    "UNION",
    "USING",
    "WHERE",
    "WINDOW",
];

/// Where a statement breaks PostgreSQL's grammar.
pub(super) enum Fault<'t> {
    /// At this token.
    Near(&'t TokenWithSpan),
    /// At its end.
    End,
}

/// Finds what PostgreSQL's grammar would refuse. `tokens`: without blanks.
pub(super) fn fault(tokens: &[TokenWithSpan]) -> Option<Fault<'_>> {
    if is_word(tokens.first(), "INSERT") && !is_word(tokens.get(1), "INTO") {
        return Some(tokens.get(1).map_or(Fault::End, Fault::Near));
    }
    if is_word(tokens.first(), "CREATE") && is_word(tokens.get(1), "TABLE") && !has_definition(tokens) {
        return Some(Fault::End);
    }
    let is_string = |token: &TokenWithSpan| matches!(token.token, Token::SingleQuotedString(_));
    tokens
        .windows(2)
        .find(|pair| {
            (is_string(&pair[0]) && is_string(&pair[1]))
                || ["FROM", "JOIN"].iter().any(|word| is_word(pair.first(), word))
                    && CLAUSE_WORDS.iter().any(|word| is_word(pair.get(1), word))
        })
        .map(|pair| Fault::Near(&pair[1]))
}

/// Whether a CREATE TABLE says what is in the table.
fn has_definition(tokens: &[TokenWithSpan]) -> bool {
    tokens.iter().any(|token| {
        token.token == Token::LParen || ["AS", "OF"].iter().any(|word| is_word(Some(token), word))
    })
}

/// Why an `E'…'` string does not read: PostgreSQL's error for its first wrong escape. `None`: it has none.
pub(super) fn escape_fault(rest: &str) -> Option<Error> {
    let body = rest.get(2..)?;
    let mut bytes = Vec::new();
    let mut chars = body.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' if body[at + 1..].starts_with('\'') => {
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
                    _ => {}
                }
            }
            _ => {}
        }
    }
    let wrong = std::str::from_utf8(&bytes).err()?;
    let first = bytes.get(wrong.valid_up_to())?;
    Some(Error::InvalidUtf8 {
        bytes: format!("0x{first:02x}"),
    })
}
