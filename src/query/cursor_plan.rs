//! `CursorPlan`: the query of a cursor, planned. Its rows tell of what rows of tables they are made; rows of one table that it locks are
//! locked as they are fetched, and not before. Run by `sql`.

use std::sync::Arc;

use futures::StreamExt;
use sqlparser::ast;

use super::plan_locks::PlanLocks;
use super::row_keys::{RowKey, with_row_keys};
use super::{PlannedQuery, QueryPlan, known_types, plan_query};
use crate::Result;
use crate::logical::placeholder::Constants;
use crate::operators::fetched_rows::{FetchLocks, FetchedRows};
use crate::scan::{OutputColumn, Rows, RowsStream};
use crate::system::{InUse, StatementContext, query_threads};
use crate::tree::{Expr, Plan};
use crate::types::SqlType;

/// The query of a cursor.
#[derive(Debug)]
pub(crate) struct CursorPlan {
    /// Its rows, not locked yet where `locks` says how.
    rows: QueryPlan,
    locks: Option<FetchLocks>,
    /// What of tables it locks.
    table_locks: PlanLocks,
    /// The types of `$1` …
    parameters: Vec<SqlType>,
    /// The columns that are the client's: the first.
    pub(crate) columns: Arc<[OutputColumn]>,
    /// The rows that its rows are made of.
    pub(crate) keys: Arc<[RowKey]>,
}

/// The rows of a cursor's query, of which none was asked for.
pub(crate) enum CursorRows {
    /// As they come.
    Stream(RowsStream),
    /// Locked when they are asked for.
    Fetched(Box<FetchedRows>),
}

impl CursorRows {
    /// The same rows, computed on the query threads.
    pub(crate) fn on_query_threads(self) -> CursorRows {
        match self {
            CursorRows::Stream(rows) => CursorRows::Stream(query_threads::on_query_threads(rows)),
            CursorRows::Fetched(mut rows) => {
                rows.read_on_query_threads();
                CursorRows::Fetched(rows)
            }
        }
    }

    /// The next rows, at most `wanted` where they are locked for it, which is not 0; `None` at the end. Errors: the query's.
    pub(crate) async fn next(&mut self, wanted: usize) -> Result<Option<Rows>> {
        match self {
            CursorRows::Stream(rows) => rows.next().await.transpose(),
            CursorRows::Fetched(rows) => Ok(rows.next(wanted).await?.map(Rows::Columns)),
        }
    }
}

impl CursorPlan {
    /// Errors: as [`plan_query`].
    pub(crate) fn new(ctx: &StatementContext, query: &ast::Query) -> Result<CursorPlan> {
        let planned = plan_query(ctx, query, &known_types(ctx))?;
        let table_locks = PlanLocks::of(&planned.plan, &planned.views);
        let columns: Arc<[OutputColumn]> = planned.columns.as_slice().into();
        let (planned, keys) = with_row_keys(ctx, planned)?;
        let (plan, locks) = match without_lock(&planned.plan) {
            Some((plan, locks)) => (plan?, Some(locks)),
            None => (planned.plan, None),
        };
        Ok(CursorPlan {
            parameters: planned.parameters.clone(),
            rows: QueryPlan::new(PlannedQuery { plan, ..planned }),
            locks,
            table_locks,
            columns,
            keys: keys.into(),
        })
    }

    /// Whether its rows lock rows as they come: then it may have to begin again, and none may leave before all are there.
    pub(crate) fn locks_as_it_reads(&self) -> bool {
        self.rows.locks_rows()
    }

    /// Whether it locks rows.
    pub(crate) fn locks_rows(&self) -> bool {
        self.table_locks.locks_rows()
    }

    /// Whether a function of a user's is run in it.
    pub(crate) fn calls_routines(&self) -> bool {
        self.rows.calls_routines()
    }

    /// Whether it gives one row, of what PostgreSQL computes as it plans.
    pub(crate) fn is_of_constants(&self) -> bool {
        self.rows.is_of_constants()
    }

    /// While the cursor is open, no statement of its session changes what it reads.
    pub(crate) fn enter(&self, ctx: &StatementContext) -> InUse {
        self.table_locks.enter(ctx)
    }

    /// Runs it with the context's parameters, in its transaction. Errors: those of planning the access.
    pub(crate) async fn run(&self, ctx: &StatementContext) -> Result<CursorRows> {
        self.table_locks.lock_tables(ctx).await?;
        let rows = self.rows.run(&ctx.fetching()).await?;
        let Some(locks) = &self.locks else {
            return Ok(CursorRows::Stream(rows));
        };
        let constants = Constants::new(ctx, &self.parameters)?;
        let fetched = FetchedRows::new(rows, locks, &ctx.txn, constants)?;
        Ok(CursorRows::Fetched(Box::new(fetched)))
    }
}

/// What a plan that locks rows of one table, and of each knows what it makes, gives before it locks them; and how it does that. `None`:
/// it locks none, or nobody knows.
fn without_lock(plan: &Plan) -> Option<(Result<Plan>, FetchLocks)> {
    let (limit, limited) = match plan {
        Plan::Limit(limit) => (Some(limit), limit.input.as_ref()),
        plan => (None, plan),
    };
    let (outputs, locked) = match limited {
        Plan::Projection(projection) => match projection.input.as_ref() {
            Plan::LockRows(locked) => (projection.expr.clone(), locked),
            _ => return None,
        },
        Plan::LockRows(locked) => {
            let columns = locked.input.schema().columns().into_iter();
            (columns.map(Expr::Column).collect(), locked)
        }
        _ => return None,
    };
    let made_columns = outputs.iter().map(|output| match output.clone().unalias() {
        Expr::Column(column) => locked.made.schema().maybe_index_of_column(&column),
        _ => None,
    });
    let made_columns: Vec<usize> = made_columns.collect::<Option<_>>()?;
    let [lock] = locked.locks.as_slice() else {
        return None;
    };
    let key = lock.key.iter().map(|key| {
        let is_it = |output: &Expr| output.clone().unalias() == *key;
        outputs.iter().position(is_it)
    });
    let locks = FetchLocks::new(
        lock,
        key.collect::<Option<_>>()?,
        (&locked.made, made_columns),
        limit,
    )?;
    let plan = locked.input.as_ref().clone().project(outputs);
    Some((plan, locks))
}
