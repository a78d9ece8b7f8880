//! Every kind of key that Keyspan stores, or only locks, as one enum, and how it is written. Whoever builds a key starts here; what a
//! table's columns are is not known.
//!
//! `[table u32 BE][index u16 BE]…`: table ids from 1 up are relations (index 0 is the primary key). Table 0 is the
//! system: there the kind stands in the place of the index. The picture is in the docs of [`crate::codec`].

use std::ops::Range;

use super::KeyRange;
use crate::{Error, Result};

/// The id of a relation: 1 and up, never used again.
pub type TableId = u32;
/// The id of an index within its table: 0 is the primary key; never used again.
pub type IndexId = u16;

/// The oid of the object with number 0: PostgreSQL's FirstNormalObjectId.
pub const FIRST_OID: u32 = 16384;

/// The oid of the one database, PostgreSQL's for `postgres`.
pub const DATABASE_OID: i64 = 5;

/// The table id under which the system's own records stand.
const SYSTEM_TABLE: TableId = 0;

const FORMAT: u16 = 0;
const CATALOG_VERSION: u16 = 1;
const NEXT_TABLE_ID: u16 = 2;
const SCHEMA: u16 = 3;
const RELATION: u16 = 4;
const DROPPED: u16 = 5;
const NEXT_ROW_ID: u16 = 6;
const SEQUENCE: u16 = 7;
const WRITTEN: u16 = 8;
const NAME: u16 = 9;
const DEPENDENTS: u16 = 10;
const SETTINGS: u16 = 11;
const CATALOG_PART: u16 = 12;
const TYPE: u16 = 13;
const TYPE_NAME: u16 = 14;
const ROUTINE: u16 = 15;
const ROUTINE_NAME: u16 = 16;
const EXTENSION: u16 = 17;
const CLOCK: u16 = 18;
const REGIONS: u16 = 24;
const TRASH: u16 = 25;
const DYNAMIC_COLUMN: u16 = 26;
const LARGE_OBJECT: u16 = 27;
const LARGE_OBJECT_PAGE: u16 = 28;
const KEYS_LOCK: u16 = 0xFFFE;
const ADVISORY_LOCK: u16 = 0xFFFF;

