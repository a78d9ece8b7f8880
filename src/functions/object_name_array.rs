//! Arrays of the reg types, from the names of objects and to them; their dimensions stay. The binder calls them by name.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;

use super::object_name::{object_name, object_oid};
use super::{Batch, FunctionDef, T};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::catalog("object_names", &[T::Text, T::AnyArray], T::Text, |b, catalog| {
        names_of_oids(b, |kind, oid| object_name(catalog, kind, oid))
    })
    .array(T::Text),
    FunctionDef::catalog("object_oids", &[T::Text, T::TextArray], T::Oid, |b, catalog| {
        b.map_values(|values| {
            let [Value::Text(kind), Value::Array(names)] = values else {
                return Ok(Value::Null);
            };
            let oid = |name| match name {
                Value::Text(name) => object_oid(catalog, kind, &name).map(Value::Int),
                other => Ok::<_, Error>(other),
            };
            names.clone().try_map(oid).map(Value::Array)
        })
    })
    .array(T::Oid),
];

/// The names that oids of a kind of object have, as arrays of the same shape. Errors: 42804 for any other array.
pub(super) fn names_of_oids(batch: &Batch, name: impl Fn(&str, i64) -> String) -> Result<ArrayRef> {
    must_hold_oids(&batch.arguments[1])?;
    batch.map_values(|values| {
        let [Value::Text(kind), Value::Array(oids)] = values else {
            return Value::Null;
        };
        let name = |oid| match oid {
            Value::Int(oid) => Value::Text(name(kind, oid)),
            other => other,
        };
        Value::Array(oids.clone().map(name))
    })
}

/// Arrays of the reg types are arrays of oids. Errors: 42804 for any other array.
fn must_hold_oids(array: &SqlType) -> Result<()> {
    let holds_oids = array
        .item_type()
        .is_some_and(|item| item.arrow_type() == DataType::Int64);
    holds_oids.then_some(()).ok_or_else(|| Error::DatatypeMismatch {
        message: "object_names takes an array of oids".to_string(),
        hint: None,
    })
}
