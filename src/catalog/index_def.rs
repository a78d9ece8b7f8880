//! `IndexDef`: one key of a table: the primary key, or an index. Part of its table's record.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::index_constraint::{Deferral, Exclusion};
use super::index_expression::IndexExpression;
use super::index_terms::{IndexTerms, TermSource};
use crate::codec::keyspace::IndexId;
use crate::codec::row::ColumnId;

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
    /// Rows of which its condition does not hold have no entry. (In an index that an older release made they have one, unless it is inverted.)
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaves_rows_out: bool,
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
    /// An index over these columns, neither unique nor a constraint's, whose entries are there.
    pub fn new(id: IndexId, oid: u32, name: impl Into<String>, columns: Vec<KeyColumn>) -> IndexDef {
        IndexDef {
            id,
            oid,
            name: name.into(),
            columns,
            include: Vec::new(),
            expressions: Vec::new(),
            predicate: None,
            leaves_rows_out: false,
            buckets: None,
            terms: None,
            unique: false,
            nulls_not_distinct: false,
            constraint: false,
            deferral: None,
            exclusion: None,
            built: true,
            building: false,
            invalid: false,
            inactive: false,
            classes: BTreeMap::new(),
            options: BTreeMap::new(),
            comment: None,
            constraint_comment: None,
        }
    }
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
    /// The column of its condition, where rows that are NULL in it have no entry.
    pub fn condition_that_omits(&self) -> Option<ColumnId> {
        let predicate = self.predicate.as_ref();
        let predicate = predicate.filter(|_| self.leaves_rows_out || self.terms.is_some());
        predicate.map(|predicate| predicate.column)
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
