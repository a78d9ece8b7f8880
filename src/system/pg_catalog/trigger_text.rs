//! Definitions of triggers as SQL text.

use super::ddl_text::qualified_table;
use super::shown_names::shown_expression;
use crate::catalog::{ConstraintTrigger, TriggerDef};
use crate::parse::quoting::quote_ident;
use crate::system::catalog_version::objects::{Objects, UserRelation};
use crate::system::catalog_version::triggers::UserTrigger;

/// The trigger of this oid, and its table.
pub(crate) fn trigger_of(objects: &Objects, oid: i64) -> Option<(&UserRelation, &UserTrigger)> {
    objects.relations.iter().find_map(|relation| {
        let mut triggers = relation.triggers.iter();
        let found = triggers.find(|trigger| i64::from(trigger.def.oid) == oid)?;
        Some((relation, found))
    })
}

/// pg_get_triggerdef; `pretty`: the table's schema only where the search path does not find it, and no parentheses that are not needed.
pub(crate) fn get_triggerdef(
    objects: &Objects,
    search_path: &[String],
    oid: i64,
    pretty: bool,
) -> Option<String> {
    let (relation, trigger) = trigger_of(objects, oid)?;
    let table = match pretty {
        true => objects.relation_display_name(relation.oid, search_path)?,
        false => qualified_table(relation),
    };
    let constraint = trigger.def.constraint;
    let when = trigger.def.when.as_ref().map(|when| {
        let text = if pretty { &when.pretty_text } else { &when.text };
        format!("WHEN ({}) ", shown_expression(text, objects, search_path))
    });
    Some(format!(
        "CREATE {}TRIGGER {} {} {} ON {table} {}{}FOR EACH {} {}{}",
        if constraint.is_some() { "CONSTRAINT " } else { "" },
        quote_ident(&trigger.def.name),
        trigger.def.timing.word(),
        trigger.events(),
        constraint.map_or("", deferral),
        referencing(&trigger.def),
        trigger.level(),
        when.unwrap_or_default(),
        trigger.action(search_path)
    ))
}

/// When a constraint trigger's function is called, as pg_get_triggerdef prints it.
fn deferral(constraint: ConstraintTrigger) -> &'static str {
    match (constraint.deferrable, constraint.initially_deferred) {
        (false, _) => "NOT DEFERRABLE INITIALLY IMMEDIATE ",
        (true, false) => "DEFERRABLE INITIALLY IMMEDIATE ",
        (true, true) => "DEFERRABLE INITIALLY DEFERRED ",
    }
}

/// `REFERENCING OLD TABLE AS o NEW TABLE AS n `, or nothing.
fn referencing(trigger: &TriggerDef) -> String {
    let tables = [("OLD", &trigger.old_table), ("NEW", &trigger.new_table)];
    let mut text = String::new();
    for (word, name) in tables {
        if let Some(name) = name {
            let before = if text.is_empty() { "REFERENCING " } else { "" };
            text += &format!("{before}{word} TABLE AS {} ", quote_ident(name));
        }
    }
    text
}
