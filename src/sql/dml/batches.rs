//! `DELETE /*+ _l_batch_(n) */`: a DELETE of any size that commits after every n rows, so that neither its memory nor its locks grow with
//! it. Called by `dml::execute`, outside of transaction blocks alone.
//!
//! The rows are found in one snapshot, a pass, and deleted by transactions that begin at it, each of n of them: what others have changed
//! since is looked at again under the lock, as any DELETE does. A new pass, from a new snapshot, begins where the old one cannot go on: its
//! snapshot is given up, or keeps too much of what the batches replace, or a row is met that is there under another key by now. What was
//! deleted no pass meets again.

use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use sqlparser::ast;

use super::delete::DeletePlan;
use super::references::References;
use super::settling::settle;
use super::write_plan::WritePlan;
use super::write_result::WriteResult;
use crate::catalog::Catalog;
use crate::system::plan_cache::PlanCache;
use crate::system::{Notice, StatementContext};
use crate::table::lock_for_writes;
use crate::{Error, Result};

/// How often in a row a batch may lose to others.
const LOST_MAX: usize = 100;
/// A pass that keeps more than this part of what the store keeps for open snapshots ends.
const UNDO_PART: usize = 4;

/// How far the statement is.
#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    rows: u64,
    commits: u64,
    /// Batches in a row that were lost to others.
    lost: usize,
}

/// How a pass ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// All its rows are deleted.
    Whole,
    /// There may be more.
    Again,
}

/// Runs the DELETE; `rows_max`: of a batch. Errors: 25001 where others of its transaction could not be taken back, 0A000 with RETURNING;
/// those of any DELETE, whose DETAIL says then how many rows are gone (`Jobs::with_done`).
pub(super) async fn delete(
    ctx: &StatementContext,
    statement: &ast::Statement,
    kept: &PlanCache<WritePlan>,
    rows_max: usize,
) -> Result<WriteResult> {
    require_alone(ctx)?;
    let mut progress = Progress::default();
    let deleted = match pass(ctx, (statement, kept), rows_max, &mut progress).await {
        Ok(Pass::Whole) => Ok(()),
        Ok(Pass::Again) => go_on(ctx, (statement, kept), rows_max, &mut progress).await,
        Err(error) => Err(error),
    };
    deleted?;
    tell(ctx, &progress);
    Ok(WriteResult {
        tag: format!("DELETE {}", progress.rows),
        rows_written: progress.rows,
        columns: Vec::new(),
        batches: Vec::new(),
    })
}

/// Errors: 25001 in a transaction block or a function.
fn require_alone(ctx: &StatementContext) -> Result<()> {
    let what = match (ctx.in_block, ctx.calls > 0) {
        (_, true) => "cannot be executed from a function",
        (true, false) => "cannot run inside a transaction block",
        (false, false) => return Ok(()),
    };
    Err(Error::TransactionState {
        state: "25001",
        message: format!("DELETE with the hint _l_batch_ {what}"),
    })
}

fn tell(ctx: &StatementContext, progress: &Progress) {
    ctx.notice(Notice {
        severity: "NOTICE",
        sqlstate: "00000".into(),
        detail: None,
        message: format!("{} rows deleted in {} commits", progress.rows, progress.commits),
        hint: None,
    });
}

/// Passes from new snapshots, until one is whole.
async fn go_on(
    ctx: &StatementContext,
    (statement, kept): (&ast::Statement, &PlanCache<WritePlan>),
    rows_max: usize,
    progress: &mut Progress,
) -> Result<()> {
    let mut known = None;
    loop {
        let txn = ctx.txn.another().await?;
        let catalog = Catalog::load(&txn, known).await?;
        known = Some(Arc::clone(&catalog));
        let reading = StatementContext {
            txn: Arc::new(txn),
            catalog,
            lookups: Arc::default(),
            ..ctx.clone()
        };
        if pass(&reading, (statement, kept), rows_max, progress).await? == Pass::Whole {
            return Ok(());
        }
    }
}

