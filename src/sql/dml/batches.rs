//! `DELETE /*+ _l_batch_(n) */` and UPDATE: a write of any size that commits after every n rows, so that neither its memory nor its locks
//! grow with it. Called by `dml::execute`, outside of transaction blocks alone.
//!
//! The rows are found in one snapshot, a pass, and written by transactions that begin at it, each of n of them: what others have changed
//! since is looked at again under the lock, as any write does. A new pass, from a new snapshot, begins where the old one cannot go on: its
//! snapshot is given up, or keeps too much of what the batches replace, or a row is met that is there under another key by now.
//!
//! To triggers a batch is a statement: those that fire once for each statement fire for each batch, with its rows as transition tables.
//!
//! Invariant: no row is written twice. What was deleted no pass meets again; an UPDATE goes along the primary key, none of whose columns
//! it sets, and a pass reads what stands behind the last row that was committed (`TableDef::walked`), unless the table was stored anew.

use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use sqlparser::ast;

use super::delete::DeletePlan;
use super::references::References;
use super::row_search::RowSearch;
use super::settling::settle;
use super::update::{UpdatePlan, WalkedTo};
use super::write_plan::WritePlan;
use super::write_result::WriteResult;
use crate::catalog::{Catalog, TableDef};
use crate::codec::keyspace::entry_prefix;
use crate::sql::alone::require_alone;
use crate::system::plan_cache::PlanCache;
use crate::system::{Notice, StatementContext};
use crate::table::{RowEncoder, constraint_key, lock_for_writes};
use crate::{Error, Result};

/// How often in a row a batch may lose to others.
const LOST_MAX: usize = 100;
/// A pass that keeps more than this part of what the store keeps for open snapshots ends.
const UNDO_PART: usize = 4;

/// How far the statement is.
#[derive(Debug, Clone, Default)]
struct Progress {
    rows: u64,
    commits: u64,
    /// Batches in a row that were lost to others.
    lost: usize,
    /// The key of the last row that an UPDATE has come to, stored and for people.
    walked: Option<(WalkedTo, String)>,
}

/// What is written a batch at a time.
#[derive(Clone, Copy)]
enum Batched<'a> {
    Delete(&'a DeletePlan),
    Update(&'a UpdatePlan),
}

/// How a pass ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// All its rows are deleted.
    Whole,
    /// There may be more.
    Again,
}

/// Runs the write; `rows_max`: of a batch. Errors: 25001 where others of its transaction could not be taken back, 0A000 with RETURNING;
/// those of any such write, whose DETAIL says then how many rows are written (`Jobs::with_done`).
pub(super) async fn execute(
    ctx: &StatementContext,
    statement: &ast::Statement,
    kept: &PlanCache<WritePlan>,
    rows_max: usize,
) -> Result<WriteResult> {
    let (command, done) = words(statement)?;
    require_alone(ctx, &format!("{command} with the hint _l_batch_"))?;
    let mut progress = Progress::default();
    let written = match pass(ctx, (statement, kept), rows_max, &mut progress).await {
        Ok(Pass::Whole) => Ok(()),
        Ok(Pass::Again) => go_on(ctx, (statement, kept), rows_max, &mut progress).await,
        Err(error) => Err(error),
    };
    written?;
    tell(ctx, done, &progress);
    Ok(WriteResult {
        tag: format!("{command} {}", progress.rows),
        rows_written: progress.rows,
        columns: Vec::new(),
        batches: Vec::new(),
    })
}

/// The command, and what it has done with rows. Errors: it is none that is written in batches.
fn words(statement: &ast::Statement) -> Result<(&'static str, &'static str)> {
    match statement {
        ast::Statement::Delete(_) => Ok(("DELETE", "deleted")),
        ast::Statement::Update(_) => Ok(("UPDATE", "updated")),
        _ => Err(Error::internal("batches of what is neither UPDATE nor DELETE")),
    }
}

