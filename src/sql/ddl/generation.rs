//! Generated columns of CREATE TABLE and ALTER TABLE: those that are declared, and the hidden ones that begin a primary key
//! so that its rows spread: `PRIMARY KEY (hash32(a), a)`, `WITH (BUCKETS = 16)`.

use sqlparser::ast::{Expr, IndexColumn};

use super::table_change::undefined_column;
use super::{notice, row_expression};
use crate::catalog::{ColumnDef, ColumnDefault, Generation, KeyColumn, TableDef};
use crate::codec::row::ColumnId;
use crate::error::StatementFault;
use crate::parse::names;
use crate::parse::quoting::quote_ident;
use crate::sql::dml;
use crate::system::StatementContext;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// How `expr` generates `column` of a table of these columns. Errors: 42P17 for an expression that is not immutable or names
/// a generated column, 42703, 42804, 0A000.
pub(super) fn read(
    ctx: &StatementContext,
    table: &str,
    columns: &[ColumnDef],
    column: &ColumnDef,
    expr: &Expr,
) -> Result<ColumnDefault> {
    row_expression::check_no_subquery(expr, "column generation expression")?;
    let expr = row_expression::without_table(expr, table);
    let inputs = inputs(&expr, columns)?;
    dml::check_generation(ctx, (table, columns), column, &expr, &inputs)?;
    Ok(ColumnDefault::Generated(Generation {
        sql: expr.to_string(),
        inputs,
    }))
}

/// Reads the expressions of generated columns, once all columns are known.
pub(super) fn read_all(
    ctx: &StatementContext,
    table: &str,
    columns: &mut [ColumnDef],
    generations: Vec<(usize, Expr)>,
) -> Result<()> {
    // None may be computed of another, so each must be known as one before the first is read.
    for (at, _) in &generations {
        columns[*at].default = Some(ColumnDefault::Generated(Generation::default()));
    }
    let read = generations.iter().map(|(at, expr)| {
        let generation = read(ctx, table, columns, &columns[*at], expr)?;
        Ok((*at, generation))
    });
    for (at, generation) in read.collect::<Result<Vec<_>>>()? {
        columns[at].default = Some(generation);
    }
    Ok(())
}

/// The hidden column that a key begins with, if its first part as written is one of the hash functions; then also the other
/// parts. Errors: 42P16 when it hashes what is not in the key.
pub(super) fn hash_prefix<'a>(
    columns: &[ColumnDef],
    written: &'a [IndexColumn],
) -> Result<Option<(ColumnDef, &'a [IndexColumn])>> {
    let Some((first, others)) = written.split_first() else {
        return Ok(None);
    };
    let Expr::Function(call) = &first.column.expr else {
        return Ok(None);
    };
    let name = call.name.0.last().and_then(|part| part.as_ident());
    let ty = match name.map(names::fold).as_deref() {
        Some("hash8") => SqlType::Int2,
        Some("hash32" | "hash64") => SqlType::Int8,
        _ => return Ok(None),
    };
    let inputs = inputs(&first.column.expr, columns)?;
    let key: Vec<String> = others
        .iter()
        .filter_map(|part| match &part.column.expr {
            Expr::Identifier(name) => Some(names::fold(name)),
            _ => None,
        })
        .collect();
    let is_in_key = |id: &ColumnId| {
        let column = columns.iter().find(|column| column.id == *id);
        column.is_some_and(|column| key.contains(&column.name))
    };
    if inputs.is_empty() || !inputs.iter().all(is_in_key) {
        return Err(invalid_key(
            format!("{} hashes what is not in the primary key", first.column.expr),
            "Hash columns that follow in the key, as in PRIMARY KEY (hash32(a), a, b).",
        ));
    }
    let sql = first.column.expr.to_string();
    Ok(Some((hidden(columns, sql.clone(), sql, inputs, ty), others)))
}

