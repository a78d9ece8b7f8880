//! The terms of jsonb documents.
//!
//! - A *leaf*, which is a text, number, truth or null, is hashed with the keys that lead to it. Places in arrays do not count: what contains
//!   another document has the items of its arrays anywhere.
//! - An *outermost key*, which `?` asks for: a member's of the document, or a text that is an item of it, or the document itself.

use serde_json::Value as Json;
use xxhash_rust::xxh3::xxh3_64;

use super::bounded;
use crate::codec::key::{self, KeyField};
use crate::types::{Numeric, SqlType, Value};
use crate::{Error, Result};

const LEAF: u8 = 1;
const KEY: u8 = 2;

/// The terms of a document. Errors: `Corrupt` for what is none.
pub(super) fn of_document(text: &str, with_keys: bool) -> Result<Vec<Vec<u8>>> {
    let document = read(text)?;
    let mut terms = leaves(&document);
    if with_keys {
        terms.extend(outermost_keys(&document).map(of_key));
    }
    Ok(terms)
}

/// What every document that contains this one has. Of what holds no leaf only its key is known, if keys are kept.
pub(super) fn of_part(text: &str, with_keys: bool) -> Result<Vec<Vec<u8>>> {
    let document = read(text)?;
    let mut terms = leaves(&document);
    if let (Json::Object(members), true) = (&document, with_keys) {
        let is_bare = |member: &&Json| leaves(member).is_empty();
        let bare = members.iter().filter(|(_, member)| is_bare(member));
        terms.extend(bare.map(|(key, _)| of_key(key)));
    }
    Ok(terms)
}

/// The term of an outermost key.
pub(super) fn of_key(key: &str) -> Vec<u8> {
    bounded([&[KEY], key.as_bytes()].concat())
}

/// A term, if it stands there as it is: a leaf is a hash.
pub(super) fn term_text(term: &[u8]) -> Option<String> {
    let key = term.strip_prefix(&[KEY])?;
    std::str::from_utf8(key).ok().map(str::to_string)
}

fn read(text: &str) -> Result<Json> {
    serde_json::from_str(text).map_err(|error| Error::Corrupt {
        what: "jsonb".to_string(),
        reason: error.to_string(),
    })
}

fn outermost_keys(document: &Json) -> Box<dyn Iterator<Item = &str> + '_> {
    match document {
        Json::Object(members) => Box::new(members.keys().map(String::as_str)),
        Json::Array(items) => Box::new(items.iter().filter_map(Json::as_str)),
        other => Box::new(other.as_str().into_iter()),
    }
}

fn leaves(document: &Json) -> Vec<Vec<u8>> {
    let (mut path, mut terms) = (Vec::new(), Vec::new());
    put_leaves(document, &mut path, &mut terms);
    terms
}

/// A document is at most 127 deep.
fn put_leaves(document: &Json, path: &mut Vec<u8>, terms: &mut Vec<Vec<u8>>) {
    let here = path.len();
    match document {
        Json::Object(members) => {
            for (key, member) in members {
                put_text(path, key);
                put_leaves(member, path, terms);
                path.truncate(here);
            }
            return;
        }
        Json::Array(items) => {
            items.iter().for_each(|item| put_leaves(item, path, terms));
            return;
        }
        Json::Null => path.push(0),
        Json::Bool(truth) => path.extend([1, u8::from(*truth)]),
        Json::Number(number) => {
            path.push(2);
            put_number(path, &number.to_string());
        }
        Json::String(text) => {
            path.push(3);
            put_text(path, text);
        }
    }
    let hash = xxh3_64(path);
    path.truncate(here);
    terms.push([&[LEAF], hash.to_be_bytes().as_slice()].concat());
}

/// A text, and where it ends.
fn put_text(path: &mut Vec<u8>, text: &str) {
    path.extend((text.len() as u64).to_be_bytes());
    path.extend_from_slice(text.as_bytes());
}

/// What is equal is alike: 1, 1.0 and 1e0.
fn put_number(path: &mut Vec<u8>, number: &str) {
    match Numeric::parse(number) {
        Ok(number) => {
            let field = KeyField::ascending(SqlType::Numeric(None));
            key::encode_value(path, &Value::Numeric(number), &field);
        }
        Err(_) => path.extend_from_slice(number.as_bytes()),
    }
}
