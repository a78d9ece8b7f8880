//! Schemas, tables, views, sequences, columns, options: records in the same store, loaded into one immutable `Catalog`.
//! The session loads it once a statement; `sql::ddl` and dynamic columns change it through [`CatalogWriter`].
//! Knows nothing of SQL text or DataFusion.
//!
//! # Stored records
//!
//! | key ([`Keyspace`](crate::codec::keyspace::Keyspace)) | value |
//! |---|---|
//! | `CatalogVersion` | u64 BE: a new random one with every change of any record below |
//! | `CatalogPart { part }` | u64 BE: the same for the records of one part: schemas and settings, the relations of 32 numbers, or one table (2^31 + its number) to which writes add columns |
//! | `NextTableId` | u32 BE: the next number for a table, view, sequence, schema or index that nobody has reserved |
//! | `Database { name }` | a record of a database that was made |
//! | `Role { name }` | a record of a role that was made |
//! | `DroppedDatabase { database }` | empty: objects of the database are still to be removed |
//! | `Schema { schema }` | a schema record |
//! | `Relation { id }` | a table, view or sequence record |
//! | `Sequence { relation, part }` | what a sequence has given, by its generation: last value i64 BE, whether it was given u8 |
//! | `Settings { of }` | a record of settings that sessions begin with (ALTER SYSTEM, DATABASE, ROLE … SET) |
//! | `Written { table }` | the number of the table's rows (u64 BE), or empty where nobody knows: put by every transaction that writes rows of the table, filled in by the store |
//! | `Name { schema, name }` | the oid (u32 BE) of the relation or index that has the name |
//! | `Type { oid }` | a record of a type that a user made |
//! | `TypeName { schema, name }` | the oid (u32 BE) of the type that has the name |
//! | `Routine { oid }` | a record of a function or procedure |
//! | `RoutineName { schema, signature }` | the oid (u32 BE) of the function that has this name with these types of arguments |
//! | `Cast { source, target }` | a record of a cast ([`cast`]) |
//! | `Extension { name }` | a record of an extension |
//! | `Regions { oid }` | a record of where a table is split into regions |
//! | `Dependents { oid }` | empty: put by every transaction that makes something depend on a relation or schema |
//! | `DynamicColumn { table, column }` | a record of a column that a write has added ([`dynamic_column`]) |
//! | `Trash { id }` | a record of a dropped or emptied table whose keys are kept ([`trash`]) |
//! | `Dropped { table, index }` | table u32 BE, index u16 BE (FFFF: all): the range's keys are still to be removed |
//!
//! A record is `[format u8 = 1][kind u8: 'C', 'D', 'F', 'K', 'O', 'P', 'Q', 'R', 'S', 'T', 'V', 'X' or 'Y'][version u64 BE][id u32 BE][JSON][CRC32C of all before, u32 LE]`;
//! one of another database than the first has format 2, and the database's oid (u32 BE) before the JSON.
//! The JSON names every field ([`record`]); SQL types stand by name, as `format_type` prints them, those that users made by oid (`@16400[]`); constants as the
//! text form of their column's type (time zone UTC), `null` for NULL; other defaults and generated columns as SQL text.
//!
//! # Invariants
//!
//! - Whoever changes a record writes it *checked*, and gives the catalog a new random version in the same transaction,
//!   *blind*: definitions of different objects never conflict, and yet a version that is committed names one state of the
//!   whole catalog, and a cached `Catalog` with that version is that state; so it is with the version of each part, which tells
//!   what to read again. (What a transaction sees while it has changes of
//!   its own lacks those of others, under a version that may be committed later: such catalogs are never shared.)
//! - Whoever gives or takes a name writes its `Name`, checked: of two who give the same one, one conflicts.
//! - Whoever makes something depend on an object (a view on a relation, a relation in a schema) guards the object's record,
//!   and puts its `Dependents` without a check; whoever drops it, or changes what others may rest on, guards that. So the
//!   one who is second conflicts, and two who depend on the same do not.
//! - A table's `id` is the prefix of its keys and never used again; TRUNCATE gives a table a new id, under the same oid.
//! - Every transaction that writes rows of a table guards the table's record key, and puts its `Written` key without a
//!   check. So whoever changes a record knows that no row lands under the old one, and whoever's change rests on *all*
//!   rows of a snapshot ("none is NULL", "no two are equal") can guard `Written`, and conflicts with any other writer.
//! - Who adds a column to a table as it writes rows puts a record of that column, checked, and guards the table's; who writes that puts all
//!   columns into it and guards the record of the next, so that no column is lost between the two ([`dynamic_column`]).
//! - A table that gets another primary key ([`TableDef::rekeying`]) has a log: whoever writes a row of it puts the row's key there, in
//!   the same commit. A start gives up what was on its way.
//! - A column or index whose record promises what is not verified yet says so ([`ColumnDef::unverified`],
//!   [`IndexDef::building`]): writes obey the promise, reads do not rest on it. A start undoes those it finds.
//!
//! # Object ids
//!
//! Tables, views, sequences, schemas and indexes take their numbers from one counter; the oid that PostgreSQL's catalogs show is
//! the number + 16384 ([`FIRST_OID`]), like PostgreSQL's first user object. A key constraint shares the oid of its index
//! (they stand in different catalogs), a table's row type that of the table. Built-in schemas have fixed oids below it.

