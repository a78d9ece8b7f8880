//! COMMENT ON TABLE, COLUMN, VIEW, INDEX, SEQUENCE, CONSTRAINT, TYPE, DOMAIN and SCHEMA.

use std::sync::Arc;

use sqlparser::ast::{CommentObject, ObjectName, Statement};

use super::type_lookup;
use crate::catalog::{
    Access, CatalogWriter, IndexDef, Object, ObjectKind, SchemaDef, SequenceDef, TableDef, TypeDef, ViewDef,
    is_system_schema,
};
use crate::parse::names;
use crate::sql::relation::{relation, table};
use crate::store::LockMode;
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
        CommentObject::Table | CommentObject::MaterializedView => {
            let kind = match object_type {
                CommentObject::Table => ObjectKind::Table,
                _ => ObjectKind::MaterializedView,
            };
            let changed = TableDef {
                comment,
                ..TableDef::clone(&*table(ctx, object_name, Access::Comment(kind))?)
            };
            CatalogWriter::begin(&ctx.txn, &ctx.catalog)?
                .put_table_in(changed, LockMode::ShareUpdateExclusive)?;
        }
        CommentObject::View => comment_view(ctx, object_name, comment)?,
        CommentObject::Index => {
            let access = Access::Comment(ObjectKind::Index);
            let Object::Index(table, index) = relation(ctx, object_name, access)? else {
                return Err(Error::internal("COMMENT ON INDEX of what is no index"));
            };
            change_index(ctx, table, index.oid, |index| index.comment = comment)?;
        }
        CommentObject::Sequence => {
            let access = Access::Comment(ObjectKind::Sequence);
            let Object::Sequence(sequence) = relation(ctx, object_name, access)? else {
                return Err(Error::internal("COMMENT ON SEQUENCE of what is no sequence"));
            };
            let changed = SequenceDef {
                comment,
                ..SequenceDef::clone(sequence)
            };
            CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_sequence(&changed)?;
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
        CommentObject::Type => comment_type(ctx, object_name, false, comment)?,
        CommentObject::Domain => comment_type(ctx, object_name, true, comment)?,
        other => return Err(Error::unsupported(format!("COMMENT ON {other}"), None)),
    }
    Ok("COMMENT".to_string())
}

fn comment_view(ctx: &StatementContext, name: &ObjectName, comment: Option<String>) -> Result<()> {
    let Object::View(view) = relation(ctx, name, Access::Comment(ObjectKind::View))? else {
        return Err(Error::internal("COMMENT ON VIEW of what is no view"));
    };
    let changed = ViewDef {
        comment,
        ..ViewDef::clone(view)
    };
    put_view(ctx, changed)
}

/// COMMENT ON TYPE, COMMENT ON DOMAIN. Errors: 42704, 42809.
fn comment_type(
    ctx: &StatementContext,
    name: &ObjectName,
    is_domain: bool,
    comment: Option<String>,
) -> Result<()> {
    let ty = type_lookup::user_type(ctx, name)?;
    if is_domain && ty.domain().is_none() {
        return Err(type_lookup::no_domain(&ty.name));
    }
    let changed = TypeDef {
        comment,
        ..TypeDef::clone(&ty)
    };
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_type(&changed)
}

/// COMMENT ON CONSTRAINT. Errors: 42P01, 42704.
pub(super) fn on_constraint(
    ctx: &StatementContext,
    constraint: &str,
    table_name: &ObjectName,
    comment: Option<String>,
) -> Result<()> {
    let object = relation(ctx, table_name, Access::CommentConstraint)?;
    let undefined = || Error::UndefinedObject {
        kind: "constraint",
        name: format!("{constraint}\" for table \"{}", object.name()),
    };
    let Object::Table(table) = object else {
        return Err(undefined());
    };
    if table.check(constraint).is_some() || table.foreign_key(constraint).is_some() {
        let mut table = TableDef::clone(table);
        let named = table.checks.iter_mut().filter(|check| check.name == constraint);
        named.for_each(|check| check.comment.clone_from(&comment));
        let named = table.foreign_keys.iter_mut().filter(|key| key.name == constraint);
        named.for_each(|key| key.comment.clone_from(&comment));
        CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_table_in(table, LockMode::ShareUpdateExclusive)?;
        return Ok(());
    }
    let is_it = |index: &&IndexDef| index.constraint && index.name == constraint;
    let index = table.all_indexes().find(is_it).ok_or_else(undefined)?;
    change_index(ctx, table, index.oid, |index| index.constraint_comment = comment)
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
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_table_in(table, LockMode::ShareUpdateExclusive)?;
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
    match relation(ctx, &ObjectName(relation_parts.to_vec()), Access::CommentColumn)? {
        Object::Table(table) => {
            let mut table = TableDef::clone(table);
            let at = table
                .column_index(&column)
                .ok_or_else(|| undefined_column(&column, &table.name))?;
            table.columns[at].comment = comment;
            CatalogWriter::begin(&ctx.txn, &ctx.catalog)?
                .put_table_in(table, LockMode::ShareUpdateExclusive)?;
            Ok(())
        }
        Object::View(view) => {
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
        other => Err(undefined_column(&column, other.name())),
    }
}

fn put_view(ctx: &StatementContext, view: ViewDef) -> Result<()> {
    let view = Arc::new(view);
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_view(&view)
}

pub(super) fn undefined_column(column: &str, relation: &str) -> Error {
    Error::UndefinedColumn {
        name: format!("\"{column}\" of relation \"{relation}\""),
        hint: None,
    }
}
