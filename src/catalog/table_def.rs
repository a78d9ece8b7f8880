//! `TableDef`: one table's record: columns, primary key, options. Serialized as the value of `Keyspace::Relation`.

use std::collections::HashSet;
use std::sync::Arc;

use super::check_constraint::CheckConstraint;
use super::column_def::{ColumnDef, ColumnDefault, Unverified};
use super::foreign_key::ForeignKey;
use super::generation::Generation;
use super::index_constraint::{Deferral, Exclusion};
use super::index_def::{IndexDef, KeyColumn};
use super::is_temporary_schema;
use super::partition::{Partition, Partitioning, ToldBound};
use super::stored_query::StoredQuery;
use super::table_cache::TableCache;
use super::table_options::TableOptions;
use super::trigger::TriggerDef;
use super::version_read::VersionRead;
use crate::codec::key::KeyField;
use crate::codec::keyspace::{IndexId, TableId};
use crate::codec::row::ColumnId;
use crate::types::RecordType;
use crate::{Error, Result};

/// The columns a table may have, dynamic ones included: PostgreSQL's limit.
pub const COLUMNS_MAX: usize = 1600;

/// A table's record. Cloned and changed by DDL, then written back.
#[derive(Debug, Clone, PartialEq)]
pub struct TableDef {
    /// The prefix of its keys: never used again. TRUNCATE gives the table a new one.
    pub id: TableId,
    /// Its oid in pg_class, for as long as it lives.
    pub oid: u32,
    /// The catalog version that last changed this record.
    pub version: u64,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Live columns in the order of `SELECT *` (a hidden row id is last and `hidden`).
    pub columns: Vec<ColumnDef>,
    /// The next column id.
    pub next_column_id: ColumnId,
    /// Index 0: the primary key.
    pub primary_key: IndexDef,
    /// Secondary indexes (of CREATE INDEX and UNIQUE; see [`IndexDef::is_complete`]).
    pub indexes: Vec<IndexDef>,
    /// The next index id.
    pub next_index_id: IndexId,
    /// CHECK constraints, by name: the order in which rows are asked.
    pub checks: Vec<CheckConstraint>,
    /// Foreign keys, by name.
    pub foreign_keys: Vec<ForeignKey>,
    /// Its triggers, in the order of their names.
    pub triggers: Vec<TriggerDef>,
    /// PARTITION BY: its rows are those of its partitions.
    pub partitioning: Option<Partitioning>,
    /// PARTITION OF.
    pub partition: Option<Partition>,
    /// WITH options.
    pub options: TableOptions,
    /// Wildcard columns, by name, which is their pattern: what writes add columns as that match one. No columns themselves, and without ids.
    pub wildcards: Vec<ColumnDef>,
    /// The query whose rows it holds: it is a materialized view.
    pub stored_query: Option<Box<StoredQuery>>,
    /// ALTER PRIMARY KEY is on its way.
    pub rekeying: Option<Rekeying>,
    /// The first of its columns that have records of their own (see `dynamic_column`); none in its record.
    pub beside_from: Option<ColumnId>,
    /// COMMENT ON TABLE, or MATERIALIZED VIEW.
    pub comment: Option<String>,
    /// What is worked out of the rest.
    pub cache: TableCache,
    /// The columns that a write does not see, sorted (see `narrowed`); none in a record.
    pub left_out: Arc<[ColumnId]>,
    /// What is read of it are versions of its rows (see `version_read`); none in a record.
    pub version_read: Option<Arc<VersionRead>>,
    /// Only rows behind this stored key are read, by the primary key (see `walked_table`); none in a record.
    pub read_after: Option<Arc<[u8]>>,
    /// What is known of its rows where it is read as a partition; nothing in a record.
    pub told: Arc<[ToldBound]>,
}

/// A table whose rows are written beside under another primary key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Rekeying {
    /// The id of the new keys.
    pub id: TableId,
    /// The index of the table under which the keys of rows stand that were written since: every transaction that writes a row puts its.
    pub log: IndexId,
}