mod access;
pub(crate) mod cast;
mod change;
mod change_log;
pub mod check;
mod check_constraint;
mod column_change;
mod column_def;
mod column_types;
mod computed_column;
mod constant_record;
mod copied;
mod database;
mod dynamic_column;
mod expiry;
mod expiry_rule;
pub(crate) mod extension;
mod foreign_key;
mod generation;
mod index_constraint;
mod index_def;
mod index_expression;
mod index_options;
mod index_terms;
mod key_column;
mod load;
mod lookups;
mod made_name;
mod named_change;
mod narrowed;
mod new_column;
mod object_ids;
mod partition;
mod partition_index;
mod partition_map;
mod partition_record;
mod partition_text;
mod partitioned_table;
mod queries;
mod reclaim;
mod record;
pub(crate) mod region;
mod relations;
mod rests;
mod role;
mod routine;
pub(crate) mod routine_record;
mod sequence_def;
mod setting_overrides;
mod shown_relation;
mod split_options;
mod standard_name;
mod stored_calls;
mod stored_query;
mod table_cache;
mod table_def;
mod table_fields;
mod table_options;
mod table_triggers;
mod trash;
mod trash_change;
mod trigger;
mod type_def;
mod type_record;
mod version_read;
mod versioned_table;
mod versions;
mod view_options;
mod view_stand_in;
mod walked_table;
mod wildcard;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::codec::keyspace::{Keyspace, TableId};
use crate::{Error, Result};
pub use access::{Access, Object, ObjectKind, RelationName};
pub use cast::{CastApplies, CastDef, CastMethod, Casts};
pub use change::CatalogWriter;
use change_log::ChangeLogCache;
pub use check_constraint::CheckConstraint;
pub use column_def::{ColumnDef, ColumnDefault, NO_SEQUENCE, Unverified};
pub use computed_column::computed_column;
pub(crate) use computed_column::lost_input;
pub use copied::CopiedCatalog;
pub use database::DatabaseDef;
pub use expiry::Expiry;
use expiry_rule::ExpiryCache;
pub use extension::ExtensionDef;
pub use foreign_key::{ForeignKey, ReferentialAction};
pub use generation::{ExpressionText, GeneratedColumns, Generation};
pub use index_constraint::{Deferral, Exclusion, ExclusionOperator};
pub use index_def::{IndexBuckets, IndexDef, KeyColumn};
pub use index_expression::IndexExpression;
pub use index_options::{INDEX_OPTIONS, IndexOption, IndexVerdict};
pub use index_terms::{IndexTerms, TERM_SOURCES_MAX, TermSource};
pub use load::version_key;
pub use lookups::{Answers, Lookups};
pub use made_name::MadeName;
pub use new_column::NewDynamicColumn;
pub use object_ids::ObjectIds;
pub use partition::{
    Partition, PartitionBound, PartitionStrategy, Partitioning, RangeEdge, ToldBound, edge_key, partition_key,
};
pub use partition_index::{counterpart, have_like_keys};
pub use partition_map::{PartitionMap, PartitionedRow};
pub use partition_text::edges_text;
pub use reclaim::{count_dropped, reclaim_dropped};
pub use record::sequence_of_record;
pub use region::{RegionOrigin, TableRegions};
pub use relations::Relations;
pub use role::RoleDef;
pub use routine::{
    AggregateDef, AggregateFunctionDef, ArgumentMode, BodyKind, Language, Parallel, Polymorphic,
    RoutineArgument, RoutineDef, RoutineKind, RoutineResult, RoutineType, Routines, Volatile, signature,
};
pub use sequence_def::{SequenceDef, SequenceOwner, SequenceType};
pub use setting_overrides::{SettingOverrides, SettingsOwner};
pub use shown_relation::ShownRelation;
pub use split_options::SplitOptions;
pub use standard_name::{STANDARD_SCHEMA, standard_name};
pub use stored_query::{PrintedQuery, RELATION_BEGINS, RELATION_ENDS, StoredQuery};
pub use table_cache::TableCache;
pub use table_def::{COLUMNS_MAX, Rekeying, TableDef};
pub use table_options::{
    BUCKETS_MAX, OnCommit, TABLE_OPTIONS, TableOption, TableOptions, Values, Verdict, WILDCARD_COLUMN,
    boolean,
};
pub use trash::{Kept, TrashedBy, TrashedDependents, TrashedSequence, TrashedTable};
pub use trigger::{
    ConstraintTrigger, TriggerCondition, TriggerDef, TriggerEvent, TriggerRow, TriggerState, TriggerTiming,
    rows_of_events,
};
pub use type_def::{CompositeDef, DomainCheck, DomainDef, TypeDef, TypeKind, UserTypes, stored_name};
pub use version_read::{Moment, VERSION_KEY, VERSION_TIME, VersionRead, WantedVersions};
pub use versions::Versions;
pub use view_options::{CHECK_OPTION, CheckOption, ViewOptions};
pub use wildcard::{is_pattern, may_tie};

