//! `SubqueryPlans`: what EXPLAIN shows of the subqueries of a dependent join, which are planned when they run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion_common::Result as DataFusionResult;
use datafusion_physical_plan::ExecutionPlan;

use super::observer::{observe, observe_again};

/// The plans of subqueries that EXPLAIN shows: those that ran first, with the figures of all runs, or examples.
#[derive(Default)]
pub struct SubqueryPlans {
    /// Whether runs are kept.
    keeps: bool,
    plans: Mutex<HashMap<usize, ShownPlan>>,
}

/// How a subquery is run.
#[derive(Debug, Clone)]
pub struct ShownPlan {
    /// Its plan.
    pub plan: Arc<dyn ExecutionPlan>,
    /// Whether it holds outer values, which are others the next time.
    pub varies: bool,
}

impl SubqueryPlans {
    /// Those of subqueries that are about to run.
    pub(super) fn that_run() -> SubqueryPlans {
        SubqueryPlans {
            keeps: true,
            plans: Mutex::default(),
        }
    }

    pub(super) fn keeps_runs(&self) -> bool {
        self.keeps
    }

    /// That of the subquery at this place.
    pub fn get(&self, index: usize) -> Option<ShownPlan> {
        self.lock().get(&index).cloned()
    }

    pub(super) fn set(
        &self,
        index: usize,
        plan: Arc<dyn ExecutionPlan>,
        varies: bool,
    ) -> DataFusionResult<()> {
        let plan = match self.keeps {
            true => observe(plan)?,
            false => plan,
        };
        self.lock().insert(index, ShownPlan { plan, varies });
        Ok(())
    }

    /// The plan with counters, when runs are kept.
    pub(super) fn counted(
        &self,
        index: usize,
        plan: Arc<dyn ExecutionPlan>,
        varies: bool,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        if !self.keeps {
            return Ok(plan);
        }
        if let Some(first) = self.get(index) {
            return observe_again(plan, &first.plan);
        }
        let plan = observe(plan)?;
        let shown = ShownPlan {
            plan: Arc::clone(&plan),
            varies,
        };
        self.lock().insert(index, shown);
        Ok(plan)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<usize, ShownPlan>> {
        self.plans.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
