//! `RowTriggers`: the triggers that one kind of event fires for the rows of a table, bound for a statement: which function each calls,
//! and the condition that it asks before. The one place where a write calls a trigger's function.
//!
//! Invariants
//!
//! 1. A trigger that fires before is called for one row at a time, right before that row is written: its function sees all that
//!    the statement has written by then, as in PostgreSQL. (MERGE, which knows all that it does before it writes, calls it for all rows.)
//! 2. What a function gives is the row as users see it; hidden and generated columns are computed of it anew.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::concat_batches;
use sqlparser::ast::Expr;

use super::default::parse_expression;
use super::generated_columns::{settled, with_generated};
use super::row_event::RowEvent;
use super::row_expressions::{RowExpressions, rows_of_nothing, side_by_side};
use super::transition_tables::TransitionTables;
use crate::catalog::{RoutineDef, TableDef, TriggerDef, TriggerEvent, TriggerRow, TriggerTiming};
use crate::error::Raised;
use crate::functions::value_array::array_of;
use crate::query::{Clause, RowColumn, RowQuery, RowRelation};
use crate::system::{
    CommonRows, DeferredCheck, GrownStack, RoutineCall, StatementContext, TriggerCall, TriggerCheck,
};
use crate::table::RowEncoder;
use crate::txn::Transaction;
use crate::types::{Value, value_at};
use crate::{Error, Result};

/// See the module.
pub(super) struct RowTriggers<'a> {
    table: &'a Arc<TableDef>,
    event: TriggerEvent,
    all: Vec<BoundTrigger<'a>>,
    /// The transaction as the statement found it, if no row of the statement's gets the key of another.
    began: Option<Transaction>,
}

struct BoundTrigger<'a> {
    def: &'a TriggerDef,
    routine: Arc<RoutineDef>,
    condition: Option<RowExpressions>,
    /// What REFERENCING names.
    tables: Arc<[CommonRows]>,
}

/// How many of so many rows are written together: triggers that fire before one see those before it.
pub(super) fn rows_at_once(fires_before: bool, rows: usize) -> usize {
    match fires_before {
        true => 1,
        false => rows.max(1),
    }
}

/// A row that is written: a batch of one row each.
#[derive(Debug, Clone, Copy)]
pub(super) struct WrittenRow<'a> {
    pub(super) old: Option<&'a RecordBatch>,
    pub(super) new: Option<&'a RecordBatch>,
}

