//! The trash: tables that were dropped or emptied, whose rows and entries stand where they stood until they are purged. A record each, by
//! the id of the table's keys; `sql::ddl` puts tables in and takes them out, `session` purges those whose time is over.
//!
//! # Invariants
//!
//! - The id of a table in the trash is that of no relation of the catalog, and of no `Dropped` range: either its keys are a table's, or
//!   the trash's, or are to be removed.
//! - The mark of its writers, with the number of its rows, and the counter of its row ids stand as long as it does; so do the counters of
//!   the sequences that went with a dropped table.

use serde::{Deserialize, Serialize};

use super::constant_record;
use super::record::{self, Head, Stamp};
use super::{ForeignKey, SequenceDef, TableDef, UserTypes, ViewDef};
use crate::Result;
use crate::codec::keyspace::TableId;

/// What stands before a record's JSON.
const KIND: u8 = b'R';

/// A table in the trash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrashedTable {
    /// The id of its keys, by which it is named, too.
    pub id: TableId,
    /// Its oid, which a table that was emptied still has.
    pub oid: u32,
    /// Where it was.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// By what it came here.
    pub by: TrashedBy,
    /// When, in microseconds since 1970.
    pub at: i64,
    /// Until when it is kept, in microseconds since 1970.
    pub until: i64,
    /// How many rows it had, if anybody knew.
    pub rows: Option<u64>,
    /// Whether its row ids are counted.
    row_ids: bool,
    /// Its record's JSON.
    table: serde_json::Value,
    /// The sequences that went with its columns, or go with those of the table that was emptied.
    pub sequences: Vec<TrashedSequence>,
    /// What went with it by CASCADE.
    #[serde(default, skip_serializing_if = "TrashedDependents::is_empty")]
    pub dependents: TrashedDependents,
}

/// What cannot stay without a table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrashedDependents {
    /// Foreign keys of other tables, with the oids of these.
    pub foreign_keys: Vec<(u32, ForeignKey)>,
    /// Views over it.
    pub views: Vec<ViewDef>,
}

impl TrashedDependents {
    fn is_empty(&self) -> bool {
        self.foreign_keys.is_empty() && self.views.is_empty()
    }
}

/// A sequence of a column of a table in the trash.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrashedSequence {
    /// The sequence.
    pub def: SequenceDef,
    /// Of a table that was emptied, which goes on with it: the last value by then, and whether it was given.
    pub given: Option<(i64, bool)>,
}

/// How a table came into the trash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrashedBy {
    /// DROP TABLE, or DROP SCHEMA.
    Drop,
    /// TRUNCATE.
    Truncate,
}

impl TrashedBy {
    /// The statement.
    pub fn statement(self) -> &'static str {
        match self {
            TrashedBy::Drop => "DROP TABLE",
            TrashedBy::Truncate => "TRUNCATE",
        }
    }
}

/// For how long a statement keeps what it removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// Now, in microseconds since 1970.
    pub at: i64,
    /// In microseconds since 1970.
    pub until: i64,
}

impl TrashedTable {
    /// A table as it goes. Errors: XX000.
    pub fn new(
        table: &TableDef,
        by: TrashedBy,
        kept: Kept,
        rows: Option<u64>,
        sequences: Vec<TrashedSequence>,
    ) -> Result<TrashedTable> {
        // What is on its way ends with the table.
        let table = &TableDef {
            rekeying: None,
            ..table.clone()
        };
        Ok(TrashedTable {
            id: table.id,
            oid: table.oid,
            schema: table.schema.clone(),
            name: table.name.clone(),
            by,
            at: kept.at,
            until: kept.until,
            rows,
            row_ids: table.has_hidden_key(),
            table: record::table_json(table)?,
            sequences,
            dependents: TrashedDependents::default(),
        })
    }

    /// Whether its primary key is the hidden row id.
    pub fn has_row_ids(&self) -> bool {
        self.row_ids
    }

    /// The table as it was. Errors: corrupt, as for a type that is not there any more.
    pub fn table(&self, types: &UserTypes) -> Result<TableDef> {
        record::table_of_json(self.table.clone(), types)
    }
}

/// A table in the trash. Errors: corrupt.
pub(super) fn decode(bytes: &[u8]) -> Result<TrashedTable> {
    match record::open(bytes)? {
        Head { kind: KIND, json, .. } => record::parse(json),
        Head { kind, .. } => Err(constant_record::corrupt(format!(
            "kind {kind} is no table in the trash"
        ))),
    }
}

/// A record's bytes.
pub(super) fn encode(trashed: &TrashedTable, stamp: Stamp) -> Result<Vec<u8>> {
    record::encode(KIND, stamp, trashed.id, trashed)
}
