//! `FirstRows`: the rows that are wanted first of an order, for which another key may be read than for all. Made by `builder`, asked by
//! `scan_exec`.

use crate::logical::rewrite::FIRST_ROWS_MAX;
use crate::scan::costs::ROWS_A_GET;
use crate::system::StatementContext;

/// Fewer rows of a table are not worth two plans.
const BUDGET_ROWS_MIN: u64 = 64;

/// See the module's description.
pub(super) struct FirstRows<'a> {
    /// The statement.
    pub(super) ctx: &'a StatementContext,
    /// So many at most.
    pub(super) rows: usize,
    /// Whether it is one for an aggregate.
    pub(super) is_end: bool,
    /// Whether none is wanted that has NULL in the first column of the order.
    pub(super) drops_null: bool,
    /// Where there is another way to them, so that a read may be left that gives too few: what becomes of a row beside its being read.
    pub(super) costs: Option<RowCosts>,
}

/// What becomes of a row beside its being read, in rows that are read one after the other.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowCosts {
    /// Where rows are read in the order.
    pub(super) ordered: u64,
    /// Where all of them are read.
    pub(super) whole: u64,
}

impl FirstRows<'_> {
    /// Whether to fetch each by an entry of an index costs less than to read a table of so many rows. `None`: nobody has counted them.
    pub(super) fn pay(&self, table_rows: Option<u64>) -> bool {
        let read = (self.rows as u64).saturating_mul(ROWS_A_GET);
        self.rows <= FIRST_ROWS_MAX || table_rows.is_some_and(|rows| read <= rows)
    }

    /// How many rows of a table of so many may be read in the order, so that doing so in vain costs half of the other way at most.
    /// `is_walk`: whether they are read one after the other. `None`: too few.
    pub(super) fn budget(&self, table_rows: Option<u64>, is_walk: bool) -> Option<u64> {
        let costs = self.costs?;
        let row = costs.ordered + if is_walk { 1 } else { ROWS_A_GET };
        let rows = table_rows?.saturating_mul(1 + costs.whole) / (2 * row);
        (rows >= BUDGET_ROWS_MIN.max(self.rows as u64)).then_some(rows)
    }
}
