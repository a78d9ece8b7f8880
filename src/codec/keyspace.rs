//! Every kind of key that Keyspan stores, or only locks, as one enum, and how it is written. Whoever builds a key starts here; what a
//! table's columns are is not known.
//!
//! `[table u32 BE][index u16 BE]…`: table ids from 1 up are relations (index 0 is the primary key). Table 0 is the
//! system: there the kind stands in the place of the index. The picture is in the docs of [`crate::codec`].

mod cast_key;
mod ranges;

pub use cast_key::CastKey;
pub use ranges::*;

use crate::types::{stored_type_oid, type_oid_of_stored};
use crate::{Error, Result};

/// The id of a relation: 1 and up, never used again.
pub type TableId = u32;
/// The id of an index within its table: 0 is the primary key; never used again.
pub type IndexId = u16;

/// The oid of the object with number 0: PostgreSQL's FirstNormalObjectId.
pub const FIRST_OID: u32 = 16384;

/// The oid of a database.
pub type DatabaseId = u32;

/// The database that every data directory has, with PostgreSQL's oid of `postgres`.
pub const FIRST_DATABASE: DatabaseId = 5;

/// Its name, where nobody calls it otherwise.
pub const FIRST_DATABASE_NAME: &str = "postgres";

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
const DATABASE: u16 = 29;
const DROPPED_DATABASE: u16 = 30;
const LARGE_OBJECT_OF: u16 = 31;
const LARGE_OBJECT_PAGE_OF: u16 = 32;
const ROLE: u16 = 33;
const CAST: u16 = 34;
const KEYS_LOCK: u16 = 0xFFFE;
const ADVISORY_LOCK: u16 = 0xFFFF;

