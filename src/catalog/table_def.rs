//! `TableDef`: one table's record: columns, primary key, options. Serialized as the value of `Keyspace::Relation`.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use super::TypeDef;
use super::check_constraint::CheckConstraint;
use super::foreign_key::ForeignKey;
use super::generation::{ExpressionText, Generation};
use super::index_constraint::{Deferral, Exclusion};
use super::index_expression::IndexExpression;
use super::index_terms::{IndexTerms, TermSource};
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
use crate::types::{RecordType, SqlType, Value};
use crate::{Error, Result};

/// The columns a table may have, dynamic ones included: PostgreSQL's limit.
pub const COLUMNS_MAX: usize = 1600;

/// The oid of no sequence: that of a column whose sequence is not made yet. (An older release made none, and counted by column.)
pub const NO_SEQUENCE: u32 = 0;

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

/// A column's record.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDef {
    /// Its id in stored rows.
    pub id: ColumnId,
    /// Its name.
    pub name: String,
    /// Its type; a domain's, what the domain is over.
    pub ty: SqlType,
    /// The domain that it is of.
    pub domain: Option<Arc<TypeDef>>,
    /// NOT NULL: no write leaves it NULL. Whether reads may rest on it: [`ColumnDef::is_never_null`].
    pub not_null: bool,
    /// Set while ALTER TABLE verifies the rows that were there before: what is undone when it fails.
    pub unverified: Option<Unverified>,
    /// DEFAULT for rows written without it.
    pub default: Option<ColumnDefault>,
    /// What rows written before the column was added read as (`Value::Null` for columns of CREATE TABLE).
    pub missing: Value,
    /// Not in `SELECT *`, not nameable: the row id of a table without primary key, a key column that the server computes.
    pub hidden: bool,
    /// Added by a write that named it.
    pub dynamic: bool,
    /// COLLATE, where it is said: all order text by its bytes. (An older release did not keep it.)
    pub collation: Option<String>,
    /// COMMENT ON COLUMN.
    pub comment: Option<String>,
}

/// What ALTER TABLE has published and not verified yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unverified {
    /// SET NOT NULL of a column that was there.
    NotNull,
    /// ADD COLUMN: the column itself.
    Column,
}

/// What a column takes when a write leaves it out.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnDefault {
    /// A constant of the column's type; `sql` as written, `text` as PostgreSQL prints it, which older records do not say.
    Constant {
        value: Value,
        sql: String,
        text: Option<ExpressionText>,
    },
    /// An expression evaluated at each write (`now()`, …), as SQL text; the oids of the sequences in it, which it names by them.
    Expression {
        sql: String,
        sequences: Vec<u32>,
        text: Option<ExpressionText>,
    },
    /// The next value of the sequence with this oid: `nextval('s')`, and so serial.
    Sequence { oid: u32 },
    /// The same for `GENERATED … AS IDENTITY`; `always`: writes may not give a value of their own.
    Identity { always: bool, oid: u32 },
    /// The hidden row id.
    RowId,
    /// Computed of other columns at every write, which gives it no value of its own.
    Generated(Generation),
}

/// A key over columns: the primary key or an index.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct IndexDef {
    /// 0 is the primary key; never used again within the table.
    pub id: IndexId,
    /// Its oid in pg_class, and in pg_constraint when it is a constraint's.
    pub oid: u32,
    /// `orders_pkey`.
    pub name: String,
    /// Its columns in key order.
    pub columns: Vec<KeyColumn>,
    /// INCLUDE: columns that its entries hold besides, so that reads need not ask for the row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<ColumnId>,
    /// Those of its columns that are computed for it: hidden, and generated of others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expressions: Vec<IndexExpression>,
    /// WHERE: its first column is computed for it, true for the rows of which the condition holds, and NULL for all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicate: Option<IndexExpression>,
    /// BUCKETS: its first column is computed for it, and says in which of so many buckets an entry stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<IndexBuckets>,
    /// It is inverted: its last column stands for the terms of others, of which a row has an entry each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terms: Option<IndexTerms>,
    /// UNIQUE (always true for the primary key).
    pub unique: bool,
    /// NULLS NOT DISTINCT: two rows of a unique index are equal where both have NULL.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub nulls_not_distinct: bool,
    /// Declared as a constraint (PRIMARY KEY, UNIQUE), not by CREATE INDEX.
    #[serde(default)]
    pub constraint: bool,
    /// DEFERRABLE: its rows may be equal until the statement, or the transaction, ends. It is not `unique` then: equal rows have an
    /// entry each, as in any other index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferral: Option<Deferral>,
    /// EXCLUDE.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclusion: Option<Exclusion>,
    /// Every row has had its entry once. A server that read nothing but primary keys left this off: then unique indexes
    /// are complete nevertheless, and others have no entries and must be built.
    pub built: bool,
    /// Not all rows have their entries yet: writes keep it and obey it, but it proves nothing about older rows.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub building: bool,
    /// Its build failed (CREATE INDEX CONCURRENTLY over duplicates): it has a name and no entries, until it is dropped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub invalid: bool,
    /// ALTER INDEX … INACTIVE: writes keep its entries, and no plan reads it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inactive: bool,
    /// Operator classes that columns name and that sort as the type does (`text_pattern_ops`): they are only told.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub classes: BTreeMap<ColumnId, String>,
    /// Options that do nothing here, by their names in lower case, with their values as written: they are only told.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// COMMENT ON INDEX.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// COMMENT ON CONSTRAINT, when it is one's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint_comment: Option<String>,
}