pub use crate::codec::keyspace::{DatabaseId, FIRST_DATABASE, FIRST_DATABASE_NAME, FIRST_OID};

/// Schemas that are always there, with their oids (PostgreSQL's where it has them).
pub const BUILTIN_SCHEMAS: [(&str, u32); 4] = [
    ("pg_catalog", 11),
    ("public", 2200),
    ("information_schema", 13000),
    ("keyspan", 16000),
];

/// Everything the catalog holds, as of one transaction's view. Immutable; shared by `Arc`.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    /// A new one with every schema change; equal versions mean equal catalogs.
    pub version: u64,
    /// The databases that were made, by name: all but the first.
    pub databases: BTreeMap<String, Arc<DatabaseDef>>,
    /// The roles that were made, by name.
    pub roles: BTreeMap<String, Arc<RoleDef>>,
    /// Schemas by name (the built-in ones are always there).
    pub schemas: BTreeMap<String, SchemaDef>,
    /// Tables, views and sequences, in the order of schema and name.
    pub relations: Relations,
    /// The types that users made.
    pub types: UserTypes,
    /// The functions and procedures that users made.
    pub routines: Routines,
    /// The casts that users made.
    pub casts: Casts,
    /// The extensions that are there, but for plpgsql, which always is.
    pub extensions: BTreeMap<String, ExtensionDef>,
    /// Tables in the trash, by the ids of their keys: the later they came, the greater.
    pub trash: BTreeMap<TableId, Arc<TrashedTable>>,
    /// Settings that sessions begin with, by whom they concern; the later count more.
    pub altered: BTreeMap<SettingsOwner, SettingOverrides>,
    /// The versions of its parts, where they have changed since there are any (see `load`).
    parts: BTreeMap<u32, u64>,
    /// See [`Catalog::expiry_rules`].
    expiry: ExpiryCache,
    /// See [`Catalog::change_logs`].
    change_logs: ChangeLogCache,
}

