//! LIKE with any escape, SIMILAR TO, and `||` of text. Regular expressions stand in `regexp`.

use super::pattern_prefix::{FixedPrefix, anchored_prefix};
use super::regexp::matches;
use super::regular_expression::with_regex;
use super::{Body, FunctionDef, T};
use crate::Result;
use crate::plan::like::LikePattern;

/// `a || b` of texts.
pub const CONCATENATE: Body = Body::Batch(|b| b.map2(|left: &str, right: &str| [left, right].concat()));

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("like_escape", &[T::Text, T::Text, T::Text], T::Bool, |b| {
        b.map3(like)
    }),
    FunctionDef::new("ilike_escape", &[T::Text, T::Text, T::Text], T::Bool, |b| {
        b.map3(like_any_case)
    }),
    FunctionDef::new("like_bytes", &[T::Bytea, T::Bytea, T::Text], T::Bool, |b| {
        b.map3(like_bytes)
    }),
    FunctionDef::new("similar_to", &[T::Text, T::Text, T::Text], T::Bool, |b| {
        b.map3(similar)
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

fn like(text: &str, pattern: &str, escape: &str) -> Result<bool> {
    let pattern = LikePattern::parse(pattern.as_bytes(), escape.chars().next())?;
    Ok(pattern.matches(text.as_bytes(), true))
}

fn like_any_case(text: &str, pattern: &str, escape: &str) -> Result<bool> {
    let pattern = LikePattern::parse(pattern.as_bytes(), escape.chars().next())?;
    Ok(pattern
        .to_lowercase()
        .matches(text.to_lowercase().as_bytes(), true))
}

fn like_bytes(bytes: &[u8], pattern: &[u8], escape: &str) -> Result<bool> {
    let pattern = LikePattern::parse(pattern, escape.chars().next())?;
    Ok(pattern.matches(bytes, false))
}

fn similar(text: &str, pattern: &str, escape: &str) -> Result<bool> {
    let regex = similar_regex(pattern, escape.chars().next());
    matches(text, &format!("\\A(?:{regex})\\z"), "")
}

/// A pattern of SIMILAR TO as a regular expression, to be matched by the whole text.
fn similar_regex(pattern: &str, escape: Option<char>) -> String {
    let mut regex = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    let mut in_class = false;
    while let Some(character) = characters.next() {
        match character {
            character if Some(character) == escape => {
                if let Some(literal) = characters.next() {
                    regex.push_str(&regex::escape(&literal.to_string()));
                }
            }
            '[' => {
                in_class = true;
                regex.push('[');
            }
            ']' => {
                in_class = false;
                regex.push(']');
            }
            character if in_class => regex.push(character),
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            '|' | '*' | '+' | '?' | '{' | '}' | '(' | ')' => regex.push(character),
            other => regex.push_str(&regex::escape(&other.to_string())),
        }
    }
    regex
}
