//! UPDATE of a system catalog (`parse::catalog_update`): what a tool changes there is changed in the definition that the row tells of.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::TryStreamExt;

use super::database;
use crate::catalog::{CatalogWriter, TableDef};
use crate::functions::value_array::{scalar_at, value_of_scalar};
use crate::parse::catalog_update::CatalogUpdate;
use crate::query::{self, QueryPlan};
use crate::system::StatementContext;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// A row that is changed: its oid, and what its columns become (`None`: NULL).
type Changed = (u32, Vec<Option<String>>);

/// Runs it; how many rows it has changed. Errors: those of its query; 0A000 for what cannot be changed so; 22P02, 23502.
pub(in crate::sql) async fn execute(ctx: &StatementContext, update: &CatalogUpdate) -> Result<usize> {
    let rows = changed_rows(ctx, update).await?;
    match update.relation {
        "pg_constraint" => unvalidate(ctx, &rows)?,
        _ => {
            for (oid, values) in &rows {
                database::update_row(ctx, *oid, &update.columns, values)?;
            }
        }
    }
    Ok(rows.len())
}

async fn changed_rows(ctx: &StatementContext, update: &CatalogUpdate) -> Result<Vec<Changed>> {
    let plan = Arc::new(QueryPlan::new(query::plan_query(ctx, &update.query, &[])?));
    let mut stream = plan.run(ctx).await?;
    let mut rows: BTreeMap<u32, Vec<Option<String>>> = BTreeMap::new();
    while let Some(part) = stream.try_next().await? {
        let batch = part.into_batch()?;
        let (oids, values) = batch
            .columns()
            .split_first()
            .ok_or_else(|| Error::internal("no oids"))?;
        for row in 0..batch.num_rows() {
            let Value::Int(oid) = value_of_scalar(&scalar_at(oids, row)?, &SqlType::Oid)? else {
                continue;
            };
            let values = values.iter().map(|column| {
                match value_of_scalar(&scalar_at(column, row)?, &SqlType::Text)? {
                    Value::Text(text) => Ok(Some(text)),
                    _ => Ok(None),
                }
            });
            // Of several that FROM makes of one row, one counts.
            rows.insert(u32::try_from(oid).unwrap_or(0), values.collect::<Result<_>>()?);
        }
    }
    Ok(rows.into_iter().collect())
}

/// `SET convalidated = false`, after which VALIDATE CONSTRAINT looks at every row again: so Rails checks the rows that fixtures wrote.
fn unvalidate(ctx: &StatementContext, rows: &[Changed]) -> Result<()> {
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    for table in ctx.catalog.tables() {
        let mut changed = TableDef::clone(table);
        for (oid, values) in rows {
            let is_valid = values.first().and_then(Option::as_deref) == Some("true");
            let keys = changed.foreign_keys.iter_mut().filter(|key| key.oid == *oid);
            let checks = changed.checks.iter_mut().filter(|check| check.oid == *oid);
            for not_valid in keys
                .map(|key| &mut key.not_valid)
                .chain(checks.map(|check| &mut check.not_valid))
            {
                if is_valid && *not_valid {
                    return Err(Error::unsupported(
                        "declaring a constraint valid without looking at its rows",
                        Some("ALTER TABLE … VALIDATE CONSTRAINT looks at them."),
                    ));
                }
                *not_valid = !is_valid;
            }
        }
        if changed != **table {
            writer.put_table(changed)?;
        }
    }
    Ok(())
}
