//! `Command`: the statements that are the session's own business (transactions, settings, prepared statements, cursors).
//! `command_reader` reads them, `session` runs them.

use sqlparser::ast::ObjectName;

use super::catalog_update::CatalogUpdate;
use super::copy::Copy;
use super::definition::{Definition, RoleName, Upkeep, UpkeepKind};
use crate::error::ReadOnlyCursor;
use crate::types::{SqlType, Value};

/// What EXECUTE gives a prepared statement.
#[derive(Debug, Clone, PartialEq)]
pub struct ExecuteArguments {
    /// The constants, in the place of each argument; `None`: an expression.
    pub constants: Vec<Option<Value>>,
    /// `SELECT` of all arguments, where some are expressions. The places in it are those in the message.
    pub query: Option<String>,
}

/// A statement that the session runs itself.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// BEGIN; START TRANSACTION with `start`.
    Begin { modes: Modes, start: bool },
    /// COMMIT, END.
    Commit { chain: bool },
    /// ROLLBACK, ABORT.
    Rollback { chain: bool },
    /// SAVEPOINT.
    Savepoint { name: String },
    /// RELEASE.
    Release { name: String },
    /// ROLLBACK TO.
    RollbackTo { name: String },
    /// SET TRANSACTION.
    SetTransaction { modes: Modes },
    /// SET TRANSACTION SNAPSHOT.
    SetSnapshot { id: String },
    /// SET CONSTRAINTS; no names for ALL.
    SetConstraints { names: Vec<ObjectName>, deferred: bool },
    /// SET SESSION CHARACTERISTICS.
    SetCharacteristics { modes: Modes },
    /// SET; `values` is `None` for DEFAULT.
    Set {
        name: String,
        values: Option<Vec<String>>,
        local: bool,
    },
    /// RESET; `None` for ALL.
    Reset { name: Option<String> },
    /// SHOW; `None` for ALL.
    Show { name: Option<String> },
    /// PREPARE.
    Prepare {
        name: String,
        types: Vec<PreparedType>,
        text: String,
    },
    /// EXECUTE.
    Execute {
        name: String,
        arguments: ExecuteArguments,
    },
    /// CREATE TABLE … AS EXECUTE, explained or not: what stands before EXECUTE and behind its arguments.
    MakeOfExecute {
        before: String,
        name: String,
        arguments: ExecuteArguments,
        after: String,
    },
    /// EXPLAIN EXECUTE. `explain`: the words before EXECUTE.
    ExplainExecute {
        explain: String,
        name: String,
        arguments: ExecuteArguments,
    },
    /// DEALLOCATE; `None` for ALL.
    Deallocate { name: Option<String> },
    /// DISCARD ALL, PLANS, SEQUENCES, TEMP.
    Discard { what: Discard },
    /// DECLARE … CURSOR FOR query.
    Declare {
        name: String,
        options: CursorOptions,
        text: String,
    },
    /// FETCH, or MOVE.
    Fetch {
        name: String,
        movement: Movement,
        only_move: bool,
    },
    /// CLOSE; `None` for ALL.
    Close { name: Option<String> },
    /// CHECKPOINT: what it asks for is so already.
    Satisfied { tag: &'static str },
    /// LISTEN.
    Listen { channel: String },
    /// UNLISTEN; `None` for *.
    Unlisten { channel: Option<String> },
    /// NOTIFY.
    Notify { channel: String, payload: String },
    /// ALTER SYSTEM, DATABASE, ROLE … SET, RESET.
    AlterSettings { of: SettingsOf, change: SettingsChange },
    /// A definition that the parser has no tree of.
    Define(Definition),
    /// VACUUM, ANALYZE, REINDEX, CLUSTER, LOCK TABLE.
    Keep(Upkeep),
    /// COPY.
    Copy(Box<Copy>),
    /// LindormTable's USE.
    Use {
        /// The schema.
        schema: String,
    },
    /// DO.
    Do { language: String, code: String },
    /// UPDATE of a system catalog.
    UpdateCatalog(CatalogUpdate),
}

impl Command {
    /// Whether it runs in a transaction, by `sql`, as definitions, queries and writes do.
    pub fn is_of_sql(&self) -> bool {
        matches!(
            self,
            Command::AlterSettings { .. }
                | Command::Define(_)
                | Command::Keep(_)
                | Command::Copy(_)
                | Command::Do { .. }
                | Command::UpdateCatalog(_)
                | Command::SetConstraints { .. }
                | Command::Use { .. }
        )
    }

