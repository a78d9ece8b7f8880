//! The names of objects as they leave a statement: with the oids that they stand for, which clients are sent in binary. Named by the binder
//! (`query::query_body`), by nobody's text.

use super::object_name::object_name;
use super::object_name_array::names_of_oids;
use super::{Body, FunctionDef, T};
use crate::types::{name_and_oid, name_with_oid};

/// The oid that such a name stands for: of what a part of a statement gave, when another reads it.
pub const OID_OF_SENT_NAME: Body =
    Body::Batch(|batch| batch.map1(|sent: &str| name_and_oid(sent).1.unwrap_or_default()));

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::catalog("sent_object_name", &[T::Text, T::Oid], T::Text, |b, catalog| {
        b.map2(|kind, oid| name_with_oid(&object_name(catalog, kind, oid), oid))
    }),
    FunctionDef::catalog(
        "sent_object_names",
        &[T::Text, T::AnyArray],
        T::Text,
        |b, catalog| {
            names_of_oids(b, |kind, oid| {
                name_with_oid(&object_name(catalog, kind, oid), oid)
            })
        },
    )
    .array(T::Text),
];