impl TableDef {
    /// A table of these columns and this key, and nothing else.
    pub fn new(
        (id, oid): (TableId, u32),
        schema: impl Into<String>,
        name: impl Into<String>,
        columns: Vec<ColumnDef>,
        primary_key: IndexDef,
    ) -> TableDef {
        TableDef {
            id,
            oid,
            version: 0,
            schema: schema.into(),
            name: name.into(),
            next_column_id: columns.iter().map(|column| column.id).max().unwrap_or(0) + 1,
            columns,
            primary_key,
            indexes: Vec::new(),
            next_index_id: 1,
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            triggers: Vec::new(),
            partitioning: None,
            partition: None,
            options: TableOptions::default(),
            wildcards: Vec::new(),
            stored_query: None,
            rekeying: None,
            beside_from: None,
            comment: None,
            cache: TableCache::default(),
            left_out: Arc::default(),
            version_read: None,
            read_after: None,
            told: Arc::default(),
        }
    }
}

impl TableDef {
    /// Its oid in pg_class.
    pub fn oid(&self) -> u32 {
        self.oid
    }
    /// Whether it is a materialized view.
    pub fn is_materialized_view(&self) -> bool {
        self.stored_query.is_some()
    }
    /// Errors: 55000 for a materialized view whose rows are not there.
    pub fn require_populated(&self) -> Result<()> {
        match &self.stored_query {
            Some(stored) if !stored.is_populated => Err(Error::NotPopulated {
                name: self.name.clone(),
            }),
            _ => Ok(()),
        }
    }
    /// Whether it goes with its session.
    pub fn is_temporary(&self) -> bool {
        is_temporary_schema(&self.schema)
    }
    /// The visible columns, in the order of `SELECT *`.
    pub fn visible_columns(&self) -> impl Iterator<Item = &ColumnDef> {
        self.columns.iter().filter(|column| !column.hidden)
    }

    /// The type of its rows.
    pub fn row_type(&self) -> RecordType {
        let columns = self.visible_columns();
        let columns = columns.map(|column| (column.name.clone(), column.ty.clone()));
        RecordType::of_relation(self.oid(), &self.name, self.version, columns)
    }

    /// Its UNIQUE constraints that are DEFERRABLE.
    pub fn deferrable_keys(&self) -> impl Iterator<Item = (&IndexDef, Deferral)> {
        let indexes = self.indexes.iter();
        indexes.filter_map(|index| Some((index, index.deferral?)))
    }

    /// The indexes of exclusion constraints.
    pub fn exclusions(&self) -> impl Iterator<Item = (&IndexDef, &Exclusion)> {
        let indexes = self.indexes.iter();
        indexes.filter_map(|index| Some((index, index.exclusion.as_ref()?)))
    }

