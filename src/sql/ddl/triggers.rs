//! CREATE, ALTER, DROP and COMMENT ON TRIGGER, and ALTER TABLE … ENABLE and DISABLE TRIGGER. When triggers fire stands in `sql::dml`.

use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{Expr, Ident, ObjectName, Spanned};

use super::routine_ref::found_routine;
use super::{notice, notice_cascade, row_expression, transition_names};
use crate::catalog::{
    Access, CatalogWriter, ColumnDef, Object, RoutineDef, RoutineResult, TableDef, TriggerCondition,
    TriggerDef, TriggerEvent, TriggerRow, TriggerState, TriggerTiming, ViewDef, dependents_key,
    is_system_schema, rows_of_events,
};
use crate::codec::row::ColumnId;
use crate::error::{DuplicateKind, Raised, StatementFault};
use crate::parse::routine::{RoutineRef, RoutineWord};
use crate::parse::trigger::{NewTrigger, TriggerDefinition};
use crate::parse::walk::{visit_expressions, visit_expressions_mut};
use crate::parse::{names, text_place};
use crate::query::condition_of_relations;
use crate::sql::dml;
use crate::sql::relation::{relation, relation_if_exists};
use crate::store::LockMode;
use crate::system::{StatementContext, trigger_function_named};
use crate::{Error, Result};

/// Runs a definition. Errors: 42P01, 42704, 42710, 42883, 42P17.
pub(super) async fn execute(ctx: &StatementContext, definition: &TriggerDefinition) -> Result<()> {
    match definition {
        TriggerDefinition::Create(new) => Box::pin(create(ctx, new)).await,
        TriggerDefinition::Drop {
            name,
            table,
            if_exists,
        } => Box::pin(drop(ctx, name, table, *if_exists)).await,
        TriggerDefinition::Rename { name, table, new } => change(ctx, (name, table), |triggers, at| {
            if triggers.iter().any(|known| known.name == *new) {
                return Err(taken(new, &names::last_name(table).unwrap_or_default()));
            }
            triggers[at].name.clone_from(new);
            sort(triggers);
            Ok(())
        }),
        TriggerDefinition::Comment { name, table, comment } => change(ctx, (name, table), |triggers, at| {
            triggers[at].comment.clone_from(comment);
            Ok(())
        }),
    }
}

async fn create(ctx: &StatementContext, new: &NewTrigger) -> Result<()> {
    if new.timing == TriggerTiming::InsteadOf
        && let Object::View(view) = relation(ctx, &new.table, Access::Name)?
    {
        return create_of_view(ctx, view, new).await;
    }
    if new.constraint.is_some() && new.or_replace {
        return Err(Raised::new("0A000", "CREATE OR REPLACE CONSTRAINT TRIGGER is not supported").into());
    }
    let table = table_of(ctx, new)?;
    let known = table.trigger(&new.name);
    if known.is_some() && !new.or_replace {
        return Err(taken(&new.name, &table.name));
    }
    if new.for_each_row && new.events.contains(&TriggerEvent::Truncate) {
        return Err(Error::InvalidStatement {
            state: StatementFault::NotImplemented,
            message: "TRUNCATE FOR EACH ROW triggers are not supported".to_string(),
            hint: Some("Write FOR EACH STATEMENT.".to_string()),
        });
    }
    let tables = transition_names::of_table(new, &table)?;
    let update_of = new.update_of.iter().map(|name| column_of(&table, name));
    let update_of: Vec<ColumnId> = update_of.collect::<Result<_>>()?;
    let when = new
        .when
        .as_ref()
        .map(|when| condition(ctx, &table, new, when))
        .transpose()?;
    let (old_table, new_table) = tables;
    let trigger = TriggerDef {
        old_table,
        new_table,
        ..defined(ctx, new, known, (update_of, when)).await?
    };
    let mut changed = TableDef::clone(&table);
    changed.triggers.retain(|known| known.name != new.name);
    changed.triggers.push(trigger);
    sort(&mut changed.triggers);
    put(ctx, changed)?;
    if !new.for_each_row {
        return Ok(());
    }
    for partition in ctx.partitions_of(&table)? {
        let of_partition = NewTrigger {
            table: names::quoted_relation(&partition.schema, &partition.name),
            ..new.clone()
        };
        Box::pin(create(&ctx.clone().seeing_definitions().await?, &of_partition)).await?;
    }
    Ok(())
}

