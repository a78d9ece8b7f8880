//! TRUNCATE: gives tables new, empty key ranges and leaves the old ones to be removed in the background.

use std::sync::Arc;

use sqlparser::ast::{CascadeOption, Truncate, TruncateIdentityOption};

use super::{foreign_key, notice, sequence, trash, versions};
use crate::catalog::{Access, CatalogWriter, TableDef, TriggerTiming};
use crate::error::StatementFault;
use crate::sql::dml;
use crate::sql::relation::table;
use crate::system::StatementContext;
use crate::table::{Sequences, begin_count};
use crate::{Error, Result};

/// Runs TRUNCATE.
pub(super) async fn execute(ctx: &StatementContext, truncate: &Truncate) -> Result<String> {
    let mut tables: Vec<Arc<TableDef>> = Vec::with_capacity(truncate.table_names.len());
    for target in &truncate.table_names {
        let table = table(ctx, &target.name, Access::Truncate)?;
        let partitions = match table.partitioning.is_some() {
            true if ctx.hints.names_only(&target.name) => return Err(only_partitioned()),
            true => ctx.leaves_of(&table)?,
            false => Vec::new(),
        };
        for table in std::iter::once(table).chain(partitions) {
            if !tables.iter().any(|known| known.id == table.id) {
                tables.push(table);
            }
        }
    }
    add_referring(ctx, &mut tables, truncate.cascade.as_ref())?;
    if !tables.is_empty() {
        let restart = matches!(truncate.identity, Some(TruncateIdentityOption::Restart));
        for table in &tables {
            dml::fire_for_truncate(ctx, table, TriggerTiming::Before).await?;
        }
        let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
        for table in &tables {
            match trash::kept(ctx).filter(|_| trash::takes(table)) {
                Some(kept) => trash::empty(ctx, &writer, table, (kept, restart)).await?,
                None => empty(&writer, &ctx.sequences, TableDef::clone(table), restart).await?,
            }
            if restart {
                for owned in ctx.catalog.sequences_of(table.oid) {
                    sequence::restart(ctx, &writer, owned).await?;
                }
            }
        }
        let after = ctx.clone().seeing_definitions().await?;
        for table in &tables {
            dml::fire_for_truncate(&after, table, TriggerTiming::After).await?;
        }
    }
    Ok("TRUNCATE TABLE".to_string())
}

fn only_partitioned() -> Error {
    Error::InvalidStatement {
        state: StatementFault::WrongObjectType,
        message: "cannot truncate only a partitioned table".to_string(),
        hint: Some(
            "Do not specify the ONLY keyword, or use TRUNCATE ONLY on the partitions directly.".to_string(),
        ),
    }
}

/// Gives a table new, empty key ranges. `restart`: hidden row ids begin anew.
pub(super) async fn empty(
    writer: &CatalogWriter<'_>,
    sequences: &Sequences,
    table: TableDef,
    restart: bool,
) -> Result<()> {
    let id = sequences.object_ids().take().await?;
    let mut empty = TableDef { id, ..table.clone() };
    versions::begin_anew(&mut empty, writer.txn().write_time());
    let emptied = writer.replace_table(&table, empty)?;
    let moving = sequences.move_row_ids(writer.txn(), &table, &emptied, restart);
    moving.await?;
    begin_count(writer.txn(), &emptied)
}

/// Adds the tables that refer to those that are emptied, with CASCADE. Errors: 0A000 without it.
fn add_referring(
    ctx: &StatementContext,
    tables: &mut Vec<Arc<TableDef>>,
    cascade: Option<&CascadeOption>,
) -> Result<()> {
    loop {
        let oids: Vec<u32> = tables.iter().map(|table| table.oid).collect();
        let Some((by, key)) = foreign_key::referring_to(&ctx.catalog, &oids).into_iter().next() else {
            return Ok(());
        };
        if !matches!(cascade, Some(CascadeOption::Cascade)) {
            let named = tables.iter().find(|table| table.oid == key.table);
            let table = named.or(tables.first());
            return Err(Error::TruncateReferenced {
                table: table.map(|table| table.name.clone()).unwrap_or_default(),
                by: by.name.clone(),
            });
        }
        notice(
            ctx,
            "00000",
            format!("truncate cascades to table \"{}\"", by.name),
            None,
        );
        tables.push(Arc::clone(by));
    }
}
