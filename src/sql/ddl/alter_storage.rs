//! ALTER TABLE of what PostgreSQL stores in its own way (SET UNLOGGED, CLUSTER ON, SET STATISTICS …): what is named must be
//! there, and what is asked for is so already, or without effect.

use super::table_change::undefined_column;
use super::{storage, upkeep};
use crate::catalog::TableDef;
use crate::error::StatementFault;
use crate::parse::definition::StorageChange;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Does such an action. Errors: 42703, 42704, 42P16.
pub(super) fn apply(ctx: &StatementContext, table: &mut TableDef, change: &StorageChange) -> Result<()> {
    let without_effect = match change {
        StorageChange::AsItIs => return Ok(()),
        StorageChange::Unlogged(unlogged) => {
            check_logging(ctx, table, *unlogged)?;
            table.options.unlogged = *unlogged;
            return Ok(());
        }
        StorageChange::ClusterOn(index) => {
            upkeep::check_cluster_index(table, index)?;
            if *index == table.primary_key.name {
                return Ok(());
            }
            "CLUSTER ON"
        }
        StorageChange::Tablespace(name) => return storage::check_tablespace(name),
        StorageChange::Column {
            name,
            setting,
            dynamic,
        } => {
            let Some(at) = table.column_index(name) else {
                return Err(undefined_column(name, table));
            };
            if let Some(dynamic) = dynamic {
                table.columns[at].dynamic = *dynamic;
                return Ok(());
            }
            setting
        }
    };
    storage::tell(ctx, vec![without_effect.to_string()]);
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
pub(super) fn action(change: &StorageChange) -> &'static str {
    match change {
        StorageChange::AsItIs => "SET WITHOUT CLUSTER",
        StorageChange::Unlogged(false) => "SET LOGGED",
        StorageChange::Unlogged(true) => "SET UNLOGGED",
        StorageChange::ClusterOn(_) => "CLUSTER ON",
        StorageChange::Tablespace(_) => "SET TABLESPACE",
        StorageChange::Column { setting, .. } => match *setting {
            "SET STATISTICS" => "ALTER COLUMN ... SET STATISTICS",
            "SET STORAGE" => "ALTER COLUMN ... SET STORAGE",
            "SET COMPRESSION" => "ALTER COLUMN ... SET COMPRESSION",
            "SET (...)" => "ALTER COLUMN ... SET",
            _ => "ALTER COLUMN ... RESET",
        },
    }
}
