//! Columns that no statement describes: those of every table of PostgreSQL, and the hidden id of rows without a key.

use crate::Result;
use crate::catalog::{ColumnDef, ColumnDefault, SYSTEM_COLUMNS};
use crate::codec::row::ColumnId;
use crate::error::Raised;
use crate::types::SqlType;

/// The hidden row id's name, which no statement can name.
const ROW_ID_COLUMN: &str = "row id";

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

pub(super) fn row_id_column(id: ColumnId) -> ColumnDef {
    ColumnDef {
        not_null: true,
        default: Some(ColumnDefault::RowId),
        ..ColumnDef::hidden(id, ROW_ID_COLUMN, SqlType::Int8)
    }
}
