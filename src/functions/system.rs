//! Functions about the server that need nothing of the catalog.

use super::string::count;
use super::{FunctionDef, T};
use crate::types::{CatalogType, SqlType, Value};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("version", &[], T::Text, |b| {
        b.map0(|| format!("PostgreSQL {}", crate::system::SERVER_VERSION))
    })
    .bounded(),
    FunctionDef::new("pg_typeof", &[T::Any], T::Catalog(CatalogType::Regtype), |b| {
        b.map0(|| type_oid(&b.arguments[0]))
    })
    .on_null(),
    FunctionDef::new("num_nulls", &[T::Any], T::Int4, |b| {
        b.map_values(|values| count(values.iter().filter(|value| **value == Value::Null).count()))
    })
    .variadic()
    .on_null(),
    FunctionDef::new("num_nonnulls", &[T::Any], T::Int4, |b| {
        b.map_values(|values| count(values.iter().filter(|value| **value != Value::Null).count()))
    })
    .variadic()
    .on_null(),
];

/// The oid of `void`, which what gives nothing is of.
const VOID_OID: i64 = 2278;

fn type_oid(ty: &SqlType) -> i64 {
    match ty {
        SqlType::Void => VOID_OID,
        other => i64::from(other.oid()),
    }
}
