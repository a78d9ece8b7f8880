//! What is wrong with a regular expression, in PostgreSQL's words.

use crate::Error;

pub(super) const BAD_CLASS: &str = "invalid character class";
pub(super) const BAD_ELEMENT: &str = "invalid collating element";
pub(super) const BAD_ESCAPE: &str = "invalid escape \\ sequence";
pub(super) const BAD_OPTION: &str = "invalid embedded option";
pub(super) const BAD_QUANTIFIER: &str = "quantifier operand invalid";
pub(super) const BAD_RANGE: &str = "invalid character range";
pub(super) const BRACES: &str = "braces {} not balanced";
pub(super) const BRACKETS: &str = "brackets [] not balanced";
pub(super) const COUNTS: &str = "invalid repetition count(s)";
pub(super) const NO_GROUP: &str = "invalid backreference number";
pub(super) const PARENTHESES: &str = "parentheses () not balanced";
pub(super) const TOO_COMPLEX: &str = "regular expression is too complex";

/// 2201B.
pub(super) fn invalid(reason: impl std::fmt::Display) -> Error {
    Error::DataException {
        state: "2201B",
        message: format!("invalid regular expression: {reason}"),
    }
}
