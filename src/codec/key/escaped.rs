//! Fields of any length: their bytes, and an end that stands in none of them.

use super::{KeyField, complement, damaged};
use crate::Result;

/// Ends text and bytea; `00` within them is written `00 FF`, which stands above the end.
const TERMINATOR: [u8; 2] = [0x00, 0x01];
const ESCAPED_ZERO: [u8; 2] = [0x00, 0xFF];

/// The bytes of a text or bytea field and the field's length. They are borrowed from the field when they stand there as
/// they are, else unescaped into `scratch`.
#[inline]
pub(in crate::codec) fn read_text<'a>(
    bytes: &'a [u8],
    field: &KeyField,
    scratch: &'a mut Vec<u8>,
) -> Result<(&'a [u8], usize)> {
    if !field.descending
        && let Some(payload) = bytes.get(1..)
        && let Some(zero) = payload.iter().position(|byte| *byte == 0)
        && payload.get(zero + 1) == Some(&TERMINATOR[1])
    {
        return Ok((&payload[..zero], zero + 3));
    }
    scratch.clear();
    let length = read_escaped(bytes, field, scratch)?;
    Ok((scratch, length))
}

/// Appends the bytes of a text or bytea field to `out`, and answers the field's length.
#[inline]
pub(super) fn read_escaped(bytes: &[u8], field: &KeyField, out: &mut Vec<u8>) -> Result<usize> {
    let mask = complement(field);
    let mut at = 1;
    loop {
        let rest = bytes.get(at..).ok_or_else(|| damaged("it ends within a field"))?;
        let zero = rest
            .iter()
            .position(|byte| *byte == mask)
            .ok_or_else(|| damaged("text without an end"))?;
        let copied = out.len();
        out.extend_from_slice(&rest[..zero]);
        if field.descending {
            out[copied..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        at += zero + 2;
        match rest.get(zero + 1).map(|byte| byte ^ mask) {
            Some(0x01) => return Ok(at),
            Some(0xFF) => out.push(0),
            _ => return Err(damaged("a zero byte that is neither escape nor end")),
        }
    }
}

/// The length of a field.
pub(super) fn escaped_length(bytes: &[u8], field: &KeyField) -> Result<usize> {
    let mask = complement(field);
    let mut at = 1;
    loop {
        let rest = bytes.get(at..).ok_or_else(|| damaged("it ends within a field"))?;
        let zero = rest
            .iter()
            .position(|byte| *byte == mask)
            .ok_or_else(|| damaged("text without an end"))?;
        at += zero + 2;
        match rest.get(zero + 1).map(|byte| byte ^ mask) {
            Some(0x01) => return Ok(at),
            Some(0xFF) => {}
            _ => return Err(damaged("a zero byte that is neither escape nor end")),
        }
    }
}

/// Appends a field.
#[inline]
pub(super) fn put_escaped(out: &mut Vec<u8>, tag: u8, value: &[u8]) {
    out.reserve(value.len() + 3);
    out.push(tag);
    let mut rest = value;
    while let Some(zero) = rest.iter().position(|byte| *byte == 0) {
        out.extend_from_slice(&rest[..zero]);
        out.extend_from_slice(&ESCAPED_ZERO);
        rest = &rest[zero + 1..];
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(&TERMINATOR);
}
