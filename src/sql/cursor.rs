//! The query of a cursor: what may be one, and its rows. Called by `session`, which keeps cursors.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use sqlparser::ast::{self, Spanned};
use sqlparser::tokenizer::Span;

use super::{Statement, held_back, hold_plan, raise_warnings};
use crate::error::StatementFault;
use crate::parse::command::CursorOptions;
use crate::parse::row_locks::own_lock;
use crate::parse::text_place;
use crate::parse::with_write::with_writes;
use crate::query::{CursorPlan, CursorRows, RowKey};
use crate::scan::OutputColumn;
use crate::system::{InUse, StatementContext, query_threads};
use crate::{Error, Result};

/// A cursor's rows, of which none was asked for.
pub(crate) struct OpenedCursor {
    /// The columns that are the client's; others may stand behind them.
    pub(crate) columns: Arc<[OutputColumn]>,
    /// Of which rows of tables each row is made.
    pub(crate) keys: Arc<[RowKey]>,
    /// Whether the query locks rows.
    pub(crate) locks_rows: bool,
    /// The tables that it reads.
    pub(crate) in_use: Option<InUse>,
    pub(crate) rows: CursorRows,
}

/// Runs the query of a cursor. Errors: the query's; where it locks rows of which nobody knows what
/// they would be made of if others had changed them (joins, subqueries), all are locked here.
pub(crate) async fn open_cursor(ctx: &StatementContext, statement: &Arc<Statement>) -> Result<OpenedCursor> {
    raise_warnings(ctx, statement);
    if statement.effort.is_bounded(ctx) {
        return Ok(Box::pin(open_here(ctx, statement)).await?.0);
    }
    let (ctx, statement) = (ctx.clone(), Arc::clone(statement));
    let opening = async move { open_here(&ctx, &statement).await };
    let (opened, calls_routines) = Box::pin(query_threads::run(opening)).await?;
    Ok(match calls_routines {
        // They would be called ahead of what is fetched.
        true => opened,
        false => OpenedCursor {
            rows: opened.rows.on_query_threads(),
            ..opened
        },
    })
}

/// Whether functions of a user's are called as its rows are read, beside it.
async fn open_here(ctx: &StatementContext, statement: &Statement) -> Result<(OpenedCursor, bool)> {
    let opened = async {
        let ast::Statement::Query(query) = &statement.parsed.ast else {
            return Err(not_a_query());
        };
        hold_plan(ctx, statement)?;
        let plan = CursorPlan::new(ctx, query)?;
        let rows = match plan.run(ctx).await? {
            CursorRows::Stream(rows) if plan.locks_as_it_reads() => {
                CursorRows::Stream(held_back(ctx, rows).await?)
            }
            CursorRows::Stream(mut rows) if plan.is_of_constants() => {
                // What fails in it does so before the client is told of columns.
                let first = rows.try_next().await?;
                CursorRows::Stream(futures::stream::iter(first.map(Ok)).chain(rows).boxed())
            }
            rows => rows,
        };
        let opened = OpenedCursor {
            columns: Arc::clone(&plan.columns),
            keys: Arc::clone(&plan.keys),
            locks_rows: plan.locks_rows(),
            in_use: Some(plan.enter(ctx)),
            rows,
        };
        Ok((opened, plan.calls_routines()))
    };
    opened.await.map_err(|error| statement.parsed.locate(error))
}

/// Errors: 42601, 0A000 and 42P11 for what DECLARE with these options takes for no cursor's query.
pub(crate) fn check_cursor_query(statement: &Statement, options: &CursorOptions) -> Result<()> {
    let parsed = &statement.parsed;
    if parsed.is_query_that_writes() {
        return Err(with_writes("DECLARE CURSOR"));
    }
    let ast::Statement::Query(query) = &parsed.ast else {
        return Err(not_a_query());
    };
    if let Some(into) = into_of(query) {
        let refused = Error::Syntax {
            message: "SELECT ... INTO is not allowed here".to_string(),
            position: 0,
        };
        return Err(parsed.locate(text_place::at_error(refused, into)));
    }
    match (own_lock(query), options.read_only_kind()) {
        (Some(strength), Some(kind)) => Err(Error::LockingCursor {
            kind,
            clause: strength.clause(),
        }),
        _ => Ok(()),
    }
}

/// What no cursor can be of.
pub(crate) fn not_a_query() -> Error {
    Error::InvalidStatement {
        state: StatementFault::Syntax,
        message: "DECLARE CURSOR takes one query".to_string(),
        hint: None,
    }
}

/// Where the name stands that SELECT INTO gives its rows to.
fn into_of(query: &ast::Query) -> Option<Span> {
    match query.body.as_ref() {
        ast::SetExpr::Select(select) => select.into.as_ref().map(|into| into.name.span()),
        _ => None,
    }
}
