//! The dependent join: for every row of its input it answers subqueries whose plans refer to that row's columns. It
//! computes what DataFusion cannot decorrelate (or would answer otherwise than PostgreSQL): the subquery is planned and
//! run once for every distinct set of outer values, with those values as constants, so that keyed reads stay keyed.
//! The binder places it in logical plans; `DependentJoinPlanner` makes it executable.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, UInt64Array};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::{DataType, Field, FieldRef, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, DFSchemaRef, ScalarValue, TableReference};
use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{
    Expr, Extension, LogicalPlan, LogicalPlanBuilder, UserDefinedLogicalNode, UserDefinedLogicalNodeCore,
};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, execute_stream,
};
use datafusion::physical_planner::{ExtensionPlanner, PhysicalPlanner};
use futures::{StreamExt, stream};

use super::datafusion_error::{from_datafusion, to_datafusion};
use crate::{Error, Result};

/// Distinct sets of outer values whose answers are kept.
const ANSWERS_MAX: usize = 10_000;
/// Rows of an answer at most: it is held in memory.
const ANSWER_ROWS_MAX: usize = 5_000_000;

/// What a subquery's rows become.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SubPlanKind {
    /// The one value of its one row; NULL when there is no row; 21000 when there are several.
    Scalar,
    /// Whether there is a row.
    Exists {
        /// NOT EXISTS.
        negated: bool,
    },
    /// Whether the operand is among the rows, with three-valued logic.
    In {
        /// What is looked for.
        operand: Expr,
        /// NOT IN.
        negated: bool,
    },
    /// The rows themselves, beside each row of the input: a lateral join.
    Rows {
        /// A row without matches stays, with NULLs (LEFT JOIN LATERAL).
        keep_left: bool,
        /// The columns of the rows.
        schema: DFSchemaRef,
    },
}

/// A subquery that depends on columns of the input.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SubPlan {
    /// Its plan: outer columns are `Expr::OuterReferenceColumn`.
    pub plan: Arc<LogicalPlan>,
    /// What becomes of its rows.
    pub kind: SubPlanKind,
    /// The outer columns as the plan names them, and their values over the input.
    pub bindings: Vec<(Column, Expr)>,
    /// The output column's name (not for `Rows`).
    pub name: String,
}

/// The logical node. Its output is the input's columns, then one column a subquery (or, for `Rows`, its columns).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DependentJoin {
    input: LogicalPlan,
    sub_plans: Vec<SubPlan>,
    schema: DFSchemaRef,
}

impl DependentJoin {
    /// The node over `input`.
    pub fn plan(input: LogicalPlan, sub_plans: Vec<SubPlan>) -> Result<LogicalPlan> {
        let node = DependentJoin::new(input, sub_plans).map_err(from_datafusion)?;
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(node) }))
    }

    fn new(input: LogicalPlan, sub_plans: Vec<SubPlan>) -> DataFusionResult<DependentJoin> {
        let mut fields: Vec<(Option<TableReference>, FieldRef)> = input
            .schema()
            .iter()
            .map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field)))
            .collect();
        for sub_plan in &sub_plans {
            match &sub_plan.kind {
                SubPlanKind::Rows { schema, .. } => fields.extend(schema.iter().map(|(qualifier, field)| {
                    (
                        qualifier.cloned(),
                        Arc::new(field.as_ref().clone().with_nullable(true)),
                    )
                })),
                kind => {
                    let ty = match kind {
                        SubPlanKind::Scalar => sub_plan.plan.schema().field(0).data_type().clone(),
                        _ => DataType::Boolean,
                    };
                    fields.push((None, Arc::new(Field::new(&sub_plan.name, ty, true))));
                }
            }
        }
        let schema = Arc::new(DFSchema::new_with_metadata(fields, HashMap::new())?);
        Ok(DependentJoin {
            input,
            sub_plans,
            schema,
        })
    }
}

