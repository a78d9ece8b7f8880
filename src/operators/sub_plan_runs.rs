//! `SubPlanRuns`: how the subqueries of a dependent join are run for the outer rows: as short statements, or by generic plans, whose
//! parameters the outer columns are, or, where they cannot be, each planned for its constants.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion_common::Result as DataFusionResult;
use datafusion_physical_plan::execute_stream;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt};

use super::generic_plan::GenericPlan;
use super::planning::{Planner, Planning, serial};
use super::renamed_batch::as_rows_of;
use super::short::ShortPlan;
use super::subquery_plans::SubqueryPlans;
use crate::Result;
use crate::logical::outer_values::{bind, leave_open, named_after, new_names};
use crate::logical::placeholder::Constants;
use crate::system::datafusion_error::{from_datafusion, to_datafusion};
use crate::system::pg_catalog::CatalogContext;
use crate::tree::{Expr, Plan, ScalarValue, SubPlan, SubPlanKind, lit};

/// Rows that a kept plan did not serve, until each is planned for.
const MISFITS_MAX: u32 = 3;

/// The plans of one subquery, which runs of the join after one another share.
#[derive(Debug)]
pub(super) struct KeptSubPlan {
    /// The placeholders that its outer columns are.
    names: Vec<Arc<str>>,
    /// The subquery as a short statement, if it is one.
    short: OnceLock<Option<ShortSubPlan>>,
    /// Whether a run of that was not short.
    was_long: Arc<AtomicBool>,
    kept: Mutex<Kept>,
}

/// A subquery as a short statement, and the plan that it was made of.
#[derive(Debug)]
struct ShortSubPlan {
    chain: ShortPlan,
    plan: Arc<Plan>,
}

#[derive(Debug, Default)]
struct Kept {
    plan: Option<GenericPlan>,
    misfits: u32,
}

impl KeptSubPlan {
    /// Of a subquery that has not run.
    pub(super) fn new(definition: &SubPlan) -> KeptSubPlan {
        KeptSubPlan {
            names: new_names(definition),
            short: OnceLock::new(),
            was_long: Arc::default(),
            kept: Mutex::default(),
        }
    }

    /// See the field.
    fn short(&self, definition: &SubPlan) -> Option<&ShortSubPlan> {
        if self.was_long.load(Ordering::Relaxed) {
            return None;
        }
        let short = || {
            let plan = asked_of(definition, leave_open(definition, &self.names).ok()?);
            Some(ShortSubPlan {
                chain: ShortPlan::of(&plan)?,
                plan: Arc::new(plan),
            })
        };
        self.short.get_or_init(short).as_ref()
    }

    fn take(&self) -> Option<GenericPlan> {
        self.kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .plan
            .take()
    }

    fn give_back(&self, plan: GenericPlan) {
        plan.end();
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).plan = Some(plan);
    }

    fn is_given_up(&self) -> bool {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).misfits >= MISFITS_MAX
    }

    fn note_misfit(&self) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).misfits += 1;
    }
}

/// What a run of the join is a part of.
pub(super) struct SubPlanRuns {
    planner: Planner,
    /// The statement, and the catalogs as it sees them.
    catalogs: Arc<CatalogContext>,
    /// What the plan around the join leaves open.
    constants: Arc<Constants>,
    shown: Arc<SubqueryPlans>,
    /// What plans for one row run in.
    planning: OnceLock<Planning>,
}

/// The rows of one subquery for one outer row. The plan that gives them waits for the next when this is dropped.
pub(super) struct SubPlanRows<'a> {
    pub(super) schema: SchemaRef,
    pub(super) rows: BoxStream<'static, Result<RecordBatch>>,
    lease: Option<(&'a KeptSubPlan, GenericPlan)>,
}

impl Drop for SubPlanRows<'_> {
    fn drop(&mut self) {
        self.rows = futures::stream::empty().boxed();
        if let Some((plans, plan)) = self.lease.take() {
            plans.give_back(plan);
        }
    }
}

impl SubPlanRuns {
    pub(super) fn new(
        planner: Planner,
        catalogs: Arc<CatalogContext>,
        constants: Arc<Constants>,
        shown: Arc<SubqueryPlans>,
    ) -> SubPlanRuns {
        SubPlanRuns {
            planner,
            catalogs,
            constants,
            shown,
            planning: OnceLock::new(),
        }
    }

