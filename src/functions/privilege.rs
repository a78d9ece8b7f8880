//! Privileges: there is no authentication yet, so whoever is connected may do everything.

use arrow::array::ArrayRef;

use super::{Batch, FunctionDef, T};
use crate::system::pg_catalog::CatalogContext;
use crate::system::pg_catalog::session_rows::role_names;
use crate::types::CatalogType;
use crate::{Error, Result};

/// The user may be left out; users and objects come as names or oids.
pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("has_table_privilege", &[T::Any; 2], T::Bool, allowed),
    FunctionDef::new("has_table_privilege", &[T::Any; 3], T::Bool, allowed),
    FunctionDef::new("has_any_column_privilege", &[T::Any; 2], T::Bool, allowed),
    FunctionDef::new("has_any_column_privilege", &[T::Any; 3], T::Bool, allowed),
    FunctionDef::new("has_column_privilege", &[T::Any; 3], T::Bool, allowed),
    FunctionDef::new("has_column_privilege", &[T::Any; 4], T::Bool, allowed),
    FunctionDef::new("has_schema_privilege", &[T::Any; 2], T::Bool, allowed),
    FunctionDef::new("has_schema_privilege", &[T::Any; 3], T::Bool, allowed),
    FunctionDef::new("has_database_privilege", &[T::Any; 2], T::Bool, allowed),
    FunctionDef::new("has_database_privilege", &[T::Any; 3], T::Bool, allowed),
    FunctionDef::new("has_function_privilege", &[T::Any; 2], T::Bool, allowed),
    FunctionDef::new("has_function_privilege", &[T::Any; 3], T::Bool, allowed),
    FunctionDef::new("has_sequence_privilege", &[T::Any; 2], T::Bool, allowed),
    FunctionDef::new("has_sequence_privilege", &[T::Any; 3], T::Bool, allowed),
    FunctionDef::new("has_tablespace_privilege", &[T::Any; 2], T::Bool, allowed),
    FunctionDef::new("has_tablespace_privilege", &[T::Any; 3], T::Bool, allowed),
    FunctionDef::new("has_type_privilege", &[T::Any; 2], T::Bool, allowed),
    FunctionDef::new("has_type_privilege", &[T::Any; 3], T::Bool, allowed),
    FunctionDef::new("has_language_privilege", &[T::Any; 2], T::Bool, allowed),
    FunctionDef::new("has_language_privilege", &[T::Any; 3], T::Bool, allowed),
    FunctionDef::new(
        "has_foreign_data_wrapper_privilege",
        &[T::Any; 2],
        T::Bool,
        allowed,
    ),
    FunctionDef::new(
        "has_foreign_data_wrapper_privilege",
        &[T::Any; 3],
        T::Bool,
        allowed,
    ),
    FunctionDef::new("has_server_privilege", &[T::Any; 2], T::Bool, allowed),
    FunctionDef::new("has_server_privilege", &[T::Any; 3], T::Bool, allowed),
    FunctionDef::new("has_parameter_privilege", &[T::Any; 2], T::Bool, allowed),
    FunctionDef::new("has_parameter_privilege", &[T::Any; 3], T::Bool, allowed),
    FunctionDef::new("pg_has_role", &[T::Any; 2], T::Bool, allowed),
    FunctionDef::new("pg_has_role", &[T::Any; 3], T::Bool, allowed),
    FunctionDef::new("row_security_active", &[T::Any], T::Bool, |b| {
        b.map_values(|_| false)
    }),
    FunctionDef::catalog("acldefault", &[T::Char, T::Oid], T::Text, |b, catalog| {
        b.map2(|kind, owner| acl_default(catalog, kind, owner))
    })
    .array(T::Catalog(CatalogType::Aclitem)),
];

fn allowed(batch: &Batch) -> Result<ArrayRef> {
    batch.map_values(|_| true)
}

/// The privileges an object has when nothing was granted: PostgreSQL's, by the kind of object.
fn acl_default(catalog: &CatalogContext, kind: &str, owner: i64) -> Result<Vec<String>> {
    let mut roles = role_names(catalog.user()).into_iter();
    let name = match roles.find(|(oid, _)| *oid == owner) {
        Some((_, name)) => name,
        None => owner.to_string(),
    };
    let (public, own) = match kind {
        "c" => ("", ""),
        "r" => ("", "arwdDxt"),
        "s" => ("", "rwU"),
        "d" => ("Tc", "CTc"),
        "f" => ("X", "X"),
        "l" | "T" => ("U", "U"),
        "L" => ("", "rw"),
        "n" => ("", "UC"),
        "p" => ("", "sA"),
        "t" => ("", "C"),
        "F" | "S" => ("", "U"),
        other => {
            return Err(Error::internal(format!(
                "unrecognized object type abbreviation: {other}"
            )));
        }
    };
    let mut items = Vec::new();
    if !public.is_empty() {
        items.push(format!("={public}/{name}"));
    }
    if !own.is_empty() {
        items.push(format!("{name}={own}/{name}"));
    }
    Ok(items)
}
