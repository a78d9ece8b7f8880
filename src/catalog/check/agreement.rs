//! Compares the catalog's records with one another (the list in the docs of `catalog::check`). Pure: what was read goes
//! in, faults come out.

use std::collections::{HashMap, HashSet};

use super::records::{Counter, Records, Stored, key_name};
use super::{FaultKind, Faults, hex};
use crate::catalog::{
    BUILTIN_SCHEMAS, ColumnDef, FIRST_OID, IndexDef, NO_SEQUENCE, Relation, SchemaDef, SequenceDef, TableDef,
    TrashedBy, TrashedSequence, UserTypes,
};
use crate::codec::key::check_key_type;
use crate::codec::keyspace::{DatabaseId, IndexId, Keyspace, SchemaKey, TableId};
use crate::codec::row::ColumnId;

/// Adds a fault for everything that contradicts something else.
pub(super) fn compare(records: &Records, faults: &mut Faults) {
    compare_numbers(records, faults);
    compare_names(records, faults);
    compare_oids(records, faults);
    compare_given(records, faults);
    for stored in &records.relations {
        match &stored.def {
            Relation::Table(table) => {
                compare_table(table, faults);
                compare_rekeyed(table, records, faults);
                compare_defaults(table, records, faults);
                compare_reads(&stored.def, records, faults);
            }
            Relation::View(_) => compare_reads(&stored.def, records, faults),
            Relation::Sequence(sequence) => compare_sequence(sequence, records, faults),
        }
    }
    compare_counters(records, faults);
    compare_dropped(records, faults);
    compare_trash(records, faults);
    compare_regions(records, faults);
}

/// Regions are of tables that are there, and their bounds are of the keys of these.
fn compare_regions(records: &Records, faults: &mut Faults) {
    for regions in &records.regions {
        let key = key_name(&Keyspace::Regions { oid: regions.oid });
        match records.tables().find(|table| table.oid == regions.oid) {
            None if records.unreadable.is_empty() => {
                faults.add(FaultKind::Record, None, key, "its table does not exist");
            }
            None => {}
            Some(table) => {
                if let Some(bound) = regions.damaged_bound(table) {
                    let name = format!("{}.{}", table.schema, table.name);
                    let reason = format!("its bound {} is no key of the table", hex(bound));
                    faults.add(FaultKind::Record, Some(&name), key, reason);
                }
            }
        }
    }
}

/// The catalog's version, and the next number above that of each record.
fn compare_numbers(records: &Records, faults: &mut Faults) {
    if records.schemas.is_empty() && records.relations.is_empty() {
        return;
    }
    let mut missing = |name: &str| faults.add(FaultKind::Record, None, name, "it is missing");
    if records.version.is_none() {
        missing("catalog version");
    }
    if records.next_id.is_none() {
        missing("next table id");
    }
    let next_id = records.next_id.unwrap_or(u32::MAX - FIRST_OID);
    let schemas = records.schemas.iter();
    let schemas = schemas.map(|stored| (None, &stored.key, 0));
    let relations = records.relations.iter().map(|stored| {
        let name = relation_name(&stored.def);
        (Some(name), &stored.key, stored.key_id)
    });
    for (name, key, id) in schemas.chain(relations) {
        if id >= next_id {
            let reason = format!("its number {id} has not been given out: the next is {next_id}");
            faults.add(FaultKind::Record, name.as_deref(), key, reason);
        }
    }
}

