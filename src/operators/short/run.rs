//! `RunningStep`: a step of a chain with its constants; `Run`: the source's batches on their way through all steps.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Instant;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field, FieldRef, Schema};
use datafusion_physical_expr::PhysicalExpr;
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt};

use super::beside::RunningBeside;
use super::catalog_lookup::RunningCatalogLookup;
use super::figures::StepFigures;
use super::filter::RunningFilter;
use super::groups::RunningGroups;
use super::incremental_sort::IncrementalSort;
use super::lateral::RunningLateral;
use super::row_number::RunningNumbered;
use super::sub_chain::Answers;
use super::top_rows::TopRows;
use super::totals::RunningTotals;
use crate::functions::evaluate::{Projection, RowsWanted, truth};
use crate::operators::lookup::RunningLookup;
use crate::operators::row_locks::RunningRowLocks;
use crate::system::StatementMemory;
use crate::system::allowance;
use crate::system::statement_memory::HeldBytes;
use crate::{Error, Result};

/// A step of one run.
pub(super) enum RunningStep {
    Filter(RunningFilter),
    Project(Projection),
    /// Leaves out the first `skip` rows, then gives at most `left`.
    Limit {
        skip: usize,
        left: Option<usize>,
    },
    Lookup(Box<RunningLookup>),
    LockRows(RunningRowLocks),
    CatalogLookup(Box<RunningCatalogLookup>),
    Lateral(Box<RunningLateral>),
    SubChain(Box<RunningSubChain>),
    Beside(Box<RunningBeside>),
    Numbered(RunningNumbered),
    TopRows(TopRows),
    IncrementalSort(IncrementalSort),
    Groups(RunningGroups),
    Totals(RunningTotals),
}

impl RunningStep {
    /// Whether the general plan is to take over when there is much: it gives nothing before it has seen everything, or
    /// others are better at it.
    pub(super) fn collects(&self) -> bool {
        match self {
            RunningStep::TopRows(_) | RunningStep::IncrementalSort(_) | RunningStep::Totals(_) => true,
            RunningStep::CatalogLookup(_)
            | RunningStep::Lateral(_)
            | RunningStep::SubChain(_)
            | RunningStep::Beside(_)
            | RunningStep::Numbered(_) => true,
            RunningStep::Lookup(lookup) => !lookup.stays(),
            RunningStep::Groups(groups) => groups.collects(),
            RunningStep::Filter(_)
            | RunningStep::Project(_)
            | RunningStep::LockRows(_)
            | RunningStep::Limit { .. } => false,
        }
    }

    /// Whether it has found out that the general plan is to take over.
    fn is_long(&self) -> bool {
        match self {
            RunningStep::Beside(rows) => rows.is_long(),
            RunningStep::CatalogLookup(lookup) => lookup.is_long(),
            RunningStep::Lateral(lateral) => lateral.is_long(),
            RunningStep::SubChain(chain) => chain.steps.iter().any(RunningStep::is_long),
            _ => false,
        }
    }

    /// Whether it wants no more rows.
    fn is_done(&self) -> bool {
        match self {
            RunningStep::LockRows(locks) => locks.is_done(),
            RunningStep::Limit { left, .. } => *left == Some(0),
            _ => false,
        }
    }