/// Deletes the rows that are found in the snapshot of `ctx`, a batch a commit.
async fn pass(
    ctx: &StatementContext,
    (statement, kept): (&ast::Statement, &PlanCache<WritePlan>),
    rows_max: usize,
    progress: &mut Progress,
) -> Result<Pass> {
    let plan = WritePlan::of(ctx, statement, kept).await?;
    let plan = plan
        .delete()
        .ok_or_else(|| Error::internal("batches of what is no DELETE"))?;
    if plan.returning.is_some() {
        return Err(Error::unsupported(
            "RETURNING with the hint _l_batch_",
            Some("Leave RETURNING out, or the hint: rows that are committed are returned by no error."),
        ));
    }
    let mut found = Found {
        pages: plan.found.pages(ctx, None, false).await?,
        rest: None,
    };
    loop {
        let ran = match found.next(rows_max).await {
            Ok(batch) if batch.is_empty() => return Ok(Pass::Whole),
            Ok(batch) => run(ctx, plan, batch, *progress).await,
            Err(error) => Err(error),
        };
        match ran {
            Ok(now) => *progress = now,
            Err(Error::Conflict { .. } | Error::ReadConflict | Error::SnapshotTooOld)
                if progress.lost < LOST_MAX =>
            {
                progress.lost += 1;
                return Ok(Pass::Again);
            }
            Err(error) => return Err(error),
        }
        let kept = ctx.sequences.store().stats();
        if kept.undo_bytes > kept.undo_bytes_max / UNDO_PART {
            return Ok(Pass::Again);
        }
    }
}

/// Deletes a batch in a transaction of its own; answers how far the statement is then. Errors: those of a DELETE.
async fn run(
    ctx: &StatementContext,
    plan: &DeletePlan,
    batch: Vec<RecordBatch>,
    before: Progress,
) -> Result<Progress> {
    let txn = Arc::new(ctx.txn.beside().await?);
    let ctx = StatementContext {
        txn: Arc::clone(&txn),
        ..ctx.clone()
    };
    let references = References::default();
    lock_for_writes(&txn, &plan.target.table).await?;
    let pages = stream::iter(batch.into_iter().map(Ok)).boxed();
    let written = plan.delete(&ctx, pages, &references).await?;
    settle(&ctx, &references).await?;
    txn.note_statement(true);
    txn.settle().await?;
    let now = Progress {
        rows: before.rows + written.rows_written,
        commits: before.commits + 1,
        lost: 0,
    };
    let (jobs, relaxed) = (Arc::clone(&ctx.jobs), !ctx.settings.synchronous_commit);
    drop(ctx);
    // Once it is on its way a commit ends as it ends, and is counted.
    let committing = Arc::clone(&jobs);
    let committed = jobs.run(move |_| async move {
        txn.commit(relaxed).await?;
        committing.note_done(format!(
            "{} rows are deleted, in {} commits, and stay so.",
            now.rows, now.commits
        ));
        Ok(())
    });
    committed.await?;
    Ok(now)
}

/// Rows that were found, as they come.
struct Found {
    pages: BoxStream<'static, Result<RecordBatch>>,
    /// What is left of the last page.
    rest: Option<RecordBatch>,
}

impl Found {
    /// The next rows, so many at most; none at the end.
    async fn next(&mut self, rows_max: usize) -> Result<Vec<RecordBatch>> {
        let (mut batch, mut wanted) = (Vec::new(), rows_max);
        while wanted > 0 {
            let page = match self.rest.take() {
                Some(page) => page,
                None => match self.pages.try_next().await? {
                    Some(page) => page,
                    None => break,
                },
            };
            let taken = page.num_rows().min(wanted);
            if taken < page.num_rows() {
                self.rest = Some(page.slice(taken, page.num_rows() - taken));
            }
            if taken > 0 {
                wanted -= taken;
                batch.push(page.slice(0, taken));
            }
        }
        Ok(batch)
    }
}
