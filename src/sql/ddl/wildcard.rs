//! Wildcard columns, which are patterns of names: in CREATE TABLE among the columns, named by the option `wildcard_column`, and in ALTER
//! TABLE … ADD and DROP WILDCARD. What a name matches says [`crate::catalog`]; what writes make of them, `sql::dml`.
//!
//! The option's text is a list of patterns, as LindormTable's, each of which may have its type behind it: so catalogs print it, and what
//! they print makes the table again.

use sqlparser::ast;

use super::column::{self, NewColumn};
use super::notice;
use crate::catalog::{ColumnDef, TableDef, TableOptions, WILDCARD_COLUMN, is_pattern, may_tie};
use crate::error::StatementFault;
use crate::parse::names;
use crate::parse::parse_column;
use crate::system::StatementContext;
use crate::{Error, Result};

/// A pattern of the option, and its type where that stands behind it.
struct Listed {
    pattern: String,
    data_type: Option<String>,
}

/// The wildcard columns that the options of a CREATE TABLE list, and which of its columns (places) they are. Errors: 22023 for a list
/// that does not read, 42703 for a pattern without a type, 42701, 42P16, 42P17.
pub(super) async fn take(
    ctx: &StatementContext,
    table: &str,
    options: &mut TableOptions,
    columns: &[ast::ColumnDef],
) -> Result<(Vec<ColumnDef>, Vec<usize>)> {
    let (mut wildcards, mut taken) = (Vec::new(), Vec::new());
    let text = options.wildcard_column.take();
    let all = text.as_deref().map(listed).transpose()?.unwrap_or_default();
    for Listed { pattern, data_type } in all {
        let mut named = columns.iter();
        let is_it = |column: &ast::ColumnDef| names::fold(&column.name) == pattern;
        let at = named.position(is_it);
        if named.any(is_it) {
            return Err(Error::DuplicateColumn { name: pattern });
        }
        let def = match (at, data_type) {
            (Some(at), None) => {
                taken.push(at);
                read(ctx, table, &columns[at]).await?
            }
            (None, Some(data_type)) => {
                let quoted = pattern.replace('"', "\"\"");
                let column = parse_column(&format!("\"{quoted}\" {data_type}"));
                let column = column.map_err(|_| not_a_list(&data_type))?;
                read(ctx, table, &column).await?
            }
            (Some(_), Some(_)) => return Err(Error::DuplicateColumn { name: pattern }),
            (None, None) => {
                return Err(Error::UndefinedColumn {
                    name: format!("\"{pattern}\" named as a wildcard column"),
                    hint: Some(format!(
                        "Define it among the columns: \"{pattern}\" and its type."
                    )),
                });
            }
        };
        add(&mut wildcards, def)?;
    }
    Ok((wildcards, taken))
}

/// ALTER TABLE … ADD WILDCARD. Errors: as [`take`].
pub(super) async fn add_to_table(
    ctx: &StatementContext,
    table: &mut TableDef,
    column: &ast::ColumnDef,
    if_not_exists: bool,
) -> Result<()> {
    let def = read(ctx, &table.name, column).await?;
    if if_not_exists && table.wildcards.iter().any(|known| known.name == def.name) {
        let message = format!(
            "wildcard column \"{}\" of relation \"{}\" already exists, skipping",
            def.name, table.name
        );
        notice(ctx, "42701", message, None);
        return Ok(());
    }
    if table.has_column_named(&def.name) {
        return Err(Error::DuplicateColumn { name: def.name });
    }
    add(&mut table.wildcards, def)
}

/// ALTER TABLE … DROP WILDCARD: the columns that it made stay. Errors: 42703.
pub(super) fn drop_of_table(
    ctx: &StatementContext,
    table: &mut TableDef,
    name: &str,
    if_exists: bool,
) -> Result<()> {
    let before = table.wildcards.len();
    table.wildcards.retain(|known| known.name != name);
    if table.wildcards.len() < before {
        return Ok(());
    }
    if !if_exists {
        return Err(Error::InvalidStatement {
            state: StatementFault::UndefinedColumn,
            message: format!(
                "wildcard column \"{name}\" of relation \"{}\" does not exist",
                table.name
            ),
            hint: None,
        });
    }
    let message = format!(
        "wildcard column \"{name}\" of relation \"{}\" does not exist, skipping",
        table.name
    );
    notice(ctx, "42703", message, None);
    Ok(())
}

