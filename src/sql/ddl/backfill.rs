//! What an index holds of its table's rows and they do not have yet, an expression or the condition of its rows, given to those that are there.
//!
//! ```text
//!   CREATE INDEX   publish the columns ── fill page by page ── keep the index ── write its entries ── valid
//!   INSERT, UPDATE            └ computes them, as any generated column
//! ```
//!
//! **Outside a block: beside writers.** The record is committed with the columns marked as unverified, and the index invalid: nobody reads
//! either, every row that is written from then on has the columns. A page of rows is written as it is where nobody has written the table since
//! it was read, and nobody is about to; else its rows are locked and read again ([`KeptRows`]). A row that is changed in other columns before its
//! turn is as it was in these. Once all rows have them, the index is built as any other (`index_build`), which takes the marks off. A failure
//! takes the columns back, and with them the index; so does the next start after a kill (`verification::undo_unfinished`).
//!
//! **In a block: in its transaction**, which keeps everybody from writing the table.

use std::sync::Arc;

use super::kept_rows::{KeptRows, lock_unchanged};
use super::keys_lock;
use super::verification::{JobTable, begin, shut_writers_out, taken_back};
use crate::catalog::{Catalog, CatalogWriter, TableDef};
use crate::codec::keyspace::TableId;
use crate::codec::row::ColumnId;
use crate::codec::successor;
use crate::store::{LockMode, Page};
use crate::system::{Abandoned, StatementContext};
use crate::table::{self, next_rows, rows_under};
use crate::txn::{DatabaseStore, Transaction};
use crate::{Error, Result};

/// Columns of a table that its rows are given.
pub(super) struct Backfill {
    ctx: StatementContext,
    table: JobTable,
    store: DatabaseStore,
    columns: Vec<ColumnId>,
}

/// The columns that an index of `new` holds and nobody has computed for the rows of `old`.
pub(super) fn columns(old: &TableDef, new: &TableDef) -> Vec<ColumnId> {
    let is_new = |id: &ColumnId| old.column_index_by_id(*id).is_none();
    let hidden = new.generations().map(|(at, _)| &new.columns[at]);
    let hidden = hidden.filter(|column| column.hidden).map(|column| column.id);
    hidden.filter(is_new).collect()
}

/// Gives the rows of a table these columns in the statement's transaction, which writes the table's record in this mode. Answers the table.
/// Errors: the expressions'; 54000 for more than a transaction may write.
pub(super) async fn fill_within(
    ctx: &StatementContext,
    old: &TableDef,
    new: TableDef,
    lock: LockMode,
) -> Result<TableDef> {
    let columns = columns(old, &new);
    shut_writers_out(ctx, old, lock).await?;
    keys_lock::share(ctx, old).await?;
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    let table = writer.put_table_in(new, lock)?;
    let mut from: Option<Vec<u8>> = None;
    loop {
        let page = next_rows(&ctx.txn, &table, from.as_deref()).await?;
        let Some((last, _)) = page.last() else {
            return Ok(TableDef::clone(&table));
        };
        write(ctx, &ctx.txn, (&table, &columns), &page)?;
        from = Some(successor(last));
        tokio::task::yield_now().await;
    }
}

impl Backfill {
    /// Of a table whose record has these columns, marked.
    pub(super) fn new(ctx: &StatementContext, table: &TableDef, columns: Vec<ColumnId>) -> Backfill {
        Backfill {
            ctx: ctx.clone(),
            table: JobTable::new(table),
            store: ctx.txn.database_store(),
            columns,
        }
    }

    /// Whether a column is one of them.
    pub(super) fn has(&self, column: ColumnId) -> bool {
        self.columns.contains(&column)
    }

    /// Gives all rows the columns. Errors: the expressions'; 42P01, 55000 where the table is no more what it was; 57014.
    pub(super) async fn run(&self, abandoned: &Abandoned) -> Result<()> {
        let mut known = None;
        let mut place: (TableId, Option<Vec<u8>>) = (0, None);
        loop {
            abandoned.next_step().await?;
            let txn = begin(&self.store).await?;
            let catalog = Catalog::load(&txn, known.take()).await?;
            let table = Arc::clone(self.table.find(&catalog)?);
            known = Some(catalog);
            if place.0 != table.id {
                // TRUNCATE, or a rewrite, gave the table new keys.
                place = (table.id, None);
            }
            let page = next_rows(&txn, &table, place.1.as_deref()).await?;
            let Some((last, _)) = page.last() else {
                return Ok(());
            };
            if self.fill(txn, &table, &page).await? {
                place.1 = Some(successor(last));
            }
        }
    }

    /// Gives the rows of a page the columns; `false`: they are to be read again.
    async fn fill(&self, read: Transaction, table: &TableDef, page: &Page) -> Result<bool> {
        let since = read.share_snapshot();
        // Who has locked a row knows it as it is.
        let Some(txn) = lock_unchanged(&self.store, table, since, LockMode::Exclusive).await? else {
            drop(read);
            let keys: Vec<Vec<u8>> = page.iter().map(|(key, _)| key.to_vec()).collect();
            return self.fill_kept(table.id, &keys).await;
        };
        let catalog = Catalog::load(&txn, None).await?;
        let current = self.table.find(&catalog)?;
        if current.id != table.id {
            return Ok(false);
        }
        self.write(&txn, current, page)?;
        txn.commit(true).await?;
        Ok(true)
    }

    async fn fill_kept(&self, id: TableId, keys: &[Vec<u8>]) -> Result<bool> {
        let mut rows = KeptRows::new(id, keys, LockMode::Change);
        while let Some((txn, catalog)) = rows.begin(&self.store).await? {
            let table = self.table.find(&catalog)?;
            if table.id != id {
                return Ok(false);
            }
            let page = rows_under(&txn, rows.keys()).await?;
            self.write(&txn, table, &page)?;
            rows.commit(txn).await?;
        }
        Ok(true)
    }

    /// Errors: 55000 where somebody has taken a column back.
    fn write(&self, txn: &Transaction, table: &TableDef, page: &Page) -> Result<()> {
        write(&self.ctx, txn, (table, &self.columns), page)
    }
}

/// Gives the rows of a page these columns, in a transaction that keeps others from writing them.
fn write(
    ctx: &StatementContext,
    txn: &Transaction,
    (table, columns): (&TableDef, &[ColumnId]),
    page: &Page,
) -> Result<()> {
    let position = |id: &ColumnId| table.column_index_by_id(*id).ok_or_else(|| taken_back(table));
    let positions: Vec<usize> = columns.iter().map(position).collect::<Result<_>>()?;
    let generated = ctx.generated_columns(table)?;
    let generated = generated.ok_or_else(|| Error::internal("a table that computes nothing"))?;
    let mut backfill = table::Backfill::new(table, &**generated, &positions, ctx.settings.limits);
    let mut writes = backfill.writes(page)?.into_iter();
    writes.try_for_each(|write| txn.write(write, None))
}
