//! `ts_headline` of documents of JSON: each of their strings, at any depth, becomes the headline of itself; keys and all else stay.

use super::json::document;
use super::json_build::quoted;
use super::json_piece::{Kind, Piece};
use super::text_configuration::Configuration;
use super::text_headline::Headlines;
use super::text_search_documents::current;
use super::{Batch, FunctionDef, T};
use crate::Result;
use crate::types::CatalogType;

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
    document(&with_headlines(whole, &headlines)?, batch)
}

fn with_headlines(piece: Piece<'_>, headlines: &Headlines) -> Result<String> {
    Ok(match piece.kind() {
        Kind::Object => {
            let members = piece
                .members()
                .map(|(key, value)| Ok(format!("{}:{}", quoted(key), with_headlines(value, headlines)?)));
            format!("{{{}}}", members.collect::<Result<Vec<_>>>()?.join(","))
        }
        Kind::Array => {
            let items = piece.items().map(|item| with_headlines(item, headlines));
            format!("[{}]", items.collect::<Result<Vec<_>>>()?.join(","))
        }
        Kind::String => quoted(headlines.of(&piece.string().unwrap_or_default())?),
        _ => piece.text().to_string(),
    })
}
