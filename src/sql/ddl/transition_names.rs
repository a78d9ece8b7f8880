//! REFERENCING of CREATE TRIGGER: which tables a trigger may name, and how.

use crate::catalog::{TableDef, TriggerEvent, TriggerRow, TriggerTiming, ViewDef};
use crate::error::Raised;
use crate::parse::trigger::NewTrigger;
use crate::{Error, Result};

/// The names of the tables of OLD and of NEW rows.
pub(super) type TransitionNames = (Option<String>, Option<String>);

/// Those of a trigger of a table. Errors: 42P17, 0A000 where it may not have them.
pub(super) fn of_table(new: &NewTrigger, table: &TableDef) -> Result<TransitionNames> {
    if new.referencing.is_empty() {
        return Ok((None, None));
    }
    check_kind(new)?;
    if new.for_each_row && table.partitioning.is_some() {
        return Err(Raised {
            detail: Some(
                "ROW triggers with transition tables are not supported on partitioned tables.".to_string(),
            ),
            ..Raised::new("0A000", format!("\"{}\" is a partitioned table", table.name))
        }
        .into());
    }
    if new.for_each_row && table.partition.is_some() {
        return Err(unsupported(
            "ROW triggers with transition tables are not supported on partitions",
        ));
    }
    names(new)
}

/// Errors: 42809 for a trigger of a view that has some.
pub(super) fn check_none_of_view(new: &NewTrigger, view: &ViewDef) -> Result<()> {
    match new.referencing.is_empty() {
        true => Ok(()),
        false => Err(Raised {
            detail: Some("Triggers on views cannot have transition tables.".to_string()),
            ..Raised::new("42809", format!("\"{}\" is a view", view.name))
        }
        .into()),
    }
}

/// Errors: 0A000 for a table that has a trigger which no partition may have.
pub(super) fn check_none_of_partition(table: &TableDef) -> Result<()> {
    let mut triggers = table.triggers.iter();
    match triggers.find(|trigger| trigger.for_each_row && trigger.has_transition_tables()) {
        None => Ok(()),
        Some(trigger) => Err(Raised {
            detail: Some("ROW triggers with transition tables are not supported on partitions.".to_string()),
            ..Raised::new(
                "0A000",
                format!(
                    "trigger \"{}\" prevents table \"{}\" from becoming a partition",
                    trigger.name, table.name
                ),
            )
        }
        .into()),
    }
}

/// What no trigger with such tables may be.
fn check_kind(new: &NewTrigger) -> Result<()> {
    if new.referencing.iter().any(|named| !named.is_table) {
        return Err(Raised {
            hint: Some("Use OLD TABLE or NEW TABLE for naming transition tables.".to_string()),
            ..Raised::new(
                "0A000",
                "ROW variable naming in the REFERENCING clause is not supported",
            )
        }
        .into());
    }
    if new.timing != TriggerTiming::After {
        return Err(invalid(
            "transition table name can only be specified for an AFTER trigger",
        ));
    }
    if new.events.contains(&TriggerEvent::Truncate) {
        return Err(unsupported(
            "TRUNCATE triggers with transition tables are not supported",
        ));
    }
    if new.events.len() > 1 {
        return Err(unsupported(
            "transition tables cannot be specified for triggers with more than one event",
        ));
    }
    if !new.update_of.is_empty() {
        return Err(unsupported(
            "transition tables cannot be specified for triggers with column lists",
        ));
    }
    Ok(())
}

fn names(new: &NewTrigger) -> Result<TransitionNames> {
    let (mut old_table, mut new_table) = (None, None);
    for named in &new.referencing {
        let (row, place, lacking, events) = match named.is_new {
            true => (
                TriggerRow::New,
                &mut new_table,
                TriggerEvent::Delete,
                "an INSERT or UPDATE",
            ),
            false => (
                TriggerRow::Old,
                &mut old_table,
                TriggerEvent::Insert,
                "a DELETE or UPDATE",
            ),
        };
        let word = row.name().to_uppercase();
        if new.events.contains(&lacking) {
            return Err(invalid(format!(
                "{word} TABLE can only be specified for {events} trigger"
            )));
        }
        if place.is_some() {
            return Err(invalid(format!(
                "{word} TABLE cannot be specified multiple times"
            )));
        }
        *place = Some(named.name.clone());
    }
    match old_table.is_some() && old_table == new_table {
        true => Err(invalid("OLD TABLE name and NEW TABLE name cannot be the same")),
        false => Ok((old_table, new_table)),
    }
}

fn invalid(message: impl Into<String>) -> Error {
    Raised::new("42P17", message).into()
}

fn unsupported(message: &str) -> Error {
    Raised::new("0A000", message).into()
}
