//! TRUNCATE: gives tables new, empty key ranges and leaves the old ones to be removed in the background.

use std::sync::Arc;

use sqlparser::ast::{Truncate, TruncateIdentityOption};

use super::sequence;
use crate::Result;
use crate::catalog::{Access, CatalogWriter, TableDef};
use crate::sql::relation::table;
use crate::system::StatementContext;
use crate::table::begin_count;

/// Runs TRUNCATE.
pub(super) async fn execute(ctx: &StatementContext, truncate: &Truncate) -> Result<String> {
    let mut tables: Vec<Arc<TableDef>> = Vec::with_capacity(truncate.table_names.len());
    for target in &truncate.table_names {
        let table = table(ctx, &target.name, Access::Truncate)?;
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
            let moving = ctx.sequences.move_row_ids(&ctx.txn, &table, &emptied, restart);
            moving.await?;
            if restart {
                for owned in ctx.catalog.sequences_of(table.oid) {
                    sequence::restart(ctx, &writer, owned).await?;
                }
            }
            begin_count(&ctx.txn, &emptied)?;
        }
    }
    Ok("TRUNCATE TABLE".to_string())
}
