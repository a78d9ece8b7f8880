//! `SettingOverrides`: the settings that sessions begin with, as ALTER SYSTEM, DATABASE and ROLE … SET left them. What a
//! setting is and which values it takes is not known here.

use std::collections::BTreeMap;

use crate::codec::keyspace::{DatabaseId, FIRST_DATABASE};

/// Whose settings: the later of two count more for a session that both concern.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(from = "OwnerRecord", into = "OwnerRecord")]
pub enum SettingsOwner {
    /// The server.
    System,
    /// All roles.
    AllRoles,
    /// A database.
    Database(DatabaseId),
    /// A role of this name.
    Role(String),
    /// Such a role in a database.
    RoleInDatabase(String, DatabaseId),
}

/// An owner as it is stored: the first database is not named.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum OwnerRecord {
    System,
    AllRoles,
    Database,
    Role(String),
    RoleInDatabase(String),
    OtherDatabase(DatabaseId),
    RoleInOtherDatabase(String, DatabaseId),
}

impl From<OwnerRecord> for SettingsOwner {
    fn from(record: OwnerRecord) -> SettingsOwner {
        match record {
            OwnerRecord::System => SettingsOwner::System,
            OwnerRecord::AllRoles => SettingsOwner::AllRoles,
            OwnerRecord::Database => SettingsOwner::Database(FIRST_DATABASE),
            OwnerRecord::Role(role) => SettingsOwner::Role(role),
            OwnerRecord::RoleInDatabase(role) => SettingsOwner::RoleInDatabase(role, FIRST_DATABASE),
            OwnerRecord::OtherDatabase(database) => SettingsOwner::Database(database),
            OwnerRecord::RoleInOtherDatabase(role, database) => SettingsOwner::RoleInDatabase(role, database),
        }
    }
}

impl From<SettingsOwner> for OwnerRecord {
    fn from(owner: SettingsOwner) -> OwnerRecord {
        match owner {
            SettingsOwner::System => OwnerRecord::System,
            SettingsOwner::AllRoles => OwnerRecord::AllRoles,
            SettingsOwner::Database(FIRST_DATABASE) => OwnerRecord::Database,
            SettingsOwner::Role(role) => OwnerRecord::Role(role),
            SettingsOwner::RoleInDatabase(role, FIRST_DATABASE) => OwnerRecord::RoleInDatabase(role),
            SettingsOwner::Database(database) => OwnerRecord::OtherDatabase(database),
            SettingsOwner::RoleInDatabase(role, database) => OwnerRecord::RoleInOtherDatabase(role, database),
        }
    }
}

/// The settings of one owner.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SettingOverrides {
    /// Whose.
    pub owner: SettingsOwner,
    /// Values by name, as SHOW prints them.
    pub values: BTreeMap<String, String>,
}

impl SettingOverrides {
    /// The values as `name=value`.
    pub fn texts(&self) -> Vec<String> {
        let values = self.values.iter();
        values.map(|(name, value)| format!("{name}={value}")).collect()
    }
}

impl SettingsOwner {
    /// In words: what its record stands under.
    pub fn key_text(&self) -> String {
        match self {
            SettingsOwner::System => "system".to_string(),
            SettingsOwner::AllRoles => "all roles".to_string(),
            SettingsOwner::Database(FIRST_DATABASE) => "database".to_string(),
            SettingsOwner::Database(database) => format!("database {database}"),
            SettingsOwner::Role(role) => format!("role {role}"),
            SettingsOwner::RoleInDatabase(role, FIRST_DATABASE) => format!("database role {role}"),
            SettingsOwner::RoleInDatabase(role, database) => format!("database {database} role {role}"),
        }
    }

    /// Whether they concern the sessions of a user in a database.
    pub fn concerns(&self, user: &str, in_database: DatabaseId) -> bool {
        match self {
            SettingsOwner::System | SettingsOwner::AllRoles => true,
            SettingsOwner::Database(database) => *database == in_database,
            SettingsOwner::Role(role) => role == user,
            SettingsOwner::RoleInDatabase(role, database) => role == user && *database == in_database,
        }
    }

    /// The database whose they are.
    pub fn database(&self) -> Option<DatabaseId> {
        match self {
            SettingsOwner::Database(database) | SettingsOwner::RoleInDatabase(_, database) => Some(*database),
            SettingsOwner::System | SettingsOwner::AllRoles | SettingsOwner::Role(_) => None,
        }
    }
}