/// A kind of key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keyspace<'a> {
    /// The on-disk format of the data directory (u32 BE).
    Format,
    /// Names the state of the whole catalog: caches of it are valid while it stands (u64 BE).
    CatalogVersion,
    /// Names the state of a part of the catalog, likewise: what tells which of its records are to be read again. (An older
    /// release left none: such a part has not changed since.)
    CatalogPart {
        /// The part, as `catalog` numbers them.
        part: u32,
    },
    /// The next table id (u32 BE).
    NextTableId,
    /// The record of a schema, by name.
    Schema {
        /// Its name, as it is folded.
        name: &'a str,
    },
    /// The record of a table, view or sequence, by id. Who uses the relation locks it, in the modes of relations.
    Relation {
        /// Its id.
        id: TableId,
    },
    /// A dropped key range still to be removed: table and, for one index only, its id (`u16::MAX`: the whole table).
    Dropped {
        /// The table whose keys are to go.
        table: TableId,
        /// The index, or `u16::MAX`.
        index: IndexId,
    },
    /// The next value of the hidden row id of a table (i64 BE), reserved in blocks.
    NextRowId {
        /// The table.
        table: TableId,
    },
    /// What a sequence has given: the last value (i64 BE) and whether that was given (0, 1). (An older release counted serial
    /// columns here, by table and column: the next value, i64 BE.)
    Sequence {
        /// The sequence.
        relation: TableId,
        /// Its generation.
        part: u16,
    },
    /// Put, blind, by every transaction that writes rows of a table: guarding it is to say that nobody else has written any
    /// since the snapshot. Its value is the number of the table's rows (u64 BE), or empty where nobody knows; see
    /// [`count_role`].
    Written {
        /// The table.
        table: TableId,
    },
    /// A name of a schema's relations and indexes, and the oid of whose it is (u32 BE): written by whoever gives or takes it.
    /// (An older release gave names without.)
    Name {
        /// The schema.
        schema: &'a str,
        /// The name.
        name: &'a str,
    },
    /// Put, blind and empty, by whoever makes something depend on a relation or a schema: guarding it is to say that nobody
    /// else has since the snapshot.
    Dependents {
        /// Its oid.
        oid: u32,
    },
    /// A type that a user made.
    Type {
        /// Its oid.
        oid: u32,
    },
    /// The oid of the type that has the name.
    TypeName {
        /// The schema's name.
        schema: &'a str,
        /// The name.
        name: &'a str,
    },
    /// The latest time by which rows were found over (i64 BE, microseconds since 1970): the next start goes on from there. (An older
    /// release left none.)
    Clock,
    /// Where a table is split into regions. (An older release left none.)
    Regions {
        /// The table's oid.
        oid: u32,
    },
    /// A function or procedure that a user made.
    Routine {
        /// Its oid.
        oid: u32,
    },
    /// The oid (u32 BE) of the function that has the name with these types of arguments.
    RoutineName {
        /// The schema's name.
        schema: &'a str,
        /// The name and the types, as `catalog::routine` writes them.
        signature: &'a str,
    },
    /// An extension.
    Extension {
        /// Its name.
        name: &'a str,
    },
    /// The record of a table that was dropped or emptied and whose keys are kept, by their id.
    Trash {
        /// Its id.
        id: TableId,
    },
    /// The record of a column that a write has added to a table, until the table's own is written again. (An older release left none.)
    DynamicColumn {
        /// The table.
        table: TableId,
        /// The column's id.
        column: u16,
    },
    /// That there is a large object, how long it is and what is said of it. (An older release left none.)
    LargeObject {
        /// Its oid.
        oid: u32,
    },
    /// A page of a large object: its bytes, at most those of a page. Where there is no page, the bytes are zeros.
    LargeObjectPage {
        /// The object's oid.
        oid: u32,
        /// The page's number, from 0.
        page: u32,
    },
    /// Nothing is stored under it: a lock of applications' own.
    AdvisoryLock(AdvisoryKey),
    /// Nothing is stored under it: a lock of the keys that a table has, while a definition of them is on its way.
    KeysLock {
        /// The table's oid.
        oid: u32,
    },
    /// Settings that sessions begin with.
    Settings {
        /// Whose, in words.
        of: &'a str,
    },
    /// A row (index 0) or index entry: the encoded key fields follow.
    Entry {
        /// The table, from 1 up.
        table: TableId,
        /// The index; 0 is the primary key.
        index: IndexId,
        /// The encoded key fields.
        fields: &'a [u8],
    },
}

