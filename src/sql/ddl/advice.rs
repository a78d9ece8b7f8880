//! NOTICEs on CREATE TABLE when the key invites trouble: one line each, with what to do instead as its HINT.

use super::notice;
use crate::catalog::{ColumnDef, TableDef};
use crate::exec::StatementContext;
use crate::types::SqlType;

/// Key columns above which every key, and every index entry, grows long for little use.
const KEY_COLUMNS_ADVISED_MAX: usize = 3;

/// Raises the NOTICEs about a new table's key.
pub(super) fn advise(ctx: &StatementContext, table: &TableDef) {
    let name = &table.name;
    if table.has_hidden_key() {
        let message = format!(
            "table \"{name}\" has no primary key: rows stand in the order they came, and only reads of the whole table can use it"
        );
        let hint = "Declare PRIMARY KEY (...) over the columns that queries filter by.";
        return notice(ctx, "00000", message, Some(hint.to_string()));
    }
    let key: Vec<&ColumnDef> = table
        .key_columns()
        .into_iter()
        .map(|at| &table.columns[at])
        .collect();
    if let Some(first) = key.first() {
        advise_first(ctx, name, first);
    }
    if key.len() > KEY_COLUMNS_ADVISED_MAX {
        notice(
            ctx,
            "00000",
            format!(
                "the primary key of \"{name}\" has {} columns, which every key and index entry repeats",
                key.len()
            ),
            Some(format!(
                "Keep the {KEY_COLUMNS_ADVISED_MAX} columns that queries filter by first, and make the rest plain columns."
            )),
        );
    }
    let unbounded: Vec<_> = key
        .iter()
        .filter(|column| is_unbounded_text(&column.ty))
        .map(|column| format!("\"{}\"", column.name))
        .collect();
    if !unbounded.is_empty() {
        let message = format!(
            "key text of \"{name}\" without a length limit: {}; a value above keyspan.key_column_bytes_max is refused",
            unbounded.join(", ")
        );
        notice(
            ctx,
            "00000",
            message,
            Some("Declare it varchar(n), as long as your values need.".to_string()),
        );
    }
}

/// A first column that only grows sends every insert to the end of the table.
fn advise_first(ctx: &StatementContext, table: &str, first: &ColumnDef) {
    let is_time = matches!(
        first.ty,
        SqlType::Timestamp | SqlType::TimestampTz | SqlType::Date
    );
    if !is_time && !first.is_serial() {
        return;
    }
    let what = if is_time {
        first.ty.name()
    } else {
        "serial".to_string()
    };
    notice(
        ctx,
        "00000",
        format!(
            "the primary key of \"{table}\" starts with \"{}\" of type {what}: all new rows go to one place, a hotspot",
            first.name
        ),
        Some(format!(
            "Put a column of many values before it, as in PRIMARY KEY (device, {}).",
            first.name
        )),
    );
}

fn is_unbounded_text(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Text | SqlType::Varchar(None) | SqlType::Bytea)
}
