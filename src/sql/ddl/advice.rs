//! What CREATE TABLE and CREATE INDEX say of a key that invites trouble: a NOTICE each, with what to do instead as its HINT; an error with
//! `keyspan.key_rules = refuse`.

use sqlparser::ast::{BinaryOperator, Expr};

use super::notice;
use crate::catalog::{ColumnDef, KeyColumn, TableDef};
use crate::error::StatementFault;
use crate::parse::names;
use crate::parse::quoting::quote_ident;
use crate::sql::dml;
use crate::system::StatementContext;
use crate::types::SqlType;
use crate::{Error, Result};

/// Key columns above which every key, and every index entry, grows long for little use.
const KEY_COLUMNS_ADVISED_MAX: usize = 3;

/// Says whether keys are told of.
const RULES: &str = "keyspan.key_rules";

/// What is wrong, and what to do instead.
struct Warning {
    message: String,
    hint: String,
}

/// Tells of a new table's key. Errors: 42P16 where the rules refuse it.
pub(super) fn advise(ctx: &StatementContext, table: &TableDef) -> Result<()> {
    if table.is_temporary() {
        // It is small, and gone soon.
        return Ok(());
    }
    tell(ctx, StatementFault::InvalidTableDefinition, of_table(table))
}

/// Tells of a new index's key. Errors: 42P17 where the rules refuse it.
pub(super) fn advise_index(
    ctx: &StatementContext,
    table: &TableDef,
    (name, key): (&str, &[KeyColumn]),
) -> Result<()> {
    if table.is_temporary() {
        return Ok(());
    }
    let warnings = of_index(table, name, key);
    tell(ctx, StatementFault::InvalidObjectDefinition, warnings)
}

/// Whether the key of a constraint that a table gets may be as it is. Nobody is told of one otherwise: it is there for its rule, not to be
/// read by. Errors: 42P16 and 42P17 where the rules refuse it; `unique`: its name and key, `None`: it is the primary key.
pub(super) fn check_constraint(
    ctx: &StatementContext,
    table: &TableDef,
    unique: Option<(&str, &[KeyColumn])>,
) -> Result<()> {
    match (refuses(ctx), unique) {
        (false, _) => Ok(()),
        (true, Some(key)) => advise_index(ctx, table, key),
        (true, None) => advise(ctx, table),
    }
}

fn refuses(ctx: &StatementContext) -> bool {
    ctx.settings.get(RULES).is_some_and(|rules| rules == "refuse")
}

fn tell(ctx: &StatementContext, state: StatementFault, warnings: Vec<Warning>) -> Result<()> {
    let rules = ctx.settings.get(RULES).unwrap_or_default();
    for Warning { message, hint } in warnings {
        match rules.as_str() {
            "off" => {}
            "refuse" => {
                return Err(Error::InvalidStatement {
                    state,
                    message,
                    hint: Some(format!(
                        "{hint} SET keyspan.key_rules = notice lets it be as it is."
                    )),
                });
            }
            _ => notice(ctx, "00000", message, Some(hint)),
        }
    }
    Ok(())
}

fn of_table(table: &TableDef) -> Vec<Warning> {
    let name = &table.name;
    if table.has_hidden_key() {
        return vec![Warning {
            message: format!(
                "table \"{name}\" has no primary key: rows stand in the order they came, and only reads of the whole table can use it"
            ),
            hint: "Declare PRIMARY KEY (...) over the columns that queries filter by.".to_string(),
        }];
    }
    let key: Vec<&ColumnDef> = table
        .key_columns()
        .into_iter()
        .map(|at| &table.columns[at])
        .filter(|column| !column.hidden)
        .collect();
    let mut warnings = Vec::new();
    if !table.columns.iter().any(|column| column.hidden) {
        warnings.extend(growing(
            &format!("primary key of \"{name}\""),
            "rows",
            &key,
            spread,
        ));
    }
    warnings.extend(joined(table));
    if key.len() > KEY_COLUMNS_ADVISED_MAX {
        warnings.push(Warning {
            message: format!(
                "the primary key of \"{name}\" has {} columns, which every key and index entry repeats",
                key.len()
            ),
            hint: format!(
                "Keep the {KEY_COLUMNS_ADVISED_MAX} columns that queries filter by first, and make the rest plain columns."
            ),
        });
    }
    warnings.extend(unbounded(&format!("key text of \"{name}\""), &key));
    warnings
}

