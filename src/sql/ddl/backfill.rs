//! What is computed of a table's rows and they do not have yet, given to those that are there: what an index holds, an expression or the condition
//! of its rows, and generated columns that ALTER TABLE adds.
//!
//! ```text
//!   CREATE INDEX   publish the columns ── fill page by page ── keep the index ── write its entries ── valid
//!   INSERT, UPDATE            └ computes them, as any generated column
//! ```
//!
//! **Outside a block: beside writers.** The record is committed with the columns marked as unverified, and the index invalid: nobody reads
//! either, every row that is written from then on has the columns. Many rows are written at once while nobody else writes the table; where somebody
//! is about to, a page of them is, under locks of its rows ([`KeptRows`]). A row that is changed in other columns before its turn is as it was in
//! these. Once all rows have them, the index is built as any other (`index_build`), which takes the marks off. A failure
//! takes the columns back, and with them the index; so does the next start after a kill (`verification::undo_unfinished`).
//!
//! **In a block, and in ALTER TABLE: in its transaction**, which keeps everybody from writing the table.

use std::sync::Arc;

use super::kept_rows::KeptRows;
use super::keys_lock;
use super::rewrite::as_null_of_before;
use super::verification::{JobTable, begin, shut_writers_out, taken_back};
use crate::catalog::{Catalog, CatalogWriter, TableDef, record_key};
use crate::codec::keyspace::TableId;
use crate::codec::row::ColumnId;
use crate::codec::successor;
use crate::store::{LockMode, LockWait, Page};
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

/// Bytes of the rows that are written at a time where nobody else writes the table, at least: a large commit, which waits for no other to get into
/// the engine.
const CHUNK_BYTES: usize = if cfg!(test) { 1 } else { 8 << 20 };

/// Rows of a page at most.
const PAGE_ROWS_MAX: usize = if cfg!(test) { 16 } else { table::PAGE_ROWS_MAX };

/// Which rows come next.
#[derive(Debug, Default)]
struct Place {
    /// Where the table is stored.
    table: TableId,
    /// The first key; `None`: that of the first row.
    from: Option<Vec<u8>>,
    /// The catalog as it was last seen.
    known: Option<Arc<Catalog>>,
}

impl Place {
    /// The catalog as a transaction sees it.
    async fn catalog(&mut self, txn: &Transaction) -> Result<Arc<Catalog>> {
        let catalog = Catalog::load(txn, self.known.take()).await?;
        self.known = Some(Arc::clone(&catalog));
        Ok(catalog)
    }

    /// The next rows; none at the end.
    async fn rows(&self, txn: &Transaction, table: &TableDef) -> Result<Page> {
        next_rows(txn, table, self.from.as_deref(), PAGE_ROWS_MAX).await
    }

    /// TRUNCATE, or a rewrite, may have given the table new keys.
    fn enter(&mut self, table: &TableDef) {
        if self.table != table.id {
            (self.table, self.from) = (table.id, None);
        }
    }

    /// Goes behind the rows of a page; `false`: there are none.
    fn go_behind(&mut self, page: &Page) -> bool {
        let Some((last, _)) = page.last() else {
            return false;
        };
        self.from = Some(successor(last));
        true
    }
}

/// The columns that `new` computes and nobody has computed for the rows of `old`.
pub(super) fn columns(old: &TableDef, new: &TableDef) -> Vec<ColumnId> {
    let is_new = |id: &ColumnId| old.column_index_by_id(*id).is_none();
    let computed = new.generations().map(|(at, _)| new.columns[at].id);
    computed.filter(is_new).collect()
}

