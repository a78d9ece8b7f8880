//! current_setting and set_config.

use super::{FunctionDef, T};
use crate::system::SettingChange;
use crate::system::pg_catalog::CatalogContext;
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::catalog("current_setting", &[T::Text], T::Text, |b, catalog| {
        b.map1(|name| current_setting(catalog, name, false))
    })
    .bounded(),
    FunctionDef::catalog("current_setting", &[T::Text, T::Bool], T::Text, |b, catalog| {
        b.map2(|name, may_be_missing| current_setting(catalog, name, may_be_missing))
    })
    .bounded(),
    // The change takes effect when the statement has succeeded. A NULL value takes back what RESET goes back to.
    FunctionDef::catalog(
        "set_config",
        &[T::Text, T::Text, T::Bool],
        T::Text,
        |b, catalog| {
            b.map3(
                |name: Option<&str>, value: Option<&str>, is_local: Option<bool>| {
                    let name = name.ok_or_else(|| Error::DataException {
                        state: "22004",
                        message: "SET requires parameter name".to_string(),
                    })?;
                    let change = SettingChange::of_text(name, value, is_local.unwrap_or_default());
                    catalog.statement().settings.request_change(change)
                },
            )
        },
    )
    .on_null()
    .volatile()
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
