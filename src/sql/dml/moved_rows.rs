//! `MovedRows`: rows that an UPDATE of a partitioned table makes those of another partition: they are deleted where they stood, and inserted
//! where they belong.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::{filter, filter_record_batch, not, take_arrays, take_record_batch};

use super::references::References;
use super::row_event::RowEvent;
use super::row_triggers::RowTriggers;
use super::whole_rows::WholeRows;
use crate::catalog::{TableDef, TriggerTiming};
use crate::system::StatementContext;
use crate::table::delete_rows;
use crate::{Error, Result};

/// Where the rows go.
#[derive(Debug)]
pub(super) struct MovedRows {
    insert: WholeRows,
}

/// Rows as they stand and as they will be, and what stands beside them.
type Rows = (RecordBatch, RecordBatch, Vec<ArrayRef>);

/// Rows of which some have gone.
pub(super) struct Parted {
    /// Those that stay.
    pub(super) staying: Rows,
    /// Those that have gone, as they are now, and what stands beside them.
    pub(super) left: (RecordBatch, Vec<ArrayRef>),
}

impl MovedRows {
    /// That of an UPDATE of this table. Errors: those of binding an INSERT.
    pub(super) fn bind(ctx: &StatementContext, table: &Arc<TableDef>) -> Result<MovedRows> {
        Ok(MovedRows {
            insert: WholeRows::bind(ctx, table)?,
        })
    }

    /// Moves the rows of a page that leave `table`. Errors: those of INSERT, 23514 for a row that no partition has.
    pub(super) async fn take(
        &self,
        ctx: &StatementContext,
        table: &Arc<TableDef>,
        ((old, new, beside), leaving): ((&RecordBatch, &RecordBatch, &[ArrayRef]), &BooleanArray),
        references: &References,
    ) -> Result<Parted> {
        let staying = not(leaving).map_err(Error::arrow)?;
        let rows =
            |batch: &RecordBatch, mask: &BooleanArray| filter_record_batch(batch, mask).map_err(Error::arrow);
        let arrays = |mask: &BooleanArray| {
            let arrays = beside
                .iter()
                .map(|array| filter(array, mask).map_err(Error::arrow));
            arrays.collect::<Result<Vec<_>>>()
        };
        let (mut gone, mut moved, mut beside_moved) =
            (rows(old, leaving)?, rows(new, leaving)?, arrays(leaving)?);
        if let Some(triggers) = RowTriggers::bind(ctx, table, RowEvent::DELETE, TriggerTiming::Before)? {
            let (kept, _) = triggers.before_all(ctx, (Some(&gone), None)).await?;
            let kept = UInt32Array::from(kept);
            gone = take_record_batch(&gone, &kept).map_err(Error::arrow)?;
            moved = take_record_batch(&moved, &kept).map_err(Error::arrow)?;
            beside_moved = take_arrays(&beside_moved, &kept, None).map_err(Error::arrow)?;
        }
        if gone.num_rows() > 0 {
            delete_rows(&ctx.txn, table, &gone, ctx.settings.limits).await?;
            references.note_moved(ctx, table, (&gone, &moved)).await?;
            let written = self.insert.write(ctx, (table, &moved), references);
            written.await.map_err(|fault| fault.error)?;
        }
        Ok(Parted {
            staying: (rows(old, &staying)?, rows(new, &staying)?, arrays(&staying)?),
            left: (moved, beside_moved),
        })
    }
}
