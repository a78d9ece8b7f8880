//! `FiredTriggers`: the triggers that a statement has fired and that are called when it has written all its rows, in the order in which
//! they were fired.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;

use super::row_triggers::{RowEvent, RowTriggers, WrittenRow, fire_for_statement};
use crate::Result;
use crate::catalog::{TableDef, TriggerEvent, TriggerTiming};
use crate::codec::row::ColumnId;
use crate::system::StatementContext;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct FiredTriggers(Mutex<VecDeque<Fired>>);

/// What fired some.
#[derive(Debug)]
struct Fired {
    table: Arc<TableDef>,
    event: TriggerEvent,
    /// The columns that an UPDATE names.
    set: Vec<ColumnId>,
    rows: FiredFor,
}

#[derive(Debug)]
enum FiredFor {
    /// Rows: as they were, and as they are.
    Rows {
        old: Option<RecordBatch>,
        new: Option<RecordBatch>,
    },
    /// The statement.
    Statement,
}

impl FiredTriggers {
    /// Rows were written.
    pub(super) fn note_rows(
        &self,
        ctx: &StatementContext,
        table: &Arc<TableDef>,
        event: RowEvent<'_>,
        (old, new): (Option<&RecordBatch>, Option<&RecordBatch>),
    ) {
        let fires = |table| {
            event
                .triggers(ctx, table, TriggerTiming::After, true)
                .next()
                .is_some()
        };
        if !table.triggers.is_empty() && fires(table) {
            let rows = FiredFor::Rows {
                old: old.cloned(),
                new: new.cloned(),
            };
            self.push(table, event, rows);
        }
    }

    /// A statement has written its rows.
    pub(super) fn note_statement(&self, ctx: &StatementContext, table: &Arc<TableDef>, event: RowEvent<'_>) {
        let mut fired = event.triggers(ctx, table, TriggerTiming::After, false);
        if fired.next().is_some() {
            self.push(table, event, FiredFor::Statement);
        }
    }

    fn push(&self, table: &Arc<TableDef>, event: RowEvent<'_>, rows: FiredFor) {
        self.lock().push_back(Fired {
            table: Arc::clone(table),
            event: event.event,
            set: event.set.to_vec(),
            rows,
        });
    }

    /// Calls their functions, until none is left. Errors: the functions'.
    pub(super) async fn call_all(&self, ctx: &StatementContext) -> Result<()> {
        loop {
            let next = self.lock().pop_front();
            match next {
                Some(fired) => fired.call(ctx).await?,
                None => return Ok(()),
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Fired>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fired {
    async fn call(&self, ctx: &StatementContext) -> Result<()> {
        let event = RowEvent {
            event: self.event,
            set: &self.set,
        };
        let FiredFor::Rows { old, new } = &self.rows else {
            return fire_for_statement(ctx, &self.table, event, TriggerTiming::After).await;
        };
        let Some(triggers) = RowTriggers::bind(ctx, &self.table, event, TriggerTiming::After)? else {
            return Ok(());
        };
        let count = old.as_ref().or(new.as_ref()).map_or(0, RecordBatch::num_rows);
        for at in 0..count {
            let row = |rows: &Option<RecordBatch>| rows.as_ref().map(|rows| rows.slice(at, 1));
            let (old, new) = (row(old), row(new));
            let row = WrittenRow {
                old: old.as_ref(),
                new: new.as_ref(),
            };
            triggers.after(ctx, row).await?;
        }
        Ok(())
    }
}
