//! `pg_stat_statements_reset`, of the extension pg_stat_statements.

use arrow::array::ArrayRef;

use super::{Batch, FunctionDef, T};
use crate::system::pg_catalog::{CatalogContext, user_oid};
use crate::system::statement_statistics::PG_STAT_STATEMENTS;
use crate::{Error, Result};

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::catalog("pg_stat_statements_reset", &[], T::Text, |b, catalog| {
        b.map0(|| reset(catalog, [0; 3]))
    })
    .volatile(),
    FunctionDef::catalog("pg_stat_statements_reset", &[T::Oid], T::Text, |b, catalog| {
        b.map1(|user: i64| reset(catalog, [user, 0, 0]))
    })
    .volatile(),
    FunctionDef::catalog(
        "pg_stat_statements_reset",
        &[T::Oid, T::Oid],
        T::Text,
        |b, catalog| b.map2(|user: i64, database: i64| reset(catalog, [user, database, 0])),
    )
    .volatile(),
    FunctionDef::catalog(
        "pg_stat_statements_reset",
        &[T::Oid, T::Oid, T::Int8],
        T::Text,
        reset_chosen,
    )
    .volatile()
    .parameters(&[("userid", Some("0")), ("dbid", Some("0")), ("queryid", Some("0"))]),
];

fn reset_chosen(batch: &Batch, catalog: &CatalogContext) -> Result<ArrayRef> {
    batch.map3(|user: i64, database: i64, query: i64| reset(catalog, [user, database, query]))
}

/// Forgets what was counted of a user, in a database, of a text; 0: of all. Errors: 42704 before the extension is created.
fn reset(catalog: &CatalogContext, [user, database, query]: [i64; 3]) -> Result<&'static str> {
    let statement = catalog.statement();
    if statement.schema_of_extension(PG_STAT_STATEMENTS).is_none() {
        return Err(Error::UndefinedObject {
            kind: "extension",
            name: PG_STAT_STATEMENTS.to_string(),
        });
    }
    if database == 0 || database == i64::from(statement.txn.database()) {
        statement.server.statements.reset(|key| {
            (query == 0 || query == key.query_id)
                && (user == 0 || user == user_oid(&statement.catalog, &key.user))
        });
    }
    Ok("")
}
