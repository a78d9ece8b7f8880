//! `GenericPlan`, as PostgreSQL calls a plan that serves all values of its parameters: operators that are kept, into which each run puts
//! its constants, and whose scans plan their ranges by them. `query` keeps those of queries that run often, a dependent join those of
//! its subqueries.
//!
//! 1. What a plan cannot leave open (the counts of LIMIT) is part of it, and a run with others does not take that plan.
//! 2. A run whose scans would be of another form than those that the plan was made for (another key, another order), or would be
//!    refused, is told before anything is visible: a plan of its own says what is wrong, if something is.
//! 3. Operators have state, so a plan serves one run at a time.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion_physical_plan::execution_plan::reset_plan_states;
use datafusion_physical_plan::{ExecutionPlan, execute_stream};
use futures::FutureExt;
use futures::stream::BoxStream;

use super::planning::{Planner, Planning, run_context, serial};
use super::semi_join_reduction::{are_in, with_narrowed_probes};
use crate::Result;
use crate::logical::evaluable::waits;
use crate::logical::limit_counts::check_limits;
use crate::logical::placeholder::Constants;
use crate::logical::run_inputs::RunInputs;
use crate::logical::stored_table::with_inputs;
use crate::system::datafusion_error::{batches_of, from_datafusion, from_panic};
use crate::system::pg_catalog::CatalogContext;
use crate::tree::{Expr, Plan, Transformed, TreeNode};

/// The plan.
#[derive(Debug)]
pub struct GenericPlan {
    physical: Arc<dyn ExecutionPlan>,
    inputs: Arc<RunInputs>,
    /// A function of it waits.
    waits: bool,
    /// What is part of it: placeholders, and what they stand for.
    frozen: Vec<(String, Expr)>,
}

impl GenericPlan {
    /// Plans for the run that is at hand, and others. Errors: those of planning; whatever cannot be generic.
    pub async fn new(
        planner: Planner,
        plan: Plan,
        catalogs: Arc<CatalogContext>,
        constants: Arc<Constants>,
    ) -> Result<GenericPlan> {
        check_limits(&plan, &constants)?;
        let (plan, frozen) = with_counts(plan, &constants)?;
        let waits = waits(&plan);
        let serial = Arc::new(serial(catalogs.statement()));
        let inputs = RunInputs::planning(Arc::clone(&catalogs), constants);
        let planned = AssertUnwindSafe(async {
            let planning = Planning::new(planner, serial, catalogs, Some(Arc::clone(&inputs)))?;
            let plan = with_inputs(plan, &inputs)?;
            planning.plan(plan).await.map_err(from_datafusion)
        });
        let planned = planned.catch_unwind().await;
        let physical = planned.unwrap_or_else(|panic| Err(from_panic(&*panic)))?;
        inputs.end();
        Ok(GenericPlan {
            physical,
            inputs,
            waits,
            frozen,
        })
    }

    /// Whether what is part of it is what these constants say. Errors: 42P02.
    pub fn serves(&self, constants: &Constants) -> Result<bool> {
        for (placeholder, value) in &self.frozen {
            if constants.get(placeholder)? != *value {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The schema of its rows.
    pub fn schema(&self) -> SchemaRef {
        self.physical.schema()
    }

    /// The rows of a run that begins; nothing is read before the first poll. Errors: the plan does not serve it.
    pub fn begin(
        &self,
        catalogs: Arc<CatalogContext>,
        constants: Arc<Constants>,
    ) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        self.inputs.begin(catalogs, constants);
        let started = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let mut physical = reset_plan_states(Arc::clone(&self.physical)).map_err(from_datafusion)?;
            if are_in(&self.physical) {
                physical = with_narrowed_probes(physical).map_err(from_datafusion)?;
            }
            // Functions that wait find the statement where the plan runs, not where it was made.
            let place = self.waits.then(|| self.inputs.catalogs());
            let context = run_context(&*self.inputs.given()?, place)?;
            execute_stream(physical, Arc::new(context)).map_err(from_datafusion)
        }));
        let started = started.unwrap_or_else(|panic| Err(from_panic(&*panic)));
        started.map(batches_of)
    }

    /// The run has ended: the plan holds nothing of its statement.
    pub fn end(&self) {
        self.inputs.end();
    }
}

/// The plan with the constants in its counts of rows, and which they are.
fn with_counts(plan: Plan, constants: &Constants) -> Result<(Plan, Vec<(String, Expr)>)> {
    let mut frozen = Vec::new();
    let counted = plan.transform_up_with_subqueries(|node| match node {
        Plan::Limit(_) => node.map_expressions(|count| {
            count.transform_up(|expr| match &expr {
                Expr::Placeholder(placeholder) => {
                    let value = constants.get(&placeholder.id)?;
                    frozen.push((placeholder.id.clone(), value.clone()));
                    Ok(Transformed::yes(value))
                }
                _ => Ok(Transformed::no(expr)),
            })
        }),
        node => Ok(Transformed::no(node)),
    });
    let plan = counted?.data;
    Ok((plan, frozen))
}