/// A key column that joins others in one text keeps neither their order nor their bounds.
fn joined(table: &TableDef) -> Vec<Warning> {
    let mut warnings = Vec::new();
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
        warnings.push(Warning { message, hint });
    }
    warnings
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
                let name = names::last_name(&call.name).unwrap_or_default();
                return ["concat", "concat_ws", "format"].contains(&name.as_str());
            }
            _ => return false,
        };
    }
}

fn of_index(table: &TableDef, name: &str, key: &[KeyColumn]) -> Vec<Warning> {
    let columns = key.iter().filter_map(|key| table.column_index_by_id(key.column));
    let columns: Vec<&ColumnDef> = columns.map(|at| &table.columns[at]).collect();
    let named: Vec<&ColumnDef> = columns.iter().copied().filter(|column| !column.hidden).collect();
    let mut warnings = Vec::new();
    if columns.first().is_some_and(|first| !first.hidden) {
        let first_of = |first: &ColumnDef, others: &[&ColumnDef]| spread_index(table, first, others);
        warnings.extend(growing(&format!("index \"{name}\""), "entries", &named, first_of));
    }
    if named.len() > KEY_COLUMNS_ADVISED_MAX {
        warnings.push(Warning {
            message: format!("index \"{name}\" has {} columns, which every entry repeats", named.len()),
            hint: format!(
                "Keep the {KEY_COLUMNS_ADVISED_MAX} columns that queries filter by first; columns that are only read may stand behind INCLUDE."
            ),
        });
    }
    warnings.extend(unbounded(&format!("text of index \"{name}\""), &named));
    warnings
}

/// A first column that only grows sends every insert to the end.
fn growing(
    what: &str,
    news: &str,
    key: &[&ColumnDef],
    cure: impl Fn(&ColumnDef, &[&ColumnDef]) -> String,
) -> Option<Warning> {
    let (first, others) = key.split_first()?;
    if !is_growing(first) {
        return None;
    }
    let ty = match first.is_serial() {
        true => "serial".to_string(),
        false => first.ty.name(),
    };
    Some(Warning {
        message: format!(
            "the {what} starts with \"{}\" of type {ty}: all new {news} go to one place, a hotspot",
            first.name
        ),
        hint: cure(first, others),
    })
}

fn unbounded(what: &str, key: &[&ColumnDef]) -> Option<Warning> {
    let columns = key.iter();
    let columns = columns.filter(|column| is_unbounded_text(&column.ty) && column.generation().is_none());
    let names: Vec<String> = columns.map(|column| format!("\"{}\"", column.name)).collect();
    (!names.is_empty()).then(|| Warning {
        message: format!(
            "{what} without a length limit: {}; a value above keyspan.key_column_bytes_max is refused",
            names.join(", ")
        ),
        hint: "Declare it varchar(n), as long as your values need.".to_string(),
    })
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

/// The same of an index.
fn spread_index(table: &TableDef, first: &ColumnDef, others: &[&ColumnDef]) -> String {
    let (table, first) = (quote_ident(&table.name), quote_ident(&first.name));
    let buckets = "End the statement with WITH (BUCKETS = 16): entries spread over 16 places, and ranges still come in order.";
    match others.iter().find(|column| !is_growing(column)) {
        Some(other) => format!(
            "{buckets} Or, if queries pin {0}, let it stand first: CREATE INDEX ON {table} ({0}, {first}).",
            quote_ident(&other.name)
        ),
        None => format!(
            "{buckets} Or let a column that queries pin stand first: CREATE INDEX ON {table} (column, {first})."
        ),
    }
}

fn is_unbounded_text(ty: &SqlType) -> bool {
    matches!(ty, SqlType::Text | SqlType::Varchar(None) | SqlType::Bytea)
}