    /// Takes a batch; answers what becomes of it at once.
    async fn push(&mut self, batch: RecordBatch) -> Result<Option<RecordBatch>> {
        Ok(Some(match self {
            RunningStep::Lookup(lookup) => {
                lookup.push(batch);
                return Ok(None);
            }
            RunningStep::CatalogLookup(lookup) => {
                lookup.push(batch);
                return Ok(None);
            }
            RunningStep::LockRows(locks) => {
                locks.push(batch);
                return Ok(None);
            }
            RunningStep::Lateral(lateral) => {
                lateral.push(batch);
                return Ok(None);
            }
            RunningStep::SubChain(chain) => return chain.push(batch).await.map(Some),
            RunningStep::Beside(rows) => return rows.push(batch).await.map(Some),
            RunningStep::Numbered(rows) => {
                rows.push(batch)?;
                return Ok(None);
            }
            RunningStep::Filter(filter) => return filter.push(batch),
            RunningStep::Project(projection) => return projection.push(batch),
            RunningStep::Limit { skip, left } => {
                let skipped = batch.num_rows().min(*skip);
                *skip -= skipped;
                let given = (batch.num_rows() - skipped).min(left.unwrap_or(usize::MAX));
                *left = left.map(|left| left - given);
                batch.slice(skipped, given)
            }
            RunningStep::TopRows(rows) => {
                rows.push(batch)?;
                return Ok(None);
            }
            RunningStep::IncrementalSort(rows) => return rows.push(batch),
            RunningStep::Groups(groups) => return groups.push(&batch),
            RunningStep::Totals(totals) => {
                totals.push(&batch)?;
                return Ok(None);
            }
        }))
    }

    /// Whether it has rows to give before it takes others.
    fn has_more(&self) -> bool {
        match self {
            RunningStep::Lookup(lookup) => lookup.has_more(),
            RunningStep::CatalogLookup(lookup) => lookup.has_more(),
            RunningStep::Lateral(lateral) => lateral.has_more(),
            RunningStep::LockRows(locks) => locks.has_more(),
            RunningStep::Project(projection) => projection.has_more(),
            RunningStep::Filter(filter) => filter.has_more(),
            _ => false,
        }
    }

    /// Forgets the rows that it has to give.
    fn forget(&mut self) {
        match self {
            RunningStep::Lookup(lookup) => lookup.forget(),
            RunningStep::CatalogLookup(lookup) => lookup.forget(),
            RunningStep::Lateral(lateral) => lateral.forget(),
            RunningStep::LockRows(locks) => locks.forget(),
            RunningStep::Project(projection) => projection.forget(),
            RunningStep::Filter(filter) => filter.forget(),
            _ => {}
        }
    }

    /// Gives the next of them.
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        match self {
            RunningStep::Lookup(lookup) => lookup.next().await.map(Some),
            RunningStep::CatalogLookup(lookup) => lookup.next().await,
            RunningStep::Lateral(lateral) => Box::pin(lateral.next()).await,
            RunningStep::LockRows(locks) => locks.next().await,
            RunningStep::Project(projection) => projection.next().map(Some),
            RunningStep::Filter(filter) => filter.next(),
            _ => Ok(None),
        }
    }

    /// Answers what it has collected.
    fn finish(&mut self) -> Result<Option<RecordBatch>> {
        match self {
            RunningStep::TopRows(rows) => rows.finish(),
            RunningStep::IncrementalSort(rows) => rows.finish(),
            RunningStep::Groups(groups) => groups.finish(),
            RunningStep::Totals(totals) => totals.finish().map(Some),
            RunningStep::Numbered(rows) => rows.finish(),
            RunningStep::Filter(_)
            | RunningStep::Project(_)
            | RunningStep::LockRows(_)
            | RunningStep::Limit { .. }
            | RunningStep::Lookup(_)
            | RunningStep::CatalogLookup(_)
            | RunningStep::Lateral(_)
            | RunningStep::Beside(_)
            | RunningStep::SubChain(_) => Ok(None),
        }
    }

    /// Bytes that it holds until it is finished.
    fn bytes(&self) -> usize {
        match self {
            RunningStep::TopRows(rows) => rows.bytes(),
            RunningStep::Numbered(rows) => rows.bytes(),
            RunningStep::IncrementalSort(rows) => rows.bytes(),
            RunningStep::Groups(groups) if groups.collects() => groups.bytes(),
            _ => 0,
        }
    }
}

/// A subquery under way, which answers a batch of outer rows at a time.
pub(super) struct RunningSubChain {
    /// The columns of the outer rows that it reads.
    pub(super) outer: Vec<usize>,
    pub(super) field: FieldRef,
    pub(super) asked_when: Option<Arc<dyn PhysicalExpr>>,
    pub(super) steps: Vec<RunningStep>,
    pub(super) answer: RunningAnswer,
    /// Outer rows that are wanted of those that come.
    pub(super) wanted: RowsWanted,
    pub(super) memory: HeldBytes,
}