impl<'a> Keyspace<'a> {
    /// The stored key.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Keyspace::Format => system_key(FORMAT, &[]),
            Keyspace::Clock => system_key(CLOCK, &[]),
            Keyspace::Regions { oid } => system_key(REGIONS, &[&oid.to_be_bytes()]),
            Keyspace::DynamicColumn { table, column } => {
                system_key(DYNAMIC_COLUMN, &[&table.to_be_bytes(), &column.to_be_bytes()])
            }
            Keyspace::LargeObject { oid } => system_key(LARGE_OBJECT, &[&oid.to_be_bytes()]),
            Keyspace::LargeObjectPage { oid, page } => {
                system_key(LARGE_OBJECT_PAGE, &[&oid.to_be_bytes(), &page.to_be_bytes()])
            }
            Keyspace::CatalogVersion => system_key(CATALOG_VERSION, &[]),
            Keyspace::CatalogPart { part } => system_key(CATALOG_PART, &[&part.to_be_bytes()]),
            Keyspace::NextTableId => system_key(NEXT_TABLE_ID, &[]),
            Keyspace::Schema { name } => system_key(SCHEMA, &[name.as_bytes()]),
            Keyspace::Relation { id } => system_key(RELATION, &[&id.to_be_bytes()]),
            Keyspace::Dropped { table, index } => {
                system_key(DROPPED, &[&table.to_be_bytes(), &index.to_be_bytes()])
            }
            Keyspace::NextRowId { table } => system_key(NEXT_ROW_ID, &[&table.to_be_bytes()]),
            Keyspace::Sequence { relation, part } => {
                system_key(SEQUENCE, &[&relation.to_be_bytes(), &part.to_be_bytes()])
            }
            Keyspace::Written { table } => system_key(WRITTEN, &[&table.to_be_bytes()]),
            Keyspace::Name { schema, name } => system_key(NAME, &[schema.as_bytes(), &[0], name.as_bytes()]),
            Keyspace::Type { oid } => system_key(TYPE, &[&oid.to_be_bytes()]),
            Keyspace::TypeName { schema, name } => {
                system_key(TYPE_NAME, &[schema.as_bytes(), &[0], name.as_bytes()])
            }
            Keyspace::Dependents { oid } => system_key(DEPENDENTS, &[&oid.to_be_bytes()]),
            Keyspace::Routine { oid } => system_key(ROUTINE, &[&oid.to_be_bytes()]),
            Keyspace::RoutineName { schema, signature } => {
                system_key(ROUTINE_NAME, &[schema.as_bytes(), &[0], signature.as_bytes()])
            }
            Keyspace::Extension { name } => system_key(EXTENSION, &[name.as_bytes()]),
            Keyspace::Trash { id } => system_key(TRASH, &[&id.to_be_bytes()]),
            Keyspace::AdvisoryLock(AdvisoryKey {
                class,
                object,
                numbers,
            }) => {
                let parts: [&[u8]; 3] = [
                    &class.to_be_bytes(),
                    &object.to_be_bytes(),
                    &numbers.to_be_bytes(),
                ];
                system_key(ADVISORY_LOCK, &parts)
            }
            Keyspace::KeysLock { oid } => system_key(KEYS_LOCK, &[&oid.to_be_bytes()]),
            Keyspace::Settings { of } => system_key(SETTINGS, &[of.as_bytes()]),
            Keyspace::Entry { table, index, fields } => key_of(*table, *index, &[fields]),
        }
    }

    /// What a stored key is; the inverse of [`Keyspace::encode`]. Errors: `Corrupt`.
    pub fn decode(key: &'a [u8]) -> Result<Keyspace<'a>> {
        let damaged = || Error::Corrupt {
            what: "key".to_string(),
            reason: "no such kind of key".to_string(),
        };
        let (table, rest) = key.split_first_chunk::<4>().ok_or_else(damaged)?;
        let (index, rest) = rest.split_first_chunk::<2>().ok_or_else(damaged)?;
        let (table, index) = (TableId::from_be_bytes(*table), u16::from_be_bytes(*index));
        if table != SYSTEM_TABLE {
            return Ok(Keyspace::Entry {
                table,
                index,
                fields: rest,
            });
        }
        let id = || <[u8; 4]>::try_from(rest).ok().map(u32::from_be_bytes);
        let found = match (index, rest.len()) {
            (FORMAT, 0) => Some(Keyspace::Format),
            (CLOCK, 0) => Some(Keyspace::Clock),
            (REGIONS, 4) => id().map(|oid| Keyspace::Regions { oid }),
            (CATALOG_VERSION, 0) => Some(Keyspace::CatalogVersion),
            (CATALOG_PART, 4) => id().map(|part| Keyspace::CatalogPart { part }),
            (NEXT_TABLE_ID, 0) => Some(Keyspace::NextTableId),
            (SCHEMA, _) => std::str::from_utf8(rest)
                .ok()
                .map(|name| Keyspace::Schema { name }),
            (TYPE, 4) => id().map(|oid| Keyspace::Type { oid }),
            (DEPENDENTS, 4) => id().map(|oid| Keyspace::Dependents { oid }),
            (ROUTINE, 4) => id().map(|oid| Keyspace::Routine { oid }),
            (EXTENSION, 1..) => std::str::from_utf8(rest)
                .ok()
                .map(|name| Keyspace::Extension { name }),
            (KEYS_LOCK, 4) => id().map(|oid| Keyspace::KeysLock { oid }),
            (ADVISORY_LOCK, 10) => AdvisoryKey::decode(rest).map(Keyspace::AdvisoryLock),
            (SETTINGS, 1..) => std::str::from_utf8(rest).ok().map(|of| Keyspace::Settings { of }),
            (TRASH, 4) => id().map(|id| Keyspace::Trash { id }),
            (RELATION, 4) => id().map(|id| Keyspace::Relation { id }),
            (LARGE_OBJECT, 4) => id().map(|oid| Keyspace::LargeObject { oid }),
            (NEXT_ROW_ID, 4) => id().map(|table| Keyspace::NextRowId { table }),
            (WRITTEN, 4) => id().map(|table| Keyspace::Written { table }),
            (DROPPED | DYNAMIC_COLUMN | SEQUENCE | LARGE_OBJECT_PAGE, _) => Keyspace::of_pair(index, rest),
            (NAME | TYPE_NAME | ROUTINE_NAME, _) => Keyspace::of_names(index, rest),
            _ => None,
        };
        found.ok_or_else(damaged)
    }

    /// A key of the system's of an id and another number.
    fn of_pair(kind: u16, bytes: &[u8]) -> Option<Keyspace<'a>> {
        let (first, second) = bytes.split_first_chunk::<4>()?;
        let first = u32::from_be_bytes(*first);
        let short = || <[u8; 2]>::try_from(second).ok().map(u16::from_be_bytes);
        match kind {
            DROPPED => short().map(|index| Keyspace::Dropped { table: first, index }),
            DYNAMIC_COLUMN => short().map(|column| Keyspace::DynamicColumn { table: first, column }),
            SEQUENCE => short().map(|part| Keyspace::Sequence {
                relation: first,
                part,
            }),
            _ => {
                let page = u32::from_be_bytes(second.try_into().ok()?);
                Some(Keyspace::LargeObjectPage { oid: first, page })
            }
        }
    }

    /// A key of the system's of a schema's name and another.
    fn of_names(kind: u16, bytes: &'a [u8]) -> Option<Keyspace<'a>> {
        let (schema, name) = std::str::from_utf8(bytes).ok()?.split_once('\0')?;
        Some(match kind {
            NAME => Keyspace::Name { schema, name },
            TYPE_NAME => Keyspace::TypeName { schema, name },
            _ => Keyspace::RoutineName {
                schema,
                signature: name,
            },
        })
    }
}