    /// The rows of the subquery at a place, for these values of its outer columns.
    pub(super) async fn rows<'a>(
        &self,
        (index, definition): (usize, &SubPlan),
        plans: &'a KeptSubPlan,
        values: &[ScalarValue],
    ) -> DataFusionResult<SubPlanRows<'a>> {
        if !self.shown.keeps_runs()
            && let Some(rows) = self.short(definition, plans, values).map_err(to_datafusion)?
        {
            return Ok(rows);
        }
        if !self.shown.keeps_runs() && !plans.is_given_up() {
            match Box::pin(self.generic(definition, plans, values)).await {
                Ok(rows) => return Ok(rows),
                Err(_) => plans.note_misfit(),
            }
        }
        self.planned((index, definition), values).await
    }

    /// As a short statement. `None`: with these values it is none.
    fn short(
        &self,
        definition: &SubPlan,
        plans: &KeptSubPlan,
        values: &[ScalarValue],
    ) -> Result<Option<SubPlanRows<'static>>> {
        let Some(short) = plans.short(definition) else {
            return Ok(None);
        };
        let constants = Arc::new(self.constants_of(plans, values));
        let long = || {
            let (planner, catalogs, plan) =
                (self.planner, Arc::clone(&self.catalogs), Arc::clone(&short.plan));
            let (constants, was_long) = (Arc::clone(&constants), Arc::clone(&plans.was_long));
            let planned = async move {
                was_long.store(true, Ordering::Relaxed);
                let (own, plan) = (Arc::clone(&constants), plan.as_ref().clone());
                let plan = GenericPlan::new(planner, plan, Arc::clone(&catalogs), own).await?;
                plan.begin(catalogs, constants)
            };
            planned.boxed()
        };
        let Some(rows) = short
            .chain
            .run(self.catalogs.statement(), &constants, None, long)?
        else {
            return Ok(None);
        };
        let schema = Arc::clone(definition.plan.schema().inner());
        let named = Arc::clone(&schema);
        let rows = rows.map(move |rows| as_rows_of(rows?.into_batch()?, &named));
        Ok(Some(SubPlanRows {
            schema,
            rows: rows.boxed(),
            lease: None,
        }))
    }

    /// What the plan of a subquery leaves open, for these values of its outer columns.
    fn constants_of(&self, plans: &KeptSubPlan, values: &[ScalarValue]) -> Constants {
        let outer = plans.names.iter().cloned().zip(values.iter().cloned());
        self.constants.with_outer(outer)
    }

    /// By the plan that is kept, or one that will be. Errors: it does not serve these values, or there is none.
    async fn generic<'a>(
        &self,
        definition: &SubPlan,
        plans: &'a KeptSubPlan,
        values: &[ScalarValue],
    ) -> Result<SubPlanRows<'a>> {
        let constants = Arc::new(self.constants_of(plans, values));
        let kept = plans.take();
        let plan = match kept.filter(|plan| matches!(plan.serves(&constants), Ok(true))) {
            Some(plan) => plan,
            None => {
                let plan = asked_of(definition, leave_open(definition, &plans.names)?);
                GenericPlan::new(
                    self.planner,
                    plan,
                    Arc::clone(&self.catalogs),
                    Arc::clone(&constants),
                )
                .await?
            }
        };
        Ok(SubPlanRows {
            schema: plan.schema(),
            rows: plan.begin(Arc::clone(&self.catalogs), constants)?,
            lease: Some((plans, plan)),
        })
    }

    /// By a plan for these values alone.
    async fn planned(
        &self,
        (index, definition): (usize, &SubPlan),
        values: &[ScalarValue],
    ) -> DataFusionResult<SubPlanRows<'static>> {
        let keeps = self.shown.keeps_runs();
        let constant = |at: usize, outer: &Expr| {
            let value = values.get(at)?.clone();
            Some((value, named_after(outer).filter(|_| keeps)))
        };
        let plan = asked_of(definition, bind(definition, &constant)?);
        let plan = self.constants.replace_in_plan(plan).map_err(to_datafusion)?;
        let planning = self.planning().map_err(to_datafusion)?;
        let physical = planning.plan(plan).await?;
        let physical = self.shown.counted(index, physical, !values.is_empty())?;
        let schema = physical.schema();
        let rows = execute_stream(physical, planning.task_context())?;
        Ok(SubPlanRows {
            schema,
            rows: rows.map(|batch| batch.map_err(from_datafusion)).boxed(),
            lease: None,
        })
    }

    fn planning(&self) -> Result<&Planning> {
        if let Some(planning) = self.planning.get() {
            return Ok(planning);
        }
        let serial = Arc::new(serial(self.catalogs.statement()));
        let planning = Planning::new(self.planner, serial, Arc::clone(&self.catalogs), None)?;
        Ok(self.planning.get_or_init(|| planning))
    }
}

/// What is asked of a subquery's plan: one row tells whether there is any.
fn asked_of(definition: &SubPlan, plan: Plan) -> Plan {
    match definition.kind {
        SubPlanKind::Exists { .. } => plan.limit(None, Some(lit(1_i64))),
        _ => plan,
    }
}
