//! Exclusion constraints: what is written, as the index that stands for one. What rows may not be to each other is asked by `dml::exclusions`.

use std::collections::BTreeMap;

use sqlparser::ast::{IndexColumn, UniqueConstraint};

use super::index::NewIndex;
use super::index_expression;
use super::index_key::{Key, WrittenKey};
use super::key;
use super::like::LikeIndex;
use super::table_change::Change;
use crate::catalog::{Exclusion, ExclusionOperator, MadeName, TableDef};
use crate::error::StatementFault;
use crate::parse::{WrittenExclusion, included, names, written_exclusion};
use crate::system::StatementContext;
use crate::types::SqlType;
use crate::{Error, Result};

/// Access methods whose classes have `&&` of ranges.
const METHODS_OF_RANGES: [&str; 2] = ["gist", "spgist"];
/// Those that have no more than `=`.
const METHODS_OF_EQUALITY: [&str; 2] = ["btree", "hash"];

/// The index of an exclusion constraint of a new table; `None`: it is a UNIQUE one. Errors: 0A000, 42704, 42809.
pub(super) fn read(unique: &UniqueConstraint) -> Result<Option<LikeIndex>> {
    let Some(written) = written_exclusion(unique) else {
        return Ok(None);
    };
    let (columns, operators) = in_order(&written)?;
    let deferral = key::deferral_of(unique)?;
    Ok(Some(LikeIndex {
        name: unique.name.as_ref().map(names::fold),
        columns,
        include: included(&unique.index_options)?,
        unique: false,
        nulls_not_distinct: false,
        constraint: true,
        deferral: None,
        exclusion: Some(Exclusion {
            method: written.method,
            operators,
            deferral,
        }),
        comment: None,
        options: BTreeMap::new(),
        predicate: written.condition,
        buckets: None,
        inverted: None,
        is_computed: true,
    }))
}

/// ADD EXCLUDE. Errors: as [`read`], and those of CREATE INDEX.
pub(super) fn add(ctx: &StatementContext, change: &mut Change, new: LikeIndex) -> Result<()> {
    let (key, exclusion) = define(ctx, &mut change.table, &new)?;
    let table = &change.table;
    let include = key::included_columns(&new.include, &table.columns)?;
    let taken: Vec<String> = change.indexes.iter().map(|index| index.name.clone()).collect();
    let name = match new.name {
        Some(name) => {
            key::check_free(ctx, &table.schema, &name)?;
            name
        }
        None => made_name(table, &key.names, &new.include).free_in(&ctx.catalog, &table.schema, &taken),
    };
    change.indexes.push(NewIndex {
        name,
        columns: key.columns,
        include,
        expressions: key.expressions,
        predicate: key.predicate,
        buckets: None,
        terms: None,
        classes: BTreeMap::new(),
        unique: false,
        nulls_not_distinct: false,
        constraint: true,
        deferral: None,
        exclusion: Some(exclusion),
        options: new.options,
    });
    Ok(())
}

/// The key of the index, whose computed columns are the table's then. Errors: 42809, 0A000 for columns that an operator is not of.
pub(super) fn define(
    ctx: &StatementContext,
    table: &mut TableDef,
    new: &LikeIndex,
) -> Result<(Key, Exclusion)> {
    let Some(exclusion) = new.exclusion.clone() else {
        return Err(Error::internal("an exclusion constraint without operators"));
    };
    let written = WrittenKey {
        parts: &new.columns,
        condition: new.predicate.as_ref(),
        buckets: None,
        inverted: None,
    };
    let key = index_expression::key(ctx, table, written)?;
    let last = key
        .columns
        .last()
        .and_then(|part| table.column_index_by_id(part.column));
    let ty = last.map(|at| &table.columns[at].ty);
    if exclusion.operators.last() == Some(&ExclusionOperator::Overlaps)
        && !matches!(ty, Some(SqlType::Range(_)))
    {
        return Err(Error::unsupported(
            format!(
                "an exclusion constraint with && of {}",
                ty.map_or("nothing".to_string(), SqlType::to_string)
            ),
            Some("&& is kept of ranges: make one of the columns, such as tsrange(starts_at, ends_at)."),
        ));
    }
    Ok((key, exclusion))
}

/// The name of a constraint that is given none.
pub(super) fn made_name<'a>(table: &'a TableDef, names: &'a [String], include: &'a [String]) -> MadeName<'a> {
    let names = names.iter().chain(include).map(String::as_str);
    MadeName::of_columns(&table.name, names, "excl")
}

/// The parts with those of `=` first, and the operators. Errors: 42704, 42809; 0A000 for more than one that is not `=`.
fn in_order(written: &WrittenExclusion) -> Result<(Vec<IndexColumn>, Vec<ExclusionOperator>)> {
    let mut parts = Vec::with_capacity(written.parts.len());
    for (column, symbol) in &written.parts {
        parts.push((column.clone(), operator(&written.method, symbol)?));
    }
    parts.sort_by_key(|(_, operator)| *operator != ExclusionOperator::Equal);
    let others = parts
        .iter()
        .filter(|(_, operator)| *operator != ExclusionOperator::Equal);
    if others.count() > 1 {
        return Err(Error::unsupported(
            "an exclusion constraint with more than one operator that is not =",
            Some(
                "Rows are kept apart by equal columns and one range, or one column with <>. Check the others in a trigger.",
            ),
        ));
    }
    if let Some((column, _)) = parts
        .iter()
        .find(|(column, _)| column.column.options.asc.is_some())
    {
        return Err(Error::unsupported(
            format!("an order of {} in an exclusion constraint", column.column.expr),
            Some("Leave ASC and DESC out."),
        ));
    }
    Ok(parts.into_iter().unzip())
}

/// Errors: 42704 for a method that is none, 42809 for an operator that it has not, 0A000 for one that is kept of no rows here.
fn operator(method: &str, written: &str) -> Result<ExclusionOperator> {
    let symbol = written
        .strip_prefix("OPERATOR(")
        .and_then(|named| named.strip_suffix(')'));
    let symbol = symbol.map_or(written, |named| named.rsplit('.').next().unwrap_or(named));
    let of_ranges = METHODS_OF_RANGES.contains(&method);
    if !of_ranges && !METHODS_OF_EQUALITY.contains(&method) {
        return Err(match method {
            "gin" | "brin" => Error::InvalidStatement {
                state: StatementFault::NotImplemented,
                message: format!("access method \"{method}\" does not support exclusion constraints"),
                hint: Some("Use gist.".to_string()),
            },
            _ => Error::InvalidStatement {
                state: StatementFault::UndefinedObject,
                message: format!("access method \"{method}\" does not exist"),
                hint: Some("Use gist.".to_string()),
            },
        });
    }
    match ExclusionOperator::of_symbol(symbol) {
        Some(operator) if of_ranges || operator == ExclusionOperator::Equal => Ok(operator),
        Some(_) => Err(Error::InvalidStatement {
            state: StatementFault::WrongObjectType,
            message: format!("operator {symbol} is not a member of an operator family of \"{method}\""),
            hint: Some("Use gist: EXCLUDE USING gist (...).".to_string()),
        }),
        None => Err(Error::unsupported(
            format!("operator {symbol} in an exclusion constraint"),
            Some("Rows are kept apart by =, by && of ranges and by <>. Check others in a trigger."),
        )),
    }
}
