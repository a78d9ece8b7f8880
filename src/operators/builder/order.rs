//! Orders: sorts, and what nodes need of the order of their inputs. Called by `builder`.

use std::sync::Arc;

use arrow::compute::SortOptions;
use datafusion_common::Result as DataFusionResult;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::utils::collect_columns;
use datafusion_physical_expr::{LexOrdering, LexRequirement, OrderingRequirements, PhysicalSortExpr};
use datafusion_physical_expr_common::physical_expr::is_volatile;
use datafusion_physical_plan::aggregates::AggregateExec;
use datafusion_physical_plan::empty::EmptyExec;
use datafusion_physical_plan::limit::GlobalLimitExec;
use datafusion_physical_plan::sort_pushdown::SortOrderPushdownResult;
use datafusion_physical_plan::sorts::sort::SortExec;
use datafusion_physical_plan::{ExecutionPlanProperties, replace_children_if_necessary};

use super::limit::{HEAP_ROWS_MAX, limited};
use super::{Builder, Operator};
use crate::operators::columns_below::{below, column_of};
use crate::operators::lookup_join_exec::LookupJoinExec;
use crate::operators::order_requirements::{is_in_order, sees_order};
use crate::tree::Sort;

impl Builder<'_> {
    /// The rows of the input in this order, the first of them if so many are enough.
    pub(super) fn sort(&self, sort: &Sort, input: Operator) -> DataFusionResult<Operator> {
        let mut keys = self.exprs.order(&sort.expr, sort.input.schema())?;
        // What is computed of no column is the same in all rows, unless it is volatile. (Of windows such keys are asked for: what computes
        // these does not know that.)
        keys.retain(|key| !collect_columns(&key.expr).is_empty() || is_volatile(&key.expr));
        match LexOrdering::new(keys) {
            Some(order) => sorted(input, order, sort.fetch),
            None => first_rows(input, sort.fetch),
        }
    }
}

/// The rows in this order: as they come, if that is it; by reading a table below in it, if a key has it; or sorted.
pub(super) fn sorted(
    input: Operator,
    order: LexOrdering,
    fetch: Option<usize>,
) -> DataFusionResult<Operator> {
    let known = input.equivalence_properties();
    // What is the same in all rows decides no order.
    let deciding = order
        .into_iter()
        .filter(|key| known.is_expr_constant(&key.expr).is_none());
    let Some(order) = LexOrdering::new(deciding) else {
        return first_rows(input, fetch);
    };
    if is_in_order(&input, &LexRequirement::from(order.clone()))? {
        return first_rows(input, fetch);
    }
    let keys = order.iter().map(|key| Some((column_of(&key.expr)?, key.options)));
    let keys: Option<Vec<SortKey>> = keys.collect();
    if let Some(keys) = keys
        && let Some(ordered) = read_in_order(&input, &keys)?
    {
        return first_rows(ordered, fetch);
    }
    Ok(sort_of(input, order, fetch))
}

/// A column of a node's output, and how it is ordered by.
type SortKey = (usize, SortOptions);

/// The plan, whose rows come in the order of these columns because a table below is read in it, or because few rows are sorted before
/// others are looked up for them. `None`: there is nothing of that kind.
fn read_in_order(plan: &Operator, keys: &[SortKey]) -> DataFusionResult<Option<Operator>> {
    if let Some(join) = plan.downcast_ref::<LookupJoinExec>() {
        let own = join.outer().schema().fields().len();
        if keys.iter().any(|(column, _)| *column >= own) {
            return Ok(None);
        }
        let order = LexOrdering::new(keys.iter().map(|key| sort_expr(join.outer(), *key)));
        let outer = order.map(|order| sorted(Arc::clone(join.outer()), order, None));
        let joined = outer.map(|outer| replace_children_if_necessary(Arc::clone(plan), vec![outer?]));
        return joined.transpose();
    }
    if plan.children().is_empty() {
        let order: Vec<PhysicalSortExpr> = keys.iter().map(|key| sort_expr(plan, *key)).collect();
        return Ok(match plan.try_pushdown_sort(&order)? {
            SortOrderPushdownResult::Exact { inner } => Some(inner),
            SortOrderPushdownResult::Inexact { .. } | SortOrderPushdownResult::Unsupported => None,
        });
    }
    // What takes the first rows, or tells in which order they came, was given those rows in an order that is to stay.
    let groups = plan.downcast_ref::<AggregateExec>();
    if plan.fetch().is_some() || groups.is_some_and(sees_order) {
        return Ok(None);
    }
    let columns: Vec<Option<usize>> = keys.iter().map(|(column, _)| Some(*column)).collect();
    let keeps = plan.maintains_input_order();
    for (at, columns) in below(plan, &columns).into_iter().filter(|(at, _)| keeps[*at]) {
        let keys = columns
            .iter()
            .zip(keys)
            .map(|(column, (_, options))| Some(((*column)?, *options)));
        let keys: Option<Vec<SortKey>> = keys.collect();
        let mut children: Vec<Operator> = plan.children().into_iter().cloned().collect();
        if let Some(keys) = keys
            && let Some(child) = read_in_order(&children[at], &keys)?
        {
            children[at] = child;
            return replace_children_if_necessary(Arc::clone(plan), children).map(Some);
        }
    }
    Ok(None)
}

fn sort_expr(plan: &Operator, (column, options): SortKey) -> PhysicalSortExpr {
    let name = plan.schema().field(column).name().clone();
    PhysicalSortExpr::new(Arc::new(Column::new(&name, column)), options)
}

fn first_rows(input: Operator, fetch: Option<usize>) -> DataFusionResult<Operator> {
    match fetch {
        Some(_) => limited(input, 0, fetch),
        None => Ok(input),
    }
}

/// A sort, of which at most so many rows are wanted.
fn sort_of(input: Operator, order: LexOrdering, fetch: Option<usize>) -> Operator {
    match fetch {
        Some(0) => Arc::new(EmptyExec::new(input.schema())),
        Some(rows) if rows > HEAP_ROWS_MAX => {
            let whole = Arc::new(SortExec::new(order, input));
            Arc::new(GlobalLimitExec::new(whole, 0, Some(rows)))
        }
        fetch => Arc::new(SortExec::new(order, input).with_fetch(fetch)),
    }
}

/// The node, whose inputs come in the orders that it needs.
pub(super) fn with_ordered_inputs(node: Operator) -> DataFusionResult<Operator> {
    let needed = node.required_input_ordering();
    if needed.iter().all(Option::is_none) {
        return Ok(node);
    }
    let children = node.children().into_iter().cloned().zip(needed);
    let children = children.map(|(child, needed)| match needed {
        Some(needed) => in_needed_order(child, needed),
        None => Ok(child),
    });
    let children = children.collect::<DataFusionResult<Vec<_>>>()?;
    replace_children_if_necessary(node, children)
}

/// The input in the order that the node was made for.
fn in_needed_order(input: Operator, needed: OrderingRequirements) -> DataFusionResult<Operator> {
    let needed = needed.into_single();
    match is_in_order(&input, &needed)? {
        true => Ok(input),
        false => sorted(input, LexOrdering::from(needed), None),
    }
}