/// INSTEAD OF, of a view. Errors: 42710, 42809, 0A000.
async fn create_of_view(ctx: &StatementContext, view: &ViewDef, new: &NewTrigger) -> Result<()> {
    let refused = match new {
        _ if !new.for_each_row => Some("must be FOR EACH ROW"),
        _ if new.when.is_some() => Some("cannot have WHEN conditions"),
        _ if !new.update_of.is_empty() => Some("cannot have column lists"),
        _ => None,
    };
    if let Some(refused) = refused {
        return Err(Raised::new("0A000", format!("INSTEAD OF triggers {refused}")).into());
    }
    if new.events.contains(&TriggerEvent::Truncate) {
        return Err(Raised {
            detail: Some("Views cannot have TRUNCATE triggers.".to_string()),
            ..Raised::new("42809", format!("\"{}\" is a view", view.name))
        }
        .into());
    }
    transition_names::check_none_of_view(new, view)?;
    let known = view.trigger(&new.name);
    if known.is_some() && !new.or_replace {
        return Err(taken(&new.name, &view.name));
    }
    let trigger = defined(ctx, new, known, (Vec::new(), None)).await?;
    let mut changed = view.clone();
    changed.triggers.retain(|known| known.name != new.name);
    changed.triggers.push(trigger);
    sort(&mut changed.triggers);
    put_view(ctx, &changed)
}

/// The function that a trigger names. Errors: 42883.
fn function_named(ctx: &StatementContext, name: &ObjectName) -> Result<Arc<RoutineDef>> {
    let (schema, bare) = names::relation_name(name)?;
    if let Some(built_in) = trigger_function_named(schema.as_deref(), &bare) {
        return Ok(Arc::clone(built_in));
    }
    let named = RoutineRef {
        name: name.clone(),
        arguments: Some(Vec::new()),
    };
    found_routine(ctx, RoutineWord::Function, &named)
}

/// The trigger as it is kept; nobody drops its function meanwhile. Errors: 42883, 42P17.
async fn defined(
    ctx: &StatementContext,
    new: &NewTrigger,
    known: Option<&TriggerDef>,
    (update_of, when): (Vec<ColumnId>, Option<TriggerCondition>),
) -> Result<TriggerDef> {
    let routine = function_named(ctx, &new.function)?;
    if routine.returns != RoutineResult::Trigger {
        return Err(invalid(format!(
            "function {} must return type trigger",
            routine.name
        )));
    }
    // What is built in is never dropped.
    if routine.schema != "pg_catalog" {
        ctx.txn.mark(dependents_key(routine.oid))?;
    }
    let oid = match known {
        Some(known) => known.oid,
        None => ctx.sequences.object_ids().take_oid().await?,
    };
    let mut events = new.events.clone();
    events.sort_unstable();
    Ok(TriggerDef {
        oid,
        name: new.name.clone(),
        constraint: new.constraint,
        timing: new.timing,
        for_each_row: new.for_each_row,
        events,
        old_table: None,
        new_table: None,
        update_of,
        when,
        function: routine.oid,
        arguments: new.arguments.clone(),
        state: TriggerState::Enabled,
        comment: None,
    })
}

/// Errors: 42P01; 42809 for what is no table; 42501 for one of the system's.
fn table_of(ctx: &StatementContext, new: &NewTrigger) -> Result<Arc<TableDef>> {
    let found = relation(ctx, &new.table, Access::Name)?;
    match found {
        Object::Table(table) if new.timing == TriggerTiming::InsteadOf => Err(Raised {
            detail: Some("Tables cannot have INSTEAD OF triggers.".to_string()),
            ..Raised::new("42809", format!("\"{}\" is a table", table.name))
        }
        .into()),
        Object::Table(table) if table.is_temporary() || !is_system_schema(&table.schema) => {
            Ok(Arc::clone(table))
        }
        Object::View(view) if new.for_each_row => Err(Raised {
            detail: Some("Views cannot have row-level BEFORE or AFTER triggers.".to_string()),
            ..Raised::new("42809", format!("\"{}\" is a view", view.name))
        }
        .into()),
        Object::View(_) => Err(Error::unsupported(
            "triggers of views",
            Some("Let the tables that the view shows have them."),
        )),
        Object::Table(table) => Err(Raised::new(
            "42501",
            format!("permission denied: \"{}\" is a system catalog", table.name),
        )
        .into()),
        other => Err(Raised::new(
            "42809",
            format!("relation \"{}\" cannot have triggers", other.name()),
        )
        .into()),
    }
}

