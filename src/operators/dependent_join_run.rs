//! One execution of a dependent join: what its subqueries answered, each for one set of outer values, and the rows that
//! come of it. Driven by `dependent_join_exec`.
//!
//! All of it is the statement's memory (53200 beyond it): an answer counts as long as anybody holds it. Answers kept for
//! later rows of equal outer values are given up when there are many of them or memory is short, and asked for again.
//! A lateral join gives its rows a batch at a time, however many stand beside one row.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow::compute::concat_batches;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion_common::{DataFusionError, Result as DataFusionResult};
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion_physical_expr::PhysicalExpr;
use futures::StreamExt;

use super::sub_plan_runs::{KeptSubPlan, SubPlanRuns};
use crate::Error;
use crate::system::datafusion_error::to_datafusion;
use crate::tree::{ScalarValue, SubPlan, SubPlanKind};
use crate::types::take_rows;

/// Distinct sets of outer values whose answers are kept.
const ANSWERS_MAX: usize = 10_000;
/// Rows of a piece of a lateral join.
const PIECE_ROWS: usize = 8192;
/// What a kept answer takes beside its values.
const ANSWER_BYTES: usize = 128;

/// A subquery, ready to be asked.
#[derive(Debug, Clone)]
pub(super) struct PhysicalSubPlan {
    pub(super) definition: SubPlan,
    /// How it is run.
    pub(super) plans: Arc<KeptSubPlan>,
    /// Rows of equal outer values may get different answers: of volatile functions.
    pub(super) asks_each_row: bool,
    pub(super) bindings: Vec<Arc<dyn PhysicalExpr>>,
    pub(super) operand: Option<Arc<dyn PhysicalExpr>>,
    pub(super) asked_when: Option<Arc<dyn PhysicalExpr>>,
}

/// What a subquery gave for one set of outer values.
#[derive(Debug, Clone)]
enum Answer {
    Scalar(ScalarValue),
    Exists(bool),
    Set(Arc<AnswerSet>),
    Rows(Arc<AnswerRows>),
}

#[derive(Debug)]
struct AnswerSet {
    values: HashSet<ScalarValue>,
    has_null: bool,
    _memory: MemoryReservation,
}

#[derive(Debug)]
struct AnswerRows {
    rows: RecordBatch,
    _memory: MemoryReservation,
}

/// The answers of one subquery that later rows may want.
struct KeptAnswers {
    answers: HashMap<Vec<ScalarValue>, Answer>,
    /// Of the outer values and scalars; sets and rows have their own.
    memory: MemoryReservation,
}

/// A batch of the input, and how far it is joined.
struct Begun {
    batch: RecordBatch,
    /// Of a lateral join: the outer values, the row it is at, and of the rows beside that how many are given.
    outer: Vec<ArrayRef>,
    row: usize,
    beside: Option<Arc<AnswerRows>>,
    given: usize,
}

/// One execution.
pub(super) struct Run {
    sub_plans: Arc<[PhysicalSubPlan]>,
    kept: Vec<KeptAnswers>,
    schema: SchemaRef,
    runs: SubPlanRuns,
    memory: Arc<dyn MemoryPool>,
    begun: Option<Begun>,
}

impl Run {
    pub(super) fn new(
        sub_plans: Arc<[PhysicalSubPlan]>,
        schema: SchemaRef,
        runs: SubPlanRuns,
        memory: Arc<dyn MemoryPool>,
    ) -> Run {
        let kept = sub_plans.iter().map(|_| KeptAnswers {
            answers: HashMap::new(),
            memory: reservation(&memory),
        });
        Run {
            kept: kept.collect(),
            sub_plans,
            schema,
            runs,
            memory,
            begun: None,
        }
    }

    /// Takes the next batch of the input; the one before must have been joined to its end.
    pub(super) fn begin(&mut self, batch: RecordBatch) -> DataFusionResult<()> {
        let outer = match self.lateral() {
            Some(_) => self.outer_values(0, &batch)?,
            None => Vec::new(),
        };
        self.begun = Some(Begun {
            batch,
            outer,
            row: 0,
            beside: None,
            given: 0,
        });
        Ok(())
    }

