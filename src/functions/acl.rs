//! `aclexplode`: lists of privileges as rows, a column at a time. Nothing here has privileges of its own; catalogs show PostgreSQL's of
//! what every database has, and tools read them so.

use super::catalog_array::texts_of_array;
use super::{FunctionDef, T};
use crate::system::pg_catalog::CatalogContext;
use crate::system::pg_catalog::role_rows::all_role_names;
use crate::types::Value;
use crate::{Error, Result};

/// Letters of privileges and their names, in the order in which they are told.
const PRIVILEGES: [(char, &str); 14] = [
    ('a', "INSERT"),
    ('r', "SELECT"),
    ('w', "UPDATE"),
    ('d', "DELETE"),
    ('D', "TRUNCATE"),
    ('x', "REFERENCES"),
    ('t', "TRIGGER"),
    ('X', "EXECUTE"),
    ('U', "USAGE"),
    ('C', "CREATE"),
    ('T', "TEMPORARY"),
    ('c', "CONNECT"),
    ('s', "SET"),
    ('A', "ALTER SYSTEM"),
];

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::catalog("aclexplode_grantors", &[T::Any], T::Oid, |b, c| {
        b.map_values(|items| column(c, &items[0], |granted| granted.grantor))
    })
    .array(T::Oid),
    FunctionDef::catalog("aclexplode_grantees", &[T::Any], T::Oid, |b, c| {
        b.map_values(|items| column(c, &items[0], |granted| granted.grantee))
    })
    .array(T::Oid),
    FunctionDef::catalog("aclexplode_privileges", &[T::Any], T::Text, |b, c| {
        b.map_values(|items| column(c, &items[0], |granted| granted.privilege.to_string()))
    })
    .array(T::Text),
    FunctionDef::catalog("aclexplode_grantables", &[T::Any], T::Bool, |b, c| {
        b.map_values(|items| column(c, &items[0], |granted| granted.is_grantable))
    })
    .array(T::Bool),
];

/// A privilege of a role; 0 for everybody.
struct Granted {
    grantor: i64,
    grantee: i64,
    privilege: &'static str,
    is_grantable: bool,
}

/// Of all privileges of a list, what a column says. Errors: 22P02, 42704.
fn column<V>(catalog: &CatalogContext, items: &Value, of: impl Fn(&Granted) -> V) -> Result<Vec<V>> {
    let mut found = Vec::new();
    for text in &texts_of_array(items) {
        found.extend(granted(catalog, text)?.iter().map(&of));
    }
    Ok(found)
}

/// `grantee=letters/grantor`, a `*` behind what may be granted on.
fn granted(catalog: &CatalogContext, item: &str) -> Result<Vec<Granted>> {
    let parts = item.rsplit_once('/');
    let parts = parts.and_then(|(granted, grantor)| Some((granted.rsplit_once('=')?, grantor)));
    let ((grantee, letters), grantor) = parts.ok_or_else(|| Error::DataException {
        state: "22P02",
        message: format!("invalid input syntax for type aclitem: \"{item}\""),
    })?;
    let (grantee, grantor) = (role(catalog, grantee)?, role(catalog, grantor)?);
    let of = |(letter, privilege): &(char, &'static str)| {
        let (_, behind) = letters.split_once(*letter)?;
        Some(Granted {
            grantor,
            grantee,
            privilege,
            is_grantable: behind.starts_with('*'),
        })
    };
    Ok(PRIVILEGES.iter().filter_map(of).collect())
}

fn role(catalog: &CatalogContext, name: &str) -> Result<i64> {
    let name = name.trim_matches('"');
    if name.is_empty() {
        return Ok(0);
    }
    let found = all_role_names(catalog.statement()).find(|(_, role)| role == name);
    found.map(|(oid, _)| oid).ok_or_else(|| Error::UndefinedObject {
        kind: "role",
        name: name.to_string(),
    })
}
