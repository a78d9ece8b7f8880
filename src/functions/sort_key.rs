//! What comparisons see of values that Arrow orders otherwise than PostgreSQL does: a function around the operand, which gives the key
//! that it compares by.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryBuilder};

use super::{Batch, Body, compare, interval, text_search};
use crate::Result;
use crate::codec::key::nested;
use crate::types::{Interval, Numeric, SqlType, Value, json_key, value_at};

/// The name of [`SORT_KEY`].
pub const SORT_KEY_NAME: &str = "sort_key";
/// A document, array, range or row as the bytes that it compares by, and stands in keys as.
const SORT_KEY: Body = Body::Batch(sort_keys);

/// Whether comparisons put this function around their operands, which fails for no value of a column.
pub fn is_around_operands(name: &str) -> bool {
    is_key_of_operand(name) || matches!(name, compare::FLOAT_ORDER_NAME | compare::TRIM_CHAR_NAME)
}

/// Whether it gives the key of an operand of which equal values may differ; in stored keys they stand in the same order.
pub fn is_key_of_operand(name: &str) -> bool {
    matches!(
        name,
        compare::CITEXT_KEY_NAME | compare::NUMERIC_KEY_NAME | interval::INTERVAL_ORDER_NAME | SORT_KEY_NAME
    )
}

/// A value that has this key, which [`order_function`] gave: of the type, or of another number a numeric. Of equal values the plainest.
/// `None`: it is the key of none.
pub fn value_of_key(ty: &SqlType, key: Value) -> Option<Value> {
    match (ty, key) {
        (SqlType::Interval(_), Value::Numeric(span)) => {
            Interval::of_span(span.unscaled_at(0)?).map(Value::Interval)
        }
        (ty, Value::Bytes(key)) if is_nested(ty) => nested::value_of_sort_key(&key, ty),
        (_, Value::Bytes(key)) => Numeric::from_key(&key).map(Value::Numeric),
        (_, key) => Some(key),
    }
}

/// The function that gives the key which values of a type compare by, its name, and the key's type; `None` when Arrow
/// orders the values themselves as PostgreSQL does. The padding of char(n) does not matter, for all are of one width.
pub fn order_function(ty: &SqlType) -> Option<(&'static str, Body, SqlType)> {
    match ty {
        SqlType::Float4 | SqlType::Float8 => {
            Some((compare::FLOAT_ORDER_NAME, compare::FLOAT_ORDER, ty.clone()))
        }
        SqlType::Numeric(_) if ty.is_variable_numeric() => {
            Some((compare::NUMERIC_KEY_NAME, compare::NUMERIC_KEY, SqlType::Bytea))
        }
        SqlType::Char(None) => Some((compare::TRIM_CHAR_NAME, compare::TRIM_CHAR, ty.clone())),
        SqlType::Citext => Some((compare::CITEXT_KEY_NAME, compare::CITEXT_KEY, SqlType::Text)),
        SqlType::Interval(_) => Some((
            interval::INTERVAL_ORDER_NAME,
            interval::INTERVAL_ORDER,
            interval::interval_order_type(),
        )),
        SqlType::TsVector | SqlType::TsQuery => Some((
            "text_search_order",
            text_search::TEXT_SEARCH_ORDER,
            SqlType::Bytea,
        )),
        ty if is_nested(ty) => Some((SORT_KEY_NAME, SORT_KEY, SqlType::Bytea)),
        _ => None,
    }
}

/// Whether [`SORT_KEY`] gives what values of the type compare by.
fn is_nested(ty: &SqlType) -> bool {
    matches!(
        ty,
        SqlType::Jsonb | SqlType::Array(_) | SqlType::Range(_) | SqlType::Multirange(_) | SqlType::Record(_)
    )
}

fn sort_keys(batch: &Batch) -> Result<ArrayRef> {
    let (values, ty) = (&batch.arrays[0], &batch.arguments[0]);
    let mut keys = BinaryBuilder::with_capacity(values.len(), 0);
    if *ty == SqlType::Jsonb {
        let mut key = Vec::new();
        for document in values.as_string::<i32>() {
            key.clear();
            document
                .iter()
                .for_each(|document| json_key::put_key(&mut key, document));
            keys.append_option(document.map(|_| &key));
        }
        return Ok(Arc::new(keys.finish()));
    }
    for row in 0..values.len() {
        match values.is_null(row) {
            true => keys.append_null(),
            false => keys.append_value(nested::sort_key(&value_at(values, row, ty)?, ty)),
        }
    }
    Ok(Arc::new(keys.finish()))
}
