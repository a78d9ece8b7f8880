//! ALTER TABLE of what PostgreSQL stores in its own way (SET UNLOGGED, CLUSTER ON, SET STATISTICS …): what is named must be
//! there, and what is asked for is so already, or without effect.

use sqlparser::ast::ObjectName;

use super::{storage, upkeep};
use crate::Result;
use crate::catalog::Access;
use crate::error::Error;
use crate::parse::definition::StorageChange;
use crate::sql::relation::relation_if_exists;
use crate::system::StatementContext;

/// Runs such an ALTER TABLE. Errors: 42P01, 42703, 42704, 42809.
pub(super) fn execute(
    ctx: &StatementContext,
    name: &ObjectName,
    if_exists: bool,
    changes: &[StorageChange],
) -> Result<()> {
    let action = changes.first().map_or("SET", action);
    let Some(object) = relation_if_exists(ctx, name, Access::AlterAction(action), if_exists)? else {
        return Ok(());
    };
    let table = object.table()?;
    let mut without_effect = Vec::new();
    for change in changes {
        match change {
            StorageChange::AsItIs | StorageChange::Reset => {}
            StorageChange::Unlogged => without_effect.push("UNLOGGED".to_string()),
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
    storage::tell(ctx, without_effect);
    Ok(())
}

/// What PostgreSQL's messages call a change.
fn action(change: &StorageChange) -> &'static str {
    match change {
        StorageChange::AsItIs => "SET LOGGED",
        StorageChange::Unlogged => "SET UNLOGGED",
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
