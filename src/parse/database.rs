//! `DatabaseDefinition`: CREATE, ALTER, DROP and COMMENT ON DATABASE. `database_reader` reads them, `sql::ddl::database` runs them; ALTER
//! DATABASE … SET and RESET are settings'.

use super::role_name::RoleName;

/// A change of the databases there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabaseDefinition {
    /// CREATE DATABASE.
    Create {
        name: String,
        if_not_exists: bool,
        /// Each at most once.
        options: Vec<DatabaseOption>,
    },
    /// DROP DATABASE; `force`: its sessions are ended first.
    Drop {
        name: String,
        if_exists: bool,
        force: bool,
    },
    /// ALTER DATABASE.
    Alter { name: String, change: DatabaseChange },
    /// COMMENT ON DATABASE; an empty comment is none.
    Comment { name: String, comment: Option<String> },
}

/// What ALTER DATABASE changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabaseChange {
    /// RENAME TO.
    Rename(String),
    /// OWNER TO.
    Owner(RoleName),
    /// SET TABLESPACE.
    Tablespace(String),
    /// REFRESH COLLATION VERSION.
    RefreshCollation,
    /// WITH: each option at most once.
    Options(Vec<DatabaseOption>),
}

/// An option of a database, with its value as text; `None`: DEFAULT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseOption {
    /// In lower case: `connection_limit`, `owner`, `template` …
    pub name: String,
    /// Its value.
    pub value: Option<String>,
    /// Where it stands in the text; bytes.
    pub position: usize,
}

impl DatabaseDefinition {
    /// Its command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            DatabaseDefinition::Create { .. } => "CREATE DATABASE",
            DatabaseDefinition::Drop { .. } => "DROP DATABASE",
            DatabaseDefinition::Alter { .. } => "ALTER DATABASE",
            DatabaseDefinition::Comment { .. } => "COMMENT",
        }
    }
}
