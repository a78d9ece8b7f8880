//! CREATE, ALTER, DROP and COMMENT ON of triggers as they were written.

use serde::{Deserialize, Serialize};
use sqlparser::ast::{Expr, ObjectName};

/// When a trigger fires.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerTiming {
    /// Before the row is written, or the statement's first is.
    Before,
    /// When the statement has written all its rows.
    After,
    /// In the place of writing a view's row.
    InsteadOf,
}

impl TriggerTiming {
    /// The word of it.
    pub fn word(self) -> &'static str {
        match self {
            TriggerTiming::Before => "BEFORE",
            TriggerTiming::After => "AFTER",
            TriggerTiming::InsteadOf => "INSTEAD OF",
        }
    }
}

/// What fires a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerEvent {
    /// INSERT.
    Insert,
    /// DELETE.
    Delete,
    /// UPDATE.
    Update,
    /// TRUNCATE.
    Truncate,
}

impl TriggerEvent {
    /// The word of it.
    pub fn word(self) -> &'static str {
        match self {
            TriggerEvent::Insert => "INSERT",
            TriggerEvent::Delete => "DELETE",
            TriggerEvent::Update => "UPDATE",
            TriggerEvent::Truncate => "TRUNCATE",
        }
    }
}

/// CREATE CONSTRAINT TRIGGER: when its function is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConstraintTrigger {
    /// DEFERRABLE: SET CONSTRAINTS says when.
    pub deferrable: bool,
    /// INITIALLY DEFERRED: when the transaction commits, unless SET CONSTRAINTS says otherwise.
    pub initially_deferred: bool,
}

/// A name in REFERENCING.
#[derive(Debug, Clone, PartialEq)]
pub struct TransitionName {
    /// NEW, not OLD.
    pub is_new: bool,
    /// TABLE, not ROW.
    pub is_table: bool,
    /// The name.
    pub name: String,
}

/// CREATE TRIGGER.
#[derive(Debug, Clone, PartialEq)]
pub struct NewTrigger {
    /// OR REPLACE.
    pub or_replace: bool,
    /// CONSTRAINT.
    pub constraint: Option<ConstraintTrigger>,
    /// Its name.
    pub name: String,
    /// BEFORE, AFTER.
    pub timing: TriggerTiming,
    /// What fires it.
    pub events: Vec<TriggerEvent>,
    /// UPDATE OF.
    pub update_of: Vec<String>,
    /// ON.
    pub table: ObjectName,
    /// REFERENCING.
    pub referencing: Vec<TransitionName>,
    /// FOR EACH ROW.
    pub for_each_row: bool,
    /// WHEN.
    pub when: Option<Expr>,
    /// EXECUTE FUNCTION.
    pub function: ObjectName,
    /// The function's arguments.
    pub arguments: Vec<String>,
}

/// A definition of a trigger.
#[derive(Debug, Clone, PartialEq)]
pub enum TriggerDefinition {
    /// CREATE TRIGGER.
    Create(Box<NewTrigger>),
    /// DROP TRIGGER.
    Drop {
        name: String,
        table: ObjectName,
        if_exists: bool,
    },
    /// ALTER TRIGGER … RENAME TO.
    Rename {
        name: String,
        table: ObjectName,
        new: String,
    },
    /// COMMENT ON TRIGGER.
    Comment {
        name: String,
        table: ObjectName,
        comment: Option<String>,
    },
}

impl TriggerDefinition {
    /// Its command tag.
    pub fn tag(&self) -> &'static str {
        match self {
            TriggerDefinition::Create(_) => "CREATE TRIGGER",
            TriggerDefinition::Drop { .. } => "DROP TRIGGER",
            TriggerDefinition::Rename { .. } => "ALTER TRIGGER",
            TriggerDefinition::Comment { .. } => "COMMENT",
        }
    }
}
