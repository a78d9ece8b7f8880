//! `ScanFallback`: the table read in one piece in place of a range of an index that proves to be much of it. A condition that bounds an
//! index says where its rows are and not how many: each entry costs a get where the index does not hold all that is asked for, and
//! for more than a few rows of a hundred the table itself is shorter. So the entries are counted before the scan begins, as far as it takes to
//! know. The class of the statement, and whether it may run, stay those of the path that was planned; only the order of the rows is
//! another (`any_order`).

use std::sync::Arc;

use tokio::sync::OnceCell;

use super::build_keys::description;
use crate::Result;
use crate::parse::IndexHint;
use crate::plan::{AccessClass, AccessPath, FullScanPolicy, PlanRules, Predicate, Wanted};
use crate::scan::costs::ROWS_A_GET;
use crate::scan::range_cardinality::rows_led_to;
use crate::scan::table_access::plan_predicates;
use crate::system::StatementContext;
use crate::table::committed_row_counts;

/// So many entries have their rows fetched one by one however small the table is.
const ENTRIES_MIN: u64 = 256;

/// What a run of a scan reads in place of what was planned, if it does: all parts of the scan come to the same.
#[derive(Debug, Clone, Default)]
pub struct ScanFallback(Arc<OnceCell<Option<Arc<AccessPath>>>>);

impl ScanFallback {
    /// Whether a path that gives the columns at `positions` fetches its rows by entries of ranges of an index.
    pub(super) fn may_replace(path: &AccessPath, positions: &[usize]) -> bool {
        matches!(path.class, AccessClass::RangeScan { whole: false, .. })
            && path.merge.is_none()
            && !path.covers(positions)
    }

    /// What was read in place of what was planned: `Full Scan using line_pkey`. `None`: that was read.
    pub fn taken(&self) -> Option<String> {
        self.0.get()?.as_deref().map(description)
    }

    /// The table's own rows, if the ranges of `path`, which was planned for these conditions and columns, lead to much of it. Errors:
    /// those of reading.
    pub(super) async fn path(
        &self,
        ctx: &StatementContext,
        path: &AccessPath,
        wanted: (Vec<Predicate>, &[usize]),
    ) -> Result<Option<Arc<AccessPath>>> {
        let found = self.0.get_or_try_init(|| async {
            match is_much(ctx, path).await? {
                true => walk(ctx, path, wanted).map(|walk| Some(Arc::new(walk))),
                false => Ok(None),
            }
        });
        found.await.cloned()
    }
}

/// Whether a path leads to so many rows of its table that all of them are shorter.
async fn is_much(ctx: &StatementContext, path: &AccessPath) -> Result<bool> {
    if ctx.settings.full_scan == FullScanPolicy::Forbid {
        return Ok(false);
    }
    let counts = committed_row_counts(&ctx.txn, &[&path.table]).await?;
    let entries_max = counts.first().copied().flatten().unwrap_or(0) / ROWS_A_GET;
    if entries_max < ENTRIES_MIN {
        return Ok(false);
    }
    let ranges = path.ranges().unwrap_or_default();
    Ok(rows_led_to(&ctx.txn, path, ranges, entries_max).await?.is_none())
}

/// All rows of the table for which the conditions hold.
fn walk(
    ctx: &StatementContext,
    path: &AccessPath,
    (conditions, positions): (Vec<Predicate>, &[usize]),
) -> Result<AccessPath> {
    let rules = PlanRules {
        full_scan: FullScanPolicy::Allow,
        index_hint: Some(IndexHint::Ignore),
        ..ctx.plan_rules(&path.table)
    };
    let wanted = Wanted {
        columns: Some(positions),
        first_in_order: &[],
    };
    plan_predicates(&path.table, conditions, wanted, &rules)
}
