//! The order of jsonb: a key of bytes for every document, in the order in which PostgreSQL compares the documents, equal
//! where it calls them equal (`1` and `1.0`).
//!
//! - Null < string < number < boolean < array < object; but an empty array that is the whole document is below all.
//! - Of two arrays, or two objects, the one with more items is greater; else the first item that differs decides. Objects
//!   are compared key by key, each followed by its value; keys come in the order in which jsonb keeps them.
//! - Strings compare by bytes (collation C), numbers by value.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, BinaryBuilder};

use super::json_piece::{Kind, Piece};
use super::{Batch, Body};
use crate::Result;

/// A jsonb document as the bytes that it compares by.
pub const JSONB_ORDER: Body = Body::Batch(jsonb_order);
/// The name of [`JSONB_ORDER`].
pub const JSONB_ORDER_NAME: &str = "jsonb_order";

/// The first byte of an empty array that is the whole document: below every [`tag`].
const EMPTY_ARRAY: u8 = 0;
/// Signs of numbers.
const NEGATIVE: u8 = 1;
const ZERO: u8 = 2;
const POSITIVE: u8 = 3;
/// The end of a string or of a number's digits: neither holds it.
const END: u8 = 0;

fn jsonb_order(batch: &Batch) -> Result<ArrayRef> {
    let mut keys = BinaryBuilder::new();
    let mut key = Vec::new();
    for text in batch.arrays[0].as_string::<i32>() {
        match text {
            Some(text) => {
                key.clear();
                put_document(&mut key, Piece::new(text));
                keys.append_value(&key);
            }
            None => keys.append_null(),
        }
    }
    Ok(Arc::new(keys.finish()))
}

/// How two documents compare.
pub(super) fn compare(left: &str, right: &str) -> Ordering {
    let key = |text| {
        let mut out = Vec::new();
        put_document(&mut out, Piece::new(text));
        out
    };
    key(left).cmp(&key(right))
}

/// Whether two values are equal as jsonb.
pub(super) fn same(left: Piece, right: Piece) -> bool {
    left.text() == right.text() || left.kind() == right.kind() && compare(left.text(), right.text()).is_eq()
}

fn put_document(out: &mut Vec<u8>, document: Piece) {
    if document.kind() == Kind::Array && document.items().next().is_none() {
        out.push(EMPTY_ARRAY);
    } else {
        put(out, document);
    }
}

/// jsonb nests at most 127 levels deep.
fn put(out: &mut Vec<u8>, piece: Piece) {
    out.push(tag(piece.kind()));
    match piece.kind() {
        Kind::Null => {}
        Kind::String => put_string(out, &piece.string().unwrap_or_default()),
        Kind::Number => put_number(out, piece.text()),
        Kind::Boolean => out.push(u8::from(piece.text() == "true")),
        Kind::Array => {
            put_counted(out, |out| piece.items().map(|item| put(out, item)).count());
        }
        Kind::Object => put_counted(out, |out| {
            let members = piece.members().map(|(key, value)| {
                put_string(out, &key);
                put(out, value);
            });
            members.count()
        }),
    }
}

/// The place of a kind among the others, from 1.
fn tag(kind: Kind) -> u8 {
    match kind {
        Kind::Null => 1,
        Kind::String => 2,
        Kind::Number => 3,
        Kind::Boolean => 4,
        Kind::Array => 5,
        Kind::Object => 6,
    }
}

/// How many items there are, and then the items.
fn put_counted(out: &mut Vec<u8>, put_items: impl FnOnce(&mut Vec<u8>) -> usize) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    let count = u32::try_from(put_items(out)).unwrap_or(u32::MAX);
    out[start..start + 4].copy_from_slice(&count.to_be_bytes());
}

fn put_string(out: &mut Vec<u8>, string: &str) {
    out.extend_from_slice(string.as_bytes());
    out.push(END);
}

/// Sign, then the place of the first digit, then the digits; all of it turned around below zero.
fn put_number(out: &mut Vec<u8>, text: &str) {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(unsigned) => (true, unsigned),
        None => (false, text),
    };
    let (integer, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
    let integer = integer.trim_start_matches('0');
    let all = format!("{integer}{fraction}");
    let digits = all.trim_start_matches('0');
    let zeros = all.len() - digits.len();
    let digits = digits.trim_end_matches('0');
    if digits.is_empty() {
        return out.push(ZERO);
    }
    out.push(if negative { NEGATIVE } else { POSITIVE });
    let start = out.len();
    // Digits before the point, less the zeros right behind it; as an unsigned number in the same order.
    let place = integer.len() as i64 - zeros as i64;
    out.extend_from_slice(&(place.cast_unsigned() ^ (1 << 63)).to_be_bytes());
    out.extend_from_slice(digits.as_bytes());
    out.push(END);
    if negative {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        put_document(&mut out, Piece::new(text));
        out
    }

    #[test]
    fn keys_are_in_the_order_of_documents() {
        let ascending = [
            "[]",
            "null",
            r#""""#,
            r#""a""#,
            r#""a\u0001""#,
            r#""aa""#,
            r#""b""#,
            "-100",
            "-10",
            "-9.5",
            "-9",
            "-0.01",
            "-0.001",
            "0",
            "0.0015",
            "0.01",
            "0.1",
            "1.0001",
            "9",
            "10",
            "10.5",
            "false",
            "true",
            "[[]]",
            "[[1]]",
            "[{}]",
            "[1, 2]",
            "[1, 3]",
            "{}",
            r#"{"a": 1}"#,
            r#"{"a": 2}"#,
            r#"{"b": 0}"#,
            r#"{"a": 1, "b": 1}"#,
        ];
        for pair in ascending.windows(2) {
            assert!(key(pair[0]) < key(pair[1]), "{} < {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn equal_documents_have_one_key() {
        for (left, right) in [
            ("1", "1.00"),
            ("0", "0.0"),
            ("[1.50]", "[1.5]"),
            (r#"{"a": 10}"#, r#"{"a": 10.0}"#),
        ] {
            assert_eq!(key(left), key(right));
            assert!(same(Piece::new(left), Piece::new(right)));
        }
        assert!(!same(Piece::new("1"), Piece::new("\"1\"")));
    }
}
