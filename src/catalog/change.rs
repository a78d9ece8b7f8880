//! `CatalogWriter`: creates, replaces and drops catalog records inside a transaction. Called by `sql::ddl`, and by
//! writes that add dynamic columns. Knows nothing of SQL text.

use std::sync::Arc;

use rand::Rng;

use super::reclaim::encode_dropped;
use super::{
    COLUMNS_MAX, Catalog, ColumnDef, FIRST_OID, SchemaDef, TableDef, ViewDef, record, record_key, written_key,
};
use crate::codec::keyspace::{IndexId, Keyspace, TableId};
use crate::codec::row::ColumnId;
use crate::error::Limit;
use crate::store::Write;
use crate::txn::Transaction;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// Versions rise by a random step up to this (see the invariants in `catalog`).
const VERSION_STEP_MAX: u64 = 1 << 32;

/// Changes catalog records in a transaction; one value a statement. The new catalog version is written with the first
/// change; the statement's caller loads the catalog anew.
#[derive(Debug)]
pub struct CatalogWriter<'a> {
    txn: &'a Transaction,
    version: u64,
}

/// A column that a write names and the table does not have yet.
#[derive(Debug, Clone, PartialEq)]
pub struct NewDynamicColumn {
    /// Its name.
    pub name: String,
    /// The type of the value first written.
    pub ty: SqlType,
}

impl<'a> CatalogWriter<'a> {
    /// Opens the catalog for changes: takes the next version and writes it, checked, so that schema changes are serial.
    pub fn begin(txn: &'a Transaction, catalog: &Catalog) -> Result<CatalogWriter<'a>> {
        let version = catalog.version + rand::rng().random_range(1..=VERSION_STEP_MAX);
        let key = Keyspace::CatalogVersion.encode();
        txn.write(
            Write::Put {
                key,
                value: version.to_be_bytes().to_vec(),
            },
            true,
        )?;
        Ok(CatalogWriter { txn, version })
    }

    /// The transaction that the changes are part of.
    pub fn txn(&self) -> &'a Transaction {
        self.txn
    }

    /// The next number for a table, view, schema or index.
    pub async fn next_id(&self) -> Result<TableId> {
        let key = Keyspace::NextTableId.encode();
        let values = self.txn.get_many(std::slice::from_ref(&key)).await?;
        let id = match values.get(0) {
            None => 1,
            Some(bytes) => bytes
                .try_into()
                .map(TableId::from_be_bytes)
                .map_err(|_| Error::Corrupt {
                    what: "next table id".to_string(),
                    reason: format!("{} bytes instead of 4", bytes.len()),
                })?,
        };
        if id >= TableId::MAX - FIRST_OID {
            return Err(Error::LimitExceeded {
                state: Limit::Program,
                message: "no table id is left".to_string(),
                hint: "Load the data into a new data directory.".to_string(),
            });
        }
        self.txn.write(
            Write::Put {
                key,
                value: (id + 1).to_be_bytes().to_vec(),
            },
            true,
        )?;
        Ok(id)
    }

    /// The oid of a new index.
    pub async fn next_oid(&self) -> Result<u32> {
        Ok(FIRST_OID + self.next_id().await?)
    }

    /// Writes a table's record, new or changed; answers it with its new version.
    pub fn put_table(&self, mut table: TableDef) -> Result<Arc<TableDef>> {
        if table.visible_columns().count() > COLUMNS_MAX {
            return Err(too_many_columns());
        }
        table.version = self.version;
        let value = record::encode_table(&table)?;
        self.txn.write(
            Write::Put {
                key: record_key(table.id),
                value,
            },
            true,
        )?;
        Ok(Arc::new(table))
    }

    /// Writes a view's record, new or changed.
    pub fn put_view(&self, view: &ViewDef) -> Result<()> {
        let value = record::encode_view(view, self.version)?;
        self.txn.write(
            Write::Put {
                key: record_key(view.id),
                value,
            },
            true,
        )
    }

