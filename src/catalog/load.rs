//! Loading the catalog as a transaction sees it: of what changed since a catalog that is known, and nothing else. Called once a
//! statement, by way of [`Catalog::load`].
//!
//! One key names the state of the whole catalog, so that a catalog is known to stand by one get. The records are in parts, each
//! with a version of its own: schemas and settings are one, the relations of [`PART_IDS`] numbers each another. A table to which
//! writes add columns is a part of its own besides, so that for each of these nothing but the new columns is read. When the whole
//! has changed, the versions of the parts (tiny, and few beside the relations) tell whose records are read again, and
//! the version of each record whether it is decoded. Nothing of it depends on who committed what when: a snapshot, old or new, with
//! a transaction's own changes or without, has the versions that belong to its records.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::dynamic_column::{self, StoredColumns};
use super::{
    Catalog, Relation, TableDef, cast, database, extension, record, role, routine_record, trash, type_record,
};
use crate::codec::keyspace::{self, Keyspace, TableId};
use crate::store::{KeyRange, Page, ScanRequest};
use crate::txn::Transaction;
use crate::{Error, Result};

/// The numbers of a part's relations: about the root of how many relations there are, for parts' versions and a part's records are
/// both read when one relation changed.
const PART_IDS: TableId = 32;

/// The part of schemas, settings and all else that is no relation; those of relations follow.
const NAMED_PART: u32 = 0;

/// The parts of single relations, by their numbers, which change when writes add columns.
const SINGLE_PARTS: u32 = 1 << 31;

impl Catalog {
    /// Whether this is the version that is stored. Errors: `Corrupt`.
    pub fn is_of_version(&self, stored: Option<&[u8]>) -> Result<bool> {
        Ok(stored.map_or(Ok(0), decode_version)? == self.version)
    }

    /// The catalog as the transaction sees it: `cached` when its version still stands (one get), else `cached` with those
    /// parts read anew that are others, and the definitions of `cached` for records that did not change. From then on the transaction
    /// judges by it which rows are over.
    pub async fn load(txn: &Transaction, cached: Option<Arc<Catalog>>) -> Result<Arc<Catalog>> {
        let version = version(txn).await?;
        let catalog = match cached {
            Some(cached) if cached.version == version => cached,
            cached => load_changed(txn, version, cached.as_deref())
                .await
                .map(Arc::new)?,
        };
        txn.judge_by(catalog.expiry_rules());
        txn.log_changes(catalog.change_logs());
        Ok(catalog)
    }
}

/// The key of the version of the whole catalog.
pub fn version_key() -> Vec<u8> {
    Keyspace::CatalogVersion.encode()
}

/// The key of the version of the part that a record is in.
pub(super) fn part_key(record: &Keyspace<'_>) -> Vec<u8> {
    let part = match record {
        Keyspace::Relation { id } => part_of(*id),
        _ => NAMED_PART,
    };
    Keyspace::CatalogPart { part }.encode()
}

/// The key of the version of the part that a relation is by itself.
pub(super) fn single_part_key(id: TableId) -> Vec<u8> {
    let part = single_part(id);
    Keyspace::CatalogPart { part }.encode()
}

fn single_part(id: TableId) -> u32 {
    SINGLE_PARTS | id
}

fn part_of(id: TableId) -> u32 {
    NAMED_PART + 1 + id / PART_IDS
}

/// The catalog's version as the transaction sees it; 0 before the first change. Where it has changed the catalog itself, its version
/// and that of the others together: a later statement may see what they committed meanwhile.
pub(super) async fn version(txn: &Transaction) -> Result<u64> {
    let key = [version_key()];
    let seen = txn.get_many(&key).await?.get(0).map_or(Ok(0), decode_version)?;
    match txn.has_written(&key[0]) {
        false => Ok(seen),
        true => {
            let stored = txn.get_stored(&key).await?;
            Ok(of_both(seen, stored.get(0).map_or(Ok(0), decode_version)?))
        }
    }
}

/// The version of what a transaction changed over what others committed.
fn of_both(own: u64, stored: u64) -> u64 {
    own ^ stored.rotate_left(1)
}

