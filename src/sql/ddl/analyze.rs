//! ANALYZE: counts the rows of tables whose number the store does not know (an earlier release wrote them), or knows wrongly.
//! There are no other statistics.

use std::sync::Arc;

use sqlparser::ast::Analyze;

use super::table;
use crate::Result;
use crate::catalog::TableDef;
use crate::codec::keyspace::index_range;
use crate::exec::StatementContext;
use crate::store::{Page, ScanRequest};
use crate::table::{correct_count, row_count};

/// Rows read at a time.
const PAGE_ROWS_MAX: usize = 4096;
/// Bytes read at a time.
const PAGE_BYTES_MAX: usize = 1 << 20;

/// Runs ANALYZE, of one table or of all.
pub(super) async fn execute(ctx: &StatementContext, analyze: &Analyze) -> Result<String> {
    let tables: Vec<Arc<TableDef>> = match &analyze.table_name {
        Some(name) => vec![table(ctx, name)?],
        None => ctx.catalog.tables().cloned().collect(),
    };
    for table in tables {
        // What the block itself has written is in no count yet.
        let key_range = index_range(table.id, table.primary_key.id);
        if ctx.txn.own_writes(key_range).is_empty() {
            recount(ctx, &table).await?;
        }
    }
    Ok("ANALYZE".to_string())
}

async fn recount(ctx: &StatementContext, table: &TableDef) -> Result<()> {
    let mut scan = ctx.txn.scan(ScanRequest {
        ranges: vec![index_range(table.id, table.primary_key.id)],
        reverse: false,
        keys_only: true,
        read_ahead: true,
        page_rows_max: PAGE_ROWS_MAX,
        page_bytes_max: PAGE_BYTES_MAX,
    });
    let (mut page, mut rows) = (Page::new(), 0);
    loop {
        scan.next_page(&mut page).await?;
        if page.is_empty() {
            break;
        }
        rows += page.len() as u64;
    }
    match row_count(&ctx.txn, table).await? == Some(rows) {
        true => Ok(()),
        false => correct_count(&ctx.txn, table, rows),
    }
}
