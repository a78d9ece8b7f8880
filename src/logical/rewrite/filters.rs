//! The rule `filters`: each condition is asked as far down as its columns come from, by the scan if it can. What a condition on one
//! relation says of columns that equal others, those others are asked, too (`inferred`); inner joins are made anew of their relations
//! and all their conditions (`inner_joins`).
//!
//! Invariants: those of the rewriter, and
//! 1. What stays above a node is what the node would give other rows without: below a LIMIT, a window or a group only what asks whole
//!    partitions or groups; below an outer join only what concerns the side that stays.
//! 2. A filter keeps the order in which its conditions are written, but for costly ones, which come last.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion_common::Column;
use datafusion_common::Result as DataFusionResult;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_expr::{
    Aggregate, Distinct, Expr, Extension, LogicalPlan, Operator, Projection, SubqueryAlias, Union, Unnest,
    Window,
};

use super::constants::plain;
use super::empty_relations::{may_have_row_of_nothing, nothing};
use super::inner_joins::{InnerJoins, is_inner};
use super::operands::{is_truth, operands};
use super::scan_filters::{filtered, scanned};
use super::sided_joins::SidedJoin;
use super::substitution::{substituted, unnamed};
use super::{Rewriting, with_stack};
use crate::logical::dependent_join::DependentJoin;

/// The plan with its filters so.
pub(super) fn filters(plan: LogicalPlan, rewriting: &Rewriting<'_>) -> DataFusionResult<LogicalPlan> {
    pushed(plan, Vec::new(), rewriting)
}

/// The plan under these conditions, which are over its columns.
fn pushed(
    plan: LogicalPlan,
    conditions: Vec<Expr>,
    rewriting: &Rewriting<'_>,
) -> DataFusionResult<LogicalPlan> {
    with_stack(|| {
        if conditions.iter().any(is_never_true) {
            return Ok(nothing(Arc::clone(plan.schema())));
        }
        let push = Push {
            conditions,
            rewriting,
        };
        match plan {
            LogicalPlan::Filter(filter) => push.below_filter(filter.predicate, filter.input),
            LogicalPlan::Projection(projection) => push.below_projection(projection),
            LogicalPlan::SubqueryAlias(alias) => push.below_alias(alias),
            LogicalPlan::Union(union) => push.below_union(union),
            LogicalPlan::Aggregate(aggregate) => push.below_aggregate(aggregate),
            LogicalPlan::Window(window) => push.below_window(window),
            LogicalPlan::Unnest(unnest) => push.below_unnest(unnest),
            LogicalPlan::Extension(extension) => push.below_extension(extension),
            LogicalPlan::Join(join) if is_inner(&join) => {
                let mut joins = InnerJoins::of(join, push.conditions, rewriting.infers);
                for relation in &mut joins.relations {
                    let own = std::mem::take(&mut relation.conditions);
                    let plan = std::mem::take(&mut relation.plan);
                    relation.plan = pushed(plan, own, rewriting)?;
                }
                joins.joined()
            }
            LogicalPlan::Join(join) => {
                let mut sided = SidedJoin::of(join, push.conditions, rewriting.infers);
                let (left, right) = (sided.take_left(), sided.take_right());
                let left = pushed(left.0, left.1, rewriting)?;
                let right = pushed(right.0, right.1, rewriting)?;
                sided.joined(left, right)
            }
            LogicalPlan::TableScan(scan) if scan.fetch.is_none() => scanned(scan, push.conditions),
            LogicalPlan::Sort(mut sort) if sort.fetch.is_none() => {
                sort.input = push.all_below(sort.input)?;
                Ok(LogicalPlan::Sort(sort))
            }
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let (above, below) = push.split(|condition| !condition.is_volatile());
                let input = Arc::new(pushed(Arc::unwrap_or_clone(input), below, rewriting)?);
                filtered(LogicalPlan::Distinct(Distinct::All(input)), above)
            }
            plan => push.above(plan),
        }
    })
}

/// Conditions on their way.
struct Push<'a> {
    conditions: Vec<Expr>,
    rewriting: &'a Rewriting<'a>,
}