    /// The next piece of what comes of the batch; `None` at its end.
    pub(super) async fn next(&mut self) -> DataFusionResult<Option<RecordBatch>> {
        let Some(mut begun) = self.begun.take() else {
            return Ok(None);
        };
        let Some(keep_left) = self.lateral() else {
            return self.join(begun.batch).await.map(Some);
        };
        let piece = self.lateral_piece(&mut begun, keep_left).await?;
        if piece.is_some() {
            self.begun = Some(begun);
        }
        Ok(piece)
    }

    /// Of a lateral join: whether rows without any beside them stay. Such a join has no other subquery.
    fn lateral(&self) -> Option<bool> {
        match self.sub_plans.first()?.definition.kind {
            SubPlanKind::Rows { keep_left, .. } => Some(keep_left),
            _ => None,
        }
    }

    /// The batch with a column for each subquery.
    async fn join(&mut self, batch: RecordBatch) -> DataFusionResult<RecordBatch> {
        let mut columns: Vec<ArrayRef> = batch.columns().to_vec();
        for index in 0..self.sub_plans.len() {
            let outer = self.outer_values(index, &batch)?;
            let rows = batch.num_rows();
            let asked = self.rows_asked(index, &batch)?;
            let is_asked = |row: usize| {
                asked
                    .as_ref()
                    .is_none_or(|asked| asked.is_valid(row) && asked.value(row))
            };
            let column: ArrayRef = match self.sub_plans[index].definition.kind {
                SubPlanKind::Scalar => {
                    let ty = self.schema.field(columns.len()).data_type().clone();
                    let memory = reservation(&self.memory);
                    let mut scalars = Vec::with_capacity(rows);
                    for row in 0..rows {
                        if !is_asked(row) {
                            scalars.push(ScalarValue::try_from(&ty)?);
                            continue;
                        }
                        let Answer::Scalar(scalar) = self.answer_at(index, &outer, row).await? else {
                            return Err(wrong_kind());
                        };
                        memory.try_grow(scalar.size())?;
                        scalars.push(scalar);
                    }
                    match scalars.is_empty() {
                        true => arrow::array::new_empty_array(&ty),
                        false => ScalarValue::iter_to_array(scalars)?,
                    }
                }
                SubPlanKind::Exists { negated } => {
                    let mut found = Vec::with_capacity(rows);
                    for row in 0..rows {
                        if !is_asked(row) {
                            found.push(None);
                            continue;
                        }
                        let Answer::Exists(exists) = self.answer_at(index, &outer, row).await? else {
                            return Err(wrong_kind());
                        };
                        found.push(Some(exists != negated));
                    }
                    Arc::new(BooleanArray::from(found))
                }
                SubPlanKind::In { negated, .. } => {
                    let Some(operand) = &self.sub_plans[index].operand else {
                        return Err(wrong_kind());
                    };
                    let operand = operand.evaluate(&batch)?.into_array(rows)?;
                    let mut found = Vec::with_capacity(rows);
                    for row in 0..rows {
                        if !is_asked(row) {
                            found.push(None);
                            continue;
                        }
                        let Answer::Set(set) = self.answer_at(index, &outer, row).await? else {
                            return Err(wrong_kind());
                        };
                        let truth = set.contains(&ScalarValue::try_from_array(&operand, row)?);
                        found.push(truth.map(|truth| truth != negated));
                    }
                    Arc::new(BooleanArray::from(found))
                }
                SubPlanKind::Rows { .. } => return Err(wrong_kind()),
            };
            columns.push(column);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(
            Arc::clone(&self.schema),
            columns,
            &options,
        )?)
    }