/// Records stand under their own names and ids; names are taken once, in schemas that exist.
fn compare_names(records: &Records, faults: &mut Faults) {
    for stored in &records.schemas {
        if schema_key(stored) != stored.key {
            let reason = format!("its record is that of schema \"{}\"", stored.def.name);
            faults.add(FaultKind::Record, None, &stored.key, reason);
        }
    }
    let mut taken: HashMap<(DatabaseId, &str, &str), String> = HashMap::new();
    for stored in &records.relations {
        let (relation, database) = (relation_name(&stored.def), stored.database);
        let mut fault = |reason: String| faults.add(FaultKind::Record, Some(&relation), &stored.key, reason);
        let id = stored.def.id();
        if stored.key_id != id || stored.head_id != id {
            fault(format!("its record is that of relation {id}"));
        }
        let schema = stored.def.schema();
        if !records.has_database(database) {
            fault(format!("its database {database} does not exist"));
        }
        let is_it = |known: &Stored<SchemaDef>| known.database == database && known.def.name == schema;
        let is_known =
            BUILTIN_SCHEMAS.iter().any(|(name, _)| *name == schema) || records.schemas.iter().any(is_it);
        if !is_known {
            fault(format!("its schema \"{schema}\" does not exist"));
        }
        let indexes = stored
            .def
            .get_table()
            .into_iter()
            .flat_map(|table| table.named_indexes());
        let names = std::iter::once(stored.def.name()).chain(indexes.map(|index| index.name.as_str()));
        for name in names {
            if let Some(other) = taken.insert((database, schema, name), relation.clone()) {
                fault(format!("its name \"{name}\" is also one of \"{other}\""));
            }
        }
    }
}

/// Oids are given once, and below the next number.
fn compare_oids(records: &Records, faults: &mut Faults) {
    let mut taken: HashMap<u32, String> = HashMap::new();
    let mut take = |oid: u32, name: String, faults: &mut Faults| {
        if records
            .next_id
            .is_some_and(|next| oid >= FIRST_OID.saturating_add(next))
        {
            let reason = format!("its oid {oid} has not been given out");
            faults.add(FaultKind::Record, None, &name, reason);
        }
        if let Some(other) = taken.insert(oid, name.clone()) {
            faults.add(
                FaultKind::Record,
                None,
                name,
                format!("its oid {oid} is also that of {other}"),
            );
        }
    };
    for stored in &records.schemas {
        // Schemas that every database has share their oids.
        if !BUILTIN_SCHEMAS.iter().any(|(_, oid)| *oid == stored.def.oid) {
            take(stored.def.oid, schema_key(stored), faults);
        }
    }
    for database in records.databases.values() {
        take(database.oid, format!("database \"{}\"", database.name), faults);
    }
    for stored in &records.relations {
        let name = relation_name(&stored.def);
        take(stored.def.oid(), format!("relation \"{name}\""), faults);
        for index in stored
            .def
            .get_table()
            .into_iter()
            .flat_map(|table| table.all_indexes())
        {
            take(
                index.oid,
                format!("index \"{}\" of \"{name}\"", index.name),
                faults,
            );
        }
    }
}

/// What a name was given to has it; what something was made to depend on is there.
fn compare_given(records: &Records, faults: &mut Faults) {
    if !records.unreadable.is_empty() {
        return;
    }
    let mut names: HashSet<(DatabaseId, &str, &str, u32)> = HashSet::new();
    let mut oids: HashSet<u32> = BUILTIN_SCHEMAS.iter().map(|(_, oid)| *oid).collect();
    oids.extend(records.schemas.iter().map(|stored| stored.def.oid));
    let types = records.types.values().flat_map(UserTypes::iter);
    oids.extend(types.map(|ty| ty.oid));
    oids.extend(&records.routines);
    for stored in &records.relations {
        let (schema, oid) = (stored.def.schema(), stored.def.oid());
        oids.insert(oid);
        let database = stored.database;
        names.insert((database, schema, stored.def.name(), oid));
        let indexes = stored
            .def
            .get_table()
            .into_iter()
            .flat_map(|table| table.all_indexes());
        names.extend(indexes.map(|index| (database, schema, index.name.as_str(), index.oid)));
    }
    for ((database, schema), name, oid) in &records.names {
        if !names.contains(&(*database, schema.as_str(), name.as_str(), *oid)) {
            let schema = SchemaKey {
                database: *database,
                name: schema,
            };
            let key = key_name(&Keyspace::Name { schema, name });
            let reason = format!("nothing with oid {oid} has it");
            faults.add(FaultKind::Record, None, key, reason);
        }
    }
    for oid in records.depended_on.iter().filter(|oid| !oids.contains(oid)) {
        let key = key_name(&Keyspace::Dependents { oid: *oid });
        faults.add(
            FaultKind::Record,
            None,
            key,
            "there is no such relation or schema",
        );
    }
}

