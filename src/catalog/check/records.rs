//! `Records`: every record of the system, read one by one, so that one that is damaged hides no other. Filled for
//! `agreement`, which compares them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{FaultKind, Faults, Walk, hex};
use crate::catalog::dynamic_column::{self, StoredColumns};
use crate::catalog::{
    DatabaseDef, Relation, SchemaDef, TableDef, TableRegions, TrashedTable, UserTypes, cast, database,
    extension, record, region, role, routine_record, trash, type_record,
};
use crate::codec::keyspace::{
    DatabaseId, ENTRY_PREFIX_BYTES, FIRST_DATABASE, IndexId, Keyspace, SchemaKey, TableId, table_range,
    types_range,
};
use crate::codec::large_object::LargeObjectRecord;
use crate::codec::row::ColumnId;
use crate::store::{Page, Snapshot};
use crate::types::type_oid_of_stored;
use crate::{Error, Result};

/// The table id under which the system's records stand.
const SYSTEM_TABLE: TableId = 0;

/// Everything the system has written down.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) version: Option<u64>,
    pub(super) next_id: Option<TableId>,
    pub(super) schemas: Vec<Stored<SchemaDef>>,
    pub(super) relations: Vec<Stored<Relation>>,
    /// Columns that stand beside the records of their tables, until these have them.
    columns: StoredColumns,
    pub(super) counters: Vec<Counter>,
    pub(super) dropped: Vec<(TableId, IndexId)>,
    /// The tables in the trash.
    pub(super) trash: Vec<(DatabaseId, TrashedTable)>,
    /// The databases that were made, by oid.
    pub(super) databases: BTreeMap<DatabaseId, DatabaseDef>,
    /// Databases that were dropped, of which objects may be left.
    pub(super) dropped_databases: Vec<DatabaseId>,
    /// The types that users made, by database.
    pub(super) types: BTreeMap<DatabaseId, UserTypes>,
    /// The oids of the functions that users made.
    pub(super) routines: Vec<u32>,
    /// Relations whose records do not decode.
    pub(super) unreadable: Vec<TableId>,
    /// Names with the databases and schemas that they are in, and the oids of whose they are.
    pub(super) names: Vec<((DatabaseId, String), String, u32)>,
    /// The oids of what something was made to depend on.
    pub(super) depended_on: Vec<u32>,
    /// The large objects, by database and oid, whose records stand before their pages.
    large_objects: BTreeMap<(DatabaseId, u32), LargeObjectRecord>,
    /// Where tables are split.
    pub(super) regions: Vec<TableRegions>,
    /// The numbers of tables' rows.
    pub(super) row_counts: BTreeMap<TableId, u64>,
}

/// A record with what stands around its definition.
#[derive(Debug)]
pub(super) struct Stored<T> {
    pub(super) def: T,
    /// The database before the definition.
    pub(super) database: DatabaseId,
    /// The id before the definition (0 for a schema).
    pub(super) head_id: TableId,
    /// The id in its key (0 for a schema).
    pub(super) key_id: TableId,
    /// What its key names, in words.
    pub(super) key: String,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counter {
    /// The hidden row ids of a table, and the next.
    RowIds { table: TableId, next: i64 },
    /// The values of a generation of a sequence.
    Sequence { id: TableId, generation: u16 },
    /// Those of a serial column, as an older release counted them.
    Column { table: TableId, column: ColumnId },
}

impl Counter {
    /// The relation that it is of.
    pub(super) fn relation(&self) -> TableId {
        match self {
            Counter::RowIds { table, .. } | Counter::Column { table, .. } => *table,
            Counter::Sequence { id, .. } => *id,
        }
    }

    /// What its key names.
    pub(super) fn key(&self) -> Keyspace<'static> {
        match *self {
            Counter::RowIds { table, .. } => Keyspace::NextRowId { table },
            Counter::Sequence { id, generation } => Keyspace::Sequence {
                relation: id,
                part: generation,
            },
            Counter::Column { table, column } => Keyspace::Sequence {
                relation: table,
                part: column,
            },
        }
    }
}

