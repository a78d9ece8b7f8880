//! `Run`: one run of a statement, and the reply to what it gave. `run` makes one of each statement.

use std::sync::Arc;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::rows::{RowStream, RowsTag};
use super::{CopyFrom, CopyTo, Reply};
use crate::scan::OutputColumn;
use crate::sql::{self, Cursor, OpenedCursor, Outcome, Statement};
use crate::system::{CursorPosition, Parameters, Settings, StatementContext, StatementMemory};
use crate::types::SqlType;
use crate::{Error, Result};

/// One run of a statement.
pub(super) struct Run<'a> {
    pub(super) statement: &'a Arc<Statement>,
    pub(super) parameters: Parameters,
    pub(super) described: Option<&'a [OutputColumn]>,
    pub(super) deadline: Option<Instant>,
    /// Of the query of a DECLARE: what is said of the cursor.
    pub(super) cursor: Option<CursorSetup>,
    /// Where the cursor stands that it names in WHERE CURRENT OF.
    pub(super) position: Option<Arc<CursorPosition>>,
}

/// What a cursor begins with.
pub(super) struct CursorSetup {
    /// SCROLL or NO SCROLL.
    pub(super) scroll: Option<bool>,
    pub(super) settings: Arc<Settings>,
}

/// What executing a statement gave.
pub(super) enum Ran {
    Outcome(Outcome),
    Opened(OpenedCursor),
}

impl Ran {
    /// Whether rows are still to come.
    pub(super) fn streams(&self) -> bool {
        matches!(self, Ran::Opened(_) | Ran::Outcome(Outcome::Rows { .. }))
    }
}

impl Run<'_> {
    /// Executes the statement, or opens a cursor over it. Errors: the statement's.
    pub(super) async fn execute(&self, ctx: &StatementContext) -> Result<Ran> {
        // A text whose constants would be of other types by now is read anew.
        let constants = self.parameters.constants.as_ref();
        if constants.is_some_and(|types| !types.are_those_of(ctx.plan_basis())) {
            return Err(Error::PlanChanged { hint: None });
        }
        match &self.cursor {
            Some(_) => sql::open_cursor(ctx, self.statement).await.map(Ran::Opened),
            None => sql::execute(ctx, self.statement).await.map(Ran::Outcome),
        }
    }

    /// The reply to what executing gave, and what it holds in memory. Errors: 0A000 when the client was told of other
    /// columns.
    pub(super) fn reply(&self, ran: Ran, memory: &Arc<StatementMemory>) -> Result<Reply> {
        let outcome = match (ran, &self.cursor) {
            (Ran::Outcome(outcome), _) => outcome,
            (Ran::Opened(opened), Some(CursorSetup { scroll, settings })) => {
                let columns = Arc::clone(&opened.columns);
                let cursor = Cursor::new(opened, *scroll, Arc::clone(settings), Arc::clone(memory));
                let mut rows = RowStream::of_cursor(columns, Arc::new(Mutex::new(cursor)));
                rows.memory = Some(Arc::clone(memory));
                return Ok(Reply::Rows(rows));
            }
            (Ran::Opened(_), None) => return Err(Error::internal("a cursor that nobody declared")),
        };
        let mut rows = match outcome {
            Outcome::Done { tag } => return Ok(Reply::Done { tag }),
            Outcome::Written(written) if written.columns.is_empty() => {
                return Ok(Reply::Done { tag: written.tag });
            }
            Outcome::Written(written) => {
                RowStream::of_batches(written.columns, written.batches, RowsTag::of_write(written.tag))
            }
            Outcome::Rows { columns, stream } => {
                let tag = match self.statement.parsed.is_explain() {
                    true => RowsTag::Fixed("EXPLAIN".to_string()),
                    false => RowsTag::counted("SELECT"),
                };
                RowStream::new(columns, stream, tag)
            }
            Outcome::CopyIn(input) => {
                let copy = CopyFrom::new(input, self.deadline, Arc::clone(memory));
                return Ok(Reply::CopyFrom(copy));
            }
            Outcome::CopyOut {
                columns,
                stream,
                encoder,
                copying,
            } => {
                let mut rows = RowStream::new(columns, stream, RowsTag::counted("COPY"));
                rows.memory = Some(Arc::clone(memory));
                rows.deadline = self.deadline;
                return Ok(Reply::CopyTo(Box::new(CopyTo {
                    rows,
                    encoder,
                    copying,
                })));
            }
        };
        if let Some(described) = self.described
            && !std::ptr::eq(described, &*rows.columns)
        {
            let kept = kept_columns(described, &rows.columns).ok_or_else(|| Error::PlanChanged {
                hint: Some("Prepare the statement again.".to_string()),
            })?;
            if kept.len() < rows.columns.len() {
                rows.project(kept);
            }
        }
        rows.memory = Some(Arc::clone(memory));
        rows.deadline = self.deadline;
        Ok(Reply::Rows(rows))
    }
}

/// Where the columns that the client was told of stand in the result; `None` when one is missing or has changed. Columns
/// that the tables got since then are left out: on a wide table any write may add one, and a prepared `SELECT *` goes on
/// to give what it gave.
fn kept_columns(described: &[OutputColumn], found: &[OutputColumn]) -> Option<Vec<usize>> {
    let mut kept = Vec::with_capacity(described.len());
    let mut rest = found.iter().enumerate();
    for wanted in described {
        loop {
            let (at, column) = rest.next()?;
            // Where it comes from is no part of what was told: a table that is made again, or a view, may give it as well. The NULL of a
            // column that no write has made yet is one of any type.
            let is_as_told = column.is_unwritten || is_same(&column.ty, &wanted.ty);
            if column.name == wanted.name && is_as_told {
                kept.push(at);
                break;
            }
            if column.table_oid == 0 {
                return None;
            }
        }
    }
    rest.all(|(_, column)| column.table_oid != 0).then_some(kept)
}

/// Whether a client that was told of one type takes the values of the other: those of a row type whose columns have changed, too.
fn is_same(found: &SqlType, told: &SqlType) -> bool {
    let is_of_rows = matches!(found.innermost(), SqlType::Record(row) if !row.is_anonymous());
    found == told || is_of_rows && found.oid() == told.oid()
}
