//! Bracket expressions of PostgreSQL's regular expressions, `[a-z[:digit:]]`, written as Rust's crates spell them. Read by
//! `regular_syntax`.

use regex_syntax::is_meta_character;

use super::regular_escape::{Escape, read_escape};
use super::regular_fault::{BAD_CLASS, BAD_ELEMENT, BAD_ESCAPE, BAD_RANGE, BRACKETS, invalid};
use super::regular_options::RegularOptions;
use crate::Result;

/// The classes of characters. Rust's of these names have ASCII's alone, so that those of letters, spaces and marks are spelled.
const CLASSES: &[(&str, &str)] = &[
    ("alnum", "\\p{Alphabetic}0-9"),
    ("alpha", "\\p{Alphabetic}"),
    ("ascii", "[:ascii:]"),
    ("blank", "[:blank:]"),
    ("cntrl", "[:cntrl:]"),
    ("digit", "0-9"),
    ("graph", "[:graph:]"),
    ("lower", "\\p{Lowercase}"),
    ("print", "[:print:]"),
    ("punct", "\\p{P}\\p{S}"),
    ("space", "\\s"),
    ("upper", "\\p{Uppercase}"),
    ("word", "\\w"),
    ("xdigit", "[:xdigit:]"),
];

/// Something between brackets.
enum Member {
    Character(char),
    /// In Rust's spelling.
    Class(&'static str),
}

/// Reads the expression whose bracket was read, and gives what follows it. Errors: 2201B.
pub(super) fn read_bracket<'p>(
    text: &'p str,
    options: RegularOptions,
    written: &mut String,
) -> Result<&'p str> {
    written.push('[');
    let mut rest = text;
    if let Some(behind) = rest.strip_prefix('^') {
        written.push('^');
        if !options.dot_matches_newline {
            written.push_str("\\n");
        }
        rest = behind;
    }
    let mut is_first = true;
    loop {
        if !is_first && let Some(behind) = rest.strip_prefix(']') {
            written.push(']');
            return Ok(behind);
        }
        let (member, behind) = read_member(rest, is_first)?;
        (rest, is_first) = (behind, false);
        let range = match rest.strip_prefix('-') {
            Some(to) if !to.starts_with(']') => Some(to),
            _ => None,
        };
        match (member, range) {
            (Member::Class(class), None) => written.push_str(class),
            (Member::Character(character), None) => push(written, character),
            (Member::Character(from), Some(to)) => {
                let (to, behind) = read_end(to)?;
                if from > to {
                    return Err(invalid(BAD_RANGE));
                }
                push(written, from);
                written.push('-');
                push(written, to);
                rest = behind;
            }
            (Member::Class(_), Some(_)) => return Err(invalid(BAD_RANGE)),
        }
    }
}

fn push(written: &mut String, character: char) {
    if is_meta_character(character) {
        written.push('\\');
    }
    written.push(character);
}

/// The end of a range.
fn read_end(text: &str) -> Result<(char, &str)> {
    match text.strip_prefix('-') {
        Some(behind) => Ok(('-', behind)),
        None => match read_member(text, false)? {
            (Member::Character(to), behind) => Ok((to, behind)),
            (Member::Class(_), _) => Err(invalid(BAD_RANGE)),
        },
    }
}

fn read_member(text: &str, is_first: bool) -> Result<(Member, &str)> {
    for (open, close) in [("[:", ":]"), ("[.", ".]"), ("[=", "=]")] {
        let Some(named) = text.strip_prefix(open) else {
            continue;
        };
        let Some((name, behind)) = named.split_once(close) else {
            return Err(invalid(BRACKETS));
        };
        let mut characters = name.chars();
        return match (open, characters.next(), characters.next()) {
            ("[:", ..) => match CLASSES.iter().find(|(class, _)| *class == name) {
                Some((_, class)) => Ok((Member::Class(class), behind)),
                None => Err(invalid(BAD_CLASS)),
            },
            (_, Some(character), None) => Ok((Member::Character(character), behind)),
            _ => Err(invalid(BAD_ELEMENT)),
        };
    }
    let mut characters = text.chars();
    let member = match characters.next() {
        None => return Err(invalid(BRACKETS)),
        Some('\\') => {
            let (escape, behind) = read_escape(characters.as_str(), 0)?;
            let member = match escape {
                Escape::Character(character) => Member::Character(character),
                Escape::Class(class) => Member::Class(class.written()),
                Escape::Constraint(_) | Escape::Reference(_) => return Err(invalid(BAD_ESCAPE)),
            };
            return Ok((member, behind));
        }
        // In the middle it would begin a range that begins nowhere.
        Some('-') if !is_first && !characters.as_str().starts_with(']') => return Err(invalid(BAD_RANGE)),
        Some(character) => Member::Character(character),
    };
    Ok((member, characters.as_str()))
}