/// What the rows of a subquery become; see `step::Answer`.
pub(super) enum RunningAnswer {
    Scalar {
        over_none: Vec<RunningStep>,
        /// What these gave.
        value_over_none: Option<ArrayRef>,
    },
    Exists {
        negated: bool,
    },
    Keep {
        negated: bool,
    },
}

/// Who takes the rows that come of steps.
type Taker<'a> = &'a mut (dyn FnMut(RecordBatch) -> Result<()> + Send);

impl RunningSubChain {
    /// Whether every outer row stays.
    pub(super) fn keeps_all(&self) -> bool {
        !matches!(self.answer, RunningAnswer::Keep { .. })
    }

    /// The outer rows with their answers behind them, or those that stay. Errors: 21000, 53200; those of the steps.
    async fn push(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        let batch = self.wanted.of(batch);
        let asked = self.asked_when.as_ref().map(|condition| truth(condition, &batch));
        let asked = asked.transpose()?;
        let asked = asked.as_ref();
        let mut rows = self.numbered(&batch)?;
        if let Some(asked) = asked {
            rows = filter_record_batch(&rows, asked).map_err(Error::arrow)?;
        }
        let mut answers = Answers::new(batch.num_rows());
        let is_question = !matches!(self.answer, RunningAnswer::Scalar { .. });
        let mut take = |rows: RecordBatch| match is_question {
            true => answers.note(&rows),
            false => answers.add(&rows),
        };
        if rows.num_rows() > 0 {
            through(&mut self.steps, rows, &mut take).await?;
        }
        let held = self.steps.iter().map(RunningStep::bytes).sum::<usize>();
        self.memory.resize(held)?;
        finish(&mut self.steps, &mut take).await?;
        self.memory.resize(answers.bytes())?;
        if let RunningAnswer::Keep { negated } = &self.answer {
            return filter_record_batch(&batch, &answers.exist(asked, *negated)).map_err(Error::arrow);
        }
        let answers = self.answers(answers, asked).await?;
        let fields = batch.schema_ref().fields().iter().chain([&self.field]);
        let schema = Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()));
        let mut columns = batch.columns().to_vec();
        columns.push(answers);
        RecordBatch::try_new(schema, columns).map_err(Error::arrow)
    }

    /// What it reads of the outer rows, and their numbers.
    fn numbered(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let read = batch.project(&self.outer).map_err(Error::arrow)?;
        let number = Arc::new(Field::new("?row", DataType::UInt32, false));
        let fields = read.schema_ref().fields().iter().chain([&number]);
        let schema = Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()));
        let mut columns = read.columns().to_vec();
        columns.push(Arc::new(UInt32Array::from_iter_values(
            0..batch.num_rows() as u32,
        )));
        RecordBatch::try_new(schema, columns).map_err(Error::arrow)
    }

    async fn answers(&mut self, answers: Answers, asked: Option<&BooleanArray>) -> Result<ArrayRef> {
        let (over_none, value_over_none) = match &mut self.answer {
            RunningAnswer::Exists { negated } | RunningAnswer::Keep { negated } => {
                return Ok(Arc::new(answers.exist(asked, *negated)));
            }
            RunningAnswer::Scalar {
                over_none,
                value_over_none,
            } => (over_none, value_over_none),
        };
        if value_over_none.is_none() && !over_none.is_empty() && answers.lacks_some(asked) {
            let mut take = |row: RecordBatch| {
                *value_over_none = Some(Arc::clone(row.column(0)));
                Ok(())
            };
            finish(over_none, &mut take).await?;
        }
        let over_none = value_over_none.as_ref().map(Arc::clone);
        answers.values(asked, over_none, self.field.data_type())
    }
}

