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

use super::Rewriting;
use super::constants::plain;
use super::empty_relations::{may_have_row_of_nothing, nothing};
use super::inner_joins::{InnerJoins, is_inner};
use super::join_filter_pushdown::SidedJoin;
use super::operands::{is_truth, operands};
use super::scan_filters::{filtered, scanned};
use super::substitution::substituted;
use crate::Result;
use crate::tree::{
    Aggregate, Column, DependentJoin, Expr, Operator, Plan, Projection, RowSchema, SubqueryAlias,
    Transformed, TreeNode, Union, Unnest, Window, with_stack,
};

/// The plan with its filters so.
pub(super) fn filters(plan: Plan, rewriting: &Rewriting<'_>) -> Result<Plan> {
    pushed(plan, Vec::new(), rewriting)
}

/// The plan under these conditions, which are over its columns.
fn pushed(plan: Plan, conditions: Vec<Expr>, rewriting: &Rewriting<'_>) -> Result<Plan> {
    with_stack(|| {
        if conditions.iter().any(is_never_true) {
            return Ok(nothing(Arc::clone(plan.schema())));
        }
        let push = Push {
            conditions,
            rewriting,
        };
        match plan {
            Plan::Filter(filter) => push.below_filter(filter.predicate, filter.input),
            Plan::Projection(projection) => push.below_projection(projection),
            Plan::SubqueryAlias(alias) => push.below_alias(alias),
            Plan::Union(union) => push.below_union(union),
            Plan::Aggregate(aggregate) => push.below_aggregate(aggregate),
            Plan::Window(window) => push.below_window(window),
            Plan::Unnest(unnest) => push.below_unnest(unnest),
            Plan::DependentJoin(join) => push.below_dependent_join(join),
            Plan::Join(join) if is_inner(&join) => {
                let mut joins = InnerJoins::of(join, push.conditions, rewriting.infers);
                for relation in &mut joins.relations {
                    let own = std::mem::take(&mut relation.conditions);
                    let plan = std::mem::take(&mut relation.plan);
                    relation.plan = pushed(plan, own, rewriting)?;
                }
                joins.joined()
            }
            Plan::Join(join) => {
                let mut sided = SidedJoin::of(join, push.conditions, rewriting.infers);
                let (left, right) = (sided.take_left(), sided.take_right());
                let left = pushed(left.0, left.1, rewriting)?;
                let right = pushed(right.0, right.1, rewriting)?;
                sided.joined(left, right)
            }
            Plan::TableScan(scan) if scan.fetch.is_none() => scanned(scan, push.conditions),
            Plan::Sort(mut sort) if sort.fetch.is_none() => {
                sort.input = push.all_below(sort.input)?;
                Ok(Plan::Sort(sort))
            }
            Plan::Distinct(input) => {
                let (above, below) = push.split(|condition| !condition.is_volatile());
                let input = Arc::new(pushed(Arc::unwrap_or_clone(input), below, rewriting)?);
                filtered(Plan::Distinct(input), above)
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

    fn all_below(self, input: Arc<Plan>) -> Result<Arc<Plan>> {
        pushed(Arc::unwrap_or_clone(input), self.conditions, self.rewriting).map(Arc::new)
    }

    /// All above: what is below is a plan of its own.
    fn above(self, plan: Plan) -> Result<Plan> {
        let below =
            plan.map_children(|input| pushed(input, Vec::new(), self.rewriting).map(Transformed::yes))?;
        filtered(below.data, self.conditions)
    }

    /// The conditions of the input with those of the filter, which are asked after it.
    fn below_filter(self, predicate: Expr, input: Arc<Plan>) -> Result<Plan> {
        let mut conditions = operands(predicate, Operator::And);
        conditions.extend(self.conditions);
        conditions.retain(|condition| !is_truth(condition, true));
        pushed(Arc::unwrap_or_clone(input), conditions, self.rewriting)
    }

    /// What a condition says of what a node reads, as simple as that can be said there.
    fn said_below(
        &self,
        condition: Expr,
        schema: &RowSchema,
        stands_for: &dyn Fn(usize) -> Expr,
    ) -> Result<Vec<Expr>> {
        let below = substituted(condition, schema, stands_for)?;
        let plain = plain(below, self.rewriting.catalogs)?;
        let mut parts = operands(plain, Operator::And);
        parts.retain(|part| !is_truth(part, true));
        Ok(parts)
    }

    /// But for those on what is another thing each time it is computed.
    fn below_projection(mut self, projection: Projection) -> Result<Plan> {
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
            let stands_for = |at: usize| projection.expr[at].unnamed().clone();
            let below = self.said_below(condition, &projection.schema, &stands_for)?;
            self.conditions.extend(below);
        }
        let input = self.all_below(projection.input)?;
        let projection = Projection::with_schema(projection.expr, input, projection.schema);
        filtered(Plan::Projection(projection), above)
    }

    fn below_alias(mut self, alias: SubqueryAlias) -> Result<Plan> {
        if !self.conditions.is_empty() {
            let columns = alias.input.schema().columns();
            let conditions = std::mem::take(&mut self.conditions).into_iter();
            let stands_for = |at: usize| Expr::Column(columns[at].clone());
            let renamed = conditions.map(|condition| substituted(condition, &alias.schema, &stands_for));
            self.conditions = renamed.collect::<Result<_>>()?;
        }
        let mut alias = alias;
        alias.input = self.all_below(alias.input)?;
        Ok(Plan::SubqueryAlias(alias))
    }

    fn below_union(self, mut union: Union) -> Result<Plan> {
        for input in &mut union.inputs {
            let columns = input.schema().columns();
            let stands_for = |at: usize| Expr::Column(columns[at].clone());
            let conditions = self.conditions.iter().cloned();
            let renamed = conditions.map(|condition| substituted(condition, &union.schema, &stands_for));
            let renamed = renamed.collect::<Result<_>>()?;
            let part = std::mem::take(input);
            *input = Arc::new(pushed(Arc::unwrap_or_clone(part), renamed, self.rewriting)?);
        }
        Ok(Plan::Union(union))
    }

    /// Those on keys of the groups alone: whole groups.
    fn below_aggregate(mut self, aggregate: Aggregate) -> Result<Plan> {
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
            let stands_for = |at: usize| keys[at].unnamed().clone();
            let below = self.said_below(condition, &aggregate.schema, &stands_for)?;
            self.conditions.extend(below);
        }
        let mut aggregate = aggregate;
        aggregate.input = self.all_below(aggregate.input)?;
        filtered(Plan::Aggregate(aggregate), above)
    }

    /// Those on columns by which all windows are partitioned: whole partitions.
    fn below_window(self, mut window: Window) -> Result<Plan> {
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
        filtered(Plan::Window(window), above)
    }

    /// Those on none of the columns whose values become rows.
    fn below_unnest(self, mut unnest: Unnest) -> Result<Plan> {
        let is_of_rows_below = |condition: &Expr| {
            let columns = condition.column_refs();
            !condition.is_volatile() && !columns.iter().any(|column| unnest.columns.contains(column))
        };
        let rewriting = self.rewriting;
        let (above, below) = self.split(is_of_rows_below);
        unnest.input = Arc::new(pushed(Arc::unwrap_or_clone(unnest.input), below, rewriting)?);
        filtered(Plan::Unnest(unnest), above)
    }

    /// Those on the columns of its input, which are its first.
    fn below_dependent_join(self, mut join: DependentJoin) -> Result<Plan> {
        let kept = join.input.schema().fields().len();
        let schema = &join.schema;
        let is_of_input = |condition: &Expr| {
            let place = |column: &&Column| schema.index_of_column(column).is_ok_and(|at| at < kept);
            let columns = condition.column_refs();
            // What has no column is the same for all rows, if it is not computed for each.
            kept > 0 && columns.iter().all(place) && !(columns.is_empty() && condition.is_volatile())
        };
        let rewriting = self.rewriting;
        let (above, below) = self.split(is_of_input);
        let input = pushed(Arc::unwrap_or_clone(join.input), below, rewriting)?;
        join.input = Arc::new(input);
        filtered(Plan::DependentJoin(join), above)
    }
}

fn is_never_true(condition: &Expr) -> bool {
    matches!(condition, Expr::Literal(..)) && !is_truth(condition, true)
}

/// The columns by which all windows of a node are partitioned.
fn partition_columns(window: &Window) -> HashSet<Column> {
    let partitions = window.window_expr.iter().map(|expr| match expr.unnamed() {
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
