//! The builder: a plan, rewritten, becomes operators. What runs is decided here as each node is made, from the leaves up, for
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
mod top_rows;
mod window;
use std::collections::VecDeque;
use std::sync::Arc;

use datafusion_common::{DataFusionError, NullHandling, Result as DataFusionResult, UnnestOptions};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::empty::EmptyExec;
use datafusion_physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion_physical_plan::recursive_query::RecursiveQueryExec;
use datafusion_physical_plan::unnest::{ListUnnest, UnnestExec};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::append::Append;
use super::dependent_join_exec::DependentJoinExec;
use super::lock_rows_exec::LockRowsExec;
use super::lookup_join_exec::LookupJoinExec;
use super::physical_expr::{ExprBuilder, column_name};
use super::planning::Planning;
use super::rows_exec::RowsExec;
use super::shared_rows_exec::SharedRowsExec;
use crate::operators::node_properties::only_input;
use crate::operators::seen_rows::SeenRows;
use crate::tree::{Limit, Plan, Projection, RecursiveQuery, RowCount, RowSchema, Unnest};

/// With less stack than this left, a new segment is taken: plans nest as deep as statements do.
const STACK_RED_ZONE_BYTES: usize = 256 * 1024;
/// The size of a new segment.
const STACK_SEGMENT_BYTES: usize = 2 * 1024 * 1024;

/// An operator with what is below it.
type Operator = Arc<dyn ExecutionPlan>;

/// The operators of a plan. Errors: those of planning the access to tables; what stands in the plan that cannot run.
pub(super) fn build<'a>(plan: &'a Plan, planning: &'a Planning) -> BoxFuture<'a, DataFusionResult<Operator>> {
    async move {
        let subqueries = subqueries::build_scalar(plan, planning).await?;
        let mut builder = Builder {
            planning,
            exprs: ExprBuilder {
                options: Some(Arc::clone(planning.options())),
                inputs: planning.inputs().cloned(),
                subqueries: subqueries.places(),
            },
            leaves: leaves::build_scans(plan, planning).await?,
            may_end: planning.statement().hints.may_end,
        };
        let root = builder.node(plan)?;
        Ok(subqueries.around(root))
    }
    .boxed()
}

/// Builds one plan.
struct Builder<'a> {
    planning: &'a Planning,
    /// Makes expressions computable.
    exprs: ExprBuilder,
    /// The scans that no node has taken yet, the next one first.
    leaves: VecDeque<Operator>,
    /// Whether somebody may ask for some of the rows alone: what acts is called for no others.
    may_end: bool,
}