/// A wildcard column as written. Errors: 42P17 for a name that is no pattern, 42P16 for more than a type.
async fn read(ctx: &StatementContext, table: &str, column: &ast::ColumnDef) -> Result<ColumnDef> {
    let NewColumn {
        def,
        primary_key,
        unique,
        checks,
        foreign_keys,
        generation,
        sequence,
    } = column::read(ctx, table, column).await?;
    if !is_pattern(&def.name) {
        return Err(Error::InvalidStatement {
            state: StatementFault::InvalidObjectDefinition,
            message: format!("wildcard column \"{}\" matches no name but its own", def.name),
            hint: Some(
                "In a wildcard column \"*\" stands for any characters, and \"?\" for one.".to_string(),
            ),
        });
    }
    let is_constrained =
        primary_key.is_some() || unique.is_some() || !checks.is_empty() || !foreign_keys.is_empty();
    let is_filled = generation.is_some() || sequence.is_some() || def.default.is_some();
    if is_constrained || is_filled || def.not_null {
        return Err(Error::InvalidStatement {
            state: StatementFault::InvalidTableDefinition,
            message: format!("wildcard column \"{}\" may have a type and nothing else", def.name),
            hint: Some(
                "Rows that lack a column that it made read NULL there. A domain may check the values of all of them."
                    .to_string(),
            ),
        });
    }
    Ok(def)
}

/// The error for the option anywhere but in CREATE TABLE.
pub(super) fn refused() -> Error {
    Error::unsupported(
        format!("{WILDCARD_COLUMN} anywhere but in CREATE TABLE"),
        Some("Use ALTER TABLE ... ADD WILDCARD \"c*\" type, or DROP WILDCARD \"c*\"."),
    )
}

/// Adds a wildcard column to those of a table. Errors: 42701, 42P17 where a name may match two patterns and neither is the longer one.
pub(super) fn add(wildcards: &mut Vec<ColumnDef>, def: ColumnDef) -> Result<()> {
    if wildcards.iter().any(|known| known.name == def.name) {
        return Err(Error::DuplicateColumn { name: def.name });
    }
    if let Some(known) = wildcards.iter().find(|known| may_tie(&known.name, &def.name)) {
        return Err(Error::InvalidStatement {
            state: StatementFault::InvalidObjectDefinition,
            message: format!(
                "wildcard columns \"{}\" and \"{}\" match the same names",
                known.name, def.name
            ),
            hint: Some(
                "Of two patterns the one with more literal characters says the type: give one of them more, or drop it."
                    .to_string(),
            ),
        });
    }
    let at = wildcards.partition_point(|known| known.name < def.name);
    wildcards.insert(at, def);
    Ok(())
}

/// The list of an option. Errors: 22023.
fn listed(text: &str) -> Result<Vec<Listed>> {
    let (mut items, mut item) = (Vec::new(), String::new());
    let (mut depth, mut is_quoted) = (0usize, false);
    for letter in text.chars() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth = depth.saturating_sub(1),
            ',' if !is_quoted && depth == 0 => {
                items.push(std::mem::take(&mut item));
                continue;
            }
            _ => {}
        }
        item.push(letter);
    }
    items.push(item);
    items.iter().map(|item| one_listed(item.trim())).collect()
}

fn one_listed(item: &str) -> Result<Listed> {
    let (pattern, rest) = match item.strip_prefix('"') {
        Some(quoted) => {
            let end = end_of_quoted(quoted).ok_or_else(|| not_a_list(item))?;
            (quoted[..end].replace("\"\"", "\""), &quoted[end + 1..])
        }
        None => {
            let end = item.find(char::is_whitespace).unwrap_or(item.len());
            (item[..end].to_string(), &item[end..])
        }
    };
    if pattern.is_empty() {
        return Err(not_a_list(item));
    }
    let data_type = Some(rest.trim().to_string()).filter(|rest| !rest.is_empty());
    Ok(Listed { pattern, data_type })
}

/// Where the quote stands that ends the text; two of them are one in it.
fn end_of_quoted(text: &str) -> Option<usize> {
    let mut letters = text.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        if letter == '"' && letters.next_if(|(_, next)| *next == '"').is_none() {
            return Some(at);
        }
    }
    None
}

fn not_a_list(item: &str) -> Error {
    Error::InvalidParameter {
        message: format!("invalid value for table option \"wildcard_column\": {item}"),
        hint: Some("It takes patterns of column names, for example 'c2*, *_str'.".to_string()),
    }
}