/// BUCKETS of an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct IndexBuckets {
    /// The hidden column that holds the number of the bucket.
    pub column: ColumnId,
    /// How many there are.
    pub count: u16,
}

/// A column of a key.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct KeyColumn {
    /// Which column.
    pub column: ColumnId,
    /// DESC.
    pub descending: bool,
    /// NULLS FIRST.
    pub nulls_first: bool,
}

impl KeyColumn {
    /// A column that a key sorts upwards, NULLs last.
    pub fn ascending(column: ColumnId) -> KeyColumn {
        KeyColumn {
            column,
            descending: false,
            nulls_first: false,
        }
    }
}

impl IndexDef {
    /// Whether the column is one of those that it sorts by.
    pub fn has_column(&self, id: ColumnId) -> bool {
        self.columns.iter().any(|column| column.column == id)
    }
    /// The columns that its entries are made of: those it sorts by, those it includes, and those whose terms it has.
    pub fn held_columns(&self) -> impl Iterator<Item = ColumnId> {
        let sorted = self.columns.iter().map(|column| column.column);
        sorted
            .chain(self.include.iter().copied())
            .chain(self.term_sources().map(|source| source.column))
    }
    /// Whose terms it has, where it is inverted.
    pub fn term_sources(&self) -> impl Iterator<Item = &TermSource> {
        self.terms.iter().flat_map(|terms| &terms.sources)
    }
    /// Whether it is over columns that users declared, and of all rows: what a constraint may rest on.
    pub fn is_plain(&self) -> bool {
        self.expressions.is_empty()
            && self.predicate.is_none()
            && self.buckets.is_none()
            && self.terms.is_none()
    }
    /// The columns that it brought: its bucket's, those of its expressions, of its condition and of its terms.
    pub fn computed_columns(&self) -> impl Iterator<Item = ColumnId> {
        let expressions = self.expressions.iter().chain(&self.predicate);
        let buckets = self.buckets.iter().map(|buckets| buckets.column);
        let terms = self.terms.iter().map(|terms| terms.column);
        expressions
            .map(|expression| expression.column)
            .chain(buckets)
            .chain(terms)
    }
    /// The columns that it is over as it was written: without those of its buckets and its condition, which come first, and if it is
    /// inverted those whose terms it has.
    pub fn shown_columns(&self) -> Cow<'_, [KeyColumn]> {
        if let Some(terms) = &self.terms {
            let sources = terms.sources.iter();
            return sources
                .map(|source| KeyColumn::ascending(source.column))
                .collect();
        }
        let unseen = usize::from(self.buckets.is_some()) + usize::from(self.predicate.is_some());
        Cow::Borrowed(self.columns.get(unseen..).unwrap_or_default())
    }
    /// Whether every write keeps its entries.
    pub fn is_kept(&self) -> bool {
        !self.invalid && (self.unique || self.built || self.building)
    }
    /// Whether every row has its entry, so that plans may read it.
    pub fn is_complete(&self) -> bool {
        self.is_kept() && !self.building && !self.inactive
    }
}

impl ColumnDef {
    /// A column that no statement names, nullable and without a default.
    pub fn hidden(id: ColumnId, name: String, ty: SqlType) -> ColumnDef {
        ColumnDef {
            id,
            name,
            ty,
            domain: None,
            not_null: false,
            unverified: None,
            default: None,
            missing: Value::Null,
            hidden: true,
            dynamic: false,
            collation: None,
            comment: None,
        }
    }
    /// Whether no stored row is NULL in it.
    pub fn is_never_null(&self) -> bool {
        self.not_null && self.unverified.is_none()
    }
    /// The oid of the sequence that its values come from, and from nothing else ([`NO_SEQUENCE`]: it is not made yet).
    pub fn sequence(&self) -> Option<u32> {
        match self.default {
            Some(ColumnDefault::Sequence { oid } | ColumnDefault::Identity { oid, .. }) => Some(oid),
            _ => None,
        }
    }
    /// Whether its values come from a sequence.
    pub fn is_serial(&self) -> bool {
        self.sequence().is_some()
    }
    /// Whether its default takes values of the sequence with this oid.
    pub fn uses_sequence(&self, oid: u32) -> bool {
        match &self.default {
            Some(ColumnDefault::Expression { sequences, .. }) => sequences.contains(&oid),
            _ => self.sequence() == Some(oid),
        }
    }
    /// The sequences that its default takes values of.
    pub fn sequences_used(&self) -> Vec<u32> {
        match &self.default {
            Some(ColumnDefault::Expression { sequences, .. }) => sequences.clone(),
            _ => self.sequence().into_iter().collect(),
        }
    }
    /// Gives it the sequence that its values come from.
    pub fn set_sequence(&mut self, sequence: u32) {
        if let Some(ColumnDefault::Sequence { oid } | ColumnDefault::Identity { oid, .. }) = &mut self.default
        {
            *oid = sequence;
        }
    }
    /// How it is computed, if it is a generated column.
    pub fn generation(&self) -> Option<&Generation> {
        match &self.default {
            Some(ColumnDefault::Generated(generation)) => Some(generation),
            _ => None,
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
        self.rekeying.is_some() || self.indexes.iter().any(|index| index.building)
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
