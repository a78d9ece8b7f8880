//! Definitions follow a new name of what their texts name: a type's, a function's, a schema's. Called by who gives it.

use std::sync::Arc;

use super::body_text;
use super::named_in_text::Renaming;
use crate::Result;
use crate::catalog::{
    BodyKind, CatalogWriter, CheckConstraint, ColumnDefault, DomainDef, ExpressionText, IndexDef, Language,
    Relation, RoutineDef, TableDef, TriggerDef, TypeDef, TypeKind, ViewDef,
};
use crate::system::StatementContext;

/// Writes all definitions anew that name something by the old name. Errors: 0A000 for the body of a function that cannot be.
pub(super) fn follow(ctx: &StatementContext, writer: &CatalogWriter<'_>, new: &Renaming<'_>) -> Result<()> {
    for relation in ctx.catalog.relations.iter() {
        if let Some(renamed) = relation_renamed(relation, new) {
            writer.guard_dependents(renamed.oid());
            writer.put_query(&renamed)?;
        }
    }
    follow_outside(ctx, writer, new, |_| false, |_| false)
}

/// The same of types and functions alone, without those that the caller writes.
pub(super) fn follow_outside(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    new: &Renaming<'_>,
    is_own_type: impl Fn(&TypeDef) -> bool,
    is_own_routine: impl Fn(&RoutineDef) -> bool,
) -> Result<()> {
    for ty in ctx.catalog.types.iter().filter(|ty| !is_own_type(ty)) {
        if let Some(renamed) = type_renamed(ty, new) {
            writer.put_type(&renamed)?;
        }
    }
    let routines = ctx.catalog.routines.iter();
    for routine in routines.filter(|routine| !is_own_routine(routine)) {
        if let Some(renamed) = routine_renamed(routine, new)? {
            writer.put_routine(&renamed)?;
        }
    }
    Ok(())
}

/// A relation with the new name in its texts. `None`: it does not name it.
pub(super) fn relation_renamed(relation: &Relation, new: &Renaming<'_>) -> Option<Relation> {
    match relation {
        Relation::Table(table) => table_renamed(table, new).map(|table| Relation::Table(Arc::new(table))),
        Relation::View(view) => view_renamed(view, new).map(|view| Relation::View(Arc::new(view))),
        Relation::Sequence(_) => None,
    }
}

/// A relation with the new name in what is shown of its query, as it was in that of another record of it.
pub(super) fn printed_as(relation: &Relation, known: &Relation, new: &Renaming<'_>) -> Relation {
    match (relation, known) {
        (Relation::View(view), Relation::View(known)) => Relation::View(Arc::new(ViewDef {
            printed: (known.printed.as_ref()).and_then(|printed| new.printed_query(printed)),
            ..ViewDef::clone(view)
        })),
        (Relation::Table(table), Relation::Table(known)) => {
            let mut table = TableDef::clone(table);
            let printed = known.stored_query.as_ref();
            let printed = printed.and_then(|stored| stored.printed.as_ref());
            if let Some(stored) = &mut table.stored_query {
                stored.printed = printed.and_then(|printed| new.printed_query(printed));
            }
            Relation::Table(Arc::new(table))
        }
        (relation, _) => relation.clone(),
    }
}

fn table_renamed(known: &TableDef, new: &Renaming<'_>) -> Option<TableDef> {
    let mut table = known.clone();
    let mut has_changed = false;
    for column in table.columns.iter_mut().chain(&mut table.wildcards) {
        if let Some(default) = &mut column.default {
            has_changed |= rename_default(default, new);
        }
    }
    for check in &mut table.checks {
        has_changed |= rename_check(check, new);
    }
    for index in &mut table.indexes {
        has_changed |= rename_index(index, new);
    }
    for trigger in &mut table.triggers {
        has_changed |= rename_trigger(trigger, new);
    }
    if let Some(stored) = &mut table.stored_query {
        if let Some(query) = new.query(&stored.query, &stored.search_path) {
            stored.query = query;
            has_changed = true;
        }
        let printed = (stored.printed.as_ref()).and_then(|printed| new.printed_query(printed));
        has_changed |= printed != stored.printed;
        stored.printed = printed;
    }
    has_changed.then_some(table)
}

fn view_renamed(known: &ViewDef, new: &Renaming<'_>) -> Option<ViewDef> {
    let mut view = known.clone();
    let mut has_changed = false;
    if let Some(query) = new.query(&view.query, &view.search_path) {
        view.query = query;
        has_changed = true;
    }
    let printed = (view.printed.as_ref()).and_then(|printed| new.printed_query(printed));
    has_changed |= printed != view.printed;
    view.printed = printed;
    for trigger in &mut view.triggers {
        has_changed |= rename_trigger(trigger, new);
    }
    has_changed.then_some(view)
}

