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
use datafusion_physical_plan::filter::FilterExec;
use datafusion_physical_plan::limit::GlobalLimitExec;
use datafusion_physical_plan::projection::ProjectionExec;
use datafusion_physical_plan::sort_pushdown::SortOrderPushdownResult;
use datafusion_physical_plan::sorts::sort::SortExec;
use datafusion_physical_plan::{ExecutionPlanProperties, replace_children_if_necessary};

use super::limit::{HEAP_ROWS_MAX, limited};
use super::{Builder, Operator};
use crate::operators::append::Append;
use crate::operators::columns_below::{below, column_of};
use crate::operators::dependent_join_exec::DependentJoinExec;
use crate::operators::first_rows::FirstRows;
use crate::operators::lookup_join_exec::LookupJoinExec;
use crate::operators::order_requirements::{is_in_order, sees_order};
use crate::operators::scan_exec::KeyspanScanExec;
use crate::system::datafusion_error::to_datafusion;
use crate::tree::Sort;

impl Builder<'_> {
    /// The rows of the input in this order, the first of them if so many are enough.
    pub(super) fn sort(&self, sort: &Sort, input: Operator) -> DataFusionResult<Operator> {
        let Some(order) = self.order_of(sort)? else {
            return first_rows(input, sort.fetch);
        };
        let first = sort.fetch.map(|rows| self.first(rows));
        sorted(input, order, sort.fetch, first.as_ref())
    }

    /// What rows are sorted by. `None`: the keys are the same in all of them.
    pub(super) fn order_of(&self, sort: &Sort) -> DataFusionResult<Option<LexOrdering>> {
        let mut keys = self.exprs.order(&sort.expr, sort.input.schema())?;
        // What is computed of no column is the same in all rows, unless it is volatile. (Of windows such keys are asked for: what computes
        // these does not know that.)
        keys.retain(|key| !collect_columns(&key.expr).is_empty() || is_volatile(&key.expr));
        Ok(LexOrdering::new(keys))
    }

    /// The input's first row in the order of one of its columns, or that of each of its parts. `takes_null`: also where it is NULL. `None`: no
    /// table below is read in it.
    pub(super) fn end_of(
        &self,
        input: &Operator,
        (column, descending): (usize, bool),
        takes_null: bool,
    ) -> DataFusionResult<Option<Operator>> {
        if input.is::<Append>() {
            let parts = input.children().into_iter();
            let ends = parts.map(|part| self.end_of(part, (column, descending), takes_null));
            let ends = ends.collect::<DataFusionResult<Option<Vec<Operator>>>>()?;
            return Ok(ends.map(|ends| Arc::new(Append::new(ends, &input.schema())) as Operator));
        }
        let options = SortOptions {
            descending,
            nulls_first: false,
        };
        let first = FirstRows {
            is_end: true,
            drops_null: !takes_null,
            ..self.first(1)
        };
        let ordered = read_in_order(input, &[(column, options)], Some(&first))?;
        ordered.map(|ordered| limited(ordered, 0, Some(1))).transpose()
    }

    /// So many rows that are wanted first.
    pub(super) fn first(&self, rows: usize) -> FirstRows<'_> {
        FirstRows {
            ctx: self.planning.statement(),
            rows,
            is_end: false,
            drops_null: false,
            costs: None,
        }
    }
}

/// The rows in this order: as they come, if that is it; by reading a table below in it, if a key has it; or sorted. `first`: of how many
/// it is known that no more are wanted, so that another key may be read for them.
fn sorted(
    input: Operator,
    order: LexOrdering,
    fetch: Option<usize>,
    first: Option<&FirstRows<'_>>,
) -> DataFusionResult<Operator> {
    let Some(order) = deciding(order, &input) else {
        return first_rows(input, fetch);
    };
    if is_in_order(&input, &LexRequirement::from(order.clone()))? {
        return first_rows(input, fetch);
    }
    if let Some(keys) = sort_keys(&order)
        && let Some(ordered) = read_in_order(&input, &keys, first)?
    {
        return first_rows(ordered, fetch);
    }
    Ok(sort_of(input, order, fetch))
}

/// The order without what is the same in all rows, which decides none. `None`: all of it is.
pub(super) fn deciding(order: LexOrdering, input: &Operator) -> Option<LexOrdering> {
    let known = input.equivalence_properties();
    let deciding = order
        .into_iter()
        .filter(|key| known.is_expr_constant(&key.expr).is_none());
    LexOrdering::new(deciding)
}

/// Rows of a batch that comes of a filter where reading ends once there are enough.
const LEFT_BATCH_ROWS: usize = 16;

/// A column of a node's output, and how it is ordered by.
pub(super) type SortKey = (usize, SortOptions);

/// An order of columns. `None`: something is computed for it.
pub(super) fn sort_keys(order: &LexOrdering) -> Option<Vec<SortKey>> {
    let keys = order.iter();
    keys.map(|key| Some((column_of(&key.expr)?, key.options)))
        .collect()
}

