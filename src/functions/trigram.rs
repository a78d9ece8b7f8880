//! Similarity of texts by their trigrams, as pg_trgm has it.

use std::collections::BTreeSet;

use super::definition::{FunctionDef, T};
use crate::error::Limit;
use crate::types::trigram::{TrigramWord, words};
use crate::{Error, Result};

/// The longest text that is cut up.
const TEXT_BYTES_MAX: usize = 1 << 20;

pub(super) const FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("similarity", &[T::Text, T::Text], T::Float4, |b| {
        b.map2(|one: &str, other: &str| similarity(one, other))
    }),
    FunctionDef::new("word_similarity", &[T::Text, T::Text], T::Float4, |b| {
        b.map2(|one: &str, other: &str| word_similarity(one, other, false))
    }),
    FunctionDef::new("strict_word_similarity", &[T::Text, T::Text], T::Float4, |b| {
        b.map2(|one: &str, other: &str| word_similarity(one, other, true))
    }),
    FunctionDef::new("show_trgm", &[T::Text], T::TextArray, |b| {
        b.map1(|text: &str| trigrams(text).map(|found| found.into_iter().collect::<Vec<String>>()))
    }),
    FunctionDef::new("show_limit", &[], T::Float4, |b| {
        let least = b.settings.trigrams.similarity;
        b.map0(move || least)
    })
    .stable(),
    FunctionDef::new("%", &[T::Text, T::Text], T::Bool, |b| {
        let least = b.settings.trigrams.similarity;
        b.map2(move |one: &str, other: &str| Ok::<_, Error>(similarity(one, other)? >= least))
    })
    .stable(),
    FunctionDef::new("<%", &[T::Text, T::Text], T::Bool, |b| {
        let least = b.settings.trigrams.word;
        b.map2(move |one: &str, other: &str| Ok::<_, Error>(word_similarity(one, other, false)? >= least))
    })
    .stable(),
    FunctionDef::new("%>", &[T::Text, T::Text], T::Bool, |b| {
        let least = b.settings.trigrams.word;
        b.map2(move |one: &str, other: &str| Ok::<_, Error>(word_similarity(other, one, false)? >= least))
    })
    .stable(),
    FunctionDef::new("<<%", &[T::Text, T::Text], T::Bool, |b| {
        let least = b.settings.trigrams.strict_word;
        b.map2(move |one: &str, other: &str| Ok::<_, Error>(word_similarity(one, other, true)? >= least))
    })
    .stable(),
    FunctionDef::new("%>>", &[T::Text, T::Text], T::Bool, |b| {
        let least = b.settings.trigrams.strict_word;
        b.map2(move |one: &str, other: &str| Ok::<_, Error>(word_similarity(other, one, true)? >= least))
    })
    .stable(),
    FunctionDef::new("<->", &[T::Text, T::Text], T::Float4, |b| {
        b.map2(|one: &str, other: &str| Ok::<_, Error>(1.0 - similarity(one, other)?))
    }),
    FunctionDef::new("<<->", &[T::Text, T::Text], T::Float4, |b| {
        b.map2(|one: &str, other: &str| Ok::<_, Error>(1.0 - word_similarity(one, other, false)?))
    }),
    FunctionDef::new("<->>", &[T::Text, T::Text], T::Float4, |b| {
        b.map2(|one: &str, other: &str| Ok::<_, Error>(1.0 - word_similarity(other, one, false)?))
    }),
    FunctionDef::new("<<<->", &[T::Text, T::Text], T::Float4, |b| {
        b.map2(|one: &str, other: &str| Ok::<_, Error>(1.0 - word_similarity(one, other, true)?))
    }),
    FunctionDef::new("<->>>", &[T::Text, T::Text], T::Float4, |b| {
        b.map2(|one: &str, other: &str| Ok::<_, Error>(1.0 - word_similarity(other, one, true)?))
    }),
];

/// The trigrams of a text, each once, in order. Errors: 54000 for a text too long.
fn trigrams(text: &str) -> Result<BTreeSet<String>> {
    check(text)?;
    Ok(words(text).iter().flat_map(TrigramWord::trigrams).collect())
}

fn check(text: &str) -> Result<()> {
    match text.len() > TEXT_BYTES_MAX {
        true => Err(Error::LimitExceeded {
            state: Limit::Program,
            message: format!("a text of more than {TEXT_BYTES_MAX} bytes is not cut into trigrams"),
            hint: "Compare a part of it: left(text, 1000).".to_string(),
        }),
        false => Ok(()),
    }
}

fn share(common: usize, one: usize, other: usize) -> f32 {
    match one + other - common {
        0 => 0.0,
        all => common as f32 / all as f32,
    }
}

fn similarity(one: &str, other: &str) -> Result<f32> {
    let (one, other) = (trigrams(one)?, trigrams(other)?);
    Ok(share(one.intersection(&other).count(), one.len(), other.len()))
}

/// The greatest similarity of a text with a run of the other's trigrams, or of its words.
fn word_similarity(one: &str, other: &str, whole_words: bool) -> Result<f32> {
    let wanted = trigrams(one)?;
    check(other)?;
    let mut ends = Vec::new();
    let mut runs: Vec<String> = Vec::new();
    for word in words(other) {
        runs.extend(word.trigrams());
        ends.push(runs.len());
    }
    let starts: Vec<usize> = match whole_words {
        true => std::iter::once(0).chain(ends.iter().copied()).collect(),
        false => (0..runs.len()).collect(),
    };
    let mut best = 0.0f32;
    for start in starts {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut common = 0;
        for (at, trigram) in runs.iter().enumerate().skip(start) {
            crate::system::query_threads::check_left()?;
            if seen.insert(trigram) && wanted.contains(trigram) {
                common += 1;
            }
            let may_end = !whole_words || ends.contains(&(at + 1));
            // Of a run of trigrams those of the text that are not in it count, and no others.
            if may_end && common > 0 {
                best = best.max(share(common, wanted.len(), seen.len()));
            }
        }
    }
    Ok(best)
}
