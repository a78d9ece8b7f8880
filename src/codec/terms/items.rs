//! The terms of arrays: each item as it stands in an ascending key, so that what is equal has one term. An array without items has a term
//! of its own, by which what is contained in another is found.

use super::bounded;
use crate::codec::key::{self, KeyField};
use crate::types::{FormatSettings, SqlType, Value};

/// The term of an array that holds nothing: no item's, for each of those begins with the tag of its type.
const EMPTY: &[u8] = &[0];

/// The terms of an array.
pub(super) fn of_array(items: &[Value], ty: &SqlType) -> Vec<Vec<u8>> {
    match items.is_empty() {
        true => vec![of_nothing()],
        false => of_items(items, ty),
    }
}

/// The term of an array without items.
pub(super) fn of_nothing() -> Vec<u8> {
    EMPTY.to_vec()
}

/// The terms of items; a NULL has none, for it is equal to nothing.
pub(super) fn of_items(items: &[Value], array: &SqlType) -> Vec<Vec<u8>> {
    let field = field(array);
    let present = items.iter().filter(|item| **item != Value::Null);
    let terms = present.map(|item| {
        let mut term = Vec::new();
        key::encode_value(&mut term, item, &field);
        bounded(term)
    });
    terms.collect()
}

/// A term, if it stands there as it is.
pub(super) fn term_text(term: &[u8], array: &SqlType) -> Option<String> {
    if term == EMPTY {
        return Some("{}".to_string());
    }
    let (value, length) = key::decode_value(term, &field(array)).ok()?;
    (length == term.len()).then(|| value.to_text(&FormatSettings::default()))
}

fn field(array: &SqlType) -> KeyField {
    KeyField::ascending(array.innermost().clone())
}
