//! Counts rows of scans before a plan with joins is made, as far as it takes to know whether a lookup pays. Called by `planner`.

use std::sync::Arc;

use datafusion_common::Result as DataFusionResult;
use datafusion_expr::expr_rewriter::unnormalize_cols;
use datafusion_expr::{LogicalPlan, TableScan};
use datafusion_physical_plan::execute_stream;
use futures::TryStreamExt;

use super::planning::Planning;
use super::table_scan::scan_table;
use crate::catalog::TableDef;
use crate::logical::lookup_join::{Sizes, joined_scans};
use crate::logical::stored_table::KeyspanTable;
use crate::system::datafusion_error::to_datafusion;
use crate::table::committed_row_counts;

/// What is known of the relations of a plan, if it joins any. Errors: those of reading.
pub(super) async fn count_scans(planning: &Planning, plan: &LogicalPlan) -> DataFusionResult<Sizes> {
    let scans = joined_scans(plan)?;
    if scans.len() < 2 {
        return Ok(Sizes::default());
    }
    let tables: Vec<&Arc<TableDef>> = scans.iter().map(|(_, table)| table).collect();
    let counts = committed_row_counts(&planning.statement().txn, &tables).await;
    let (mut sizes, to_count) = Sizes::known(&scans, &counts.map_err(to_datafusion)?);
    for (scan, enough) in to_count {
        sizes.note(&scan, count(&scan, enough, planning).await?);
    }
    Ok(sizes)
}

/// How many rows a scan gives, `enough` at most.
async fn count(scan: &TableScan, enough: u64, planning: &Planning) -> DataFusionResult<u64> {
    let Some(table) = scan.source.downcast_ref::<KeyspanTable>() else {
        return Ok(0);
    };
    let filters: Vec<_> = unnormalize_cols(scan.filters.iter().cloned());
    let rows_max = usize::try_from(enough).unwrap_or(usize::MAX);
    let first = scan_table(table, planning, Some(&Vec::new()), &filters, Some(rows_max)).await?;
    let mut batches = execute_stream(first, planning.task_context())?;
    let mut rows = 0;
    while let Some(batch) = batches.try_next().await? {
        rows += batch.num_rows() as u64;
    }
    Ok(rows)
}
