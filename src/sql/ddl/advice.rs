//! NOTICEs on CREATE TABLE when the key invites trouble: one line each, with what to do instead as its HINT.

use sqlparser::ast::{BinaryOperator, Expr};

use super::notice;
use crate::catalog::{ColumnDef, TableDef};
use crate::parse::names;
use crate::parse::quoting::quote_ident;
use crate::sql::dml;
use crate::system::StatementContext;
use crate::types::SqlType;

/// Key columns above which every key, and every index entry, grows long for little use.
const KEY_COLUMNS_ADVISED_MAX: usize = 3;

/// Raises the NOTICEs about a new table's key.
pub(super) fn advise(ctx: &StatementContext, table: &TableDef) {
    if table.is_temporary() {
        // It is small, and gone soon.
        return;
    }
    let name = &table.name;
    if table.has_hidden_key() {
        let message = format!(
            "table \"{name}\" has no primary key: rows stand in the order they came, and only reads of the whole table can use it"
        );
        let hint = "Declare PRIMARY KEY (...) over the columns that queries filter by.";
        return notice(ctx, "00000", message, Some(hint.to_string()));
    }
    let key: Vec<&ColumnDef> = table
        .key_columns()
        .into_iter()
        .map(|at| &table.columns[at])
        .filter(|column| !column.hidden)
        .collect();
    if !table.columns.iter().any(|column| column.hidden) {
        advise_first(ctx, name, &key);
    }
    advise_joined(ctx, table);
    if key.len() > KEY_COLUMNS_ADVISED_MAX {
        notice(
            ctx,
            "00000",
            format!(
                "the primary key of \"{name}\" has {} columns, which every key and index entry repeats",
                key.len()
            ),
            Some(format!(
                "Keep the {KEY_COLUMNS_ADVISED_MAX} columns that queries filter by first, and make the rest plain columns."
            )),
        );
    }
    let unbounded: Vec<_> = key
        .iter()
        .filter(|column| is_unbounded_text(&column.ty) && column.generation().is_none())
        .map(|column| format!("\"{}\"", column.name))
        .collect();
    if !unbounded.is_empty() {
        let message = format!(
            "key text of \"{name}\" without a length limit: {}; a value above keyspan.key_column_bytes_max is refused",
            unbounded.join(", ")
        );
        notice(
            ctx,
            "00000",
            message,
            Some("Declare it varchar(n), as long as your values need.".to_string()),
        );
    }
}

/// A key column that joins others in one text keeps neither their order nor their bounds.
fn advise_joined(ctx: &StatementContext, table: &TableDef) {
    for column in table.key_columns().into_iter().map(|at| &table.columns[at]) {
        let Some(generation) = column.generation().filter(|generation| joins(&generation.sql)) else {
            continue;
        };
        let inputs = generation.inputs.iter();
        let inputs: Vec<&str> = inputs
            .filter_map(|id| Some(table.columns[table.column_index_by_id(*id)?].name.as_str()))
            .collect();
        if inputs.len() < 2 {
            continue;
        }
        let shown: Vec<String> = inputs.iter().map(|name| format!("\"{name}\"")).collect();
        let names: Vec<String> = inputs.iter().map(|name| quote_ident(name)).collect();
        let message = format!(
            "the key column \"{}\" of \"{}\" joins {} in one value, in which neither their order nor a bound on one of them is left",
            column.name,
            table.name,
            shown.join(" and ")
        );
        let hint = format!(
            "A composite key keeps the order of its columns, and what each holds: PRIMARY KEY ({}).",
            names.join(", ")
        );
        notice(ctx, "00000", message, Some(hint));
    }
}

/// Whether an expression joins texts, and does nothing more with them.
fn joins(sql: &str) -> bool {
    let mut expr = match dml::parse_expression(sql) {
        Ok(expr) => expr,
        Err(_) => return false,
    };
    loop {
        expr = match expr {
            Expr::Nested(inner) => *inner,
            Expr::Cast { expr, .. } => *expr,
            Expr::BinaryOp {
                op: BinaryOperator::StringConcat,
                ..
            } => return true,
            Expr::Function(call) => {
                let name = call.name.0.last().and_then(|part| part.as_ident());
                let name = name.map(names::fold).unwrap_or_default();
                return ["concat", "concat_ws", "format"].contains(&name.as_str());
            }
            _ => return false,
        };
    }
}

/// A first column that only grows sends every insert to the end of the table.
fn advise_first(ctx: &StatementContext, table: &str, key: &[&ColumnDef]) {
    let Some((first, others)) = key.split_first() else {
        return;
    };
    if !is_growing(first) {
        return;
    }
    let what = match first.is_serial() {
        true => "serial".to_string(),
        false => first.ty.name(),
    };
    notice(
        ctx,
        "00000",
        format!(
            "the primary key of \"{table}\" starts with \"{}\" of type {what}: all new rows go to one place, a hotspot",
            first.name
        ),
        Some(spread(first, others)),
    );
}

/// Whether new rows tend to have greater values than those before.
fn is_growing(column: &ColumnDef) -> bool {
    let is_moment = matches!(
        column.ty,
        SqlType::Timestamp(_) | SqlType::TimestampTz(_) | SqlType::Date
    );
    is_moment || column.is_serial()
}

/// The cures of a first column that only grows, to paste.
fn spread(first: &ColumnDef, others: &[&ColumnDef]) -> String {
    let names: Vec<String> = std::iter::once(first)
        .chain(others.iter().copied())
        .map(|column| quote_ident(&column.name))
        .collect();
    let key = names.join(", ");
    let buckets = "End the statement with WITH (BUCKETS = 16): rows spread over 16 places, and ranges still come in key order.";
    match others.iter().find(|column| !is_growing(column)) {
        Some(other) => {
            let other = quote_ident(&other.name);
            let rest: Vec<&str> = names
                .iter()
                .map(String::as_str)
                .filter(|name| *name != other)
                .collect();
            format!(
                "{buckets} Or, if queries name {other}, begin the key with its hash: PRIMARY KEY (hash32({other}), {other}, {}).",
                rest.join(", ")
            )
        }
        None => format!(
            "{buckets} Or, if no query reads a range of {first}, hash it: PRIMARY KEY (hash32({first}), {key}).",
            first = names[0]
        ),
    }
}

fn is_unbounded_text(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Text | SqlType::Varchar(None) | SqlType::Bytea)
}