/// The hidden column that says in which of so many buckets a key stands. Errors: 42P16 without a key of columns.
pub(super) fn bucket(columns: &[ColumnDef], key: Option<&[KeyColumn]>, buckets: u16) -> Result<ColumnDef> {
    let inputs: Vec<ColumnId> = key.unwrap_or_default().iter().map(|key| key.column).collect();
    let names = inputs
        .iter()
        .map(|id| columns.iter().find(|column| column.id == *id));
    let names = names.map(|column| {
        column
            .filter(|column| !column.hidden)
            .map(|column| quote_ident(&column.name))
    });
    let names: Option<Vec<String>> = names.collect();
    match names {
        Some(names) if !names.is_empty() => {
            let sql = format!("hash32({}) % {buckets}", names.join(", "));
            Ok(hidden(
                columns,
                format!("bucket({buckets})"),
                sql,
                inputs,
                SqlType::Int2,
            ))
        }
        _ => Err(invalid_key(
            "BUCKETS spreads a primary key of declared columns".to_string(),
            "Declare PRIMARY KEY (...), without a hash before it.",
        )),
    }
}

/// A key whose first column is `column`.
pub(super) fn behind(column: &ColumnDef, key: Vec<KeyColumn>) -> Vec<KeyColumn> {
    let first = KeyColumn {
        column: column.id,
        descending: false,
        nulls_first: false,
    };
    std::iter::once(first).chain(key).collect()
}

/// The generated columns that are computed of a column.
pub(super) fn dependents(table: &TableDef, id: ColumnId) -> impl Iterator<Item = &ColumnDef> {
    let generations = table.generations();
    let dependent = generations.filter(move |(_, generation)| generation.inputs.contains(&id));
    dependent.map(|(at, _)| &table.columns[at])
}

/// DROP EXPRESSION: the column keeps its values, and takes those that writes give it. Errors: 42703, 55000, 0A000 for one that the
/// server computes by itself.
pub(super) fn drop_expression(
    ctx: &StatementContext,
    table: &mut TableDef,
    name: &str,
    if_exists: bool,
) -> Result<()> {
    let at = table
        .column_index(name)
        .ok_or_else(|| undefined_column(name, table))?;
    if table.columns[at].generation().is_some() {
        table.columns[at].default = None;
        return Ok(());
    }
    let message = format!(
        "column \"{name}\" of relation \"{}\" is not a stored generated column",
        table.name
    );
    match if_exists {
        true => {
            notice(ctx, "00000", format!("{message}, skipping"), None);
            Ok(())
        }
        false => Err(Error::NotInState { message }),
    }
}

/// Writes a column's new name into the expressions that name it. Errors: `Corrupt`.
pub(super) fn rename_input(table: &mut TableDef, old: &str, new: &str) -> Result<()> {
    for column in &mut table.columns {
        let Some(ColumnDefault::Generated(generation)) = &mut column.default else {
            continue;
        };
        let sql = row_expression::with_column_renamed(&generation.sql, old, new)?;
        if column.hidden && column.name == generation.sql {
            column.name = sql.clone();
        }
        generation.sql = sql;
    }
    Ok(())
}

fn hidden(columns: &[ColumnDef], name: String, sql: String, inputs: Vec<ColumnId>, ty: SqlType) -> ColumnDef {
    ColumnDef {
        id: columns.last().map_or(0, |last| last.id) + 1,
        name,
        ty,
        domain: None,
        not_null: true,
        unverified: None,
        default: Some(ColumnDefault::Generated(Generation { sql, inputs })),
        missing: Value::Null,
        hidden: true,
        dynamic: false,
        comment: None,
    }
}

/// The columns that an expression is computed of. Errors: 42P17 for a generated one.
fn inputs(expr: &Expr, columns: &[ColumnDef]) -> Result<Vec<ColumnId>> {
    let inputs = row_expression::columns_named(expr, columns);
    let is_input = |column: &&ColumnDef| inputs.contains(&column.id) && column.generation().is_some();
    let Some(ColumnDef { name, .. }) = columns.iter().find(is_input) else {
        return Ok(inputs);
    };
    Err(Error::InvalidStatement {
        state: StatementFault::InvalidObjectDefinition,
        message: format!("cannot use generated column \"{name}\" in column generation expression"),
        hint: Some(
            "A generated column cannot reference another generated column: repeat its expression."
                .to_string(),
        ),
    })
}

fn invalid_key(message: String, hint: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::InvalidTableDefinition,
        message,
        hint: Some(hint.to_string()),
    }
}
