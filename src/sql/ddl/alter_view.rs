//! ALTER VIEW, and ALTER TABLE of a view: its name, its columns' names, its schema, its owner, its options.

use sqlparser::ast::{self, AlterColumnOperation, AlterTable, AlterTableOperation, RenameTableNameKind};

use super::options::NewOption;
use super::schema::moved_schema;
use super::{alter_action, role, view_options, view_text};
use crate::catalog::{CatalogWriter, PrintedQuery, ViewDef};
use crate::error::DuplicateKind;
use crate::parse::definition::AlterAction;
use crate::parse::names;
use crate::parse::{new_schema, own_action, parse_query};
use crate::query;
use crate::sql::relation::relation;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Runs ALTER VIEW. Errors: 42P07, 42701, 42703, 42704; 42809 for what a view does not have.
pub(super) fn execute(ctx: &StatementContext, view: &ViewDef, alter: &AlterTable) -> Result<()> {
    let mut new = view.clone();
    for operation in &alter.operations {
        if let Some(AlterAction::Options(options)) = own_action(operation, &ctx.hints) {
            change_options(ctx, &mut new, options)?;
            continue;
        }
        match operation {
            AlterTableOperation::RenameTable { table_name } => {
                let (RenameTableNameKind::As(name) | RenameTableNameKind::To(name)) = table_name;
                let (_, name) = names::relation_name(name)?;
                if ctx.catalog.is_name_taken(&view.schema, &name) {
                    return Err(Error::Duplicate {
                        kind: DuplicateKind::Relation,
                        name,
                    });
                }
                new.name = name;
            }
            AlterTableOperation::RenameColumn {
                old_column_name,
                new_column_name,
            } => rename_column(
                ctx,
                &mut new,
                &names::fold(old_column_name),
                names::fold(new_column_name),
            )?,
            AlterTableOperation::AlterColumn {
                op: AlterColumnOperation::SetDefault { .. } | AlterColumnOperation::DropDefault,
                ..
            } => {
                return Err(Error::unsupported(
                    "a default of a view's column",
                    Some(
                        "Give the column of the table a default: rows that are written through the view take it.",
                    ),
                ));
            }
            AlterTableOperation::OwnerTo { new_owner } => role::check_owner(ctx, new_owner)?,
            other => {
                relation(ctx, &alter.name, alter_action::access(ctx, other))?;
                return Err(Error::unsupported(format!("ALTER VIEW ... {other}"), None));
            }
        }
    }
    if let Some(schema) = new_schema(alter) {
        new.schema = moved_schema(ctx, &view.schema, &view.name, schema)?;
    }
    if new == *view {
        return Ok(());
    }
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    view_text::follow_view(ctx, &writer, view, &new)?;
    writer.put_view(&new)
}

/// A view's query with other names of its columns. `None`: it cannot be printed.
fn printed_with_names(
    ctx: &StatementContext,
    printed: &PrintedQuery,
    names: &[String],
) -> Option<PrintedQuery> {
    let query = parse_query(&PrintedQuery::unmarked(&printed.plain)).ok()?;
    let planned = query::plan_query(ctx, &query, &[]).ok()?;
    query::query_text(ctx, &query, (&planned.columns, names))
}

fn rename_column(ctx: &StatementContext, view: &mut ViewDef, old: &str, new: String) -> Result<()> {
    let Some(at) = view.columns.iter().position(|(name, _)| name == old) else {
        return Err(Error::UndefinedColumn {
            name: format!("\"{old}\""),
            hint: None,
        });
    };
    if view.columns.iter().any(|(name, _)| *name == new) {
        return Err(Error::Duplicate {
            kind: DuplicateKind::Column,
            name: format!("{new}\" of relation \"{}", view.name),
        });
    }
    let old_names: Vec<String> = view.columns.iter().map(|(name, _)| name.clone()).collect();
    view.columns[at].0.clone_from(&new);
    let names: Vec<String> = view.columns.iter().map(|(name, _)| name.clone()).collect();
    view.printed = (view.printed.as_ref()).and_then(|printed| printed_with_names(ctx, printed, &names));
    view.query = match &view.printed {
        Some(printed) => PrintedQuery::unmarked(&printed.plain).trim().to_string(),
        None => view_text::with_names(&view.query, &old_names, names.iter().map(String::as_str)),
    };
    if let Some(comment) = view.column_comments.remove(old) {
        view.column_comments.insert(new, comment);
    }
    Ok(())
}

/// SET and RESET. Errors: as [`view_options::change`].
fn change_options(ctx: &StatementContext, view: &mut ViewDef, options: &[NewOption]) -> Result<()> {
    let parsed = crate::parse::parse(&view.query)?;
    let Some(ast::Statement::Query(query)) = parsed.first().map(|statement| &statement.ast) else {
        return Err(Error::internal(format!("view \"{}\" has no query", view.name)));
    };
    let path = view.search_path.clone();
    view_options::change(ctx, &mut view.options, options, (query, &path))
}
