//! `CatalogWriter`: creates, replaces and drops catalog records inside a transaction. Called by `sql::ddl`; columns that writes add are
//! `column_change`'s, what is no object of a schema is `named_change`'s. Knows nothing of SQL text.

use std::sync::Arc;

use super::load::{part_key, single_part_key};
use super::new_column::too_many_columns;
use super::reclaim::encode_dropped;
use super::record::Stamp;
use super::{
    COLUMNS_MAX, Catalog, ColumnDef, NO_SEQUENCE, Relation, RoutineDef, SequenceDef, TableDef, TypeDef,
    ViewDef, dynamic_column, record, region, routine_record, type_record, written_key,
};
use crate::codec::keyspace::{FIRST_DATABASE, IndexId, Keyspace, SchemaKey, TableId};
use crate::error::DuplicateKind;
use crate::store::{LockMode, Write};
use crate::txn::Transaction;
use crate::types::stored_type_oid;
use crate::{Error, Result};

/// Changes catalog records in a transaction; one value a statement. The new catalog version is written with the first
/// change; the statement's caller loads the catalog anew.
#[derive(Debug)]
pub struct CatalogWriter<'a> {
    txn: &'a Transaction,
    /// What is changed.
    catalog: &'a Catalog,
    version: u64,
}

impl<'a> CatalogWriter<'a> {
    /// Opens the catalog for changes: gives it a new version. Blind: what conflicts are the records of the objects
    /// themselves, their names, and what depends on them (see the invariants in `catalog`).
    pub fn begin(txn: &'a Transaction, catalog: &'a Catalog) -> Result<CatalogWriter<'a>> {
        let version = rand::random();
        put_version(txn, Keyspace::CatalogVersion.encode(), version)?;
        Ok(CatalogWriter {
            txn,
            catalog,
            version,
        })
    }

    /// The transaction that the changes are part of.
    pub fn txn(&self) -> &'a Transaction {
        self.txn
    }

    /// What is changed.
    pub(super) fn catalog(&self) -> &'a Catalog {
        self.catalog
    }

    /// Writes a table's record, new or changed; answers it with its new version.
    pub fn put_table(&self, table: TableDef) -> Result<Arc<TableDef>> {
        self.put_table_in(table, LockMode::AccessExclusive)
    }

    /// The same, while others may use the table in modes that do not conflict with this one.
    pub fn put_table_in(&self, mut table: TableDef, mode: LockMode) -> Result<Arc<TableDef>> {
        if table.visible_columns().count() > COLUMNS_MAX {
            return Err(too_many_columns(COLUMNS_MAX));
        }
        table.version = self.version;
        let known = self.relation_of(table.oid);
        self.check_no_type(known, &table.schema, &table.name)?;
        self.put_names(known, &table.schema, &names_of_table(&table))?;
        self.follow_with_sequences(known.and_then(Relation::get_table), &table)?;
        let known_table = known.and_then(Relation::get_table).map(Arc::as_ref);
        self.rest_on_types(known_table, &table)?;
        self.rest_on_calls(known_table, &table)?;
        if let Some(stored) = &table.stored_query {
            self.rest_on_read(known, &stored.depends_on)?;
        }
        if let Some(known) = known.and_then(Relation::get_table) {
            self.forget_columns(known)?;
        }
        // Those that the statement itself has added.
        self.forget_own_columns(&table)?;
        table.beside_from = None;
        let value = record::encode_table(&table, self.txn.database())?;
        self.write_record_in(Keyspace::Relation { id: table.id }, Some(value), mode)?;
        Ok(Arc::new(table))
    }

    /// Writes a view's record, new or changed.
    pub fn put_view(&self, view: &ViewDef) -> Result<()> {
        let known = self.relation_of(view.oid());
        self.check_no_type(known, &view.schema, &view.name)?;
        self.put_names(known, &view.schema, &[(&view.name, view.oid())])?;
        self.rest_on_read(known, &view.depends_on)?;
        self.rest_on_calls_of_view(known, view)?;
        let value = record::encode_view(view, self.stamp())?;
        self.write_record(Keyspace::Relation { id: view.id }, Some(value))
    }

    /// Writes a sequence's record, new or changed. (What it has given is the caller's to write.)
    pub fn put_sequence(&self, sequence: &SequenceDef) -> Result<()> {
        let oid = sequence.oid();
        let known = self.relation_of(oid);
        self.put_names(known, &sequence.schema, &[(&sequence.name, oid)])?;
        let value = record::encode_sequence(sequence, self.stamp())?;
        let record = Keyspace::Relation { id: sequence.id };
        self.write_record_in(record, Some(value), LockMode::ShareRowExclusive)
    }

    /// Removes a sequence's record; what it has given stays.
    pub(super) fn forget_sequence(&self, sequence: &SequenceDef) -> Result<()> {
        self.drop_name(&sequence.schema, &sequence.name)?;
        self.drop_record(Keyspace::Relation { id: sequence.id }, sequence.oid())
    }

    /// Removes a sequence's record and what it has given.
    pub fn drop_sequence(&self, sequence: &SequenceDef) -> Result<()> {
        self.forget_sequence(sequence)?;
        // Blind: a session that reserves a block of values meanwhile must not fail the drop.
        let key = sequence.counter_key();
        self.txn.write(Write::Delete { key }, None)
    }

    /// Writes a type's record, new or changed.
    pub fn put_type(&self, ty: &TypeDef) -> Result<()> {
        let known = self.catalog.types.by_oid(ty.oid);
        let (schema, name) = (ty.schema.as_str(), ty.name.as_str());
        if known.is_none_or(|known| known.schema != schema) {
            self.rest_on_schema(schema)?;
        }
        if known.is_none_or(|known| known.schema != schema || known.name != name) {
            if let Some(known) = known {
                self.drop_type_name(known)?;
            }
            let schema = self.schema_key(schema);
            let key = Keyspace::TypeName { schema, name }.encode();
            let value = stored_type_oid(ty.oid).to_be_bytes().to_vec();
            let mode = Some(LockMode::Replace);
            self.txn.write(Write::Put { key, value }, mode)?;
        }
        self.rest_on_parts(known.map(Arc::as_ref), ty)?;
        let value = type_record::encode(ty, self.stamp())?;
        self.write_record(self.type_key(ty.oid), Some(value))
    }

    /// Writes a function's record, new or changed. What its body reads, where that is known, must stay.
    pub fn put_routine(&self, routine: &RoutineDef) -> Result<()> {
        let known = self.catalog.routines.by_oid(routine.oid);
        let schema = routine.schema.as_str();
        if known.is_none_or(|known| known.schema != schema) {
            self.rest_on_schema(schema)?;
        }
        let signature = routine.signature();
        if known.is_none_or(|known| known.schema != schema || known.signature() != signature) {
            if let Some(known) = known {
                self.drop_routine_name(known)?;
            }
            let (schema, signature) = (self.schema_key(schema), signature.as_str());
            let key = Keyspace::RoutineName { schema, signature }.encode();
            let value = routine.oid.to_be_bytes().to_vec();
            self.txn
                .write(Write::Put { key, value }, Some(LockMode::Replace))?;
        }
        for oid in routine.types_used() {
            self.rest_on_type(oid)?;
        }
        for oid in &routine.depends_on {
            self.rest_on_object(*oid)?;
        }
        let value = routine_record::encode(routine, self.stamp())?;
        self.write_record(Keyspace::Routine { oid: routine.oid }, Some(value))
    }

    /// Removes the record of a function that nothing calls, and the casts that are done by it.
    pub fn drop_routine(&self, routine: &RoutineDef) -> Result<()> {
        let mut casts = self.catalog.casts.iter().filter(|cast| cast.calls(routine.oid));
        casts.try_for_each(|cast| self.drop_cast(cast))?;
        self.drop_routine_name(routine)?;
        self.drop_record(Keyspace::Routine { oid: routine.oid }, routine.oid)
    }

    fn drop_routine_name(&self, routine: &RoutineDef) -> Result<()> {
        let signature = routine.signature();
        let key = Keyspace::RoutineName {
            schema: self.schema_key(&routine.schema),
            signature: &signature,
        };
        let key = key.encode();
        self.txn.write(Write::Delete { key }, Some(LockMode::Replace))
    }

    /// Removes the record of a type that nothing is of.
    pub fn drop_type(&self, ty: &TypeDef) -> Result<()> {
        self.drop_type_name(ty)?;
        self.drop_record(self.type_key(ty.oid), ty.oid)
    }

    fn drop_type_name(&self, ty: &TypeDef) -> Result<()> {
        let (schema, name) = (self.schema_key(&ty.schema), ty.name.as_str());
        let key = Keyspace::TypeName { schema, name }.encode();
        self.txn.write(Write::Delete { key }, Some(LockMode::Replace))
    }

    /// Removes a view's record.
    pub fn drop_view(&self, view: &ViewDef) -> Result<()> {
        self.drop_name(&view.schema, &view.name)?;
        self.drop_record(Keyspace::Relation { id: view.id }, view.oid())
    }

    /// Removes a table's record, its own part of the catalog and its regions; its rows stay, with what is counted of them.
    pub(super) fn forget_table(&self, table: &TableDef) -> Result<()> {
        self.end_rekeying(table)?;
        self.forget_columns(table)?;
        for (name, _) in names_of_table(table) {
            self.drop_name(&table.schema, name)?;
        }
        self.drop_record(Keyspace::Relation { id: table.id }, table.oid)?;
        for key in [single_part_key(table.id), region::key_of(table.oid)] {
            self.txn.write(Write::Delete { key }, None)?;
        }
        Ok(())
    }

    /// Removes a table's record and the sequences of its columns, and leaves its keys to `reclaim_dropped`.
    pub fn drop_table(&self, table: &TableDef) -> Result<()> {
        self.forget_table(table)?;
        for key in counts_of(table) {
            // Blind: a session that reserves a block of values meanwhile must not fail the drop.
            self.txn.write(Write::Delete { key }, None)?;
        }
        let mut owned = self.catalog.sequences_of(table.oid);
        owned.try_for_each(|sequence| self.drop_sequence(sequence))?;
        self.drop_keys(table.id, IndexId::MAX)
    }

    /// The sequences that columns own go with them: out of the catalog, or into another schema. What defaults take of is there, and
    /// stays.
    fn follow_with_sequences(&self, old: Option<&Arc<TableDef>>, new: &TableDef) -> Result<()> {
        let used_before = |oid| old.is_some_and(|old| old.columns.iter().any(|c| c.uses_sequence(oid)));
        for used in new.columns.iter().flat_map(ColumnDef::sequences_used) {
            if used != NO_SEQUENCE && !used_before(used) {
                // One that this statement makes is known to nobody else.
                if let Some(sequence) = self.relation_of(used) {
                    self.rest_on(sequence)?;
                }
            }
        }
        let Some(old) = old else {
            return Ok(());
        };
        for sequence in self.catalog.sequences_of(old.oid) {
            let column = sequence
                .owner
                .and_then(|owner| new.column_index_by_id(owner.column));
            if column.is_none() {
                self.drop_sequence(sequence)?;
            } else if old.schema != new.schema {
                self.put_sequence(&SequenceDef {
                    schema: new.schema.clone(),
                    ..SequenceDef::clone(sequence)
                })?;
            }
        }
        Ok(())
    }

    /// Gives up the keys that are written beside a table under another primary key, and the log of its changes. The record is the caller's.
    pub fn end_rekeying(&self, table: &TableDef) -> Result<()> {
        let Some(rekeying) = table.rekeying else {
            return Ok(());
        };
        let key = written_key(rekeying.id);
        self.txn.write(Write::Delete { key }, None)?;
        self.drop_keys(rekeying.id, IndexId::MAX)?;
        self.drop_keys(table.id, rekeying.log)
    }

    /// Leaves all keys of a table, or of one index, to `reclaim_dropped`.
    pub fn drop_keys(&self, table: TableId, index: IndexId) -> Result<()> {
        let key = Keyspace::Dropped { table, index }.encode();
        self.txn.write(
            Write::Put {
                key,
                value: encode_dropped(table, index),
            },
            Some(LockMode::Replace),
        )
    }

    /// Gives a table other, empty keys: its record moves to the new one's id, its old keys are left to `reclaim_dropped`.
    /// The caller moves its counter (`table::Sequences::move_row_ids`).
    pub fn replace_table(&self, table: &TableDef, new: TableDef) -> Result<Arc<TableDef>> {
        self.replace_table_in(table, new, LockMode::AccessExclusive)
    }

    /// The same, while others may use the table in modes that do not conflict with this one.
    pub fn replace_table_in(&self, table: &TableDef, new: TableDef, mode: LockMode) -> Result<Arc<TableDef>> {
        let key = written_key(table.id);
        self.txn.write(Write::Delete { key }, None)?;
        self.drop_keys(table.id, IndexId::MAX)?;
        self.move_table(table, new, mode)
    }

    /// Moves a table's record to the new one's id; the old keys stay, and how many rows they are.
    pub(super) fn move_table(
        &self,
        table: &TableDef,
        new: TableDef,
        mode: LockMode,
    ) -> Result<Arc<TableDef>> {
        self.end_rekeying(table)?;
        let rekeying = None;
        let new = TableDef { rekeying, ..new };
        self.forget_columns(table)?;
        let beside_from = None;
        let new = TableDef { beside_from, ..new };
        self.write_record_in(Keyspace::Relation { id: table.id }, None, mode)?;
        let key = single_part_key(table.id);
        self.txn.write(Write::Delete { key }, None)?;
        self.put_table_in(new, mode)
    }

    /// Writes the record of a relation that has another query.
    pub fn put_query(&self, relation: &Relation) -> Result<()> {
        match relation {
            Relation::View(view) => self.put_view(view),
            Relation::Table(table) => self.put_table(TableDef::clone(table)).map(drop),
            Relation::Sequence(sequence) => self.put_sequence(sequence),
        }
    }

    /// Gives a relation its names, and takes those that it has no more.
    fn put_names(&self, known: Option<&Relation>, schema: &str, names: &[(&str, u32)]) -> Result<()> {
        let moves = known.is_none_or(|known| known.schema() != schema);
        if moves {
            self.rest_on_schema(schema)?;
        }
        let old = known.map(names_of).unwrap_or_default();
        for (name, _) in &old {
            if moves || names.iter().all(|(kept, _)| kept != name) {
                self.drop_name(known.map_or(schema, Relation::schema), name)?;
            }
        }
        let schema = self.schema_key(schema);
        for (name, oid) in names {
            if moves || !old.contains(&(*name, *oid)) {
                let (key, value) = (
                    Keyspace::Name { schema, name }.encode(),
                    oid.to_be_bytes().to_vec(),
                );
                self.txn
                    .write(Write::Put { key, value }, Some(LockMode::Replace))?;
            }
        }
        Ok(())
    }

    /// A table or view has a row type of its name. Errors: 42710 for a new name that a type has.
    fn check_no_type(&self, known: Option<&Relation>, schema: &str, name: &str) -> Result<()> {
        let is_known = known.is_some_and(|known| known.schema() == schema && known.name() == name);
        match !is_known && self.catalog.types.get(schema, name).is_some() {
            true => Err(Error::Duplicate {
                kind: DuplicateKind::Type,
                name: name.to_string(),
            }),
            false => Ok(()),
        }
    }

    fn drop_name(&self, schema: &str, name: &str) -> Result<()> {
        let schema = self.schema_key(schema);
        let key = Keyspace::Name { schema, name }.encode();
        self.txn.write(Write::Delete { key }, Some(LockMode::Replace))
    }

    /// Removes the record of an object that nothing depends on.
    pub(super) fn drop_record(&self, record: Keyspace<'_>, oid: u32) -> Result<()> {
        self.write_record(record, None)?;
        self.guard_dependents(oid);
        let key = Keyspace::Dependents { oid }.encode();
        self.txn.write(Write::Delete { key }, None)
    }

    /// The new version of the catalog.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// What stands before records of the database.
    pub(super) fn stamp(&self) -> Stamp {
        Stamp {
            version: self.version,
            database: self.txn.database(),
        }
    }

    /// What stands before records that all databases share.
    pub(super) fn shared_stamp(&self) -> Stamp {
        Stamp {
            version: self.version,
            database: FIRST_DATABASE,
        }
    }

    /// The key of a type's record.
    pub(super) fn type_key(&self, oid: u32) -> Keyspace<'static> {
        let database = self.txn.database();
        Keyspace::Type { database, oid }
    }

    /// What names a schema of the database.
    pub(super) fn schema_key<'b>(&self, name: &'b str) -> SchemaKey<'b> {
        SchemaKey {
            database: self.txn.database(),
            name,
        }
    }

    /// Writes a record, or removes it, and gives its part of the catalog the new version. Nobody else may use the object.
    pub(super) fn write_record(&self, record: Keyspace<'_>, value: Option<Vec<u8>>) -> Result<()> {
        let mode = match record {
            Keyspace::Relation { .. } => LockMode::AccessExclusive,
            _ => LockMode::Replace,
        };
        self.write_record_in(record, value, mode)
    }

    /// The same, while others may use the object in modes that do not conflict with this one.
    fn write_record_in(&self, record: Keyspace<'_>, value: Option<Vec<u8>>, mode: LockMode) -> Result<()> {
        self.put_version_of(part_key(&record))?;
        let key = record.encode();
        let write = match value {
            Some(value) => Write::Put { key, value },
            None => Write::Delete { key },
        };
        self.txn.write(write, Some(mode))
    }

    /// Gives a part of the catalog, by the key of its version, the new one.
    pub(super) fn put_version_of(&self, part: Vec<u8>) -> Result<()> {
        put_version(self.txn, part, self.version)
    }

    /// Removes the records of columns that stand beside that of a table, which is written with them or goes; nobody else may have added one
    /// since the snapshot.
    fn forget_columns(&self, table: &TableDef) -> Result<()> {
        self.txn
            .guard(&dynamic_column::key_of(table.id, table.next_column_id));
        self.forget_own_columns(table)
    }

    fn forget_own_columns(&self, table: &TableDef) -> Result<()> {
        for column in table.columns_beside() {
            let key = dynamic_column::key_of(table.id, column);
            self.txn.write(Write::Delete { key }, None)?;
        }
        Ok(())
    }

    /// The relation as it was before the statement.
    pub(super) fn relation_of(&self, oid: u32) -> Option<&'a Relation> {
        let mut known = self.catalog.relations.iter();
        known.find(|relation| relation.oid() == oid)
    }

    /// Records that rows of a table may say themselves when they are over.
    pub fn let_rows_expire(&self, table: &TableDef) -> Result<Arc<TableDef>> {
        let mut table = table.clone();
        table.options.expiry.by_row = true;
        // Rows of those who do not know it yet say nothing.
        self.put_table_in(table, LockMode::ShareUpdateExclusive)
    }
}

/// Blind: see the invariants in `catalog`.
fn put_version(txn: &Transaction, key: Vec<u8>, version: u64) -> Result<()> {
    let value = version.to_be_bytes().to_vec();
    txn.write(Write::Put { key, value }, None)
}

/// The names that a relation takes in its schema, with the oids of whose they are.
fn names_of(relation: &Relation) -> Vec<(&str, u32)> {
    match relation {
        Relation::Table(table) => names_of_table(table),
        Relation::View(view) => vec![(&view.name, view.oid())],
        Relation::Sequence(sequence) => vec![(&sequence.name, sequence.oid())],
    }
}

fn names_of_table(table: &TableDef) -> Vec<(&str, u32)> {
    let indexes = table
        .named_indexes()
        .map(|index| (index.name.as_str(), index.oid));
    std::iter::once((table.name.as_str(), table.oid))
        .chain(indexes)
        .collect()
}

/// The keys of the counter of row ids that a table may have, and of the mark that its writers leave.
fn counts_of(table: &TableDef) -> [Vec<u8>; 2] {
    let row_id = Keyspace::NextRowId { table: table.id }.encode();
    [row_id, written_key(table.id)]
}
