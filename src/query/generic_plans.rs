//! Generic plans, as PostgreSQL calls those that serve all values of their parameters: a query that was short when it ran by a custom
//! plan keeps its operators from then on. A run puts its constants in, has the ranges of its scans planned, and begins.
//!
//! 1. What a plan cannot leave open (the counts of LIMIT) is part of it, and a run with others does not take that plan.
//! 2. A run whose scans would be of another form than those that the plan was made for (another key, another order), or would be
//!    refused, makes nothing visible: it is planned anew, in the end as a custom plan.
//! 3. Operators have state, so a plan serves one run at a time; runs at once have a plan each.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use futures::{FutureExt, StreamExt, stream};

use super::{BatchStream, PlannedQuery};
use crate::Result;
use crate::exec::StatementContext;
use crate::exec::allowance::within_allowance;
use crate::exec::datafusion_error::{from_datafusion, from_panic, to_datafusion};
use crate::exec::datafusion_state::{begun, generic_physical_plan, run_context};
use crate::exec::limit_counts::check_limits;
use crate::exec::placeholder::Constants;
use crate::exec::query_threads;
use crate::exec::run_inputs::RunInputs;

/// A run that took longer is not short: that it is planned each time by its constants, and read by several readers, is worth more.
const SHORT: Duration = Duration::from_millis(20);
/// Plans that wait for their next run.
const IDLE_MAX: usize = 4;
/// Runs that no kept plan served, until the query is planned each time.
const MISFITS_MAX: u32 = 8;

/// The plans of one query.
#[derive(Debug, Default)]
pub(super) struct GenericPlans {
    idle: Mutex<Vec<GenericPlan>>,
    /// The last run was short.
    is_short: AtomicBool,
    /// It cannot be generic, or not for long.
    is_given_up: AtomicBool,
    misfits: AtomicU32,
}

/// One plan.
#[derive(Debug)]
struct GenericPlan {
    physical: Arc<dyn ExecutionPlan>,
    inputs: Arc<RunInputs>,
    /// What is part of it: placeholders, and what they stand for.
    frozen: Vec<(String, Expr)>,
}

impl GenericPlans {
    /// Whether the next run is by such a plan.
    pub(super) fn are_used(&self) -> bool {
        self.is_short.load(Ordering::Relaxed) && !self.is_given_up.load(Ordering::Relaxed)
    }

    /// The rows of a run with the context's parameters. `None`: it needs a custom plan.
    pub(super) async fn run(
        self: &Arc<Self>,
        ctx: &StatementContext,
        query: &Arc<PlannedQuery>,
    ) -> Result<Option<BatchStream>> {
        let constants = Arc::new(Constants::new(ctx, &query.parameters)?);
        let ctx = Arc::new(ctx.clone());
        while let Some(plan) = self.take(&constants)? {
            match self.start(plan, &ctx, &constants) {
                Ok(batches) => return Ok(Some(batches)),
                Err(_) => self.note_misfit(),
            }
        }
        if !self.are_used() {
            return Ok(None);
        }
        let planned = GenericPlan::new(Arc::clone(&ctx), Arc::clone(query), Arc::clone(&constants));
        let started = match Box::pin(query_threads::run(planned)).await {
            Ok(plan) => self.start(plan, &ctx, &constants),
            Err(error) => Err(error),
        };
        if started.is_err() {
            // The custom plan says what is wrong, if something is.
            self.note_misfit();
        }
        Ok(started.ok())
    }

    /// A plan that waits, and serves these constants.
    fn take(&self, constants: &Constants) -> Result<Option<GenericPlan>> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        for at in 0..idle.len() {
            if idle[at].serves(constants)? {
                return Ok(Some(idle.swap_remove(at)));
            }
        }
        Ok(None)
    }

    fn note_misfit(&self) {
        if self.misfits.fetch_add(1, Ordering::Relaxed) >= MISFITS_MAX {
            self.is_given_up.store(true, Ordering::Relaxed);
        }
    }

    /// Begins a run. Errors: the plan does not serve it.
    fn start(
        self: &Arc<Self>,
        plan: GenericPlan,
        ctx: &Arc<StatementContext>,
        constants: &Arc<Constants>,
    ) -> Result<BatchStream> {
        let rows = plan.rows(ctx, constants)?;
        let lease = Lease {
            plans: Arc::clone(self),
            plan: Some(plan),
        };
        Ok(within_allowance(self.timed(leased(rows, lease))))
    }

    /// The rows of a run, which tell whether it was short.
    pub(super) fn timed(self: &Arc<Self>, mut rows: BatchStream) -> BatchStream {
        let plans = Arc::clone(self);
        let mut took = Duration::ZERO;
        let mut begun = None;
        stream::poll_fn(move |context| {
            let since = *begun.get_or_insert_with(Instant::now);
            let row = futures::ready!(rows.poll_next_unpin(context));
            took += since.elapsed();
            begun = None;
            if row.is_none() {
                plans.is_short.store(took < SHORT, Ordering::Relaxed);
            }
            Poll::Ready(row)
        })
        .boxed()
    }
}

