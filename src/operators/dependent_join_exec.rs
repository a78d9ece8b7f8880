//! Dependent joins as executable plans: `dependent_join_run` runs every subquery once for each distinct set of outer values. The order
//! of the outer rows stays.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::Result as DataFusionResult;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::{StreamExt, stream};

use super::dependent_join_run::{PhysicalSubPlan, Run};
use super::node_properties;
use super::observer::CountMore;
use super::physical_expr::ExprBuilder;
use super::planning::{Planner, Planning, run_constants, serial, statement_catalogs};
use super::sub_plan_runs::{KeptSubPlan, SubPlanRuns};
use super::subquery_plans::SubqueryPlans;
use crate::Result;
use crate::logical::dependent_join::is_volatile;
use crate::logical::outer_values::{bind, example};
use crate::operators::node_properties::only_input;
use crate::system::StatementContext;
use crate::system::datafusion_error::to_datafusion;
use crate::system::pg_catalog::CatalogContext;
use crate::tree::{DependentJoin, Expr, SubPlan, SubPlanKind};

/// The executable node.
#[derive(Clone)]
pub struct DependentJoinExec {
    input: Arc<dyn ExecutionPlan>,
    sub_plans: Arc<[PhysicalSubPlan]>,
    schema: SchemaRef,
    /// What makes its subqueries executable.
    planner: Planner,
    properties: Arc<PlanProperties>,
    shown: Arc<SubqueryPlans>,
}

impl fmt::Debug for DependentJoinExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DependentJoinExec")
            .field("sub_plans", &self.sub_plans.len())
            .finish_non_exhaustive()
    }
}

impl DependentJoinExec {
    /// The node over its input.
    pub(super) fn build(
        join: &DependentJoin,
        input: Arc<dyn ExecutionPlan>,
        planner: Planner,
        exprs: &ExprBuilder,
    ) -> DataFusionResult<DependentJoinExec> {
        let physical = |own: &Expr| exprs.build(own, join.input.schema());
        let sub_plans = join.sub_plans.iter().map(|sub_plan| {
            let operand = match &sub_plan.kind {
                SubPlanKind::In { operand, .. } => Some(physical(operand)?),
                _ => None,
            };
            let bindings = sub_plan.bindings.iter().map(|(_, outer)| physical(outer));
            Ok(PhysicalSubPlan {
                asks_each_row: !sub_plan.bindings.is_empty() && is_volatile(&sub_plan.plan)?,
                definition: sub_plan.clone(),
                plans: Arc::new(KeptSubPlan::new(sub_plan)),
                bindings: bindings.collect::<DataFusionResult<Vec<_>>>()?,
                operand,
                asked_when: sub_plan.asked_when.as_ref().map(physical).transpose()?,
            })
        });
        let sub_plans = sub_plans.collect::<DataFusionResult<_>>()?;
        let schema = Arc::clone(join.schema.inner());
        DependentJoinExec::new(input, sub_plans, schema, planner)
    }

    fn new(
        input: Arc<dyn ExecutionPlan>,
        sub_plans: Arc<[PhysicalSubPlan]>,
        schema: SchemaRef,
        planner: Planner,
    ) -> DataFusionResult<DependentJoinExec> {
        let properties = node_properties::beside_input(&input, &schema)?;
        Ok(DependentJoinExec {
            input,
            sub_plans,
            schema,
            planner,
            properties,
            shown: Arc::default(),
        })
    }

    /// What it reads.
    pub fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    /// Its subqueries.
    pub fn sub_plans(&self) -> impl Iterator<Item = &SubPlan> {
        self.sub_plans.iter().map(|sub_plan| &sub_plan.definition)
    }

    /// What EXPLAIN shows of its subqueries.
    pub fn shown(&self) -> &SubqueryPlans {
        &self.shown
    }

    /// Plans each subquery that has not run for some values, as an example of how it would. The values carry the outer
    /// columns' names: [`outer_name`].
    pub async fn plan_examples(&self, ctx: &StatementContext) -> Result<()> {
        let catalogs = CatalogContext::new(Arc::new(ctx.clone()));
        let planning = Planning::new(self.planner, Arc::new(serial(ctx)), catalogs, None)?;
        for (index, sub_plan) in self.sub_plans.iter().enumerate() {
            if self.shown.get(index).is_none() {
                let plan = bind(&sub_plan.definition, &example)?;
                let plan = planning.plan(plan).await?;
                self.shown.set(index, plan, !sub_plan.bindings.is_empty())?;
            }
        }
        Ok(())
    }

    fn with_shown(&self, shown: Arc<SubqueryPlans>) -> DependentJoinExec {
        DependentJoinExec {
            shown,
            ..self.clone()
        }
    }
}

impl DisplayAs for DependentJoinExec {
    fn fmt_as(&self, _format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        let kinds: Vec<&str> = self
            .sub_plans
            .iter()
            .map(|sub_plan| match sub_plan.definition.kind {
                SubPlanKind::Scalar => "scalar",
                SubPlanKind::Exists { .. } => "exists",
                SubPlanKind::In { .. } => "in",
                SubPlanKind::Rows { .. } => "lateral",
            })
            .collect();
        write!(f, "DependentJoinExec: {}", kinds.join(", "))
    }
}

impl ExecutionPlan for DependentJoinExec {
    fn name(&self) -> &str {
        "DependentJoinExec"
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }
    fn required_input_distribution(&self) -> Vec<datafusion_physical_plan::Distribution> {
        vec![datafusion_physical_plan::Distribution::SinglePartition]
    }
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }
    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        for sub_plan in self.sub_plans.iter() {
            let exprs = sub_plan.bindings.iter().chain(&sub_plan.operand);
            for expr in exprs.chain(&sub_plan.asked_when) {
                if f(expr)? == TreeNodeRecursion::Stop {
                    return Ok(TreeNodeRecursion::Stop);
                }
            }
        }
        Ok(TreeNodeRecursion::Continue)
    }
    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let input = only_input(children)?;
        Ok(Arc::new(DependentJoinExec {
            properties: node_properties::beside_input(&input, &self.schema)?,
            input,
            ..self.as_ref().clone()
        }))
    }
    fn with_new_state(&self, state: Arc<dyn Any + Send + Sync>) -> Option<Arc<dyn ExecutionPlan>> {
        let earlier: Option<&DependentJoinExec> = CountMore::earlier(&*state)?;
        let shown = match earlier {
            Some(earlier) => Arc::clone(&earlier.shown),
            None => Arc::new(SubqueryPlans::that_run()),
        };
        Some(Arc::new(self.with_shown(shown)))
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let memory = Arc::clone(context.memory_pool());
        let catalogs = statement_catalogs(context.session_config())?;
        let constants = run_constants(context.session_config()).map_err(to_datafusion)?;
        let runs = SubPlanRuns::new(self.planner, catalogs, constants, Arc::clone(&self.shown));
        let input = self.input.execute(partition, context)?;
        let run = Run::new(
            Arc::clone(&self.sub_plans),
            Arc::clone(&self.schema),
            runs,
            memory,
        );
        let batches = stream::try_unfold((input, run), |(mut input, mut run)| async move {
            loop {
                if let Some(piece) = run.next().await? {
                    return Ok(Some((piece, (input, run))));
                }
                match input.next().await {
                    Some(batch) => run.begin(batch?)?,
                    None => return Ok(None),
                }
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            batches.boxed(),
        )))
    }
}
