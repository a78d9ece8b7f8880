//! What a statement within a function has that others have not, the function's variables; and a call of a function, as whoever computes
//! expressions asks for it.

use std::sync::Arc;

use super::CommonRows;
use crate::catalog::{RoutineDef, TableDef, TriggerEvent, TriggerTiming};
use crate::types::{SqlType, Value};

/// A variable that a statement may name.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// What may stand before its name, one of these: its function, its block's label.
    pub qualifiers: Vec<String>,
    /// The record that it is a field of.
    pub record: Option<String>,
    /// Its name.
    pub name: String,
    /// The parameter of the statement that has its value, from 1.
    pub parameter: usize,
    /// Its type.
    pub ty: SqlType,
}

/// The variables that a statement may name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Variables {
    /// All of them, the innermost first.
    pub all: Vec<Variable>,
    /// What a name means that is a column's, too.
    pub conflict: NameConflict,
}

/// See [`Variables`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NameConflict {
    /// The column.
    #[default]
    Column,
    /// The variable.
    Variable,
    /// Neither.
    Error,
}

impl Variables {
    /// The variable of an unqualified name.
    pub fn named(&self, name: &str) -> Option<&Variable> {
        self.all
            .iter()
            .find(|variable| variable.record.is_none() && variable.name == name)
    }

    /// The variable of a name behind that of its record, its function or its block.
    pub fn qualified(&self, before: &[String], name: &str) -> Option<&Variable> {
        self.all.iter().find(|variable| {
            let is_within = |qualifier: &String| variable.qualifiers.contains(qualifier);
            let fits = match (before, &variable.record) {
                ([record], Some(own)) => record == own,
                ([qualifier, record], Some(own)) => record == own && is_within(qualifier),
                ([qualifier], None) => is_within(qualifier),
                _ => false,
            };
            fits && variable.name == name
        })
    }
}

/// A call of a function.
#[derive(Debug)]
pub struct RoutineCall {
    /// What is called.
    pub routine: Arc<RoutineDef>,
    /// Its arguments, those of defaults too.
    pub arguments: Vec<Value>,
    /// Their types.
    pub types: Vec<SqlType>,
    /// The types of the columns that it gives.
    pub returns: Vec<SqlType>,
    /// What fired the trigger that calls it.
    pub trigger: Option<TriggerCall>,
}

/// What the function of a trigger is told. It answers the row that is to be written, or none.
#[derive(Debug, Clone)]
pub struct TriggerCall {
    /// The trigger's name.
    pub name: String,
    /// Its table.
    pub table: Arc<TableDef>,
    /// BEFORE, AFTER.
    pub timing: TriggerTiming,
    /// What fired it.
    pub event: TriggerEvent,
    /// ROW, not STATEMENT.
    pub for_each_row: bool,
    /// TG_ARGV.
    pub arguments: Vec<String>,
    /// The tables that REFERENCING names.
    pub tables: Arc<[CommonRows]>,
    /// The row as it was: a value for each column that users see.
    pub old: Option<Vec<Value>>,
    /// The row as it is to be, or is.
    pub new: Option<Vec<Value>>,
}

/// How deeply functions may call one another; PostgreSQL's stack bears some hundred levels.
pub const CALLS_MAX: usize = 400;
