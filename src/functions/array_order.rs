//! Arrays and rows as comparisons see them: item by item, each as its type compares, and NULL behind all others.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BinaryBuilder, ListArray};
use arrow::compute::SortOptions;
use arrow::datatypes::Field;
use arrow::error::ArrowError;
use arrow::row::{RowConverter, SortField};

use super::record::column_of;
use super::{Batch, Body, mismatched_types};
use crate::Result;
use crate::system::datafusion_error::from_arrow;
use crate::types::{FormatSettings, SqlType, element_type};

/// The array as bytes that compare as it does.
const ARRAY_ORDER: Body = Body::Batch(array_order);

/// A row as bytes that compare as it does: column by column, NULL behind all others.
const RECORD_ORDER: Body = Body::Batch(record_order);

/// The function that gives the key which values of a type compare by, its name, and the key's type; `None` when Arrow
/// orders the values themselves as PostgreSQL does. The padding of char(n) does not matter, for all are of one width.
pub fn order_function(ty: &SqlType) -> Option<(&'static str, Body, SqlType)> {
    use super::{compare, json_order};
    match ty {
        SqlType::Float4 | SqlType::Float8 => {
            Some((compare::FLOAT_ORDER_NAME, compare::FLOAT_ORDER, ty.clone()))
        }
        SqlType::Numeric(_) if ty.is_variable_numeric() => {
            Some((compare::NUMERIC_KEY_NAME, compare::NUMERIC_KEY, SqlType::Bytea))
        }
        SqlType::Char(None) => Some((compare::TRIM_CHAR_NAME, compare::TRIM_CHAR, ty.clone())),
        SqlType::Citext => Some((compare::CITEXT_KEY_NAME, compare::CITEXT_KEY, SqlType::Text)),
        SqlType::Jsonb => Some((
            json_order::JSONB_ORDER_NAME,
            json_order::JSONB_ORDER,
            SqlType::Bytea,
        )),
        SqlType::Interval(_) => Some((
            "interval_order",
            super::interval::INTERVAL_ORDER,
            super::interval::interval_order_type(),
        )),
        SqlType::Array(_) => Some(("array_order", ARRAY_ORDER, SqlType::Bytea)),
        SqlType::Range(_) | SqlType::Multirange(_) => {
            Some(("range_order", super::range::RANGE_ORDER, SqlType::Bytea))
        }
        SqlType::TsVector | SqlType::TsQuery => Some((
            "text_search_order",
            super::text_search::TEXT_SEARCH_ORDER,
            SqlType::Bytea,
        )),
        SqlType::Record(_) => Some(("record_order", RECORD_ORDER, SqlType::Bytea)),
        _ => None,
    }
}

fn array_order(batch: &Batch) -> Result<ArrayRef> {
    let lists = batch.arrays[0].as_list::<i32>();
    let item = element_type(&batch.arguments[0]);
    let items = ordered_as(Arc::clone(lists.values()), item, batch.settings)?;
    let keys = bytes_in_order(lists, items).map_err(|error| from_arrow(&error))?;
    Ok(Arc::new(keys))
}

/// An array of the type as Arrow must see it to order it as PostgreSQL does.
pub(super) fn ordered_as(array: ArrayRef, ty: &SqlType, settings: &FormatSettings) -> Result<ArrayRef> {
    match order_function(ty) {
        Some((_, Body::Batch(body), key)) => body(&Batch {
            rows: array.len(),
            arrays: &[array],
            arguments: std::slice::from_ref(ty),
            returns: &key,
            strict: true,
            settings,
        }),
        _ => Ok(array),
    }
}

/// Bytes that order as the lists do, which have these items.
fn bytes_in_order(lists: &ListArray, items: ArrayRef) -> Result<BinaryArray, ArrowError> {
    let field = Arc::new(Field::new_list_field(items.data_type().clone(), true));
    let lists = ListArray::try_new(field, lists.offsets().clone(), items, lists.nulls().cloned())?;
    let nulls_last = SortOptions {
        descending: false,
        nulls_first: false,
    };
    let column = SortField::new_with_options(lists.data_type().clone(), nulls_last);
    let lists: ArrayRef = Arc::new(lists);
    let rows = RowConverter::new(vec![column])?.convert_columns(&[Arc::clone(&lists)])?;
    let mut keys = BinaryBuilder::with_capacity(lists.len(), rows.size());
    for (at, row) in rows.iter().enumerate() {
        keys.append_option(lists.is_valid(at).then_some(row));
    }
    Ok(keys.finish())
}

fn record_order(batch: &Batch) -> Result<ArrayRef> {
    let rows = batch.arrays[0].as_struct_opt().ok_or_else(mismatched_types)?;
    let SqlType::Record(ty) = &batch.arguments[0] else {
        return Err(mismatched_types());
    };
    let mut columns = Vec::with_capacity(ty.fields.len());
    for (column, field) in rows.columns().iter().zip(&ty.fields) {
        columns.push(ordered_as(column_of(rows, column)?, &field.ty, batch.settings)?);
    }
    let nulls_last = SortOptions {
        descending: false,
        nulls_first: false,
    };
    let fields = columns.iter().map(|column| column.data_type().clone());
    let fields = fields.map(|ty| SortField::new_with_options(ty, nulls_last));
    let converter = RowConverter::new(fields.collect());
    let keys = converter.and_then(|converter| converter.convert_columns(&columns));
    let keys = keys.map_err(|error| from_arrow(&error))?;
    let mut out = BinaryBuilder::with_capacity(rows.len(), keys.size());
    for (at, key) in keys.iter().enumerate() {
        out.append_option(rows.is_valid(at).then_some(key));
    }
    Ok(Arc::new(out.finish()))
}