    /// Rows of the input, each as often as it has rows beside it; `None` at the batch's end.
    async fn lateral_piece(
        &mut self,
        begun: &mut Begun,
        keep_left: bool,
    ) -> DataFusionResult<Option<RecordBatch>> {
        let fields = self.schema.fields()[begun.batch.num_columns()..].to_vec();
        let schema: SchemaRef = Arc::new(Schema::new(fields));
        let (mut left_rows, mut parts): (Vec<u64>, Vec<RecordBatch>) = (Vec::new(), Vec::new());
        while left_rows.len() < PIECE_ROWS && begun.row < begun.batch.num_rows() {
            let beside = match begun.beside.take() {
                Some(beside) => beside,
                None => match self.answer_at(0, &begun.outer, begun.row).await? {
                    Answer::Rows(rows) => rows,
                    _ => return Err(wrong_kind()),
                },
            };
            let row = u64::try_from(begun.row).unwrap_or(u64::MAX);
            let all = beside.rows.num_rows();
            let taken = (all - begun.given).min(PIECE_ROWS - left_rows.len());
            if all == 0 && keep_left {
                left_rows.push(row);
                parts.push(one_row_of_nulls(&schema)?);
            }
            if taken > 0 {
                left_rows.extend(std::iter::repeat_n(row, taken));
                let columns = beside.rows.slice(begun.given, taken).columns().to_vec();
                parts.push(batch_of(&schema, columns, taken)?);
            }
            begun.given += taken;
            if begun.given == all {
                (begun.row, begun.given) = (begun.row + 1, 0);
            } else {
                begun.beside = Some(beside);
            }
        }
        if left_rows.is_empty() {
            return Ok(None);
        }
        let count = left_rows.len();
        let left = take_rows(&begun.batch, &UInt64Array::from(left_rows))?;
        let right = concat_batches(&schema, &parts)?;
        let columns = left.columns().iter().chain(right.columns()).cloned().collect();
        batch_of(&self.schema, columns, count).map(Some)
    }

    /// For which rows a subquery is asked; `None`: for all.
    fn rows_asked(&self, index: usize, batch: &RecordBatch) -> DataFusionResult<Option<BooleanArray>> {
        let Some(condition) = &self.sub_plans[index].asked_when else {
            return Ok(None);
        };
        let asked = condition.evaluate(batch)?.into_array(batch.num_rows())?;
        Ok(Some(asked.as_boolean().clone()))
    }

    /// The values of a subquery's outer columns.
    fn outer_values(&self, index: usize, batch: &RecordBatch) -> DataFusionResult<Vec<ArrayRef>> {
        let bindings = self.sub_plans[index].bindings.iter();
        bindings
            .map(|expr| expr.evaluate(batch)?.into_array(batch.num_rows()))
            .collect()
    }

    /// The answer for a row; rows of equal outer values share theirs, unless it is volatile.
    async fn answer_at(&mut self, index: usize, outer: &[ArrayRef], row: usize) -> DataFusionResult<Answer> {
        let key = outer
            .iter()
            .map(|array| ScalarValue::try_from_array(array, row))
            .collect::<DataFusionResult<Vec<_>>>()?;
        if self.sub_plans[index].asks_each_row {
            return self.answer(index, &key).await;
        }
        if let Some(known) = self.kept[index].answers.get(&key) {
            return Ok(known.clone());
        }
        let answer = self.answer(index, &key).await?;
        self.kept[index].keep(key, &answer);
        Ok(answer)
    }

    /// Asks a subquery; once more without the answers that are kept, when there is no memory beside them.
    async fn answer(&mut self, index: usize, values: &[ScalarValue]) -> DataFusionResult<Answer> {
        let answer = self.ask(index, values).await;
        let is_short = matches!(&answer, Err(error) if matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)));
        if !is_short || self.kept.iter().all(|kept| kept.answers.is_empty()) {
            return answer;
        }
        self.kept.iter_mut().for_each(KeptAnswers::clear);
        self.ask(index, values).await
    }

    /// Runs a subquery with outer values as constants.
    async fn ask(&self, index: usize, values: &[ScalarValue]) -> DataFusionResult<Answer> {
        let sub_plan = &self.sub_plans[index];
        let definition = &sub_plan.definition;
        let mut asked = self
            .runs
            .rows((index, definition), &sub_plan.plans, values)
            .await?;
        let mut gathered = Gathered::new(&definition.kind, reservation(&self.memory));
        while let Some(batch) = asked.rows.next().await {
            if gathered.push(batch.map_err(to_datafusion)?)? {
                break;
            }
        }
        gathered.finish(&asked.schema)
    }
}

impl KeptAnswers {
    /// Keeps an answer, unless there is no memory for it.
    fn keep(&mut self, key: Vec<ScalarValue>, answer: &Answer) {
        if self.answers.len() >= ANSWERS_MAX {
            self.clear();
        }
        let scalar = match answer {
            Answer::Scalar(scalar) => scalar.size(),
            _ => 0,
        };
        let bytes = ANSWER_BYTES + scalar + key.iter().map(ScalarValue::size).sum::<usize>();
        match self.memory.try_grow(bytes) {
            Ok(()) => drop(self.answers.insert(key, answer.clone())),
            Err(_) => self.clear(),
        }
    }

