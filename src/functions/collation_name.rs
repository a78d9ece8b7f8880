//! Names of collations to oids and back, as regcollation reads and prints them. Called by `object_name`. Every collation is one of
//! pg_catalog, which is always searched.

use crate::Error;
use crate::error::Raised;
use crate::parse::quoting::quote_ident;
use crate::system::catalog_version::objects::{SYSTEM, is_in_catalog};
use crate::system::pg_catalog::CatalogContext;

/// The oid of the collation of a name, perhaps of a schema.
pub(super) fn collation_oid(catalog: &CatalogContext, schema: Option<&str>, name: &str) -> Option<i64> {
    if schema.is_some_and(|schema| catalog.schema_meant(schema) != "pg_catalog") {
        return None;
    }
    let mut collations = SYSTEM.collations.iter();
    let found = collations.find(|(_, collation)| collation.name == name && is_in_catalog(collation));
    found.map(|(oid, _)| *oid)
}

/// The name that an oid prints as.
pub(super) fn collation_name(oid: i64) -> Option<String> {
    let collation = SYSTEM.collations.get(&oid)?;
    Some(quote_ident(&collation.name))
}

/// The error of a name that no collation has: 3F000 for the schema that it says, 42704.
pub(super) fn no_collation(catalog: &CatalogContext, parts: &[String]) -> Error {
    if let [.., schema, _] = parts
        && let meant = catalog.schema_meant(schema)
        && catalog.objects().schema_oid(meant).is_none()
    {
        return Error::UndefinedSchema { name: schema.clone() };
    }
    let name = parts.join(".");
    let message = format!("collation \"{name}\" for encoding \"UTF8\" does not exist");
    Raised::new("42704", message).into()
}
