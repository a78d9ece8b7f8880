//! How large relations are: what is measured of their first rows, times how many there are.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use futures::FutureExt;

use super::{Batch, FunctionDef, T};
use crate::Result;
use crate::catalog::{Catalog, DatabaseId, FIRST_DATABASE, FIRST_OID, IndexDef, TableDef};
use crate::functions::table_size::key_bytes;
use crate::system::StatementContext;
use crate::system::pg_catalog::CatalogContext;
use crate::txn::DatabaseStore;
use crate::types::{Value, value_at};

/// Which keys of a table count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The rows.
    Rows,
    /// The secondary indexes.
    Indexes,
    /// Both.
    All,
}

const RELATION: &[T] = &[T::Regclass];

pub(super) static FUNCTIONS: &[FunctionDef] = &[
    FunctionDef::waiting("pg_relation_size", RELATION, T::Int8, |b, c| {
        sizes(b, c, Part::Rows).boxed()
    }),
    FunctionDef::waiting("pg_relation_size", &[T::Regclass, T::Text], T::Int8, |b, c| {
        sizes(b, c, Part::Rows).boxed()
    }),
    FunctionDef::waiting("pg_table_size", RELATION, T::Int8, |b, c| {
        sizes(b, c, Part::Rows).boxed()
    }),
    FunctionDef::waiting("pg_indexes_size", RELATION, T::Int8, |b, c| {
        sizes(b, c, Part::Indexes).boxed()
    }),
    FunctionDef::waiting("pg_total_relation_size", RELATION, T::Int8, |b, c| {
        sizes(b, c, Part::All).boxed()
    }),
    FunctionDef::waiting("pg_database_size", &[T::Name], T::Int8, |b, c| {
        database_sizes(b, c).boxed()
    }),
    FunctionDef::waiting("pg_database_size", &[T::Oid], T::Int8, |b, c| {
        database_sizes(b, c).boxed()
    }),
];

/// A size a row; 0 for relations that hold nothing, as those of the system; NULL for what is no relation.
async fn sizes(batch: &Batch<'_>, catalog: &CatalogContext, part: Part) -> Result<ArrayRef> {
    let ctx = catalog.statement();
    let mut sizes = Vec::with_capacity(batch.rows);
    for row in 0..batch.rows {
        sizes.push(match value_at(&batch.arrays[0], row, &batch.arguments[0])? {
            Value::Int(oid) => size_of(ctx, catalog, oid, part).await?,
            _ => None,
        });
    }
    Ok(Arc::new(Int64Array::from(sizes)))
}

async fn size_of(
    ctx: &StatementContext,
    catalog: &CatalogContext,
    oid: i64,
    part: Part,
) -> Result<Option<i64>> {
    for table in ctx.catalog.tables() {
        if i64::from(table.oid) == oid {
            return bytes_of(ctx, table, part).await.map(Some);
        }
        if let Some(index) = table.all_indexes().find(|index| i64::from(index.oid) == oid) {
            // The primary key is the rows themselves.
            let counts = index.id != 0 && part != Part::Indexes;
            let bytes = match counts {
                true => key_bytes(&ctx.txn, table, index).await?,
                false => 0,
            };
            return Ok(Some(whole(bytes)));
        }
    }
    // What the system has is in no table of its own.
    let is_known = (1..i64::from(FIRST_OID)).contains(&oid) || catalog.objects().find(oid).is_some();
    Ok(is_known.then_some(0))
}

async fn bytes_of(ctx: &StatementContext, table: &Arc<TableDef>, part: Part) -> Result<i64> {
    let counts = |key: &&IndexDef| match part {
        Part::All => true,
        Part::Rows => key.id == 0,
        Part::Indexes => key.id != 0,
    };
    let mut bytes = 0;
    for key in table.all_indexes().filter(counts) {
        bytes += key_bytes(&ctx.txn, table, key).await?;
    }
    Ok(whole(bytes))
}

async fn database_sizes(batch: &Batch<'_>, catalog: &CatalogContext) -> Result<ArrayRef> {
    let ctx = catalog.statement();
    let mut known: BTreeMap<DatabaseId, i64> = BTreeMap::new();
    let mut sizes = Vec::with_capacity(batch.rows);
    for row in 0..batch.rows {
        let database = match value_at(&batch.arrays[0], row, &batch.arguments[0])? {
            Value::Int(oid) => DatabaseId::try_from(oid)
                .ok()
                .filter(|oid| is_database(ctx, *oid)),
            Value::Text(name) | Value::Unknown(name) => Some(ctx.database_id(&name)?),
            _ => None,
        };
        sizes.push(match database {
            Some(database) => Some(match known.get(&database) {
                Some(size) => *size,
                None => {
                    let size = database_size(ctx, database).await?;
                    known.insert(database, size);
                    size
                }
            }),
            None => None,
        });
    }
    Ok(Arc::new(Int64Array::from(sizes)))
}

fn is_database(ctx: &StatementContext, oid: DatabaseId) -> bool {
    let mut made = ctx.catalog.databases.values();
    oid == FIRST_DATABASE || made.any(|database| database.oid == oid)
}

async fn database_size(ctx: &StatementContext, database: DatabaseId) -> Result<i64> {
    let catalog = match database == ctx.txn.database() {
        true => Arc::clone(&ctx.catalog),
        false => {
            let other = DatabaseStore {
                database,
                ..ctx.txn.database_store()
            };
            Catalog::load(&other.begin(0).await?, None).await?
        }
    };
    let mut bytes = 0;
    for table in catalog.tables() {
        bytes += bytes_of(ctx, table, Part::All).await?;
    }
    Ok(bytes)
}

fn whole(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
