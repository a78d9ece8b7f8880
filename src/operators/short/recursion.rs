//! `Recursion`: WITH RECURSIVE … UNION ALL as a source of a chain. A first chain gives the rows of the first turn, a second one, which
//! reads what the turn before gave, those of each further turn, until there are none.
//!
//! Invariants
//! 1. Neither chain collects: rows leave as they come, so a limit above ends the recursion.
//! 2. What is held is the rows of two turns, and the statement's memory bounds it.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};

use super::{Long, ShortPlan, as_rows_of};
use crate::logical::placeholder::Constants;
use crate::operators::allowance::within_allowance;
use crate::scan::RowsStream;
use crate::system::StatementContext;
use crate::system::statement_memory::HeldBytes;
use crate::{Error, Result};

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
        let Some(rows) = self.start.run_within(ctx, constants)? else {
            return Ok(None);
        };
        let turns = Turns {
            step: Arc::clone(&self.step),
            schema: Arc::clone(&self.schema),
            ctx: ctx.clone(),
            constants: constants.clone(),
            rows,
            given: Vec::new(),
            given_bytes: 0,
            work_bytes: 0,
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
    step: Arc<ShortPlan>,
    schema: SchemaRef,
    ctx: StatementContext,
    constants: Constants,
    /// Those of the present turn that are still to come.
    rows: RowsStream,
    /// Those that it has given.
    given: Vec<RecordBatch>,
    given_bytes: usize,
    /// What the turn before gave, which this one reads.
    work_bytes: usize,
    held: HeldBytes,
}

impl Turns {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(rows) = self.rows.try_next().await? {
                let batch = as_rows_of(rows.into_batch()?, &self.schema)?;
                if batch.num_rows() == 0 {
                    continue;
                }
                self.given.push(batch.clone());
                self.given_bytes += batch.get_array_memory_size();
                self.held.resize(self.work_bytes + self.given_bytes)?;
                return Ok(Some(batch));
            }
            if self.given.is_empty() {
                return Ok(None);
            }
            // Turns that find nothing to wait for would never end.
            tokio::task::consume_budget().await;
            self.work_bytes = std::mem::take(&mut self.given_bytes);
            let given = std::mem::take(&mut self.given);
            let given = stream::iter(given.into_iter().map(Ok)).boxed();
            let long = || -> Long {
                Box::pin(async { Err(Error::internal("a turn of a short recursion that collects")) })
            };
            self.rows = self
                .step
                .run_over(&self.ctx, given, &self.constants, None, long)?;
        }
    }
}
