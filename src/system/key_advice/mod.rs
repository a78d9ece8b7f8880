//! `key_advice`: what is wrong with the keys of tables, as far as what is read and written, and a bounded sample of rows, tell; with what
//! to do, as a statement where there is one. What `keyspan.key_advice` shows. Nothing is changed, and no table is read whole.

mod finding;
mod sample;
mod traffic;
mod values;

use std::sync::Arc;

use super::StatementContext;
use crate::Result;
use crate::catalog::TableDef;
use crate::table::committed_row_counts;

pub use finding::Finding;
use sample::KeySample;

/// Tables whose rows are looked at: the largest.
const TABLES_MAX: usize = 100;
/// Of tables of fewer rows nothing is said that depends on these.
const ROWS_MIN: u64 = 1000;

/// All findings, by table. Errors: the store's.
pub async fn key_advice(ctx: &StatementContext) -> Result<Vec<Finding>> {
    let tables = ctx.catalog.tables();
    let tables: Vec<&Arc<TableDef>> = tables
        .filter(|table| !table.is_temporary() && !table.is_materialized_view())
        .collect();
    let counts = committed_row_counts(&ctx.txn, &tables).await?;
    let mut counted: Vec<(&Arc<TableDef>, u64)> = tables
        .into_iter()
        .zip(counts.into_iter().map(Option::unwrap_or_default))
        .collect();
    let mut findings = Vec::new();
    for (table, _) in &counted {
        traffic::judge(ctx, table, &mut findings).await?;
    }
    counted.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
    for (table, rows) in counted.into_iter().take(TABLES_MAX) {
        if rows >= ROWS_MIN && !table.has_hidden_key() {
            let sample = KeySample::of(&ctx.txn.uncounted(), table, rows).await?;
            values::judge(ctx, table, &sample, &mut findings).await?;
        }
    }
    findings.sort_by(|a, b| (&a.table.schema, &a.table.name).cmp(&(&b.table.schema, &b.table.name)));
    Ok(findings)
}