impl<'a> RowTriggers<'a> {
    /// Binds them; `None`: there are none. Errors: those of the conditions.
    pub(super) fn bind(
        ctx: &StatementContext,
        table: &'a Arc<TableDef>,
        event: RowEvent<'_>,
        timing: TriggerTiming,
    ) -> Result<Option<RowTriggers<'a>>> {
        // Its partitions have them, too, and its rows.
        if table.partitioning.is_some() {
            return Ok(None);
        }
        let bound = event.triggers(ctx, table, timing, true).map(|def| {
            let condition = def.when.as_ref().map(|when| {
                let expr = parse_expression(&when.sql)?;
                bind_condition(ctx, table, def.rows_named(), &expr)
            });
            Ok(BoundTrigger {
                def,
                routine: function_of(ctx, def)?,
                condition: condition.transpose()?,
                tables: Arc::default(),
            })
        });
        let all: Vec<BoundTrigger<'_>> = bound.collect::<Result<_>>()?;
        Ok((!all.is_empty()).then_some(RowTriggers {
            table,
            event: event.event,
            all,
            began: None,
        }))
    }

    /// Whether they are those of a view: what they answer is written, and by nobody else.
    pub(super) fn fire_instead(&self) -> bool {
        self.table.stands_for_view()
    }

    /// They may change no row that the statement comes to later. (Where keys change a row may have one that was another's.)
    pub(super) fn watching(mut self, ctx: &StatementContext, keys_move: bool) -> RowTriggers<'a> {
        self.began = (!keys_move).then(|| ctx.txn.as_it_is());
        self
    }

    /// Their functions find these tables.
    pub(super) fn with_tables(
        mut self,
        ctx: &StatementContext,
        tables: &TransitionTables,
    ) -> Result<RowTriggers<'a>> {
        for trigger in &mut self.all {
            trigger.tables = tables.of_trigger(ctx, (self.table, self.event), trigger.def)?;
        }
        Ok(self)
    }

    /// Calls those that fire before a row is written: the row to write, or to delete; `None`: it is left as it is. Errors: the
    /// functions'; 27000 where they have written the row themselves.
    pub(super) async fn before(
        &self,
        ctx: &StatementContext,
        row: WrittenRow<'_>,
    ) -> Result<Option<RecordBatch>> {
        let WrittenRow { old, new } = row;
        let written = new
            .or(old)
            .ok_or_else(|| Error::internal("a trigger of no row"))?;
        let mut written = written.clone();
        let before = ctx.txn.as_it_is();
        let old_stored = old.filter(|_| !self.fire_instead());
        if let (Some(old), Some(began)) = (old_stored, &self.began) {
            // PostgreSQL finds it as it locks the row for the trigger, whatever comes then.
            check_untouched(ctx, (self.table, UPDATED), old, began)?;
        }
        for trigger in &self.all {
            let now = WrittenRow {
                old,
                new: new.map(|_| &written),
            };
            if !trigger.holds(ctx, self.table, now).await? {
                continue;
            }
            let Some(given) = self.call(ctx, trigger, now).await? else {
                return Ok(None);
            };
            if new.is_some() && given != values_of(self.table, &written)? {
                written = with_values(self.table, &written, &given)?;
            }
        }
        if let Some(old) = old_stored {
            let began = self.began.as_ref().unwrap_or(&before);
            check_untouched(ctx, (self.table, written_word(self.event)), old, began)?;
        }
        match new {
            Some(_) => with_generated(ctx, self.table, written).map(Some),
            None => Ok(Some(written)),
        }
    }

    /// As [`RowTriggers::before`], of rows that are all written afterwards: which of them are, and how.
    pub(super) async fn before_all(
        &self,
        ctx: &StatementContext,
        (old, new): (Option<&RecordBatch>, Option<&RecordBatch>),
    ) -> Result<(Vec<u32>, RecordBatch)> {
        let count = new.or(old).map_or(0, RecordBatch::num_rows);
        let (mut kept, mut rows) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for at in 0..count {
            let row = |rows: Option<&RecordBatch>| rows.map(|rows| rows.slice(at, 1));
            let (old, new) = (row(old), row(new));
            let row = WrittenRow {
                old: old.as_ref(),
                new: new.as_ref(),
            };
            if let Some(written) = self.before(ctx, row).await? {
                kept.push(at as u32);
                rows.push(written);
            }
        }
        let rows = concat_batches(&self.table.write_schema(), &rows).map_err(Error::arrow)?;
        Ok((kept, rows))
    }

    /// Calls those that fire once a row is written. Errors: the functions'.
    pub(super) async fn after(&self, ctx: &StatementContext, row: WrittenRow<'_>) -> Result<()> {
        for trigger in &self.all {
            if !trigger.holds(ctx, self.table, row).await? {
                continue;
            }
            match is_deferred(ctx, trigger.def) {
                true => self.leave(ctx, trigger.def, row),
                false => self.call(ctx, trigger, row).await.map(drop)?,
            }
        }
        Ok(())
    }

    /// Its function is called when the transaction commits, or SET CONSTRAINTS says so.
    fn leave(&self, ctx: &StatementContext, trigger: &TriggerDef, row: WrittenRow<'_>) {
        ctx.session.touch();
        ctx.session.deferred.leave(DeferredCheck::Trigger(TriggerCheck {
            table: Arc::clone(self.table),
            trigger: trigger.oid,
            event: self.event,
            old: row.old.cloned(),
            new: row.new.cloned(),
        }));
    }

    async fn call(
        &self,
        ctx: &StatementContext,
        trigger: &BoundTrigger<'_>,
        row: WrittenRow<'_>,
    ) -> Result<Option<Vec<Value>>> {
        let values = |rows: Option<&RecordBatch>| rows.map(|rows| values_of(self.table, rows)).transpose();
        let mut new = values(row.new)?;
        if trigger.def.timing == TriggerTiming::Before
            && let Some(new) = &mut new
        {
            // They are computed of what is written in the end.
            for (value, column) in new.iter_mut().zip(self.table.visible_columns()) {
                if column.generation().is_some() {
                    *value = Value::Null;
                }
            }
        }
        let rows = (values(row.old)?, new);
        let call = TriggerCall {
            tables: Arc::clone(&trigger.tables),
            ..told(trigger.def, self.table, self.event, rows)
        };
        let rows = call_function(ctx, &trigger.routine, call).await?;
        Ok(rows.into_iter().next())
    }
}

