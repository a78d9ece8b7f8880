//! Rows as values: `ROW(…)`, a column of one, `IS NULL`. Called by the binder, which knows what the columns
//! are called.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, ListArray, StructArray, make_array, new_empty_array,
};
use arrow::buffer::{NullBuffer, OffsetBuffer};
use arrow::compute::concat;
use arrow::datatypes::{DataType, Fields, Int32Type};

use super::{Batch, Body, mismatched_types};
use crate::Result;
use crate::system::datafusion_error::from_arrow;
use crate::types::lists_of;

/// The name of [`MAKE_ROW`]: whoever reads a column of such a row may look through it.
pub const MAKE_ROW_NAME: &str = "row";
/// A row of the arguments.
pub const MAKE_ROW: Body = Body::Batch(make_row);
/// A column of a row: the second argument says which, from 0.
pub const FIELD: Body = Body::Batch(field);
/// Whether all columns of a row are NULL; with a true second argument, whether none is.
pub const NULL_TEST: Body = Body::Batch(null_test);
/// Arrays, one a column, as an array of rows. Those that are shorter go on with NULL.
pub const ROWS_OF: Body = Body::Batch(rows_of);

fn make_row(batch: &Batch) -> Result<ArrayRef> {
    let DataType::Struct(columns) = batch.returns.arrow_type() else {
        return Err(mismatched_types());
    };
    row_array(columns, batch.arrays.to_vec(), None)
}

fn row_array(columns: Fields, arrays: Vec<ArrayRef>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let rows = StructArray::try_new(columns, arrays, nulls);
    Ok(Arc::new(rows.map_err(|error| from_arrow(&error))?))
}

fn field(batch: &Batch) -> Result<ArrayRef> {
    let rows = batch.arrays[0].as_struct_opt().ok_or_else(mismatched_types)?;
    if rows.is_empty() {
        return Ok(new_empty_array(&batch.returns.arrow_type()));
    }
    let place = batch.arrays[1].as_primitive::<Int32Type>().value(0);
    let column = usize::try_from(place)
        .ok()
        .and_then(|place| rows.columns().get(place));
    column_of(rows, column.ok_or_else(mismatched_types)?)
}

/// A column of rows, NULL where the row is.
pub(super) fn column_of(rows: &StructArray, column: &ArrayRef) -> Result<ArrayRef> {
    if rows.null_count() == 0 || *column.data_type() == DataType::Null {
        return Ok(Arc::clone(column));
    }
    let nulls = NullBuffer::union(rows.nulls(), column.nulls());
    let data = column.to_data().into_builder().nulls(nulls).build();
    Ok(make_array(data.map_err(|error| from_arrow(&error))?))
}

fn null_test(batch: &Batch) -> Result<ArrayRef> {
    let rows = batch.arrays[0].as_struct_opt().ok_or_else(mismatched_types)?;
    let wants_none = batch.arrays[1].as_boolean();
    let is_null = |column: &ArrayRef, row| *column.data_type() == DataType::Null || column.is_null(row);
    let test = |row: usize| {
        let mut columns = rows.columns().iter();
        match wants_none.value(row) {
            true => rows.is_valid(row) && !columns.any(|column| is_null(column, row)),
            false => rows.is_null(row) || columns.all(|column| is_null(column, row)),
        }
    };
    let tests: Vec<bool> = (0..batch.rows).map(test).collect();
    Ok(Arc::new(BooleanArray::from(tests)))
}

fn rows_of(batch: &Batch) -> Result<ArrayRef> {
    let DataType::List(item) = batch.returns.arrow_type() else {
        return Err(mismatched_types());
    };
    let DataType::Struct(fields) = item.data_type() else {
        return Err(mismatched_types());
    };
    let lists: Vec<ListArray> = batch
        .arrays
        .iter()
        .map(|array| lists_of(array).ok_or_else(mismatched_types))
        .collect::<Result<_>>()?;
    let length = |list: &ListArray, row: usize| match list.is_null(row) {
        true => 0,
        false => list.value_length(row) as usize,
    };
    let longest = |row| lists.iter().map(|list| length(list, row)).max().unwrap_or(0);
    let lengths: Vec<usize> = (0..batch.rows).map(longest).collect();
    let mut columns = Vec::with_capacity(lists.len());
    for list in &lists {
        let mut parts: Vec<ArrayRef> = vec![new_empty_array(&list.value_type())];
        for (row, wanted) in lengths.iter().enumerate() {
            let own = length(list, row);
            if own > 0 {
                parts.push(list.value(row));
            }
            if own < *wanted {
                parts.push(arrow::array::new_null_array(&list.value_type(), wanted - own));
            }
        }
        let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
        columns.push(concat(&parts).map_err(|error| from_arrow(&error))?);
    }
    let items = row_array(fields.clone(), columns, None)?;
    let rows = ListArray::try_new(item, OffsetBuffer::from_lengths(lengths), items, None);
    Ok(Arc::new(rows.map_err(|error| from_arrow(&error))?))
}
