//! `MovedRows`: rows that an UPDATE of a partitioned table makes those of another partition: they are deleted where they stood, and inserted
//! where they belong.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow::compute::{filter, filter_record_batch, not, take_arrays, take_record_batch};
use sqlparser::ast::SelectItem;

use super::references::References;
use super::row_event::RowEvent;
use super::row_triggers::RowTriggers;
use super::whole_rows::WholeRows;
use crate::catalog::{TableDef, TriggerTiming};
use crate::system::StatementContext;
use crate::table::{Limits, check_moves, delete_rows};
use crate::{Error, Result};

/// Where the rows go.
#[derive(Debug)]
pub(super) struct MovedRows {
    insert: WholeRows,
    /// Whether the INSERT shows them to RETURNING: as they are then, and of which partition. Not so beside other relations, whose columns it
    /// does not know.
    shows: bool,
}

/// Rows as they stand and as they will be, and what stands beside them.
type Rows = (RecordBatch, RecordBatch, Vec<ArrayRef>);

/// Rows of which some have gone.
pub(super) struct Parted {
    /// Those that stay.
    pub(super) staying: Rows,
    /// How many have gone.
    pub(super) left_count: u64,
    /// What RETURNING shows of those that have gone.
    pub(super) shown: Vec<RecordBatch>,
    /// Where the INSERT does not show them: those that have gone, as they were to be, and what stands beside them.
    pub(super) left: Option<(RecordBatch, Vec<ArrayRef>)>,
}

impl MovedRows {
    /// That of an UPDATE of a table that is known as this. `returning`: its RETURNING, where it names no other relations. Errors: those of binding
    /// an INSERT.
    pub(super) fn bind(
        ctx: &StatementContext,
        known: (&Arc<TableDef>, &str),
        returning: Option<&[SelectItem]>,
    ) -> Result<MovedRows> {
        Ok(MovedRows {
            insert: WholeRows::bind_returning(ctx, known, returning)?,
            shows: returning.is_some(),
        })
    }

    /// Moves the rows of a page that leave `table`. `limits`: what the UPDATE says of their times. Errors: those of INSERT and of
    /// [`check_moves`], 23514 for a row that no partition has.
    pub(super) async fn take(
        &self,
        ctx: &StatementContext,
        (table, limits): (&Arc<TableDef>, Limits),
        ((old, new, beside), leaving): ((&RecordBatch, &RecordBatch, &[ArrayRef]), &BooleanArray),
        references: &References,
    ) -> Result<Parted> {
        let page = (old, new, beside);
        let staying = rows_of(page, &not(leaving).map_err(Error::arrow)?)?;
        let (mut gone, mut moved, mut beside) = rows_of(page, leaving)?;
        if let Some(triggers) = RowTriggers::bind(ctx, table, RowEvent::DELETE, TriggerTiming::Before)? {
            let (kept, _) = triggers.before_all(ctx, (Some(&gone), None)).await?;
            let kept = UInt32Array::from(kept);
            gone = take_record_batch(&gone, &kept).map_err(Error::arrow)?;
            moved = take_record_batch(&moved, &kept).map_err(Error::arrow)?;
            beside = take_arrays(&beside, &kept, None).map_err(Error::arrow)?;
        }
        let mut parted = Parted {
            staying,
            left_count: gone.num_rows() as u64,
            shown: Vec::new(),
            left: None,
        };
        if gone.num_rows() > 0 {
            check_moves(&ctx.txn, table, &gone, limits).await?;
            delete_rows(&ctx.txn, table, &gone, ctx.settings.limits).await?;
            references.note_moved(ctx, table, (&gone, &moved)).await?;
            let written = self.insert.write(ctx, (table, &moved), references);
            parted.shown = written.await.map_err(|fault| fault.error)?.batches;
        }
        if !self.shows {
            parted.left = Some((moved, beside));
        }
        Ok(parted)
    }
}

/// Those rows of a page that the mask tells.
fn rows_of(
    (old, new, beside): (&RecordBatch, &RecordBatch, &[ArrayRef]),
    mask: &BooleanArray,
) -> Result<Rows> {
    let rows = |batch: &RecordBatch| filter_record_batch(batch, mask).map_err(Error::arrow);
    let beside = beside
        .iter()
        .map(|array| filter(array, mask).map_err(Error::arrow));
    Ok((rows(old)?, rows(new)?, beside.collect::<Result<_>>()?))
}
