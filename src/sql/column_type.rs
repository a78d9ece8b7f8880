//! Which types a column may have, and which names. Asked by CREATE and ALTER TABLE, and by writes that add columns.

use crate::catalog::SYSTEM_COLUMNS;
use crate::error::{Raised, StatementFault};
use crate::types::{CatalogType, SqlType};
use crate::{Error, Result};

/// Whether rows store values of the type. Errors: 0A000, 42P16 for pseudo-types.
pub(super) fn check_stored(ty: &SqlType) -> Result<()> {
    match ty {
        SqlType::Array(element) => check_stored(element),
        SqlType::Unknown | SqlType::Void => Err(Error::InvalidStatement {
            state: StatementFault::InvalidTableDefinition,
            message: format!("column has pseudo-type {ty}"),
            hint: None,
        }),
        SqlType::Catalog(CatalogType::Record | CatalogType::AnyArray | CatalogType::Void) => {
            Err(Error::InvalidStatement {
                state: StatementFault::InvalidTableDefinition,
                message: format!("column has pseudo-type {ty}"),
                hint: None,
            })
        }
        SqlType::Record(row) if row.is_anonymous() => Err(Error::InvalidStatement {
            state: StatementFault::InvalidTableDefinition,
            message: format!("column has pseudo-type {ty}"),
            hint: None,
        }),
        SqlType::Record(row) if row.is_of_relation() => Err(Error::unsupported(
            format!("a column of the row type of {}", row.quoted_name()),
            Some("Declare a type of its columns with CREATE TYPE ... AS (...), and a column of that."),
        )),
        SqlType::Catalog(catalog) if catalog.is_stored() => Ok(()),
        SqlType::Catalog(_) => Err(Error::unsupported(
            format!("a column of type {ty}"),
            Some("Use text, with a CHECK constraint for its form."),
        )),
        _ => Ok(()),
    }
}

/// Errors: 42701 for the name of a column that every table has.
pub(super) fn check_no_system_column(name: &str) -> Result<()> {
    match SYSTEM_COLUMNS.contains(&name) {
        false => Ok(()),
        true => Err(Raised::new(
            "42701",
            format!("column name \"{name}\" conflicts with a system column name"),
        )
        .into()),
    }
}
