//! Functions about extensions: what pg_available_extensions and pg_available_extension_versions are made of in PostgreSQL.

use super::argument::TimestampTz;
use super::{FunctionDef, T};
use crate::Error;
use crate::error::StatementFault;
use crate::system::extensions::{AvailableExtension, available};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::new("available_extension_names", &[], T::Name, |b| {
        b.map0(|| of_all(|extension| extension.name.to_string()))
    })
    .array(T::Name),
    FunctionDef::new("available_extension_versions", &[], T::Text, |b| {
        b.map0(|| of_all(|extension| extension.version.to_string()))
    })
    .array(T::Text),
    FunctionDef::new("available_extension_comments", &[], T::Text, |b| {
        b.map0(|| of_all(|extension| extension.comment.to_string()))
    })
    .array(T::Text),
    FunctionDef::new("available_extension_superusers", &[], T::Bool, |b| {
        b.map0(|| of_all(|_| true))
    })
    .array(T::Bool),
    FunctionDef::new("available_extension_moves", &[], T::Bool, |b| {
        b.map0(|| of_all(|extension| extension.is_relocatable()))
    })
    .array(T::Bool),
    FunctionDef::new("available_extension_schemas", &[], T::Name, |b| {
        b.map0(|| of_all(|extension| extension.schema().map(str::to_string)))
    })
    .array(T::Name),
    FunctionDef::new("available_extension_requirements", &[], T::Text, |b| {
        b.map0(|| of_all(|_| None::<String>))
    })
    .array(T::Text),
    // Scripts of extensions call it, which are none here.
    FunctionDef::new(
        "pg_extension_config_dump",
        &[T::Regclass, T::Text],
        T::VOID,
        |b| {
            b.map2(|_: i64, _: &str| {
            Err::<Option<String>, _>(Error::InvalidStatement {
                state: StatementFault::NotImplemented,
                message: "pg_extension_config_dump() can only be called from an SQL script executed by CREATE EXTENSION"
                    .to_string(),
                hint: None,
            })
        })
        },
    ),
    // The server's log is kept by the store, whose files have other names: pg_ls_waldir lists none.
    FunctionDef::new("log_file_names", &[], T::Text, |b| b.map0(Vec::<String>::new)).array(T::Text),
    FunctionDef::new("log_file_sizes", &[], T::Int8, |b| b.map0(Vec::<i64>::new)).array(T::Int8),
    FunctionDef::new("log_file_times", &[], T::TimestampTz, |b| {
        b.map0(Vec::<Option<TimestampTz>>::new)
    })
    .array(T::TimestampTz),
];

fn of_all<R>(pick: impl Fn(AvailableExtension) -> R) -> Vec<R> {
    available().map(pick).collect()
}
