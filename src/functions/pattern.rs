//! SIMILAR TO, and `||` of text. Regular expressions stand in `regexp`.

use super::kept_regexes::with_regex;
pub(crate) use super::pattern_prefix::FixedPrefix;
use super::pattern_prefix::anchored_prefix;
use super::regexp::matches;
use super::regular_expression::RegularExpression;
use super::{Body, FunctionDef, T};
use crate::system::query_threads::check_left;
use crate::types::Value;
use crate::{Error, Result};

/// `a || b` of texts.
pub const CONCATENATE: Body = Body::Batch(|b| b.map2(|left: &str, right: &str| [left, right].concat()));

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("similar_to_escape", &[T::Text], T::Text, |b| {
        b.map1(|pattern: &str| similar_to_regex(pattern, "\\"))
    }),
    FunctionDef::new("similar_to_escape", &[T::Text, T::Text], T::Text, |b| {
        b.map2(similar_to_regex)
    }),
    // NULL is the usual escape.
    FunctionDef::new("similar_escape", &[T::Text, T::Text], T::Text, |b| {
        b.map_values(|values| match values {
            [Value::Text(pattern), Value::Text(escape)] => similar_to_regex(pattern, escape).map(Some),
            [Value::Text(pattern), _] => similar_to_regex(pattern, "\\").map(Some),
            _ => Ok(None),
        })
    })
    .on_null(),
    FunctionDef::new("like_escape", &[T::Text, T::Text], T::Text, |b| {
        b.map2(like_escape)
    }),
    FunctionDef::new("similar_to", &[T::Text, T::Text, T::Text], T::Bool, |b| {
        b.map3(|text, pattern, escape| similar(text, pattern, escape, ""))
    }),
    // SIMILAR TO of citext.
    FunctionDef::new(
        "similar_in_any_case_to",
        &[T::Text, T::Text, T::Text],
        T::Bool,
        |b| b.map3(|text, pattern, escape| similar(text, pattern, escape, "i")),
    ),
    FunctionDef::new("substring", &[T::Text, T::Text, T::Text], T::Text, |b| {
        b.map3(similar_part)
    }),
    FunctionDef::new("^@", &[T::Text, T::Text], T::Bool, |b| {
        b.map2(|text: &str, start: &str| text.starts_with(start))
    }),
    // Order by bytes, whatever the collation.
    FunctionDef::new("~<~", &[T::Text, T::Text], T::Bool, |b| {
        b.map2(|a: &str, b: &str| a < b)
    }),
    FunctionDef::new("~<=~", &[T::Text, T::Text], T::Bool, |b| {
        b.map2(|a: &str, b: &str| a <= b)
    }),
    FunctionDef::new("~>~", &[T::Text, T::Text], T::Bool, |b| {
        b.map2(|a: &str, b: &str| a > b)
    }),
    FunctionDef::new("~>=~", &[T::Text, T::Text], T::Bool, |b| {
        b.map2(|a: &str, b: &str| a >= b)
    }),
];

/// What a text begins with for which `function(text, pattern, …)` is true; `None` where that is not known, and for a
/// pattern that is not valid, whose error is for whoever evaluates it to raise.
pub(crate) fn fixed_prefix(function: &str, arguments: &[&str]) -> Option<FixedPrefix> {
    let pattern = match (function, arguments) {
        ("~" | "regexp_like", [pattern]) => (*pattern).to_string(),
        ("similar_to", [pattern, escape]) => format!("^{}$", similar_regex(pattern, escape.chars().next())),
        _ => return None,
    };
    with_regex(&pattern, "", |_| ()).ok()?;
    anchored_prefix(&pattern)
}

/// A pattern of SIMILAR TO as a regular expression, as PostgreSQL writes it: views and constraints of its dumps call this.
/// Errors: 22025, 2200C.
fn similar_to_regex(pattern: &str, escape: &str) -> Result<String> {
    let (regex, marks) = similar_regex_and_marks(pattern, only_character(escape)?);
    if marks > 2 {
        return Err(too_many_marks());
    }
    Ok(format!("^(?:{regex})$"))
}

/// A pattern of LIKE with this escape as one with a backslash. Errors: 22025.
fn like_escape(pattern: &str, escape: &str) -> Result<String> {
    let escape = only_character(escape)?;
    if escape == Some('\\') {
        return Ok(pattern.to_string());
    }
    let mut written = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if Some(character) == escape {
            written.push('\\');
            written.extend(characters.next());
        } else {
            if character == '\\' {
                written.push('\\');
            }
            written.push(character);
        }
    }
    Ok(written)
}

