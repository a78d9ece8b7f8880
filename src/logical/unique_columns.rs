//! Columns of which a plan's rows are told apart: those of the keys of groups, and the number of a row.

use crate::tree::{Expr, Plan, Ranking, WindowedFunction};

/// Sets of columns, by their places, each of which no two rows have alike, but for NULLs.
pub(crate) fn unique_columns(plan: &Plan) -> Vec<Vec<usize>> {
    match plan {
        Plan::Aggregate(aggregate) => {
            let has_sets = aggregate
                .group_expr
                .iter()
                .any(|key| matches!(key, Expr::GroupingSets(_)));
            match has_sets || aggregate.group_expr.is_empty() {
                true => Vec::new(),
                false => vec![(0..aggregate.group_expr_len()).collect()],
            }
        }
        Plan::Window(window) => {
            let own = window.input.schema().fields().len();
            let numbers = window
                .window_expr
                .iter()
                .enumerate()
                .filter(|(_, call)| is_row_number(call));
            let numbers = numbers.map(|(at, _)| vec![own + at]);
            unique_columns(&window.input).into_iter().chain(numbers).collect()
        }
        Plan::Projection(projection) => {
            let below = projection.input.schema();
            let place = |at: &usize| {
                let is_it = |output: &Expr| match output.clone().unalias() {
                    Expr::Column(column) => below.maybe_index_of_column(&column) == Some(*at),
                    _ => false,
                };
                projection.expr.iter().position(is_it)
            };
            let sets = unique_columns(&projection.input).into_iter();
            sets.filter_map(|set| set.iter().map(place).collect()).collect()
        }
        Plan::Filter(filter) => unique_columns(&filter.input),
        Plan::Sort(sort) => unique_columns(&sort.input),
        Plan::TopRows(top) => unique_columns(&top.whole),
        Plan::Limit(limit) => unique_columns(&limit.input),
        Plan::SubqueryAlias(alias) => unique_columns(&alias.input),
        Plan::Distinct(input) => unique_columns(input),
        _ => Vec::new(),
    }
}

/// Whether a call numbers all rows.
fn is_row_number(call: &Expr) -> bool {
    let Expr::WindowFunction(call) = call else {
        return false;
    };
    call.fun == WindowedFunction::Ranking(Ranking::RowNumber) && call.params.partition_by.is_empty()
}
