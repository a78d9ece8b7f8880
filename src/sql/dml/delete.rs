//! DELETE: the rows that the condition finds are removed, a page at a time; only a query that reads the target more than
//! once is read to its end first (see `update`).

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, new_null_array};
use futures::TryStreamExt;
use futures::stream::BoxStream;
use sqlparser::ast::{self, FromTable, TableWithJoins};

use super::named_columns::NamedColumns;
use super::references::References;
use super::returning::Returning;
use super::row_buffer::RowBuffer;
use super::row_event::RowEvent;
use super::row_search::{Finding, FoundPage, RowSearch, append_beside, row_by_row};
use super::row_triggers::{DELETED, RowTriggers, UPDATED, WrittenRow, rows_at_once};
use super::target::{Target, bind_narrowed};
use super::transition_tables::triggers_see_rows;
use super::update::FirstOfEachKey;
use super::write_result::WriteResult;
use crate::catalog::{Access, TableDef, TriggerTiming};
use crate::query::{Observation, Others};
use crate::store::LockMode;
use crate::system::StatementContext;
use crate::table::delete_rows;
use crate::types::SqlType;
use crate::{Error, Result};

/// A DELETE, bound.
#[derive(Debug)]
pub(super) struct DeletePlan {
    pub(super) target: Target,
    pub(super) found: RowSearch,
    /// Positions of the columns that are read.
    columns: Vec<usize>,
    pub(super) returning: Option<Returning>,
}

impl DeletePlan {
    /// Binds it. Errors: those of binding, 0A000.
    pub(super) fn bind(
        ctx: &StatementContext,
        delete: &ast::Delete,
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<DeletePlan> {
        bind_narrowed(types, |types, narrows| {
            DeletePlan::bind_target(ctx, delete, types, narrows)
        })
    }

    fn bind_target(
        ctx: &StatementContext,
        delete: &ast::Delete,
        types: &mut Vec<Option<SqlType>>,
        narrows: bool,
    ) -> Result<DeletePlan> {
        let mut target = Target::of_factor(ctx, target_of(delete)?, Access::Delete)?;
        if narrows {
            target.narrow(ctx, NamedColumns::of_delete(delete))?;
        }
        let items = delete.returning.as_deref();
        let columns = columns_needed(
            &target.table,
            items.is_some() || triggers_see_rows(ctx, &target.table)?,
        );
        let finding = Finding {
            after: None,
            columns: &columns,
            expressions: &[],
            others: Others::From(delete.using.as_deref().unwrap_or_default()),
            selection: delete.selection.as_ref(),
            beside: items.is_some(),
        };
        let found = RowSearch::bind(ctx, &target, finding, types)?;
        let returning = Returning::bind(ctx, &target, &found.beside, items, types)?;
        Ok(DeletePlan {
            target,
            found,
            columns,
            returning,
        })
    }

    /// Runs it. `observation`: what its reading is counted in.
    pub(super) async fn run(
        &self,
        ctx: &StatementContext,
        observation: Option<&Observation>,
        references: &References,
    ) -> Result<WriteResult> {
        let pages = self.found.pages(ctx, observation, false).await?;
        let pages = match self.returning.as_ref().is_some_and(Returning::may_write) {
            true => row_by_row(pages),
            false => pages,
        };
        self.delete(ctx, pages, references).await
    }

    /// Deletes the rows of pages that were found.
    pub(super) async fn delete(
        &self,
        ctx: &StatementContext,
        mut pages: BoxStream<'static, Result<RecordBatch>>,
        references: &References,
    ) -> Result<WriteResult> {
        let table = &self.target.table;
        let (mut deleted, mut returned) = (0, RowBuffer::new(ctx));
        // What RETURNING shows that was asked at once.
        let mut shown = Vec::new();
        let triggers = RowTriggers::bind(ctx, table, RowEvent::DELETE, TriggerTiming::Before)?;
        let triggers = triggers.map(|bound| bound.watching(ctx, false));
        let done = match &triggers {
            // It is locked for them first.
            Some(_) => UPDATED,
            None => DELETED,
        };
        let first = FirstOfEachKey::new(table, ctx, self.found.joins);
        let mut first = first.watching(ctx, Some(done));
        while let Some(page) = pages.try_next().await? {
            let page = self.found.lock(ctx, page, LockMode::Replace).await?;
            let FoundPage { columns, others } = self.found.split(&page);
            let rows = widen(table, &self.columns, columns, page.num_rows())?;
            let (rows, beside) = first
                .take(ctx, (rows, others.to_vec()), LockMode::Replace)
                .await?;
            let at_once = rows_at_once(triggers.is_some() || self.may_write(), rows.num_rows());
            for from in (0..rows.num_rows()).step_by(at_once) {
                let rows = rows.slice(from, at_once);
                if let Some(triggers) = &triggers {
                    let row = WrittenRow {
                        old: Some(&rows),
                        new: None,
                    };
                    if triggers.before(ctx, row).await?.is_none() {
                        continue;
                    }
                }
                if !table.stands_for_view() {
                    delete_rows(&ctx.txn, table, &rows, ctx.settings.limits).await?;
                    references.note_deleted(ctx, table, &rows).await?;
                }
                deleted += rows.num_rows() as u64;
                if let Some(returning) = &self.returning {
                    let beside = beside.iter().map(|array| array.slice(from, at_once)).collect();
                    let rows = append_beside(rows, &self.found.beside, beside)?;
                    returning.note(ctx, rows, (&mut returned, &mut shown)).await?;
                }
            }
        }
        let mut result = WriteResult::of(ctx, "DELETE", deleted, self.returning.as_ref(), returned).await?;
        result.batches.extend(shown);
        Ok(result)
    }

    /// Whether a function is run for it that may write, and sees what was written.
    pub(super) fn may_write(&self) -> bool {
        self.found.may_write() || self.returning.as_ref().is_some_and(Returning::may_write)
    }
}

/// The table of DELETE FROM. Errors: 0A000 for several.
fn target_of(delete: &ast::Delete) -> Result<&TableWithJoins> {
    let (FromTable::WithFromKeyword(from) | FromTable::WithoutKeyword(from)) = &delete.from;
    match from.as_slice() {
        [table] => Ok(table),
        _ => Err(Error::unsupported(
            "this form of DELETE",
            Some("Use DELETE FROM table [USING ...] WHERE ...."),
        )),
    }
}

/// Positions of the columns that must be read: those of keys, or all when somebody sees them.
fn columns_needed(table: &TableDef, are_seen: bool) -> Vec<usize> {
    if are_seen {
        return (0..table.columns.len()).collect();
    }
    let ids = table.columns_of_keys();
    (0..table.columns.len())
        .filter(|&at| ids.contains(&table.columns[at].id))
        .collect()
}

/// Whole rows, with NULLs in the columns that were not read.
fn widen(table: &TableDef, projection: &[usize], read: &[ArrayRef], rows: usize) -> Result<RecordBatch> {
    let columns = table.columns.iter().enumerate().map(|(at, column)| -> ArrayRef {
        match projection.iter().position(|&read_at| read_at == at) {
            Some(at) => Arc::clone(&read[at]),
            None => new_null_array(&column.ty.arrow_type(), rows),
        }
    });
    RecordBatch::try_new(table.write_schema(), columns.collect()).map_err(Error::arrow)
}
