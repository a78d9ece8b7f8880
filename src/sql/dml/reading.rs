//! What a write reads, for EXPLAIN: planned by the same functions as when the write runs.

use std::sync::Arc;

use sqlparser::ast::{self, OnConflictAction, OnInsert};

use super::super::Statement;
use super::super::query::{self, QueryPlan};
use super::found_rows::FoundRows;
use super::insert::{self, plain_values};
use super::target::Target;
use super::{delete, update};
use crate::catalog::TableDef;
use crate::exec::StatementContext;
use crate::plan::AccessPath;
use crate::{Error, Result};

/// A write's table and where its rows come from.
pub(crate) struct Reading {
    pub(crate) operation: Operation,
    pub(crate) table: Arc<TableDef>,
    /// What the statement calls the table.
    pub(crate) alias: String,
    pub(crate) rows: RowsRead,
}

/// What is done with the rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operation {
    /// INSERT; a row whose key is there already is an error, left out, or updates the one that is there.
    Insert {
        /// `NOTHING` or `UPDATE`.
        on_conflict: Option<&'static str>,
    },
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
}

/// Where the rows of a write come from.
pub(crate) enum RowsRead {
    /// VALUES of so many rows.
    Values(usize),
    /// An access path to the table itself.
    Path(Box<AccessPath>),
    /// A query, and what it runs in.
    Query(Box<(StatementContext, QueryPlan)>),
}

/// Plans what a write would read; nothing of it stays in the transaction. Errors: as when it runs.
pub(crate) async fn plan_reading(ctx: &StatementContext, statement: &Statement) -> Result<Reading> {
    // Columns that the write adds are there while it is planned.
    let savepoint = ctx.txn.savepoint();
    let planned = match &statement.ast {
        ast::Statement::Insert(insert) => reading_of_insert(ctx, insert, statement.upsert).await,
        ast::Statement::Update(update) => {
            let found = update::plan_reading(ctx, update).await;
            found.map(|(target, found)| reading(Operation::Update, &target, found))
        }
        ast::Statement::Delete(delete) => {
            let found = delete::plan_reading(ctx, delete).await;
            found.map(|(target, found)| reading(Operation::Delete, &target, found))
        }
        other => Err(Error::internal(format!("not a write: {other}"))),
    };
    ctx.txn.rollback_to(savepoint);
    planned
}

fn reading(operation: Operation, target: &Target, found: FoundRows) -> Reading {
    let rows = match found {
        FoundRows::Path(path) => RowsRead::Path(Box::new(path)),
        FoundRows::Query(query) => RowsRead::Query(Box::new((query.ctx, QueryPlan::new(query.planned)))),
    };
    Reading {
        operation,
        table: Arc::clone(&target.table),
        alias: target.name().to_string(),
        rows,
    }
}

async fn reading_of_insert(ctx: &StatementContext, insert: &ast::Insert, upsert: bool) -> Result<Reading> {
    let (target, _) = insert::target_of(ctx, insert)?;
    let rows = match insert.source.as_deref() {
        None => RowsRead::Values(1),
        Some(source) => match plain_values(source) {
            Some(rows) => RowsRead::Values(rows.len()),
            None => {
                let planned = query::plan_source(ctx, source, &super::super::known_types(ctx)).await?;
                RowsRead::Query(Box::new((ctx.clone(), QueryPlan::new(planned))))
            }
        },
    };
    let on_conflict = match &insert.on {
        None if upsert => Some("UPDATE"),
        Some(OnInsert::OnConflict(on)) => Some(match on.action {
            OnConflictAction::DoNothing => "NOTHING",
            OnConflictAction::DoUpdate(_) => "UPDATE",
        }),
        _ => None,
    };
    Ok(Reading {
        operation: Operation::Insert { on_conflict },
        table: Arc::clone(&target.table),
        alias: target.name().to_string(),
        rows,
    })
}