/// Takes a batch through all of the steps.
fn through<'a>(
    steps: &'a mut [RunningStep],
    batch: RecordBatch,
    take: Taker<'a>,
) -> BoxFuture<'a, Result<()>> {
    async move {
        let Some((step, above)) = steps.split_first_mut() else {
            return take(batch);
        };
        let mut given = step.push(batch).await?;
        loop {
            if let Some(batch) = given.take().filter(|batch| batch.num_rows() > 0) {
                through(above, batch, take).await?;
            }
            if !step.has_more() {
                return Ok(());
            }
            given = step.next().await?;
        }
    }
    .boxed()
}

/// Takes what the steps have collected through those above them.
async fn finish(steps: &mut [RunningStep], take: Taker<'_>) -> Result<()> {
    for at in 0..steps.len() {
        let (below, above) = steps.split_at_mut(at + 1);
        if let Some(rest) = below[at].finish()? {
            through(above, rest, take).await?;
        }
    }
    Ok(())
}

/// What a chain that collects may take in.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inline {
    pub(super) batches: usize,
    pub(super) rows: usize,
}

impl Inline {
    /// Everything.
    pub(super) const ALL: Inline = Inline {
        batches: usize::MAX,
        rows: usize::MAX,
    };
}

/// A source's batches on their way through the steps.
pub(super) struct Run {
    source: BoxStream<'static, Result<RecordBatch>>,
    steps: Vec<RunningStep>,
    /// Batches taken from the source, and their rows.
    taken: usize,
    taken_rows: usize,
    /// The next step to be asked for what it has collected; `None` as long as the source gives.
    finishing: Option<usize>,
    /// What steps and a collected result hold together.
    memory: HeldBytes,
    /// What the steps are counted in, for EXPLAIN ANALYZE.
    figures: Option<Arc<StepFigures>>,
}

impl Run {
    pub(super) fn new(
        source: BoxStream<'static, Result<RecordBatch>>,
        steps: Vec<RunningStep>,
        memory: Arc<StatementMemory>,
        figures: Option<Arc<StepFigures>>,
    ) -> Run {
        Run {
            source,
            steps,
            taken: 0,
            taken_rows: 0,
            finishing: None,
            memory: HeldBytes::new(memory),
            figures,
        }
    }

    /// Whether any step does.
    pub(super) fn collects(&self) -> bool {
        self.steps.iter().any(RunningStep::collects)
    }