    fn clear(&mut self) {
        self.answers.clear();
        self.memory.free();
    }
}

impl AnswerSet {
    /// `operand IN set`: NULL when the operand is NULL (of a set that is not empty) or only a NULL might match.
    fn contains(&self, operand: &ScalarValue) -> Option<bool> {
        match () {
            () if self.values.is_empty() && !self.has_null => Some(false),
            () if operand.is_null() => None,
            () if self.values.contains(operand) => Some(true),
            () if self.has_null => None,
            () => Some(false),
        }
    }
}

/// An answer that is being made of a subquery's rows.
struct Gathered {
    kind: SubPlanKind,
    memory: MemoryReservation,
    count: usize,
    /// Not of a set.
    batches: Vec<RecordBatch>,
    values: HashSet<ScalarValue>,
    has_null: bool,
}

impl Gathered {
    fn new(kind: &SubPlanKind, memory: MemoryReservation) -> Gathered {
        Gathered {
            kind: kind.clone(),
            memory,
            count: 0,
            batches: Vec::new(),
            values: HashSet::new(),
            has_null: false,
        }
    }

    /// Takes rows; true when the rest does not matter. Errors: 21000 for a second row of a scalar, 53200.
    fn push(&mut self, batch: RecordBatch) -> DataFusionResult<bool> {
        self.count += batch.num_rows();
        match self.kind {
            SubPlanKind::Exists { .. } => return Ok(self.count > 0),
            SubPlanKind::Scalar if self.count > 1 => return Err(to_datafusion(Error::CardinalityViolation)),
            SubPlanKind::Scalar | SubPlanKind::Rows { .. } => {
                self.memory.try_grow(batch.get_array_memory_size())?;
                self.batches.push(batch);
            }
            SubPlanKind::In { .. } => {
                for row in 0..batch.num_rows() {
                    let value = ScalarValue::try_from_array(batch.column(0), row)?;
                    if value.is_null() {
                        self.has_null = true;
                        continue;
                    }
                    let bytes = value.size();
                    if self.values.insert(value) {
                        self.memory.try_grow(bytes)?;
                    }
                }
            }
        }
        Ok(false)
    }

    fn finish(self, schema: &SchemaRef) -> DataFusionResult<Answer> {
        Ok(match self.kind {
            SubPlanKind::Exists { .. } => Answer::Exists(self.count > 0),
            SubPlanKind::Scalar if self.count == 0 => {
                Answer::Scalar(ScalarValue::try_from(schema.field(0).data_type())?)
            }
            SubPlanKind::Scalar => {
                let rows = concat_batches(schema, &self.batches)?;
                Answer::Scalar(ScalarValue::try_from_array(rows.column(0), 0)?)
            }
            SubPlanKind::Rows { .. } => {
                let rows = concat_batches(schema, &self.batches)?;
                self.memory.try_resize(rows.get_array_memory_size())?;
                Answer::Rows(Arc::new(AnswerRows {
                    rows,
                    _memory: self.memory,
                }))
            }
            SubPlanKind::In { .. } => Answer::Set(Arc::new(AnswerSet {
                values: self.values,
                has_null: self.has_null,
                _memory: self.memory,
            })),
        })
    }
}

/// A share of the statement's memory, empty.
fn reservation(memory: &Arc<dyn MemoryPool>) -> MemoryReservation {
    MemoryConsumer::new("DependentJoin").register(memory)
}

fn one_row_of_nulls(schema: &SchemaRef) -> DataFusionResult<RecordBatch> {
    let fields = schema.fields().iter();
    let nulls = fields.map(|field| arrow::array::new_null_array(field.data_type(), 1));
    batch_of(schema, nulls.collect(), 1)
}

fn batch_of(schema: &SchemaRef, columns: Vec<ArrayRef>, rows: usize) -> DataFusionResult<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(
        Arc::clone(schema),
        columns,
        &options,
    )?)
}

/// An answer of another kind than the subquery's.
fn wrong_kind() -> DataFusionError {
    DataFusionError::Internal("an answer of another kind than its subquery's".to_string())
}
