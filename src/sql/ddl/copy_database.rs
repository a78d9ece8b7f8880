//! `DatabaseCopy`: what CREATE DATABASE … TEMPLATE puts into a database: the definitions of another one under numbers of their own
//! (`catalog::copied`), its rows with their index entries and older versions as the store has them, what its sequences have given, and its large objects.
//! All of it is one transaction, which the new database's record is part of.
//!
//! Nobody else is in the template meanwhile, so that only what runs in the background changes it, and what is read of the store is
//! read of one snapshot. What is of sessions (temporary tables), the trash and settings stay, as in PostgreSQL.

use std::sync::Arc;

use crate::catalog::{Catalog, CatalogWriter, CopiedCatalog, Relation, TableDef, TableRegions};
use crate::codec::keyspace::{
    DatabaseId, Keyspace, TableId, index_range, large_object_pages_range, large_objects_range,
};
use crate::error::StatementFault;
use crate::store::{KeyRange, Page, ScanRequest, Snapshot, Write};
use crate::system::StatementContext;
use crate::table::{Sequences, begin_count};
use crate::txn::{DatabaseStore, Transaction};
use crate::{Error, Result};

/// Keys that are read at a time, and their bytes.
const PAGE_ROWS_MAX: usize = 4096;
const PAGE_BYTES_MAX: usize = 4 << 20;
/// What reading the template's definitions may write: nothing.
const READ_BYTES_MAX: usize = 0;

/// Copies what is in a database.
pub(super) struct DatabaseCopy {
    template: DatabaseId,
    /// Reads the template.
    reader: Transaction,
    catalog: Arc<Catalog>,
    rows: Arc<dyn Snapshot>,
}

impl DatabaseCopy {
    /// A copy of a database that no other session is in. Errors: as of [`require_settled`].
    pub(super) async fn of(ctx: &StatementContext, template: DatabaseId) -> Result<DatabaseCopy> {
        let store = Arc::clone(ctx.sequences.store());
        let database = DatabaseStore {
            store: Arc::clone(&store),
            database: template,
        };
        let reader = database.begin(READ_BYTES_MAX).await?;
        let catalog = Catalog::load(&reader, None).await?;
        let rows = store.snapshot().await?;
        catalog.tables().try_for_each(|table| require_settled(table))?;
        Ok(DatabaseCopy {
            template,
            reader,
            catalog,
            rows,
        })
    }

    /// Writes all of it into the empty database that the writer is of. Errors: 54000 where it is more than a transaction may write.
    pub(super) async fn write(&self, ctx: &StatementContext, writer: &CatalogWriter<'_>) -> Result<()> {
        let ids = ctx.sequences.object_ids();
        let copied = CopiedCatalog::of(&self.catalog, self.template, ids).await?;
        copied.write(writer)?;
        let txn = writer.txn();
        for relation in self.catalog.lasting_relations() {
            ctx.session.interrupt.check()?;
            match relation {
                Relation::Table(table) => {
                    if let Some(copy) = copied.relation(relation)?.get_table() {
                        self.copy_table(ctx, txn, table, copy).await?;
                    }
                }
                Relation::Sequence(sequence) => {
                    let (state, _) = ctx.sequences.state(&self.reader, sequence).await?;
                    if let Some(copy) = copied.relation(relation)?.get_sequence() {
                        Sequences::begin(txn, copy, state)?;
                    }
                }
                Relation::View(_) => {}
            }
        }
        self.copy_large_objects(ctx, txn).await
    }

    async fn copy_table(
        &self,
        ctx: &StatementContext,
        txn: &Transaction,
        table: &TableDef,
        copy: &TableDef,
    ) -> Result<()> {
        tell_of_oids(ctx, table);
        begin_count(txn, copy)?;
        ctx.sequences.copy_row_ids(txn, table, copy, false).await?;
        let moved = |key: &[u8]| moved(key, copy.id);
        // Those that it has: what it had may still be on its way out.
        let entries = table.all_indexes().map(|index| index_range(table.id, index.id));
        for range in entries.chain(table.versions_range()) {
            self.copy_keys(ctx, txn, range, moved).await?;
        }
        let regions = TableRegions::read_committed(&self.reader, table).await?;
        match regions.regions().len() {
            0 | 1 => Ok(()),
            _ => regions.of_copy(copy.oid).write_new(txn),
        }
    }

    async fn copy_large_objects(&self, ctx: &StatementContext, txn: &Transaction) -> Result<()> {
        let database = txn.database();
        let ranges = [
            large_objects_range(self.template),
            large_object_pages_range(self.template, None),
        ];
        for range in ranges {
            let moved = |key: &[u8]| match Keyspace::decode(key)? {
                Keyspace::LargeObject { oid, .. } => Ok(Keyspace::LargeObject { database, oid }.encode()),
                Keyspace::LargeObjectPage { oid, page, .. } => {
                    Ok(Keyspace::LargeObjectPage { database, oid, page }.encode())
                }
                _ => Err(Error::internal("a large object's key")),
            };
            self.copy_keys(ctx, txn, range, moved).await?;
        }
        Ok(())
    }

    /// Puts what is under the keys of a range under other keys.
    async fn copy_keys(
        &self,
        ctx: &StatementContext,
        txn: &Transaction,
        range: KeyRange,
        moved: impl Fn(&[u8]) -> Result<Vec<u8>>,
    ) -> Result<()> {
        let mut scan = self.rows.scan(ScanRequest {
            read_ahead: true,
            ranges: vec![range],
            reverse: false,
            keys_only: false,
            page_rows_max: PAGE_ROWS_MAX,
            page_bytes_max: PAGE_BYTES_MAX,
        });
        let mut page = Page::new();
        loop {
            ctx.session.interrupt.check()?;
            scan.next_page(&mut page).await?;
            if page.is_empty() {
                return Ok(());
            }
            for (key, value) in page.iter() {
                let (key, value) = (moved(key)?, value.to_vec());
                txn.write_new(Write::Put { key, value })?;
            }
        }
    }
}

/// A table's key as one of another table.
fn moved(key: &[u8], table: TableId) -> Result<Vec<u8>> {
    let (_, rest) = key
        .split_first_chunk::<{ size_of::<TableId>() }>()
        .ok_or_else(|| Error::internal("a row's key without a table"))?;
    Ok([&table.to_be_bytes(), rest].concat())
}

/// An index that is being built is built on in the copy. Errors: 55006 for a table that gets another primary key.
fn require_settled(table: &TableDef) -> Result<()> {
    match table.rekeying {
        None => Ok(()),
        Some(_) => Err(Error::InvalidStatement {
            state: StatementFault::ObjectInUse,
            message: format!(
                "table \"{}\" of the template gets another primary key",
                table.name
            ),
            hint: Some("Try again when it has it.".to_string()),
        }),
    }
}

/// Objects have other oids in the copy, and rows are copied as they are.
fn tell_of_oids(ctx: &StatementContext, table: &TableDef) {
    for column in table.columns.iter().filter(|column| column.ty.names_objects()) {
        let message = format!(
            "column \"{}\" of table \"{}\" holds oids, which tables, functions and types do not have in the copy",
            column.name, table.name
        );
        let hint = "Write there again what it is to name, unless that is PostgreSQL's own.".to_string();
        super::notice(ctx, "01000", message, Some(hint));
    }
}