fn tell(ctx: &StatementContext, done: &str, progress: &Progress) {
    ctx.notice(Notice::new(
        "00000",
        format!("{} rows {done} in {} commits", progress.rows, progress.commits),
    ));
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

/// Writes the rows that are found in the snapshot of `ctx`, a batch a commit.
async fn pass(
    ctx: &StatementContext,
    (statement, kept): (&ast::Statement, &PlanCache<WritePlan>),
    rows_max: usize,
    progress: &mut Progress,
) -> Result<Pass> {
    let plan = match (statement, &progress.walked) {
        (ast::Statement::Update(_), Some((after, _))) => {
            Arc::new(Box::pin(WritePlan::of_update_after(ctx, statement, after)).await?)
        }
        _ => WritePlan::of(ctx, statement, kept).await?,
    };
    let batched = match (plan.delete(), plan.update()) {
        (Some(plan), _) => Batched::Delete(plan),
        (None, Some(plan)) => Batched::Update(plan),
        (None, None) => return Err(Error::internal("batches of what is neither UPDATE nor DELETE")),
    };
    if let Some((after, _)) = &progress.walked {
        require_as_it_was(batched.target(), after)?;
    }
    if matches!(batched, Batched::Delete(plan) if plan.returning.is_some()) {
        return Err(Error::unsupported(
            "RETURNING with the hint _l_batch_",
            Some("Leave RETURNING out, or the hint: rows that are committed are returned by no error."),
        ));
    }
    let mut found = Found {
        pages: batched.found().pages(ctx, None, false).await?,
        rest: None,
    };
    loop {
        let ran = match found.next(rows_max).await {
            Ok(batch) if batch.is_empty() && !fires_for_nothing(batched, progress) => {
                return Ok(Pass::Whole);
            }
            Ok(batch) => run(ctx, (&*plan, batched), batch, progress).await,
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

/// Whether no row at all is a statement, too, to the triggers that fire once for each.
fn fires_for_nothing(batched: Batched<'_>, progress: &Progress) -> bool {
    progress.commits == 0 && !batched.target().triggers.is_empty()
}

/// The rows of an UPDATE must stand where the last pass left them, for it to know which it has written. Errors: 55000.
fn require_as_it_was(table: &TableDef, after: &WalkedTo) -> Result<()> {
    let rows = entry_prefix(table.id, table.primary_key.id);
    match after.is_empty() || after.starts_with(&rows) {
        true => Ok(()),
        false => Err(Error::NotInState {
            message: format!(
                "the rows of \"{}\" were stored anew by another session while they were updated in batches",
                table.name
            ),
        }),
    }
}

impl Batched<'_> {
    fn found(&self) -> &RowSearch {
        match self {
            Batched::Delete(plan) => &plan.found,
            Batched::Update(plan) => &plan.found,
        }
    }

    fn target(&self) -> &TableDef {
        match self {
            Batched::Delete(plan) => &plan.target.table,
            Batched::Update(plan) => &plan.target.table,
        }
    }

    fn done(&self) -> &'static str {
        match self {
            Batched::Delete(_) => "deleted",
            Batched::Update(_) => "updated",
        }
    }

    /// How far rows of an UPDATE go, which come behind those before. Errors: they do not.
    fn walked(
        &self,
        ctx: &StatementContext,
        batch: &[RecordBatch],
        before: &Progress,
    ) -> Result<Option<(WalkedTo, String)>> {
        let Batched::Update(plan) = self else {
            return Ok(None);
        };
        if batch.is_empty() {
            return Ok(before.walked.clone());
        }
        let table = &plan.target.table;
        let mut encoder = RowEncoder::new(table, ctx.settings.limits);
        let mut last: WalkedTo = before
            .walked
            .as_ref()
            .map_or_else(WalkedTo::default, |(key, _)| Arc::clone(key));
        let mut text = String::new();
        for page in batch {
            let columns = plan.found.split(page).columns.to_vec();
            let rows = RecordBatch::try_new(table.write_schema(), columns).map_err(Error::arrow)?;
            for row in 0..rows.num_rows() {
                let key = encoder.key(&rows, row)?;
                if *key <= *last {
                    return Err(Error::internal("rows of an UPDATE in batches came out of order"));
                }
                last = key.into();
            }
            if is_in_plain_order(table) {
                let last_row = rows.num_rows().saturating_sub(1);
                text = constraint_key(table, &table.primary_key, &rows, last_row);
            }
        }
        Ok(Some((last, text)))
    }

    async fn write(
        &self,
        ctx: &StatementContext,
        batch: Vec<RecordBatch>,
        references: &References,
    ) -> Result<WriteResult> {
        let pages = stream::iter(batch.into_iter().map(Ok)).boxed();
        match self {
            Batched::Delete(plan) => plan.delete(ctx, pages, references).await,
            Batched::Update(plan) => plan.update(ctx, pages, references).await,
        }
    }
}

/// Whether the rows with greater keys are those behind: no hash or bucket comes first, and no column descends. Where it is not so, a key tells
/// nobody where to go on.
fn is_in_plain_order(table: &TableDef) -> bool {
    table.primary_key.columns.iter().all(|key| {
        let column = table.column_index_by_id(key.column);
        !key.descending && column.is_some_and(|at| !table.columns[at].hidden)
    })
}

impl Progress {
    /// What of the statement stays, whatever becomes of it.
    fn text(&self, done: &str) -> String {
        let (rows, commits) = (self.rows, self.commits);
        match &self.walked {
            Some((_, last)) if !last.is_empty() => {
                format!(
                    "{rows} rows are {done}, in {commits} commits, and stay so; the last has the key {last}."
                )
            }
            _ => format!("{rows} rows are {done}, in {commits} commits, and stay so."),
        }
    }
}

/// Writes a batch in a transaction of its own; answers how far the statement is then. Errors: those of such a write.
async fn run(
    ctx: &StatementContext,
    (plan, batched): (&WritePlan, Batched<'_>),
    batch: Vec<RecordBatch>,
    before: &Progress,
) -> Result<Progress> {
    let txn = Arc::new(ctx.txn.beside().await?);
    let ctx = StatementContext {
        txn: Arc::clone(&txn),
        ..ctx.clone()
    };
    let references = References::default();
    lock_for_writes(&txn, batched.target()).await?;
    let walked = batched.walked(&ctx, &batch, before)?;
    let write = |ctx: StatementContext| {
        let references = &references;
        async move { batched.write(&ctx, batch, references).await }
    };
    let written = plan.run_part(&ctx, &references, write).await?;
    settle(&ctx, &references).await?;
    txn.note_statement(true);
    txn.settle().await?;
    let now = Progress {
        rows: before.rows + written.rows_written,
        commits: before.commits + 1,
        lost: 0,
        walked,
    };
    let text = now.text(batched.done());
    let (jobs, relaxed) = (Arc::clone(&ctx.jobs), !ctx.settings.synchronous_commit);
    drop(ctx);
    jobs.commit(txn, relaxed, Some(text)).await?;
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