/// A schema's record.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct SchemaDef {
    /// Its name.
    pub name: String,
    /// Its oid in pg_namespace.
    pub oid: u32,
    /// COMMENT ON SCHEMA.
    pub comment: Option<String>,
    /// It is `public`, which is there without a record, and was dropped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dropped: bool,
}

/// A relation that a name may mean.
#[derive(Debug, Clone)]
pub enum Relation {
    /// A table.
    Table(Arc<TableDef>),
    /// A view.
    View(Arc<ViewDef>),
    /// A sequence.
    Sequence(Arc<SequenceDef>),
}

/// A view's record.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ViewDef {
    /// Its id (shares the numbers of tables).
    pub id: TableId,
    /// The catalog version that last changed this record.
    #[serde(skip)]
    pub version: u64,
    /// Schema and name.
    pub schema: String,
    /// See `schema`.
    pub name: String,
    /// Output columns: name and SQL type name as `format_type` prints it.
    pub columns: Vec<(String, String)>,
    /// The SELECT it stands for.
    pub query: String,
    /// It as it is printed; `None`: as it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<PrintedQuery>,
    /// The search path when it was created.
    pub search_path: Vec<String>,
    /// COMMENT ON VIEW.
    pub comment: Option<String>,
    /// Comments on its columns, by name.
    #[serde(default)]
    pub column_comments: BTreeMap<String, String>,
    /// Oids of the tables and views its query reads.
    #[serde(default)]
    pub depends_on: Vec<u32>,
    /// WITH (…).
    #[serde(default, skip_serializing_if = "ViewOptions::is_empty")]
    pub options: ViewOptions,
    /// The relation that rows are written to through it. (Views of earlier versions do not say so, and yet are written to.)
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shows: Option<ShownRelation>,
    /// Its INSTEAD OF triggers, in the order of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub triggers: Vec<TriggerDef>,
}

impl ViewDef {
    /// Its oid in pg_class.
    pub fn oid(&self) -> u32 {
        FIRST_OID + self.id
    }
}

impl Relation {
    /// Its oid in pg_class.
    pub fn oid(&self) -> u32 {
        match self {
            Relation::Table(table) => table.oid,
            Relation::View(view) => view.oid(),
            Relation::Sequence(sequence) => sequence.oid(),
        }
    }
    /// The id under which its record is stored.
    pub fn id(&self) -> TableId {
        match self {
            Relation::Table(table) => table.id,
            Relation::View(view) => view.id,
            Relation::Sequence(sequence) => sequence.id,
        }
    }
    /// The catalog version that last changed its record: with the oid, it names one definition.
    pub fn version(&self) -> u64 {
        match self {
            Relation::Table(table) => table.version,
            Relation::View(view) => view.version,
            Relation::Sequence(sequence) => sequence.version,
        }
    }
    /// Its schema.
    pub fn schema(&self) -> &str {
        match self {
            Relation::Table(table) => &table.schema,
            Relation::View(view) => &view.schema,
            Relation::Sequence(sequence) => &sequence.schema,
        }
    }
    /// Its name within the schema.
    pub fn name(&self) -> &str {
        match self {
            Relation::Table(table) => &table.name,
            Relation::View(view) => &view.name,
            Relation::Sequence(sequence) => &sequence.name,
        }
    }
    /// The table, if it is one.
    pub fn get_table(&self) -> Option<&Arc<TableDef>> {
        match self {
            Relation::Table(table) => Some(table),
            Relation::View(_) | Relation::Sequence(_) => None,
        }
    }
    /// The sequence, if it is one.
    pub fn get_sequence(&self) -> Option<&Arc<SequenceDef>> {
        match self {
            Relation::Sequence(sequence) => Some(sequence),
            Relation::Table(_) | Relation::View(_) => None,
        }
    }
}