/// Errors: 42703.
fn column_of(table: &TableDef, name: &str) -> Result<ColumnId> {
    let at = table.column_index(name).ok_or_else(|| Error::UndefinedColumn {
        name: format!("\"{name}\" of relation \"{}\"", table.name),
        hint: None,
    })?;
    Ok(table.columns[at].id)
}

/// WHEN, as it is kept. Errors: 42P17 for rows that an event does not have, 0A000, those of binding.
fn condition(
    ctx: &StatementContext,
    table: &TableDef,
    new: &NewTrigger,
    written: &Expr,
) -> Result<TriggerCondition> {
    row_expression::check_no_subquery(written, "trigger WHEN condition")?;
    let mut written = row_expression::with_schemas(ctx, written);
    let columns = names_in_small_letters(table, &mut written);
    let rows = rows_of_events(&new.events, new.for_each_row);
    check_rows(new, &written)?;
    dml::check_trigger_condition(ctx, table, rows, &written)?;
    let relations = dml::trigger_relations(table, rows);
    let (kept, text, pretty_text) = condition_of_relations(ctx, &relations, &written)?;
    Ok(TriggerCondition {
        sql: kept.to_string(),
        text,
        pretty_text,
        columns,
    })
}

/// Writes OLD and NEW as the relations are called; answers the columns that stand behind them, by rising id.
fn names_in_small_letters(table: &TableDef, expr: &mut Expr) -> Vec<ColumnId> {
    let mut columns = Vec::new();
    let _ = visit_expressions_mut(expr, |expr| {
        match expr {
            Expr::CompoundIdentifier(parts) => {
                if let [row, column] = parts.as_mut_slice() {
                    let folded = names::fold(row);
                    if row_named(&folded).is_some() {
                        *row = Ident::new(folded);
                        let at = table.column_index(&names::fold(column));
                        columns.extend(at.map(|at| table.columns[at].id));
                    }
                }
            }
            Expr::QualifiedWildcard(name, _) => {
                if let Some(folded) = names::last_name(name).filter(|name| row_named(name).is_some()) {
                    *name = ObjectName::from(vec![Ident::new(folded)]);
                }
            }
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    });
    columns.sort_unstable();
    columns.dedup();
    columns
}

fn row_named(name: &str) -> Option<TriggerRow> {
    let rows = [TriggerRow::Old, TriggerRow::New];
    rows.into_iter().find(|row| row.name() == name)
}

/// Errors: 42P17 where the condition names a row that an event does not have.
fn check_rows(new: &NewTrigger, expr: &Expr) -> Result<()> {
    let rows = rows_of_events(&new.events, new.for_each_row);
    let mut lacking = None;
    let _ = visit_expressions(expr, |expr| {
        let name = match expr {
            Expr::CompoundIdentifier(parts) => parts.first().map(names::fold),
            Expr::QualifiedWildcard(name, _) => names::last_name(name),
            _ => None,
        };
        match name
            .and_then(|name| row_named(&name))
            .filter(|row| !rows.contains(row))
        {
            Some(row) => {
                lacking = Some((row, Spanned::span(expr)));
                ControlFlow::Break(())
            }
            None => ControlFlow::Continue(()),
        }
    });
    let Some((row, span)) = lacking else {
        return Ok(());
    };
    let message = match row {
        _ if !new.for_each_row => "statement trigger's WHEN condition cannot reference column values",
        TriggerRow::Old => "INSERT trigger's WHEN condition cannot reference OLD values",
        TriggerRow::New => "DELETE trigger's WHEN condition cannot reference NEW values",
    };
    Err(text_place::at_error(invalid(message.to_string()), span))
}

fn invalid(message: String) -> Error {
    Raised::new("42P17", message).into()
}

async fn drop(ctx: &StatementContext, name: &str, table: &ObjectName, if_exists: bool) -> Result<()> {
    let Some(found) = relation_if_exists(ctx, table, Access::Name, if_exists)? else {
        return Ok(());
    };
    if let Object::View(view) = found
        && view.trigger(name).is_some()
    {
        return remove_of_view(ctx, view, &[name]);
    }
    if let Object::Table(table) = found
        && let Some(trigger) = table.trigger(name)
    {
        let above = ctx.catalog.parent_of(table).filter(|_| trigger.for_each_row);
        if let Some(above) = above.filter(|above| above.trigger(name).is_some()) {
            return Err(required_by(name, table, above));
        }
        return drop_in_tree(ctx, table, name).await;
    }
    if !if_exists {
        return Err(undefined(name, found.name()));
    }
    let message = format!(
        "trigger \"{name}\" for relation \"{}\" does not exist, skipping",
        found.name()
    );
    notice(ctx, "00000", message, None);
    Ok(())
}

/// Takes a trigger off its table, and off the partitions that have it of that.
async fn drop_in_tree(ctx: &StatementContext, table: &TableDef, name: &str) -> Result<()> {
    let Some(trigger) = table.trigger(name) else {
        return Ok(());
    };
    let partitions = match trigger.for_each_row {
        true => ctx.partitions_of(table)?,
        false => Vec::new(),
    };
    let mut changed = TableDef::clone(table);
    changed.triggers.retain(|trigger| trigger.name != name);
    put(ctx, changed)?;
    for partition in partitions {
        let now = ctx.clone().seeing_definitions().await?;
        Box::pin(drop_in_tree(&now, &partition, name)).await?;
    }
    Ok(())
}

/// 2BP01 for a trigger that a partition has of its table.
fn required_by(name: &str, table: &TableDef, above: &TableDef) -> Error {
    let (own, of) = (&table.name, &above.name);
    Error::InvalidStatement {
        state: StatementFault::DependentObjects,
        message: format!(
            "cannot drop trigger {name} on table {own} because trigger {name} on table {of} requires it"
        ),
        hint: Some(format!("You can drop trigger {name} on table {of} instead.")),
    }
}

/// Takes triggers off their view.
pub(super) fn remove_of_view(ctx: &StatementContext, view: &ViewDef, names: &[&str]) -> Result<()> {
    let mut changed = view.clone();
    changed
        .triggers
        .retain(|trigger| !names.contains(&trigger.name.as_str()));
    put_view(ctx, &changed)
}

/// Takes triggers off their tables.
pub(super) fn remove(ctx: &StatementContext, removed: &[(&TableDef, &str)]) -> Result<()> {
    let mut done: Vec<u32> = Vec::new();
    for (table, _) in removed {
        if done.contains(&table.oid) {
            continue;
        }
        done.push(table.oid);
        let mut changed = TableDef::clone(table);
        let is_removed = |name: &str| {
            removed
                .iter()
                .any(|(of, removed)| of.oid == table.oid && *removed == name)
        };
        changed.triggers.retain(|trigger| !is_removed(&trigger.name));
        put(ctx, changed)?;
    }
    Ok(())
}

/// The triggers that name a column.
fn users_of_column(table: &TableDef, id: ColumnId) -> impl Iterator<Item = &TriggerDef> {
    table.triggers.iter().filter(move |trigger| {
        let mut columns = trigger.update_of.iter();
        let when = trigger.when.as_ref();
        columns.any(|column| *column == id) || when.is_some_and(|when| when.columns.contains(&id))
    })
}

/// Errors: 0A000 for a column of another type that triggers name.
pub(super) fn check_no_users_of_column(table: &TableDef, column: &ColumnDef) -> Result<()> {
    match users_of_column(table, column.id).next() {
        None => Ok(()),
        Some(trigger) => Err(Error::ColumnUsed {
            by: "in a trigger definition",
            detail: format!(
                "trigger {} on table {} depends on column \"{}\"",
                trigger.name, table.name, column.name
            ),
        }),
    }
}

/// Takes off the triggers that name a column. Errors: 2BP01 without CASCADE.
pub(super) fn drop_users_of_column(
    ctx: &StatementContext,
    table: &mut TableDef,
    (id, name): (ColumnId, &str),
    cascade: bool,
) -> Result<()> {
    let users: Vec<String> = users_of_column(table, id)
        .map(|trigger| trigger.name.clone())
        .collect();
    let described = |user: &String| format!("trigger {user} on table {}", table.name);
    let column = format!("column {name} of table {}", table.name);
    if !cascade && !users.is_empty() {
        let lines = users
            .iter()
            .map(|user| format!("{} depends on {column}", described(user)));
        return Err(Error::DependentObjects {
            dependents: lines.collect(),
            object: column,
        });
    }
    notice_cascade(ctx, &users.iter().map(described).collect::<Vec<_>>());
    table.triggers.retain(|trigger| !users.contains(&trigger.name));
    Ok(())
}

/// Changes a trigger by its place among those of its table or view. Errors: 42P01, 42704.
fn change(
    ctx: &StatementContext,
    (name, relation_name): (&str, &ObjectName),
    change: impl FnOnce(&mut Vec<TriggerDef>, usize) -> Result<()>,
) -> Result<()> {
    let found = relation(ctx, relation_name, Access::Name)?;
    let place = |triggers: &[TriggerDef]| {
        let at = triggers.iter().position(|trigger| trigger.name == name);
        at.ok_or_else(|| undefined(name, found.name()))
    };
    match found {
        Object::Table(table) => {
            let mut changed = TableDef::clone(table);
            change(&mut changed.triggers, place(&table.triggers)?)?;
            put(ctx, changed)
        }
        Object::View(view) => {
            let mut changed = ViewDef::clone(view);
            change(&mut changed.triggers, place(&view.triggers)?)?;
            put_view(ctx, &changed)
        }
        Object::Index(..) | Object::Sequence(_) => Err(undefined(name, found.name())),
    }
}

fn put_view(ctx: &StatementContext, view: &ViewDef) -> Result<()> {
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_view(view)
}

fn put(ctx: &StatementContext, table: TableDef) -> Result<()> {
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    writer
        .put_table_in(table, LockMode::ShareRowExclusive)
        .map(std::mem::drop)
}

pub(super) fn sort(triggers: &mut [TriggerDef]) {
    triggers.sort_by(|left, right| left.name.cmp(&right.name));
}

pub(super) fn taken(name: &str, relation: &str) -> Error {
    Error::Duplicate {
        kind: DuplicateKind::Trigger,
        name: format!("{name}\" for relation \"{relation}"),
    }
}

fn undefined(name: &str, table: &str) -> Error {
    Error::UndefinedObject {
        kind: "trigger",
        name: format!("{name}\" for table \"{table}"),
    }
}

/// ENABLE TRIGGER, DISABLE TRIGGER. ALL names those as well by which PostgreSQL asks foreign keys. Errors: 42704.
pub(super) fn set(table: &mut TableDef, name: &Ident, state: TriggerState) -> Result<()> {
    let folded = names::fold(name);
    if is_word(name, "all") {
        table.options.triggers_disabled = state == TriggerState::Disabled;
    }
    if means_several(name) {
        table
            .triggers
            .iter_mut()
            .for_each(|trigger| trigger.state = state);
        return Ok(());
    }
    let named = table.triggers.iter_mut().find(|trigger| trigger.name == folded);
    let undefined = undefined(&folded, &table.name);
    named.ok_or(undefined)?.state = state;
    Ok(())
}

/// Whether ENABLE and DISABLE TRIGGER mean all triggers by a name: ALL, USER.
pub(super) fn means_several(name: &Ident) -> bool {
    is_word(name, "all") || is_word(name, "user")
}

fn is_word(name: &Ident, word: &str) -> bool {
    name.quote_style.is_none() && names::fold(name) == word
}

/// Writes a column's new name into the conditions that name it; the table has it already. Errors: `Corrupt`.
pub(super) fn rename_column(
    ctx: &StatementContext,
    table: &mut TableDef,
    id: ColumnId,
    new: &str,
) -> Result<()> {
    let old = |when: &TriggerCondition| when.columns.contains(&id);
    let new = row_expression::ident_of(new);
    for at in 0..table.triggers.len() {
        let Some(when) = table.triggers[at].when.clone().filter(old) else {
            continue;
        };
        let mut expr = dml::parse_expression(&when.sql)?;
        let is_known = |name: &str| table.column_index(name).is_some();
        let _ = visit_expressions_mut(&mut expr, |expr| {
            // The name that no column has any more is that which it had.
            if let Expr::CompoundIdentifier(parts) = expr
                && let [row, column] = parts.as_mut_slice()
                && row_named(&names::fold(row)).is_some()
                && !is_known(&names::fold(column))
            {
                *column = new.clone();
            }
            ControlFlow::<()>::Continue(())
        });
        let relations = dml::trigger_relations(table, table.triggers[at].rows_named());
        let (kept, text, pretty_text) = condition_of_relations(ctx, &relations, &expr)?;
        table.triggers[at].when = Some(TriggerCondition {
            sql: kept.to_string(),
            text,
            pretty_text,
            columns: when.columns,
        });
    }
    Ok(())
}
