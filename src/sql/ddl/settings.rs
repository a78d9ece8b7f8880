//! ALTER SYSTEM, DATABASE and ROLE … SET and RESET: the settings that sessions begin with.

use crate::catalog::{CatalogWriter, SettingOverrides, SettingsOwner};
use crate::parse::command::{SettingsChange, SettingsOf};
use crate::parse::definition::RoleName;
use crate::system::pg_catalog::is_role;
use crate::system::{Settings, StatementContext};
use crate::{Error, Result};

/// Changes what sessions that begin after the commit begin with. Errors: 42704 for a role or setting, 3D000, 22023, 55P02,
/// 25001 for ALTER SYSTEM in a block.
pub(super) fn alter(ctx: &StatementContext, of: &SettingsOf, change: &SettingsChange) -> Result<()> {
    let owner = owner(ctx, of)?;
    let known = ctx.catalog.altered.get(&owner).cloned();
    let mut altered = known.unwrap_or(SettingOverrides {
        values: Default::default(),
        owner,
    });
    let by_server = altered.owner == SettingsOwner::System;
    match change {
        SettingsChange::Set { name, values } => {
            let (name, value) = Settings::stored_value(name, values, by_server)?;
            altered.values.insert(name, value);
        }
        SettingsChange::FromCurrent { name } => {
            let value = ctx.settings.show(name)?;
            let (name, value) = Settings::stored_value(name, &[value], by_server)?;
            altered.values.insert(name, value);
        }
        SettingsChange::Reset { name: Some(name) } => {
            // Errors as SHOW's for what is no setting.
            if !altered
                .values
                .keys()
                .any(|known| known.eq_ignore_ascii_case(name))
            {
                ctx.settings.show(name)?;
            }
            altered
                .values
                .retain(|known, _| !known.eq_ignore_ascii_case(name));
        }
        SettingsChange::Reset { name: None } => altered.values.clear(),
    }
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_settings(&altered)
}

fn owner(ctx: &StatementContext, of: &SettingsOf) -> Result<SettingsOwner> {
    match of {
        SettingsOf::System if ctx.in_block => Err(Error::TransactionState {
            state: "25001",
            message: "ALTER SYSTEM cannot run inside a transaction block".to_string(),
        }),
        SettingsOf::System => Ok(SettingsOwner::System),
        SettingsOf::Database { name } => ctx.database_id(name).map(SettingsOwner::Database),
        SettingsOf::Role { role, database } => {
            let database = database.as_ref().map(|name| ctx.database_id(name)).transpose()?;
            let role = match role {
                RoleName::All => {
                    return Ok(database.map_or(SettingsOwner::AllRoles, SettingsOwner::Database));
                }
                RoleName::Current => ctx.user.to_string(),
                RoleName::Named(name) if is_role(ctx, name) => name.clone(),
                RoleName::Named(name) => {
                    return Err(Error::UndefinedObject {
                        kind: "role",
                        name: name.clone(),
                    });
                }
            };
            Ok(match database {
                Some(database) => SettingsOwner::RoleInDatabase(role, database),
                None => SettingsOwner::Role(role),
            })
        }
    }
}
