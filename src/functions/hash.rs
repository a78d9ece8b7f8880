//! `hash8`, `hash32` and `hash64`: hashes of values for keys that spread load. They are stored, so they must never change:
//! XXH3 (64 bits, no seed) over the arguments as they stand in ascending keys, one behind the other; the smaller ones are its
//! lowest bits. What equals as a key hashes alike, whatever its width.

use xxhash_rust::xxh3::xxh3_64;

use super::definition::{FunctionDef, T};
use crate::Result;
use crate::codec::key::{self, KeyField};
use crate::types::{SqlType, Value};

pub(super) const FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("hash8", &[T::Any], T::Int2, |b| {
        b.map_values(|values| Ok(hash(values, b.arguments)? as u8 as i16))
    })
    .bounded()
    .variadic()
    .on_null(),
    FunctionDef::new("hash32", &[T::Any], T::Int8, |b| {
        b.map_values(|values| Ok(i64::from(hash(values, b.arguments)? as u32)))
    })
    .bounded()
    .variadic()
    .on_null(),
    FunctionDef::new("hash64", &[T::Any], T::Int8, |b| {
        b.map_values(|values| Ok(hash(values, b.arguments)? as i64))
    })
    .bounded()
    .variadic()
    .on_null(),
];

/// Errors: 0A000 for values of a type that no key holds.
fn hash(values: &[Value], types: &[SqlType]) -> Result<u64> {
    let mut bytes = Vec::with_capacity(16 * values.len());
    for (value, ty) in values.iter().zip(types) {
        key::check_key_type(ty, "hash")?;
        let field = KeyField::ascending(ty.clone());
        key::encode_value(&mut bytes, value, &field);
    }
    Ok(xxh3_64(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These stand in keys on disk.
    #[test]
    fn hashes_never_change() {
        let hash = |value: Value, ty: SqlType| hash(&[value], &[ty]).unwrap();
        assert_eq!(
            hash(Value::Int(7), SqlType::Int2),
            hash(Value::Int(7), SqlType::Int8)
        );
        assert_eq!(
            hash(Value::Float8(-0.0), SqlType::Float8),
            hash(Value::Float8(0.0), SqlType::Float8)
        );
        assert_eq!(hash(Value::Int(7), SqlType::Int8), 7_499_297_086_608_734_072);
        let text = Value::Text("abc".to_string());
        assert_eq!(hash(text, SqlType::Text), 8_503_194_013_931_864_619);
        assert_eq!(hash(Value::Null, SqlType::Text), 14_668_009_042_699_243_802);
    }
}
