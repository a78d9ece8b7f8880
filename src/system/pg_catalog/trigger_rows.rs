//! Rows of the catalogs that tell of triggers: `pg_trigger`, and information_schema's.

use std::collections::HashMap;

use super::object_class::{CLASS_CLASS, PROCEDURE_CLASS, TRIGGER_CLASS};
use super::relation_rows::{Constants, RelationRows, Source, boolean, text};
use crate::catalog::TriggerEvent;

/// What all rows of `pg_trigger` have in common.
pub(super) const TRIGGER: Constants = &[
    ("tgisinternal", "f"),
    ("tgconstrrelid", "0"),
    ("tgconstrindid", "0"),
];

/// `pg_trigger`.
pub(super) fn triggers(source: &Source<'_>, rows: &mut RelationRows) {
    for relation in &source.objects.relations {
        let above = relation
            .partition
            .as_ref()
            .and_then(|of| source.objects.table(of.parent));
        for trigger in &relation.triggers {
            let def = &trigger.def;
            let constraint = def.constraint;
            let parent = above.and_then(|above| {
                let mut triggers = above.triggers.iter().map(|trigger| &trigger.def);
                triggers.find(|above| above.for_each_row && def.for_each_row && above.name == def.name)
            });
            let columns: Vec<String> = trigger.columns.iter().map(|(at, _)| at.to_string()).collect();
            rows.push(&[
                ("oid", text(def.oid)),
                ("tgparentid", text(parent.map_or(0, |parent| parent.oid))),
                ("tgrelid", text(relation.oid)),
                ("tgname", text(&def.name)),
                ("tgfoid", text(def.function)),
                ("tgtype", text(trigger.type_bits())),
                ("tgenabled", text(def.state.letter())),
                ("tgnargs", text(def.arguments.len())),
                ("tgattr", text(columns.join(" "))),
                ("tgargs", text(argument_bytes(&def.arguments))),
                ("tgconstraint", text(constraint.map_or(0, |_| def.oid))),
                ("tgdeferrable", boolean(def.is_deferrable())),
                (
                    "tginitdeferred",
                    boolean(constraint.is_some_and(|constraint| constraint.initially_deferred)),
                ),
                ("tgoldtable", def.old_table.clone()),
                ("tgnewtable", def.new_table.clone()),
                ("tgqual", def.when.as_ref().map(|when| when.text.clone())),
            ]);
        }
    }
}

/// The arguments, each with a zero behind it.
fn argument_bytes(arguments: &[String]) -> String {
    let ended = |argument: &String| format!("{}\\000", argument.replace('\\', "\\\\"));
    arguments.iter().map(ended).collect()
}

/// `information_schema.triggers`: a row for each event but TRUNCATE.
pub(super) fn standard_triggers(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    for relation in &source.objects.relations {
        let mut numbers: HashMap<(TriggerEvent, i16), usize> = HashMap::new();
        for trigger in &relation.triggers {
            let def = &trigger.def;
            for event in def
                .events
                .iter()
                .filter(|event| **event != TriggerEvent::Truncate)
            {
                // Level and moment.
                let kind = (*event, trigger.type_bits() & 3);
                let number = numbers.entry(kind).or_default();
                *number += 1;
                rows.push(&[
                    ("trigger_catalog", database.clone()),
                    ("trigger_schema", text(&relation.schema)),
                    ("trigger_name", text(&def.name)),
                    ("event_manipulation", text(event.word())),
                    ("event_object_catalog", database.clone()),
                    ("event_object_schema", text(&relation.schema)),
                    ("event_object_table", text(&relation.name)),
                    ("action_order", text(*number)),
                    (
                        "action_condition",
                        def.when.as_ref().map(|when| when.text.clone()),
                    ),
                    (
                        "action_statement",
                        text(trigger.action(&source.ctx.settings.search_path)),
                    ),
                    ("action_orientation", text(trigger.level())),
                    ("action_timing", text(def.timing.word())),
                    ("action_reference_old_table", def.old_table.clone()),
                    ("action_reference_new_table", def.new_table.clone()),
                ]);
            }
        }
    }
}

/// `information_schema.triggered_update_columns`.
pub(super) fn update_columns(source: &Source<'_>, rows: &mut RelationRows) {
    let database = text(&source.ctx.database);
    for relation in &source.objects.relations {
        for trigger in &relation.triggers {
            for (_, column) in &trigger.columns {
                rows.push(&[
                    ("trigger_catalog", database.clone()),
                    ("trigger_schema", text(&relation.schema)),
                    ("trigger_name", text(&trigger.def.name)),
                    ("event_object_catalog", database.clone()),
                    ("event_object_schema", text(&relation.schema)),
                    ("event_object_table", text(&relation.name)),
                    ("event_object_column", text(column)),
                ]);
            }
        }
    }
}

/// `pg_depend`, of triggers: on their tables, which they go with, on their functions, and on the columns that they name.
pub(super) fn dependencies(source: &Source<'_>, rows: &mut RelationRows) {
    for relation in &source.objects.relations {
        for trigger in &relation.triggers {
            let mut push = |class: i64, oid: i64, column: usize, kind: &str| {
                rows.depend((TRIGGER_CLASS, trigger.def.oid), (class, oid), column, kind);
            };
            push(CLASS_CLASS, relation.oid, 0, "a");
            push(PROCEDURE_CLASS, i64::from(trigger.def.function), 0, "n");
            for (column, _) in &trigger.columns {
                push(CLASS_CLASS, relation.oid, *column, "n");
            }
        }
    }
}