/// The rows of a plan that waits again once they are all given, or dropped.
fn leased(rows: BatchStream, lease: Lease) -> BatchStream {
    let mut running = Some((rows, lease));
    stream::poll_fn(move |context| {
        let Some((rows, _)) = &mut running else {
            return Poll::Ready(None);
        };
        let row = futures::ready!(rows.poll_next_unpin(context));
        if row.is_none() {
            running = None;
        }
        Poll::Ready(row)
    })
    .boxed()
}

/// A plan that runs, and waits again when this is dropped.
struct Lease {
    plans: Arc<GenericPlans>,
    plan: Option<GenericPlan>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(plan) = self.plan.take() else { return };
        plan.inputs.end();
        let mut idle = self.plans.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() >= IDLE_MAX {
            idle.remove(0);
        }
        idle.push(plan);
    }
}

impl GenericPlan {
    /// Plans a query for the run that is at hand, and others. Errors: those of planning; whatever cannot be generic.
    async fn new(
        ctx: Arc<StatementContext>,
        query: Arc<PlannedQuery>,
        constants: Arc<Constants>,
    ) -> Result<GenericPlan> {
        check_limits(&query.plan, &constants)?;
        let (logical, frozen) = with_counts(query.plan.clone(), &constants)?;
        let inputs = RunInputs::planning(ctx, constants);
        let planned = AssertUnwindSafe(generic_physical_plan(&inputs, logical)).catch_unwind();
        let physical = planned.await.unwrap_or_else(|panic| Err(from_panic(&*panic)))?;
        inputs.end();
        Ok(GenericPlan {
            physical,
            inputs,
            frozen,
        })
    }

    /// The rows of a run that begins. Errors: the plan does not serve it.
    fn rows(&self, ctx: &Arc<StatementContext>, constants: &Arc<Constants>) -> Result<BatchStream> {
        self.inputs.begin(Arc::clone(ctx), Arc::clone(constants));
        let started = std::panic::catch_unwind(AssertUnwindSafe(|| {
            let physical = begun(&self.physical).map_err(from_datafusion)?;
            let context = run_context(&*self.inputs.given()?)?;
            execute_stream(physical, Arc::new(context)).map_err(from_datafusion)
        }));
        let batches = started.unwrap_or_else(|panic| Err(from_panic(&*panic)))?;
        let batches = AssertUnwindSafe(batches).catch_unwind();
        Ok(batches
            .map(|batch| match batch {
                Ok(batch) => batch.map_err(from_datafusion),
                Err(panic) => Err(from_panic(&*panic)),
            })
            .boxed())
    }

    /// Whether what is part of it is what these constants say.
    fn serves(&self, constants: &Constants) -> Result<bool> {
        for (placeholder, value) in &self.frozen {
            if constants.get(placeholder)? != *value {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The plan with the constants in its counts of rows, and which they are.
fn with_counts(plan: LogicalPlan, constants: &Constants) -> Result<(LogicalPlan, Vec<(String, Expr)>)> {
    let mut frozen = Vec::new();
    let counted = plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Limit(_) => node.map_expressions(|count| {
            count.transform_up(|expr| match &expr {
                Expr::Placeholder(placeholder) => {
                    let value = constants.get(&placeholder.id).map_err(to_datafusion)?;
                    frozen.push((placeholder.id.clone(), value.clone()));
                    Ok(Transformed::yes(value))
                }
                _ => Ok(Transformed::no(expr)),
            })
        }),
        node => Ok(Transformed::no(node)),
    });
    let plan = counted.map_err(from_datafusion)?.data;
    Ok((plan, frozen))
}
