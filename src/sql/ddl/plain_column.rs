//! Columns that no statement describes: those of a query's rows, and the hidden id of rows without a key.

use crate::catalog::{ColumnDef, ColumnDefault};
use crate::codec::row::ColumnId;
use crate::types::{SqlType, Value};

/// The hidden row id's name, which no statement can name.
const ROW_ID_COLUMN: &str = "row id";

/// A column that is no more than its name and type.
pub(super) fn plain_column(id: ColumnId, name: String, ty: SqlType) -> ColumnDef {
    ColumnDef {
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
