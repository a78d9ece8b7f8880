//! How many rows there are to look up, and of how many: what decides whether a lookup pays. A condition that bounds a key says where
//! to look and not how much stands there; for half of a table its rows are better read in one piece and joined in memory.
//! So the rows of such a side are counted before the join is planned, only as far as it takes to know: it costs at most one part in
//! sixteen of what reading the other side would. Whether a query *may* run never depends on it.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion_common::Result as DataFusionResult;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_expr::{LogicalPlan, TableScan, TableSource};

use super::bounded::bound_of;
use crate::catalog::TableDef;
use crate::logical::stored_table::read_table;
use crate::plan::Bound;

/// A lookup is worth so many rows read in one piece.
const ROWS_A_LOOKUP: u64 = 16;
/// Of smaller tables nothing is counted: either way is short.
const TABLE_ROWS_MIN: u64 = 10_000;

/// What is known of the relations of a plan.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    /// Rows of stored tables, by id.
    tables: HashMap<u32, u64>,
    /// Rows that scans give, by their source, as far as they were counted.
    scans: HashMap<usize, u64>,
}

impl Sizes {
    /// What is known of a plan with joins, and the scans whose rows are to be counted before it is, up to so many. `counts`: the rows of
    /// tables, as `committed_row_counts` has them.
    pub(crate) fn known(
        scans: &[(TableScan, Arc<TableDef>)],
        counts: &[Option<u64>],
    ) -> (Sizes, Vec<(TableScan, u64)>) {
        let (mut sizes, mut to_count) = (Sizes::default(), Vec::new());
        for ((_, table), rows) in scans.iter().zip(counts) {
            sizes.tables.extend(rows.map(|rows| (table.id, rows)));
        }
        for (at, (scan, table)) in scans.iter().enumerate() {
            let others = counts.iter().enumerate().filter(|(other, _)| *other != at);
            let most = others.filter_map(|(_, rows)| *rows).max();
            let (Some(most), Some(rows)) = (most, sizes.tables.get(&table.id)) else {
                continue;
            };
            let is_bounded = matches!(
                bound_of(&LogicalPlan::TableScan(scan.clone()), 0),
                Some(Bound::Prefix | Bound::Ranges)
            );
            if is_bounded && *rows >= TABLE_ROWS_MIN && rows.saturating_mul(ROWS_A_LOOKUP) > most {
                to_count.push((scan.clone(), most / ROWS_A_LOOKUP + 1));
            }
        }
        (sizes, to_count)
    }

    /// A scan was counted.
    pub(crate) fn note(&mut self, scan: &TableScan, rows: u64) {
        self.scans.insert(address(&scan.source), rows);
    }

    /// Whether it pays to look the inner relation's rows up for those of the outer one.
    pub(super) fn pays(&self, outer: &LogicalPlan, inner: &LogicalPlan) -> bool {
        let counted = only_scan(outer).and_then(|scan| self.scans.get(&address(&scan.source)));
        let table = only_scan(inner).and_then(read_table);
        let rows = table.and_then(|scanned| self.tables.get(&scanned.table.id));
        match (counted, rows) {
            (Some(counted), Some(rows)) => counted.saturating_mul(ROWS_A_LOOKUP) <= *rows,
            _ => true,
        }
    }
}

fn address(source: &Arc<dyn TableSource>) -> usize {
    Arc::as_ptr(source).cast::<()>() as usize
}

/// The scans of stored tables in a plan that has a join; none in any other.
pub(crate) fn joined_scans(plan: &LogicalPlan) -> DataFusionResult<Vec<(TableScan, Arc<TableDef>)>> {
    let (mut scans, mut joins) = (Vec::new(), 0);
    plan.apply_with_subqueries(|node| {
        match node {
            LogicalPlan::Join(_) => joins += 1,
            LogicalPlan::TableScan(scan) => {
                scans.extend(read_table(scan).map(|scanned| (scan.clone(), Arc::clone(&scanned.table))));
            }
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(if joins > 0 { scans } else { Vec::new() })
}

/// The scan that a relation is, but for what leaves rows or columns out.
fn only_scan(plan: &LogicalPlan) -> Option<&TableScan> {
    match plan {
        LogicalPlan::TableScan(scan) => Some(scan),
        LogicalPlan::Projection(projection) => only_scan(&projection.input),
        LogicalPlan::Filter(filter) => only_scan(&filter.input),
        LogicalPlan::SubqueryAlias(alias) => only_scan(&alias.input),
        _ => None,
    }
}
