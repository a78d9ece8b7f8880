//! Generated columns of CREATE TABLE and ALTER TABLE: those that are declared, and the hidden ones that begin a primary key
//! so that its rows spread: `PRIMARY KEY (hash32(a), a)`, `WITH (BUCKETS = 16)`.

use sqlparser::ast::{Expr, IndexColumn};

use super::few_values::few_values;
use super::index_expression::expression;
use super::key::{self, KeyKind};
use super::table_change::undefined_column;
use super::{notice, row_expression};
use crate::catalog::{ColumnDef, ColumnDefault, Generation, KeyColumn, TableDef};
use crate::codec::key::check_key_type;
use crate::codec::row::ColumnId;
use crate::error::StatementFault;
use crate::parse::names;
use crate::parse::quoting::quote_ident;
use crate::query::{self, Clause};
use crate::sql::dml;
use crate::system::StatementContext;
use crate::types::SqlType;
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
    let expr = row_expression::kept(ctx, expr, table);
    let inputs = inputs(&expr, columns)?;
    dml::check_generation(ctx, (table, columns), column, &expr, &inputs)?;
    let values = few_values(&expr, columns).filter(|_| column.ty.is_integer());
    let expr = query::pinned_assigned(ctx, (table, columns), &expr, &column.ty)?;
    let text = query::generation_text(ctx, (table, columns), &expr, &column.ty)?;
    Ok(ColumnDefault::Generated(Generation {
        sql: expr.to_string(),
        inputs,
        values,
        text: Some(text),
        written: None,
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

/// The columns of a primary key as written; for parts that are no columns hidden ones, which are added. Errors: 42P16 for what is computed
/// of what is not in the key, 42P17, those of binding; as [`key::key_columns`].
pub(super) fn key_columns(
    ctx: &StatementContext,
    table: &str,
    columns: &mut Vec<ColumnDef>,
    written: &[IndexColumn],
) -> Result<Vec<KeyColumn>> {
    let plain = written.iter().filter(|part| expression(part).is_none());
    let plain: Vec<IndexColumn> = plain.cloned().collect();
    let plain = key::key_columns(KeyKind::PrimaryKey, &plain, columns)?;
    let mut declared = plain.iter();
    let mut key = Vec::with_capacity(written.len());
    for part in written {
        match expression(part) {
            None => key.extend(declared.next().cloned()),
            Some(expr) => {
                let column = key_expression(ctx, (table, columns), expr, &plain)?;
                if columns.iter().any(|known| known.name == column.name) {
                    return Err(Error::DuplicateColumn { name: column.name });
                }
                key.push(key::key_column(column.id, part));
                columns.push(column);
            }
        }
    }
    Ok(key)
}

/// The hidden column of an expression in a primary key, whose declared columns `key` are.
fn key_expression(
    ctx: &StatementContext,
    (table, columns): (&str, &[ColumnDef]),
    expr: &Expr,
    key: &[KeyColumn],
) -> Result<ColumnDef> {
    row_expression::check_no_subquery(expr, "primary key expression")?;
    let expr = row_expression::kept(ctx, expr, table);
    let inputs = inputs(&expr, columns)?;
    let hashed = hash_type(&expr);
    let ty = match &hashed {
        Some(ty) => ty.clone(),
        None => match dml::computed_type(ctx, (table, columns), &expr, &inputs, Clause::IndexExpression)? {
            SqlType::Unknown => SqlType::Text,
            ty => ty,
        },
    };
    let is_in_key = |id: &ColumnId| key.iter().any(|part| part.column == *id);
    if inputs.is_empty() || !inputs.iter().all(is_in_key) {
        let verb = if hashed.is_some() {
            "hashes"
        } else {
            "is computed of"
        };
        return Err(invalid_key(
            format!("{expr} {verb} what is not in the primary key"),
            "Name the columns behind it in the key, as in PRIMARY KEY (hash32(a), a, b).",
        ));
    }
    let sql = expr.to_string();
    check_key_type(&ty, &sql)?;
    let values = few_values(&expr, columns);
    Ok(hidden(
        columns,
        sql.clone(),
        Generation {
            sql,
            inputs,
            values,
            text: None,
            written: None,
        },
        ty,
    ))
}

/// The type of a call of one of the hash functions.
fn hash_type(expr: &Expr) -> Option<SqlType> {
    let Expr::Function(call) = expr else {
        return None;
    };
    match names::last_name(&call.name).as_deref() {
        Some("hash8") => Some(SqlType::Int2),
        Some("hash32" | "hash64") => Some(SqlType::Int8),
        _ => None,
    }
}

/// The hidden column that says in which of so many buckets a key stands. Errors: 42P16 without a key of columns.
pub(super) fn bucket(columns: &[ColumnDef], key: &[KeyColumn], buckets: u16) -> Result<ColumnDef> {
    let inputs: Vec<ColumnId> = key.iter().map(|key| key.column).collect();
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
                Generation {
                    sql,
                    inputs,
                    values: Some((0, i64::from(buckets) - 1)),
                    text: None,
                    written: None,
                },
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
    let first = KeyColumn::ascending(column.id);
    std::iter::once(first).chain(key).collect()
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

/// Prints the expressions anew that name a column, which has another name or type.
pub(super) fn print(ctx: &StatementContext, table: &mut TableDef, id: ColumnId) -> Result<()> {
    for at in 0..table.columns.len() {
        let column = &table.columns[at];
        let Some(generation) = column.generation().filter(|known| known.inputs.contains(&id)) else {
            continue;
        };
        if column.hidden {
            continue;
        }
        let expr = dml::parse_expression(&generation.sql)?;
        let text = query::generation_text(ctx, (&table.name, &table.columns), &expr, &column.ty)?;
        if let Some(ColumnDefault::Generated(generation)) = &mut table.columns[at].default {
            generation.text = Some(text);
        }
    }
    Ok(())
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
        if let Some(written) = &mut generation.written {
            *written = row_expression::with_column_renamed(written, old, new)?;
        }
    }
    Ok(())
}

fn hidden(columns: &[ColumnDef], name: String, generation: Generation, ty: SqlType) -> ColumnDef {
    let id = columns.iter().map(|column| column.id).max().unwrap_or(0) + 1;
    ColumnDef {
        not_null: true,
        default: Some(ColumnDefault::Generated(generation)),
        ..ColumnDef::hidden(id, name, ty)
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
