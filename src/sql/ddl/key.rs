//! Keys of CREATE TABLE, ALTER TABLE and CREATE INDEX: the columns of PRIMARY KEY, UNIQUE and indexes, checked.

use sqlparser::ast::{
    ConstraintCharacteristics, Expr, IndexColumn, IndexType, NullsDistinctOption, UniqueConstraint,
};

use super::foreign_key::deferral;
use super::operator_class;
use crate::catalog::{ColumnDef, Deferral, KeyColumn};
use crate::codec::key::check_key_type;
use crate::codec::row::ColumnId;
use crate::parse::{self, collation, names};
use crate::system::StatementContext;
use crate::types::SqlType;
use crate::{Error, Result};

/// What a key is for, in PostgreSQL's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeyKind {
    PrimaryKey,
    Unique,
    Index,
}

/// A UNIQUE constraint as written.
pub(super) struct NewUnique {
    /// The constraint's name, if given.
    pub(super) name: Option<String>,
    /// Its columns by name.
    pub(super) columns: Vec<IndexColumn>,
    /// The columns that it includes, by name.
    pub(super) include: Vec<String>,
    /// DEFERRABLE.
    pub(super) deferral: Option<Deferral>,
    /// NULLS NOT DISTINCT.
    pub(super) nulls_not_distinct: bool,
}

/// The columns of a key, looked up among `columns`. Errors: 42703, 42701 for a column named twice, 0A000 for
/// expressions and for types that cannot stand in a key.
pub(super) fn key_columns(
    kind: KeyKind,
    written: &[IndexColumn],
    columns: &[ColumnDef],
) -> Result<Vec<KeyColumn>> {
    let mut key: Vec<KeyColumn> = Vec::with_capacity(written.len());
    for part in written {
        let column = plain_column(kind, part, columns)?;
        let name = column.name.clone();
        if kind != KeyKind::Index && key.iter().any(|known| known.column == column.id) {
            return Err(Error::DuplicateKeyColumn {
                name,
                constraint: kind.words(),
            });
        }
        check_key_type(&column.ty, &column.name)?;
        check_operator_class(part, &column.ty)?;
        key.push(key_column(column.id, part));
    }
    Ok(key)
}

/// The column that a part of a key is. Errors: 42703, 0A000 for an expression.
pub(super) fn plain_column<'a>(
    kind: KeyKind,
    part: &IndexColumn,
    columns: &'a [ColumnDef],
) -> Result<&'a ColumnDef> {
    let name = column_name(part)?;
    let mut visible = columns.iter().filter(|column| !column.hidden);
    let column = visible.find(|column| column.name == name);
    column.ok_or_else(|| undefined_key_column(kind, &name))
}

/// Errors: 42704, 42804 for an operator class that is none, or not the type's.
pub(super) fn check_operator_class(part: &IndexColumn, ty: &SqlType) -> Result<()> {
    match &part.operator_class {
        Some(class) => operator_class::check(class, ty),
        None => Ok(()),
    }
}

/// The operator class of a part of a key, if it is one that sorts as the type does and is not its own: by bytes, as all text does here.
pub(super) fn told_class(part: &IndexColumn) -> Option<String> {
    let name = part.operator_class.as_ref()?.0.last()?.as_ident()?;
    let name = names::fold(name);
    name.ends_with("_pattern_ops").then_some(name)
}

/// A column in the direction that a part of a key says.
pub(super) fn key_column(column: ColumnId, part: &IndexColumn) -> KeyColumn {
    let descending = part.column.options.asc == Some(false);
    KeyColumn {
        column,
        descending,
        nulls_first: part.column.options.nulls_first.unwrap_or(descending),
    }
}

/// When the constraint is asked, if it is DEFERRABLE. Errors: 42601.
pub(super) fn deferral_of(unique: &UniqueConstraint) -> Result<Option<Deferral>> {
    Ok(match deferral(unique.characteristics.as_ref())? {
        (false, _) => None,
        (true, false) => Some(Deferral::Immediate),
        (true, true) => Some(Deferral::Deferred),
    })
}

/// A UNIQUE constraint of a table definition. Errors: 0A000 for NULLS NOT DISTINCT that is checked later, 42601.
pub(super) fn read_unique(unique: &UniqueConstraint) -> Result<NewUnique> {
    let nulls_not_distinct = unique.nulls_distinct == NullsDistinctOption::NotDistinct;
    let deferral = deferral_of(unique)?;
    if nulls_not_distinct && deferral.is_some() {
        return Err(Error::unsupported(
            "NULLS NOT DISTINCT of a deferrable constraint",
            Some("Leave one of the two out."),
        ));
    }
    Ok(NewUnique {
        name: unique.name.as_ref().map(names::fold),
        columns: unique.columns.clone(),
        include: parse::included(&unique.index_options)?,
        deferral,
        nulls_not_distinct,
    })
}

