//! How closely the form of a rewritten plan bounds its rows. Those that are bounded may say what is looked up, however many they
//! turn out to be.

use crate::logical::rows_source::RowsSource;
use crate::logical::stored_table::read_table;
use crate::logical::work_table::is_work_table;
use crate::logical::{compared_column, pinned_column};
use crate::plan::{Bound, bound_by};
use crate::tree::{
    Aggregate, Column, Expr, Join, JoinType, Limit, Plan, RowCount, TableScan, split_conjunction,
};

/// How many rows a count may leave that is to bound them.
#[derive(Debug, Clone, Copy)]
pub(super) struct CountedRows {
    /// Of a LIMIT.
    pub(super) limit_max: usize,
    /// Of a sort that keeps its first rows.
    pub(super) sort_max: usize,
}

impl CountedRows {
    /// No count bounds rows.
    pub(super) const NONE: CountedRows = CountedRows {
        limit_max: 0,
        sort_max: 0,
    };
}

/// How closely conditions bound every stored table that the plan reads, or a count of so few rows or an aggregate bounds what comes of it.
/// `None`: not at all.
pub(super) fn bound_of(plan: &Plan, few: CountedRows) -> Option<Bound> {
    match plan {
        Plan::TableScan(scan) => bound_of_scan(scan, few),
        Plan::Limit(limit) if is_few(limit, few.limit_max) => Some(Bound::Points),
        Plan::Sort(sort) if sort.fetch.is_some_and(|rows| rows <= few.sort_max) => Some(Bound::Points),
        Plan::Aggregate(aggregate) if is_one_row(aggregate) => Some(Bound::Points),
        Plan::Join(join) => bound_of_join(join, few),
        Plan::TopRows(top) => bound_of(&top.whole, few),
        Plan::EmptyRelation(_) | Plan::Values(_) => Some(Bound::Points),
        other => {
            let inputs = other.inputs().into_iter();
            let bounds = inputs.map(|input| bound_of(input, few));
            bounds.collect::<Option<Vec<Bound>>>()?.into_iter().max()
        }
    }
}

fn bound_of_scan(scan: &TableScan, few: CountedRows) -> Option<Bound> {
    if scan.fetch.is_some_and(|rows| rows <= few.limit_max) {
        return Some(Bound::Points);
    }
    let Some(scanned) = read_table(scan) else {
        // Rows of the statement's own, and those that a turn of a recursion found.
        let is_own = scan.source.is::<RowsSource>() || is_work_table(scan);
        return is_own.then_some(Bound::Points);
    };
    let columns = |of: fn(&Expr) -> Option<&Column>| -> Vec<usize> {
        let conditions = scan.filters.iter().flat_map(split_conjunction);
        let columns = conditions.filter_map(of);
        columns
            .filter_map(|column| scanned.table.column_index(&column.name))
            .collect()
    };
    bound_by(
        &scanned.table,
        &columns(compared_column),
        &columns(pinned_column),
        &scanned.index_hint,
    )
}

fn is_few(limit: &Limit, rows_max: usize) -> bool {
    matches!(limit.fetch_count(), RowCount::Known(rows) if rows <= rows_max)
}

fn is_one_row(aggregate: &Aggregate) -> bool {
    aggregate.group_expr.is_empty()
}

/// Of a join that asks only whether there is a partner, that of the rows that it keeps.
fn bound_of_join(join: &Join, few: CountedRows) -> Option<Bound> {
    let left = bound_of(&join.left, few);
    let right = bound_of(&join.right, few);
    match join.join_type {
        JoinType::LeftSemi | JoinType::LeftAnti => left,
        JoinType::RightSemi => right,
        JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => Some(left?.max(right?)),
    }
}
