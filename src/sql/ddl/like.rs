//! `CREATE TABLE t (LIKE u INCLUDING …)`: what a new table takes of another relation.

use std::collections::BTreeMap;

use sqlparser::ast::{Expr, Ident, IndexColumn, ObjectName, OrderByExpr, OrderByOptions};

use super::check::NewCheck;
use super::notice;
use crate::catalog::{
    Access, ColumnDef, ColumnDefault, Deferral, Exclusion, IndexDef, Object, TableDef, TableOptions, ViewDef,
};
use crate::codec::row::ColumnId;
use crate::parse::Like;
use crate::parse::definition::SequenceOption;
use crate::query;
use crate::sql::dml;
use crate::sql::relation::relation;
use crate::system::StatementContext;
use crate::system::pg_catalog::type_by_format;
use crate::types::Value;
use crate::{Error, Result};

/// What is taken of a relation.
#[derive(Default)]
pub(super) struct Likeness {
    /// Its columns, without ids.
    pub(super) columns: Vec<LikeColumn>,
    /// Its primary key as PRIMARY KEY (…) would have it.
    pub(super) primary_key: Option<Vec<IndexColumn>>,
    /// The columns that it includes, by name.
    pub(super) primary_include: Vec<String>,
    /// BUCKETS.
    pub(super) buckets: Option<u16>,
    /// All its options, where they are asked for.
    pub(super) options: Option<TableOptions>,
    /// Its wildcard columns, likewise.
    pub(super) wildcards: Vec<ColumnDef>,
    /// Its other indexes.
    pub(super) indexes: Vec<LikeIndex>,
    /// Its CHECK constraints, by their names.
    pub(super) checks: Vec<NewCheck>,
}

/// A column.
pub(super) struct LikeColumn {
    /// Its definition.
    pub(super) def: ColumnDef,
    /// What it is computed of, if it is generated.
    pub(super) generation: Option<Expr>,
    /// The options of the sequence that it gets, if it is an identity column.
    pub(super) sequence: Option<Vec<SequenceOption>>,
}

/// An index, its columns by name.
pub(super) struct LikeIndex {
    /// Its name, if given.
    pub(super) name: Option<String>,
    pub(super) columns: Vec<IndexColumn>,
    pub(super) include: Vec<String>,
    pub(super) unique: bool,
    /// NULLS NOT DISTINCT.
    pub(super) nulls_not_distinct: bool,
    pub(super) constraint: bool,
    pub(super) deferral: Option<Deferral>,
    /// EXCLUDE.
    pub(super) exclusion: Option<Exclusion>,
    pub(super) comment: Option<String>,
    /// Options that are only told.
    pub(super) options: BTreeMap<String, String>,
    /// WHERE.
    pub(super) predicate: Option<Expr>,
    /// BUCKETS.
    pub(super) buckets: Option<u16>,
    /// The access method, if it is inverted.
    pub(super) inverted: Option<&'static str>,
    /// Whether columns are computed for it.
    pub(super) is_computed: bool,
}

/// Reads a LIKE clause. Errors: 42P01.
pub(super) fn read(ctx: &StatementContext, like: &Like) -> Result<Likeness> {
    let parts = like.table.iter().map(|part| Ident::with_quote('"', part));
    let source = ObjectName::from(parts.collect::<Vec<_>>());
    match relation(ctx, &source, Access::Like)? {
        Object::Table(table) => {
            tell_foreign_keys(ctx, table, like);
            of_table(ctx, table, like)
        }
        Object::View(view) => Ok(of_view(ctx, view, like)),
        Object::Index(..) | Object::Sequence(_) => Err(Error::internal("a relation that LIKE does not take")),
    }
}

/// `CREATE TABLE t LIKE u` takes all that a table has but its foreign keys, as PostgreSQL's LIKE and MySQL's do: that is told.
fn tell_foreign_keys(ctx: &StatementContext, table: &TableDef, like: &Like) {
    if !like.with_options || table.foreign_keys.is_empty() {
        return;
    }
    let keys = table.foreign_keys.iter();
    let names: Vec<String> = keys.map(|key| format!("\"{}\"", key.name)).collect();
    let message = format!(
        "foreign keys of \"{}\" are not taken: {}",
        table.name,
        names.join(", ")
    );
    let hint = "ALTER TABLE ... ADD FOREIGN KEY (...) REFERENCES ... makes one of the new table.";
    notice(ctx, "00000", message, Some(hint.to_string()));
}

/// What a partition has of its parent.
pub(super) fn of_parent(ctx: &StatementContext, parent: &TableDef) -> Result<Likeness> {
    let like = Like {
        table: Vec::new(),
        at: 0,
        including: vec!["defaults", "generated", "constraints", "indexes"],
        with_options: true,
    };
    let mut taken = of_table(ctx, parent, &like)?;
    taken.checks.retain(|check| !check.no_inherit);
    for check in &mut taken.checks {
        check.of_parent = true;
    }
    Ok(taken)
}

fn of_view(ctx: &StatementContext, view: &ViewDef, like: &Like) -> Likeness {
    let comment = |name: &str| view.column_comments.get(name).cloned();
    let column = |(name, ty): &(String, String)| {
        let def = ColumnDef {
            comment: comment(name).filter(|_| has(like, "comments")),
            ..ColumnDef::new(0, name.clone(), type_by_format(&ctx.catalog.types, ty))
        };
        LikeColumn {
            def,
            generation: None,
            sequence: None,
        }
    };
    Likeness {
        columns: view.columns.iter().map(column).collect(),
        ..Likeness::default()
    }
}