/// The columns that a key includes. Errors: 42703.
pub(super) fn included_columns(names: &[String], columns: &[ColumnDef]) -> Result<Vec<ColumnId>> {
    let id = |name: &String| {
        let column = columns
            .iter()
            .find(|column| !column.hidden && column.name == *name);
        let column = column.ok_or_else(|| undefined_key_column(KeyKind::Unique, name))?;
        Ok(column.id)
    };
    names.iter().map(id).collect()
}

/// Errors: 0A000 for a primary key that is checked later, 42601.
pub(super) fn check_primary_characteristics(
    characteristics: Option<&ConstraintCharacteristics>,
) -> Result<()> {
    match deferral(characteristics)? {
        (true, _) => Err(Error::unsupported(
            "a deferrable primary key",
            Some(
                "Rows are stored under their primary key, one under each. Declare the columns NOT NULL and UNIQUE (...) DEFERRABLE, and another column, or none, PRIMARY KEY.",
            ),
        )),
        (false, _) => Ok(()),
    }
}

/// Errors: 0A000 for an index that would become a constraint that is checked later, 42601.
pub(super) fn check_index_characteristics(characteristics: Option<&ConstraintCharacteristics>) -> Result<()> {
    match deferral(characteristics)? {
        (true, _) => Err(Error::unsupported(
            "a deferrable constraint of an index that is there",
            Some("Drop the index, and ADD UNIQUE (...) DEFERRABLE."),
        )),
        (false, _) => Ok(()),
    }
}

/// Errors: 0A000 for any kind of index that a sorted one cannot stand for.
pub(super) fn check_index_type(index_type: Option<&IndexType>) -> Result<()> {
    match index_type {
        // A sorted index serves what these do, and more.
        None | Some(IndexType::BTree | IndexType::Hash | IndexType::BRIN | IndexType::SPGiST) => Ok(()),
        // An inverted one serves the others, or what of them it serves.
        Some(IndexType::GIN | IndexType::GiST) => Ok(()),
        // LindormTable's word for an index of sorted entries.
        Some(IndexType::Custom(name)) if name.value.eq_ignore_ascii_case("kv") => Ok(()),
        Some(IndexType::Custom(name))
            if ["search", "columnar"]
                .iter()
                .any(|kind| name.value.eq_ignore_ascii_case(kind)) =>
        {
            Err(Error::unsupported(
                format!("a {} index", name.value.to_lowercase()),
                Some(
                    "An index is sorted by its columns: leave USING out, or write USING KV or USING btree. It serves =, ranges, ORDER BY and LIKE 'prefix%'.",
                ),
            ))
        }
        Some(other) => Err(Error::unsupported(
            format!("access method {}", other.to_string().to_lowercase()),
            Some(
                "There are btree indexes, which are sorted and serve =, ranges, ORDER BY and LIKE 'prefix%', and gin, which serve @>, ?, && and @@.",
            ),
        )),
    }
}

/// 42P07 when a relation of the schema has the name already.
pub(super) fn check_free(ctx: &StatementContext, schema: &str, name: &str) -> Result<()> {
    if ctx.catalog.is_name_taken(schema, name) {
        return Err(Error::Duplicate {
            kind: crate::error::DuplicateKind::Relation,
            name: name.to_string(),
        });
    }
    Ok(())
}

impl KeyKind {
    fn words(self) -> &'static str {
        match self {
            KeyKind::PrimaryKey => "primary key",
            KeyKind::Unique | KeyKind::Index => "unique",
        }
    }
}

fn column_name(part: &IndexColumn) -> Result<String> {
    let mut expr = &part.column.expr;
    if let Expr::Collate {
        expr: inner,
        collation,
    } = expr
    {
        collation::check(collation)?;
        expr = inner;
    }
    match expr {
        Expr::Identifier(ident) => Ok(names::fold(ident)),
        other => Err(Error::unsupported(
            format!("a key over the expression {other}"),
            Some("Store the value in a column of its own and name that."),
        )),
    }
}

pub(super) fn undefined_key_column(kind: KeyKind, name: &str) -> Error {
    let name = match kind {
        KeyKind::Index => format!("\"{name}\""),
        KeyKind::PrimaryKey | KeyKind::Unique => format!("\"{name}\" named in key"),
    };
    Error::UndefinedColumn { name, hint: None }
}
