//! What dictionaries of text search make of a text: `ts_lexize`, and the extension unaccent's `unaccent`, which asks a dictionary, too.

use super::accent::unaccented_pieces;
use super::size::LimitedText;
use super::text_configuration::{Dictionary, stemmer};
use super::{FunctionDef, T};
use crate::Result;
use crate::types::text_search::{UNACCENT, dictionary_name};
use crate::types::{CatalogType, ResultLimits};

const D: T = T::Catalog(CatalogType::Regdictionary);

pub(super) static FUNCTIONS: &[FunctionDef] =
    &[FunctionDef::new("ts_lexize", &[D, T::Text], T::TextArray, |b| {
        b.map2(|dictionary: &str, token: &str| lexemes(dictionary, token, b.limits()))
    })];

/// The extension's. Its rules cannot be changed, other than PostgreSQL's, which are a file: and so it is immutable, and an index may
/// be over it.
pub(super) static UNACCENT_FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("unaccent", &[T::Text], T::Text, |b| {
        b.map1(|text: &str| unaccented(text, b.limits()))
    }),
    FunctionDef::new("unaccent", &[D, T::Text], T::Text, |b| {
        b.map2(|dictionary: &str, text: &str| {
            // What a dictionary says nothing of stays.
            let found = lexemes(dictionary, text, b.limits())?;
            let first = found.and_then(|found| found.into_iter().next());
            Ok::<_, crate::Error>(first.unwrap_or_else(|| text.to_string()))
        })
    }),
];

/// What a dictionary makes of a token; empty: the token says nothing; `None`: the dictionary does not know it. Errors: 42704; 54000
/// for a text that becomes too long.
fn lexemes(dictionary: &str, token: &str, limits: ResultLimits) -> Result<Option<Vec<String>>> {
    if dictionary_name(dictionary)? == UNACCENT {
        let plain = unaccented(token, limits)?;
        return Ok((plain != token).then(|| vec![plain]));
    }
    let word = Dictionary::named(dictionary)?.word(token, &stemmer());
    Ok(Some(word.into_iter().collect()))
}

fn unaccented(text: &str, limits: ResultLimits) -> Result<String> {
    let mut plain = LimitedText::new(limits);
    for piece in unaccented_pieces(text) {
        plain.push(&piece)?;
    }
    Ok(plain.finish())
}
