//! The scans of a plan. Called by `builder`, before it makes what is above them.

use std::collections::VecDeque;
use std::sync::Arc;

use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_common::{DataFusionError, Result as DataFusionResult};
use datafusion_expr::expr_rewriter::unnormalize_cols;
use datafusion_expr::{LogicalPlan, TableScan, TableSource};
use datafusion_physical_plan::work_table::WorkTableExec;

use super::Operator;
use crate::logical::rows_source::RowsSource;
use crate::logical::stored_table::KeyspanTable;
use crate::logical::work_table::WorkTable;
use crate::operators::catalog_table::CatalogTable;
use crate::operators::planning::Planning;
use crate::operators::rows_exec::RowsExec;
use crate::operators::table_scan::scan_table;

/// What scans the relations that a plan reads, in the order of its leaves; not those of its subqueries. Errors: those of planning the
/// access, and of reading what is known of a table.
pub(super) async fn build_scans(
    plan: &LogicalPlan,
    planning: &Planning,
) -> DataFusionResult<VecDeque<Operator>> {
    let mut scans = Vec::new();
    plan.apply(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            scans.push(scan);
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    let mut leaves = VecDeque::with_capacity(scans.len());
    for scan in scans {
        leaves.push_back(build_scan(scan, planning).await?);
    }
    Ok(leaves)
}

async fn build_scan(scan: &TableScan, planning: &Planning) -> DataFusionResult<Operator> {
    let projection = scan.projection.as_ref();
    // A relation does not know what the statement calls it.
    let filters: Vec<_> = unnormalize_cols(scan.filters.iter().cloned());
    if let Some(table) = scan.source.downcast_ref::<KeyspanTable>() {
        return scan_table(table, planning, projection, &filters, scan.fetch).await;
    }
    if let Some(relation) = scan.source.downcast_ref::<CatalogTable>() {
        relation.scan(planning, projection, &filters).await
    } else if let Some(rows) = scan.source.downcast_ref::<RowsSource>() {
        let projection = projection.map(Vec::as_slice);
        let (schema, rows) = (rows.schema(), rows.rows().clone());
        let ctx = planning.statement();
        Ok(Arc::new(RowsExec::of(&schema, rows, projection, ctx)?))
    } else if let Some(table) = scan.source.downcast_ref::<WorkTable>() {
        let name = table.name().to_string();
        Ok(Arc::new(WorkTableExec::new(
            name,
            table.schema(),
            projection.cloned(),
        )?))
    } else {
        let message = format!("a relation of an unknown kind: {}", scan.table_name);
        Err(DataFusionError::Internal(message))
    }
}
