//! The first rows in an order, read in it as far as that is little, or else sorted. Called by `builder`.

use std::sync::Arc;

use datafusion_common::{DataFusionError, Result as DataFusionResult};
use datafusion_physical_expr::{LexOrdering, LexRequirement};
use datafusion_physical_plan::limit::GlobalLimitExec;
use datafusion_physical_plan::sorts::sort::SortExec;

use super::order::{deciding, read_in_order, sort_keys};
use super::{Builder, Operator};
use crate::operators::dependent_join_exec::DependentJoinExec;
use crate::operators::first_rows::{FirstRows, RowCosts};
use crate::operators::lookup_join_exec::LookupJoinExec;
use crate::operators::order_requirements::is_in_order;
use crate::operators::top_rows_exec::TopRowsExec;
use crate::scan::costs::{ROWS_A_LOOKUP, ROWS_A_SUBQUERY};
use crate::tree::{Plan, TopRows};

impl Builder<'_> {
    /// The first rows, in one way or the other.
    pub(super) fn top_rows(&self, top: &TopRows, inputs: Vec<Operator>) -> DataFusionResult<Operator> {
        let [whole, rows] = <[Operator; 2]>::try_from(inputs)
            .map_err(|_| DataFusionError::Internal("first rows have two inputs".to_string()))?;
        // What is in order already, or sorts few rows before it looks others up, needs no other way.
        let (Plan::Sort(sort), true) = (top.whole.as_ref(), whole.is::<SortExec>()) else {
            return Ok(whole);
        };
        let order = self.order_of(sort)?.and_then(|order| deciding(order, &rows));
        let (Some(order), Some(fetch)) = (order, sort.fetch) else {
            return Ok(whole);
        };
        let first = FirstRows {
            costs: Some(costs_beside(&rows)),
            ..self.first(fetch)
        };
        Ok(match streamed(&rows, &order, &first)? {
            Some(streamed) => Arc::new(TopRowsExec::new(streamed, whole, order)),
            None => whole,
        })
    }
}

/// The first rows in the order, of a table that is read in it, or in that of some keys before others. `None`: none is.
fn streamed(
    rows: &Operator,
    order: &LexOrdering,
    first: &FirstRows<'_>,
) -> DataFusionResult<Option<Operator>> {
    for columns in (1..=order.len()).rev() {
        let Some(leading) = LexOrdering::new(order.iter().take(columns).cloned()) else {
            continue;
        };
        let Some(keys) = sort_keys(&leading) else { continue };
        let Some(ordered) = read_in_order(rows, &keys, Some(first))? else {
            continue;
        };
        if is_in_order(&ordered, &LexRequirement::from(leading))? {
            return Ok(Some(match columns == order.len() {
                true => Arc::new(GlobalLimitExec::new(ordered, 0, Some(first.rows))),
                // It ends with the last of the rows whose leading keys are those of the last that is wanted.
                false => Arc::new(SortExec::new(order.clone(), ordered).with_fetch(Some(first.rows))),
            }));
        }
    }
    Ok(None)
}

/// What becomes of a row beside its being read.
fn costs_beside(plan: &Operator) -> RowCosts {
    let below = plan.children().into_iter().map(costs_beside);
    let below = below.fold(RowCosts::default(), |all, one| RowCosts {
        ordered: all.ordered + one.ordered,
        whole: all.whole + one.whole,
    });
    let subqueries = plan
        .downcast_ref::<DependentJoinExec>()
        .map_or(0, |join| join.sub_plans().count() as u64 * ROWS_A_SUBQUERY);
    let lookups = u64::from(plan.is::<LookupJoinExec>()) * ROWS_A_LOOKUP;
    RowCosts {
        ordered: below.ordered + subqueries + lookups,
        whole: below.whole + subqueries,
    }
}
