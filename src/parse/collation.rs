//! Collations by name. Text compares by its bytes, so that the collations that say so are all there are.

use sqlparser::ast::ObjectName;

use crate::{Error, Result};

/// Names of the order of bytes, and of the database's own, which is that.
const BINARY: [&str; 4] = ["C", "POSIX", "default", "ucs_basic"];

/// Errors: 0A000 for a collation that orders text otherwise.
pub(crate) fn check(name: &ObjectName) -> Result<()> {
    read(name).map(drop)
}

/// The collation of a name; `None`: the database's own. Errors: as [`check`].
pub(crate) fn read(name: &ObjectName) -> Result<Option<String>> {
    let parts: Vec<_> = name.0.iter().filter_map(|part| part.as_ident()).collect();
    let is_binary = match parts.as_slice() {
        [schema, name] => {
            schema.value.eq_ignore_ascii_case("pg_catalog") && BINARY.contains(&name.value.as_str())
        }
        [name] => BINARY.contains(&name.value.as_str()),
        _ => false,
    };
    match is_binary {
        true => Ok(parts
            .last()
            .map(|name| name.value.clone())
            .filter(|name| name != "default")),
        false => Err(Error::unsupported(
            format!("the collation {name}"),
            Some("Text compares by its bytes here, as under COLLATE \"C\"."),
        )),
    }
}
