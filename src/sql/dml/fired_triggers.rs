//! `FiredTriggers`: the triggers that a statement has fired and that are called when it has written all its rows, in the order in which
//! they were fired.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;

use super::row_event::RowEvent;
use super::row_triggers::{RowTriggers, WrittenRow, fire_for_statement};
use super::transition_tables::TransitionTables;
use crate::Result;
use crate::catalog::{TableDef, TriggerEvent, TriggerTiming};
use crate::codec::row::ColumnId;
use crate::system::StatementContext;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct FiredTriggers {
    queue: Mutex<VecDeque<Fired>>,
    tables: TransitionTables,
}

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
    /// Rows were written. Errors: 53200 for more than triggers may find in tables.
    pub(super) fn note_rows(
        &self,
        ctx: &StatementContext,
        table: &Arc<TableDef>,
        event: RowEvent<'_>,
        rows: (Option<&RecordBatch>, Option<&RecordBatch>),
    ) -> Result<()> {
        self.tables.note(ctx, table, event, rows)?;
        self.fire_for_rows(ctx, table, event, rows);
        Ok(())
    }

    /// Rows of a partition were made those of another one by an UPDATE: for its triggers they are deleted. Errors: as of `note_rows`.
    pub(super) fn note_moved(
        &self,
        ctx: &StatementContext,
        table: &Arc<TableDef>,
        (old, new): (&RecordBatch, &RecordBatch),
    ) -> Result<()> {
        let update = RowEvent::of(TriggerEvent::Update);
        self.tables.note(ctx, table, update, (Some(old), Some(new)))?;
        self.fire_for_rows(ctx, table, RowEvent::DELETE, (Some(old), None));
        Ok(())
    }

    fn fire_for_rows(
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

    /// A statement has written its rows. Of several that write to one table in WITH the last one fires.
    pub(super) fn note_statement(&self, ctx: &StatementContext, table: &Arc<TableDef>, event: RowEvent<'_>) {
        let mut fired = event.triggers(ctx, table, TriggerTiming::After, false);
        if fired.next().is_some() {
            self.lock().retain(|before| {
                let is_of_rows = matches!(before.rows, FiredFor::Rows { .. });
                is_of_rows || before.table.oid != table.oid || before.event != event.event
            });
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
                Some(fired) => fired.call(ctx, &self.tables).await?,
                None => return Ok(()),
            }
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Fired>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Fired {
    async fn call(&self, ctx: &StatementContext, tables: &TransitionTables) -> Result<()> {
        let event = RowEvent {
            event: self.event,
            set: &self.set,
        };
        let FiredFor::Rows { old, new } = &self.rows else {
            return fire_for_statement(ctx, &self.table, event, TriggerTiming::After, tables).await;
        };
        let Some(triggers) = RowTriggers::bind(ctx, &self.table, event, TriggerTiming::After)? else {
            return Ok(());
        };
        let triggers = triggers.with_tables(ctx, tables)?;
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
