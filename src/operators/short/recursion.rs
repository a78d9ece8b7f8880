//! `Recursion`: WITH RECURSIVE … UNION ALL as a source of a chain. A first chain gives the rows of the first turn, a second one, which
//! reads what the turn before gave, those of each further turn, until there are none.
//!
//! Invariants
//! 1. Neither chain collects: rows leave as they come, so a limit above ends the recursion.
//! 2. The second chain is begun once. Its source are the rows that were given and are still to be worked through, first come, first
//!    served: those of a turn come before those of the next. It is asked for them only when all that it has taken has left it, so that
//!    there are none is the end.
//! 3. What is held is the rows of two turns, and the statement's memory bounds it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};

use super::ShortPlan;
use crate::Result;
use crate::logical::placeholder::Constants;
use crate::operators::renamed_batch::as_rows_of;
use crate::scan::RowsStream;
use crate::system::StatementContext;
use crate::system::allowance::within_allowance;
use crate::system::statement_memory::HeldBytes;

/// The two chains.
#[derive(Debug)]
pub(super) struct Recursion {
    start: ShortPlan,
    step: Arc<ShortPlan>,
    schema: SchemaRef,
}

impl Recursion {
    /// Of chains whose rows have the types of the schema; the second reads what the turn before gave, and neither collects.
    pub(super) fn new(start: ShortPlan, step: ShortPlan, schema: SchemaRef) -> Recursion {
        let step = Arc::new(step);
        Recursion { start, step, schema }
    }

    /// Whether the functions of its terms ask the catalogs, or what they read is there.
    pub(super) fn reads_catalogs(&self) -> bool {
        self.start.reads_catalogs() || self.step.reads_catalogs()
    }

    /// Whether its terms do something.
    pub(super) fn acts(&self) -> bool {
        self.start.acts() || self.step.acts()
    }

    /// Whether it reads what is there when it runs.
    pub(super) fn is_lasting(&self) -> bool {
        self.start.is_lasting() && self.step.is_lasting()
    }

    /// The rows of all turns; `None`: with these constants the first is not short. Errors: as [`ShortPlan::run`].
    pub(super) fn rows(
        &self,
        ctx: &StatementContext,
        constants: &Constants,
    ) -> Result<Option<BoxStream<'static, Result<RecordBatch>>>> {
        let Some(rows) = self.start.run_within(ctx, constants, None)? else {
            return Ok(None);
        };
        let turns = Turns {
            step: Some(Arc::clone(&self.step)),
            schema: Arc::clone(&self.schema),
            ctx: ctx.clone(),
            constants: constants.clone(),
            rows,
            work: Arc::default(),
            held: HeldBytes::new(Arc::clone(&ctx.memory)),
        };
        let rows = stream::try_unfold(turns, |mut turns| async {
            let batch = turns.next().await?;
            Ok(batch.map(|batch| (batch, turns)))
        });
        Ok(Some(within_allowance(rows.boxed())))
    }
}

/// A recursion under way.
struct Turns {
    /// What gives the rows of all turns but the first, until it is begun.
    step: Option<Arc<ShortPlan>>,
    schema: SchemaRef,
    ctx: StatementContext,
    constants: Constants,
    /// Those that are still to come.
    rows: RowsStream,
    work: Arc<Mutex<Work>>,
    held: HeldBytes,
}

/// What was given and is still to be worked through.
#[derive(Default)]
struct Work {
    batches: VecDeque<RecordBatch>,
    bytes: usize,
}

impl Work {
    fn push(&mut self, batch: RecordBatch) {
        self.bytes += batch.get_array_memory_size();
        self.batches.push_back(batch);
    }

    fn pop(&mut self) -> Option<RecordBatch> {
        let batch = self.batches.pop_front()?;
        self.bytes -= batch.get_array_memory_size();
        Some(batch)
    }
}

impl Turns {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            // Turns that find nothing to wait for would never end.
            tokio::task::consume_budget().await;
            if let Some(rows) = self.rows.try_next().await? {
                let batch = as_rows_of(rows.into_batch()?, &self.schema)?;
                if batch.num_rows() == 0 {
                    continue;
                }
                let bytes = {
                    let mut work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
                    work.push(batch.clone());
                    work.bytes
                };
                self.held.resize(bytes)?;
                return Ok(Some(batch));
            }
            let Some(step) = self.step.take() else {
                return Ok(None);
            };
            self.rows = step.run_over_work(&self.ctx, worked_through(&self.work), &self.constants)?;
        }
    }
}

/// The rows that are still to be worked through, as long as there are any.
fn worked_through(work: &Arc<Mutex<Work>>) -> BoxStream<'static, Result<RecordBatch>> {
    let work = Arc::clone(work);
    let next = move |_: &mut Context<'_>| {
        let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
        Poll::Ready(work.pop().map(Ok))
    };
    stream::poll_fn(next).boxed()
}
