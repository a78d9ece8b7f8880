//! The scans of a plan. Called by `builder`, before it makes what is above them.

use std::collections::VecDeque;
use std::sync::Arc;

use datafusion_common::{DataFusionError, Result as DataFusionResult};
use datafusion_physical_plan::work_table::WorkTableExec;

use super::Operator;
use crate::Result;
use crate::logical::rows_source::RowsSource;
use crate::logical::stored_table::KeyspanTable;
use crate::logical::work_table::WorkTable;
use crate::operators::catalog_table::CatalogTable;
use crate::operators::planning::Planning;
use crate::operators::rows_exec::RowsExec;
use crate::operators::table_scan::scan_table;
use crate::tree::{
    Column, Expr, Plan, TableScan, TableSource, Transformed, TransformedResult, TreeNode, TreeNodeRecursion,
};

/// What scans the relations that a plan reads, in the order of its leaves; not those of its subqueries. Errors: those of planning the
/// access, and of reading what is known of a table.
pub(super) async fn build_scans(plan: &Plan, planning: &Planning) -> DataFusionResult<VecDeque<Operator>> {
    let mut scans = Vec::new();
    plan.apply(|node| {
        if let Plan::TableScan(scan) = node {
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
    let filters = scan.filters.iter().cloned().map(of_no_relation);
    let filters = filters.collect::<Result<Vec<Expr>>>()?;
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

/// A condition whose columns go by their own names.
fn of_no_relation(condition: Expr) -> Result<Expr> {
    let changed = condition.transform_up(|expr| {
        Ok(match expr {
            Expr::Column(column) => Transformed::yes(Expr::Column(Column::new_unqualified(column.name))),
            other => Transformed::no(other),
        })
    });
    changed.data()
}
