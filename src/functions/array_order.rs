//! Arrays as comparisons see them: item by item, each as its type compares, and NULL behind all others.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, BinaryBuilder, ListArray};
use arrow::compute::SortOptions;
use arrow::datatypes::Field;
use arrow::error::ArrowError;
use arrow::row::{RowConverter, SortField};

use super::{Batch, Body};
use crate::Result;
use crate::system::datafusion_error::from_arrow;
use crate::types::{FormatSettings, SqlType, element_type};

/// The array as bytes that compare as it does.
const ARRAY_ORDER: Body = Body::Batch(array_order);

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
        SqlType::Record(_) => Some(("record_order", super::record::RECORD_ORDER, SqlType::Bytea)),
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