impl BoundTrigger<'_> {
    async fn holds(&self, ctx: &StatementContext, table: &TableDef, row: WrittenRow<'_>) -> Result<bool> {
        let Some(condition) = &self.condition else {
            return Ok(true);
        };
        let positions = table.visible_positions();
        let rows = self.def.rows_named().iter().map(|side| {
            let rows = match side {
                TriggerRow::Old => row.old,
                TriggerRow::New => row.new,
            };
            let rows = rows.ok_or_else(|| Error::internal("a condition of a row that is not there"))?;
            rows.project(&positions).map_err(Error::arrow)
        });
        let rows: Vec<RecordBatch> = rows.collect::<Result<_>>()?;
        let rows = match rows.is_empty() {
            true => rows_of_nothing(1)?,
            false => side_by_side(&rows.iter().collect::<Vec<_>>())?,
        };
        Ok(!condition.evaluate(ctx, &rows).await?.ordinals.is_empty())
    }
}

/// Calls the function of a trigger that was fired by then. Errors: the function's.
pub(super) async fn call_deferred(ctx: &StatementContext, fired: &TriggerCheck) -> Result<()> {
    let Some(def) = ctx
        .table_by_oid(fired.table.oid)
        .and_then(|table| table.triggers.iter().find(|trigger| trigger.oid == fired.trigger))
    else {
        // It is dropped.
        return Ok(());
    };
    let trigger = BoundTrigger {
        def,
        routine: function_of(ctx, def)?,
        condition: None,
        tables: Arc::default(),
    };
    let triggers = RowTriggers {
        table: &fired.table,
        event: fired.event,
        all: Vec::new(),
        began: None,
    };
    let row = WrittenRow {
        old: fired.old.as_ref(),
        new: fired.new.as_ref(),
    };
    triggers.call(ctx, &trigger, row).await.map(drop)
}

fn is_deferred(ctx: &StatementContext, trigger: &TriggerDef) -> bool {
    ctx.asks_deferred
        && trigger.constraint.is_some_and(|constraint| {
            let deferred = &ctx.session.deferred;
            constraint.deferrable && deferred.is_deferred(trigger.oid, constraint.initially_deferred)
        })
}

/// Errors: 27000 where triggers, or functions that were called, have written rows to which that is to be `done`, since the transaction was so.
pub(super) fn check_untouched(
    ctx: &StatementContext,
    (table, done): (&TableDef, &str),
    old: &RecordBatch,
    began: &Transaction,
) -> Result<()> {
    let mut encoder = RowEncoder::new(table, ctx.settings.limits);
    let keys = (0..old.num_rows()).map(|row| encoder.key(old, row));
    let keys: Vec<Vec<u8>> = keys.collect::<Result<_>>()?;
    match ctx.txn.are_written_since(began, &keys).contains(&true) {
        true => Err(already_modified(done)),
        false => Ok(()),
    }
}

/// What an UPDATE does with a row, as errors have it.
pub(super) const UPDATED: &str = "updated";
/// The same of a DELETE.
pub(super) const DELETED: &str = "deleted";
/// The same of a MERGE.
pub(super) const UPDATED_OR_DELETED: &str = "updated or deleted";

fn written_word(event: TriggerEvent) -> &'static str {
    match event {
        TriggerEvent::Delete => DELETED,
        TriggerEvent::Insert | TriggerEvent::Update | TriggerEvent::Truncate => UPDATED,
    }
}

/// 27000: what a statement runs has written a row to which that is to be `done`.
pub(super) fn already_modified(done: &str) -> Error {
    let message =
        format!("tuple to be {done} was already modified by an operation triggered by the current command");
    let hint =
        "Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows.";
    Raised {
        hint: Some(hint.to_string()),
        ..Raised::new("27000", message)
    }
    .into()
}

/// Calls the functions of triggers that fire once a statement. `tables`: the rows that it has written. Errors: the functions'.
pub(super) async fn fire_for_statement(
    ctx: &StatementContext,
    table: &Arc<TableDef>,
    event: RowEvent<'_>,
    timing: TriggerTiming,
    tables: &TransitionTables,
) -> Result<()> {
    for def in event.triggers(ctx, table, timing, false) {
        if let Some(when) = &def.when {
            let condition = bind_condition(ctx, table, def.rows_named(), &parse_expression(&when.sql)?)?;
            if condition
                .evaluate(ctx, &rows_of_nothing(1)?)
                .await?
                .ordinals
                .is_empty()
            {
                continue;
            }
        }
        let call = TriggerCall {
            tables: tables.of_trigger(ctx, (table, event.event), def)?,
            ..told(def, table, event.event, (None, None))
        };
        call_function(ctx, &function_of(ctx, def)?, call).await?;
    }
    Ok(())
}

