//! `ts_headline` of documents of JSON: each of their strings, at any depth, becomes the headline of itself; keys and all else stay.

use super::json::document;
use super::text_configuration::Configuration;
use super::text_headline::Headlines;
use super::text_search_documents::current;
use super::{Batch, FunctionDef, T};
use crate::Result;
use crate::types::CatalogType;
use crate::types::json_piece::{Kind, Piece, quoted};

const C: T = T::Catalog(CatalogType::Regconfig);

/// The four signatures over a type.
macro_rules! headlines {
    ($json:expr) => {
        [
            FunctionDef::new("ts_headline", &[C, $json, T::TsQuery], $json, |b| {
                b.map3(|name: &str, whole: Piece<'_>, query: &str| {
                    shown(b, Configuration::named(name)?, whole, query, "")
                })
            }),
            FunctionDef::new("ts_headline", &[C, $json, T::TsQuery, T::Text], $json, |b| {
                b.map4(|name: &str, whole: Piece<'_>, query: &str, options: &str| {
                    shown(b, Configuration::named(name)?, whole, query, options)
                })
            }),
            FunctionDef::catalog("ts_headline", &[$json, T::TsQuery], $json, |b, catalog| {
                let configuration = current(catalog)?;
                b.map2(|whole: Piece<'_>, query: &str| shown(b, configuration, whole, query, ""))
            }),
            FunctionDef::catalog(
                "ts_headline",
                &[$json, T::TsQuery, T::Text],
                $json,
                |b, catalog| {
                    let configuration = current(catalog)?;
                    b.map3(|whole: Piece<'_>, query: &str, options: &str| {
                        shown(b, configuration, whole, query, options)
                    })
                },
            ),
        ]
    };
}

pub(super) static OF_JSON: &[FunctionDef] = &headlines!(T::Json);
pub(super) static OF_JSONB: &[FunctionDef] = &headlines!(T::Jsonb);

fn shown(
    batch: &Batch,
    configuration: Configuration,
    whole: Piece<'_>,
    query: &str,
    options: &str,
) -> Result<String> {
    let headlines = Headlines::new(configuration, query, options, batch.limits())?;
    let shown = |value: Piece<'_>| match value.kind() {
        Kind::String => Ok(quoted(headlines.of(&value.string().unwrap_or_default())?)),
        _ => Ok(value.text().to_string()),
    };
    document(&whole.rebuilt(&|_| true, &shown)?, batch)
}
