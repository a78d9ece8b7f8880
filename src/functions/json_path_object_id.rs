//! The number by which `.keyvalue()` tells objects apart: where the object stands in the bytes that PostgreSQL keeps of the document.
//! They are: a header of 4 bytes; 4 bytes for each item, or for each key and each value; the keys, then the values. Numbers and what has
//! items begin at a multiple of 4.

use serde_json::Value as Json;

use crate::types::{Numeric, NumericBytes};

/// What PostgreSQL aligns numbers and containers to.
const ALIGNMENT: i64 = 4;
/// The header of a container, and what it has for each item.
const ENTRY_BYTES: i64 = 4;

/// Where an array or object begins in its document; `None`: it is not part of it.
pub(super) fn place_in(document: &Json, wanted: &Json) -> Option<i64> {
    let exact = |json: &Json| std::ptr::eq(json, wanted);
    // A copy of a part is found by what it holds.
    find(document, &exact).or_else(|| find(document, &|json| json == wanted))
}

fn find(container: &Json, is_wanted: &impl Fn(&Json) -> bool) -> Option<i64> {
    if is_wanted(container) {
        return Some(0);
    }
    let mut at = start_of_items(container);
    for value in values(container) {
        at = aligned(value, at);
        if let Json::Array(_) | Json::Object(_) = value
            && let Some(inside) = find(value, is_wanted)
        {
            return Some(at + inside);
        }
        at += length(value);
    }
    None
}

fn values(container: &Json) -> Vec<&Json> {
    match container {
        Json::Array(items) => items.iter().collect(),
        Json::Object(members) => members.values().collect(),
        _ => Vec::new(),
    }
}

/// Where the first value stands, or would without alignment.
fn start_of_items(container: &Json) -> i64 {
    match container {
        Json::Array(items) => ENTRY_BYTES * (1 + count(items.len())),
        Json::Object(members) => {
            let keys: i64 = members.keys().map(|key| count(key.len())).sum();
            ENTRY_BYTES * (1 + 2 * count(members.len())) + keys
        }
        _ => 0,
    }
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX / 8)
}

fn aligned(value: &Json, at: i64) -> i64 {
    match value {
        Json::Number(_) | Json::Array(_) | Json::Object(_) => (at + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT,
        _ => at,
    }
}

/// How many bytes a value takes behind its alignment.
fn length(value: &Json) -> i64 {
    match value {
        Json::Null | Json::Bool(_) => 0,
        Json::String(text) => count(text.len()),
        Json::Number(number) => {
            Numeric::parse(&number.to_string()).map_or(0, |number| numeric_bytes(&number))
        }
        container => {
            let start = start_of_items(container);
            values(container)
                .into_iter()
                .fold(start, |at, value| aligned(value, at) + length(value))
        }
    }
}

/// The bytes of a numeric: a length of 4, a header of 2 (4 for what is very long), and 2 for each four digits.
fn numeric_bytes(number: &Numeric) -> i64 {
    let (mut bytes, mut sent) = (Vec::new(), Vec::new());
    number.put_bytes(&mut bytes);
    if let Some(number) = NumericBytes::read(&bytes) {
        number.put_binary(&mut sent);
    }
    // As sent to clients: the count of digit groups, weight, sign, scale, then the groups.
    let groups = count(sent.len() / 2).saturating_sub(4);
    let weight = sent
        .get(2..4)
        .map_or(0, |bytes| i16::from_be_bytes([bytes[0], bytes[1]]));
    let scale = number.scale().unwrap_or(0);
    let header = match scale <= 63 && (-64..=63).contains(&weight) {
        true => 2,
        false => 4,
    };
    4 + header + 2 * groups
}
