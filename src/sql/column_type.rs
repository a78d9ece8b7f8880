//! Which types a column may have. Asked by CREATE and ALTER TABLE, and by writes that add columns.

use crate::error::StatementFault;
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