/// Whether keys of the table and its indexes can be read and written by its record.
pub(super) fn has_readable_keys(table: &TableDef) -> bool {
    let ids: HashSet<ColumnId> = table.columns.iter().map(|column| column.id).collect();
    let mut is_readable = ids.len() == table.columns.len() && table.primary_key.id == 0;
    for index in table.all_indexes() {
        compare_index(table, index, &mut |_| is_readable = false);
    }
    is_readable
}

/// Columns and indexes of one table.
fn compare_table(table: &TableDef, faults: &mut Faults) {
    let name = table_name(table);
    let mut fault = |reason: String| {
        faults.add(FaultKind::Record, Some(&name), relation_key(table.id), reason);
    };
    for (at, column) in table.columns.iter().enumerate() {
        let before = &table.columns[..at];
        if before.iter().any(|other| other.id == column.id) || column.id >= table.next_column_id {
            fault(format!(
                "the id {} of column \"{}\" is not its own",
                column.id, column.name
            ));
        }
        if !column.hidden
            && before
                .iter()
                .any(|other| !other.hidden && other.name == column.name)
        {
            fault(format!("two columns are named \"{}\"", column.name));
        }
    }
    let is_of_terms = |column: &ColumnDef| {
        let mut terms = table.indexes.iter().flat_map(|index| &index.terms);
        terms.any(|terms| terms.column == column.id)
    };
    let hidden = table.columns.iter();
    let hidden = hidden.filter(|column| column.hidden && !is_of_terms(column));
    if hidden.filter(|column| column.generation().is_none()).count() > 1 {
        fault("it has more than one hidden column that is not computed".to_string());
    }
    for (position, generation) in table.generations() {
        let name = &table.columns[position].name;
        let is_plain = |id: &ColumnId| {
            let input = table.columns.iter().find(|column| column.id == *id);
            input.is_some_and(|input| input.generation().is_none())
        };
        if !generation.inputs.iter().all(is_plain) {
            fault(format!(
                "the generated column \"{name}\" is computed of what is no plain column"
            ));
        }
    }
    if table.primary_key.id != 0 || !table.primary_key.unique {
        fault("its primary key is not index 0".to_string());
    }
    for (at, index) in table.indexes.iter().enumerate() {
        let is_taken = table.indexes[..at].iter().any(|other| other.id == index.id);
        if is_taken || index.id == 0 || index.id >= table.next_index_id {
            fault(format!(
                "the id {} of index \"{}\" is not its own",
                index.id, index.name
            ));
        }
    }
    let store = table.options.versions.store;
    let is_taken = table.indexes.iter().any(|index| index.id == store);
    if store != 0 && (is_taken || store >= table.next_index_id) {
        fault(format!("the id {store} of its older versions is not their own"));
    }
    for index in table.all_indexes() {
        compare_index(table, index, &mut fault);
    }
}

/// The columns of one index.
fn compare_index(table: &TableDef, index: &IndexDef, fault: &mut impl FnMut(String)) {
    if index.columns.is_empty() {
        fault(format!("index \"{}\" has no columns", index.name));
    }
    for key in &index.columns {
        match table.columns.iter().find(|column| column.id == key.column) {
            None => fault(format!(
                "index \"{}\" names column {}, which does not exist",
                index.name, key.column
            )),
            Some(column) => {
                if let Err(error) = check_key_type(&column.ty, &column.name) {
                    fault(format!("index \"{}\": {error}", index.name));
                }
            }
        }
    }
}

