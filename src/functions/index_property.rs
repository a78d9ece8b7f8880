//! `pg_index_column_has_property` and its kin: what indexes, which are all B-trees to the catalogs, can do.

use super::{FunctionDef, T};
use crate::system::catalog_version::objects::Found;
use crate::system::pg_catalog::CatalogContext;

/// The oid of the access method `btree`.
const BTREE: i64 = 403;

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("pg_indexam_has_property", &[T::Oid, T::Text], T::Bool, |b| {
        b.map2(|method: i64, property: &str| method_can(method, property))
    }),
    FunctionDef::catalog(
        "pg_index_has_property",
        &[T::Regclass, T::Text],
        T::Bool,
        |b, c| b.map2(|index: i64, property: &str| index_can(c, index, property)),
    ),
    FunctionDef::catalog(
        "pg_index_column_has_property",
        &[T::Regclass, T::Int4, T::Text],
        T::Bool,
        |b, c| b.map3(|index: i64, column: i32, property: &str| column_can(c, index, column, property)),
    ),
];

fn method_can(method: i64, property: &str) -> Option<bool> {
    let known = [
        "can_order",
        "can_unique",
        "can_multi_col",
        "can_exclude",
        "can_include",
    ];
    (method == BTREE && known.contains(&property.to_ascii_lowercase().as_str())).then_some(true)
}

fn index_can(catalog: &CatalogContext, index: i64, property: &str) -> Option<bool> {
    let known = ["clusterable", "index_scan", "bitmap_scan", "backward_scan"];
    let Some(Found::Index(..)) = catalog.objects().find(index) else {
        return None;
    };
    known
        .contains(&property.to_ascii_lowercase().as_str())
        .then_some(true)
}

/// Columns of INCLUDE are returned, and have no order.
fn column_can(catalog: &CatalogContext, index: i64, column: i32, property: &str) -> Option<bool> {
    let Some(Found::Index(_, index)) = catalog.objects().find(index) else {
        return None;
    };
    let at = usize::try_from(column).ok()?.checked_sub(1)?;
    let key = index.keys.get(at);
    if key.is_none() && at >= index.keys.len() + index.included.len() {
        return None;
    }
    match (property.to_ascii_lowercase().as_str(), key) {
        ("returnable", _) => Some(true),
        ("distance_orderable", _) => Some(false),
        ("orderable", key) => Some(key.is_some()),
        ("search_array" | "search_nulls", key) => key.map(|_| true),
        ("asc", key) => key.map(|key| !key.descending),
        ("desc", key) => key.map(|key| key.descending),
        ("nulls_first", key) => key.map(|key| key.nulls_first),
        ("nulls_last", key) => key.map(|key| !key.nulls_first),
        _ => None,
    }
}