    /// Their positions in `columns`.
    pub(crate) fn visible_positions(&self) -> Vec<usize> {
        let visible = |at: &usize| !self.columns[*at].hidden;
        (0..self.columns.len()).filter(visible).collect()
    }
    /// Position in `columns` of a visible column by name.
    pub fn column_index(&self, name: &str) -> Option<usize> {
        self.columns
            .iter()
            .position(|column| !column.hidden && column.name == name)
    }
    /// Whether a column has the name, be it one that no statement can name.
    pub fn has_column_named(&self, name: &str) -> bool {
        self.whole_column_index(name).is_some()
    }
    /// Position in `columns` of the column that has the name, be it one that no statement can name.
    pub(crate) fn whole_column_index(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
    /// Position in `columns` of a column id.
    pub fn column_index_by_id(&self, id: ColumnId) -> Option<usize> {
        self.columns.iter().position(|column| column.id == id)
    }
    /// Position in `columns` of the hidden row id, which is the primary key of a table that declares none.
    pub fn row_id(&self) -> Option<usize> {
        let mut columns = self.columns.iter();
        columns.position(|column| column.default == Some(ColumnDefault::RowId))
    }
    /// Whether the primary key is the hidden row id.
    pub fn has_hidden_key(&self) -> bool {
        self.row_id().is_some()
    }
    /// Whether it was made for many rows: dynamic columns, keys that spread load, its owner's word. To read all of it is never little.
    pub fn is_wide(&self) -> bool {
        let (options, key) = (&self.options, self.key_columns());
        let is_spread = || key.iter().any(|at| self.columns[*at].generation().is_some());
        options.dynamic_columns || options.buckets.is_some() || options.full_scan_rejected || is_spread()
    }
    /// The generated columns with their positions.
    pub fn generations(&self) -> impl Iterator<Item = (usize, &Generation)> {
        let columns = self.columns.iter().enumerate();
        columns.filter_map(|(at, column)| Some((at, column.generation()?)))
    }
    /// The generated columns that are computed of a column.
    pub fn columns_computed_of(&self, id: ColumnId) -> impl Iterator<Item = &ColumnDef> {
        let computed = self.generations();
        let computed = computed.filter(move |(_, generation)| generation.inputs.contains(&id));
        computed.map(|(at, _)| &self.columns[at])
    }
    /// The least and the greatest value of an index's first column, where that is computed of others and has few: entries are looked for
    /// in as many places, whatever conditions say of it.
    pub fn few_first_values(&self, index: &IndexDef) -> Option<(i64, i64)> {
        let [first, _, ..] = index.columns.as_slice() else {
            return None;
        };
        let column = &self.columns[self.column_index_by_id(first.column)?];
        // An older release wrote how many buckets a table has, and nothing else.
        let of_table = || Some((0, i64::from(self.options.buckets?) - 1));
        let values = column.generation()?.values;
        values.or_else(|| of_table().filter(|_| index.id == 0))
    }
    /// Whether an index is being built, or its rows are written beside it.
    pub fn has_definition_on_its_way(&self) -> bool {
        self.rekeying.is_some() || self.indexes.iter().any(|index| self.is_being_built(index))
    }
    /// Whether an index has not all of its entries yet, or rows not all of what it is over, and somebody is at it.
    pub fn is_being_built(&self, index: &IndexDef) -> bool {
        let is_filled = |id| {
            let at = self.column_index_by_id(id);
            at.is_some_and(|at| self.columns[at].unverified == Some(Unverified::Column))
        };
        index.building || index.held_columns().any(is_filled)
    }
    /// The key fields of an index, in key order.
    pub fn key_fields(&self, index: &IndexDef) -> Vec<KeyField> {
        self.fields_of(&index.columns)
    }
    /// The columns that a key's entries are sorted by, in order: its own, then those of the primary key that are not among
    /// them. (A unique index leaves the latter out where its own tell all rows apart.)
    pub fn sort_columns(&self, index: &IndexDef) -> Vec<KeyColumn> {
        let primary = self.primary_key.columns.iter();
        let others = primary.filter(|key| !index.has_column(key.column));
        index.columns.iter().chain(others).cloned().collect()
    }
    /// How columns stand in keys.
    pub fn fields_of(&self, columns: &[KeyColumn]) -> Vec<KeyField> {
        let field = |key: &KeyColumn| {
            let column = &self.columns[self.column_index_by_id(key.column)?];
            Some(KeyField {
                ty: column.ty.clone(),
                descending: key.descending,
                nulls_first: key.nulls_first,
            })
        };
        columns.iter().filter_map(field).collect()
    }
    /// The primary key and the secondary indexes.
    pub fn all_indexes(&self) -> impl Iterator<Item = &IndexDef> {
        std::iter::once(&self.primary_key).chain(&self.indexes)
    }
    /// Secondary indexes whose entries every write keeps.
    pub fn kept_indexes(&self) -> impl Iterator<Item = &IndexDef> {
        self.indexes.iter().filter(|index| index.is_kept())
    }
    /// The ids of the columns whose values stand in its key or in entries of its indexes.
    pub fn columns_of_keys(&self) -> HashSet<ColumnId> {
        let primary = self.primary_key.columns.iter().map(|key| key.column);
        let entries = self.kept_indexes().flat_map(IndexDef::held_columns);
        primary.chain(entries).collect()
    }
    /// The ids of the columns whose values no two rows share: those of its key and of its unique indexes.
    pub fn columns_of_unique_keys(&self) -> HashSet<ColumnId> {
        let unique = self.kept_indexes().filter(|index| index.unique);
        let keys = std::iter::once(&self.primary_key).chain(unique);
        keys.flat_map(|key| key.columns.iter().map(|part| part.column))
            .collect()
    }
    /// Whether the column is one of the primary key's.
    pub fn is_key_column(&self, id: ColumnId) -> bool {
        self.primary_key.columns.iter().any(|key| key.column == id)
    }
    /// Whether no row has NULL in the column at this position in `columns`.
    pub fn is_never_null(&self, position: usize) -> bool {
        let column = &self.columns[position];
        self.is_key_column(column.id) || column.is_never_null()
    }
    /// Positions in `columns` of the primary key's columns that tell rows apart, in key order: all but those that are
    /// generated of others of them.
    pub fn telling_key_columns(&self) -> Vec<usize> {
        let mut columns = self.key_columns();
        columns.retain(|at| {
            let generation = self.columns[*at].generation();
            !generation.is_some_and(|generation| generation.inputs.iter().all(|id| self.is_key_column(*id)))
        });
        columns
    }
    /// The same as positions among the visible columns; none for a hidden key.
    pub fn telling_visible_columns(&self) -> Vec<usize> {
        let telling = self.telling_key_columns();
        if telling.iter().any(|at| self.columns[*at].hidden) {
            return Vec::new();
        }
        let place = |at: usize| self.columns[..at].iter().filter(|column| !column.hidden).count();
        telling.into_iter().map(place).collect()
    }
    /// Positions in `columns` of the primary key's columns, in key order.
    pub fn key_columns(&self) -> Vec<usize> {
        self.primary_key
            .columns
            .iter()
            .filter_map(|key| self.column_index_by_id(key.column))
            .collect()
    }
    /// The CHECK constraint of this name.
    pub fn check(&self, name: &str) -> Option<&CheckConstraint> {
        self.checks.iter().find(|check| check.name == name)
    }
    /// Whether one of its constraints has the name.
    pub fn has_constraint(&self, name: &str) -> bool {
        let mut keys = self.all_indexes();
        keys.any(|index| index.constraint && index.name == name)
            || self.check(name).is_some()
            || self.foreign_key(name).is_some()
            || self.constraint_trigger(name).is_some()
    }
    /// The foreign key of this name.
    pub fn foreign_key(&self, name: &str) -> Option<&ForeignKey> {
        self.foreign_keys.iter().find(|key| key.name == name)
    }
    /// The foreign keys in the order in which they were made, and are asked: they stand in that of their names.
    pub fn foreign_keys_as_made(&self) -> Vec<&ForeignKey> {
        let mut keys: Vec<&ForeignKey> = self.foreign_keys.iter().collect();
        keys.sort_by_key(|key| key.oid);
        keys
    }
    /// Removes indexes, and the columns that were computed for them alone.
    pub fn remove_indexes(&mut self, is_gone: impl Fn(&IndexDef) -> bool) {
        let gone = self.indexes.iter().filter(|index| is_gone(index));
        let computed: HashSet<ColumnId> = gone.flat_map(IndexDef::computed_columns).collect();
        self.indexes.retain(|index| !is_gone(index));
        let kept = self.indexes.iter().flat_map(IndexDef::computed_columns);
        let mut kept: HashSet<ColumnId> = kept.collect();
        kept.extend(self.primary_key.columns.iter().map(|key| key.column));
        self.columns
            .retain(|column| !computed.contains(&column.id) || kept.contains(&column.id));
    }
    /// Removes a column, and the constraints that name it.
    pub fn remove_column(&mut self, id: ColumnId) {
        self.remove_indexes(|index| index.held_columns().any(|held| held == id));
        self.primary_key.include.retain(|held| *held != id);
        self.checks.retain(|check| !check.columns.contains(&id));
        self.foreign_keys.retain(|key| !key.columns.contains(&id));
        self.columns.retain(|column| column.id != id);
    }
}