impl Records {
    /// Reads all of them. Errors: as [`Walk::next_page`].
    pub(super) async fn read(snapshot: &dyn Snapshot, faults: &mut Faults) -> Result<Records> {
        let mut records = Records::default();
        records.read_types(snapshot, faults).await?;
        let mut walk = Walk::new(snapshot, vec![table_range(SYSTEM_TABLE)], false);
        let mut page = Page::new();
        loop {
            walk.next_page(&mut page, None, faults).await?;
            if page.is_empty() {
                records.place_columns(faults);
                return Ok(records);
            }
            for (key, value) in page.iter() {
                records.take(key, value, faults);
            }
        }
    }

    /// Reads the types, which tables are of.
    async fn read_types(&mut self, snapshot: &dyn Snapshot, faults: &mut Faults) -> Result<()> {
        let mut walk = Walk::new(snapshot, vec![types_range()], false);
        let (mut page, mut read) = (Page::new(), Vec::new());
        loop {
            walk.next_page(&mut page, None, faults).await?;
            if page.is_empty() {
                break;
            }
            read.extend(page.iter().map(|(_, value)| value.to_vec()));
        }
        let mut by_database: BTreeMap<DatabaseId, Vec<&[u8]>> = BTreeMap::new();
        for value in &read {
            match record::database_of(value) {
                Ok(database) => by_database.entry(database).or_default().push(value),
                Err(error) => faults.add(FaultKind::Record, None, "types".to_string(), error.to_string()),
            }
        }
        for (database, records) in by_database {
            match type_record::decode_all(records.into_iter(), &UserTypes::default()) {
                Ok(types) => {
                    self.types.insert(database, types);
                }
                Err(error) => faults.add(FaultKind::Record, None, "types".to_string(), error.to_string()),
            }
        }
        Ok(())
    }

    /// The types that users made in a database.
    pub(super) fn types_of(&self, database: DatabaseId) -> UserTypes {
        self.types.get(&database).cloned().unwrap_or_default()
    }

    /// What a database is called; `None`: it is the first.
    pub(super) fn database_name(&self, database: DatabaseId) -> Option<String> {
        let known = self.databases.get(&database).map(|known| known.name.clone());
        let unknown = || format!("database {database}");
        (database != FIRST_DATABASE).then(|| known.unwrap_or_else(unknown))
    }

    /// Whether a database is there, or was and is still to be emptied.
    pub(super) fn has_database(&self, database: DatabaseId) -> bool {
        database == FIRST_DATABASE
            || self.databases.contains_key(&database)
            || self.dropped_databases.contains(&database)
    }

    /// The tables among the relations.
    pub(super) fn tables(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.relations.iter().filter_map(|stored| stored.def.get_table())
    }

    fn take(&mut self, key: &[u8], value: &[u8], faults: &mut Faults) {
        match Keyspace::decode(key) {
            Err(error) => faults.add(FaultKind::Key, None, hex(key), error.to_string()),
            Ok(kind) => {
                if let Err(error) = self.take_record(&kind, value) {
                    faults.add(FaultKind::Record, None, key_name(&kind), error.to_string());
                    if let Keyspace::Relation { id } = kind {
                        self.unreadable.push(id);
                    }
                }
            }
        }
    }