    /// The next rows of the result; `None` at the end, or when the source gave more than so much, or a step holds too much.
    async fn next(&mut self, inline: Inline) -> Result<Option<RecordBatch>> {
        while self.is_within(inline) && self.has_memory(0) && !self.is_long() {
            if self.finishing.is_none()
                && let Some(done) = self.steps.iter().rposition(RunningStep::is_done)
            {
                // What is above it may have rows to give.
                self.steps[..=done].iter_mut().for_each(RunningStep::forget);
                self.finishing = Some(0);
            }
            let (from, batch) = match self.finishing {
                _ if self.has_more() => match self.next_of_steps().await? {
                    Some(given) => given,
                    None => continue,
                },
                None => match self.next_of_source().await? {
                    Some(batch) => {
                        self.taken += 1;
                        self.taken_rows += batch.num_rows();
                        (0, batch)
                    }
                    None => {
                        self.finishing = Some(0);
                        continue;
                    }
                },
                Some(at) if at == self.steps.len() => return Ok(None),
                Some(at) => {
                    self.finishing = Some(at + 1);
                    let begun = self.figures.as_ref().map(|_| Instant::now());
                    let finished = self.steps[at].finish()?;
                    count(&self.figures, at, begun, finished.as_ref());
                    match finished {
                        Some(batch) => (at + 1, batch),
                        None => continue,
                    }
                }
            };
            if let Some(batch) = self.push(from, batch).await? {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    async fn next_of_source(&mut self) -> Result<Option<RecordBatch>> {
        poll_fn(allowance::take).await;
        self.source.next().await.transpose()
    }

    fn is_long(&self) -> bool {
        self.steps.iter().any(RunningStep::is_long)
    }

    /// Whether a step has rows to give before the source's next come.
    fn has_more(&self) -> bool {
        self.steps.iter().any(RunningStep::has_more)
    }

    /// The next rows that a step has to give, the last of those that have any, and the step that they go to.
    async fn next_of_steps(&mut self) -> Result<Option<(usize, RecordBatch)>> {
        let Some(at) = self.steps.iter().rposition(RunningStep::has_more) else {
            return Ok(None);
        };
        let begun = self.figures.as_ref().map(|_| Instant::now());
        let given = self.steps[at].next().await?;
        count(&self.figures, at, begun, given.as_ref());
        let given = given.filter(|batch| batch.num_rows() > 0);
        Ok(given.map(|batch| (at + 1, batch)))
    }

    /// Takes a batch through the steps from this one on.
    async fn push(&mut self, from: usize, batch: RecordBatch) -> Result<Option<RecordBatch>> {
        let mut batch = batch;
        for (at, step) in self.steps.iter_mut().enumerate().skip(from) {
            let begun = self.figures.as_ref().map(|_| Instant::now());
            let pushed = step.push(batch).await?;
            count(&self.figures, at, begun, pushed.as_ref());
            match pushed {
                Some(pushed) if pushed.num_rows() > 0 => batch = pushed,
                _ => return Ok(None),
            }
        }
        Ok(Some(batch))
    }

    /// Whether the source gave no more than so much.
    fn is_within(&self, inline: Inline) -> bool {
        self.taken <= inline.batches && self.taken_rows <= inline.rows
    }

    /// The whole result; `None` when the source gives more than so much, or there is not the memory to hold it.
    pub(super) async fn collect(mut self, inline: Inline) -> Result<Option<Vec<RecordBatch>>> {
        let (mut result, mut bytes) = (Vec::new(), 0);
        while let Some(batch) = self.next(inline).await? {
            bytes += batch.get_array_memory_size();
            if !self.has_memory(bytes) {
                return Ok(None);
            }
            result.push(batch);
        }
        let is_whole = self.is_within(inline) && self.has_memory(bytes) && !self.is_long();
        Ok(is_whole.then_some(result))
    }

    /// The whole result, however much the source gives. Errors: 53200 when there is not the memory to hold it.
    pub(super) async fn collect_all(mut self) -> Result<Vec<RecordBatch>> {
        let (mut result, mut bytes) = (Vec::new(), 0);
        while let Some(batch) = self.next(Inline::ALL).await? {
            bytes += batch.get_array_memory_size();
            result.push(batch);
            self.memory.resize(self.bytes() + bytes)?;
        }
        self.memory.resize(self.bytes() + bytes)?;
        match self.is_long() {
            true => Err(Error::internal("a part of a short statement that is long")),
            false => Ok(result),
        }
    }

    /// Whether the statement's memory has what the steps hold, and these bytes beside.
    fn has_memory(&mut self, beside: usize) -> bool {
        let bytes = self.bytes() + beside;
        self.memory.resize(bytes).is_ok()
    }

    /// Bytes that its steps hold.
    fn bytes(&self) -> usize {
        self.steps.iter().map(RunningStep::bytes).sum()
    }

    /// The result.
    pub(super) fn stream(self) -> BoxStream<'static, Result<RecordBatch>> {
        stream::try_unfold(Box::new(self), |mut run| async move {
            Ok(run.next(Inline::ALL).await?.map(|batch| (batch, run)))
        })
        .boxed()
    }
}

/// Counts what a step answered to what it was given at `begun`.
fn count(
    figures: &Option<Arc<StepFigures>>,
    step: usize,
    begun: Option<Instant>,
    answer: Option<&RecordBatch>,
) {
    if let (Some(figures), Some(begun)) = (figures, begun) {
        figures.add(step, answer.map_or(0, RecordBatch::num_rows), begun.elapsed());
    }
}
