//! The builder: a logical plan, rewritten, becomes operators. What runs is decided here as each node is made, from the leaves up, for
//! what is below it is known: which side of a join is kept, whether an order is there already, how far a limit reaches. The operators
//! are DataFusion's and ours; DataFusion's planner and its rules are not asked.
//!
//! 1. A plan is one stream until `parallel` splits what nobody sees the order of: every node gives one part, and takes one.
//! 2. A node that needs its input in an order gets it so: by the input's own order, by a table that is read in another one, or by a sort.
//! 3. The scans of a plan are made first, in the order of the plan's leaves, for only they must wait for what the store says.
//! 4. Uncorrelated scalar subqueries are plans of their own, which are run before the plan that reads their values.

mod aggregate;
mod condition;
mod exprs;
mod join;
mod leaves;
mod limit;
mod order;
mod subqueries;
mod window;

use std::collections::VecDeque;
use std::sync::Arc;

use datafusion_common::{DataFusionError, Result as DataFusionResult};
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_expr::{
    Distinct, Extension, FetchType, Limit, LogicalPlan, Projection, RecursiveQuery, SkipType, Unnest,
};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::empty::EmptyExec;
use datafusion_physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion_physical_plan::recursive_query::RecursiveQueryExec;
use datafusion_physical_plan::unnest::{ListUnnest, UnnestExec};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::append::Append;
use super::dependent_join_exec::DependentJoinExec;
use super::lookup_join_exec::LookupJoinExec;
use super::planning::Planning;
use super::rows_exec::RowsExec;
use super::shared_rows_exec::SharedRowsExec;
use crate::logical::only_input::only_input;

/// With less stack than this left, a new segment is taken: plans nest as deep as statements do.
const STACK_RED_ZONE_BYTES: usize = 256 * 1024;
/// The size of a new segment.
const STACK_SEGMENT_BYTES: usize = 2 * 1024 * 1024;

/// An operator with what is below it.
type Operator = Arc<dyn ExecutionPlan>;

/// The operators of a plan. Errors: those of planning the access to tables; what stands in the plan that cannot run.
pub(super) fn build<'a>(
    plan: &'a LogicalPlan,
    planning: &'a Planning,
) -> BoxFuture<'a, DataFusionResult<Operator>> {
    async move {
        let subqueries = subqueries::build_scalar(plan, planning).await?;
        let mut builder = Builder {
            planning,
            context: subqueries.context(),
            leaves: leaves::build_scans(plan, planning).await?,
        };
        let root = builder.node(plan)?;
        Ok(subqueries.around(root))
    }
    .boxed()
}

/// Builds one plan.
struct Builder<'a> {
    planning: &'a Planning,
    /// Where expressions find the values of uncorrelated scalar subqueries.
    context: PhysicalPlanningContext,
    /// The scans that no node has taken yet, the next one first.
    leaves: VecDeque<Operator>,
}