fn of_table(ctx: &StatementContext, table: &TableDef, like: &Like) -> Result<Likeness> {
    let mut taken = Likeness {
        options: like.with_options.then(|| table.options.clone()),
        wildcards: match like.with_options {
            true => table.wildcards.clone(),
            false => Vec::new(),
        },
        ..Likeness::default()
    };
    for column in table.visible_columns() {
        let (default, generation) = default(column, like)?;
        let sequence = match &default {
            Some(ColumnDefault::Identity { oid, .. }) => Some(sequence_options(ctx, *oid)),
            _ => None,
        };
        let def = ColumnDef {
            id: 0,
            unverified: None,
            default,
            missing: Value::Null,
            dynamic: like.with_options && column.dynamic,
            comment: column.comment.clone().filter(|_| has(like, "comments")),
            ..column.clone()
        };
        taken.columns.push(LikeColumn {
            def,
            generation,
            sequence,
        });
    }
    if has(like, "constraints") {
        for check in &table.checks {
            taken.checks.push(NewCheck {
                name: Some(check.name.clone()),
                expr: dml::parse_expression(&check.sql)?,
                no_inherit: check.no_inherit,
                of_parent: false,
            });
        }
    }
    if has(like, "indexes") {
        if table.primary_key.constraint {
            taken.primary_key = Some(written_columns(table, &table.primary_key)?);
            taken.buckets = table.options.buckets;
            let included = table.primary_key.include.iter();
            taken.primary_include = included
                .filter_map(|id| Some(column(table, *id)?.name.clone()))
                .collect();
        }
        for index in table.indexes.iter().filter(|index| !index.invalid) {
            taken
                .indexes
                .push(index_like(table, index, has(like, "comments"))?);
        }
    }
    Ok(taken)
}

/// An index like one of a table.
pub(super) fn index_like(table: &TableDef, index: &IndexDef, with_comment: bool) -> Result<LikeIndex> {
    let included = index.include.iter();
    Ok(LikeIndex {
        name: None,
        options: index.options.clone(),
        columns: written_columns(table, index)?,
        include: included
            .filter_map(|id| Some(column(table, *id)?.name.clone()))
            .collect(),
        unique: index.unique,
        nulls_not_distinct: index.nulls_not_distinct,
        constraint: index.constraint,
        deferral: index.deferral,
        exclusion: index.exclusion.clone(),
        comment: index.comment.clone().filter(|_| with_comment),
        predicate: query::index_condition(table, index)?,
        buckets: index.buckets.map(|buckets| buckets.count),
        inverted: index.terms.is_some().then_some("gin"),
        is_computed: !index.is_plain() || index.exclusion.is_some(),
    })
}

/// The default of a column, and what it is computed of, as far as LIKE includes them.
fn default(column: &ColumnDef, like: &Like) -> Result<(Option<ColumnDefault>, Option<Expr>)> {
    let taken = match &column.default {
        Some(ColumnDefault::Generated(generation)) if has(like, "generated") => {
            return Ok((None, Some(dml::parse_expression(generation.written())?)));
        }
        Some(ColumnDefault::Identity { .. }) => has(like, "identity"),
        Some(
            ColumnDefault::Constant { .. }
            | ColumnDefault::Expression { .. }
            | ColumnDefault::Sequence { .. },
        ) => has(like, "defaults"),
        _ => false,
    };
    Ok((column.default.clone().filter(|_| taken), None))
}

/// The options that make a sequence like the one with this oid.
fn sequence_options(ctx: &StatementContext, oid: u32) -> Vec<SequenceOption> {
    let Some(like) = ctx.catalog.sequence(oid) else {
        return Vec::new();
    };
    vec![
        SequenceOption::Increment(like.increment),
        SequenceOption::Min(Some(like.min)),
        SequenceOption::Max(Some(like.max)),
        SequenceOption::Start(like.start),
        SequenceOption::Cache(like.cache),
        SequenceOption::Cycle(like.cycles),
    ]
}

/// The columns of an index as they would be written, the hash before them if there is one.
fn written_columns(table: &TableDef, index: &IndexDef) -> Result<Vec<IndexColumn>> {
    let mut written = Vec::with_capacity(index.columns.len());
    for (at, key) in index.shown_columns().iter().enumerate() {
        let Some(column) = column(table, key.column) else {
            continue;
        };
        let expr = match &column.default {
            Some(ColumnDefault::Generated(generation)) if column.hidden && !index.is_plain() => {
                Expr::Nested(Box::new(dml::parse_expression(&generation.sql)?))
            }
            // The number of a bucket is made of BUCKETS.
            Some(ColumnDefault::Generated(_)) if column.hidden && table.options.buckets.is_some() => continue,
            Some(ColumnDefault::Generated(hash)) if column.hidden => dml::parse_expression(&hash.sql)?,
            _ => Expr::Identifier(Ident::with_quote('"', &column.name)),
        };
        let is_sorted = index.terms.is_none();
        let options = OrderByOptions {
            asc: is_sorted.then_some(!key.descending),
            nulls_first: is_sorted.then_some(key.nulls_first),
        };
        let source = index.term_sources().nth(at);
        let class = source.and_then(|source| source.named.as_ref());
        let class = class.or_else(|| index.classes.get(&key.column));
        written.push(IndexColumn {
            column: OrderByExpr {
                expr,
                options,
                with_fill: None,
            },
            operator_class: class.map(|name| ObjectName::from(vec![Ident::new(name.as_str())])),
        });
    }
    Ok(written)
}

fn column(table: &TableDef, id: ColumnId) -> Option<&ColumnDef> {
    table.columns.get(table.column_index_by_id(id)?)
}

fn has(like: &Like, part: &str) -> bool {
    like.including.contains(&part)
}