/// What names a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SchemaKey<'a> {
    /// The database that it is in.
    pub database: DatabaseId,
    /// Its name, as it is folded.
    pub name: &'a str,
}

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
    /// The record of a database that was made, by name. (The first has none.)
    Database {
        /// Its name.
        name: &'a str,
    },
    /// The record of a role that was made, by name.
    Role {
        /// Its name.
        name: &'a str,
    },
    /// A database that was dropped and of which objects are still to be removed.
    DroppedDatabase {
        /// Its oid.
        database: DatabaseId,
    },
    /// The record of a schema, by name.
    Schema {
        /// It.
        schema: SchemaKey<'a>,
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
        schema: SchemaKey<'a>,
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
        /// The database that it is in: types of extensions have the same oids in each.
        database: DatabaseId,
        /// Its oid.
        oid: u32,
    },
    /// The oid of the type that has the name.
    TypeName {
        /// The schema.
        schema: SchemaKey<'a>,
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
        /// The schema.
        schema: SchemaKey<'a>,
        /// The name and the types, as `catalog::routine` writes them.
        signature: &'a str,
    },
    /// A cast that a user made, by the oids of its types.
    Cast(CastKey),
    /// An extension.
    Extension {
        /// The database that it was made in.
        database: DatabaseId,
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
        /// The database that it is in.
        database: DatabaseId,
        /// Its oid.
        oid: u32,
    },
    /// A page of a large object: its bytes, at most those of a page. Where there is no page, the bytes are zeros.
    LargeObjectPage {
        /// The object's database.
        database: DatabaseId,
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
            Keyspace::LargeObject { database, oid } => {
                let mut key = large_object_prefix(*database, [LARGE_OBJECT, LARGE_OBJECT_OF]);
                key.extend_from_slice(&oid.to_be_bytes());
                key
            }
            Keyspace::LargeObjectPage { database, oid, page } => {
                let mut key = large_object_prefix(*database, [LARGE_OBJECT_PAGE, LARGE_OBJECT_PAGE_OF]);
                key.extend_from_slice(&oid.to_be_bytes());
                key.extend_from_slice(&page.to_be_bytes());
                key
            }
            Keyspace::Database { name } => system_key(DATABASE, &[name.as_bytes()]),
            Keyspace::Role { name } => system_key(ROLE, &[name.as_bytes()]),
            Keyspace::DroppedDatabase { database } => {
                system_key(DROPPED_DATABASE, &[&database.to_be_bytes()])
            }
            Keyspace::CatalogVersion => system_key(CATALOG_VERSION, &[]),
            Keyspace::CatalogPart { part } => system_key(CATALOG_PART, &[&part.to_be_bytes()]),
            Keyspace::NextTableId => system_key(NEXT_TABLE_ID, &[]),
            Keyspace::Schema { schema } => name_key(SCHEMA, schema.database, &[schema.name.as_bytes()]),
            Keyspace::Relation { id } => system_key(RELATION, &[&id.to_be_bytes()]),
            Keyspace::Dropped { table, index } => {
                system_key(DROPPED, &[&table.to_be_bytes(), &index.to_be_bytes()])
            }
            Keyspace::NextRowId { table } => system_key(NEXT_ROW_ID, &[&table.to_be_bytes()]),
            Keyspace::Sequence { relation, part } => {
                system_key(SEQUENCE, &[&relation.to_be_bytes(), &part.to_be_bytes()])
            }
            Keyspace::Written { table } => system_key(WRITTEN, &[&table.to_be_bytes()]),
            Keyspace::Name { schema, name } => key_in(NAME, *schema, name),
            Keyspace::Type { database, oid } => type_key(*database, *oid),
            Keyspace::TypeName { schema, name } => key_in(TYPE_NAME, *schema, name),
            Keyspace::Dependents { oid } => system_key(DEPENDENTS, &[&stored_type_oid(*oid).to_be_bytes()]),
            Keyspace::Routine { oid } => system_key(ROUTINE, &[&oid.to_be_bytes()]),
            Keyspace::RoutineName { schema, signature } => key_in(ROUTINE_NAME, *schema, signature),
            Keyspace::Extension { database, name } => name_key(EXTENSION, *database, &[name.as_bytes()]),
            Keyspace::Cast(cast) => system_key(CAST, &[&cast.encode()]),
            Keyspace::Trash { id } => system_key(TRASH, &[&id.to_be_bytes()]),
            Keyspace::AdvisoryLock(AdvisoryKey {
                database,
                class,
                object,
                numbers,
            }) => {
                let parts: [&[u8]; 4] = [
                    &database.to_be_bytes(),
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
            (SCHEMA, 1..) => of_database(rest).and_then(|(database, name)| {
                let schema = SchemaKey {
                    database,
                    name: std::str::from_utf8(name).ok()?,
                };
                Some(Keyspace::Schema { schema })
            }),
            (DATABASE, 1..) => std::str::from_utf8(rest)
                .ok()
                .map(|name| Keyspace::Database { name }),
            (ROLE, 1..) => std::str::from_utf8(rest).ok().map(|name| Keyspace::Role { name }),
            (DROPPED_DATABASE, 4) => id().map(|database| Keyspace::DroppedDatabase { database }),
            (TYPE, 4) => id().map(|oid| Keyspace::Type {
                database: FIRST_DATABASE,
                oid: type_oid_of_stored(oid),
            }),
            (TYPE, 8) => Keyspace::of_pair(index, rest),
            (DEPENDENTS, 4) => id().map(|oid| Keyspace::Dependents {
                oid: type_oid_of_stored(oid),
            }),
            (ROUTINE, 4) => id().map(|oid| Keyspace::Routine { oid }),
            (EXTENSION, 1..) => of_database(rest).and_then(|(database, name)| {
                let name = std::str::from_utf8(name).ok()?;
                Some(Keyspace::Extension { database, name })
            }),
            (CAST, 12) => CastKey::decode(rest).map(Keyspace::Cast),
            (KEYS_LOCK, 4) => id().map(|oid| Keyspace::KeysLock { oid }),
            (ADVISORY_LOCK, 14) => AdvisoryKey::decode(rest).map(Keyspace::AdvisoryLock),
            (SETTINGS, 1..) => std::str::from_utf8(rest).ok().map(|of| Keyspace::Settings { of }),
            (TRASH, 4) => id().map(|id| Keyspace::Trash { id }),
            (RELATION, 4) => id().map(|id| Keyspace::Relation { id }),
            (LARGE_OBJECT, 4) => id().map(|oid| Keyspace::LargeObject {
                database: FIRST_DATABASE,
                oid,
            }),
            (LARGE_OBJECT_OF | LARGE_OBJECT_PAGE_OF, 8 | 12) => Keyspace::of_large_object(index, rest),
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
        let long = || <[u8; 4]>::try_from(second).ok().map(u32::from_be_bytes);
        let short = || <[u8; 2]>::try_from(second).ok().map(u16::from_be_bytes);
        match kind {
            DROPPED => short().map(|index| Keyspace::Dropped { table: first, index }),
            DYNAMIC_COLUMN => short().map(|column| Keyspace::DynamicColumn { table: first, column }),
            SEQUENCE => short().map(|part| Keyspace::Sequence {
                relation: first,
                part,
            }),
            TYPE => long().map(|database| Keyspace::Type {
                database,
                oid: type_oid_of_stored(first),
            }),
            _ => long().map(|page| Keyspace::LargeObjectPage {
                database: FIRST_DATABASE,
                oid: first,
                page,
            }),
        }
    }

    /// A large object, or a page of one, of another database than the first.
    fn of_large_object(kind: u16, bytes: &[u8]) -> Option<Keyspace<'a>> {
        let (database, rest) = bytes.split_first_chunk()?;
        let (oid, rest) = rest.split_first_chunk()?;
        let (database, oid) = (u32::from_be_bytes(*database), u32::from_be_bytes(*oid));
        match (kind, rest.is_empty()) {
            (LARGE_OBJECT_OF, true) => Some(Keyspace::LargeObject { database, oid }),
            (LARGE_OBJECT_PAGE_OF, false) => {
                let page = u32::from_be_bytes(rest.try_into().ok()?);
                Some(Keyspace::LargeObjectPage { database, oid, page })
            }
            _ => None,
        }
    }

    /// A key of the system's of a schema's name and another.
    fn of_names(kind: u16, bytes: &'a [u8]) -> Option<Keyspace<'a>> {
        let (database, names) = of_database(bytes)?;
        let (schema, name) = std::str::from_utf8(names).ok()?.split_once('\0')?;
        let schema = SchemaKey {
            database,
            name: schema,
        };
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
    /// The database in which it is locked.
    pub database: DatabaseId,
    /// The upper half of one number, or the first of two.
    pub class: u32,
    /// The lower half, or the second.
    pub object: u32,
    /// 1 for one number, 2 for two: the two kinds never meet.
    pub numbers: u16,
}

impl AdvisoryKey {
    fn decode(bytes: &[u8]) -> Option<AdvisoryKey> {
        let (database, rest) = bytes.split_first_chunk()?;
        let (class, rest) = rest.split_first_chunk()?;
        let (object, numbers) = rest.split_first_chunk()?;
        Some(AdvisoryKey {
            database: u32::from_be_bytes(*database),
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

/// Whether the key, or the beginning of one, is of the system rather than of a relation.
pub fn is_of_system(key: &[u8]) -> bool {
    key.starts_with(&SYSTEM_TABLE.to_be_bytes())
}

/// Whether the key tells what others did to an object whose record is another key: they hold that record while they write this one.
pub fn tells_of_others(key: &[u8]) -> bool {
    let prefix = key.first_chunk().map(|[a, b, c, d, e, f]| {
        let table = TableId::from_be_bytes([*a, *b, *c, *d]);
        (table, u16::from_be_bytes([*e, *f]))
    });
    matches!(prefix, Some((SYSTEM_TABLE, WRITTEN | DEPENDENTS | SETTINGS)))
}

/// The six bytes before the key fields of an index.
pub const ENTRY_PREFIX_BYTES: usize = 6;

/// The prefix of every key of one index.
pub fn entry_prefix(table: TableId, index: IndexId) -> [u8; ENTRY_PREFIX_BYTES] {
    let [a, b, c, d] = table.to_be_bytes();
    let [e, f] = index.to_be_bytes();
    [a, b, c, d, e, f]
}

fn system_key(kind: u16, parts: &[&[u8]]) -> Vec<u8> {
    key_of(SYSTEM_TABLE, kind, parts)
}

/// A key that begins with the name of something in a database: no name begins with a zero byte, which tells another database than the
/// first.
fn name_key(kind: u16, database: DatabaseId, parts: &[&[u8]]) -> Vec<u8> {
    let mut key = system_key(kind, &[]);
    if database != FIRST_DATABASE {
        key.push(0);
        key.extend_from_slice(&database.to_be_bytes());
    }
    parts.iter().for_each(|part| key.extend_from_slice(part));
    key
}

fn type_key(database: DatabaseId, oid: u32) -> Vec<u8> {
    let oid = stored_type_oid(oid).to_be_bytes();
    match database {
        FIRST_DATABASE => system_key(TYPE, &[&oid]),
        database => system_key(TYPE, &[&oid, &database.to_be_bytes()]),
    }
}

/// The key of a name in a schema.
fn key_in(kind: u16, schema: SchemaKey<'_>, name: &str) -> Vec<u8> {
    name_key(
        kind,
        schema.database,
        &[schema.name.as_bytes(), &[0], name.as_bytes()],
    )
}

/// The database, and what [`name_key`] wrote behind it.
fn of_database(bytes: &[u8]) -> Option<(DatabaseId, &[u8])> {
    match bytes.strip_prefix(&[0]) {
        None => Some((FIRST_DATABASE, bytes)),
        Some(rest) => {
            let (database, rest) = rest.split_first_chunk()?;
            Some((DatabaseId::from_be_bytes(*database), rest))
        }
    }
}

/// What stands before the oid of a large object. `kinds`: of the first database, and of others.
fn large_object_prefix(database: DatabaseId, [first, other]: [u16; 2]) -> Vec<u8> {
    match database {
        FIRST_DATABASE => system_key(first, &[]),
        database => system_key(other, &[&database.to_be_bytes()]),
    }
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
    use super::super::KeyRange;
    use super::*;

    const FIRST_PUBLIC: SchemaKey<'static> = SchemaKey {
        database: FIRST_DATABASE,
        name: "public",
    };
    const OTHER: SchemaKey<'static> = SchemaKey {
        database: 16_400,
        name: "übung",
    };

    fn every_kind() -> Vec<Keyspace<'static>> {
        vec![
            Keyspace::Format,
            Keyspace::CatalogVersion,
            Keyspace::CatalogPart { part: 3 },
            Keyspace::NextTableId,
            Keyspace::Schema { schema: FIRST_PUBLIC },
            Keyspace::Schema { schema: OTHER },
            Keyspace::Database { name: "übung" },
            Keyspace::Role { name: "bob" },
            Keyspace::DroppedDatabase { database: 16_400 },
            Keyspace::Relation { id: 7 },
            Keyspace::Dropped {
                table: 7,
                index: u16::MAX,
            },
            Keyspace::NextRowId { table: 1 },
            Keyspace::Sequence { relation: 1, part: 3 },
            Keyspace::Written { table: 1 },
            Keyspace::Name {
                schema: FIRST_PUBLIC,
                name: "übung",
            },
            Keyspace::Dependents { oid: 16385 },
            Keyspace::KeysLock { oid: 16387 },
            Keyspace::Type {
                database: 5,
                oid: 16386,
            },
            Keyspace::Type {
                database: 16_400,
                oid: 16_384,
            },
            Keyspace::TypeName {
                schema: FIRST_PUBLIC,
                name: "übung",
            },
            Keyspace::Routine { oid: 16387 },
            Keyspace::RoutineName {
                schema: FIRST_PUBLIC,
                signature: "f(integer)",
            },
            Keyspace::Cast(CastKey {
                database: 5,
                source: 1043,
                target: 16_390,
            }),
            Keyspace::Extension {
                database: 5,
                name: "pgcrypto",
            },
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

    /// Those that name another database.
    fn kinds_of_databases() -> Vec<Keyspace<'static>> {
        vec![
            Keyspace::Name {
                schema: OTHER,
                name: "übung",
            },
            Keyspace::RoutineName {
                schema: OTHER,
                signature: "f(integer)",
            },
            Keyspace::Extension {
                database: 16_400,
                name: "pgcrypto",
            },
            Keyspace::LargeObject {
                database: 5,
                oid: 16_400,
            },
            Keyspace::LargeObject {
                database: 16_400,
                oid: 7,
            },
            Keyspace::LargeObjectPage {
                database: 5,
                oid: 16_400,
                page: 7,
            },
            Keyspace::LargeObjectPage {
                database: 16_400,
                oid: 7,
                page: 0,
            },
            Keyspace::AdvisoryLock(AdvisoryKey {
                database: 16_400,
                class: 1,
                object: 2,
                numbers: 1,
            }),
        ]
    }

    #[test]
    fn a_type_of_an_extension_stands_under_the_number_that_it_had_once() {
        let ty = Keyspace::Type {
            database: FIRST_DATABASE,
            oid: 16_384,
        };
        assert_eq!(ty.encode()[6..], 9210u32.to_be_bytes());
        assert_eq!(Keyspace::decode(&ty.encode()).unwrap(), ty);
    }

    #[test]
    fn every_kind_reads_back_and_is_its_own_key() {
        let mut kinds = every_kind();
        kinds.extend(kinds_of_databases());
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
            (
                Keyspace::Schema {
                    schema: SchemaKey {
                        database: FIRST_DATABASE,
                        name: "s",
                    },
                },
                &[0, 0, 0, 0, 0, 3, b's'],
            ),
            (
                Keyspace::Schema {
                    schema: SchemaKey {
                        database: 258,
                        name: "s",
                    },
                },
                &[0, 0, 0, 0, 0, 3, 0, 0, 0, 1, 2, b's'],
            ),
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
        for kind in every_kind().into_iter().chain(kinds_of_databases()) {
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
