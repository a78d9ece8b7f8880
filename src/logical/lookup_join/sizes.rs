//! How many rows there are to look up, and of how many: what decides whether a lookup pays. A condition that bounds a key says where
//! to look and not how much stands there; for half of a table its rows are better read in one piece and joined in memory.
//! So what stands there is counted before the join is planned, entries alone, and only as far as it takes to know: it costs at most
//! a small part of what reading the other side would. What other conditions leave of it is not asked: where that is little, the
//! join in memory is narrowed by it (`build_keys`). Whether a query *may* run never depends on it.

use std::collections::HashMap;
use std::sync::Arc;

use super::cardinality_bound::bound_of;
use crate::Result;
use crate::catalog::TableDef;
use crate::logical::stored_table::{judge_scan, read_table};
use crate::plan::Bound;
use crate::scan::costs::ROWS_A_LOOKUP;
use crate::scan::range_cardinality::rows_led_to;
use crate::system::StatementContext;
use crate::table::committed_row_counts;
use crate::tree::{Plan, TableScan, TableSource, TreeNodeRecursion};

/// Of smaller tables nothing is counted: either way is short.
const TABLE_ROWS_MIN: u64 = 10_000;

/// What is known of the relations of a plan.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    /// Rows of stored tables, by id.
    tables: HashMap<u32, u64>,
    /// Rows that conditions on keys lead scans to, by their source, as far as they were counted.
    scans: HashMap<usize, u64>,
}

impl Sizes {
    /// Counts what a plan with joins leaves open. Errors: those of reading.
    pub(crate) async fn of(ctx: &StatementContext, plan: &Plan) -> Result<Sizes> {
        let scans = joined_scans(plan)?;
        if scans.len() < 2 {
            return Ok(Sizes::default());
        }
        let tables: Vec<Arc<TableDef>> = scans.iter().map(|(_, table)| Arc::clone(table)).collect();
        let counts = committed_row_counts(&ctx.txn, &tables.iter().collect::<Vec<_>>()).await;
        let counts = counts?;
        let mut sizes = Sizes::default();
        for (table, rows) in tables.iter().zip(&counts) {
            sizes.tables.extend(rows.map(|rows| (table.id, rows)));
        }
        for (at, (scan, table)) in scans.iter().enumerate() {
            let others = counts.iter().enumerate().filter(|(other, _)| *other != at);
            let most = others.filter_map(|(_, rows)| *rows).max();
            let (Some(most), Some(rows)) = (most, sizes.tables.get(&table.id)) else {
                continue;
            };
            let is_bounded = matches!(
                bound_of(&Plan::TableScan(scan.clone()), 0),
                Some(Bound::Prefix | Bound::Ranges)
            );
            if is_bounded && *rows >= TABLE_ROWS_MIN && rows.saturating_mul(ROWS_A_LOOKUP) > most {
                let counted = led_to(ctx, scan, most / ROWS_A_LOOKUP).await?;
                sizes
                    .scans
                    .extend(counted.map(|counted| (address(&scan.source), counted)));
            }
        }
        Ok(sizes)
    }

    /// Whether it pays to look the inner relation's rows up for those of the outer one.
    pub(super) fn pays(&self, outer: &Plan, inner: &Plan) -> bool {
        let counted = outer
            .only_scan()
            .and_then(|scan| self.scans.get(&address(&scan.source)));
        let table = inner.only_scan().and_then(read_table);
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
fn joined_scans(plan: &Plan) -> Result<Vec<(TableScan, Arc<TableDef>)>> {
    let (mut scans, mut joins) = (Vec::new(), 0);
    plan.apply_with_subqueries(|node| {
        match node {
            Plan::Join(_) => joins += 1,
            Plan::TableScan(scan) => {
                scans.extend(read_table(scan).map(|scanned| (scan.clone(), Arc::clone(&scanned.table))));
            }
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(if joins > 0 { scans } else { Vec::new() })
}

/// How many rows the conditions on a key lead a scan to, `rows_max` and one at most. `None`: it walks no ranges, or is refused.
async fn led_to(ctx: &StatementContext, scan: &TableScan, rows_max: u64) -> Result<Option<u64>> {
    let Ok(Some(path)) = judge_scan(ctx, scan) else {
        return Ok(None);
    };
    let Some(ranges) = path.ranges() else {
        return Ok(None);
    };
    let rows = rows_led_to(ctx, &path, ranges, rows_max).await;
    Ok(Some(rows?.unwrap_or(rows_max + 1)))
}
