//! COMMENT ON TABLE, COLUMN, VIEW, INDEX, CONSTRAINT and SCHEMA.

use std::sync::Arc;

use sqlparser::ast::{CommentObject, ObjectName, Statement};

use super::{relation, table};
use crate::catalog::{CatalogWriter, IndexDef, Relation, SchemaDef, TableDef, ViewDef, is_system_schema};
use crate::parse::names;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Runs COMMENT ON.
pub(super) async fn execute(ctx: &StatementContext, statement: &Statement) -> Result<String> {
    let Statement::Comment {
        object_type,
        object_name,
        comment,
        ..
    } = statement
    else {
        return Err(Error::internal("not a COMMENT"));
    };
    // An empty comment is none, as in PostgreSQL.
    let comment = comment.clone().filter(|text| !text.is_empty());
    match object_type {
        CommentObject::Table => match relation(ctx, object_name)? {
            Relation::Table(table) => {
                let changed = TableDef {
                    comment,
                    ..TableDef::clone(table)
                };
                CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_table(changed)?;
            }
            Relation::View(view) => return Err(wrong_kind(&view.name, "table")),
        },
        CommentObject::View => match relation(ctx, object_name)? {
            Relation::View(view) => put_view(
                ctx,
                ViewDef {
                    comment,
                    ..ViewDef::clone(view)
                },
            )?,
            Relation::Table(table) => return Err(wrong_kind(&table.name, "view")),
        },
        CommentObject::Index => {
            let (schema, name) = names::relation_name(object_name)?;
            let path = &ctx.settings.search_path;
            let Some((table, index)) = ctx.catalog.get_index(schema.as_deref(), &name, path) else {
                return Err(wrong_kind(relation(ctx, object_name)?.name(), "index"));
            };
            change_index(ctx, table, index.oid, |index| index.comment = comment)?;
        }
        CommentObject::Column => comment_column(ctx, object_name, comment)?,
        CommentObject::Schema => {
            let (_, name) = names::relation_name(object_name)?;
            let schema = ctx.catalog.schema(&name)?;
            if is_system_schema(&name) {
                return Err(Error::NotAllowed {
                    message: format!("\"{name}\" is a system schema"),
                });
            }
            let changed = SchemaDef {
                comment,
                ..schema.clone()
            };
            CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_schema(&changed)?;
        }
        other => return Err(Error::unsupported(format!("COMMENT ON {other}"), None)),
    }
    Ok("COMMENT".to_string())
}

/// COMMENT ON CONSTRAINT. Errors: 42P01, 42704.
pub(super) fn on_constraint(
    ctx: &StatementContext,
    constraint: &str,
    table_name: &ObjectName,
    comment: Option<String>,
) -> Result<()> {
    let table = table(ctx, table_name)?;
    let is_it = |index: &&IndexDef| index.constraint && index.name == constraint;
    let Some(index) = table.all_indexes().find(is_it) else {
        return Err(Error::UndefinedObject {
            kind: "constraint",
            name: format!("{constraint}\" for table \"{}", table.name),
        });
    };
    change_index(ctx, &table, index.oid, |index| index.constraint_comment = comment)
}

fn change_index(
    ctx: &StatementContext,
    table: &TableDef,
    oid: u32,
    change: impl FnOnce(&mut IndexDef),
) -> Result<()> {
    let mut table = table.clone();
    let mut indexes = std::iter::once(&mut table.primary_key).chain(&mut table.indexes);
    if let Some(index) = indexes.find(|index| index.oid == oid) {
        change(index);
    }
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_table(table)?;
    Ok(())
}

/// `COMMENT ON COLUMN [schema.]relation.column`.
fn comment_column(ctx: &StatementContext, name: &ObjectName, comment: Option<String>) -> Result<()> {
    let Some((column, relation_parts)) = name.0.split_last().filter(|(_, rest)| !rest.is_empty()) else {
        return Err(Error::Syntax {
            message: "column name must be qualified".to_string(),
            position: 0,
        });
    };
    let column = column.as_ident().map(names::fold).unwrap_or_default();
    match relation(ctx, &ObjectName(relation_parts.to_vec()))? {
        Relation::Table(table) => {
            let mut table = TableDef::clone(table);
            let at = table
                .column_index(&column)
                .ok_or_else(|| undefined_column(&column, &table.name))?;
            table.columns[at].comment = comment;
            CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_table(table)?;
            Ok(())
        }
        Relation::View(view) => {
            if !view.columns.iter().any(|(name, _)| *name == column) {
                return Err(undefined_column(&column, &view.name));
            }
            let mut view = ViewDef::clone(view);
            match comment {
                Some(comment) => view.column_comments.insert(column, comment),
                None => view.column_comments.remove(&column),
            };
            put_view(ctx, view)
        }
    }
}

fn put_view(ctx: &StatementContext, view: ViewDef) -> Result<()> {
    let view = Arc::new(view);
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_view(&view)
}

fn wrong_kind(name: &str, expected: &'static str) -> Error {
    Error::WrongObjectType {
        name: name.to_string(),
        expected,
        hint: None,
    }
}

fn undefined_column(column: &str, relation: &str) -> Error {
    Error::UndefinedColumn {
        name: format!("\"{column}\" of relation \"{relation}\""),
        hint: None,
    }
}