impl Catalog {
    /// A catalog with the built-in schemas and nothing else.
    pub fn empty() -> Catalog {
        let schemas = BUILTIN_SCHEMAS
            .iter()
            .map(|(name, oid)| {
                let schema = SchemaDef {
                    name: name.to_string(),
                    oid: *oid,
                    comment: None,
                    dropped: false,
                };
                (name.to_string(), schema)
            })
            .collect();
        Catalog {
            version: 0,
            databases: BTreeMap::new(),
            roles: BTreeMap::new(),
            schemas,
            relations: Relations::default(),
            types: UserTypes::default(),
            routines: Routines::default(),
            casts: Casts::default(),
            extensions: BTreeMap::new(),
            trash: BTreeMap::new(),
            altered: BTreeMap::new(),
            parts: BTreeMap::new(),
            expiry: ExpiryCache::default(),
            change_logs: ChangeLogCache::default(),
        }
    }

    /// The schema. Errors: 3F000.
    pub fn schema(&self, name: &str) -> Result<&SchemaDef> {
        self.schemas.get(name).ok_or_else(|| Error::UndefinedSchema {
            name: name.to_string(),
        })
    }

    /// The schema in which an unqualified CREATE makes its object: the first of `search_path` that exists and may be
    /// written; that of temporary objects is made when it is needed. Errors: 3F000 `no schema has been selected to create in`.
    pub fn creation_schema<'a>(&self, search_path: &'a [String]) -> Result<&'a str> {
        let may_be_written = |schema: &&str| self.schemas.contains_key(*schema) && !is_system_schema(schema);
        search_path
            .iter()
            .map(String::as_str)
            .find(|schema| is_temporary_schema(schema) || may_be_written(schema))
            .ok_or(Error::NoCreationSchema)
    }

    /// The schemas that have records: those that were made, and built-in ones with a comment.
    pub fn stored_schemas(&self) -> impl Iterator<Item = &SchemaDef> {
        let is_built_in = |schema: &SchemaDef| {
            let mut built_in = BUILTIN_SCHEMAS.iter();
            schema.comment.is_none() && built_in.any(|(_, oid)| *oid == schema.oid)
        };
        self.schemas.values().filter(move |schema| !is_built_in(schema))
    }

    /// All tables.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.relations.iter().filter_map(Relation::get_table)
    }

    /// All sequences.
    pub fn sequences(&self) -> impl Iterator<Item = &Arc<SequenceDef>> {
        self.relations.iter().filter_map(Relation::get_sequence)
    }

    /// The sequences that go with columns of the table with this oid.
    pub fn sequences_of(&self, table: u32) -> impl Iterator<Item = &Arc<SequenceDef>> {
        self.sequences()
            .filter(move |sequence| sequence.is_owned_by(table))
    }

    /// The sequence with this oid.
    pub fn sequence(&self, oid: u32) -> Option<&Arc<SequenceDef>> {
        self.sequences().find(|sequence| sequence.oid() == oid)
    }

    /// The tables with columns whose defaults take values of the sequence with this oid, and the columns.
    pub fn columns_using(&self, sequence: u32) -> impl Iterator<Item = (&Arc<TableDef>, &ColumnDef)> {
        self.tables().flat_map(move |table| {
            let using = table.columns.iter();
            let using = using.filter(move |column| column.uses_sequence(sequence));
            using.map(move |column| (table, column))
        })
    }

    /// The table with this oid.
    pub fn table_by_oid(&self, oid: u32) -> Option<&Arc<TableDef>> {
        self.tables().find(|table| table.oid == oid)
    }

    /// The foreign keys that refer to the table with this oid, with their tables.
    pub fn references_to(&self, oid: u32) -> impl Iterator<Item = (&Arc<TableDef>, &ForeignKey)> {
        self.relations.referring().iter().flat_map(move |table| {
            let keys = table.foreign_keys.iter();
            keys.filter(move |key| key.table == oid)
                .map(move |key| (table, key))
        })
    }

    /// The foreign keys that refer to rows of a table, with their tables: to itself, or to a table that it is a partition of.
    pub fn references_to_rows_of(&self, table: &TableDef) -> Vec<(&Arc<TableDef>, &ForeignKey)> {
        let mut found: Vec<_> = self.references_to(table.oid).collect();
        let mut above = self.parent_of(table);
        while let Some(table) = above {
            found.extend(self.references_to(table.oid));
            above = self.parent_of(table);
        }
        found.sort_by_key(|(_, key)| key.oid);
        found
    }

    /// Whether a foreign key of a partition is one of the table that it is a partition of.
    pub fn is_of_parent(&self, table: &TableDef, key: &ForeignKey) -> bool {
        let parent = self.parent_of(table);
        parent.is_some_and(|parent| parent.foreign_key_above(key, table).is_some())
    }

    /// The partitions of the table with this oid, in the order of their bounds.
    pub fn partitions_of(&self, oid: u32) -> impl Iterator<Item = &Arc<TableDef>> {
        let partitions = self.relations.partitions();
        // They stand together.
        let first = partitions.partition_point(|table| parent_oid(table) < oid);
        partitions[first..]
            .iter()
            .take_while(move |table| parent_oid(table) == oid)
    }

    /// The table of which this one is a partition.
    pub fn parent_of(&self, table: &TableDef) -> Option<&Arc<TableDef>> {
        self.table_by_oid(table.partition.as_ref()?.parent)
    }

    /// Adds or replaces a relation (tests, and statements that look at their own changes).
    pub fn insert_relation(&mut self, relation: Relation) {
        self.relations.insert(relation);
    }
}