    /// Whether a type's record, or its name, is of the type that its key says.
    fn check_type(&self, kind: &Keyspace<'_>, value: &[u8]) -> Result<()> {
        match *kind {
            Keyspace::Type { database, oid } => {
                let found = type_record::oid_of(value)?;
                if found != oid || record::database_of(value)? != database {
                    return Err(damaged(format!("it is that of type {found}")));
                }
            }
            Keyspace::TypeName { schema, name } => {
                let oid = type_oid_of_stored(u32::from_be_bytes(fixed(value)?));
                let types = self.types_of(schema.database);
                let named = types.get(schema.name, name);
                if named.is_none_or(|named| named.oid != oid) {
                    return Err(damaged(format!("no type {oid} has this name")));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Gives tables the columns that stand beside their records.
    fn place_columns(&mut self, faults: &mut Faults) {
        let mut columns = std::mem::take(&mut self.columns);
        for stored in &mut self.relations {
            let Relation::Table(table) = &stored.def else {
                continue;
            };
            let Some(beside) = columns.remove(&table.id) else {
                continue;
            };
            match table.with_stored_columns(beside) {
                Ok(table) => stored.def = Relation::Table(Arc::new(table)),
                Err(error) => faults.add(FaultKind::Record, None, stored.key.clone(), error.to_string()),
            }
        }
        for (table, columns) in columns
            .into_iter()
            .filter(|(id, _)| !self.unreadable.contains(id))
        {
            for column in columns.iter().map(|column| column.def.id) {
                let key = key_name(&Keyspace::DynamicColumn { table, column });
                faults.add(FaultKind::Record, None, key, "there is no such table");
            }
        }
    }

    /// A function's record or name, or the record of a cast or an extension.
    fn take_routine(&mut self, kind: &Keyspace<'_>, value: &[u8]) -> Result<()> {
        match *kind {
            Keyspace::Routine { oid } => {
                let types = self.types_of(record::database_of(value)?);
                let found = routine_record::decode(value, &types)?.oid;
                if found != oid {
                    return Err(damaged(format!("it is that of function {found}")));
                }
                self.routines.push(oid);
            }
            Keyspace::RoutineName { .. } => fixed::<4>(value).map(drop)?,
            Keyspace::Cast(key) => {
                let types = self.types_of(record::database_of(value)?);
                let found = cast::decode(value, &types)?;
                let is_it = found.source.oid() == key.source && found.target.oid() == key.target;
                if !is_it || record::database_of(value)? != key.database {
                    return Err(damaged(format!("it is that of the {}", found.described())));
                }
            }
            Keyspace::Extension { database, name } => {
                let found = extension::decode(value)?.name;
                if found != name || record::database_of(value)? != database {
                    return Err(damaged(format!("it is that of {found}")));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn take_relation(&mut self, kind: &Keyspace<'_>, id: TableId, value: &[u8]) -> Result<()> {
        let database = record::database_of(value)?;
        let types = self.types_of(database);
        self.relations.push(Stored {
            def: record::decode_relation(value, &HashMap::new(), &types)?,
            database,
            head_id: record::id_of(value)?,
            key_id: id,
            key: key_name(kind),
        });
        Ok(())
    }

    fn take_regions(&mut self, oid: u32, value: &[u8]) -> Result<()> {
        let regions = region::decode(value)?;
        if regions.oid != oid {
            return Err(damaged(format!("it is that of oid {}", regions.oid)));
        }
        self.regions.push(regions);
        Ok(())
    }

    fn take_trash(&mut self, id: TableId, value: &[u8]) -> Result<()> {
        let trashed = trash::decode(value)?;
        if trashed.id != id {
            return Err(damaged(format!("it is that of table {}", trashed.id)));
        }
        self.trash.push((record::database_of(value)?, trashed));
        Ok(())
    }

    fn take_database(&mut self, name: &str, value: &[u8]) -> Result<()> {
        let database = database::decode(value)?;
        if database.name != name {
            return Err(damaged(format!("it is that of database \"{}\"", database.name)));
        }
        self.databases.insert(database.oid, database);
        Ok(())
    }

    fn check_page(&self, object: (DatabaseId, u32), page: u32, value: &[u8]) -> Result<()> {
        match self.large_objects.get(&object) {
            Some(object) => object.check_page(page, value.len()),
            None => Err(damaged("there is no such object".to_string())),
        }
    }

    fn take_record(&mut self, kind: &Keyspace<'_>, value: &[u8]) -> Result<()> {
        match *kind {
            Keyspace::Format => fixed::<4>(value).map(drop)?,
            Keyspace::CatalogVersion => self.version = Some(u64::from_be_bytes(fixed(value)?)),
            Keyspace::CatalogPart { .. } | Keyspace::Clock => fixed::<8>(value).map(drop)?,
            Keyspace::NextTableId => self.next_id = Some(TableId::from_be_bytes(fixed(value)?)),
            Keyspace::Database { name } => self.take_database(name, value)?,
            Keyspace::Role { name } => check_role(name, value)?,
            Keyspace::DroppedDatabase { database } => self.dropped_databases.push(database),
            Keyspace::Schema { .. } => self.schemas.push(Stored {
                database: record::database_of(value)?,
                def: record::decode_schema(value)?,
                head_id: record::id_of(value)?,
                key_id: 0,
                key: key_name(kind),
            }),
            Keyspace::Relation { id } => self.take_relation(kind, id, value)?,
            Keyspace::Settings { of } => check_settings(of, value)?,
            Keyspace::Regions { oid } => self.take_regions(oid, value)?,
            Keyspace::DynamicColumn { table, column } => {
                let types = self.types_of(record::database_of(value)?);
                let column = dynamic_column::decode((table, column), value, &types)?;
                self.columns.entry(table).or_default().push(column);
            }
            Keyspace::Dropped { table, index } => {
                if kind.encode().get(ENTRY_PREFIX_BYTES..) != Some(value) {
                    return Err(damaged(format!("it names {} instead", hex(value))));
                }
                self.dropped.push((table, index));
            }
            Keyspace::Trash { id } => self.take_trash(id, value)?,
            Keyspace::LargeObject { database, oid } => {
                self.large_objects
                    .insert((database, oid), LargeObjectRecord::decode(value)?);
            }
            Keyspace::LargeObjectPage { database, oid, page } => {
                self.check_page((database, oid), page, value)?;
            }
            Keyspace::NextRowId { table } => self.counters.push(Counter::RowIds {
                table,
                next: i64::from_be_bytes(fixed(value)?),
            }),
            Keyspace::Sequence { relation, part } => {
                self.counters.push(counter_of(relation, part, value.len())?);
            }
            Keyspace::Written { .. } if value.is_empty() => {}
            Keyspace::Written { table } => {
                self.row_counts.insert(table, u64::from_be_bytes(fixed(value)?));
            }
            Keyspace::Name { schema, name } => {
                let oid = u32::from_be_bytes(fixed(value)?);
                let schema = (schema.database, schema.name.to_string());
                self.names.push((schema, name.to_string(), oid));
            }
            Keyspace::Dependents { oid } => self.depended_on.push(oid),
            Keyspace::Type { .. } | Keyspace::TypeName { .. } => self.check_type(kind, value)?,
            Keyspace::Routine { .. }
            | Keyspace::RoutineName { .. }
            | Keyspace::Cast(_)
            | Keyspace::Extension { .. } => {
                self.take_routine(kind, value)?;
            }
            Keyspace::Entry { .. } => return Err(damaged("it stands among the system's".to_string())),
            Keyspace::AdvisoryLock(_) | Keyspace::KeysLock { .. } => {
                return Err(damaged("nothing stands under a lock".to_string()));
            }
        }
        Ok(())
    }
}

fn check_role(name: &str, value: &[u8]) -> Result<()> {
    let role = role::decode(value)?.name;
    match role == name {
        true => Ok(()),
        false => Err(damaged(format!("it is that of role \"{role}\""))),
    }
}

fn check_settings(of: &str, value: &[u8]) -> Result<()> {
    let owner = record::decode_settings(value)?.owner;
    match owner.key_text() == of {
        true => Ok(()),
        false => Err(damaged(format!("it is that of {}", owner.key_text()))),
    }
}

/// Of a column of an older format, or of a sequence, by the length of its value.
fn counter_of(relation: TableId, part: u16, bytes: usize) -> Result<Counter> {
    match bytes {
        8 => Ok(Counter::Column {
            table: relation,
            column: part,
        }),
        9 => Ok(Counter::Sequence {
            id: relation,
            generation: part,
        }),
        bytes => Err(damaged(format!("{bytes} bytes instead of 9"))),
    }
}

/// What a key of the system names, in words.
pub(super) fn key_name(kind: &Keyspace<'_>) -> String {
    match kind {
        Keyspace::Format => "format".to_string(),
        Keyspace::Clock => "clock".to_string(),
        Keyspace::Regions { oid } => format!("regions of the table with oid {oid}"),
        Keyspace::DynamicColumn { table, column } => format!("column {column} beside table {table}"),
        Keyspace::CatalogVersion => "catalog version".to_string(),
        Keyspace::CatalogPart { part } => format!("version of part {part} of the catalog"),
        Keyspace::NextTableId => "next table id".to_string(),
        Keyspace::Database { name } => format!("database \"{name}\""),
        Keyspace::Role { name } => format!("role \"{name}\""),
        Keyspace::DroppedDatabase { database } => format!("dropped database {database}"),
        Keyspace::Schema { schema } => format!("schema {}", in_database(*schema)),
        Keyspace::Relation { id } => format!("relation {id}"),
        Keyspace::Dropped { table, index } if *index == IndexId::MAX => format!("dropped table {table}"),
        Keyspace::Dropped { table, index } => format!("dropped index {index} of table {table}"),
        Keyspace::Trash { id } => format!("table {id} in the trash"),
        Keyspace::LargeObject { oid, .. } => format!("large object {oid}"),
        Keyspace::LargeObjectPage { oid, page, .. } => format!("page {page} of large object {oid}"),
        Keyspace::NextRowId { table } => format!("row id counter of table {table}"),
        Keyspace::Sequence { relation, part } => format!("counter {part} of relation {relation}"),
        Keyspace::Settings { of } => format!("settings of {of}"),
        Keyspace::Written { table } => format!("mark of writes to table {table}"),
        Keyspace::Name { schema, name } => format!("name \"{name}\" of schema {}", in_database(*schema)),
        Keyspace::Type { oid, .. } => format!("type {oid}"),
        Keyspace::TypeName { schema, name } => {
            format!("name \"{name}\" of a type of schema {}", in_database(*schema))
        }
        Keyspace::Routine { oid } => format!("function {oid}"),
        Keyspace::RoutineName { schema, signature } => {
            format!("function {signature} of schema {}", in_database(*schema))
        }
        Keyspace::Cast(key) => format!("cast from type {} to type {}", key.source, key.target),
        Keyspace::Extension { name, .. } => format!("extension \"{name}\""),
        Keyspace::Dependents { oid } => format!("mark of dependents of oid {oid}"),
        Keyspace::KeysLock { oid } => format!("lock of the keys of table {oid}"),
        Keyspace::AdvisoryLock(key) => format!("advisory lock {key:?}"),
        Keyspace::Entry { table, index, .. } => format!("entry of index {index} of table {table}"),
    }
}

/// A schema, and its database where that is not the first.
fn in_database(schema: SchemaKey<'_>) -> String {
    match schema.database {
        FIRST_DATABASE => format!("\"{}\"", schema.name),
        database => format!("\"{}\" of database {database}", schema.name),
    }
}

/// A value of a fixed length.
fn fixed<const N: usize>(value: &[u8]) -> Result<[u8; N]> {
    value
        .try_into()
        .map_err(|_| damaged(format!("{} bytes instead of {N}", value.len())))
}

fn damaged(reason: String) -> Error {
    Error::Corrupt {
        what: "record".to_string(),
        reason,
    }
}
