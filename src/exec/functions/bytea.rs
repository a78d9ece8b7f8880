//! Functions of single bytes and bits of a bytea, and the trimming of its ends.

use super::text_argument::{bytes, count, integer};
use super::{FunctionDef, T};
use crate::types::Value;
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::row("get_byte", &[T::Bytea, T::Int4], T::Int4, |a, _| {
        let (bytes, index) = (bytes(&a[0])?, integer(&a[1])?);
        match usize::try_from(index).ok().and_then(|at| bytes.get(at)) {
            Some(byte) => Ok(Value::Int(i64::from(*byte))),
            None => Err(index_fault(index, bytes.len())),
        }
    }),
    FunctionDef::row("set_byte", &[T::Bytea, T::Int4, T::Int4], T::Bytea, |a, _| {
        let (mut bytes, index) = (bytes(&a[0])?.to_vec(), integer(&a[1])?);
        let length = bytes.len();
        match usize::try_from(index).ok().and_then(|at| bytes.get_mut(at)) {
            Some(byte) => *byte = u8::try_from(integer(&a[2])? & 0xFF).unwrap_or(0),
            None => return Err(index_fault(index, length)),
        }
        Ok(Value::Bytes(bytes))
    }),
    FunctionDef::row("get_bit", &[T::Bytea, T::Int8], T::Int4, |a, _| {
        let (bytes, index) = (bytes(&a[0])?, integer(&a[1])?);
        let (at, mask) = bit(bytes, index)?;
        Ok(Value::Int(i64::from(bytes[at] & mask != 0)))
    }),
    FunctionDef::row("set_bit", &[T::Bytea, T::Int8, T::Int4], T::Bytea, |a, _| {
        let (mut bytes, index) = (bytes(&a[0])?.to_vec(), integer(&a[1])?);
        let (at, mask) = bit(&bytes, index)?;
        match integer(&a[2])? {
            0 => bytes[at] &= !mask,
            1 => bytes[at] |= mask,
            _ => {
                return Err(Error::InvalidParameter {
                    message: "new bit must be 0 or 1".to_string(),
                    hint: None,
                });
            }
        }
        Ok(Value::Bytes(bytes))
    }),
    FunctionDef::row("bit_count", &[T::Bytea], T::Int8, |a, _| {
        count(bytes(&a[0])?.iter().map(|byte| byte.count_ones() as usize).sum())
    }),
    FunctionDef::row("btrim", &[T::Bytea, T::Bytea], T::Bytea, |a, _| {
        trim(a, true, true)
    })
    .bounded(),
    FunctionDef::row("ltrim", &[T::Bytea, T::Bytea], T::Bytea, |a, _| {
        trim(a, true, false)
    })
    .bounded(),
    FunctionDef::row("rtrim", &[T::Bytea, T::Bytea], T::Bytea, |a, _| {
        trim(a, false, true)
    })
    .bounded(),
];

/// The byte and the mask of a bit; bits count from the lowest of each byte.
fn bit(bytes: &[u8], index: i64) -> Result<(usize, u8)> {
    match usize::try_from(index).ok().filter(|at| at / 8 < bytes.len()) {
        Some(at) => Ok((at / 8, 1 << (at % 8))),
        None => Err(index_fault(index, bytes.len() * 8)),
    }
}

fn trim(arguments: &[Value], start: bool, end: bool) -> Result<Value> {
    let (mut rest, cut) = (bytes(&arguments[0])?, bytes(&arguments[1])?);
    while let [first, after @ ..] = rest
        && start
        && cut.contains(first)
    {
        rest = after;
    }
    while let [before @ .., last] = rest
        && end
        && cut.contains(last)
    {
        rest = before;
    }
    Ok(Value::Bytes(rest.to_vec()))
}

fn index_fault(index: i64, length: usize) -> Error {
    Error::DataException {
        state: "2202E",
        message: format!(
            "index {index} out of valid range, 0..{}",
            length.saturating_sub(1)
        ),
    }
}
