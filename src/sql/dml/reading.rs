//! What a write reads, for EXPLAIN: planned by the same functions as when the write runs.

use std::sync::Arc;

use sqlparser::ast::{self, OnConflictAction, OnInsert};

use super::super::Statement;
use super::insert::{self, plain_values};
use super::target::Target;
use super::{delete, update};
use crate::catalog::TableDef;
use crate::exec::StatementContext;
use crate::parse::is_upsert;
use crate::query::{self, QueryPlan};
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
    /// A query.
    Query(Arc<QueryPlan>),
}

/// Plans what a write would read; nothing of it stays in the transaction. Errors: as when it runs.
pub(crate) fn plan_reading(ctx: &StatementContext, statement: &Statement) -> Result<Reading> {
    // Columns that the write adds are there while it is planned.
    let savepoint = ctx.txn.savepoint();
    let planned = match &statement.parsed.ast {
        ast::Statement::Insert(insert) => reading_of_insert(ctx, insert),
        ast::Statement::Update(update) => {
            update::plan(ctx, update).map(|(target, plan)| reading(Operation::Update, &target, plan))
        }
        ast::Statement::Delete(delete) => {
            delete::plan(ctx, delete).map(|(target, plan)| reading(Operation::Delete, &target, plan))
        }
        other => Err(Error::internal(format!("not a write: {other}"))),
    };
    ctx.txn.rollback_to(savepoint);
    planned
}

fn reading(operation: Operation, target: &Target, plan: Arc<QueryPlan>) -> Reading {
    Reading {
        operation,
        table: Arc::clone(&target.table),
        alias: target.name().to_string(),
        rows: RowsRead::Query(plan),
    }
}

fn reading_of_insert(ctx: &StatementContext, insert: &ast::Insert) -> Result<Reading> {
    let (target, _) = insert::target_of(ctx, insert)?;
    let rows = match insert.source.as_deref() {
        None => RowsRead::Values(1),
        Some(source) => match plain_values(source) {
            Some(rows) => RowsRead::Values(rows.len()),
            None => {
                let planned = query::plan_source(ctx, source, &query::known_types(ctx))?;
                RowsRead::Query(Arc::new(QueryPlan::new(planned)))
            }
        },
    };
    let on_conflict = match &insert.on {
        None if is_upsert(insert) => Some("UPDATE"),
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
