//! `SettingOverrides`: the settings that sessions begin with, as ALTER SYSTEM, DATABASE and ROLE … SET left them. What a
//! setting is and which values it takes is not known here.

use std::collections::BTreeMap;

/// Whose settings: the later of two count more for a session that both concern.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingsOwner {
    /// The server.
    System,
    /// All roles.
    AllRoles,
    /// The database.
    Database,
    /// A role of this name.
    Role(String),
    /// Such a role in the database.
    RoleInDatabase(String),
}

/// The settings of one owner.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SettingOverrides {
    /// Whose.
    pub owner: SettingsOwner,
    /// Values by name, as SHOW prints them.
    pub values: BTreeMap<String, String>,
}

impl SettingsOwner {
    /// In words: what its record stands under.
    pub fn key_text(&self) -> String {
        match self {
            SettingsOwner::System => "system".to_string(),
            SettingsOwner::AllRoles => "all roles".to_string(),
            SettingsOwner::Database => "database".to_string(),
            SettingsOwner::Role(role) => format!("role {role}"),
            SettingsOwner::RoleInDatabase(role) => format!("database role {role}"),
        }
    }

    /// Whether they concern the sessions of a user.
    pub fn concerns(&self, user: &str) -> bool {
        match self {
            SettingsOwner::System | SettingsOwner::AllRoles | SettingsOwner::Database => true,
            SettingsOwner::Role(role) | SettingsOwner::RoleInDatabase(role) => role == user,
        }
    }
}
