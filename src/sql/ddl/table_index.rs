//! Indexes of a new table that are no constraints: those that stand among its columns, and those over columns that are computed for them.

use sqlparser::ast::{Expr, IndexColumn};

use super::index_key::WrittenKey;
use super::index_options::NewIndexOptions;
use super::like::LikeIndex;
use super::{exclusion, index, index_expression, index_terms, key, storage};
use crate::catalog::{ColumnDef, MadeName, TableDef};
use crate::error::DuplicateKind;
use crate::parse::names;
use crate::system::StatementContext;
use crate::{Error, Result};

/// The indexes that stand among the columns. Errors: 0A000, 22023, 42703.
pub(super) fn own_indexes(ctx: &StatementContext, columns: &[ColumnDef]) -> Result<Vec<LikeIndex>> {
    let mut unused = Vec::new();
    let mut indexes = Vec::with_capacity(ctx.hints.keys.len());
    for create in &ctx.hints.keys {
        key::check_index_type(create.using.as_ref())?;
        let options = NewIndexOptions::read(&create.with)?;
        unused.extend(options.unused());
        let mut include: Vec<String> = create.include.iter().map(names::fold).collect();
        key::included_columns(&include, columns)?;
        if options.covers_all {
            include = columns_beside(columns, &create.columns);
        }
        indexes.push(LikeIndex {
            name: create
                .name
                .as_ref()
                .map(names::relation_name)
                .transpose()?
                .map(|(_, name)| name),
            columns: create.columns.clone(),
            include,
            unique: false,
            nulls_not_distinct: false,
            constraint: false,
            deferral: None,
            exclusion: None,
            comment: None,
            options: options.kept,
            predicate: create.predicate.clone(),
            buckets: options.buckets,
            inverted: index_terms::method(create.using.as_ref()),
            is_computed: create.predicate.is_some()
                || index_terms::method(create.using.as_ref()).is_some()
                || options.buckets.is_some()
                || create.columns.iter().any(|part| plain_name(part).is_none()),
        });
    }
    storage::tell(ctx, unused);
    Ok(indexes)
}

/// The names of the columns that are none of the index's.
fn columns_beside(columns: &[ColumnDef], index: &[IndexColumn]) -> Vec<String> {
    let held: Vec<String> = index.iter().filter_map(plain_name).collect();
    let names = columns
        .iter()
        .filter(|column| !column.hidden)
        .map(|column| &column.name);
    names.filter(|name| !held.contains(name)).cloned().collect()
}

/// The name of a column of an index that is no expression.
fn plain_name(part: &IndexColumn) -> Option<String> {
    match &part.column.expr {
        Expr::Identifier(name) => Some(names::fold(name)),
        Expr::Collate { expr, .. } => match &**expr {
            Expr::Identifier(name) => Some(names::fold(name)),
            _ => None,
        },
        _ => None,
    }
}

/// Gives a new table an index like one over columns that are computed for it.
pub(super) fn define_computed(
    ctx: &StatementContext,
    table: &mut TableDef,
    (oid, like): (u32, LikeIndex),
    taken: &mut Vec<String>,
) -> Result<()> {
    let key = match like.exclusion {
        Some(_) => exclusion::define(ctx, table, &like)?.0,
        None => {
            let written = WrittenKey {
                parts: &like.columns,
                condition: like.predicate.as_ref(),
                buckets: like.buckets,
                inverted: like.inverted,
            };
            index_expression::key(ctx, table, written)?
        }
    };
    let base = match like.exclusion {
        Some(_) => exclusion::made_name(table, &key.names, &like.include),
        None => {
            let names = key.names.iter().chain(&like.include).map(String::as_str);
            MadeName::of_columns(&table.name, names, "idx")
        }
    };
    let name = index_name(ctx, &table.schema, like.name, base, taken)?;
    let new = index::NewIndex {
        name,
        columns: key.columns,
        include: key::included_columns(&like.include, &table.columns)?,
        expressions: key.expressions,
        predicate: key.predicate,
        buckets: key.buckets,
        terms: key.terms,
        classes: key.classes,
        unique: like.unique,
        nulls_not_distinct: like.nulls_not_distinct,
        constraint: like.constraint,
        deferral: None,
        exclusion: like.exclusion,
        options: like.options,
    };
    let index = index::define(table, &new, oid, false);
    if let Some(defined) = table.indexes.iter_mut().find(|known| known.id == index.id) {
        defined.comment = like.comment;
    }
    Ok(())
}

/// The name of a new table's index: as given, if free, else made of `base`.
pub(super) fn index_name(
    ctx: &StatementContext,
    schema: &str,
    given: Option<String>,
    base: MadeName<'_>,
    taken: &mut Vec<String>,
) -> Result<String> {
    let name = match given {
        Some(name) if taken.contains(&name) => {
            return Err(Error::Duplicate {
                kind: DuplicateKind::Relation,
                name,
            });
        }
        Some(name) => {
            key::check_free(ctx, schema, &name)?;
            name
        }
        None => base.free_in(&ctx.catalog, schema, taken),
    };
    taken.push(name.clone());
    Ok(name)
}