/// Those that fire before it. Errors: the functions'.
pub(super) async fn fire_before_statement(
    ctx: &StatementContext,
    table: &Arc<TableDef>,
    event: RowEvent<'_>,
) -> Result<()> {
    let tables = TransitionTables::default();
    fire_for_statement(ctx, table, event, TriggerTiming::Before, &tables).await
}

/// Calls the functions of triggers that TRUNCATE fires. Errors: the functions'.
pub(crate) async fn fire_for_truncate(
    ctx: &StatementContext,
    table: &Arc<TableDef>,
    timing: TriggerTiming,
) -> Result<()> {
    let (event, tables) = (RowEvent::of(TriggerEvent::Truncate), TransitionTables::default());
    fire_for_statement(ctx, table, event, timing, &tables).await
}

/// What the function of a trigger is told. `old`, `new`: rows as users see them.
fn told(
    def: &TriggerDef,
    table: &Arc<TableDef>,
    event: TriggerEvent,
    (old, new): (Option<Vec<Value>>, Option<Vec<Value>>),
) -> TriggerCall {
    TriggerCall {
        name: def.name.clone(),
        table: Arc::clone(table),
        timing: def.timing,
        event,
        for_each_row: def.for_each_row,
        arguments: def.arguments.clone(),
        tables: Arc::default(),
        old,
        new,
    }
}

async fn call_function(
    ctx: &StatementContext,
    routine: &Arc<RoutineDef>,
    call: TriggerCall,
) -> Result<Vec<Vec<Value>>> {
    let call = RoutineCall {
        routine: Arc::clone(routine),
        arguments: Vec::new(),
        types: Vec::new(),
        returns: Vec::new(),
        trigger: Some(call),
    };
    // Statements of the function are none of the one that fired it.
    let inner = StatementContext {
        trigger_depth: ctx.trigger_depth + 1,
        ..ctx.clone()
    };
    let given = GrownStack((ctx.call_routine)(&inner, call)).await?;
    ctx.txn.settle().await?;
    Ok(given)
}

fn function_of(ctx: &StatementContext, trigger: &TriggerDef) -> Result<Arc<RoutineDef>> {
    // One whose table was dropped with it, and taken back without it.
    ctx.routine_by_oid(trigger.function).cloned().ok_or_else(|| {
        Raised {
            hint: Some("Drop the trigger, or create it anew with another function.".to_string()),
            ..Raised::new(
                "42883",
                format!("the function of trigger \"{}\" does not exist", trigger.name),
            )
        }
        .into()
    })
}

/// The relations that a condition may name.
pub(crate) fn trigger_relations(table: &TableDef, rows: &[TriggerRow]) -> Vec<RowRelation> {
    let columns = table.visible_columns().map(|column| RowColumn {
        name: column.name.clone(),
        ty: column.ty.clone(),
        origin: None,
    });
    let columns: Vec<RowColumn> = columns.collect();
    let relation = |row: &TriggerRow| RowRelation::new(row.name().to_string(), columns.clone());
    rows.iter().map(relation).collect()
}

fn bind_condition(
    ctx: &StatementContext,
    table: &TableDef,
    rows: &[TriggerRow],
    condition: &Expr,
) -> Result<RowExpressions> {
    let query = RowQuery {
        relations: &trigger_relations(table, rows),
        items: &[],
        selection: Some(condition),
        clause: Clause::TriggerWhen,
    };
    RowExpressions::bind(&settled(ctx), query, &mut Vec::new())
}

/// Errors: those of binding the condition of a trigger, 42804 for one that is no boolean.
pub(crate) fn check_trigger_condition(
    ctx: &StatementContext,
    table: &TableDef,
    rows: &[TriggerRow],
    condition: &Expr,
) -> Result<()> {
    bind_condition(ctx, table, rows, condition).map(drop)
}

/// What users see of the only row of a batch.
fn values_of(table: &TableDef, row: &RecordBatch) -> Result<Vec<Value>> {
    let visible = table.visible_positions().into_iter();
    let values = visible.map(|at| value_at(row.column(at), 0, &table.columns[at].ty));
    values.collect()
}

/// The row with other values in the columns that users see.
fn with_values(table: &TableDef, row: &RecordBatch, values: &[Value]) -> Result<RecordBatch> {
    let mut columns: Vec<ArrayRef> = row.columns().to_vec();
    for (at, value) in table.visible_positions().into_iter().zip(values) {
        columns[at] = array_of(std::slice::from_ref(value), &table.columns[at].ty)?;
    }
    RecordBatch::try_new(table.write_schema(), columns).map_err(Error::arrow)
}
