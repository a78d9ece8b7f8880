//! `GenericPlans`: a query that was short when it ran by a custom plan keeps its operators from then on ([`GenericPlan`]). Runs at once
//! have a plan each.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use futures::{StreamExt, stream};

use super::experience::{Experience, SHORT};
use super::{BatchStream, PlannedQuery};
use crate::Result;
use crate::logical::placeholder::Constants;
use crate::operators::generic_plan::GenericPlan;
use crate::operators::planner;
use crate::system::StatementContext;
use crate::system::allowance::within_allowance;
use crate::system::pg_catalog::CatalogContext;
use crate::system::query_threads;

/// By a kept plan, which has one reader, a short run may take longer; so a query does not go to and fro.
const SHORT_BY_KEPT_PLAN: Duration = Duration::from_millis(20);
/// Plans that wait for their next run.
const IDLE_MAX: usize = 4;
/// Runs that no kept plan served, until the query is planned each time.
const MISFITS_MAX: u32 = 8;

/// The plans of one query.
#[derive(Debug, Default)]
pub(super) struct GenericPlans {
    idle: Mutex<Vec<GenericPlan>>,
    experience: Experience,
    /// It cannot be generic, or not for long.
    is_given_up: AtomicBool,
    misfits: AtomicU32,
}

impl GenericPlans {
    /// Whether the next run is by such a plan.
    pub(super) fn are_used(&self) -> bool {
        self.experience.is_short() && !self.is_given_up.load(Ordering::Relaxed)
    }

    /// The rows of a run with the context's parameters. `None`: it needs a custom plan.
    pub(super) async fn run(
        self: &Arc<Self>,
        ctx: &StatementContext,
        query: &Arc<PlannedQuery>,
    ) -> Result<Option<BatchStream>> {
        let constants = Arc::new(Constants::new(ctx, &query.parameters)?);
        let catalogs = CatalogContext::new(Arc::new(ctx.clone()));
        while let Some(plan) = self.take(&constants)? {
            match self.start(plan, &catalogs, &constants) {
                Ok(batches) => return Ok(Some(batches)),
                Err(_) => self.note_misfit(),
            }
        }
        if !self.are_used() {
            return Ok(None);
        }
        let logical = query.plan.clone();
        let planned = GenericPlan::new(
            planner::executable,
            logical,
            Arc::clone(&catalogs),
            Arc::clone(&constants),
        );
        let started = match Box::pin(query_threads::run(planned)).await {
            Ok(plan) => self.start(plan, &catalogs, &constants),
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
        catalogs: &Arc<CatalogContext>,
        constants: &Arc<Constants>,
    ) -> Result<BatchStream> {
        let rows = plan.begin(Arc::clone(catalogs), Arc::clone(constants))?;
        let lease = Lease {
            plans: Arc::clone(self),
            plan: Some(plan),
        };
        let rows = leased(rows, lease);
        Ok(within_allowance(self.experience.timed(rows, SHORT_BY_KEPT_PLAN)))
    }

    /// The rows of a run by a custom plan, which tell whether it was short.
    pub(super) fn watched(&self, rows: BatchStream) -> BatchStream {
        self.experience.timed(rows, SHORT)
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
        plan.end();
        let mut idle = self.plans.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() >= IDLE_MAX {
            idle.remove(0);
        }
        idle.push(plan);
    }
}
