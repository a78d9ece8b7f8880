//! `SettingSource`: where the value of a setting comes from. Of two the later counts more, as in PostgreSQL.

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingSource {
    /// The table of settings.
    Default,
    /// ALTER SYSTEM.
    System,
    /// The server's command line or environment.
    CommandLine,
    /// ALTER ROLE ALL.
    AllRoles,
    /// ALTER DATABASE.
    Database,
    /// ALTER ROLE.
    Role,
    /// ALTER ROLE … IN DATABASE.
    RoleInDatabase,
    /// The client, when it connected.
    Client,
    /// SET.
    Session,
}

impl SettingSource {
    /// As pg_settings names it.
    pub fn name(self) -> &'static str {
        match self {
            SettingSource::Default => "default",
            SettingSource::System => "configuration file",
            SettingSource::CommandLine => "command line",
            SettingSource::AllRoles => "global",
            SettingSource::Database => "database",
            SettingSource::Role => "user",
            SettingSource::RoleInDatabase => "database user",
            SettingSource::Client => "client",
            SettingSource::Session => "session",
        }
    }
}