async fn load_changed(txn: &Transaction, version: u64, cached: Option<&Catalog>) -> Result<Catalog> {
    let parts = read_parts(txn).await?;
    let mut catalog = Catalog {
        version,
        ..cached.cloned().unwrap_or_else(Catalog::empty)
    };
    let known_parts = std::mem::replace(&mut catalog.parts, parts);
    let changed = changed_parts(&known_parts, &catalog.parts);
    if cached.is_none() || changed.contains(&NAMED_PART) {
        load_named(txn, &mut catalog).await?;
    }
    let mut reads = match cached {
        None => RelationReads::all(),
        Some(_) => RelationReads::of_parts(&changed),
    };
    for id in changed.iter().filter_map(|part| part.checked_sub(SINGLE_PARTS)) {
        if cached.is_some()
            && !changed.contains(&part_of(id))
            && !append_columns(txn, &mut catalog, id).await?
        {
            reads.add_table(id);
        }
    }
    let is_changed =
        |id: TableId| cached.is_none() || changed.contains(&part_of(id)) || reads.whole.contains(&id);
    if !reads.relations.is_empty() {
        let relations = catalog.relations.iter();
        let known: HashMap<TableId, &Relation> = relations
            .filter(|relation| is_changed(relation.id()))
            .map(|relation| (relation.id(), relation))
            .collect();
        let columns = read_records(txn, sorted(reads.columns.clone())).await?;
        let mut columns = dynamic_column::decode_all(columns, &catalog.types)?;
        let records = read_records(txn, sorted(reads.relations.clone()))
            .await?
            .into_iter();
        let read = records.map(|(_, value)| {
            let relation = record::decode_relation(&value, &known, &catalog.types)?;
            with_columns(relation, &mut columns)
        });
        let read = read.collect::<Result<_>>()?;
        catalog.relations.replace(is_changed, read);
    }
    bring_types_up_to_date(&mut catalog)?;
    Ok(catalog)
}

/// What is read of relations: ranges of their records, and of those of columns beside them.
struct RelationReads {
    relations: Vec<KeyRange>,
    columns: Vec<KeyRange>,
    /// Tables that are read by themselves.
    whole: BTreeSet<TableId>,
}

impl RelationReads {
    fn all() -> RelationReads {
        RelationReads {
            relations: vec![keyspace::relations_range()],
            columns: vec![keyspace::dynamic_columns_range()],
            whole: BTreeSet::new(),
        }
    }

    /// Those of the parts that have changed but for those of single tables.
    fn of_parts(changed: &BTreeSet<u32>) -> RelationReads {
        let parts = changed
            .iter()
            .filter(|part| (NAMED_PART + 1..SINGLE_PARTS).contains(*part));
        let ids = parts.map(|part| {
            let start = (part - NAMED_PART - 1).saturating_mul(PART_IDS);
            start..start.saturating_add(PART_IDS)
        });
        RelationReads {
            relations: ids.clone().map(keyspace::relations_between).collect(),
            columns: ids.map(keyspace::dynamic_columns_between).collect(),
            whole: BTreeSet::new(),
        }
    }

    /// A table's.
    fn add_table(&mut self, id: TableId) {
        let ids = id..id.saturating_add(1);
        self.relations.push(keyspace::relations_between(ids.clone()));
        self.columns.push(keyspace::dynamic_columns_between(ids));
        self.whole.insert(id);
    }
}

fn sorted(mut ranges: Vec<KeyRange>) -> Vec<KeyRange> {
    ranges.sort_by(|a, b| a.start.cmp(&b.start));
    ranges
}

/// Gives a known table, whose record has not changed, the columns that were added since; whether it could: a snapshot that is older
/// may have fewer.
async fn append_columns(txn: &Transaction, catalog: &mut Catalog, id: TableId) -> Result<bool> {
    let known = catalog.tables().find(|table| table.id == id).cloned();
    let Some(table) = known else {
        return Ok(false);
    };
    if let Some(last) = table.columns_beside().last() {
        let stored = txn.get_many(&[dynamic_column::key_of(id, last)]).await?;
        let Some(last) = stored.get(0) else {
            return Ok(false);
        };
        if record::version_of(last)? != table.version {
            return Ok(false);
        }
    }
    let all = keyspace::dynamic_columns_between(id..id.saturating_add(1));
    let new = KeyRange {
        start: dynamic_column::key_of(id, table.next_column_id),
        end: all.end,
    };
    let columns = read_records(txn, vec![new]).await?;
    let columns = dynamic_column::decode_all(columns, &catalog.types)?;
    if let Some(columns) = columns.into_values().next() {
        let table: TableDef = table.with_stored_columns(columns)?;
        catalog.relations.insert(Relation::Table(Arc::new(table)));
    }
    Ok(true)
}

/// A relation with the columns that stand beside its record.
fn with_columns(relation: Relation, columns: &mut StoredColumns) -> Result<Relation> {
    let Relation::Table(table) = &relation else {
        return Ok(relation);
    };
    match columns.remove(&table.id) {
        Some(columns) => Ok(Relation::Table(Arc::new(table.with_stored_columns(columns)?))),
        None => Ok(relation),
    }
}

/// Gives tables that were known before their types changed the new ones.
fn bring_types_up_to_date(catalog: &mut Catalog) -> Result<()> {
    let mut changed = Vec::new();
    for table in catalog.tables() {
        changed.extend(catalog.types.brought_up_to_date(table)?);
    }
    for table in changed {
        catalog.relations.insert(Relation::Table(Arc::new(table)));
    }
    Ok(())
}

