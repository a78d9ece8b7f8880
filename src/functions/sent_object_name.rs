//! The names of objects as they leave a statement: with the oids that they stand for, which clients are sent in binary. Named by the binder
//! (`query::query_body`), by nobody's text.

use super::object_name::object_name;
use super::object_name_array::must_hold_oids;
use super::{FunctionDef, T};
use crate::types::{Value, name_with_oid};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::catalog("sent_object_name", &[T::Text, T::Oid], T::Text, |b, catalog| {
        b.map2(|kind, oid| name_with_oid(&object_name(catalog, kind, oid), oid))
    }),
    FunctionDef::catalog(
        "sent_object_names",
        &[T::Text, T::AnyArray],
        T::Text,
        |b, catalog| {
            must_hold_oids(&b.arguments[1])?;
            b.map_values(|values| {
                let [Value::Text(kind), Value::Array(oids)] = values else {
                    return Value::Null;
                };
                let name = |oid| match oid {
                    Value::Int(oid) => Value::Text(name_with_oid(&object_name(catalog, kind, oid), oid)),
                    other => other,
                };
                Value::Array(oids.clone().map(name))
            })
        },
    )
    .array(T::Text),
];
