//! Assignment casts: values and arrays of any type into what a column holds, with PostgreSQL's errors.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, new_null_array};

use crate::catalog::{ColumnDef, TableDef};
use crate::codec::row::ColumnBuilder;
use crate::query::is_assignable;
use crate::types::{FormatSettings, SqlType, Value, value_at};
use crate::{Error, Result};

/// Whether a column takes expressions of this type, known before there is a row. Errors: 42804.
pub(super) fn check_assignable(from: &SqlType, column: &ColumnDef) -> Result<()> {
    if is_assignable(from, &column.ty) {
        return Ok(());
    }
    if let (SqlType::Record(row), SqlType::Record(_)) = (from, &column.ty)
        && row.is_anonymous()
    {
        return Err(Error::CannotCoerce {
            from: from.full_base_name(),
            to: column.ty.full_base_name(),
        });
    }
    let error = Error::DatatypeMismatch {
        message: format!(
            "column \"{}\" is of type {} but expression is of type {}",
            column.name,
            column.ty.full_base_name(),
            from.full_base_name()
        ),
        hint: Some("You will need to rewrite or cast the expression.".to_string()),
    };
    Err(dynamic_mismatch(error, column))
}

/// A value of an expression of type `from` as the column holds it. Errors: 42804, 22003, 22001, 22P02 …
pub(super) fn assign_value(
    value: Value,
    from: &SqlType,
    column: &ColumnDef,
    settings: &FormatSettings,
) -> Result<Value> {
    check_assignable(from, column)?;
    converted(value, from, column, settings)
}

fn converted(value: Value, from: &SqlType, column: &ColumnDef, settings: &FormatSettings) -> Result<Value> {
    let converted = assigned_value(value, from, (&column.ty, &column.name), settings);
    converted.map_err(|error| dynamic_mismatch(error, column))
}

/// A value of type `from`, which is assignable, as one of another type. `name`: what errors call its place. Errors: 22003, 22001, 22P02 …
pub(crate) fn assigned_value(
    value: Value,
    from: &SqlType,
    (ty, name): (&SqlType, &str),
    settings: &FormatSettings,
) -> Result<Value> {
    let value = match value {
        // The blanks of char(n) are no part of what any other string is given.
        Value::Text(text) if matches!(from, SqlType::Char(_)) => {
            Value::Text(text.trim_end_matches(' ').to_string())
        }
        value => value,
    };
    value.assign(ty, name, settings)
}

/// An array of type `from` as the column holds it.
pub(super) fn assign_array(
    array: &ArrayRef,
    from: &SqlType,
    column: &ColumnDef,
    settings: &FormatSettings,
) -> Result<ArrayRef> {
    // char(n) and varchar(n) are checked and padded by the cast even when the types look alike.
    if *from == column.ty && *array.data_type() == column.ty.arrow_type() {
        return Ok(Arc::clone(array));
    }
    check_assignable(from, column)?;
    let mut builder = ColumnBuilder::new(&column.ty, array.len());
    for row in 0..array.len() {
        let value = result_value(array, row, from)?;
        builder.append_value(&converted(value, from, column, settings)?)?;
    }
    Ok(builder.finish())
}

/// A value of an expression's result; an untyped literal is still one.
pub(super) fn result_value(array: &ArrayRef, row: usize, ty: &SqlType) -> Result<Value> {
    Ok(match value_at(array, row, ty)? {
        Value::Text(text) if *ty == SqlType::Unknown => Value::Unknown(text),
        value => value,
    })
}

/// A dynamic column's type came with the write that added it: say so when a later one does not fit.
fn dynamic_mismatch(error: Error, column: &ColumnDef) -> Error {
    if !column.dynamic {
        return error;
    }
    let hint = format!(
        "The column got type {} when a write added it. Write values of that type, or name another column.",
        column.ty
    );
    match error {
        Error::DatatypeMismatch { message, .. } => Error::DatatypeMismatch {
            message,
            hint: Some(hint),
        },
        Error::InvalidText { .. } | Error::InvalidDatetime { .. } => Error::DatatypeMismatch {
            message: format!(
                "column \"{}\" is of type {} but expression is of type text",
                column.name, column.ty
            ),
            hint: Some(hint),
        },
        error => error,
    }
}

/// The batch with some columns replaced.
pub(super) fn with_columns(
    table: &TableDef,
    batch: &RecordBatch,
    columns: Vec<(usize, ArrayRef)>,
) -> Result<RecordBatch> {
    let mut all = batch.columns().to_vec();
    for (position, array) in columns {
        all[position] = array;
    }
    RecordBatch::try_new(table.write_schema(), all).map_err(Error::arrow)
}

/// A value for each of `count` rows.
pub(super) fn repeated(value: &Value, ty: &SqlType, count: usize) -> Result<ArrayRef> {
    if *value == Value::Null {
        return Ok(new_null_array(&ty.arrow_type(), count));
    }
    let mut builder = ColumnBuilder::new(ty, count);
    (0..count).try_for_each(|_| builder.append_value(value))?;
    Ok(builder.finish())
}
