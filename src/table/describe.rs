//! Rows and keys as text for the DETAIL of errors, in PostgreSQL's manner. Called by `encode` and `write`.

use std::borrow::Cow;

use arrow::array::{ArrayRef, RecordBatch};

use crate::Result;
use crate::catalog::{ColumnDef, IndexDef, TableDef};
use crate::codec::key::{self, KeyField};
use crate::codec::keyspace::ENTRY_PREFIX_BYTES;
use crate::types::{FormatSettings, SqlType, Value, value_at};

/// Characters of a value shown at most, as in PostgreSQL.
const VALUE_CHARS_MAX: usize = 64;

/// A row of a batch of all columns: `(1, null, abc)`. Hidden columns are left out; what a write does not see of many is `...`.
pub fn row_text(table: &TableDef, batch: &RecordBatch, row: usize) -> String {
    let visible = table
        .columns
        .iter()
        .zip(batch.columns())
        .filter(|(column, _)| !column.hidden);
    let values = visible.map(|(column, array)| element_text(array, row, &column.ty));
    let unseen = table.is_narrowed().then(|| "...".to_string());
    let values: Vec<_> = values.chain(unseen).collect();
    format!("({})", values.join(", "))
}

/// The columns of a key and a row's values in them: `(channel, id)=(alipay, a1)`. Columns that the server computes of
/// others are left out where nobody can name them.
pub fn constraint_key(table: &TableDef, index: &IndexDef, batch: &RecordBatch, row: usize) -> String {
    let is_computed = |at: &usize| {
        let mut computed = index.expressions.iter();
        computed.any(|expr| expr.column == table.columns[*at].id)
    };
    let is_shown = |at: &usize| !table.columns[*at].hidden || table.row_id() == Some(*at) || is_computed(at);
    let columns = index.columns.iter();
    let positions = columns
        .filter_map(|column| table.column_index_by_id(column.column))
        .filter(is_shown);
    let (names, values): (Vec<_>, Vec<_>) = positions
        .map(|at| {
            let column = &table.columns[at];
            (
                shown_name(index, column),
                element_text(batch.column(at), row, &column.ty),
            )
        })
        .unzip();
    format!("({})=({})", names.join(", "), values.join(", "))
}

/// Columns by name and the values of a row in them, as [`constraint_key`].
pub fn key_text(columns: &[(&str, &SqlType)], values: &[ArrayRef], row: usize) -> String {
    let names: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
    let values: Vec<_> = columns
        .iter()
        .zip(values)
        .map(|((_, ty), array)| element_text(array, row, ty))
        .collect();
    format!("({})=({})", names.join(", "), values.join(", "))
}

/// The columns of a stored key of an index and its values, as [`constraint_key`]; the primary key's columns follow where
/// the key holds them. Errors: `Corrupt` when the key does not decode.
pub fn stored_key_text(table: &TableDef, index: &IndexDef, stored: &[u8]) -> Result<String> {
    let others = named_fields(table, &table.primary_key, Some(index));
    let fields = named_fields(table, index, None).chain(others);
    // An entry that may stand only once has the rest of the primary key in its value.
    fields_text(fields, (stored, index.columns.len()), 0)
}

/// The fields of a stored key by name, behind so many that are not told. `least`: as many as it must hold. Errors: `Corrupt`.
fn fields_text<'a>(
    fields: impl Iterator<Item = (Cow<'a, str>, KeyField)>,
    (stored, least): (&[u8], usize),
    untold: usize,
) -> Result<String> {
    let mut rest = stored.get(ENTRY_PREFIX_BYTES..).unwrap_or_default();
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for (at, (name, field)) in fields.enumerate() {
        match key::decode_value(rest, &field) {
            Ok((value, length)) => {
                rest = rest.get(length..).unwrap_or_default();
                if at >= untold {
                    names.push(name);
                    values.push(value_text(&value));
                }
            }
            Err(_) if at >= least => break,
            Err(error) => return Err(error),
        }
    }
    Ok(format!("({})=({})", names.join(", "), values.join(", ")))
}

/// The indexed columns of a stored key and its values, as [`constraint_key`]. Errors: `Corrupt` when the key does not decode.
pub fn indexed_key_text(table: &TableDef, index: &IndexDef, stored: &[u8]) -> Result<String> {
    let untold = usize::from(index.predicate.is_some());
    let fields = named_fields(table, index, None);
    fields_text(fields, (stored, index.columns.len()), untold)
}

/// Names and fields of an index's columns, but for those that `skipped` has.
fn named_fields<'a>(
    table: &'a TableDef,
    index: &'a IndexDef,
    skipped: Option<&'a IndexDef>,
) -> impl Iterator<Item = (Cow<'a, str>, KeyField)> {
    let is_skipped =
        move |id| skipped.is_some_and(|skipped| skipped.columns.iter().any(|key| key.column == id));
    let fields = index.columns.iter().zip(table.key_fields(index));
    fields
        .filter(move |(key, _)| !is_skipped(key.column))
        .filter_map(|(key, field)| {
            let at = table.column_index_by_id(key.column)?;
            Some((shown_name(index, &table.columns[at]), field))
        })
}

/// A column of an index by its name; an expression that is no call stands in parentheses.
fn shown_name<'a>(index: &IndexDef, column: &'a ColumnDef) -> Cow<'a, str> {
    let mut expressions = index.expressions.iter();
    match expressions.any(|expr| expr.column == column.id && !expr.is_call) {
        true => Cow::Owned(format!("({})", column.name)),
        false => Cow::Borrowed(&column.name),
    }
}

/// One element, cut when it is long.
fn element_text(array: &ArrayRef, row: usize, ty: &SqlType) -> String {
    match value_at(array, row, ty) {
        Ok(value) => value_text(&value),
        Err(_) => "?".to_string(),
    }
}

/// A value, cut when it is long.
fn value_text(value: &Value) -> String {
    if *value == Value::Null {
        return "null".to_string();
    }
    let settings = FormatSettings::default();
    let text = value.to_text(&settings);
    match text.char_indices().nth(VALUE_CHARS_MAX) {
        None => text,
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}
