//! Dependent joins as executable plans: `dependent_join_run` runs every subquery once for each distinct set of outer values.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};
use futures::{StreamExt, stream};

use super::StatementContext;
use super::datafusion_error::to_datafusion;
use super::dependent_join::{DependentJoin, SubPlan, SubPlanKind, is_volatile};
use super::dependent_join_run::{PhysicalSubPlan, Run};
use super::observed::CountMore;
use super::only_input::only_input;
use super::outer_values::{bind, example};
use super::pg_catalog::CatalogContext;
use super::shown_plans::ShownPlans;
use super::statement_state::{bare_state, executable, run_constants, serial, state_of, statement_catalogs};
use super::sub_plan_runs::{KeptSubPlan, SubPlanRuns};

/// Plans dependent joins.
#[derive(Debug)]
pub(super) struct DependentJoinPlanner;

#[async_trait]
impl ExtensionPlanner for DependentJoinPlanner {
    async fn plan_extension(
        &self,
        planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _logical_inputs: &[&LogicalPlan],
        physical_inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        planning: &PhysicalPlanningContext,
    ) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
        let Some(join) = node.as_any().downcast_ref::<DependentJoin>() else {
            return Ok(None);
        };
        let [input] = physical_inputs else {
            return Err(DataFusionError::Internal(
                "a dependent join has one input".to_string(),
            ));
        };
        let physical =
            |expr: &Expr| planner.create_physical_expr(expr, join.input.schema(), session, planning);
        let Some(state) = session.as_any().downcast_ref::<SessionState>() else {
            return Err(DataFusionError::Internal("a session of another kind".to_string()));
        };
        let mut sub_plans = Vec::with_capacity(join.sub_plans.len());
        for sub_plan in &join.sub_plans {
            let operand = match &sub_plan.kind {
                SubPlanKind::In { operand, .. } => Some(physical(operand)?),
                _ => None,
            };
            let bindings = sub_plan
                .bindings
                .iter()
                .map(|(_, expr)| physical(expr))
                .collect::<DataFusionResult<Vec<_>>>()?;
            sub_plans.push(PhysicalSubPlan {
                asks_each_row: !bindings.is_empty() && is_volatile(&sub_plan.plan)?,
                definition: sub_plan.clone(),
                plans: Arc::new(KeptSubPlan::new(sub_plan)),
                bindings,
                operand,
                asked_when: sub_plan.asked_when.as_ref().map(physical).transpose()?,
            });
        }
        let schema: SchemaRef = Arc::clone(join.schema.inner());
        Ok(Some(Arc::new(DependentJoinExec::new(
            Arc::clone(input),
            sub_plans,
            schema,
            Arc::new(bare_state(state)),
        ))))
    }
}

/// The executable node.
pub struct DependentJoinExec {
    input: Arc<dyn ExecutionPlan>,
    sub_plans: Vec<PhysicalSubPlan>,
    schema: SchemaRef,
    /// What subqueries are planned in, of no statement.
    base: Arc<SessionState>,
    properties: Arc<PlanProperties>,
    shown: Arc<ShownPlans>,
}

impl fmt::Debug for DependentJoinExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DependentJoinExec")
            .field("sub_plans", &self.sub_plans.len())
            .finish_non_exhaustive()
    }
}

impl DependentJoinExec {
    fn new(
        input: Arc<dyn ExecutionPlan>,
        sub_plans: Vec<PhysicalSubPlan>,
        schema: SchemaRef,
        base: Arc<SessionState>,
    ) -> DependentJoinExec {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        DependentJoinExec {
            input,
            sub_plans,
            schema,
            base,
            properties: Arc::new(properties),
            shown: Arc::default(),
        }
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
    pub fn shown(&self) -> &ShownPlans {
        &self.shown
    }

    /// Plans each subquery that has not run for some values, as an example of how it would. The values carry the outer
    /// columns' names: [`outer_name`].
    pub async fn plan_examples(&self, ctx: &StatementContext) -> DataFusionResult<()> {
        let catalogs = CatalogContext::new(Arc::new(ctx.clone()));
        let state = state_of(&self.base, &serial(ctx), &catalogs, None).map_err(to_datafusion)?;
        for (index, sub_plan) in self.sub_plans.iter().enumerate() {
            if self.shown.get(index).is_none() {
                let plan = bind(&sub_plan.definition, &example)?;
                let plan = executable(&state, &plan).await?;
                self.shown.set(index, plan, !sub_plan.bindings.is_empty())?;
            }
        }
        Ok(())
    }

    fn with_shown(&self, shown: Arc<ShownPlans>) -> DependentJoinExec {
        DependentJoinExec {
            shown,
            ..DependentJoinExec::new(
                Arc::clone(&self.input),
                self.sub_plans.clone(),
                Arc::clone(&self.schema),
                Arc::clone(&self.base),
            )
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
    fn required_input_distribution(&self) -> Vec<datafusion::physical_plan::Distribution> {
        vec![datafusion::physical_plan::Distribution::SinglePartition]
    }
    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        for sub_plan in &self.sub_plans {
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
        let join = DependentJoinExec::new(
            input,
            self.sub_plans.clone(),
            Arc::clone(&self.schema),
            Arc::clone(&self.base),
        );
        Ok(Arc::new(join.with_shown(Arc::clone(&self.shown))))
    }
    fn with_new_state(&self, state: Arc<dyn Any + Send + Sync>) -> Option<Arc<dyn ExecutionPlan>> {
        let earlier: Option<&DependentJoinExec> = CountMore::earlier(&*state)?;
        let shown = match earlier {
            Some(earlier) => Arc::clone(&earlier.shown),
            None => Arc::new(ShownPlans::that_run()),
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
        let runs = SubPlanRuns::new(
            Arc::clone(&self.base),
            catalogs,
            constants,
            Arc::clone(&self.shown),
        );
        let input = self.input.execute(partition, context)?;
        let run = Run::new(self.sub_plans.clone(), Arc::clone(&self.schema), runs, memory);
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
