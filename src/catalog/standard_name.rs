//! Names of types and functions in the texts of definitions: bare in `public`, where the standard search path finds them, with their schemas
//! elsewhere. Who shows such a text to a session calls them as that finds them (`system::pg_catalog::shown_names`).

use super::Catalog;
use crate::parse::quoting::{qualified, quote_ident};
use crate::types::SqlType;

/// The schema whose types and functions need no schema before them in a text.
pub const STANDARD_SCHEMA: &str = "public";

/// The name of something in a schema, quoted where it must be.
pub fn standard_name(schema: &str, name: &str) -> String {
    match schema {
        STANDARD_SCHEMA => quote_ident(name),
        schema => qualified(schema, name),
    }
}

impl Catalog {
    /// A type without its modifiers, as a constant or a conversion names it.
    pub fn standard_type_name(&self, ty: &SqlType) -> String {
        let element = match ty.innermost() {
            SqlType::Enum(found) => self.name_of_type(found.oid),
            SqlType::Record(found) if !found.is_anonymous() => self.name_of_type(found.oid),
            _ => None,
        };
        let element = element.map(|(schema, name)| standard_name(schema, name));
        match (element, ty) {
            (None, ty) => ty.full_base_name(),
            (Some(element), SqlType::Array(_)) => element + "[]",
            (Some(element), _) => element,
        }
    }

    /// The schema and name of the type that users made with this oid, or of that of the rows of a relation. `None`: there is none.
    pub fn name_of_type(&self, oid: u32) -> Option<(&str, &str)> {
        if let Some(ty) = self.types.by_oid(oid) {
            return Some((&ty.schema, &ty.name));
        }
        let relation = self.relations.iter().find(|relation| relation.oid() == oid)?;
        Some((relation.schema(), relation.name()))
    }
}
