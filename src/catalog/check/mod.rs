//! Verification of the catalog's own records, for `keyspan check`: each decodes, and they agree with one another.
//! `table::check` calls it first, and verifies rows and index entries by the tables it gives. Nothing is changed.
//!
//! What must hold of the system's records (key prefix `00 00 00 00`), beside that each decodes:
//!
//! 1. The catalog's version and the next number stand there once there is any relation or schema; every id and oid is
//!    below the next number.
//! 2. A record stands under its own name or id. Names of relations and indexes are unique within their database and schema, which
//!    exists; oids are unique. A `Name` is that of the relation or index whose oid it holds.
//! 3. A table's columns, indexes and their ids are unique and below the table's next ones; keys name columns that exist
//!    and whose types may stand in keys; the primary key is index 0.
//! 4. A view reads relations that exist.
//! 5. Every table with a hidden row id and every sequence has its counter, and there is no other counter. A column that a sequence
//!    goes with, and a sequence that a default takes of, are there.
//! 6. A range that is recorded as dropped belongs to no table or index that is still there, nor to a table in the trash.
//! 7. A table in the trash is under an id of its own, and so is what its record holds.
//! 8. Regions are of a table that exists, in order, and begin with fields of its key.
//! 9. A page of a large object is of one that exists, and stands within its length.
//! 10. A relation is in a database that exists, or that was dropped and is not empty yet.

mod agreement;
mod faults;
mod records;
mod walk;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Relation, TableDef};
use crate::Result;
use crate::codec::keyspace::{IndexId, TableId};
use crate::store::Snapshot;
#[cfg(test)]
pub use faults::Fault;
pub use faults::{FaultKind, Faults};
pub use walk::{Walk, hex};

use records::{Counter, Records};

/// What the catalog's records say, as far as they could be read.
#[derive(Debug, Default)]
pub struct CheckedCatalog {
    /// The tables whose keys can be read by their records, by rising id.
    pub tables: Vec<Arc<TableDef>>,
    /// Relations of other records, or of records that do not decode: what belongs to them cannot be verified.
    pub unreadable: Vec<TableId>,
    /// Key ranges that are dropped and may still hold keys; index FFFF: all of the table's.
    pub dropped: Vec<(TableId, IndexId)>,
    /// The next hidden row id of each table that counts them.
    pub next_row_ids: BTreeMap<TableId, i64>,
    /// How many rows tables have, as the store counts them.
    pub row_counts: BTreeMap<TableId, u64>,
    /// The databases of the tables that are not in the first, by the tables' ids.
    pub databases: BTreeMap<TableId, String>,
    /// How many views there are.
    pub views: usize,
    /// How many schemas have a record.
    pub schemas: usize,
}

impl CheckedCatalog {
    /// What reports call a table.
    pub fn name_of(&self, table: &TableDef) -> String {
        let name = format!("{}.{}", table.schema, table.name);
        match self.databases.get(&table.id) {
            Some(database) => format!("{database}.{name}"),
            None => name,
        }
    }
}

/// Reads every record of the system in the snapshot and compares them. Errors: what ends the check, such as `Io`;
/// damage goes to `faults`.
pub async fn check_catalog(snapshot: &dyn Snapshot, faults: &mut Faults) -> Result<CheckedCatalog> {
    let records = Records::read(snapshot, faults).await?;
    agreement::compare(&records, faults);
    let (mut tables, mut unreadable) = (Vec::new(), records.unreadable.clone());
    let mut views = 0;
    for stored in &records.relations {
        match &stored.def {
            Relation::View(_) => views += 1,
            Relation::Sequence(_) => {}
            Relation::Table(table) if stored.key_id == table.id && agreement::has_readable_keys(table) => {
                tables.push(Arc::clone(table));
            }
            Relation::Table(_) => unreadable.push(stored.key_id),
        }
    }
    for (database, trashed) in &records.trash {
        // One of a type that is gone cannot be read; its keys are its own nevertheless.
        match trashed.table(&records.types_of(*database)) {
            Ok(table) if agreement::has_readable_keys(&table) => tables.push(Arc::new(table)),
            _ => unreadable.push(trashed.id),
        }
    }
    tables.sort_by_key(|table| table.id);
    let relations = records.relations.iter();
    let relations = relations.map(|stored| (stored.database, stored.key_id));
    let trash = records.trash.iter();
    let ids = relations.chain(trash.map(|(database, trashed)| (*database, trashed.id)));
    let databases = ids.filter_map(|(database, id)| Some((id, records.database_name(database)?)));
    Ok(CheckedCatalog {
        databases: databases.collect(),
        views,
        tables,
        unreadable,
        dropped: records.dropped,
        row_counts: records.row_counts,
        next_row_ids: records
            .counters
            .iter()
            .filter_map(|counter| match *counter {
                Counter::RowIds { table, next } => Some((table, next)),
                Counter::Sequence { .. } | Counter::Column { .. } => None,
            })
            .collect(),
        schemas: records.schemas.len(),
    })
}

#[cfg(test)]
pub(super) mod tests;
