//! What MERGE asks of triggers that fire before rows are written: for all rows first, for it knows all that it does before it writes.

use std::sync::Arc;

use arrow::array::RecordBatch;

use super::row_event::RowEvent;
use super::row_triggers::{RowTriggers, UPDATED, UPDATED_OR_DELETED, check_untouched};
use crate::catalog::{TableDef, TriggerTiming};
use crate::system::StatementContext;
use crate::txn::Transaction;
use crate::{Error, Result};

/// Calls the triggers that fire before rows are written: which rows of the join these are then, and how they are written.
pub(super) async fn before(
    ctx: &StatementContext,
    (table, event): (&Arc<TableDef>, RowEvent<'_>),
    rows: Vec<u32>,
    (old, new): (Option<&RecordBatch>, Option<&RecordBatch>),
) -> Result<(Vec<u32>, RecordBatch)> {
    let written = new.or(old).ok_or_else(|| Error::internal("a write of no rows"))?;
    let Some(triggers) = RowTriggers::bind(ctx, table, event, TriggerTiming::Before)? else {
        return Ok((rows, written.clone()));
    };
    let (kept, written) = triggers.before_all(ctx, (old, new)).await?;
    Ok((kept.into_iter().map(|at| rows[at as usize]).collect(), written))
}

/// Errors: 27000 where triggers, or functions that were called, have written rows that are to be changed or deleted.
pub(super) fn check_untouched_by<'r>(
    ctx: &StatementContext,
    table: &TableDef,
    mut rows: impl Iterator<Item = &'r RecordBatch>,
    began: &Transaction,
) -> Result<()> {
    let done = match table.has_row_triggers() {
        true => UPDATED,
        false => UPDATED_OR_DELETED,
    };
    rows.try_for_each(|old| check_untouched(ctx, (table, done), old, began))
}
