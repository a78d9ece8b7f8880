//! DROP FUNCTION and DROP PROCEDURE, and what depends on a function: stored expressions, views and bodies whose text calls it.

use std::sync::Arc;

use super::routine_ref::{described, found_routine, written_name};
use super::type_dependents::{Dependent, remove};
use super::{notice, notice_cascade};
use crate::catalog::{CatalogWriter, ColumnDefault, IndexDef, Relation, RoutineDef};
use crate::parse::mentions_word;
use crate::parse::routine::{RoutineRef, RoutineWord};
use crate::system::StatementContext;
use crate::{Error, Result};

/// Runs DROP FUNCTION, PROCEDURE, ROUTINE. Errors: 42883, 42725, 42809; 2BP01 without CASCADE.
pub(super) async fn drop_routines(
    ctx: &StatementContext,
    word: RoutineWord,
    named: &[RoutineRef],
    if_exists: bool,
    cascade: bool,
) -> Result<()> {
    let mut dropped: Vec<Arc<RoutineDef>> = Vec::new();
    for name in named {
        match found_routine(ctx, word, name) {
            Ok(routine) if dropped.iter().all(|known| known.oid != routine.oid) => dropped.push(routine),
            Ok(_) => {}
            Err(error) if if_exists && matches!(error.sqlstate(), "42883" | "3F000" | "42704") => {
                let message = match error {
                    Error::UndefinedSchema { name } => format!("schema \"{name}\" does not exist, skipping"),
                    Error::UndefinedObject { kind, name } => {
                        format!("{kind} \"{name}\" does not exist, skipping")
                    }
                    _ => format!("{} {} does not exist, skipping", word.word(), written_name(name)),
                };
                notice(ctx, "00000", message, None);
            }
            Err(error) => return Err(error),
        }
    }
    if dropped.is_empty() {
        return Ok(());
    }
    let catalog = Arc::clone(&ctx.catalog);
    let found = all_dependents(&catalog, &dropped);
    if !cascade && !found.is_empty() {
        let lines = found
            .iter()
            .map(|(dependent, on)| format!("{} depends on {}", dependent.described(), described(ctx, on)));
        return Err(Error::DependentObjects {
            object: match dropped.as_slice() {
                [only] => described(ctx, only),
                _ => "desired object(s)".to_string(),
            },
            dependents: lines.collect(),
        });
    }
    let gone: Vec<String> = found.iter().map(|(dependent, _)| dependent.described()).collect();
    notice_cascade(ctx, &gone);
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    remove(ctx, &writer, found.iter().map(|(dependent, _)| dependent)).await?;
    dropped
        .iter()
        .try_for_each(|routine| writer.drop_routine(routine))
}

/// What depends on functions, and on functions and views that do, with what each depends on.
fn all_dependents<'a>(
    catalog: &'a crate::catalog::Catalog,
    dropped: &[Arc<RoutineDef>],
) -> Vec<(Dependent<'a>, Arc<RoutineDef>)> {
    let mut queue: Vec<Arc<RoutineDef>> = dropped.to_vec();
    let mut seen: Vec<String> = Vec::new();
    let mut all = Vec::new();
    while let Some(routine) = queue.pop() {
        for dependent in dependents(catalog, &routine) {
            let key = dependent.key();
            let is_dropped = matches!(&dependent, Dependent::Routine(other)
                if dropped.iter().any(|dropped| dropped.oid == other.oid));
            if is_dropped || seen.contains(&key) {
                continue;
            }
            seen.push(key);
            if let Dependent::Routine(other) = dependent {
                queue.push(Arc::clone(other));
            }
            all.push((dependent, Arc::clone(&routine)));
        }
    }
    all
}

/// What depends on a function, directly.
fn dependents<'a>(catalog: &'a crate::catalog::Catalog, routine: &RoutineDef) -> Vec<Dependent<'a>> {
    let others = catalog.routines.iter();
    let is_alone = others
        .filter(|other| other.name == routine.name)
        .all(|other| other.oid == routine.oid);
    let is_built_in = crate::functions::functions_named(&routine.name).next().is_some();
    // Where several have the name, the text does not tell which of them is meant: none is held fast by it.
    let calls = |sql: &str| is_alone && !is_built_in && mentions_word(sql, &routine.name);
    let mut found = Vec::new();
    for table in catalog.tables() {
        for column in table.columns.iter().filter(|column| !column.hidden) {
            if column
                .generation()
                .is_some_and(|generation| calls(&generation.sql))
            {
                found.push(Dependent::Column(table, column));
            } else if matches!(&column.default, Some(ColumnDefault::Expression { sql, .. }) if calls(sql)) {
                found.push(Dependent::Default(table, column));
            }
        }
        let checks = table.checks.iter().filter(|check| calls(&check.sql));
        found.extend(checks.map(|check| Dependent::Check(table, &check.name)));
        let triggers = table.triggers.iter();
        let triggers = triggers.filter(|trigger| trigger.function == routine.oid);
        found.extend(triggers.map(|trigger| Dependent::Trigger(table, &trigger.name)));
        let indexes = table
            .indexes
            .iter()
            .filter(|index| texts_of(index).iter().any(|text| calls(text)));
        found.extend(indexes.map(|index| Dependent::Index(table, index)));
    }
    for relation in catalog.relations.iter() {
        let Relation::View(view) = relation else { continue };
        if calls(&view.query) {
            found.push(Dependent::View(view));
        }
        let triggers = view.triggers.iter();
        let triggers = triggers.filter(|trigger| trigger.function == routine.oid);
        found.extend(triggers.map(|trigger| Dependent::ViewTrigger(view, &trigger.name)));
    }
    let others = catalog
        .routines
        .iter()
        .filter(|other| other.depends_on.contains(&routine.oid));
    found.extend(others.map(Dependent::Routine));
    let casts = catalog.casts.iter().filter(|cast| cast.calls(routine.oid));
    found.extend(casts.map(Dependent::Cast));
    found
}

/// The expressions of an index, as text.
fn texts_of(index: &IndexDef) -> Vec<&str> {
    let expressions = index
        .expressions
        .iter()
        .map(|expression| expression.text.as_str());
    expressions
        .chain(index.predicate.as_ref().map(|predicate| predicate.text.as_str()))
        .collect()
}

/// Errors: 0A000 where the text of something stored calls the function, which another name would break.
pub(super) fn check_not_in_text(ctx: &StatementContext, routine: &RoutineDef) -> Result<()> {
    ctx.txn.guard(&crate::catalog::dependents_key(routine.oid));
    let found = dependents(&ctx.catalog, routine);
    // Triggers know it by its number.
    let mut in_text = found
        .iter()
        .filter(|found| !matches!(found, Dependent::Trigger(..) | Dependent::ViewTrigger(..)));
    match in_text.next() {
        None => Ok(()),
        Some(dependent) => Err(Error::FeatureNotSupported {
            feature: format!(
                "another name for {} while {} calls it",
                described(ctx, routine),
                dependent.described()
            ),
            hint: Some("Drop what calls it first, and create it again afterwards.".to_string()),
        }),
    }
}
