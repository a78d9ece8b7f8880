//! The names that regconfig and regdictionary are: of the configurations and dictionaries that there are.

use crate::{Error, Result};

/// A configuration's name without its schema. Errors: 42704.
pub(crate) fn configuration_name(name: &str) -> Result<&'static str> {
    known(name, &["simple", "english"], "text search configuration")
}

/// The dictionary of the extension of that name. It is there in whatever schema, as the extension's functions are.
pub(crate) const UNACCENT: &str = "unaccent";

/// A dictionary's name without its schema. Errors: 42704.
pub(crate) fn dictionary_name(name: &str) -> Result<&'static str> {
    match name.rsplit_once('.').map_or(name, |(_, bare)| bare) {
        UNACCENT => Ok(UNACCENT),
        _ => known(name, &["simple", "english_stem"], "text search dictionary"),
    }
}

fn known(name: &str, names: &[&'static str], kind: &str) -> Result<&'static str> {
    let bare = name.strip_prefix("pg_catalog.").unwrap_or(name);
    let found = names.iter().find(|known| **known == bare.to_lowercase());
    found.copied().ok_or_else(|| Error::RefusedValue {
        state: "42704",
        message: format!("{kind} \"{name}\" does not exist"),
        detail: None,
        hint: Some(
            "There are the configurations simple and english, and the dictionaries simple, english_stem and unaccent.",
        ),
    })
}