/// What a view or a materialized view reads is there. Relations of the system have no records.
fn compare_reads(view: &Relation, records: &Records, faults: &mut Faults) {
    let name = format!("{}.{}", view.schema(), view.name());
    for oid in view.reads().iter().filter(|oid| **oid >= FIRST_OID) {
        let is_known = records.relations.iter().any(|stored| stored.def.oid() == *oid);
        // What an unreadable record was called is not known.
        if !is_known && records.unreadable.is_empty() {
            let reason = format!("it reads the relation with oid {oid}, which does not exist");
            faults.add(FaultKind::Record, Some(&name), relation_key(view.id()), reason);
        }
    }
}

/// The column that a sequence goes with is there.
fn compare_sequence(sequence: &SequenceDef, records: &Records, faults: &mut Faults) {
    let Some(owner) = sequence.owner.filter(|_| records.unreadable.is_empty()) else {
        return;
    };
    let mut tables = records.tables();
    let table = tables.find(|table| table.oid == owner.table);
    if table.is_none_or(|table| table.column_index_by_id(owner.column).is_none()) {
        let name = format!("{}.{}", sequence.schema, sequence.name);
        let reason = format!(
            "it goes with column {} of the table with oid {}, which does not exist",
            owner.column, owner.table
        );
        faults.add(FaultKind::Record, Some(&name), relation_key(sequence.id), reason);
    }
}

/// The sequences that defaults of a table take values of are there.
fn compare_defaults(table: &TableDef, records: &Records, faults: &mut Faults) {
    let is_known = |oid: &u32| {
        let mut relations = records.relations.iter();
        relations.any(|stored| stored.def.get_sequence().is_some() && stored.def.oid() == *oid)
    };
    let used = table.columns.iter().flat_map(ColumnDef::sequences_used);
    for oid in used.filter(|oid| *oid != NO_SEQUENCE) {
        if records.unreadable.is_empty() && !is_known(&oid) {
            let reason =
                format!("a default takes values of the sequence with oid {oid}, which does not exist");
            let key = relation_key(table.id);
            faults.add(FaultKind::Record, Some(&table_name(table)), key, reason);
        }
    }
}

/// Each counter counts something, and whatever is counted has its counter.
fn compare_counters(records: &Records, faults: &mut Faults) {
    let wanted = wanted_counters(records);
    let keys: HashSet<Vec<u8>> = wanted.iter().map(|(counter, _)| counter.key().encode()).collect();
    for counter in &records.counters {
        if !records.unreadable.contains(&counter.relation()) && !keys.contains(&counter.key().encode()) {
            let key = key_name(&counter.key());
            faults.add(FaultKind::Record, None, key, "nothing is counted by it");
        }
    }
    let known: HashSet<Vec<u8>> = records
        .counters
        .iter()
        .map(|known| known.key().encode())
        .collect();
    for (counter, relation) in wanted {
        if !known.contains(&counter.key().encode()) {
            let what = match counter {
                Counter::RowIds { .. } => "its counter of row ids is missing".to_string(),
                Counter::Sequence { .. } => "its counter is missing".to_string(),
                Counter::Column { column, .. } => format!("the counter of its column {column} is missing"),
            };
            let key = relation_key(counter.relation());
            faults.add(FaultKind::Record, Some(&relation), key, what);
        }
    }
}