/// Reads databases, roles, schemas, types, functions, casts, extensions, the trash and settings.
async fn load_named(txn: &Transaction, catalog: &mut Catalog) -> Result<()> {
    catalog.schemas = Catalog::empty().schemas;
    for (_, value) in read_records(txn, vec![keyspace::schemas_range()]).await? {
        let schema = record::decode_schema(&value)?;
        match schema.dropped {
            true => catalog.schemas.remove(&schema.name),
            false => catalog.schemas.insert(schema.name.clone(), schema),
        };
    }
    let types = read_records(txn, vec![keyspace::types_range()]).await?;
    let records = types.iter().map(|(_, value)| value.as_slice());
    catalog.types = type_record::decode_all(records, &catalog.types)?;
    let routines = read_records(txn, vec![keyspace::routines_range()]).await?;
    let records = routines.iter().map(|(_, value)| value.as_slice());
    catalog.routines = routine_record::decode_all(records, &catalog.types, &catalog.routines)?;
    let casts = read_records(txn, vec![keyspace::casts_range()]).await?;
    let records = casts.iter().map(|(_, value)| value.as_slice());
    catalog.casts = cast::decode_all(records, &catalog.types)?;
    catalog.extensions.clear();
    for (_, value) in read_records(txn, vec![keyspace::extensions_range()]).await? {
        let extension = extension::decode(&value)?;
        catalog.extensions.insert(extension.name.clone(), extension);
    }
    catalog.trash.clear();
    for (_, value) in read_records(txn, vec![keyspace::trash_range()]).await? {
        let trashed = trash::decode(&value)?;
        catalog.trash.insert(trashed.id, Arc::new(trashed));
    }
    catalog.databases.clear();
    for (_, value) in read_ranges(txn, vec![keyspace::databases_range()]).await? {
        let database = database::decode(&value)?;
        catalog
            .databases
            .insert(database.name.clone(), Arc::new(database));
    }
    catalog.roles.clear();
    for (_, value) in read_ranges(txn, vec![keyspace::roles_range()]).await? {
        let role = role::decode(&value)?;
        catalog.roles.insert(role.name.clone(), Arc::new(role));
    }
    catalog.altered.clear();
    for (_, value) in read_ranges(txn, vec![keyspace::settings_range()]).await? {
        let altered = record::decode_settings(&value)?;
        catalog.altered.insert(altered.owner.clone(), altered);
    }
    Ok(())
}

/// The versions of the parts.
async fn read_parts(txn: &Transaction) -> Result<BTreeMap<u32, u64>> {
    let read = read_ranges(txn, vec![keyspace::catalog_parts_range()]).await?;
    let mut parts = BTreeMap::new();
    for (key, value) in &read {
        if let Keyspace::CatalogPart { part } = Keyspace::decode(key)? {
            let mut version = decode_version(value)?;
            if txn.has_written(key) {
                let stored = txn.get_stored(std::slice::from_ref(key)).await?;
                version = of_both(version, stored.get(0).map_or(Ok(0), decode_version)?);
            }
            parts.insert(part, version);
        }
    }
    Ok(parts)
}

/// The parts that have not one version in both.
fn changed_parts(known: &BTreeMap<u32, u64>, now: &BTreeMap<u32, u64>) -> BTreeSet<u32> {
    let parts = known.keys().chain(now.keys()).copied();
    parts.filter(|part| known.get(part) != now.get(part)).collect()
}

fn decode_version(bytes: &[u8]) -> Result<u64> {
    bytes
        .try_into()
        .map(u64::from_be_bytes)
        .map_err(|_| Error::Corrupt {
            what: "catalog version".to_string(),
            reason: format!("{} bytes instead of 8", bytes.len()),
        })
}

/// The records of ranges that are in the transaction's database, with their keys.
async fn read_records(txn: &Transaction, ranges: Vec<KeyRange>) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut records = Vec::new();
    for (key, value) in read_ranges(txn, ranges).await? {
        if record::database_of(&value)? == txn.database() {
            records.push((key, value));
        }
    }
    Ok(records)
}

/// All entries of small ranges of the system's keys.
async fn read_ranges(txn: &Transaction, ranges: Vec<KeyRange>) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
    let mut scan = txn.scan(ScanRequest {
        read_ahead: false,
        ranges,
        reverse: false,
        keys_only: false,
        page_rows_max: 1_000,
        page_bytes_max: 1 << 20,
    });
    let mut entries = Vec::new();
    let mut page = Page::new();
    loop {
        scan.next_page(&mut page).await?;
        if page.is_empty() {
            return Ok(entries);
        }
        entries.extend(page.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
    }
}