impl Builder<'_> {
    fn node(&mut self, plan: &LogicalPlan) -> DataFusionResult<Operator> {
        stacker::maybe_grow(STACK_RED_ZONE_BYTES, STACK_SEGMENT_BYTES, || {
            let inputs = plan.inputs().into_iter().map(|input| self.node(input));
            let inputs = inputs.collect::<DataFusionResult<Vec<_>>>()?;
            order::with_ordered_inputs(self.over(plan, inputs)?)
        })
    }

    /// The node over its inputs.
    fn over(&mut self, plan: &LogicalPlan, inputs: Vec<Operator>) -> DataFusionResult<Operator> {
        match plan {
            LogicalPlan::TableScan(_) => self.leaves.pop_front().ok_or_else(|| {
                DataFusionError::Internal("a scan that was not there when scans were made".to_string())
            }),
            LogicalPlan::EmptyRelation(empty) => {
                let schema = Arc::clone(empty.schema.inner());
                Ok(match empty.produce_one_row {
                    true => Arc::new(PlaceholderRowExec::new(schema)),
                    false => Arc::new(EmptyExec::new(schema)),
                })
            }
            LogicalPlan::Values(values) => {
                let rows = values.values.iter().map(|row| self.exprs(row, &values.schema));
                let rows = rows.collect::<DataFusionResult<Vec<_>>>()?;
                Ok(Arc::new(RowsExec::values(
                    rows,
                    Arc::clone(values.schema.inner()),
                )))
            }
            LogicalPlan::Projection(projection) => self.project(projection, only_input(inputs)?),
            LogicalPlan::Filter(filter) => self.filter(filter, only_input(inputs)?),
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate, only_input(inputs)?),
            LogicalPlan::Distinct(Distinct::All(_)) => aggregate::distinct(only_input(inputs)?),
            LogicalPlan::Window(window) => self.window(window, plan.schema(), only_input(inputs)?),
            LogicalPlan::Sort(sort) => self.sort(sort, only_input(inputs)?),
            LogicalPlan::Limit(limit) => limited(limit, only_input(inputs)?),
            LogicalPlan::SubqueryAlias(_) => only_input(inputs),
            LogicalPlan::Join(join) => self.join(join, inputs),
            LogicalPlan::Union(union) => Ok(Arc::new(Append::new(inputs, union.schema.inner()))),
            LogicalPlan::Unnest(unnest) => unnested(unnest, only_input(inputs)?),
            LogicalPlan::RecursiveQuery(recursion) => recursive(recursion, inputs),
            LogicalPlan::Extension(extension) => self.extension(extension, inputs),
            other => Err(DataFusionError::Internal(format!(
                "a plan that cannot run: {}",
                other.display()
            ))),
        }
    }

    fn project(&self, projection: &Projection, input: Operator) -> DataFusionResult<Operator> {
        let below = projection.input.schema();
        let named = projection.expr.iter().map(|expr| {
            // A column is called as the input calls it: in logical plans it may have the name of a whole expression.
            let name = exprs::field_name(expr, below, &input.schema())?;
            Ok((self.expr(expr, below)?, name))
        });
        let named = named.collect::<DataFusionResult<Vec<_>>>()?;
        exprs::projected(named, input, &projection.schema)
    }

    fn extension(&self, extension: &Extension, inputs: Vec<Operator>) -> DataFusionResult<Operator> {
        let node = extension.node.as_any();
        let input = only_input(inputs)?;
        if let Some(join) = node.downcast_ref() {
            let expr = |expr: &_, schema: &_| self.expr(expr, schema);
            return Ok(Arc::new(DependentJoinExec::build(
                join,
                input,
                self.planning.planner(),
                &expr,
            )?));
        }
        if let Some(join) = node.downcast_ref() {
            return Ok(Arc::new(LookupJoinExec::build(join, input)?));
        }
        match node.downcast_ref() {
            Some(shared) => Ok(Arc::new(SharedRowsExec::build(shared, input))),
            None => Err(DataFusionError::Internal(format!(
                "a node that is none of ours: {}",
                extension.node.name()
            ))),
        }
    }
}

fn limited(limit: &Limit, input: Operator) -> DataFusionResult<Operator> {
    match (limit.get_skip_type()?, limit.get_fetch_type()?) {
        (SkipType::Literal(skip), FetchType::Literal(fetch)) => limit::limited(input, skip, fetch),
        _ => Err(DataFusionError::Internal("a limit that is no number".to_string())),
    }
}

fn unnested(unnest: &Unnest, input: Operator) -> DataFusionResult<Operator> {
    let lists = unnest.list_type_columns.iter().map(|(index, list)| ListUnnest {
        index_in_input_schema: *index,
        depth: list.depth,
    });
    Ok(Arc::new(UnnestExec::new(
        input,
        lists.collect(),
        unnest.struct_type_columns.clone(),
        Arc::clone(unnest.schema.inner()),
        unnest.options.clone(),
    )?))
}

fn recursive(recursion: &RecursiveQuery, inputs: Vec<Operator>) -> DataFusionResult<Operator> {
    let [start, step] = <[Operator; 2]>::try_from(inputs)
        .map_err(|_| DataFusionError::Internal("a recursion has two inputs".to_string()))?;
    Ok(Arc::new(RecursiveQueryExec::try_new(
        recursion.name.clone(),
        Arc::clone(recursion.schema.inner()),
        start,
        step,
        recursion.is_distinct,
    )?))
}
