//! `Ends`: aggregates that ask of a table only for its rows at the ends of keys (the least and the greatest value of a column)
//! and for the number of its rows. Each end is one row read, and the number is known.

use std::slice;
use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};

use super::read::{Access, TableRead};
use super::step::Step;
use super::totals::RowCount;
use crate::Result;
use crate::catalog::TableDef;
use crate::logical::placeholder::Constants;
use crate::plan::OrderColumn;
use crate::scan::executor::Demand;
use crate::scan::scan_metrics::ScanMetrics;
use crate::system::StatementContext;
use crate::table::row_count;

/// What the first step takes of the table.
#[derive(Debug)]
pub(super) struct Ends {
    /// The orders whose first row it takes.
    orders: Vec<OrderColumn>,
    /// The places of the aggregates that are the number of rows.
    counts: Vec<usize>,
}

impl Ends {
    /// `None`: the first step takes anything else.
    pub(super) fn of(table: &TableRead, steps: &[Step]) -> Option<Ends> {
        let Some(Step::Totals { totals, .. }) = steps.first() else {
            return None;
        };
        let (mut orders, mut counts) = (Vec::new(), Vec::new());
        for (at, total) in totals.iter().enumerate() {
            if let Some((column, descending)) = total.extreme() {
                let order = OrderColumn {
                    column: table.position(column),
                    descending,
                    nulls_first: false,
                };
                if !orders.contains(&order) {
                    orders.push(order);
                }
            } else if table.knows_its_rows() && total.counts_rows(|column| table.is_never_null(column)) {
                counts.push(at);
            } else {
                return None;
            }
        }
        (!totals.is_empty()).then_some(Ends { orders, counts })
    }

    /// The only thing that it takes: the first row in this order.
    pub(super) fn only_order(&self) -> Option<&OrderColumn> {
        match (self.orders.as_slice(), self.counts.as_slice()) {
            ([order], []) => Some(order),
            _ => None,
        }
    }

    /// Whether it takes the number of rows and nothing else.
    pub(super) fn is_row_count(&self) -> bool {
        self.orders.is_empty()
    }

    /// Whether it takes the number of rows.
    pub(super) fn counts_rows(&self) -> bool {
        !self.counts.is_empty()
    }

    /// The places of the aggregates that are the number of rows.
    pub(super) fn counts(&self) -> &[usize] {
        &self.counts
    }

    /// How each end is read, when it takes several things. `None`: a key does not lead to each.
    pub(super) fn access<'a>(
        &self,
        table: &'a TableRead,
        ctx: &StatementContext,
        constants: &Constants,
    ) -> Option<Vec<Access<'a>>> {
        if self.is_row_count() || self.only_order().is_some() {
            return None;
        }
        let mut ends = Vec::with_capacity(self.orders.len());
        for order in &self.orders {
            let order = slice::from_ref(order);
            // No extreme is a NULL, and a key may have them at the end where it stands.
            let end = table.access(ctx, constants, order, Some(order[0].column));
            let mut end = end.filter(Access::is_exact)?;
            if !end.serve(order, false) {
                return None;
            }
            ends.push(end);
        }
        Some(ends)
    }
}

/// The first row of each.
pub(super) fn first_rows(
    ends: Vec<Access<'_>>,
    ctx: &StatementContext,
    metrics: &Arc<ScanMetrics>,
) -> BoxStream<'static, Result<RecordBatch>> {
    let first = |end: Access<'_>| {
        let batches = end.batches(ctx, Demand::of_limit(Some(1)), Arc::clone(metrics));
        let rows = batches.try_filter(|batch| futures::future::ready(batch.num_rows() > 0));
        rows.map_ok(|batch| batch.slice(0, 1)).take(1)
    };
    let ends: Vec<_> = ends.into_iter().map(first).collect();
    stream::iter(ends).flatten().boxed()
}

/// What is read once the table's number of rows is known (then `count` has it), or what is read when it is not.
pub(super) fn count_or_read(
    ctx: &StatementContext,
    table: Arc<TableDef>,
    count: &RowCount,
    known: BoxStream<'static, Result<RecordBatch>>,
    unknown: BoxStream<'static, Result<RecordBatch>>,
) -> BoxStream<'static, Result<RecordBatch>> {
    let (txn, count) = (Arc::clone(&ctx.txn), Arc::clone(count));
    let counted = async move {
        Ok::<_, crate::Error>(match row_count(&txn, &table).await? {
            Some(number) => {
                count.get_or_init(|| number);
                known
            }
            None => unknown,
        })
    };
    stream::once(counted).try_flatten().boxed()
}
