//! Columns that no statement describes: those of a query's rows, and the hidden id of rows without a key.

use crate::Result;
use crate::catalog::{ColumnDef, ColumnDefault};
use crate::codec::row::ColumnId;
use crate::error::Raised;
use crate::types::{SqlType, Value};

/// The hidden row id's name, which no statement can name.
const ROW_ID_COLUMN: &str = "row id";

/// The columns that rows of every table of PostgreSQL have.
const SYSTEM_COLUMNS: &[&str] = &["tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"];

/// Errors: 42701 for the name of such a column.
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

/// A column that is no more than its name and type.
pub(super) fn plain_column(id: ColumnId, name: String, ty: SqlType) -> ColumnDef {
    ColumnDef {
        collation: None,
        id,
        name,
        ty,
        domain: None,
        not_null: false,
        unverified: None,
        default: None,
        missing: Value::Null,
        hidden: false,
        dynamic: false,
        comment: None,
    }
}

pub(super) fn row_id_column(id: ColumnId) -> ColumnDef {
    ColumnDef {
        not_null: true,
        unverified: None,
        default: Some(ColumnDefault::RowId),
        hidden: true,
        ..plain_column(id, ROW_ID_COLUMN.to_string(), SqlType::Int8)
    }
}
