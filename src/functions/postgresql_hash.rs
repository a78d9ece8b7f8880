//! PostgreSQL's own hashes of values (`hashtext` and its kin), which programs take for the numbers of advisory locks and for shards: Bob
//! Jenkins's lookup3 as PostgreSQL has it, so that a number is the same on both.

use super::argument::Uuid;
use super::{FunctionDef, T};
use crate::codec::postgresql_hash::{folded, hash, hash_u32};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("hashtext", &[T::Text], T::Int4, |b| {
        b.map1(|text: &str| low(hash(text.as_bytes(), 0)))
    })
    .bounded(),
    FunctionDef::new("hashtextextended", &[T::Text, T::Int8], T::Int8, |b| {
        b.map2(|text: &str, seed: i64| hash(text.as_bytes(), seed as u64) as i64)
    })
    .bounded(),
    FunctionDef::new("hashint2", &[T::Int2], T::Int4, |b| {
        b.map1(|number: i16| low(hash_u32(i32::from(number) as u32, 0)))
    })
    .bounded(),
    FunctionDef::new("hashint4", &[T::Int4], T::Int4, |b| {
        b.map1(|number: i32| low(hash_u32(number as u32, 0)))
    })
    .bounded(),
    FunctionDef::new("hashint4extended", &[T::Int4, T::Int8], T::Int8, |b| {
        b.map2(|number: i32, seed: i64| hash_u32(number as u32, seed as u64) as i64)
    })
    .bounded(),
    FunctionDef::new("hashint8", &[T::Int8], T::Int4, |b| {
        b.map1(|number: i64| low(hash_u32(folded(number), 0)))
    })
    .bounded(),
    FunctionDef::new("hashint8extended", &[T::Int8, T::Int8], T::Int8, |b| {
        b.map2(|number: i64, seed: i64| hash_u32(folded(number), seed as u64) as i64)
    })
    .bounded(),
    FunctionDef::new("uuid_hash", &[T::Uuid], T::Int4, |b| {
        b.map1(|uuid: Uuid| low(hash(&uuid.0, 0)))
    })
    .bounded(),
];

/// The half that is the hash of 32 bits.
fn low(hash: u64) -> i32 {
    hash as u32 as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// PostgreSQL's answers.
    #[test]
    fn hashes_are_those_of_postgresql() {
        for (text, expected) in [
            ("", -1_477_818_771),
            ("a", 1_075_015_857),
            ("hello world", 1_021_725_223),
            ("abcdefghijklmnopqrstuvwxyz0123456789", 1_318_422_268),
        ] {
            assert_eq!(low(hash(text.as_bytes(), 0)), expected, "{text}");
        }
        assert_eq!(hash(b"hello world", 0) as i64, 6_947_366_892_317_592_103);
        assert_eq!(hash(b"hello world", 42) as i64, -3_513_769_554_600_704_881);
        assert_eq!(
            hash(b"abcdefghijklmnopqrstuvwxyz0123456789", -7_i64 as u64) as i64,
            -3_224_599_521_929_535_248
        );
        for (number, expected) in [
            (42, 1_509_752_520),
            (-5, 1_412_886_042),
            (5_000_000_000, -694_934_712),
        ] {
            assert_eq!(low(hash_u32(folded(number), 0)), expected, "{number}");
        }
        assert_eq!(hash_u32(42, 1) as i64, 3_812_564_155_960_986_560);
    }
}