/// The plan, whose rows come in the order of these columns because a table below is read in it, or because few rows are sorted before
/// others are looked up for them. `first`: as in [`sorted`]; if it may be left, a table is read in the order or nothing is. `None`: there is nothing of that kind.
pub(super) fn read_in_order(
    plan: &Operator,
    keys: &[SortKey],
    first: Option<&FirstRows<'_>>,
) -> DataFusionResult<Option<Operator>> {
    // Rows that are fetched by their keys are read, whichever is wanted.
    let scan = plan.downcast_ref::<KeyspanScanExec>();
    let is_of_ranges = scan.is_some_and(|scan| scan.path().ranges().is_some());
    let is_of_rows = plan.is::<ProjectionExec>() || plan.is::<FilterExec>() || is_of_ranges;
    if first.is_some_and(|first| first.is_end) && !is_of_rows {
        return Ok(None);
    }
    if let Some(join) = plan.downcast_ref::<LookupJoinExec>() {
        return looked_up_in_order(plan, join, keys, first);
    }
    if let Some(join) = plan.downcast_ref::<DependentJoinExec>() {
        let own = join.input().schema().fields().len();
        if keys.iter().any(|(column, _)| *column >= own) {
            return Ok(None);
        }
        let input = read_in_order(join.input(), keys, first)?;
        let asked = input.map(|input| replace_children_if_necessary(Arc::clone(plan), vec![input]));
        return asked.transpose();
    }
    match plan.children().is_empty() {
        true => rows_in_order(plan, keys, first),
        false => inputs_in_order(plan, keys, first),
    }
}

/// Whether reading is left for another way where it gives too few rows.
fn may_be_left(first: Option<&FirstRows<'_>>) -> bool {
    first.is_some_and(|first| first.costs.is_some())
}

/// The same of a lookup, whose outer rows decide the order.
fn looked_up_in_order(
    plan: &Operator,
    join: &LookupJoinExec,
    keys: &[SortKey],
    first: Option<&FirstRows<'_>>,
) -> DataFusionResult<Option<Operator>> {
    let own = join.outer().schema().fields().len();
    if keys.iter().any(|(column, _)| *column >= own) {
        return Ok(None);
    }
    let outer = match may_be_left(first) {
        true => read_in_order(join.outer(), keys, first)?,
        false => {
            let order = LexOrdering::new(keys.iter().map(|key| sort_expr(join.outer(), *key)));
            let outer = order.map(|order| sorted(Arc::clone(join.outer()), order, None, first));
            outer.transpose()?
        }
    };
    let joined = outer.map(|outer| replace_children_if_necessary(Arc::clone(plan), vec![outer]));
    joined.transpose()
}

/// The same of what reads rows.
fn rows_in_order(
    plan: &Operator,
    keys: &[SortKey],
    first: Option<&FirstRows<'_>>,
) -> DataFusionResult<Option<Operator>> {
    let order: Vec<PhysicalSortExpr> = keys.iter().map(|key| sort_expr(plan, *key)).collect();
    if let (Some(scan), Some(first)) = (plan.downcast_ref::<KeyspanScanExec>(), first) {
        let scan = scan.first_in_order(&order, first).map_err(to_datafusion)?;
        if scan.is_some() || first.costs.is_some() {
            return Ok(scan.map(|scan| Arc::new(scan) as Operator));
        }
    }
    Ok(match plan.try_pushdown_sort(&order)? {
        SortOrderPushdownResult::Exact { inner } => Some(inner),
        SortOrderPushdownResult::Inexact { .. } | SortOrderPushdownResult::Unsupported => None,
    })
}

/// The same of a node that keeps the order of an input.
fn inputs_in_order(
    plan: &Operator,
    keys: &[SortKey],
    first: Option<&FirstRows<'_>>,
) -> DataFusionResult<Option<Operator>> {
    let may_be_left = may_be_left(first);
    // What takes the first rows, or tells in which order they came, was given those rows in an order that is to stay.
    let groups = plan.downcast_ref::<AggregateExec>();
    if plan.fetch().is_some() || groups.is_some_and(sees_order) {
        return Ok(None);
    }
    let columns: Vec<Option<usize>> = keys.iter().map(|(column, _)| Some(*column)).collect();
    let keeps = plan.maintains_input_order();
    // Groups come in the order of the rows that they are of, once these come in one.
    let keeps = |at: usize| keeps[at] || groups.is_some() && may_be_left;
    // Of what drops rows nobody knows how many it takes.
    let first = first.filter(|_| plan.is::<ProjectionExec>() || may_be_left);
    for (at, columns) in below(plan, &columns).into_iter().filter(|(at, _)| keeps(*at)) {
        let keys = columns
            .iter()
            .zip(keys)
            .map(|(column, (_, options))| Some(((*column)?, *options)));
        let keys: Option<Vec<SortKey>> = keys.collect();
        let mut children: Vec<Operator> = plan.children().into_iter().cloned().collect();
        if let Some(keys) = keys
            && let Some(child) = read_in_order(&children[at], &keys, first)?
        {
            children[at] = child;
            let ordered = replace_children_if_necessary(Arc::clone(plan), children)?;
            // Rows of many pages would be gathered before the first is given.
            return match ordered.downcast_ref::<FilterExec>().filter(|_| may_be_left) {
                Some(filter) => Ok(Some(Arc::new(filter.with_batch_size(LEFT_BATCH_ROWS)?))),
                None => Ok(Some(ordered)),
            };
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
        false => sorted(input, LexOrdering::from(needed), None, None),
    }
}