/// The escape of a pattern, if it has one. Errors: 22025 for several characters.
fn only_character(escape: &str) -> Result<Option<char>> {
    let mut characters = escape.chars();
    match (characters.next(), characters.next()) {
        (escape, None) => Ok(escape),
        _ => Err(invalid_escape()),
    }
}

fn too_many_marks() -> Error {
    Error::DataException {
        state: "2200C",
        message: "SQL regular expression may not contain more than two escape-double-quote separators"
            .to_string(),
    }
}

fn similar(text: &str, pattern: &str, escape: &str, flags: &str) -> Result<bool> {
    let regex = similar_regex(pattern, escape.chars().next());
    matches(text, &format!("^(?:{regex})$"), flags)
}

/// `substring(text FROM pattern FOR escape)`: the part of a text between the two marks of a pattern, an escape and `"` each, which the
/// whole text matches. What stands before is as short as it can be, the part as long. Errors: 22025, 2200C.
fn similar_part<'t>(text: &'t str, pattern: &str, escape: &str) -> Result<Option<&'t str>> {
    let escape = only_character(escape)?;
    let parts = marked_parts(pattern, escape);
    let regexes: Vec<String> = parts.iter().map(|part| similar_regex(part, escape)).collect();
    let (before, part, behind) = match regexes.as_slice() {
        [whole] => return Ok(whole_text(whole)?.is_match(text)?.then_some(text)),
        [before, part] => (before, part, ""),
        [before, part, behind] => (before, part, behind.as_str()),
        _ => {
            return Err(too_many_marks());
        }
    };
    let ends = |text: &str| {
        let places = text.char_indices().map(|(at, _)| at);
        places.chain([text.len()]).collect::<Vec<usize>>()
    };
    let rest = whole_text(&format!("(?:{part})(?:{behind})"))?;
    let (before, part, behind) = (whole_text(before)?, whole_text(part)?, whole_text(behind)?);
    for start in ends(text) {
        check_left()?;
        if !before.is_match(&text[..start])? || !rest.is_match(&text[start..])? {
            continue;
        }
        for length in ends(&text[start..]).into_iter().rev() {
            let (found, after) = text[start..].split_at(length);
            if part.is_match(found)? && behind.is_match(after)? {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// The error for an ESCAPE of several characters.
pub(crate) fn invalid_escape() -> Error {
    Error::Advised {
        error: Box::new(Error::DataException {
            state: "22025",
            message: "invalid escape string".to_string(),
        }),
        hint: "Escape string must be empty or one character.".to_string(),
    }
}

/// What the whole of a text matches.
fn whole_text(regex: &str) -> Result<RegularExpression> {
    RegularExpression::new(&format!("^(?:{regex})$"), "")
}

/// The parts of a pattern between its marks.
fn marked_parts(pattern: &str, escape: Option<char>) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        let is_escape = Some(character) == escape;
        match (is_escape, is_escape.then(|| characters.next()).flatten()) {
            (true, Some('"')) => parts.push(String::new()),
            (_, next) => {
                if let Some(part) = parts.last_mut() {
                    part.push(character);
                    part.extend(next);
                }
            }
        }
    }
    parts
}

/// A pattern of SIMILAR TO as a regular expression, to be matched by the whole text.
fn similar_regex(pattern: &str, escape: Option<char>) -> String {
    similar_regex_and_marks(pattern, escape).0
}

/// The same, and how many marks (an escape and `"`) are in it.
fn similar_regex_and_marks(pattern: &str, escape: Option<char>) -> (String, usize) {
    let mut regex = String::with_capacity(pattern.len());
    let (mut is_in_class, mut marks) = (false, 0);
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if Some(character) == escape {
            match characters.next() {
                Some('"') if !is_in_class => {
                    regex.push_str(if marks == 0 { "){1,1}?(" } else { "){1,1}(?:" });
                    marks += 1;
                }
                Some(escaped) => regex.extend(['\\', escaped]),
                None => {}
            }
            continue;
        }
        match character {
            '\\' => regex.push_str("\\\\"),
            other if is_in_class => {
                is_in_class = other != ']';
                regex.push(other);
            }
            '[' => {
                is_in_class = true;
                regex.push('[');
            }
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            '(' => regex.push_str("(?:"),
            '.' | '^' | '$' => regex.extend(['\\', character]),
            other => regex.push(other),
        }
    }
    (regex, marks)
}
