//! Escapes of PostgreSQL's regular expressions: what stands behind a backslash. Read by `regular_syntax`, and by
//! `regular_bracket` inside of brackets.

use super::regular_fault::{BAD_ESCAPE, invalid};
use crate::Result;

/// What an escape means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    /// A character.
    Character(char),
    /// One of a class of characters.
    Class(Class),
    /// A place, in Rust's spelling.
    Constraint(&'static str),
    /// What the group of this number matched; from 1.
    Reference(usize),
}

/// A class of characters by its letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Class(char);

impl Class {
    /// In Rust's spelling, which stands inside of brackets too. PostgreSQL's digits are ASCII's.
    pub(super) fn written(self) -> &'static str {
        match self.0 {
            'd' => "[0-9]",
            'D' => "[^0-9]",
            's' => "\\s",
            'S' => "\\S",
            'w' => "\\w",
            _ => "\\W",
        }
    }
}

/// Reads what stands behind a backslash, and what follows it. `groups`: how many are open or closed before it. Errors: 2201B.
pub(super) fn read_escape(text: &str, groups: usize) -> Result<(Escape, &str)> {
    let mut characters = text.chars();
    let Some(letter) = characters.next() else {
        return Err(invalid(BAD_ESCAPE));
    };
    let rest = characters.as_str();
    let escape = match letter {
        'a' => Escape::Character('\x07'),
        'b' => Escape::Character('\x08'),
        'B' => Escape::Character('\\'),
        'e' => Escape::Character('\x1B'),
        'f' => Escape::Character('\x0C'),
        'n' => Escape::Character('\n'),
        'r' => Escape::Character('\r'),
        't' => Escape::Character('\t'),
        'v' => Escape::Character('\x0B'),
        'A' => Escape::Constraint("\\A"),
        'm' => Escape::Constraint("\\b{start}"),
        'M' => Escape::Constraint("\\b{end}"),
        'y' => Escape::Constraint("\\b"),
        'Y' => Escape::Constraint("\\B"),
        'Z' => Escape::Constraint("\\z"),
        'd' | 'D' | 's' | 'S' | 'w' | 'W' => Escape::Class(Class(letter)),
        'c' => {
            let Some(control) = characters.next() else {
                return Err(invalid(BAD_ESCAPE));
            };
            let character = char::from_u32(u32::from(control) & 0o37).unwrap_or_default();
            return Ok((Escape::Character(character), characters.as_str()));
        }
        'u' => return by_number(rest, 16, 4..=4),
        'U' => return by_number(rest, 16, 8..=8),
        'x' => return by_number(rest, 16, 1..=255),
        '0'..='9' => return by_digits(text, groups),
        letter if letter.is_alphanumeric() => return Err(invalid(BAD_ESCAPE)),
        literal => Escape::Character(literal),
    };
    Ok((escape, rest))
}

/// A back reference or a character by its octal number: several digits that do not begin with 0 are the one if there is such a group.
fn by_digits(text: &str, groups: usize) -> Result<(Escape, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if !text.starts_with('0') {
        let number = text[..digits].parse().unwrap_or(usize::MAX);
        if digits == 1 || number <= groups {
            return Ok((Escape::Reference(number), &text[digits..]));
        }
    }
    // Three octal digits are one too many where they pass a byte.
    let longest = if text.as_bytes().first() > Some(&b'3') {
        2
    } else {
        3
    };
    by_number(text, 8, 1..=longest)
}

/// A character by its number. Errors: 2201B where there are too few digits, or no such character.
fn by_number(text: &str, radix: u32, lengths: std::ops::RangeInclusive<usize>) -> Result<(Escape, &str)> {
    let digits = text.find(|c: char| !c.is_digit(radix)).unwrap_or(text.len());
    let length = digits.min(*lengths.end());
    let number = u32::from_str_radix(&text[..length], radix).ok();
    match number.and_then(char::from_u32) {
        Some(character) if lengths.contains(&length) => Ok((Escape::Character(character), &text[length..])),
        _ => Err(invalid(BAD_ESCAPE)),
    }
}
