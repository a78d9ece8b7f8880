//! Indexes as PostgreSQL's catalogs have them: columns by their numbers, expressions as text.

use super::default_text::SequencesByOid;
use super::user_column::{UserColumn, user_column};
use crate::catalog::{ColumnDef, IndexDef, TableDef};
use crate::codec::row::ColumnId;

/// An index or the primary key.
#[derive(Debug)]
pub(crate) struct UserIndex {
    pub(crate) oid: i64,
    pub(crate) name: String,
    /// The hash that stands before its columns, as `PRIMARY KEY (…)` writes it.
    pub(crate) hash: Option<String>,
    pub(crate) keys: Vec<UserKey>,
    /// Attribute numbers of INCLUDE.
    pub(crate) included: Vec<usize>,
    /// WHERE, as `pg_get_expr` prints it, plain and pretty.
    pub(crate) predicate: Option<(String, String)>,
    pub(crate) unique: bool,
    pub(crate) primary: bool,
    /// Declared as PRIMARY KEY or UNIQUE of the table.
    pub(crate) constraint: bool,
    /// Every row has its entry.
    pub(crate) valid: bool,
    /// Whether writes keep its entries.
    pub(crate) ready: bool,
    /// Whether plans are kept from it, though its entries are kept.
    pub(crate) inactive: bool,
    /// pg_class.reloptions.
    pub(crate) options: Vec<String>,
    /// COMMENT ON INDEX.
    pub(crate) comment: Option<String>,
    /// COMMENT ON CONSTRAINT.
    pub(crate) constraint_comment: Option<String>,
}

impl UserIndex {
    /// Attribute numbers of its columns, those of INCLUDE last.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = usize> {
        let keys = self.keys.iter().map(|key| key.attribute);
        keys.chain(self.included.iter().copied())
    }
}

/// A column of an index.
#[derive(Debug)]
pub(crate) struct UserKey {
    /// Attribute number in the table; 0 for an expression.
    pub(crate) attribute: usize,
    /// The expression, if it is one.
    pub(crate) computed: Option<Box<UserExpression>>,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
}

/// An expression of an index.
#[derive(Debug)]
pub(crate) struct UserExpression {
    /// The column of the index that holds it.
    pub(crate) column: UserColumn,
    /// As it stands in CREATE INDEX.
    pub(crate) text: String,
    pub(crate) pretty_text: String,
    /// As `pg_get_expr` prints it.
    pub(crate) node: String,
}

/// An index of a table with these visible columns.
pub(super) fn user_index(
    sequences: &SequencesByOid<'_>,
    (table, visible): (&TableDef, &[&ColumnDef]),
    index: &IndexDef,
    primary: bool,
) -> UserIndex {
    let attribute = |id| {
        visible
            .iter()
            .position(|column| column.id == id)
            .map(|position| position + 1)
    };
    UserIndex {
        oid: i64::from(index.oid),
        name: index.name.clone(),
        comment: index.comment.clone(),
        constraint_comment: index.constraint_comment.clone(),
        hash: hash_prefix(table, index),
        predicate: (index.predicate.as_ref())
            .map(|predicate| (predicate.text.clone(), predicate.pretty_text.clone())),
        keys: index
            .shown_columns()
            .iter()
            .filter_map(|key| {
                let computed = user_expression(sequences, (table, index), key.column);
                let attribute = match computed {
                    Some(_) => 0,
                    None => attribute(key.column)?,
                };
                Some(UserKey {
                    attribute,
                    computed,
                    descending: key.descending,
                    nulls_first: key.nulls_first,
                })
            })
            .collect(),
        included: index.include.iter().filter_map(|id| attribute(*id)).collect(),
        unique: index.unique,
        primary,
        constraint: primary || index.constraint,
        valid: index.is_complete(),
        ready: index.is_kept(),
        inactive: index.inactive,
        options: index
            .options
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect(),
    }
}

/// The hash that a key begins with, unless BUCKETS says it.
fn hash_prefix(table: &TableDef, index: &IndexDef) -> Option<String> {
    let first = table.column_index_by_id(index.columns.first()?.column)?;
    let first = table
        .columns
        .get(first)
        .filter(|column| column.hidden && index.is_plain())?;
    let generation = first.generation().filter(|_| table.options.buckets.is_none())?;
    Some(generation.sql.clone())
}

/// The expression of an index that a column holds.
fn user_expression(
    sequences: &SequencesByOid<'_>,
    (table, index): (&TableDef, &IndexDef),
    id: ColumnId,
) -> Option<Box<UserExpression>> {
    let expression = index
        .expressions
        .iter()
        .find(|expression| expression.column == id)?;
    let column = table.columns.get(table.column_index_by_id(id)?)?;
    let written = |text: &str| match expression.is_call {
        true => text.to_string(),
        false => format!("({text})"),
    };
    let name = match expression.is_call {
        true => expression.text.split('(').next().unwrap_or("expr").to_string(),
        false => "expr".to_string(),
    };
    Some(Box::new(UserExpression {
        column: UserColumn {
            name,
            ..user_column(sequences, column)
        },
        text: written(&expression.text),
        pretty_text: written(&expression.pretty_text),
        node: expression.text.clone(),
    }))
}
