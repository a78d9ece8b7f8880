//! Triggers as the catalogs show them.

use crate::catalog::{Catalog, ColumnDef, TableDef, TriggerDef, TriggerEvent, TriggerTiming};
use crate::parse::quoting::{qualified, quote_ident, quote_literal};
use crate::system::trigger_functions::get_trigger_function;

/// A trigger, with what its record names by number.
#[derive(Debug)]
pub(crate) struct UserTrigger {
    pub(crate) def: TriggerDef,
    /// The schema and name of its function.
    pub(crate) function: (String, String),
    /// UPDATE OF: attribute numbers and names.
    pub(crate) columns: Vec<(usize, String)>,
}

/// Those of a table.
pub(super) fn user_triggers(catalog: &Catalog, table: &TableDef) -> Vec<UserTrigger> {
    let visible: Vec<&ColumnDef> = table.visible_columns().collect();
    shown_triggers(catalog, &table.triggers, &visible)
}

/// Triggers of what has these columns.
pub(super) fn shown_triggers(
    catalog: &Catalog,
    triggers: &[TriggerDef],
    columns: &[&ColumnDef],
) -> Vec<UserTrigger> {
    let triggers = triggers.iter().map(|def| {
        let mut routines = catalog.routines.iter();
        let function = routines.find(|routine| routine.oid == def.function);
        let function = function.or_else(|| get_trigger_function(def.function));
        let visible = columns.iter().enumerate();
        let named = visible.filter(|(_, column)| def.update_of.contains(&column.id));
        UserTrigger {
            def: def.clone(),
            function: function
                .map(|function| (function.schema.clone(), function.name.clone()))
                .unwrap_or_default(),
            columns: named.map(|(at, column)| (at + 1, column.name.clone())).collect(),
        }
    });
    triggers.collect()
}

impl UserTrigger {
    /// pg_trigger.tgtype.
    pub(crate) fn type_bits(&self) -> i16 {
        let mut bits = i16::from(self.def.for_each_row);
        bits |= match self.def.timing {
            TriggerTiming::Before => 2,
            TriggerTiming::InsteadOf => 64,
            TriggerTiming::After => 0,
        };
        for event in &self.def.events {
            bits |= match event {
                TriggerEvent::Insert => 4,
                TriggerEvent::Delete => 8,
                TriggerEvent::Update => 16,
                TriggerEvent::Truncate => 32,
            };
        }
        bits
    }

    /// ROW, STATEMENT.
    pub(crate) fn level(&self) -> &'static str {
        match self.def.for_each_row {
            true => "ROW",
            false => "STATEMENT",
        }
    }

    /// `EXECUTE FUNCTION f('x')`.
    pub(crate) fn action(&self, search_path: &[String]) -> String {
        let (schema, name) = &self.function;
        let function = match search_path.contains(schema) || schema == "pg_catalog" {
            true => quote_ident(name),
            false => qualified(schema, name),
        };
        let arguments = self.def.arguments.iter();
        let arguments: Vec<String> = arguments.map(|argument| quote_literal(argument)).collect();
        format!("EXECUTE FUNCTION {function}({})", arguments.join(", "))
    }

    /// `INSERT OR UPDATE OF a`.
    pub(crate) fn events(&self) -> String {
        let events = self.def.events.iter().map(|event| {
            if *event != TriggerEvent::Update || self.columns.is_empty() {
                return event.word().to_string();
            }
            let names = self.columns.iter().map(|(_, name)| quote_ident(name));
            format!("UPDATE OF {}", names.collect::<Vec<_>>().join(", "))
        });
        events.collect::<Vec<_>>().join(" OR ")
    }
}
