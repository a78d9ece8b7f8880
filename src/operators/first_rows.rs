//! `FirstRows`: the rows that are wanted first of an order, for which another key may be read than for all. Made by `builder`, asked by
//! `scan_exec`.

use crate::logical::rewrite::FIRST_ROWS_MAX;
use crate::scan::costs::ROWS_A_GET;
use crate::system::StatementContext;

/// See the module's description.
pub(super) struct FirstRows<'a> {
    /// The statement.
    pub(super) ctx: &'a StatementContext,
    /// So many at most.
    pub(super) rows: usize,
    /// Whether it is one for an aggregate, which wants none that has NULL in the first column of the order.
    pub(super) is_end: bool,
}

impl FirstRows<'_> {
    /// Whether to fetch each by an entry of an index costs less than to read a table of so many rows. `None`: nobody has counted them.
    pub(super) fn pay(&self, table_rows: Option<u64>) -> bool {
        let read = (self.rows as u64).saturating_mul(ROWS_A_GET);
        self.rows <= FIRST_ROWS_MAX || table_rows.is_some_and(|rows| read <= rows)
    }
}
