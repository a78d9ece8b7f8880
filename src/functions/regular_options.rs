//! `RegularOptions`: what the flags of a function, or the options at the beginning of a pattern, ask of a regular expression.

use super::regular_fault::{BAD_OPTION, invalid};
use crate::{Error, Result};

/// What is asked for. PostgreSQL's dot takes newlines and its anchors only the ends, unless told otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RegularOptions {
    pub(super) ignores_case: bool,
    /// Whether a dot, and a bracket expression with `^`, match a newline.
    pub(super) dot_matches_newline: bool,
    /// Whether `^` and `$` match at newlines.
    pub(super) anchors_match_lines: bool,
    /// Whether white space and comments are left out.
    pub(super) is_expanded: bool,
    /// Whether the pattern is a text as it is.
    pub(super) is_literal: bool,
}

impl RegularOptions {
    /// Those of a function's flags. Errors: 22023.
    pub(super) fn read(flags: &str) -> Result<RegularOptions> {
        let mut options = RegularOptions {
            ignores_case: false,
            dot_matches_newline: true,
            anchors_match_lines: false,
            is_expanded: false,
            is_literal: false,
        };
        for flag in flags.chars() {
            // `g` says what is done with the matches.
            if flag != 'g' && !options.set(flag)? {
                return Err(Error::InvalidParameter {
                    message: format!("invalid regular expression option: \"{flag}\""),
                    hint: None,
                });
            }
        }
        Ok(options)
    }

    /// Reads `(?…)` at the beginning of a pattern, and gives what follows it. Errors: 2201B.
    pub(super) fn read_embedded<'p>(&mut self, pattern: &'p str) -> Result<&'p str> {
        let Some(letters) = pattern.strip_prefix("(?") else {
            return Ok(pattern);
        };
        if !letters.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return Ok(pattern);
        }
        let Some((letters, behind)) = letters.split_once(')') else {
            return Err(invalid(BAD_OPTION));
        };
        for letter in letters.chars() {
            if !self.set(letter)? {
                return Err(invalid(BAD_OPTION));
            }
        }
        Ok(behind)
    }

    /// Whether there is such an option. Errors: 0A000.
    fn set(&mut self, option: char) -> Result<bool> {
        let lines = match option {
            'n' | 'm' => Some((false, true)),
            'p' => Some((false, false)),
            'w' => Some((true, true)),
            's' => Some((true, false)),
            _ => None,
        };
        match (option, lines) {
            (_, Some((dot, anchors))) => {
                (self.dot_matches_newline, self.anchors_match_lines) = (dot, anchors)
            }
            ('i', _) => self.ignores_case = true,
            ('c', _) => self.ignores_case = false,
            ('x', _) => self.is_expanded = true,
            ('t', _) => self.is_expanded = false,
            ('q', _) => self.is_literal = true,
            // An extended expression is read as an advanced one, which says the same, and more.
            ('e', _) => {}
            ('b', _) => {
                let hint = "Write it as an extended one: ( ) { } + ? | without backslashes mean what they mean with these.";
                return Err(Error::unsupported("a basic regular expression", Some(hint)));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}
