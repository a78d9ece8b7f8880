//! ALTER TABLE of what PostgreSQL stores in its own way (SET UNLOGGED, CLUSTER ON, SET STATISTICS …): what is named must be
//! there, and what is asked for is so already, or without effect.

use sqlparser::ast::ObjectName;

use super::{notice, storage, table, upkeep};
use crate::Result;
use crate::error::Error;
use crate::parse::definition::StorageChange;
use crate::parse::names;
use crate::system::StatementContext;

/// Runs such an ALTER TABLE. Errors: 42P01, 42703, 42704, 42809.
pub(super) fn execute(
    ctx: &StatementContext,
    name: &ObjectName,
    if_exists: bool,
    changes: &[StorageChange],
) -> Result<()> {
    let (schema, plain_name) = names::relation_name(name)?;
    let path = &ctx.settings.search_path;
    if if_exists
        && ctx
            .catalog
            .get_relation(schema.as_deref(), &plain_name, path)
            .is_none()
    {
        let message = format!("relation \"{plain_name}\" does not exist, skipping");
        notice(ctx, "00000", message, None);
        return Ok(());
    }
    let table = table(ctx, name)?;
    let mut without_effect = Vec::new();
    for change in changes {
        match change {
            StorageChange::AsItIs | StorageChange::Reset => {}
            StorageChange::Unlogged => without_effect.push("UNLOGGED".to_string()),
            StorageChange::ClusterOn(index) => {
                upkeep::check_cluster_index(&table, index)?;
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