impl Builder<'_> {
    fn node(&mut self, plan: &Plan) -> DataFusionResult<Operator> {
        stacker::maybe_grow(STACK_RED_ZONE_BYTES, STACK_SEGMENT_BYTES, || {
            let may_end = self.may_end;
            self.may_end |= match plan {
                Plan::Limit(_) => true,
                // The order may be there already.
                Plan::Sort(sort) => sort.fetch.is_some(),
                Plan::TopRows(_) => true,
                _ => false,
            };
            let inputs = plan.inputs().into_iter().map(|input| self.node(input));
            let inputs = inputs.collect::<DataFusionResult<Vec<_>>>()?;
            self.may_end = may_end;
            order::with_ordered_inputs(self.over(plan, inputs)?)
        })
    }

    /// The node over its inputs.
    fn over(&mut self, plan: &Plan, inputs: Vec<Operator>) -> DataFusionResult<Operator> {
        match plan {
            Plan::TableScan(_) => self.leaves.pop_front().ok_or_else(|| {
                DataFusionError::Internal("a scan that was not there when scans were made".to_string())
            }),
            Plan::EmptyRelation(empty) => {
                let schema = Arc::clone(empty.schema.inner());
                Ok(match empty.produce_one_row {
                    true => Arc::new(PlaceholderRowExec::new(schema)),
                    false => Arc::new(EmptyExec::new(schema)),
                })
            }
            Plan::Values(values) => {
                let rows = values
                    .values
                    .iter()
                    .map(|row| self.exprs.all(row, &values.schema));
                let rows = rows.collect::<DataFusionResult<Vec<_>>>()?;
                Ok(Arc::new(RowsExec::values(
                    rows,
                    Arc::clone(values.schema.inner()),
                )))
            }
            Plan::Projection(projection) => self.project(projection, only_input(inputs)?),
            Plan::Filter(filter) => self.filter(filter, only_input(inputs)?),
            Plan::Aggregate(aggregate) => self.aggregate(aggregate, only_input(inputs)?),
            Plan::Distinct(_) => aggregate::distinct(only_input(inputs)?),
            Plan::Window(window) => self.window(window, only_input(inputs)?),
            Plan::Sort(sort) => self.sort(sort, only_input(inputs)?),
            Plan::LockRows(locked) => {
                let input = only_input(inputs)?;
                Ok(Arc::new(LockRowsExec::build(locked, input, &self.exprs)?))
            }
            Plan::Limit(limit) => limited(limit, only_input(inputs)?),
            Plan::SubqueryAlias(_) => only_input(inputs),
            Plan::Join(join) => self.join(join, inputs),
            Plan::Union(union) => Ok(Arc::new(Append::new(inputs, union.schema.inner()))),
            Plan::Unnest(unnest) => unnested(unnest, only_input(inputs)?),
            Plan::RecursiveQuery(recursion) => recursive(recursion, plan.schema(), inputs),
            Plan::DependentJoin(join) => {
                let (input, planner) = (only_input(inputs)?, self.planning.planner());
                let built = DependentJoinExec::build(join, input, planner, &self.exprs)?;
                Ok(Arc::new(built))
            }
            Plan::LookupJoin(join) => Ok(Arc::new(LookupJoinExec::build(join, only_input(inputs)?)?)),
            Plan::TopRows(top) => self.top_rows(top, inputs),
            Plan::SharedRows(shared) => Ok(Arc::new(SharedRowsExec::build(shared, only_input(inputs)?))),
        }
    }

    fn project(&self, projection: &Projection, input: Operator) -> DataFusionResult<Operator> {
        let below = projection.input.schema();
        let named = projection.expr.iter().map(|expr| {
            let name = column_name(expr, below, &input.schema());
            Ok((self.expr(expr, below)?, name))
        });
        let named = named.collect::<DataFusionResult<Vec<_>>>()?;
        exprs::projected(named, input, &projection.schema, self.may_end)
    }
}

fn limited(limit: &Limit, input: Operator) -> DataFusionResult<Operator> {
    let internal = || DataFusionError::Internal("a limit that is no number".to_string());
    let RowCount::Known(skip) = limit.skip_count() else {
        return Err(internal());
    };
    match limit.fetch_count() {
        RowCount::Known(fetch) => limit::limited(input, skip, Some(fetch)),
        RowCount::None => limit::limited(input, skip, None),
        RowCount::Open => Err(internal()),
    }
}

fn unnested(unnest: &Unnest, input: Operator) -> DataFusionResult<Operator> {
    let lists = unnest.places().into_iter().map(|at| ListUnnest {
        index_in_input_schema: at,
        depth: 1,
    });
    let options = UnnestOptions {
        null_handling: NullHandling::Drop,
        ..UnnestOptions::default()
    };
    Ok(Arc::new(UnnestExec::new(
        input,
        lists.collect(),
        Vec::new(),
        Arc::clone(unnest.schema.inner()),
        options,
    )?))
}

fn recursive(
    recursion: &RecursiveQuery,
    schema: &RowSchema,
    inputs: Vec<Operator>,
) -> DataFusionResult<Operator> {
    let [mut start, mut step] = <[Operator; 2]>::try_from(inputs)
        .map_err(|_| DataFusionError::Internal("a recursion has two inputs".to_string()))?;
    let columns = schema.fields().len();
    let unlike = recursion
        .distinct_by
        .as_ref()
        .filter(|places| places.len() < columns);
    let seen = unlike.map(|places| SeenRows::by(places));
    if let Some(seen) = &seen {
        (start, step) = (seen.unseen(start), seen.unseen(step));
    }
    let turns = Arc::new(RecursiveQueryExec::try_new(
        recursion.name.clone(),
        Arc::clone(schema.inner()),
        start,
        step,
        recursion.distinct_by.is_some() && unlike.is_none(),
    )?);
    Ok(match seen {
        Some(seen) => seen.around(turns),
        None => turns,
    })
}
