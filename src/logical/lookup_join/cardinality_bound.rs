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

/// How closely conditions bound every stored table that the plan reads, or a count (of at most `rows_max`) or an aggregate
/// bounds what comes of it. `None`: not at all.
pub(super) fn bound_of(plan: &Plan, rows_max: usize) -> Option<Bound> {
    match plan {
        Plan::TableScan(scan) => bound_of_scan(scan, rows_max),
        Plan::Limit(limit) if is_few(limit, rows_max) => Some(Bound::Points),
        Plan::Aggregate(aggregate) if is_one_row(aggregate) => Some(Bound::Points),
        Plan::Join(join) => bound_of_join(join, rows_max),
        Plan::EmptyRelation(_) | Plan::Values(_) => Some(Bound::Points),
        other => {
            let inputs = other.inputs().into_iter();
            let bounds = inputs.map(|input| bound_of(input, rows_max));
            bounds.collect::<Option<Vec<Bound>>>()?.into_iter().max()
        }
    }
}

fn bound_of_scan(scan: &TableScan, rows_max: usize) -> Option<Bound> {
    if scan.fetch.is_some_and(|rows| rows <= rows_max) {
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
fn bound_of_join(join: &Join, rows_max: usize) -> Option<Bound> {
    let left = bound_of(&join.left, rows_max);
    let right = bound_of(&join.right, rows_max);
    match join.join_type {
        JoinType::LeftSemi | JoinType::LeftAnti => left,
        JoinType::RightSemi => right,
        JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => Some(left?.max(right?)),
    }
}