impl PartialOrd for DependentJoin {
    fn partial_cmp(&self, other: &DependentJoin) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl UserDefinedLogicalNodeCore for DependentJoin {
    fn name(&self) -> &str {
        "DependentJoin"
    }
    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }
    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }
    fn expressions(&self) -> Vec<Expr> {
        let mut exprs = Vec::new();
        for sub_plan in &self.sub_plans {
            exprs.extend(sub_plan.bindings.iter().map(|(_, expr)| expr.clone()));
            if let SubPlanKind::In { operand, .. } = &sub_plan.kind {
                exprs.push(operand.clone());
            }
        }
        exprs
    }
    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "DependentJoin: {} subqueries", self.sub_plans.len())
    }
    fn with_exprs_and_inputs(
        &self,
        exprs: Vec<Expr>,
        inputs: Vec<LogicalPlan>,
    ) -> DataFusionResult<DependentJoin> {
        let mut exprs = exprs.into_iter();
        let mut next = || {
            exprs
                .next()
                .ok_or_else(|| DataFusionError::Internal("too few expressions".to_string()))
        };
        let mut sub_plans = self.sub_plans.clone();
        for sub_plan in &mut sub_plans {
            for (_, expr) in &mut sub_plan.bindings {
                *expr = next()?;
            }
            if let SubPlanKind::In { operand, .. } = &mut sub_plan.kind {
                *operand = next()?;
            }
        }
        let input = inputs
            .into_iter()
            .next()
            .ok_or_else(|| DataFusionError::Internal("no input".to_string()))?;
        DependentJoin::new(input, sub_plans)
    }
}

/// Rewrites every expression of a plan, in its subqueries and in those of dependent joins too.
pub fn transform_expressions(
    plan: LogicalPlan,
    rewrite: &dyn Fn(Expr) -> DataFusionResult<Transformed<Expr>>,
) -> DataFusionResult<LogicalPlan> {
    let transformed = plan.transform_up_with_subqueries(|node| {
        let node = node.map_expressions(rewrite)?;
        node.transform_data(|node| {
            let LogicalPlan::Extension(extension) = &node else {
                return Ok(Transformed::no(node));
            };
            let Some(join) = extension.node.as_any().downcast_ref::<DependentJoin>() else {
                return Ok(Transformed::no(node));
            };
            let mut join = join.clone();
            for sub_plan in &mut join.sub_plans {
                let inner = transform_expressions(sub_plan.plan.as_ref().clone(), rewrite)?;
                sub_plan.plan = Arc::new(inner);
            }
            Ok(Transformed::yes(LogicalPlan::Extension(Extension {
                node: Arc::new(join),
            })))
        })
    })?;
    Ok(transformed.data)
}

/// Plans dependent joins.
#[derive(Debug)]
pub struct DependentJoinPlanner;

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
            Arc::new(state.clone()),
        ))))
    }
}

#[derive(Debug, Clone)]
struct PhysicalSubPlan {
    definition: SubPlan,
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
        let input = children
            .into_iter()
            .next()
            .ok_or_else(|| DataFusionError::Internal("no input".to_string()))?;
        Ok(Arc::new(DependentJoinExec::new(
            input,
            self.sub_plans.clone(),
            Arc::clone(&self.schema),
            Arc::clone(&self.state),
        )))
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

    /// One answer a row; rows of equal outer values share theirs.
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
            let answer = match self.answers[index].get(&key) {
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
        let mut plan = bind(definition, values)?;
        if let SubPlanKind::Exists { .. } = definition.kind {
            plan = LogicalPlanBuilder::new(plan).limit(0, Some(1))?.build()?;
        }
        let physical = self.state.create_physical_plan(&plan).await?;
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

/// The subquery's plan with outer values in place of outer columns, also in the subqueries inside it.
fn bind(definition: &SubPlan, values: &[ScalarValue]) -> DataFusionResult<LogicalPlan> {
    if definition.bindings.is_empty() {
        return Ok(definition.plan.as_ref().clone());
    }
    let replace = |expr: Expr| -> DataFusionResult<Transformed<Expr>> {
        use datafusion::common::tree_node::TreeNode;
        expr.transform_up(|expr| match &expr {
            Expr::OuterReferenceColumn(_, column) => {
                let at = definition.bindings.iter().position(|(name, _)| name == column);
                match at.and_then(|at| values.get(at)) {
                    Some(value) => Ok(Transformed::yes(Expr::Literal(value.clone(), None))),
                    None => Ok(Transformed::no(expr)),
                }
            }
            _ => Ok(Transformed::no(expr)),
        })
    };
    transform_expressions(definition.plan.as_ref().clone(), &replace)
}
