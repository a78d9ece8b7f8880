//! ANALYZE: counts the rows of tables whose number the store does not know (an earlier release wrote them), or knows wrongly.
//! There are no other statistics.

use std::sync::Arc;

use crate::Result;
use crate::catalog::TableDef;
use crate::codec::keyspace::index_range;
use crate::store::{Page, ScanRequest};
use crate::system::StatementContext;
use crate::table::{correct_count, stored_row_count};

/// Rows read at a time.
const PAGE_ROWS_MAX: usize = 4096;
/// Bytes read at a time.
const PAGE_BYTES_MAX: usize = 1 << 20;

/// Counts the rows of these tables anew.
pub(super) async fn recount_all(ctx: &StatementContext, tables: &[Arc<TableDef>]) -> Result<()> {
    for table in tables {
        // What the block itself has written is in no count yet.
        let key_range = index_range(table.id, table.primary_key.id);
        if ctx.txn.own_writes(key_range).is_empty() {
            recount(ctx, table).await?;
        }
    }
    Ok(())
}

async fn recount(ctx: &StatementContext, table: &TableDef) -> Result<()> {
    // The store counts what it holds.
    let stored = ctx.txn.with_rows_that_are_over();
    let mut scan = stored.scan(ScanRequest {
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
    match stored_row_count(&ctx.txn, table).await? == Some(rows) {
        true => Ok(()),
        false => correct_count(&ctx.txn, table, rows).await,
    }
}
