//! Executes dependent joins: every subquery is planned and run once for each distinct set of outer values.

use std::any::Any;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, UInt64Array};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::ScalarValue;
use datafusion::common::metadata::FieldMetadata;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, UserDefinedLogicalNode};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, execute_stream,
};
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};
use futures::{StreamExt, stream};

use super::datafusion_error::to_datafusion;
use super::dependent_join::{DependentJoin, SubPlan, SubPlanKind, is_volatile, transform_expressions};
use super::observed::CountMore;
use super::only_input::only_input;
use super::shown_plans::ShownPlans;
use super::statement_state::serial_state;
use crate::Error;

/// Distinct sets of outer values whose answers are kept.
const ANSWERS_MAX: usize = 10_000;
/// Rows of an answer at most: it is held in memory.
const ANSWER_ROWS_MAX: usize = 5_000_000;

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
                bindings,
                operand,
            });
        }
        let schema: SchemaRef = Arc::clone(join.schema.inner());
        Ok(Some(Arc::new(DependentJoinExec::new(
            Arc::clone(input),
            sub_plans,
            schema,
            Arc::new(serial_state(state)?),
        ))))
    }
}

#[derive(Debug, Clone)]
struct PhysicalSubPlan {
    definition: SubPlan,
    /// Rows of equal outer values may get different answers: of volatile functions.
    asks_each_row: bool,
    bindings: Vec<Arc<dyn PhysicalExpr>>,
    operand: Option<Arc<dyn PhysicalExpr>>,
}

