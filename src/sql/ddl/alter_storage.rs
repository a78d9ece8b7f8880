//! ALTER TABLE of what PostgreSQL stores in its own way (SET UNLOGGED, CLUSTER ON, SET STATISTICS …): what is named must be
//! there, and what is asked for is so already, or without effect.

use sqlparser::ast::ObjectName;

use super::{storage, upkeep};
use crate::catalog::{Access, CatalogWriter, ObjectKind, TableDef};
use crate::error::StatementFault;
use crate::parse::definition::StorageChange;
use crate::sql::relation::{get_relation, relation_if_exists};
use crate::system::StatementContext;
use crate::{Error, Result};

/// Runs such an ALTER TABLE. Errors: 42P01, 42703, 42704, 42809.
pub(super) fn execute(
    ctx: &StatementContext,
    (name, of_materialized_view): (&ObjectName, bool),
    if_exists: bool,
    changes: &[StorageChange],
) -> Result<()> {
    if of_materialized_view {
        let access = Access::AlterKind(ObjectKind::MaterializedView);
        get_relation(ctx, name, access)?;
    }
    let action = changes.first().map_or("SET", action);
    let Some(object) = relation_if_exists(ctx, name, Access::AlterAction(action), if_exists)? else {
        return Ok(());
    };
    let table = object.table()?;
    let mut without_effect = Vec::new();
    let mut unlogged = table.options.unlogged;
    for change in changes {
        match change {
            StorageChange::AsItIs | StorageChange::Reset => {}
            StorageChange::Unlogged(is_unlogged) => {
                check_logging(ctx, table, *is_unlogged)?;
                unlogged = *is_unlogged;
            }
            StorageChange::ClusterOn(index) => {
                upkeep::check_cluster_index(table, index)?;
                if *index != table.primary_key.name {
                    without_effect.push("CLUSTER ON".to_string());
                }
            }
            StorageChange::Tablespace(name) => storage::check_tablespace(name)?,
            StorageChange::Column { name, setting } => {
                if table.column_index(name).is_none() {
                    return Err(Error::UndefinedColumn {
                        name: format!("\"{name}\" of relation \"{}\"", table.name),
                        hint: None,
                    });
                }
                without_effect.push((*setting).to_string());
            }
        }
    }
    if unlogged != table.options.unlogged {
        let mut changed = TableDef::clone(table);
        changed.options.unlogged = unlogged;
        CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_table(changed)?;
    }
    storage::tell(ctx, without_effect);
    Ok(())
}

/// Errors: 42P16 for a temporary table, and for one that what is logged refers to, or that refers to what is not.
fn check_logging(ctx: &StatementContext, table: &TableDef, unlogged: bool) -> Result<()> {
    let fault = |message: String| {
        Err(Error::InvalidStatement {
            state: StatementFault::InvalidTableDefinition,
            message,
            hint: None,
        })
    };
    let name = &table.name;
    if table.is_temporary() {
        return fault(format!(
            "cannot change logged status of table \"{name}\" because it is temporary"
        ));
    }
    let other = match unlogged {
        true => {
            let mut referring = ctx.catalog.references_to(table.oid);
            let logged = referring.find(|(by, _)| by.oid != table.oid && !by.options.unlogged);
            logged.map(|(by, _)| by.name.clone())
        }
        false => {
            let referenced = table.foreign_keys.iter().filter(|key| key.table != table.oid);
            let mut referenced = referenced.filter_map(|key| ctx.catalog.table_by_oid(key.table));
            let unlogged = referenced.find(|referenced| referenced.options.unlogged);
            unlogged.map(|referenced| referenced.name.clone())
        }
    };
    let (to, kind) = match unlogged {
        true => ("unlogged", "logged"),
        false => ("logged", "unlogged"),
    };
    match other {
        None => Ok(()),
        Some(other) => fault(format!(
            "could not change table \"{name}\" to {to} because it references {kind} table \"{other}\""
        )),
    }
}

/// What PostgreSQL's messages call a change.
fn action(change: &StorageChange) -> &'static str {
    match change {
        StorageChange::AsItIs => "SET WITHOUT CLUSTER",
        StorageChange::Unlogged(false) => "SET LOGGED",
        StorageChange::Unlogged(true) => "SET UNLOGGED",
        StorageChange::ClusterOn(_) => "CLUSTER ON",
        StorageChange::Tablespace(_) => "SET TABLESPACE",
        StorageChange::Reset => "RESET",
        StorageChange::Column { setting, .. } => match *setting {
            "SET STATISTICS" => "ALTER COLUMN ... SET STATISTICS",
            "SET STORAGE" => "ALTER COLUMN ... SET STORAGE",
            "SET COMPRESSION" => "ALTER COLUMN ... SET COMPRESSION",
            "SET (...)" => "ALTER COLUMN ... SET",
            _ => "ALTER COLUMN ... RESET",
        },
    }
}