/// What an advisory lock is on: the numbers as `pg_locks` shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AdvisoryKey {
    /// The upper half of one number, or the first of two.
    pub class: u32,
    /// The lower half, or the second.
    pub object: u32,
    /// 1 for one number, 2 for two: the two kinds never meet.
    pub numbers: u16,
}

impl AdvisoryKey {
    fn decode(bytes: &[u8]) -> Option<AdvisoryKey> {
        let (class, rest) = bytes.split_first_chunk()?;
        let (object, numbers) = rest.split_first_chunk()?;
        Some(AdvisoryKey {
            class: u32::from_be_bytes(*class),
            object: u32::from_be_bytes(*object),
            numbers: u16::from_be_bytes(numbers.try_into().ok()?),
        })
    }
}

/// What a key has to do with the number of a table's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountRole {
    /// A row of the table.
    Row(TableId),
    /// Under it the number stands.
    Count(TableId),
    /// Nothing.
    None,
}

/// See [`CountRole`].
pub fn count_role(key: &[u8]) -> CountRole {
    let Some(([a, b, c, d, e, f], rest)) = key.split_first_chunk() else {
        return CountRole::None;
    };
    let table = TableId::from_be_bytes([*a, *b, *c, *d]);
    match (table, u16::from_be_bytes([*e, *f]), <[u8; 4]>::try_from(rest)) {
        (SYSTEM_TABLE, WRITTEN, Ok(table)) => CountRole::Count(TableId::from_be_bytes(table)),
        (SYSTEM_TABLE, ..) => CountRole::None,
        (table, 0, _) => CountRole::Row(table),
        _ => CountRole::None,
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

/// All large objects.
pub fn large_objects_range() -> KeyRange {
    index_range(SYSTEM_TABLE, LARGE_OBJECT)
}

/// The pages of a large object from this one on; of all large objects where none is named.
pub fn large_object_pages_range(from: Option<(u32, u32)>) -> KeyRange {
    let all = index_range(SYSTEM_TABLE, LARGE_OBJECT_PAGE);
    match from {
        None => all,
        Some((oid, page)) => KeyRange {
            start: Keyspace::LargeObjectPage { oid, page }.encode(),
            end: match oid.checked_add(1) {
                Some(oid) => Some(Keyspace::LargeObjectPage { oid, page: 0 }.encode()),
                None => all.end,
            },
        },
    }
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

fn system_key(kind: u16, parts: &[&[u8]]) -> Vec<u8> {
    key_of(SYSTEM_TABLE, kind, parts)
}

fn key_of(table: TableId, index: u16, parts: &[&[u8]]) -> Vec<u8> {
    let mut key = Vec::with_capacity(ENTRY_PREFIX_BYTES + parts.iter().map(|part| part.len()).sum::<usize>());
    key.extend_from_slice(&entry_prefix(table, index));
    for part in parts {
        key.extend_from_slice(part);
    }
    key
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every_kind() -> Vec<Keyspace<'static>> {
        vec![
            Keyspace::Format,
            Keyspace::CatalogVersion,
            Keyspace::CatalogPart { part: 3 },
            Keyspace::NextTableId,
            Keyspace::Schema { name: "public" },
            Keyspace::Schema { name: "übung" },
            Keyspace::Relation { id: 7 },
            Keyspace::Dropped {
                table: 7,
                index: u16::MAX,
            },
            Keyspace::NextRowId { table: 1 },
            Keyspace::Sequence { relation: 1, part: 3 },
            Keyspace::Written { table: 1 },
            Keyspace::Name {
                schema: "public",
                name: "übung",
            },
            Keyspace::Dependents { oid: 16385 },
            Keyspace::KeysLock { oid: 16387 },
            Keyspace::Type { oid: 16386 },
            Keyspace::TypeName {
                schema: "public",
                name: "übung",
            },
            Keyspace::Routine { oid: 16387 },
            Keyspace::RoutineName {
                schema: "public",
                signature: "f(integer)",
            },
            Keyspace::Extension { name: "pgcrypto" },
            Keyspace::Regions { oid: 16390 },
            Keyspace::DynamicColumn { table: 7, column: 3 },
            Keyspace::Settings { of: "role bob" },
            Keyspace::Entry {
                table: 1,
                index: 0,
                fields: &[0x10, 1],
            },
            Keyspace::Entry {
                table: u32::MAX,
                index: u16::MAX,
                fields: &[],
            },
        ]
    }

    #[test]
    fn every_kind_reads_back_and_is_its_own_key() {
        let kinds = every_kind();
        for (i, kind) in kinds.iter().enumerate() {
            let key = kind.encode();
            assert_eq!(Keyspace::decode(&key).unwrap(), *kind);
            assert!(kinds[i + 1..].iter().all(|other| other.encode() != key));
        }
    }

    #[test]
    fn written_keys_stay_as_they_are() {
        let cases: &[(Keyspace<'_>, &[u8])] = &[
            (Keyspace::Format, &[0, 0, 0, 0, 0, 0]),
            (Keyspace::Schema { name: "s" }, &[0, 0, 0, 0, 0, 3, b's']),
            (Keyspace::Relation { id: 258 }, &[0, 0, 0, 0, 0, 4, 0, 0, 1, 2]),
            (
                Keyspace::Dropped { table: 1, index: 2 },
                &[0, 0, 0, 0, 0, 5, 0, 0, 0, 1, 0, 2],
            ),
            (
                Keyspace::Entry {
                    table: 1,
                    index: 2,
                    fields: &[9],
                },
                &[0, 0, 0, 1, 0, 2, 9],
            ),
        ];
        for (kind, key) in cases {
            assert_eq!(kind.encode(), *key);
        }
    }

    #[test]
    fn ranges_hold_their_kind_and_nothing_else() {
        let within = |range: &KeyRange, key: &[u8]| {
            key >= range.start.as_slice() && range.end.as_deref().is_none_or(|end| key < end)
        };
        for kind in every_kind() {
            let key = kind.encode();
            assert_eq!(
                within(&relations_range(), &key),
                matches!(kind, Keyspace::Relation { .. })
            );
            assert_eq!(
                within(&relations_between(7..8), &key),
                matches!(kind, Keyspace::Relation { id: 7 })
            );
            assert_eq!(
                within(&catalog_parts_range(), &key),
                matches!(kind, Keyspace::CatalogPart { .. })
            );
            assert_eq!(
                within(&schemas_range(), &key),
                matches!(kind, Keyspace::Schema { .. })
            );
            assert_eq!(
                within(&dropped_range(), &key),
                matches!(kind, Keyspace::Dropped { .. })
            );
            assert_eq!(
                within(&table_range(1), &key),
                matches!(kind, Keyspace::Entry { table: 1, .. })
            );
        }
        assert_eq!(table_range(u32::MAX).end, None);
    }

    #[test]
    fn damaged_keys_are_refused() {
        for key in [
            &[][..],
            &[0, 0, 0],
            &[0, 0, 0, 0, 0, 11],
            &[0, 0, 0, 0, 0, 9, b's'],
            &[0, 0, 0, 0, 0, 4, 1],
            &[0, 0, 0, 0, 0, 3, 0xFF],
        ] {
            assert_eq!(Keyspace::decode(key).unwrap_err().sqlstate(), "XX001");
        }
    }
}
