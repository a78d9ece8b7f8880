//! Words in the texts of tsvector and tsquery: with quotes around them or not, backslashes before characters that stand for themselves.

use crate::error::{Limit, StatementFault};
use crate::types::spaces::is_space;
use crate::{Error, Result};

/// The longest word, in bytes, is shorter than this; PostgreSQL's.
pub(crate) const WORD_BYTES_MAX: usize = 2_047;

/// A word with its quotes and backslashes doubled, as it stands between quotes.
pub(super) fn escaped(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    for letter in word.chars() {
        if matches!(letter, '\'' | '\\') {
            out.push(letter);
        }
        out.push(letter);
    }
    out
}

/// A syntax error of a type's text: 42601.
pub(super) fn syntax_error(type_name: &str, text: &str) -> Error {
    invalid(format!("syntax error in {type_name}: \"{text}\""))
}

/// 42601.
pub(super) fn invalid(message: String) -> Error {
    Error::InvalidStatement {
        state: StatementFault::Syntax,
        message,
        hint: None,
    }
}

/// Errors: 54000.
pub(crate) fn check_length(word: &str) -> Result<()> {
    match word.len() < WORD_BYTES_MAX {
        true => Ok(()),
        false => Err(Error::LimitExceeded {
            state: Limit::Program,
            message: format!(
                "word is too long ({} bytes, max {WORD_BYTES_MAX} bytes)",
                word.len()
            ),
            hint: "Words of a document are cut by to_tsvector.".to_string(),
        }),
    }
}

/// A text that is read word by word.
#[derive(Debug)]
pub(super) struct WordReader<'a> {
    /// All of it, for messages.
    pub(super) text: &'a str,
    /// What is still to be read.
    pub(super) rest: &'a str,
    /// Which type's text it is.
    pub(super) type_name: &'static str,
    /// What ends a word without quotes beside spaces and `:`.
    pub(super) is_operator: fn(char) -> bool,
}

impl WordReader<'_> {
    /// The next character, which is not taken.
    pub(super) fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// Takes the next character.
    pub(super) fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.rest = &self.rest[next.len_utf8()..];
        Some(next)
    }

    /// Takes spaces.
    pub(super) fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start_matches(is_space);
    }

    /// 42601 of the whole text.
    pub(super) fn fault(&self) -> Error {
        syntax_error(self.type_name, self.text)
    }

    /// The next word; `None`: there is none. Errors: 42601.
    pub(super) fn word(&mut self) -> Result<Option<String>> {
        self.skip_spaces();
        let word = match self.peek() {
            None => return Ok(None),
            Some('\'') => self.quoted()?,
            Some(_) => self.bare()?,
        };
        match word.is_empty() {
            true => Err(self.fault()),
            false => Ok(Some(word)),
        }
    }

    fn quoted(&mut self) -> Result<String> {
        let mut word = String::new();
        self.next();
        loop {
            match self.next() {
                None => return Err(self.fault()),
                Some('\\') => word.push(self.escaped()?),
                Some('\'') if self.peek() == Some('\'') => {
                    self.next();
                    word.push('\'');
                }
                Some('\'') => return Ok(word),
                Some(other) => word.push(other),
            }
        }
    }

    fn bare(&mut self) -> Result<String> {
        let mut word = String::new();
        while let Some(next) = self.peek() {
            if is_space(next) || next == ':' && !word.is_empty() || (self.is_operator)(next) {
                break;
            }
            self.next();
            word.push(match next {
                '\\' => self.escaped()?,
                other => other,
            });
        }
        Ok(word)
    }

    /// What stands behind a backslash.
    fn escaped(&mut self) -> Result<char> {
        let next = self.next();
        next.ok_or_else(|| invalid(format!("there is no escaped character: \"{}\"", self.text)))
    }
}
