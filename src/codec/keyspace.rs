//! Every kind of key that Keyspan stores, as one enum, and how it is written.
//!
//! `[table u32 BE][index u16 BE]…`: table ids from 1 up are relations (index 0 is the primary key). Table 0 is the system.

use crate::store::KeyRange;

/// The id of a relation: 1 and up, never used again.
pub type TableId = u32;
/// The id of an index within its table: 0 is the primary key; never used again.
pub type IndexId = u16;

/// A kind of key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keyspace<'a> {
    /// The on-disk format of the data directory (u32 BE).
    Format,
    /// Counts schema changes: caches of the catalog are valid while it stands (u64 BE).
    CatalogVersion,
    /// The next table id (u32 BE).
    NextTableId,
    /// The record of a schema, by name.
    Schema { name: &'a str },
    /// The record of a table or view, by id.
    Relation { id: TableId },
    /// A dropped key range still to be removed: table and, for one index only, its id (`u16::MAX`: the whole table).
    Dropped { table: TableId, index: IndexId },
    /// The next value of the hidden row id of a table (i64 BE), reserved in blocks.
    NextRowId { table: TableId },
    /// The next value of a serial column (i64 BE).
    Sequence { table: TableId, column: u16 },
    /// A row (index 0) or index entry: the encoded key fields follow.
    Entry {
        table: TableId,
        index: IndexId,
        fields: &'a [u8],
    },
}

impl Keyspace<'_> {
    /// The stored key.
    pub fn encode(&self) -> Vec<u8> {
        unimplemented!()
    }
}

/// The six bytes before the key fields of an index.
pub const ENTRY_PREFIX_BYTES: usize = 6;

/// The prefix of every key of one index.
pub fn entry_prefix(table: TableId, index: IndexId) -> [u8; ENTRY_PREFIX_BYTES] {
    let [a, b, c, d] = table.to_be_bytes();
    let [e, f] = index.to_be_bytes();
    [a, b, c, d, e, f]
}

/// Every key of a table, all its indexes.
pub fn table_range(_table: TableId) -> KeyRange {
    unimplemented!()
}
/// All relation records / schema records / dropped ranges: ranges to load a catalog from.
pub fn relations_range() -> KeyRange {
    unimplemented!()
}
/// See [`relations_range`].
pub fn schemas_range() -> KeyRange {
    unimplemented!()
}
/// See [`relations_range`].
pub fn dropped_range() -> KeyRange {
    unimplemented!()
}
