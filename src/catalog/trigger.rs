//! Triggers of a table: which writes call which function, and when. Knows nothing of what the functions say.

use serde::{Deserialize, Serialize};

use crate::codec::row::ColumnId;
pub use crate::parse::trigger::{ConstraintTrigger, TriggerEvent, TriggerTiming};

/// A trigger. A table's stand in the order of their names, which is that in which they fire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TriggerDef {
    /// Its oid in pg_trigger.
    pub oid: u32,
    /// Its name, which no other trigger of the table has.
    pub name: String,
    /// It is a constraint, too, with the same oid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constraint: Option<ConstraintTrigger>,
    /// BEFORE, AFTER.
    pub timing: TriggerTiming,
    /// FOR EACH ROW, not STATEMENT.
    pub for_each_row: bool,
    /// What fires it.
    pub events: Vec<TriggerEvent>,
    /// REFERENCING OLD TABLE: under which name its function finds the rows as they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_table: Option<String>,
    /// REFERENCING NEW TABLE: the same of the rows as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_table: Option<String>,
    /// UPDATE OF: the columns that a statement must name; empty: any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub update_of: Vec<ColumnId>,
    /// WHEN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<TriggerCondition>,
    /// The oid of its function.
    pub function: u32,
    /// What the function finds in TG_ARGV.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arguments: Vec<String>,
    /// ENABLE, DISABLE.
    #[serde(default)]
    pub state: TriggerState,
    /// COMMENT ON TRIGGER.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// A row that a condition may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriggerRow {
    /// OLD.
    Old,
    /// NEW.
    New,
}

impl TriggerRow {
    /// The relation that it is the row of.
    pub fn name(self) -> &'static str {
        match self {
            TriggerRow::Old => "old",
            TriggerRow::New => "new",
        }
    }
}

impl TriggerDef {
    /// Whether the call of its function may wait for the end of the transaction.
    pub fn is_deferrable(&self) -> bool {
        self.constraint.is_some_and(|constraint| constraint.deferrable)
    }

    /// REFERENCING: the name of the table of these rows.
    pub fn table_of(&self, row: TriggerRow) -> Option<&String> {
        match row {
            TriggerRow::Old => self.old_table.as_ref(),
            TriggerRow::New => self.new_table.as_ref(),
        }
    }

    /// Whether it has REFERENCING.
    pub fn has_transition_tables(&self) -> bool {
        self.old_table.is_some() || self.new_table.is_some()
    }

    /// The rows that its condition may name: those that all of its events have.
    pub fn rows_named(&self) -> &'static [TriggerRow] {
        rows_of_events(&self.events, self.for_each_row)
    }
}

/// The rows that all of these events have.
pub fn rows_of_events(events: &[TriggerEvent], for_each_row: bool) -> &'static [TriggerRow] {
    let has_old = for_each_row && !events.contains(&TriggerEvent::Insert);
    let has_new = for_each_row && !events.contains(&TriggerEvent::Delete);
    match (has_old, has_new) {
        (true, true) => &[TriggerRow::Old, TriggerRow::New],
        (true, false) => &[TriggerRow::Old],
        (false, true) => &[TriggerRow::New],
        (false, false) => &[],
    }
}

/// Whether a trigger fires.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TriggerState {
    /// ENABLE: unless session_replication_role is replica.
    #[default]
    Enabled,
    /// DISABLE.
    Disabled,
    /// ENABLE REPLICA: where session_replication_role is replica.
    Replica,
    /// ENABLE ALWAYS.
    Always,
}

impl TriggerState {
    /// As pg_trigger tells it.
    pub fn letter(self) -> &'static str {
        match self {
            TriggerState::Enabled => "O",
            TriggerState::Disabled => "D",
            TriggerState::Replica => "R",
            TriggerState::Always => "A",
        }
    }

    /// `replays`: session_replication_role is replica.
    pub fn fires(self, replays: bool) -> bool {
        match self {
            TriggerState::Enabled => !replays,
            TriggerState::Disabled => false,
            TriggerState::Replica => replays,
            TriggerState::Always => true,
        }
    }
}

/// WHEN (…): a condition over columns of the relations `old` and `new`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TriggerCondition {
    /// What is evaluated.
    pub sql: String,
    /// The same as pg_get_triggerdef prints it.
    pub text: String,
    /// The same without parentheses that are not needed.
    pub pretty_text: String,
    /// The columns that it names, by rising id.
    pub columns: Vec<ColumnId>,
}
