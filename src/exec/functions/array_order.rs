//! Arrays as comparisons see them: each item as its type compares.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray};

use super::{Batch, Body};
use crate::Result;
use crate::types::SqlType;

/// An array of the keys that its items compare by; the result's item type is the key's.
const ARRAY_ORDER: Body = Body::Batch(array_order);

/// The function that gives the key which values of a type compare by, its name, and the key's type; `None` when Arrow
/// orders the values themselves as PostgreSQL does. Items of char(n) are of one width: their padding does not matter.
pub fn order_function(ty: &SqlType) -> Option<(&'static str, Body, SqlType)> {
    use super::{compare, json_order};
    match ty {
        SqlType::Float4 | SqlType::Float8 => {
            Some((compare::FLOAT_ORDER_NAME, compare::FLOAT_ORDER, ty.clone()))
        }
        SqlType::Jsonb => Some((
            json_order::JSONB_ORDER_NAME,
            json_order::JSONB_ORDER,
            SqlType::Bytea,
        )),
        SqlType::Interval => Some((
            "interval_order",
            super::datetime::INTERVAL_ORDER,
            super::datetime::interval_order_type(),
        )),
        SqlType::Array(item) => {
            let (_, _, key) = order_function(item)?;
            Some(("array_order", ARRAY_ORDER, SqlType::Array(Box::new(key))))
        }
        _ => None,
    }
}

fn array_order(batch: &Batch) -> Result<ArrayRef> {
    let lists = batch.arrays[0].as_list::<i32>();
    let item = super::super::cell::element_type(&batch.arguments[0]);
    let Some((_, Body::Batch(body), key)) = order_function(&item) else {
        return Ok(Arc::clone(&batch.arrays[0]));
    };
    let keys = body(&Batch {
        arrays: &[Arc::clone(lists.values())],
        arguments: &[item],
        returns: &key,
        rows: lists.values().len(),
        settings: batch.settings,
    })?;
    let arrow::datatypes::DataType::List(field) = batch.returns.arrow_type() else {
        return Ok(Arc::clone(&batch.arrays[0]));
    };
    let keyed = ListArray::try_new(field, lists.offsets().clone(), keys, lists.nulls().cloned());
    Ok(Arc::new(keyed.map_err(|error| {
        super::super::datafusion_error::from_arrow(&error)
    })?))
}
