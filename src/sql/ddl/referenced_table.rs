//! The table that REFERENCES names. Called by `foreign_key`.

use sqlparser::ast;

use crate::catalog::{Access, Object, RelationName, TableDef, is_temporary_schema};
use crate::error::StatementFault;
use crate::parse::names;
use crate::sql::relation::relation;
use crate::system::StatementContext;
use crate::{Error, Result};

/// The table that is referred to. Errors: 42P01, 42809.
pub(super) fn referenced_table(
    ctx: &StatementContext,
    table: &TableDef,
    name: &ast::ObjectName,
) -> Result<TableDef> {
    let (schema, bare) = names::relation_name(name)?;
    let schema = schema.as_deref().map(|schema| ctx.settings.schema_meant(schema));
    // One that is being created is in no catalog yet.
    if bare == table.name && ctx.catalog.table_by_oid(table.oid).is_none() {
        let is_own = match schema {
            Some(schema) => *schema == table.schema,
            None => is_first_of_its_name(ctx, table)?,
        };
        if is_own {
            return Ok(table.clone());
        }
    }
    match relation(ctx, name, Access::Name)? {
        Object::Table(known) if known.oid == table.oid => Ok(table.clone()),
        Object::Table(known) if !known.is_materialized_view() => Ok(TableDef::clone(known)),
        _ => Err(Error::InvalidStatement {
            state: StatementFault::WrongObjectType,
            message: format!("referenced relation \"{bare}\" is not a table"),
            hint: None,
        }),
    }
}

/// Whether a table that is being created is the one that its bare name will mean, along the session's path.
fn is_first_of_its_name(ctx: &StatementContext, table: &TableDef) -> Result<bool> {
    if is_temporary_schema(&table.schema) {
        return Ok(true);
    }
    for schema in &ctx.settings.search_path {
        if *schema == table.schema {
            return Ok(true);
        }
        let name = RelationName {
            schema: Some(schema),
            name: &table.name,
            search_path: &[],
        };
        if ctx.get_relation(name, Access::Name)?.is_some() {
            return Ok(false);
        }
    }
    Ok(false)
}