/// The counters that there should be, and the names of the relations that they are of.
fn wanted_counters(records: &Records) -> Vec<(Counter, String)> {
    let mut wanted = Vec::new();
    for stored in &records.relations {
        let name = relation_name(&stored.def);
        match &stored.def {
            Relation::Table(table) => {
                let (table, id) = (table, table.id);
                if table.has_hidden_key() {
                    wanted.push((Counter::RowIds { table: id, next: 0 }, name.clone()));
                }
                let uncounted = table.columns.iter();
                let uncounted = uncounted.filter(|column| column.sequence() == Some(NO_SEQUENCE));
                wanted.extend(uncounted.map(|column| {
                    let counter = Counter::Column {
                        table: id,
                        column: column.id,
                    };
                    (counter, name.clone())
                }));
            }
            Relation::Sequence(sequence) => {
                let counter = Counter::Sequence {
                    id: sequence.id,
                    generation: sequence.generation,
                };
                wanted.push((counter, name));
            }
            Relation::View(_) => {}
        }
    }
    for (_, trashed) in &records.trash {
        let name = format!("{}.{}", trashed.schema, trashed.name);
        let table = trashed.id;
        if trashed.has_row_ids() {
            wanted.push((Counter::RowIds { table, next: 0 }, name.clone()));
        }
        let gone = |_: &&TrashedSequence| trashed.by == TrashedBy::Drop;
        wanted.extend(trashed.sequences.iter().filter(gone).map(|sequence| {
            let (id, generation) = (sequence.def.id, sequence.def.generation);
            (Counter::Sequence { id, generation }, name.clone())
        }));
    }
    wanted
}

/// What is written beside a table is nobody else's.
fn compare_rekeyed(table: &TableDef, records: &Records, faults: &mut Faults) {
    let Some(rekeying) = table.rekeying else {
        return;
    };
    let is_taken = records
        .relations
        .iter()
        .any(|stored| stored.def.id() == rekeying.id)
        || records.dropped.iter().any(|(id, _)| *id == rekeying.id)
        || table.all_indexes().any(|index| index.id == rekeying.log);
    if is_taken || rekeying.log >= table.next_index_id {
        let reason = "the keys that are written beside it are not its own";
        faults.add(
            FaultKind::Record,
            Some(&table_name(table)),
            relation_key(table.id),
            reason,
        );
    }
}

/// What is in the trash is nobody else's, and is not to be removed.
fn compare_trash(records: &Records, faults: &mut Faults) {
    for (database, trashed) in &records.trash {
        let id = trashed.id;
        let mut fault = |reason: &str| {
            let name = format!("{}.{}", trashed.schema, trashed.name);
            let key = key_name(&Keyspace::Trash { id });
            faults.add(FaultKind::Record, Some(&name), key, reason);
        };
        if records.relations.iter().any(|stored| stored.def.id() == id) {
            fault("a relation has its number");
        }
        if records.next_id.is_some_and(|next| id >= next) {
            fault("its number has not been given out");
        }
        let table = trashed.table(&records.types_of(*database)).ok();
        let is_its = |index: IndexId| table.as_ref().is_none_or(|table| has_keys(table, index));
        let mut dropped = records.dropped.iter();
        if dropped.any(|(table, index)| *table == id && is_its(*index)) {
            fault("it is kept, and would be removed");
        }
        if table.is_some_and(|table| table.id != id) {
            fault("its record is that of another table");
        }
    }
}

/// Whether dropped keys of a table are all that it has, or those of an index which it has: others were its before.
fn has_keys(table: &TableDef, index: IndexId) -> bool {
    index == IndexId::MAX || table.all_indexes().any(|known| known.id == index)
}

/// What is dropped is gone from the records.
fn compare_dropped(records: &Records, faults: &mut Faults) {
    for &(table, index) in &records.dropped {
        let mut tables = records.tables();
        if let Some(standing) = tables.find(|standing| standing.id == table && has_keys(standing, index)) {
            faults.add(
                FaultKind::Record,
                Some(&table_name(standing)),
                key_name(&Keyspace::Dropped { table, index }),
                "it is still there, and would be removed",
            );
        }
    }
}

fn table_name(table: &TableDef) -> String {
    format!("{}.{}", table.schema, table.name)
}

fn relation_name(relation: &Relation) -> String {
    format!("{}.{}", relation.schema(), relation.name())
}

fn relation_key(id: TableId) -> String {
    key_name(&Keyspace::Relation { id })
}

fn schema_key(stored: &Stored<SchemaDef>) -> String {
    let schema = SchemaKey {
        database: stored.database,
        name: &stored.def.name,
    };
    key_name(&Keyspace::Schema { schema })
}
