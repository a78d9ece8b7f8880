//! The tokens of a body in PL/pgSQL: as SQL's, but that `1..10` is a range, and each knows its line and its place.

use crate::error::StatementFault;
use crate::{Error, Result};

/// A token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Scanned {
    pub(super) token: Token,
    /// Its bytes in the body.
    pub(super) start: usize,
    /// See `start`.
    pub(super) end: usize,
    /// Its line, from 1.
    pub(super) line: usize,
}

/// What a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// A word, folded.
    Word(String),
    /// A name in quotes.
    Quoted(String),
    /// A string, its content.
    Text(String),
    /// A number.
    Number,
    /// `$1`.
    Parameter(String),
    /// `:=`, `..`, `<<`, `>>`.
    Pair([u8; 2]),
    /// Any other character.
    Character(char),
}

/// All tokens of a text. Errors: 42601 for what does not end.
pub(super) fn scan(text: &str) -> Result<Vec<Scanned>> {
    let mut scanner = Scanner { text, at: 0, line: 1 };
    let mut tokens = Vec::new();
    while let Some(token) = scanner.next()? {
        tokens.push(token);
    }
    Ok(tokens)
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

impl Scanner<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Goes on by so many bytes.
    fn pass(&mut self, bytes: usize) {
        let passed = &self.text.as_bytes()[self.at..self.at + bytes];
        self.line += passed.iter().filter(|byte| **byte == b'\n').count();
        self.at += bytes;
    }

    fn next(&mut self) -> Result<Option<Scanned>> {
        self.skip_blanks()?;
        if self.at >= self.text.len() {
            return Ok(None);
        }
        let (start, line) = (self.at, self.line);
        let token = self.token()?;
        Ok(Some(Scanned {
            token,
            start,
            end: self.at,
            line,
        }))
    }

    fn skip_blanks(&mut self) -> Result<()> {
        loop {
            let rest = self.rest();
            let blanks = rest.len() - rest.trim_start().len();
            if blanks > 0 {
                self.pass(blanks);
            } else if rest.starts_with("--") {
                let end = rest.find('\n').unwrap_or(rest.len());
                self.pass(end);
            } else if rest.starts_with("/*") {
                let end = comment_end(rest).ok_or_else(|| unterminated("/* comment"))?;
                self.pass(end);
            } else {
                return Ok(());
            }
        }
    }

    fn token(&mut self) -> Result<Token> {
        let first = self.rest().chars().next().unwrap_or(' ');
        match first {
            '\'' => self.string(1, false).map(Token::Text),
            'e' | 'E' if self.byte(1) == b'\'' => self.string(2, true).map(Token::Text),
            'n' | 'N' | 'b' | 'B' | 'x' | 'X' if self.byte(1) == b'\'' => {
                self.string(2, false).map(Token::Text)
            }
            '"' => self.quoted(),
            '$' if self.byte(1).is_ascii_digit() => {
                let digits = self.rest()[1..].bytes().take_while(u8::is_ascii_digit).count();
                let name = self.rest()[..=digits].to_string();
                self.pass(1 + digits);
                Ok(Token::Parameter(name))
            }
            '$' => self.dollar(),
            _ if first.is_ascii_digit() || (first == '.' && self.byte(1).is_ascii_digit()) => {
                self.number();
                Ok(Token::Number)
            }
            _ if first.is_alphabetic() || first == '_' => {
                let rest = self.rest();
                let is_part = |c: &char| c.is_alphanumeric() || matches!(c, '_' | '$');
                let bytes = rest.chars().take_while(is_part).map(char::len_utf8).sum();
                let word = rest[..bytes].to_lowercase();
                self.pass(bytes);
                Ok(Token::Word(word))
            }
            _ => {
                let pair = [self.byte(0), self.byte(1)];
                if matches!(&pair, b":=" | b".." | b"<<" | b">>") {
                    self.pass(2);
                    return Ok(Token::Pair(pair));
                }
                self.pass(first.len_utf8());
                Ok(Token::Character(first))
            }
        }
    }

    /// Goes behind a number; `1..` is the number 1 and a range.
    fn number(&mut self) {
        let bytes = self.rest().as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let is_range = bytes[at] == b'.' && bytes.get(at + 1) == Some(&b'.');
            let is_exponent_sign = matches!(bytes[at], b'+' | b'-') && matches!(bytes[at - 1], b'e' | b'E');
            if is_range
                || !(bytes[at].is_ascii_alphanumeric()
                    || matches!(bytes[at], b'.' | b'_')
                    || is_exponent_sign)
            {
                break;
            }
            at += 1;
        }
        self.pass(at.max(1));
    }

    /// A string behind so many bytes that open it.
    fn string(&mut self, opening: usize, escapes: bool) -> Result<String> {
        let rest = self.rest();
        let (mut content, mut at) = (String::new(), opening);
        loop {
            let Some(c) = rest[at..].chars().next() else {
                return Err(unterminated("quoted string"));
            };
            at += c.len_utf8();
            match c {
                '\'' if rest[at..].starts_with('\'') => {
                    content.push('\'');
                    at += 1;
                }
                '\'' => break,
                '\\' if escapes => {
                    let escaped = rest[at..]
                        .chars()
                        .next()
                        .ok_or_else(|| unterminated("quoted string"))?;
                    at += escaped.len_utf8();
                    content.push(match escaped {
                        'n' => '\n',
                        't' => '\t',
                        'r' => '\r',
                        other => other,
                    });
                }
                c => content.push(c),
            }
        }
        self.pass(at);
        Ok(content)
    }

    fn quoted(&mut self) -> Result<Token> {
        let rest = self.rest();
        let (mut name, mut at) = (String::new(), 1);
        loop {
            let end = rest[at..]
                .find('"')
                .ok_or_else(|| unterminated("quoted identifier"))?;
            name.push_str(&rest[at..at + end]);
            at += end + 1;
            if !rest[at..].starts_with('"') {
                break;
            }
            name.push('"');
            at += 1;
        }
        self.pass(at);
        Ok(Token::Quoted(name))
    }

    fn dollar(&mut self) -> Result<Token> {
        let rest = self.rest();
        let tag = rest[1..].find('$').map(|end| &rest[..end + 2]);
        let is_tag = |tag: &&str| {
            let name = &tag[1..tag.len() - 1];
            name.chars().all(|c| c.is_alphanumeric() || c == '_')
        };
        let Some(tag) = tag.filter(is_tag) else {
            self.pass(1);
            return Ok(Token::Character('$'));
        };
        let inner = &rest[tag.len()..];
        let end = inner
            .find(tag)
            .ok_or_else(|| unterminated("dollar-quoted string"))?;
        let content = inner[..end].to_string();
        let bytes = 2 * tag.len() + end;
        self.pass(bytes);
        Ok(Token::Text(content))
    }
}

/// Where a comment ends that may hold others.
fn comment_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0usize, 0);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => {
                depth += 1;
                at += 2;
            }
            b"*/" => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => at += 1,
        }
    }
    None
}

fn unterminated(what: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::Syntax,
        message: format!("unterminated {what}"),
        hint: None,
    }
}
