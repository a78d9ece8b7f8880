//! `TransitionTables`: the rows that a statement has written, kept for the triggers whose REFERENCING names them as tables. Each table has
//! all rows of the statement, those of a partitioned table the rows of its partitions, in its own columns.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow::datatypes::SchemaRef;

use super::row_event::RowEvent;

use crate::catalog::{TableDef, TriggerDef, TriggerEvent, TriggerRow, TriggerTiming};
use crate::system::statement_memory::HeldBytes;
use crate::system::{CommonColumn, CommonRows, StatementContext};
use crate::{Error, Result};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct TransitionTables(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    rows: Vec<WrittenRows>,
    bytes: usize,
    /// Made with the first rows.
    held: Option<HeldBytes>,
}

#[derive(Debug)]
struct WrittenRows {
    table: Arc<TableDef>,
    event: TriggerEvent,
    old: Option<RecordBatch>,
    new: Option<RecordBatch>,
}

impl TransitionTables {
    /// Rows were written: as they were, and as they are. Errors: 53200 for more than a statement may hold.
    pub(super) fn note(
        &self,
        ctx: &StatementContext,
        table: &Arc<TableDef>,
        event: RowEvent<'_>,
        (old, new): (Option<&RecordBatch>, Option<&RecordBatch>),
    ) -> Result<()> {
        if !are_named(ctx, table, event)? {
            return Ok(());
        }
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let batches = old.iter().chain(&new);
        kept.bytes += batches.map(|batch| batch.get_array_memory_size()).sum::<usize>();
        kept.rows.push(WrittenRows {
            table: Arc::clone(table),
            event: event.event,
            old: old.cloned(),
            new: new.cloned(),
        });
        let bytes = kept.bytes;
        let held = kept
            .held
            .get_or_insert_with(|| HeldBytes::new(Arc::clone(&ctx.memory)));
        held.resize(bytes)
    }

    /// The tables that a trigger names, with the rows that were written by now.
    pub(super) fn of_trigger(
        &self,
        ctx: &StatementContext,
        (table, event): (&TableDef, TriggerEvent),
        trigger: &TriggerDef,
    ) -> Result<Arc<[CommonRows]>> {
        let tables = [TriggerRow::Old, TriggerRow::New].map(|row| {
            let name = trigger.table_of(row)?;
            Some(self.table(ctx, (table, event), row, name))
        });
        tables.into_iter().flatten().collect()
    }

    fn table(
        &self,
        ctx: &StatementContext,
        (table, event): (&TableDef, TriggerEvent),
        row: TriggerRow,
        name: &str,
    ) -> Result<CommonRows> {
        let columns = table.visible_columns();
        let columns = columns.map(|column| CommonColumn {
            name: column.name.clone(),
            ty: column.ty.clone(),
            origin: None,
        });
        let rows = CommonRows::new(name.to_string(), Some(columns.collect()));
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (schema, mut batches) = (rows.schema(), Vec::with_capacity(kept.rows.len()));
        for written in kept.rows.iter().filter(|written| written.event == event) {
            let side = match row {
                TriggerRow::Old => &written.old,
                TriggerRow::New => &written.new,
            };
            if let Some(side) = side
                && any_above(ctx, &written.table, |above| above.oid == table.oid)?
            {
                batches.push(in_columns_of(table, &schema, &written.table, side)?);
            }
        }
        rows.fill(&batches)?;
        Ok(rows)
    }
}

/// Whether triggers of the table, or of one that it is a partition of, see all columns of its rows.
pub(super) fn triggers_see_rows(ctx: &StatementContext, table: &Arc<TableDef>) -> Result<bool> {
    any_above(ctx, table, |table| table.has_row_triggers())
}

/// Whether a trigger of the table, or of one that it is a partition of, names the rows.
fn are_named(ctx: &StatementContext, table: &Arc<TableDef>, event: RowEvent<'_>) -> Result<bool> {
    any_above(ctx, table, |table| {
        let of_level = |each_row| event.triggers(ctx, table, TriggerTiming::After, each_row);
        of_level(true)
            .chain(of_level(false))
            .any(TriggerDef::has_transition_tables)
    })
}

/// Whether it is so of the table, of the one that it is a partition of, and so on.
fn any_above(
    ctx: &StatementContext,
    table: &Arc<TableDef>,
    is_so: impl Fn(&Arc<TableDef>) -> bool,
) -> Result<bool> {
    let mut above = Arc::clone(table);
    while !is_so(&above) {
        match ctx.parent_of(&above)? {
            Some(parent) => above = parent,
            None => return Ok(false),
        }
    }
    Ok(true)
}

/// Rows of one table in the visible columns of another, by their names. `schema`: what these are called then.
fn in_columns_of(
    table: &TableDef,
    schema: &SchemaRef,
    of: &TableDef,
    rows: &RecordBatch,
) -> Result<RecordBatch> {
    let columns = table
        .visible_columns()
        .map(|column| match of.column_index(&column.name) {
            Some(at) => Arc::clone(rows.column(at)),
            None => new_null_array(&column.ty.arrow_type(), rows.num_rows()),
        });
    let columns: Vec<ArrayRef> = columns.collect();
    let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options).map_err(Error::arrow)
}
