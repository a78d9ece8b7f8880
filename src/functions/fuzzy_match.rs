//! Texts that are spelt or sound alike: the functions of the extension fuzzystrmatch.

use super::definition::{FunctionDef, T};
use super::json::refuse;
use super::{Batch, double_metaphone, metaphone, mismatched_types, soundex};
use crate::Result;
use crate::error::EditCosts;
use crate::types::Value;

/// Characters of a text that distances are taken of; PostgreSQL's.
const DISTANCE_CHARACTERS_MAX: usize = 255;

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("levenshtein", &[T::Text, T::Text], T::Int4, |b| {
        b.map2(|source: &str, target: &str| distance(source, target, EditCosts::COUNT))
    }),
    FunctionDef::new("levenshtein", COSTED, T::Int4, costed_distance),
    FunctionDef::new(
        "levenshtein_less_equal",
        &[T::Text, T::Text, T::Int4],
        T::Int4,
        |b| {
            b.map3(|source: &str, target: &str, most: i32| {
                distance(source, target, EditCosts::COUNT).map(|found| bounded(found, source, target, most))
            })
        },
    ),
    FunctionDef::new("levenshtein_less_equal", COSTED_TO, T::Int4, |b| {
        costed_distance(b)
    }),
    FunctionDef::new("soundex", &[T::Text], T::Text, |b| b.map1(soundex::soundex)),
    FunctionDef::new("text_soundex", &[T::Text], T::Text, |b| b.map1(soundex::soundex)),
    FunctionDef::new("difference", &[T::Text, T::Text], T::Int4, |b| {
        b.map2(soundex::difference)
    }),
    FunctionDef::new("metaphone", &[T::Text, T::Int4], T::Text, |b| {
        b.map2(metaphone::metaphone_of)
    }),
    FunctionDef::new("dmetaphone", &[T::Text], T::Text, |b| {
        b.map1(|word: &str| double_metaphone::codes(word).0)
    }),
    FunctionDef::new("dmetaphone_alt", &[T::Text], T::Text, |b| {
        b.map1(|word: &str| double_metaphone::codes(word).1)
    }),
];

/// Two texts, and what it costs to put in, to take out, to replace.
const COSTED: &[T] = &[T::Text, T::Text, T::Int4, T::Int4, T::Int4];
/// The same, and the greatest distance that is of interest.
const COSTED_TO: &[T] = &[T::Text, T::Text, T::Int4, T::Int4, T::Int4, T::Int4];

fn costed_distance(batch: &Batch) -> Result<arrow::array::ArrayRef> {
    batch.map_values(|values| {
        let [Value::Text(source), Value::Text(target), costs @ ..] = values else {
            return Err(mismatched_types());
        };
        let costs: Vec<i32> = costs.iter().filter_map(int4).collect();
        let [insertion, deletion, substitution, most @ ..] = costs.as_slice() else {
            return Err(mismatched_types());
        };
        let costs = EditCosts {
            insertion: *insertion,
            deletion: *deletion,
            substitution: *substitution,
        };
        let found = distance(source, target, costs)?;
        Ok(match most {
            [most] => bounded(found, source, target, *most),
            _ => found,
        })
    })
}

fn int4(value: &Value) -> Option<i32> {
    match value {
        Value::Int(number) => i32::try_from(*number).ok(),
        _ => None,
    }
}

/// Errors: 22023 for texts too long.
fn distance(source: &str, target: &str, costs: EditCosts) -> Result<i32> {
    let source: Vec<char> = source.chars().collect();
    let target: Vec<char> = target.chars().collect();
    let longest = source.len().max(target.len());
    // To or from nothing any length is told.
    if !source.is_empty() && !target.is_empty() && longest > DISTANCE_CHARACTERS_MAX {
        return Err(refuse(format!(
            "levenshtein argument exceeds maximum length of {DISTANCE_CHARACTERS_MAX} characters"
        )));
    }
    Ok(costs.between(&source, &target))
}

/// A distance that is told exactly up to the greatest one of interest (negative: any is) and, as PostgreSQL does, from and to nothing.
fn bounded(distance: i32, source: &str, target: &str, most: i32) -> i32 {
    let is_exact = most < 0 || distance <= most || source.is_empty() || target.is_empty();
    if is_exact {
        distance
    } else {
        most.saturating_add(1)
    }
}
