//! Functions of single bytes and bits of a bytea, and the trimming of its ends.

use super::{FunctionDef, T};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("get_byte", &[T::Bytea, T::Int4], T::Int4, |b| b.map2(byte)),
    FunctionDef::new("set_byte", &[T::Bytea, T::Int4, T::Int4], T::Bytea, |b| {
        b.map3(with_byte)
    }),
    FunctionDef::new("get_bit", &[T::Bytea, T::Int8], T::Int4, |b| b.map2(bit)),
    FunctionDef::new("set_bit", &[T::Bytea, T::Int8, T::Int4], T::Bytea, |b| {
        b.map3(with_bit)
    }),
    FunctionDef::new("bit_count", &[T::Bytea], T::Int8, |b| {
        b.map1(|bytes: &[u8]| bytes.iter().map(|byte| i64::from(byte.count_ones())).sum::<i64>())
    }),
    FunctionDef::new("||", &[T::Bytea, T::Bytea], T::Bytea, |b| {
        b.map2(|left: &[u8], right: &[u8]| [left, right].concat())
    }),
    FunctionDef::new("btrim", &[T::Bytea, T::Bytea], T::Bytea, |b| {
        b.map2(|bytes, cut| trimmed_end(trimmed_start(bytes, cut), cut))
    })
    .bounded(),
    FunctionDef::new("ltrim", &[T::Bytea, T::Bytea], T::Bytea, |b| {
        b.map2(trimmed_start)
    })
    .bounded(),
    FunctionDef::new("rtrim", &[T::Bytea, T::Bytea], T::Bytea, |b| b.map2(trimmed_end)).bounded(),
];

fn byte(bytes: &[u8], index: i32) -> Result<i32> {
    match usize::try_from(index).ok().and_then(|at| bytes.get(at)) {
        Some(byte) => Ok(i32::from(*byte)),
        None => Err(index_fault(i64::from(index), bytes.len())),
    }
}

fn with_byte(bytes: &[u8], index: i32, new: i32) -> Result<Vec<u8>> {
    let mut changed = bytes.to_vec();
    match usize::try_from(index).ok().and_then(|at| changed.get_mut(at)) {
        Some(byte) => *byte = u8::try_from(new & 0xFF).unwrap_or(0),
        None => return Err(index_fault(i64::from(index), bytes.len())),
    }
    Ok(changed)
}

fn bit(bytes: &[u8], index: i64) -> Result<i32> {
    let (at, mask) = place_of_bit(bytes, index)?;
    Ok(i32::from(bytes[at] & mask != 0))
}

fn with_bit(bytes: &[u8], index: i64, new: i32) -> Result<Vec<u8>> {
    let (at, mask) = place_of_bit(bytes, index)?;
    let mut changed = bytes.to_vec();
    match new {
        0 => changed[at] &= !mask,
        1 => changed[at] |= mask,
        _ => {
            return Err(Error::InvalidParameter {
                message: "new bit must be 0 or 1".to_string(),
                hint: None,
            });
        }
    }
    Ok(changed)
}

/// The byte and the mask of a bit; bits count from the lowest of each byte.
fn place_of_bit(bytes: &[u8], index: i64) -> Result<(usize, u8)> {
    match usize::try_from(index).ok().filter(|at| at / 8 < bytes.len()) {
        Some(at) => Ok((at / 8, 1 << (at % 8))),
        None => Err(index_fault(index, bytes.len() * 8)),
    }
}

fn trimmed_start<'a>(mut bytes: &'a [u8], cut: &[u8]) -> &'a [u8] {
    while let [first, after @ ..] = bytes
        && cut.contains(first)
    {
        bytes = after;
    }
    bytes
}

fn trimmed_end<'a>(mut bytes: &'a [u8], cut: &[u8]) -> &'a [u8] {
    while let [before @ .., last] = bytes
        && cut.contains(last)
    {
        bytes = before;
    }
    bytes
}

fn index_fault(index: i64, length: usize) -> Error {
    Error::DataException {
        state: "2202E",
        message: format!(
            "index {index} out of valid range, 0..{}",
            i64::try_from(length).unwrap_or(i64::MAX) - 1
        ),
    }
}
