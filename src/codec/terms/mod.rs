//! Terms: what an inverted index has an entry of for each row that has it. A value has several: the items of an array, the keys and leaves
//! of a jsonb document, the words of a tsvector, the trigrams of a text. A condition that only values with certain terms meet leads to their
//! rows; whether these meet it is asked of each.
//!
//! They stand in keys on disk, so what a value's terms are must never change. A term of many bytes is cut, and what was cut off stands there
//! as its hash: two values may share a term that neither has in common with the other, and then more rows are asked than need be.
//!
//! ```text
//! item of an array          its field as in an ascending key; 00 alone for an array without items
//! leaf of a document        01, XXH3 (64 bits, BE) of the path: each key that leads to it (length u64 BE, UTF-8), then 00 for null, 01 and the
//!                           truth, 02 and the number's field as numeric, 03 and the text (length u64 BE, UTF-8)
//! outermost key             02, UTF-8
//! word, trigram             UTF-8
//! longer than 128 bytes     the first 120, then XXH3 (64 bits, BE) of all
//! ```

mod condition;
mod items;
mod json;
mod trigrams;
mod wanted;
mod words;

use xxhash_rust::xxh3::xxh3_64;

use super::key::{self, KeyField};
use crate::Result;
use crate::types::{SqlType, Value};

pub use wanted::{Term, WantedTerms};

/// Bytes of a term at most.
const TERM_BYTES_MAX: usize = 128;
/// So many bytes of a longer one stand as they are: what begins so is found by its beginning.
const KEPT_BYTES: usize = TERM_BYTES_MAX - 8;

/// Bytes that end a field of bytea.
const FIELD_END_BYTES: usize = 2;

/// How values are taken apart: PostgreSQL's operator classes of GIN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TermClass {
    /// `array_ops`: an array's items.
    Items,
    /// `jsonb_ops`: the outermost keys, and each leaf with the keys that lead to it.
    Json,
    /// `jsonb_path_ops`: the leaves alone.
    JsonPaths,
    /// `tsvector_ops`: words.
    Words,
    /// `gin_trgm_ops`: a text's trigrams.
    Trigrams,
    /// A class of btree_gin: beside others a value has no terms, and rows are asked for it.
    Plain,
}

impl TermClass {
    /// The terms of a value of a type, sorted, each once; NULL has none. Errors: `Corrupt` for what is no value of the type.
    pub fn terms(self, value: &Value, ty: &SqlType) -> Result<Vec<Vec<u8>>> {
        let mut terms = match (self, value) {
            (_, Value::Null) | (TermClass::Plain, _) => Vec::new(),
            (TermClass::Items, Value::Array(items)) => items::of_array(items, ty),
            (TermClass::Json, Value::Text(text)) => json::of_document(text, true)?,
            (TermClass::JsonPaths, Value::Text(text)) => json::of_document(text, false)?,
            (TermClass::Words, Value::Text(text)) => words::of_vector(text)?,
            (TermClass::Trigrams, Value::Text(text)) => trigrams::of_text(text),
            _ => Vec::new(),
        };
        terms.sort_unstable();
        terms.dedup();
        Ok(terms)
    }

    /// How values of a type are taken apart unless another class is named; `None`: the type has no terms of its own.
    pub fn own(ty: &SqlType) -> Option<TermClass> {
        match ty {
            SqlType::Array(_) => Some(TermClass::Items),
            SqlType::Jsonb => Some(TermClass::Json),
            SqlType::TsVector => Some(TermClass::Words),
            _ => None,
        }
    }

    /// A term of a value of a type, for people.
    pub fn term_text(self, term: &[u8], ty: &SqlType) -> String {
        let text = match self {
            TermClass::Items => items::term_text(term, ty),
            TermClass::Json | TermClass::JsonPaths => json::term_text(term),
            TermClass::Words | TermClass::Trigrams => std::str::from_utf8(term).ok().map(str::to_string),
            TermClass::Plain => None,
        };
        match text {
            Some(text) => format!("'{}'", text.replace('\'', "''")),
            None => term.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}

/// Appends a term to a key, as bytea stands there. `source`: the place of the column that it is of among those of the index, at most 255.
pub fn put_term(key: &mut Vec<u8>, source: usize, term: &[u8]) {
    let field = KeyField::ascending(SqlType::Bytea);
    let stored = [&[source as u8], term].concat();
    key::encode_value(key, &Value::Bytes(stored), &field);
}

/// The same, as all keys of terms begin that begin so.
pub fn put_beginning(key: &mut Vec<u8>, source: usize, beginning: &[u8]) {
    put_term(key, source, beginning);
    key.truncate(key.len() - FIELD_END_BYTES);
}

/// A term of at most [`TERM_BYTES_MAX`] bytes.
fn bounded(mut term: Vec<u8>) -> Vec<u8> {
    if term.len() > TERM_BYTES_MAX {
        let hash = xxh3_64(&term);
        term.truncate(KEPT_BYTES);
        term.extend_from_slice(&hash.to_be_bytes());
    }
    term
}

/// What all terms begin with whose whole bytes begin so.
fn bounded_beginning(mut beginning: Vec<u8>) -> Vec<u8> {
    beginning.truncate(KEPT_BYTES);
    beginning
}