/// The executable node.
pub struct DependentJoinExec {
    input: Arc<dyn ExecutionPlan>,
    sub_plans: Vec<PhysicalSubPlan>,
    schema: SchemaRef,
    state: Arc<SessionState>,
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
        state: Arc<SessionState>,
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
            state,
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
    pub async fn plan_examples(&self) -> DataFusionResult<()> {
        for (index, sub_plan) in self.sub_plans.iter().enumerate() {
            if self.shown.get(index).is_none() {
                let plan = bind(&sub_plan.definition, &example)?;
                let plan = self.state.create_physical_plan(&plan).await?;
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
                Arc::clone(&self.state),
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
            for expr in sub_plan.bindings.iter().chain(&sub_plan.operand) {
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
            Arc::clone(&self.state),
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
        let input = self.input.execute(partition, context)?;
        let run = Run {
            sub_plans: self.sub_plans.clone(),
            answers: vec![HashMap::new(); self.sub_plans.len()],
            schema: Arc::clone(&self.schema),
            state: Arc::clone(&self.state),
            shown: Arc::clone(&self.shown),
        };
        let batches = stream::try_unfold((input, run), |(mut input, mut run)| async move {
            match input.next().await {
                None => Ok(None),
                Some(Err(error)) => Err(error),
                Some(Ok(batch)) => {
                    let joined = run.join(batch).await?;
                    Ok(Some((joined, (input, run))))
                }
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(
            Arc::clone(&self.schema),
            batches.boxed(),
        )))
    }
}

/// What a subquery gave for one set of outer values.
#[derive(Debug, Clone)]
enum Answer {
    Scalar(ScalarValue),
    Exists(bool),
    Set {
        values: Arc<HashSet<ScalarValue>>,
        has_null: bool,
    },
    Rows(RecordBatch),
}

/// One execution: the answers found so far.
struct Run {
    sub_plans: Vec<PhysicalSubPlan>,
    answers: Vec<HashMap<Vec<ScalarValue>, Answer>>,
    schema: SchemaRef,
    state: Arc<SessionState>,
    shown: Arc<ShownPlans>,
}

impl Run {
    async fn join(&mut self, batch: RecordBatch) -> DataFusionResult<RecordBatch> {
        let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
        for index in 0..self.sub_plans.len() {
            let answers = self.answers_for(index, &batch).await?;
            let sub_plan = &self.sub_plans[index];
            match &sub_plan.definition.kind {
                SubPlanKind::Rows { keep_left, .. } => return self.lateral(&batch, answers, *keep_left),
                SubPlanKind::In { negated, .. } => {
                    let operand = match &sub_plan.operand {
                        Some(operand) => operand.evaluate(&batch)?.into_array(batch.num_rows())?,
                        None => return Err(DataFusionError::Internal("IN without an operand".to_string())),
                    };
                    columns.push(Arc::new(membership(&operand, &answers, *negated)?));
                }
                SubPlanKind::Exists { negated } => {
                    let found = answers.iter().map(|answer| match answer {
                        Answer::Exists(found) => Some(found != negated),
                        _ => None,
                    });
                    columns.push(Arc::new(found.collect::<BooleanArray>()));
                }
                SubPlanKind::Scalar => {
                    let ty = self.schema.field(columns.len()).data_type().clone();
                    let scalars: Vec<ScalarValue> = answers
                        .into_iter()
                        .map(|answer| match answer {
                            Answer::Scalar(scalar) => Ok(scalar),
                            _ => ScalarValue::try_from(&ty),
                        })
                        .collect::<DataFusionResult<_>>()?;
                    columns.push(match scalars.is_empty() {
                        true => arrow::array::new_empty_array(&ty),
                        false => ScalarValue::iter_to_array(scalars)?,
                    });
                }
            }
        }
        let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(
            Arc::clone(&self.schema),
            columns,
            &options,
        )?)
    }

    /// One answer a row; rows of equal outer values share theirs, unless it is volatile.
    async fn answers_for(&mut self, index: usize, batch: &RecordBatch) -> DataFusionResult<Vec<Answer>> {
        let arrays = self.sub_plans[index]
            .bindings
            .iter()
            .map(|expr| expr.evaluate(batch)?.into_array(batch.num_rows()))
            .collect::<DataFusionResult<Vec<_>>>()?;
        let mut answers = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            let key = arrays
                .iter()
                .map(|array| ScalarValue::try_from_array(array, row))
                .collect::<DataFusionResult<Vec<_>>>()?;
            let asks_each_row = self.sub_plans[index].asks_each_row;
            let answer = match self.answers[index].get(&key) {
                _ if asks_each_row => self.answer(index, &key).await?,
                Some(known) => known.clone(),
                None => {
                    let answer = self.answer(index, &key).await?;
                    if self.answers[index].len() >= ANSWERS_MAX {
                        self.answers[index].clear();
                    }
                    self.answers[index].insert(key, answer.clone());
                    answer
                }
            };
            answers.push(answer);
        }
        Ok(answers)
    }

    /// Runs a subquery with outer values as constants.
    async fn answer(&self, index: usize, values: &[ScalarValue]) -> DataFusionResult<Answer> {
        let definition = &self.sub_plans[index].definition;
        let keeps = self.shown.keeps_runs();
        let constant = |at: usize, outer: &Expr| {
            let value = values.get(at)?.clone();
            Some((value, named_after(outer).filter(|_| keeps)))
        };
        let mut plan = bind(definition, &constant)?;
        if let SubPlanKind::Exists { .. } = definition.kind {
            plan = LogicalPlanBuilder::new(plan).limit(0, Some(1))?.build()?;
        }
        let physical = self.state.create_physical_plan(&plan).await?;
        let physical = self.shown.counted(index, physical, !values.is_empty())?;
        let schema = physical.schema();
        let mut rows = execute_stream(physical, self.state.task_ctx())?;
        let mut batches: Vec<RecordBatch> = Vec::new();
        let mut count = 0;
        while let Some(batch) = rows.next().await {
            let batch = batch?;
            count += batch.num_rows();
            match definition.kind {
                SubPlanKind::Scalar if count > 1 => return Err(to_datafusion(Error::CardinalityViolation)),
                SubPlanKind::Exists { .. } if count > 0 => return Ok(Answer::Exists(true)),
                _ if count > ANSWER_ROWS_MAX => {
                    return Err(DataFusionError::ResourcesExhausted(
                        "the answer of a subquery".to_string(),
                    ));
                }
                _ => batches.push(batch),
            }
        }
        let rows = concat_batches(&schema, &batches)?;
        match &definition.kind {
            SubPlanKind::Exists { .. } => Ok(Answer::Exists(false)),
            SubPlanKind::Scalar if count == 0 => Ok(Answer::Scalar(ScalarValue::try_from(
                schema.field(0).data_type(),
            )?)),
            SubPlanKind::Scalar => Ok(Answer::Scalar(ScalarValue::try_from_array(rows.column(0), 0)?)),
            SubPlanKind::Rows { .. } => Ok(Answer::Rows(rows)),
            SubPlanKind::In { .. } => {
                let mut values = HashSet::with_capacity(count);
                let mut has_null = false;
                for row in 0..count {
                    let value = ScalarValue::try_from_array(rows.column(0), row)?;
                    if value.is_null() {
                        has_null = true;
                    } else {
                        values.insert(value);
                    }
                }
                Ok(Answer::Set {
                    values: Arc::new(values),
                    has_null,
                })
            }
        }
    }

    /// The input's rows, each as often as it has rows beside it.
    fn lateral(
        &self,
        batch: &RecordBatch,
        answers: Vec<Answer>,
        keep_left: bool,
    ) -> DataFusionResult<RecordBatch> {
        let mut left_rows: Vec<u64> = Vec::new();
        let width = self.schema.fields().len() - batch.num_columns();
        let right_schema: SchemaRef = Arc::new(arrow::datatypes::Schema::new(
            self.schema.fields()[batch.num_columns()..].to_vec(),
        ));
        let mut parts: Vec<RecordBatch> = Vec::new();
        for (row, answer) in answers.into_iter().enumerate() {
            let Answer::Rows(rows) = answer else {
                return Err(DataFusionError::Internal(
                    "a lateral join without rows".to_string(),
                ));
            };
            let row = u64::try_from(row).unwrap_or(u64::MAX);
            if rows.num_rows() == 0 && keep_left {
                left_rows.push(row);
                let nulls: Vec<ArrayRef> = (0..width)
                    .map(|at| arrow::array::new_null_array(right_schema.field(at).data_type(), 1))
                    .collect();
                parts.push(RecordBatch::try_new(Arc::clone(&right_schema), nulls)?);
                continue;
            }
            left_rows.extend(std::iter::repeat_n(row, rows.num_rows()));
            parts.push(RecordBatch::try_new(
                Arc::clone(&right_schema),
                rows.columns().to_vec(),
            )?);
        }
        let left = take_record_batch(batch, &UInt64Array::from(left_rows))?;
        let right = concat_batches(&right_schema, &parts)?;
        let mut columns = left.columns().to_vec();
        columns.extend(right.columns().iter().cloned());
        Ok(RecordBatch::try_new(Arc::clone(&self.schema), columns)?)
    }
}

/// `operand [NOT] IN set`: NULL when the operand is NULL (of a set that is not empty) or only a NULL might match.
fn membership(operand: &ArrayRef, answers: &[Answer], negated: bool) -> DataFusionResult<BooleanArray> {
    let mut found = Vec::with_capacity(answers.len());
    for (row, answer) in answers.iter().enumerate() {
        let Answer::Set { values, has_null } = answer else {
            return Err(DataFusionError::Internal("IN without a set".to_string()));
        };
        let value = ScalarValue::try_from_array(operand, row)?;
        let truth = if values.is_empty() && !has_null {
            Some(false)
        } else if value.is_null() {
            None
        } else if values.contains(&value) {
            Some(true)
        } else if *has_null {
            None
        } else {
            Some(false)
        };
        found.push(truth.map(|truth| truth != negated));
    }
    Ok(BooleanArray::from(found))
}

/// A constant for an outer column: the binding's place and the column.
type OuterValue<'a> = &'a dyn Fn(usize, &Expr) -> Option<(ScalarValue, Option<FieldMetadata>)>;

/// The subquery's plan with outer values in place of outer columns, also in the subqueries inside it.
fn bind(definition: &SubPlan, value: OuterValue<'_>) -> DataFusionResult<LogicalPlan> {
    if definition.bindings.is_empty() {
        return Ok(definition.plan.as_ref().clone());
    }
    let replace = |expr: Expr| -> DataFusionResult<Transformed<Expr>> {
        use datafusion::common::tree_node::TreeNode;
        expr.transform_up(|expr| match &expr {
            Expr::OuterReferenceColumn(_, column) => {
                let at = definition.bindings.iter().position(|(name, _)| name == column);
                match at.and_then(|at| value(at, &expr)) {
                    Some((value, metadata)) => Ok(Transformed::yes(Expr::Literal(value, metadata))),
                    None => Ok(Transformed::no(expr)),
                }
            }
            _ => Ok(Transformed::no(expr)),
        })
    };
    transform_expressions(definition.plan.as_ref().clone(), &replace)
}

/// The key of a constant's metadata under which it carries the name of its outer column, for EXPLAIN.
const OUTER_NAME: &str = "keyspan.outer";

/// Some value of an outer column's type, which says what it stands for.
fn example(_: usize, outer: &Expr) -> Option<(ScalarValue, Option<FieldMetadata>)> {
    let Expr::OuterReferenceColumn(field, _) = outer else {
        return None;
    };
    let value = ScalarValue::new_default(field.data_type()).ok()?;
    Some((value, named_after(outer)))
}

/// What makes a constant known by the outer column that it stands for.
fn named_after(outer: &Expr) -> Option<FieldMetadata> {
    let Expr::OuterReferenceColumn(_, column) = outer else {
        return None;
    };
    let name = (OUTER_NAME.to_string(), column.flat_name());
    Some(FieldMetadata::from(BTreeMap::from([name])))
}

/// The outer column that an example value stands for.
pub fn outer_name(metadata: &FieldMetadata) -> Option<&str> {
    metadata.inner().get(OUTER_NAME).map(String::as_str)
}
