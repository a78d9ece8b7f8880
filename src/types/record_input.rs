//! The text form of rows, read: `(1,"a b",)`. Called by `text_input`; what a column is, it does not know.

use super::quoted_word::cut_word;
use super::spaces::is_space;
use super::{RecordType, Value};
use crate::error::Raised;
use crate::{Error, Result};

/// Reads a row of the type; `read` reads the text of a column that is not NULL, without its quotes. Errors: 22P02, 0A000 for
/// the type of no name, those of the columns.
pub(super) fn parse(
    text: &str,
    ty: &RecordType,
    read: impl Fn(&str, usize) -> Result<Value>,
) -> Result<Vec<Value>> {
    if ty.is_anonymous() {
        return Err(of_no_type());
    }
    let malformed = |detail| malformed("record", text, detail);
    let body = text.trim_start_matches(is_space).strip_prefix('(');
    let mut rest = body.ok_or_else(|| malformed("Missing left parenthesis."))?;
    let mut values = Vec::with_capacity(ty.fields.len());
    for place in 0..ty.fields.len() {
        if place > 0 {
            rest = rest
                .strip_prefix(',')
                .ok_or_else(|| malformed("Too few columns."))?;
        }
        if rest.starts_with([',', ')']) {
            values.push(Value::Null);
            continue;
        }
        let (word, after) =
            cut_word(rest, &[',', ')']).ok_or_else(|| malformed("Unexpected end of input."))?;
        values.push(read(&word, place)?);
        rest = after;
    }
    let after = rest
        .strip_prefix(')')
        .ok_or_else(|| malformed("Too many columns."))?;
    match after.trim_start_matches(is_space).is_empty() {
        true => Ok(values),
        false => Err(malformed("Junk after right parenthesis.")),
    }
}

/// 22P02, of a text that is no row, range or multirange.
pub(super) fn malformed(what: &str, text: &str, detail: &str) -> Error {
    Error::from(Raised {
        detail: Some(detail.to_string()),
        ..Raised::new("22P02", format!("malformed {what} literal: \"{text}\""))
    })
}

/// 0A000, of a row whose type says nothing of its columns.
pub(super) fn of_no_type() -> Error {
    Error::DataException {
        state: "0A000",
        message: "input of anonymous composite types is not implemented".to_string(),
    }
}
