//! `pg_index_column_has_property` and its kin: what indexes, which are `btree` or `gin` to the catalogs, can do.

use super::{FunctionDef, T};
use crate::system::catalog_version::objects::Found;
use crate::system::pg_catalog::{BTREE, CatalogContext, GIN};

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

/// What may be asked of a column that is in no order.
const IN_COLUMNS: [&str; 9] = [
    "asc",
    "desc",
    "nulls_first",
    "nulls_last",
    "orderable",
    "distance_orderable",
    "returnable",
    "search_array",
    "search_nulls",
];

fn method_can(method: i64, property: &str) -> Option<bool> {
    let known = [
        "can_order",
        "can_unique",
        "can_multi_col",
        "can_exclude",
        "can_include",
    ];
    let property = property.to_ascii_lowercase();
    let is_known = known.contains(&property.as_str());
    let answer = match method {
        BTREE => Some(true),
        GIN => Some(property == "can_multi_col"),
        _ => None,
    };
    answer.filter(|_| is_known)
}

fn index_can(catalog: &CatalogContext, index: i64, property: &str) -> Option<bool> {
    let known = ["clusterable", "index_scan", "bitmap_scan", "backward_scan"];
    let Some(Found::Index(_, index)) = catalog.objects().find(index) else {
        return None;
    };
    let property = property.to_ascii_lowercase();
    let is_known = known.contains(&property.as_str());
    is_known.then_some(!index.is_inverted || property == "bitmap_scan")
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
    let property = property.to_ascii_lowercase();
    if index.is_inverted {
        return IN_COLUMNS.contains(&property.as_str()).then_some(false);
    }
    match (property.as_str(), key) {
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
