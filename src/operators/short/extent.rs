//! `stream_run`: a chain's run as a result, which leaves for the query threads, or gives up for the general plan, once it is long.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::future::TryFutureExt;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};

use super::Long;
use super::figures::StepFigures;
use super::row_limit::note_ends;
use super::run::{Inline, Run, RunningStep};
use crate::catalog::TableDef;
use crate::plan::AccessPath;
use crate::scan::range_cardinality::rows_led_to;
use crate::scan::{Rows, RowsStream};
use crate::system::StatementContext;
use crate::system::allowance::within_allowance;
use crate::table::committed_row_counts;
use crate::txn::Transaction;
use crate::{Error, Result};

/// Batches that a chain that collects takes in before it is long, and rows of them that are fetched one by one.
const INLINE_BATCHES: usize = 4;
const INLINE_GETS: u64 = 2048;
/// Rows that it takes in of several sources, each of whose batches may be small.
const INLINE_ROWS_OF_PARTS: usize = 4096;
/// Rows of a table that are certainly more than that.
const INLINE_ROWS: u64 = 8192;

/// How much a source may give to steps that collect.
pub(super) enum Extent {
    Any,
    /// The same, and none of the steps collects: whoever asks for rows sees to it that they are computed where they may.
    Here,
    /// What a limit ends soon, unless joins leave out many rows.
    Ended,
    /// No more than what is short.
    Short {
        /// The table of which all is read.
        whole: Option<Arc<TableDef>>,
        /// The path to them, if each row is fetched by a key that an index gives: those are counted before the first is.
        by_gets: Option<Box<AccessPath>>,
    },
    /// The same, of several sources one behind the other.
    Parts,
}

impl Extent {
    /// What is collected.
    fn collected_max(&self) -> Inline {
        match self {
            Extent::Any | Extent::Here => Inline::ALL,
            Extent::Short { by_gets, .. } => Inline {
                batches: INLINE_BATCHES,
                rows: match by_gets {
                    Some(_) => INLINE_GETS as usize,
                    None => usize::MAX,
                },
            },
            Extent::Ended => Inline {
                rows: INLINE_GETS as usize,
                ..Inline::ALL
            },
            Extent::Parts => Inline {
                rows: INLINE_ROWS_OF_PARTS,
                ..Inline::ALL
            },
        }
    }

    /// Whether it is known to be more before it is read.
    async fn is_known_long(&self, txn: &Arc<Transaction>) -> Result<bool> {
        let Extent::Short { whole, by_gets } = self else {
            return Ok(false);
        };
        if let Some(table) = whole {
            let rows = committed_row_counts(txn, &[table]).await?;
            return Ok(rows.into_iter().flatten().any(|rows| rows > INLINE_ROWS));
        }
        Ok(match by_gets {
            Some(path) => {
                let ranges = path.ranges().unwrap_or_default();
                rows_led_to(txn, path, ranges, INLINE_GETS).await?.is_none()
            }
            None => false,
        })
    }
}

/// The source's batches through the steps. Steps that collect are given up for the general plan, if there is one, when it gives more than it
/// may.
pub(super) fn stream_run(
    ctx: &StatementContext,
    (source, extent): (BoxStream<'static, Result<RecordBatch>>, Extent),
    mut steps: Vec<RunningStep>,
    figures: Option<&Arc<StepFigures>>,
    long: Option<impl FnOnce() -> Long>,
) -> RowsStream {
    note_ends(&mut steps, ctx.hints.may_end);
    let run = Run::new(source, steps, Arc::clone(&ctx.memory), figures.cloned());
    let batches = match run.collects() {
        false => match extent {
            Extent::Here => run.stream(),
            Extent::Any | Extent::Ended | Extent::Short { .. } | Extent::Parts => {
                within_allowance(run.stream())
            }
        },
        true => {
            let Some(long) = long else {
                let all = run
                    .collect_all()
                    .map_ok(|all| stream::iter(all.into_iter().map(Ok)));
                return batches_of_run(within_allowance(stream::once(all).try_flatten().boxed()));
            };
            let (long, txn) = (long(), Arc::clone(&ctx.txn));
            let collected = stream::once(async move {
                if extent.is_known_long(&txn).await? {
                    return long.await;
                }
                match run.collect(extent.collected_max()).await? {
                    Some(batches) => Ok(stream::iter(batches.into_iter().map(Ok)).boxed()),
                    None => long.await,
                }
            });
            collected.try_flatten().boxed()
        }
    };
    batches_of_run(batches)
}

fn batches_of_run(batches: BoxStream<'static, Result<RecordBatch>>) -> RowsStream {
    let whole = AssertUnwindSafe(batches).catch_unwind();
    whole
        .map(|batch| match batch {
            Ok(batch) => batch.map(Rows::Columns),
            Err(_) => Err(Error::internal(
                "a short statement failed; the server's log says where",
            )),
        })
        .boxed()
}
