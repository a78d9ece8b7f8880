//! Which types a column may have. Asked by CREATE and ALTER TABLE, and by writes that add columns.

use crate::error::StatementFault;
use crate::types::SqlType;
use crate::{Error, Result};

/// Whether rows store values of the type. Errors: 0A000, 42P16 for pseudo-types.
pub(super) fn check_stored(ty: &SqlType) -> Result<()> {
    match ty {
        SqlType::Array(_) | SqlType::Int2Vector => Err(Error::unsupported(
            format!("a column of type {ty}"),
            Some("Keep the elements in a jsonb column, or one row an element."),
        )),
        SqlType::Unknown | SqlType::Void => Err(Error::InvalidStatement {
            state: StatementFault::InvalidTableDefinition,
            message: format!("column has pseudo-type {ty}"),
            hint: None,
        }),
        SqlType::InternalChar | SqlType::Oid | SqlType::Regclass | SqlType::Name => Err(Error::unsupported(
            format!("a column of type {ty}"),
            Some("Use text or bigint."),
        )),
        _ => Ok(()),
    }
}