/// A domain with the new name in its texts.
pub(super) fn type_renamed(known: &TypeDef, new: &Renaming<'_>) -> Option<TypeDef> {
    let TypeKind::Domain(domain) = &known.kind else {
        return None;
    };
    let mut domain = DomainDef::clone(domain);
    let mut has_changed = false;
    if let Some(default) = &mut domain.default {
        has_changed |= put(default, |text| new.expression(text));
    }
    for check in &mut domain.checks {
        if put(&mut check.sql, |text| new.expression(text)) {
            put(&mut check.text, |text| new.printed(text));
            put(&mut check.pretty_text, |text| new.printed(text));
            has_changed = true;
        }
    }
    has_changed.then(|| TypeDef {
        kind: TypeKind::Domain(domain),
        ..known.clone()
    })
}

/// A function with the new name in its defaults, and in a body that is no string. Errors: 0A000 for a body of several statements.
pub(super) fn routine_renamed(known: &RoutineDef, new: &Renaming<'_>) -> Result<Option<RoutineDef>> {
    let mut routine = known.clone();
    let mut has_changed = false;
    for argument in &mut routine.arguments {
        if let Some(default) = &mut argument.default {
            has_changed |= put(default, |text| new.expression(text));
        }
    }
    let body = match (routine.body_kind, routine.language) {
        (BodyKind::Text, _) | (_, Language::Plpgsql) => None,
        (BodyKind::Return, _) => new.expression_along(&routine.body, &routine.search_path),
        (BodyKind::Atomic, _) => match new.query(&routine.body, &routine.search_path) {
            None if new.may_be_in(&routine.body) => {
                return Err(body_text::cannot_follow(&routine));
            }
            body => body,
        },
    };
    has_changed |= put(&mut routine.body, |_| body);
    Ok(has_changed.then_some(routine))
}

fn rename_default(default: &mut ColumnDefault, new: &Renaming<'_>) -> bool {
    match default {
        ColumnDefault::Constant { sql, text, .. } => {
            let is_read = put(sql, |text| new.expression(text));
            rename_text(text, new) || is_read
        }
        ColumnDefault::Expression { sql, text, .. } => {
            let is_read = put(sql, |text| new.expression(text));
            rename_text(text, new) || is_read
        }
        ColumnDefault::Generated(generation) => {
            let is_read = put(&mut generation.sql, |text| new.expression(text));
            if let Some(written) = &mut generation.written {
                put(written, |text| new.expression(text));
            }
            rename_text(&mut generation.text, new) || is_read
        }
        ColumnDefault::Sequence { .. } | ColumnDefault::Identity { .. } | ColumnDefault::RowId => false,
    }
}

fn rename_check(check: &mut CheckConstraint, new: &Renaming<'_>) -> bool {
    let is_read = put(&mut check.sql, |text| new.expression(text));
    let is_shown = put(&mut check.text, |text| new.printed(text));
    put(&mut check.pretty_text, |text| new.printed(text)) || is_shown || is_read
}

fn rename_index(index: &mut IndexDef, new: &Renaming<'_>) -> bool {
    let mut has_changed = false;
    for expression in index.expressions.iter_mut().chain(&mut index.predicate) {
        has_changed |= put(&mut expression.text, |text| new.printed(text));
        has_changed |= put(&mut expression.pretty_text, |text| new.printed(text));
    }
    has_changed
}

fn rename_trigger(trigger: &mut TriggerDef, new: &Renaming<'_>) -> bool {
    let Some(when) = &mut trigger.when else {
        return false;
    };
    let is_read = put(&mut when.sql, |text| new.expression(text));
    put(&mut when.text, |text| new.printed(text));
    put(&mut when.pretty_text, |text| new.printed(text));
    is_read
}

fn rename_text(text: &mut Option<ExpressionText>, new: &Renaming<'_>) -> bool {
    let Some(text) = text else { return false };
    let has_changed = put(&mut text.plain, |text| new.printed(text));
    put(&mut text.pretty, |text| new.printed(text)) || has_changed
}

/// Whether there is a new text, which is taken.
fn put(text: &mut String, new: impl FnOnce(&str) -> Option<String>) -> bool {
    match new(text) {
        Some(new) => {
            *text = new;
            true
        }
        None => false,
    }
}