impl Push<'_> {
    /// Those that stay above, and those that go below.
    fn split(self, goes_below: impl Fn(&Expr) -> bool) -> (Vec<Expr>, Vec<Expr>) {
        self.conditions
            .into_iter()
            .partition(|condition| !goes_below(condition))
    }

    fn all_below(self, input: Arc<LogicalPlan>) -> DataFusionResult<Arc<LogicalPlan>> {
        pushed(Arc::unwrap_or_clone(input), self.conditions, self.rewriting).map(Arc::new)
    }

    /// All above: what is below is a plan of its own.
    fn above(self, plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
        let below =
            plan.map_children(|input| pushed(input, Vec::new(), self.rewriting).map(Transformed::yes))?;
        filtered(below.data, self.conditions)
    }

    /// The conditions of the input with those of the filter, which are asked after it.
    fn below_filter(self, predicate: Expr, input: Arc<LogicalPlan>) -> DataFusionResult<LogicalPlan> {
        let mut conditions = operands(predicate, Operator::And);
        conditions.extend(self.conditions);
        conditions.retain(|condition| !is_truth(condition, true));
        pushed(Arc::unwrap_or_clone(input), conditions, self.rewriting)
    }

    /// What a condition says of what a node reads, as simple as that can be said there.
    fn said_below(
        &self,
        condition: Expr,
        schema: &datafusion_common::DFSchema,
        stands_for: &dyn Fn(usize) -> Expr,
    ) -> DataFusionResult<Vec<Expr>> {
        let below = substituted(condition, schema, stands_for)?;
        let plain = plain(below, &self.rewriting.options)?;
        let mut parts = operands(plain, Operator::And);
        parts.retain(|part| !is_truth(part, true));
        Ok(parts)
    }

    /// But for those on what is another thing each time it is computed.
    fn below_projection(mut self, projection: Projection) -> DataFusionResult<LogicalPlan> {
        let volatile: Vec<usize> = (0..projection.expr.len())
            .filter(|at| projection.expr[*at].is_volatile())
            .collect();
        let is_on_volatile = |condition: &Expr| {
            !volatile.is_empty()
                && condition.column_refs().into_iter().any(|column| {
                    let at = projection.schema.maybe_index_of_column(column);
                    at.is_some_and(|at| volatile.contains(&at))
                })
        };
        let conditions = std::mem::take(&mut self.conditions);
        let (above, moved): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(is_on_volatile);
        for condition in moved {
            let stands_for = |at: usize| unnamed(&projection.expr[at]).clone();
            let below = self.said_below(condition, &projection.schema, &stands_for)?;
            self.conditions.extend(below);
        }
        let input = self.all_below(projection.input)?;
        let projection = Projection::try_new_with_schema(projection.expr, input, projection.schema)?;
        filtered(LogicalPlan::Projection(projection), above)
    }

    fn below_alias(mut self, alias: SubqueryAlias) -> DataFusionResult<LogicalPlan> {
        if !self.conditions.is_empty() {
            let columns = alias.input.schema().columns();
            let conditions = std::mem::take(&mut self.conditions).into_iter();
            let stands_for = |at: usize| Expr::Column(columns[at].clone());
            let renamed = conditions.map(|condition| substituted(condition, &alias.schema, &stands_for));
            self.conditions = renamed.collect::<DataFusionResult<_>>()?;
        }
        let mut alias = alias;
        alias.input = self.all_below(alias.input)?;
        Ok(LogicalPlan::SubqueryAlias(alias))
    }

    fn below_union(self, mut union: Union) -> DataFusionResult<LogicalPlan> {
        for input in &mut union.inputs {
            let columns = input.schema().columns();
            let stands_for = |at: usize| Expr::Column(columns[at].clone());
            let conditions = self.conditions.iter().cloned();
            let renamed = conditions.map(|condition| substituted(condition, &union.schema, &stands_for));
            let renamed = renamed.collect::<DataFusionResult<_>>()?;
            let part = std::mem::take(input);
            *input = Arc::new(pushed(Arc::unwrap_or_clone(part), renamed, self.rewriting)?);
        }
        Ok(LogicalPlan::Union(union))
    }

    /// Those on keys of the groups alone: whole groups.
    fn below_aggregate(mut self, aggregate: Aggregate) -> DataFusionResult<LogicalPlan> {
        let keys = &aggregate.group_expr;
        let is_of_groups = |condition: &Expr| {
            !may_have_row_of_nothing(keys)
                && !condition.is_volatile()
                && condition.column_refs().into_iter().all(|column| {
                    let at = aggregate.schema.maybe_index_of_column(column);
                    let key = at.and_then(|at| keys.get(at));
                    key.is_some_and(|key| !key.is_volatile())
                })
        };
        let conditions = std::mem::take(&mut self.conditions);
        let (moved, above): (Vec<Expr>, Vec<Expr>) = conditions.into_iter().partition(is_of_groups);
        for condition in moved {
            let stands_for = |at: usize| unnamed(&keys[at]).clone();
            let below = self.said_below(condition, &aggregate.schema, &stands_for)?;
            self.conditions.extend(below);
        }
        let mut aggregate = aggregate;
        aggregate.input = self.all_below(aggregate.input)?;
        filtered(LogicalPlan::Aggregate(aggregate), above)
    }

    /// Those on columns by which all windows are partitioned: whole partitions.
    fn below_window(self, mut window: Window) -> DataFusionResult<LogicalPlan> {
        let keys = partition_columns(&window);
        let is_of_partitions = |condition: &Expr| {
            !condition.is_volatile()
                && condition
                    .column_refs()
                    .into_iter()
                    .all(|column| keys.contains(column))
        };
        let rewriting = self.rewriting;
        let (above, below) = self.split(is_of_partitions);
        window.input = Arc::new(pushed(Arc::unwrap_or_clone(window.input), below, rewriting)?);
        filtered(LogicalPlan::Window(window), above)
    }

    /// Those on none of the columns whose values become rows.
    fn below_unnest(self, mut unnest: Unnest) -> DataFusionResult<LogicalPlan> {
        let made: HashSet<Column> = unnest
            .list_type_columns
            .iter()
            .map(|(_, list)| list.output_column.clone())
            .collect();
        let has_structs = !unnest.struct_type_columns.is_empty();
        let is_of_rows_below = |condition: &Expr| {
            let columns = condition.column_refs();
            !has_structs && !condition.is_volatile() && !columns.iter().any(|column| made.contains(*column))
        };
        let rewriting = self.rewriting;
        let (above, below) = self.split(is_of_rows_below);
        unnest.input = Arc::new(pushed(Arc::unwrap_or_clone(unnest.input), below, rewriting)?);
        filtered(LogicalPlan::Unnest(unnest), above)
    }

    /// As far as the node allows.
    fn below_extension(self, extension: Extension) -> DataFusionResult<LogicalPlan> {
        let [input] = extension.node.inputs()[..] else {
            return self.above(LogicalPlan::Extension(extension));
        };
        // Only a dependent join gives its input's rows to one place: its first columns are the input's.
        let kept = match extension.node.as_any().is::<DependentJoin>() {
            true => input.schema().fields().len(),
            false => 0,
        };
        let schema = Arc::clone(extension.node.schema());
        let is_of_input = |condition: &Expr| {
            let place = |column: &&Column| schema.index_of_column(column).is_ok_and(|at| at < kept);
            let columns = condition.column_refs();
            // What has no column is the same for all rows, if it is not computed for each.
            kept > 0 && columns.iter().all(place) && !(columns.is_empty() && condition.is_volatile())
        };
        let rewriting = self.rewriting;
        let (above, below) = self.split(is_of_input);
        let input = pushed(input.clone(), below, rewriting)?;
        let exprs = extension.node.expressions();
        let node = extension.node.with_exprs_and_inputs(exprs, vec![input])?;
        filtered(LogicalPlan::Extension(Extension { node }), above)
    }
}

fn is_never_true(condition: &Expr) -> bool {
    matches!(condition, Expr::Literal(..)) && !is_truth(condition, true)
}

/// The columns by which all windows of a node are partitioned.
fn partition_columns(window: &Window) -> HashSet<Column> {
    let partitions = window.window_expr.iter().map(|expr| match unnamed(expr) {
        Expr::WindowFunction(call) => {
            let keys = call.params.partition_by.iter();
            let columns = keys.filter_map(|key| match key {
                Expr::Column(column) => Some(column.clone()),
                _ => None,
            });
            columns.collect()
        }
        _ => HashSet::new(),
    });
    partitions
        .reduce(|one, other| one.intersection(&other).cloned().collect())
        .unwrap_or_default()
}
