//! `text ~~ ANY (patterns)` and its like: LIKE and regular expressions over arrays of patterns.

use super::pattern::{like, like_any_case};
use super::regexp::matches;
use super::{Batch, Body};
use crate::types::Value;
use crate::{Error, Result};
use arrow::array::ArrayRef;

/// Whether a text matches a pattern.
type Test = fn(&str, &str) -> Result<bool>;

/// `text symbol ANY (patterns)`, or ALL, as a function of both.
pub fn quantified_pattern(symbol: &str, all: bool) -> Option<(&'static str, Body)> {
    Some(match (symbol, all) {
        ("~~", false) => ("any_like", Body::Batch(|b| quantify(b, is_like, (true, false)))),
        ("!~~", false) => (
            "any_not_like",
            Body::Batch(|b| quantify(b, is_like, (false, false))),
        ),
        ("~~*", false) => ("any_ilike", Body::Batch(|b| quantify(b, is_ilike, (true, false)))),
        ("!~~*", false) => (
            "any_not_ilike",
            Body::Batch(|b| quantify(b, is_ilike, (false, false))),
        ),
        ("~", false) => ("any_match", Body::Batch(|b| quantify(b, is_match, (true, false)))),
        ("!~", false) => (
            "any_not_match",
            Body::Batch(|b| quantify(b, is_match, (false, false))),
        ),
        ("~*", false) => (
            "any_imatch",
            Body::Batch(|b| quantify(b, is_imatch, (true, false))),
        ),
        ("!~*", false) => (
            "any_not_imatch",
            Body::Batch(|b| quantify(b, is_imatch, (false, false))),
        ),
        ("~~", true) => ("all_like", Body::Batch(|b| quantify(b, is_like, (true, true)))),
        ("!~~", true) => (
            "all_not_like",
            Body::Batch(|b| quantify(b, is_like, (false, true))),
        ),
        ("~~*", true) => ("all_ilike", Body::Batch(|b| quantify(b, is_ilike, (true, true)))),
        ("!~~*", true) => (
            "all_not_ilike",
            Body::Batch(|b| quantify(b, is_ilike, (false, true))),
        ),
        ("~", true) => ("all_match", Body::Batch(|b| quantify(b, is_match, (true, true)))),
        ("!~", true) => (
            "all_not_match",
            Body::Batch(|b| quantify(b, is_match, (false, true))),
        ),
        ("~*", true) => (
            "all_imatch",
            Body::Batch(|b| quantify(b, is_imatch, (true, true))),
        ),
        ("!~*", true) => (
            "all_not_imatch",
            Body::Batch(|b| quantify(b, is_imatch, (false, true))),
        ),
        _ => return None,
    })
}

/// Whether one of the patterns, or with `all` each, gives `wanted`; NULL where that hangs on a NULL among them.
fn quantify(batch: &Batch, test: Test, (wanted, all): (bool, bool)) -> Result<ArrayRef> {
    batch.map2(|text: &str, patterns: Vec<Value>| {
        let mut found = Some(all);
        for pattern in &patterns {
            match pattern {
                Value::Null => found = None,
                Value::Text(pattern) if (test(text, pattern)? == wanted) != all => return Ok(Some(!all)),
                Value::Text(_) => {}
                _ => return Err(Error::internal("a pattern that is no text")),
            }
        }
        Ok(found)
    })
}

fn is_like(text: &str, pattern: &str) -> Result<bool> {
    like(text, pattern, "\\")
}

fn is_ilike(text: &str, pattern: &str) -> Result<bool> {
    like_any_case(text, pattern, "\\")
}

fn is_match(text: &str, pattern: &str) -> Result<bool> {
    matches(text, pattern, "")
}

fn is_imatch(text: &str, pattern: &str) -> Result<bool> {
    matches(text, pattern, "i")
}
