//! TRUNCATE: gives tables new, empty key ranges and leaves the old ones to be removed in the background.

use std::sync::Arc;

use sqlparser::ast::{Truncate, TruncateIdentityOption};

use super::{notice, table};
use crate::catalog::{CatalogWriter, TableDef};
use crate::parse::names;
use crate::system::StatementContext;
use crate::table::begin_count;
use crate::{Error, Result};

/// Runs TRUNCATE.
pub(super) async fn execute(ctx: &StatementContext, truncate: &Truncate) -> Result<String> {
    if truncate.partitions.is_some() || truncate.on_cluster.is_some() {
        return Err(Error::unsupported("TRUNCATE of partitions or on a cluster", None));
    }
    let mut tables: Vec<Arc<TableDef>> = Vec::with_capacity(truncate.table_names.len());
    for target in &truncate.table_names {
        let (schema, name) = names::relation_name(&target.name)?;
        let found = ctx
            .catalog
            .get_relation(schema.as_deref(), &name, &ctx.settings.search_path);
        if found.is_none() && truncate.if_exists {
            notice(
                ctx,
                "00000",
                format!("relation \"{name}\" does not exist, skipping"),
                None,
            );
            continue;
        }
        let table = table(ctx, &target.name)?;
        if !tables.iter().any(|known| known.id == table.id) {
            tables.push(table);
        }
    }
    if !tables.is_empty() {
        let restart = matches!(truncate.identity, Some(TruncateIdentityOption::Restart));
        let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
        for table in tables {
            let id = ctx.sequences.object_ids().take().await?;
            let empty = TableDef {
                id,
                ..TableDef::clone(&table)
            };
            let emptied = writer.replace_table(&table, empty)?;
            ctx.sequences.move_to(&ctx.txn, &table, &emptied, restart).await?;
            begin_count(&ctx.txn, &emptied)?;
        }
    }
    Ok("TRUNCATE TABLE".to_string())
}