/// The oid of the table that a partition is one of.
fn parent_oid(partition: &TableDef) -> u32 {
    partition.partition.as_ref().map_or(0, |of| of.parent)
}

/// The schemas of a search path but for those of temporary objects: what stays when the session has ended.
pub fn lasting_path(search_path: &[String]) -> Vec<String> {
    let lasting = search_path.iter().filter(|schema| !is_temporary_schema(schema));
    lasting.cloned().collect()
}

/// Whether only the system may create objects in the schema.
pub fn is_system_schema(name: &str) -> bool {
    name.starts_with("pg_") || name == "information_schema"
}

/// The columns that rows of every table of PostgreSQL have.
pub const SYSTEM_COLUMNS: &[&str] = &["tableoid", "ctid", "xmin", "xmax", "cmin", "cmax"];

/// What statements call the schema of their session's temporary objects.
pub const TEMPORARY_ALIAS: &str = "pg_temp";

/// The schema of the temporary objects of the session with this process id.
pub fn temporary_schema(process_id: i32) -> String {
    format!("{TEMPORARY_ALIAS}_{process_id}")
}

/// Whether it is the schema of some session's temporary objects.
pub fn is_temporary_schema(name: &str) -> bool {
    let number = name
        .strip_prefix(TEMPORARY_ALIAS)
        .and_then(|rest| rest.strip_prefix('_'));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The key under which a relation's record stands: what every write to a table guards.
pub fn record_key(id: TableId) -> Vec<u8> {
    Keyspace::Relation { id }.encode()
}

/// The key that whoever makes something depend on the object puts: who guards it keeps everybody else from doing so.
pub fn dependents_key(oid: u32) -> Vec<u8> {
    Keyspace::Dependents { oid }.encode()
}

/// The key that every transaction which writes rows of the table puts, blind: who guards it lets nobody else write rows.
pub fn written_key(id: TableId) -> Vec<u8> {
    Keyspace::Written { table: id }.encode()
}

#[cfg(test)]
mod tests;