    /// What PostgreSQL calls it, where it begins or ends a transaction or a part of one.
    pub fn transaction_tag(&self) -> Option<&'static str> {
        Some(match self {
            Command::Begin { start: false, .. } => "BEGIN",
            Command::Begin { start: true, .. } => "START TRANSACTION",
            Command::Commit { .. } => "COMMIT",
            Command::Rollback { .. } | Command::RollbackTo { .. } => "ROLLBACK",
            Command::Savepoint { .. } => "SAVEPOINT",
            Command::Release { .. } => "RELEASE",
            _ => return None,
        })
    }

    /// Whether it only locks, so that a transaction that keeps its snapshot takes it behind that.
    pub fn only_locks(&self) -> bool {
        matches!(self, Command::Keep(upkeep) if matches!(upkeep.kind, UpkeepKind::Lock { .. }))
    }

    /// Whether it changes the catalog: its kind is a write.
    pub fn writes(&self) -> bool {
        matches!(
            self,
            Command::AlterSettings { .. } | Command::Define(_) | Command::UpdateCatalog(_)
        )
    }

    /// Its command tag, where that is its first two words.
    pub fn tag(&self) -> &'static str {
        match self {
            Command::AlterSettings { of, .. } => match of {
                SettingsOf::System => "ALTER SYSTEM",
                SettingsOf::Database { .. } => "ALTER DATABASE",
                SettingsOf::Role { .. } => "ALTER ROLE",
            },
            Command::Define(definition) => definition.tag(),
            Command::Keep(upkeep) => upkeep.kind.tag(),
            Command::SetConstraints { .. } => "SET CONSTRAINTS",
            Command::Use { .. } => "SET",
            Command::Do { .. } => "DO",
            // As messages name it: its own tag says how many rows there were.
            Command::UpdateCatalog(_) => "UPDATE of a system catalog",
            _ => "",
        }
    }
}

/// The type of a parameter of PREPARE.
#[derive(Debug, Clone, PartialEq)]
pub enum PreparedType {
    /// One that every database has.
    Known(SqlType),
    /// One that a user may have made, by its name, perhaps with a schema before and brackets behind it.
    Named(String),
}

/// Whose settings are altered: those that sessions begin with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingsOf {
    /// The server's.
    System,
    /// A database's.
    Database {
        /// Its name.
        name: String,
    },
    /// A role's.
    Role {
        /// The role.
        role: RoleName,
        /// IN DATABASE.
        database: Option<String>,
    },
}

/// How settings are altered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingsChange {
    /// SET name = values.
    Set {
        /// The setting.
        name: String,
        /// Its values.
        values: Vec<String>,
    },
    /// SET name FROM CURRENT.
    FromCurrent {
        /// The setting.
        name: String,
    },
    /// RESET; `None` for ALL.
    Reset {
        /// The setting.
        name: Option<String>,
    },
}

/// What DECLARE says of a cursor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CursorOptions {
    /// SCROLL, NO SCROLL; `None`: not said.
    pub scroll: Option<bool>,
    /// WITH HOLD.
    pub hold: bool,
    /// BINARY.
    pub binary: bool,
    /// INSENSITIVE, as every cursor is.
    pub insensitive: bool,
}

impl CursorOptions {
    /// The first of what is said that no cursor may be that locks rows.
    pub fn read_only_kind(&self) -> Option<ReadOnlyCursor> {
        match (self.hold, self.scroll, self.insensitive) {
            (true, ..) => Some(ReadOnlyCursor::Holdable),
            (_, Some(true), _) => Some(ReadOnlyCursor::Scrollable),
            (.., true) => Some(ReadOnlyCursor::Insensitive),
            _ => None,
        }
    }
}

/// Which rows FETCH gives, or MOVE passes over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Movement {
    /// So many next rows, backward when it is negative; 0 is the row that the cursor is on.
    Forward(i64),
    /// All next rows.
    ForwardAll,
    /// All rows before, the nearest first.
    BackwardAll,
    /// The row of this number, from the end when it is negative; 0 is before the first.
    Absolute(i64),
    /// The row so many from the one that the cursor is on.
    Relative(i64),
}

/// What DISCARD forgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Discard {
    /// Everything of the session.
    All,
    /// Cached plans.
    Plans,
    /// Cached sequence values.
    Sequences,
    /// Temporary tables.
    Temp,
}

/// Modes of a transaction; `None`: not said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Modes {
    /// ISOLATION LEVEL, lower case.
    pub isolation: Option<&'static str>,
    /// READ ONLY / READ WRITE.
    pub read_only: Option<bool>,
    /// [NOT] DEFERRABLE.
    pub deferrable: Option<bool>,
}
