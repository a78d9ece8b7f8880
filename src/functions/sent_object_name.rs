//! The names of objects as they leave a statement: with the oids that they stand for, which clients are sent in binary. Named by the binder
//! (`query::query_body`), by nobody's text.

use super::object_name::{must_hold_oids, object_name};
use super::{FunctionDef, T};
use crate::types::name_with_oid;

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
            b.map2(|kind, oids: Vec<Option<i64>>| {
                let name =
                    |oid: Option<i64>| oid.map(|oid| name_with_oid(&object_name(catalog, kind, oid), oid));
                oids.into_iter().map(name).collect::<Vec<_>>()
            })
        },
    )
    .array(T::Text),
];
