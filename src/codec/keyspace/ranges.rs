//! The ranges of keys of one kind, of one table or of one index.

use std::ops::Range;

use super::{
    CAST, CATALOG_PART, DATABASE, DROPPED, DROPPED_DATABASE, DYNAMIC_COLUMN, DatabaseId, EXTENSION, IndexId,
    Keyspace, LARGE_OBJECT, LARGE_OBJECT_OF, LARGE_OBJECT_PAGE, LARGE_OBJECT_PAGE_OF, REGIONS, RELATION,
    ROLE, ROUTINE, SCHEMA, SETTINGS, SYSTEM_TABLE, TRASH, TYPE, TableId, entry_prefix, large_object_prefix,
};
use crate::codec::KeyRange;

/// Every key of a table, all its indexes.
pub fn table_range(table: TableId) -> KeyRange {
    KeyRange::of_prefix(&table.to_be_bytes())
}

/// Every key of one index of a table.
pub fn index_range(table: TableId, index: IndexId) -> KeyRange {
    KeyRange::of_prefix(&entry_prefix(table, index))
}

/// All relation records / schema records / dropped ranges: ranges to load a catalog from.
pub fn relations_range() -> KeyRange {
    index_range(SYSTEM_TABLE, RELATION)
}

/// The records of the relations with these ids.
pub fn relations_between(ids: Range<TableId>) -> KeyRange {
    KeyRange {
        start: Keyspace::Relation { id: ids.start }.encode(),
        end: Some(Keyspace::Relation { id: ids.end }.encode()),
    }
}

/// The versions of the catalog's parts.
pub fn catalog_parts_range() -> KeyRange {
    index_range(SYSTEM_TABLE, CATALOG_PART)
}

/// All large objects of a database.
pub fn large_objects_range(database: DatabaseId) -> KeyRange {
    KeyRange::of_prefix(&large_object_prefix(database, [LARGE_OBJECT, LARGE_OBJECT_OF]))
}

/// The pages of a large object of a database from this one on; of all where none is named.
pub fn large_object_pages_range(database: DatabaseId, from: Option<(u32, u32)>) -> KeyRange {
    let all = KeyRange::of_prefix(&large_object_prefix(
        database,
        [LARGE_OBJECT_PAGE, LARGE_OBJECT_PAGE_OF],
    ));
    let page_of = |oid, page| Keyspace::LargeObjectPage { database, oid, page }.encode();
    match from {
        None => all,
        Some((oid, page)) => KeyRange {
            start: page_of(oid, page),
            end: match oid.checked_add(1) {
                Some(oid) => Some(page_of(oid, 0)),
                None => all.end,
            },
        },
    }
}

/// See [`relations_range`].
pub fn roles_range() -> KeyRange {
    index_range(SYSTEM_TABLE, ROLE)
}

/// See [`relations_range`].
pub fn databases_range() -> KeyRange {
    index_range(SYSTEM_TABLE, DATABASE)
}

/// See [`relations_range`].
pub fn dropped_databases_range() -> KeyRange {
    index_range(SYSTEM_TABLE, DROPPED_DATABASE)
}

/// See [`relations_range`].
pub fn schemas_range() -> KeyRange {
    index_range(SYSTEM_TABLE, SCHEMA)
}

/// See [`relations_range`].
pub fn types_range() -> KeyRange {
    index_range(SYSTEM_TABLE, TYPE)
}

/// See [`relations_range`].
pub fn routines_range() -> KeyRange {
    index_range(SYSTEM_TABLE, ROUTINE)
}

/// See [`relations_range`].
pub fn extensions_range() -> KeyRange {
    index_range(SYSTEM_TABLE, EXTENSION)
}

/// See [`relations_range`].
pub fn casts_range() -> KeyRange {
    index_range(SYSTEM_TABLE, CAST)
}

/// See [`relations_range`].
pub fn trash_range() -> KeyRange {
    index_range(SYSTEM_TABLE, TRASH)
}

/// See [`relations_range`].
pub fn dynamic_columns_range() -> KeyRange {
    index_range(SYSTEM_TABLE, DYNAMIC_COLUMN)
}

/// The records of columns that writes have added to the tables with these ids.
pub fn dynamic_columns_between(ids: Range<TableId>) -> KeyRange {
    let start_of = |table| Keyspace::DynamicColumn { table, column: 0 }.encode();
    KeyRange {
        start: start_of(ids.start),
        end: Some(start_of(ids.end)),
    }
}

/// See [`relations_range`].
pub fn dropped_range() -> KeyRange {
    index_range(SYSTEM_TABLE, DROPPED)
}

/// See [`relations_range`].
pub fn regions_range() -> KeyRange {
    index_range(SYSTEM_TABLE, REGIONS)
}

/// See [`relations_range`].
pub fn settings_range() -> KeyRange {
    index_range(SYSTEM_TABLE, SETTINGS)
}
