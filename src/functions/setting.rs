//! current_setting and set_config.

use super::{FunctionDef, T};
use crate::Result;
use crate::system::pg_catalog::CatalogContext;

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::catalog("current_setting", &[T::Text], T::Text, |b, catalog| {
        b.map1(|name| current_setting(catalog, name, false))
    })
    .bounded(),
    FunctionDef::catalog("current_setting", &[T::Text, T::Bool], T::Text, |b, catalog| {
        b.map2(|name, may_be_missing| current_setting(catalog, name, may_be_missing))
    })
    .bounded(),
    // The change takes effect when the statement has succeeded. A NULL value sets the empty text, as in PostgreSQL.
    FunctionDef::catalog(
        "set_config",
        &[T::Text, T::Text, T::Bool],
        T::Text,
        |b, catalog| {
            b.map3(|name: &str, value: Option<&str>, is_local: Option<bool>| {
                let settings = &catalog.statement().settings;
                settings.request_change(name, value.unwrap_or_default(), is_local.unwrap_or_default())
            })
        },
    )
    .on_null()
    .bounded(),
];

fn current_setting(catalog: &CatalogContext, name: &str, may_be_missing: bool) -> Result<Option<String>> {
    let settings = &catalog.statement().settings;
    // What the statement has set itself by now counts.
    let changed = settings.with_requested();
    let settings = changed.as_ref().unwrap_or(settings);
    match may_be_missing {
        true => Ok(settings.get(name)),
        false => settings.show(name).map(Some),
    }
}
