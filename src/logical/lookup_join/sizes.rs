//! How many rows there are to look up, and of how many: what decides whether a lookup pays. A condition that bounds a key says where
//! to look and not how much stands there; for half of a table its rows are better read in one piece and joined in memory.
//! So what stands there is counted before the join is planned, entries alone, and only as far as it takes to know: it costs at most
//! a small part of what reading the other side would. What other conditions leave of it is not asked: where that is little, the
//! join in memory is narrowed by it (`build_keys`). Whether a query *may* run never depends on it.

use std::collections::HashMap;
use std::sync::Arc;

use super::cardinality_bound::{CountedRows, bound_of};
use crate::Result;
use crate::catalog::TableDef;
use crate::logical::stored_table::{judge_scan, read_table, scanned_condition};
use crate::plan::Bound;
use crate::scan::costs::{ROWS_A_GET, ROWS_A_LOOKUP};
use crate::scan::range_cardinality::rows_led_to;
use crate::scan::selectivity::rows_kept;
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
    scans: HashMap<usize, Counted>,
    /// What scans that may be made are likely to read and give, by their source.
    judged: HashMap<usize, ScanSize>,
    /// Keys of a hash join at most that narrow what is read.
    keys_max: usize,
}

/// Rows that were counted.
#[derive(Debug, Clone, Copy)]
struct Counted {
    rows: u64,
    /// Whether there are no more.
    is_all: bool,
}

/// Numbers of rows of a scan.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScanSize {
    pub(super) table_rows: u64,
    /// Those that it reads.
    pub(super) read: u64,
    /// Those of them that it gives.
    pub(super) given: u64,
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
        let mut sizes = Sizes {
            keys_max: ctx.settings.join_keys_max,
            ..Sizes::default()
        };
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
                bound_of(&Plan::TableScan(scan.clone()), CountedRows::NONE),
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

    /// Learns what the scans of a plan are likely to read and give, if one of their tables has so many rows that an order of joins is worth
    /// to be sought. Errors: those of reading.
    pub(super) async fn judge_scans(&mut self, ctx: &StatementContext, plan: &Plan) -> Result<()> {
        let scans = joined_scans(plan)?;
        let rows = scans.iter().filter_map(|(_, table)| self.tables.get(&table.id));
        if rows
            .max()
            .is_some_and(|rows| *rows >= ctx.settings.join_order_rows)
        {
            for (scan, table) in &scans {
                self.judge(ctx, scan, table).await?;
            }
        }
        Ok(())
    }

    /// Whether so much is known that an order of joins may be chosen by it.
    pub(super) fn are_judged(&self) -> bool {
        !self.judged.is_empty()
    }

    /// Keys of a hash join at most that narrow what is read.
    pub(super) fn keys_max(&self) -> usize {
        self.keys_max
    }

    /// Learns whether a scan may be made, and what it is likely to read and give.
    async fn judge(&mut self, ctx: &StatementContext, scan: &TableScan, table: &Arc<TableDef>) -> Result<()> {
        let Some(table_rows) = self.tables.get(&table.id).copied() else {
            return Ok(());
        };
        let Ok(Some(path)) = judge_scan(ctx, scan) else {
            return Ok(());
        };
        let place = address(&scan.source);
        let given = match scanned_condition(scan) {
            Some(condition) => rows_kept(ctx, table, &condition, table_rows).await?,
            None => table_rows,
        };
        let counted = self.scans.get(&place).filter(|counted| counted.is_all);
        let read = match counted {
            _ if path.is_whole() => table_rows,
            Some(counted) => counted.rows,
            None if path.index == 0 => given,
            // A range that is too much of its table is left for the table.
            None => given.saturating_mul(ROWS_A_GET).min(table_rows),
        };
        self.judged.insert(
            place,
            ScanSize {
                table_rows,
                read,
                given: given.min(read),
            },
        );
        Ok(())
    }

    /// What a scan of a stored table is likely to read and give. `None`: nobody knows, or it is not to be read.
    pub(super) fn of_scan(&self, scan: &TableScan) -> Option<ScanSize> {
        self.judged.get(&address(&scan.source)).copied()
    }

    /// Whether it pays to look the inner relation's rows up for those of the outer one.
    pub(super) fn pays(&self, outer: &Plan, inner: &Plan) -> bool {
        let counted = outer
            .only_scan()
            .and_then(|scan| self.scans.get(&address(&scan.source)));
        let table = inner.only_scan().and_then(read_table);
        let rows = table.and_then(|scanned| self.tables.get(&scanned.table.id));
        match (counted, rows) {
            (Some(counted), Some(rows)) => counted.rows.saturating_mul(ROWS_A_LOOKUP) <= *rows,
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
async fn led_to(ctx: &StatementContext, scan: &TableScan, rows_max: u64) -> Result<Option<Counted>> {
    let Ok(Some(path)) = judge_scan(ctx, scan) else {
        return Ok(None);
    };
    let Some(ranges) = path.ranges() else {
        return Ok(None);
    };
    let rows = rows_led_to(&ctx.txn, &path, ranges, rows_max).await;
    Ok(Some(match rows? {
        Some(rows) => Counted { rows, is_all: true },
        None => Counted {
            rows: rows_max + 1,
            is_all: false,
        },
    }))
}