/// Gives the rows of a table these columns in the statement's transaction, which writes the table's record in this mode. Answers the table.
/// Errors: the expressions'; 23502 for NULL where none may be; 54000 for more than a transaction may write.
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
    let mut filler = filler(ctx, &table, &columns)?;
    let mut place = Place::default();
    place.enter(&table);
    loop {
        let page = place.rows(&ctx.txn, &table).await?;
        if !place.go_behind(&page) {
            return Ok(TableDef::clone(&table));
        }
        write(&ctx.txn, &mut filler, &page).map_err(as_null_of_before)?;
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
        let mut place = Place::default();
        loop {
            abandoned.next_step().await?;
            if !self.fill_next(&mut place).await? {
                return Ok(());
            }
            tokio::task::yield_now().await;
        }
    }

    /// Gives the next rows the columns; `false`: there are none.
    async fn fill_next(&self, place: &mut Place) -> Result<bool> {
        let txn = begin(&self.store).await?;
        let catalog = place.catalog(&txn).await?;
        let table = self.table.find(&catalog)?;
        place.enter(table);
        // Who has locked a row knows it as it is.
        let (record, mode) = ([record_key(table.id)], LockMode::Exclusive);
        let unlocked = txn.lock_as_it_is(&record, mode, LockWait::NoWait).await?;
        match unlocked.is_locked(0) {
            true => self.fill_many(&txn.next_statement().await?, place).await,
            false => {
                let page = place.rows(&txn, table).await?;
                drop(txn);
                self.fill_page(&page, place).await
            }
        }
    }

    /// In a transaction that keeps everybody from writing the table, as it sees that.
    async fn fill_many(&self, txn: &Transaction, place: &mut Place) -> Result<bool> {
        let catalog = place.catalog(txn).await?;
        let table = self.table.find(&catalog)?;
        if place.table != table.id {
            return Ok(true);
        }
        let mut filler = filler(&self.ctx, table, &self.columns)?;
        let (mut bytes, mut is_end) = (0, false);
        while bytes < CHUNK_BYTES && !is_end {
            let page = place.rows(txn, table).await?;
            bytes += page
                .iter()
                .map(|(key, value)| key.len() + value.len())
                .sum::<usize>();
            is_end = !place.go_behind(&page);
            write(txn, &mut filler, &page)?;
        }
        txn.commit(true).await?;
        Ok(!is_end)
    }

    /// The rows of a page, as they are now.
    async fn fill_page(&self, page: &Page, place: &mut Place) -> Result<bool> {
        let keys: Vec<Vec<u8>> = page.iter().map(|(key, _)| key.to_vec()).collect();
        match self.fill_kept(place.table, &keys).await? {
            true => Ok(place.go_behind(page)),
            false => Ok(true),
        }
    }

    /// `false`: they are stored elsewhere by now.
    async fn fill_kept(&self, id: TableId, keys: &[Vec<u8>]) -> Result<bool> {
        let mut rows = KeptRows::new(id, keys, LockMode::Change);
        while let Some((txn, catalog)) = rows.begin(&self.store).await? {
            let table = self.table.find(&catalog)?;
            if table.id != id {
                return Ok(false);
            }
            let page = rows_under(&txn, rows.keys()).await?;
            write(&txn, &mut filler(&self.ctx, table, &self.columns)?, &page)?;
            rows.commit(txn).await?;
        }
        Ok(true)
    }
}

/// What gives rows of a table these columns. Errors: 55000 where somebody has taken a column back.
fn filler<'a>(
    ctx: &StatementContext,
    table: &'a TableDef,
    columns: &[ColumnId],
) -> Result<table::Backfill<'a>> {
    let position = |id: &ColumnId| table.column_index_by_id(*id).ok_or_else(|| taken_back(table));
    let positions: Vec<usize> = columns.iter().map(position).collect::<Result<_>>()?;
    let generated = ctx.generated_columns(table)?;
    let generated = generated.ok_or_else(|| Error::internal("a table that computes nothing"))?;
    Ok(table::Backfill::new(
        table,
        &**generated,
        &positions,
        ctx.settings.limits,
    ))
}

/// Gives the rows of a page their columns, in a transaction that keeps others from writing them.
fn write(txn: &Transaction, filler: &mut table::Backfill<'_>, page: &Page) -> Result<()> {
    let mut writes = filler.writes(page)?.into_iter();
    writes.try_for_each(|write| txn.write(write, None))
}
