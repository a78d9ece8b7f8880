//! The order of jsonb: a key of bytes for every document, in the order in which PostgreSQL compares the documents, equal
//! where it calls them equal (`1` and `1.0`).
//!
//! - Null < string < number < boolean < array < object; but an empty array that is the whole document is below all.
//! - Of two arrays, or two objects, the one with more items is greater; else the first item that differs decides. Objects
//!   are compared key by key, each followed by its value; keys come in the order in which jsonb keeps them.
//! - Strings compare by bytes (collation C), numbers by value.

use std::cmp::Ordering;

use super::json_piece::{Kind, Piece, quoted};

/// The first byte of an empty array that is the whole document: below every [`tag`].
const EMPTY_ARRAY: u8 = 0;
/// Signs of numbers.
const NEGATIVE: u8 = 1;
const ZERO: u8 = 2;
const POSITIVE: u8 = 3;
/// The end of a string or of a number's digits: neither holds it.
const END: u8 = 0;

/// Appends the bytes that the document compares by.
pub(crate) fn put_key(out: &mut Vec<u8>, document: &str) {
    put_document(out, Piece::new(document));
}

/// A document of such a key, as jsonb prints it, with each number in as few digits as hold it. `None`: it is the key of none.
pub(crate) fn document(key: &[u8]) -> Option<String> {
    let mut text = String::new();
    let mut rest = key;
    match key {
        [EMPTY_ARRAY] => return Some("[]".to_string()),
        _ => take(&mut rest, &mut text)?,
    }
    rest.is_empty().then_some(text)
}

/// How two documents compare.
pub(crate) fn compare(left: &str, right: &str) -> Ordering {
    let key = |text| {
        let mut out = Vec::new();
        put_key(&mut out, text);
        out
    };
    key(left).cmp(&key(right))
}

/// Whether two values are equal as jsonb.
pub(crate) fn same(left: Piece, right: Piece) -> bool {
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

/// Takes the value that the key begins with, and appends its text.
fn take(rest: &mut &[u8], out: &mut String) -> Option<()> {
    match cut(rest, 1)?[0] {
        1 => out.push_str("null"),
        2 => out.push_str(&quoted(take_string(rest)?)),
        3 => take_number(rest, out)?,
        4 => out.push_str(if cut(rest, 1)?[0] == 0 { "false" } else { "true" }),
        5 => take_counted(rest, out, ['[', ']'], take)?,
        6 => take_counted(rest, out, ['{', '}'], |rest, out| {
            out.push_str(&quoted(take_string(rest)?));
            out.push_str(": ");
            take(rest, out)
        })?,
        _ => return None,
    }
    Some(())
}

fn take_counted(
    rest: &mut &[u8],
    out: &mut String,
    [open, close]: [char; 2],
    take_item: impl Fn(&mut &[u8], &mut String) -> Option<()>,
) -> Option<()> {
    out.push(open);
    for item in 0..u32::from_be_bytes(cut(rest, 4)?.try_into().ok()?) {
        if item > 0 {
            out.push_str(", ");
        }
        take_item(rest, out)?;
    }
    out.push(close);
    Some(())
}

fn take_string(rest: &mut &[u8]) -> Option<String> {
    let end = rest.iter().position(|byte| *byte == END)?;
    let string = cut(rest, end)?.to_vec();
    cut(rest, 1)?;
    String::from_utf8(string).ok()
}

fn take_number(rest: &mut &[u8], out: &mut String) -> Option<()> {
    let mask = match cut(rest, 1)?[0] {
        ZERO => {
            out.push('0');
            return Some(());
        }
        NEGATIVE => {
            out.push('-');
            0xFF
        }
        POSITIVE => 0,
        _ => return None,
    };
    let place: [u8; 8] = cut(rest, 8)?.try_into().ok()?;
    let place = (u64::from_be_bytes(place.map(|byte| byte ^ mask)) ^ (1 << 63)).cast_signed();
    let end = rest.iter().position(|byte| *byte ^ mask == END)?;
    let digits: Vec<u8> = cut(rest, end)?.iter().map(|byte| byte ^ mask).collect();
    cut(rest, 1)?;
    let digits = std::str::from_utf8(&digits).ok()?;
    // jsonb's numbers are numerics, of at most 131,072 digits before the point.
    let zeros = |count: i64| {
        usize::try_from(count)
            .ok()
            .filter(|count| *count <= 1 << 18)
            .map(|count| "0".repeat(count))
    };
    let count = digits.len() as i64;
    match place {
        ..=0 => *out += &format!("0.{}{digits}", zeros(place.checked_neg()?)?),
        place if place < count => {
            let (whole, fraction) = digits.split_at_checked(place as usize)?;
            *out += &format!("{whole}.{fraction}");
        }
        place => *out += &format!("{digits}{}", zeros(place - count)?),
    }
    Some(())
}

fn cut<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (bytes, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> Vec<u8> {
        let mut out = Vec::new();
        put_key(&mut out, text);
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
        for text in ascending {
            assert_eq!(document(&key(text)).as_deref(), Some(text));
        }
    }

    #[test]
    fn keys_of_no_document_are_refused() {
        let whole = key(r#"{"a": [1.5, "x", null, true], "b": -20}"#);
        for end in 0..whole.len() {
            assert_eq!(document(&whole[..end]), None);
        }
        assert_eq!(document(&[&whole[..], &[1]].concat()), None);
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
