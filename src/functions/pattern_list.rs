//! `text ~~ ANY (patterns)` and its like: LIKE and regular expressions over arrays of patterns.

use super::regexp::matches;
use super::{Batch, Body};
use crate::plan::like::LikeMatcher;
use crate::types::Value;
use crate::{Error, Result};
use arrow::array::ArrayRef;

/// Whether a text matches a pattern.
type Test = fn(&str, &str) -> Result<bool>;

/// The two functions of each symbol: the test, what it is to give, and the names with ANY and with ALL.
macro_rules! quantified {
    ($key:expr, $($symbol:literal: $test:ident $wanted:literal, $any:literal, $all:literal;)*) => {
        match $key {
            $(
                ($symbol, false) => Some(($any, Body::Batch(|b| quantify(b, $test, ($wanted, false))))),
                ($symbol, true) => Some(($all, Body::Batch(|b| quantify(b, $test, ($wanted, true))))),
            )*
            _ => None,
        }
    };
}

/// `text symbol ANY (patterns)`, or ALL, as a function of both.
pub fn quantified_pattern(symbol: &str, all: bool) -> Option<(&'static str, Body)> {
    quantified! {
        (symbol, all),
        "~~": is_like true, "any_like", "all_like";
        "!~~": is_like false, "any_not_like", "all_not_like";
        "~~*": is_ilike true, "any_ilike", "all_ilike";
        "!~~*": is_ilike false, "any_not_ilike", "all_not_ilike";
        "~": is_match true, "any_match", "all_match";
        "!~": is_match false, "any_not_match", "all_not_match";
        "~*": is_imatch true, "any_imatch", "all_imatch";
        "!~*": is_imatch false, "any_not_imatch", "all_not_imatch";
    }
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
    LikeMatcher::new(pattern.as_bytes(), Some('\\'), false, true).matches(text.as_bytes())
}

fn is_ilike(text: &str, pattern: &str) -> Result<bool> {
    LikeMatcher::new(pattern.as_bytes(), Some('\\'), true, true).matches(text.as_bytes())
}

fn is_match(text: &str, pattern: &str) -> Result<bool> {
    matches(text, pattern, "")
}

fn is_imatch(text: &str, pattern: &str) -> Result<bool> {
    matches(text, pattern, "i")
}
