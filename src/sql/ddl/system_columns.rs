//! The hidden id of rows without a key: a column that no statement describes.

use crate::catalog::{ColumnDef, ColumnDefault};
use crate::codec::row::ColumnId;
use crate::types::SqlType;

/// The hidden row id's name, which no statement can name.
const ROW_ID_COLUMN: &str = "row id";

pub(super) fn row_id_column(id: ColumnId) -> ColumnDef {
    ColumnDef {
        not_null: true,
        default: Some(ColumnDefault::RowId),
        ..ColumnDef::hidden(id, ROW_ID_COLUMN, SqlType::Int8)
    }
}