    /// Writes a schema's record, new or changed.
    pub fn put_schema(&self, schema: &SchemaDef) -> Result<()> {
        let key = Keyspace::Schema { name: &schema.name }.encode();
        self.txn.write(
            Write::Put {
                key,
                value: record::encode_schema(schema, self.version)?,
            },
            true,
        )
    }

    /// Removes a schema's record; what it held must be gone.
    pub fn drop_schema(&self, name: &str) -> Result<()> {
        self.txn.write(
            Write::Delete {
                key: Keyspace::Schema { name }.encode(),
            },
            true,
        )
    }

    /// Removes a view's record.
    pub fn drop_view(&self, view: &ViewDef) -> Result<()> {
        self.txn.write(
            Write::Delete {
                key: record_key(view.id),
            },
            true,
        )
    }

    /// Removes a table's record and sequences, and leaves its keys to `reclaim_dropped`.
    pub fn drop_table(&self, table: &TableDef) -> Result<()> {
        self.txn.write(
            Write::Delete {
                key: record_key(table.id),
            },
            true,
        )?;
        for key in side_keys(table) {
            // Blind: a session that reserves a block of values meanwhile must not fail the drop.
            self.txn.write(Write::Delete { key }, false)?;
        }
        self.drop_keys(table.id, IndexId::MAX)
    }

    /// Leaves all keys of a table, or of one index, to `reclaim_dropped`.
    pub fn drop_keys(&self, table: TableId, index: IndexId) -> Result<()> {
        let key = Keyspace::Dropped { table, index }.encode();
        self.txn.write(
            Write::Put {
                key,
                value: encode_dropped(table, index),
            },
            true,
        )
    }

    /// Empties a table: its record moves to a new id, its old keys are left to `reclaim_dropped`. The caller moves
    /// its counters (`table::Sequences::move_to`).
    pub async fn truncate_table(&self, table: &TableDef) -> Result<Arc<TableDef>> {
        self.txn.write(
            Write::Delete {
                key: record_key(table.id),
            },
            true,
        )?;
        let key = written_key(table.id);
        self.txn.write(Write::Delete { key }, false)?;
        self.drop_keys(table.id, IndexId::MAX)?;
        self.put_table(TableDef {
            id: self.next_id().await?,
            ..table.clone()
        })
    }

    /// Adds the columns that a write named to a table with dynamic columns, at its end.
    pub fn add_dynamic_columns(&self, table: &TableDef, new: Vec<NewDynamicColumn>) -> Result<Arc<TableDef>> {
        let mut table = table.clone();
        for NewDynamicColumn { name, ty } in new {
            table.add_column(ColumnDef {
                id: 0,
                name,
                ty,
                not_null: false,
                unverified: None,
                default: None,
                missing: Value::Null,
                hidden: false,
                dynamic: true,
                comment: None,
            })?;
        }
        self.put_table(table)
    }
}

/// The keys of every sequence that a table may have, and of the mark that its writers leave.
fn side_keys(table: &TableDef) -> Vec<Vec<u8>> {
    let id = table.id;
    let mut keys = vec![Keyspace::NextRowId { table: id }.encode(), written_key(id)];
    keys.extend(
        table
            .columns
            .iter()
            .filter(|column| column.is_serial())
            .map(|column| {
                Keyspace::Sequence {
                    table: id,
                    column: column.id,
                }
                .encode()
            }),
    );
    keys
}

impl TableDef {
    /// Adds a column behind the visible ones and gives it its id. Errors: 54011.
    pub fn add_column(&mut self, mut column: ColumnDef) -> Result<ColumnId> {
        let visible = self.visible_columns().count();
        if visible >= COLUMNS_MAX || self.next_column_id == ColumnId::MAX {
            return Err(too_many_columns());
        }
        column.id = self.next_column_id;
        self.next_column_id += 1;
        let id = column.id;
        self.columns.insert(visible, column);
        Ok(id)
    }
}

fn too_many_columns() -> Error {
    Error::LimitExceeded {
        state: Limit::Columns,
        message: format!("tables can have at most {COLUMNS_MAX} columns"),
        hint: "Drop columns that are no longer used, or keep rare attributes in one jsonb column."
            .to_string(),
    }
}
