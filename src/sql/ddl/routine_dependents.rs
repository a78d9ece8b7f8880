//! DROP FUNCTION and DROP PROCEDURE, and what depends on a function: stored expressions, views and bodies whose text calls it.

use std::cell::OnceCell;
use std::sync::Arc;

use super::column_views;
use super::named_in_text::{NamedObject, Renaming, texts_of};
use super::renamed_texts::relation_renamed;
use super::routine_ref::{described, found_routine, written_name};
use super::type_dependents::{Dependent, add_views_over, remove, triggers_naming};
use super::{notice, notice_cascade};
use crate::catalog::{Catalog, CatalogWriter, ColumnDefault, Relation, RoutineDef, RoutineKind, Routines};
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
    let found = all_dependents(ctx, &catalog, &dropped);
    if !cascade && !found.is_empty() {
        let lines = found
            .iter()
            .map(|(dependent, on)| format!("{} depends on {on}", dependent.described()));
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
    ctx: &StatementContext,
    catalog: &'a Catalog,
    dropped: &[Arc<RoutineDef>],
) -> Vec<(Dependent<'a>, String)> {
    let mut queue: Vec<Arc<RoutineDef>> = dropped.to_vec();
    let mut seen: Vec<String> = Vec::new();
    let mut all = Vec::new();
    while let Some(routine) = queue.pop() {
        for dependent in dependents(ctx, catalog, &routine) {
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
            all.push((dependent, described(ctx, &routine)));
        }
    }
    add_views_over(catalog, &mut all);
    all
}

/// What depends on a function, directly.
fn dependents<'a>(ctx: &StatementContext, catalog: &'a Catalog, routine: &RoutineDef) -> Vec<Dependent<'a>> {
    let named = catalog.routines.find(Some(&routine.schema), &routine.name, &[]);
    // Where several have the name, the text does not tell which of them is meant: none is held fast by an expression, and by a query that
    // which its binding chooses.
    let is_alone = named.len() == 1;
    let asking = Renaming::asking(catalog, NamedObject::Routine(routine));
    let calls = |sql: &str| is_alone && asking.is_in_expression(sql);
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
        let in_printed = |text: &str| is_alone && asking.printed(text).is_some();
        let indexes = table.indexes.iter();
        let indexes = indexes.filter(|index| texts_of(index).iter().any(|text| in_printed(text)));
        found.extend(indexes.map(|index| Dependent::Index(table, index)));
    }
    if is_alone {
        found.extend(triggers_naming(catalog, &asking));
    }
    let uncallable = OnceCell::new();
    let chooses = |relation: &Relation| {
        let uncallable = uncallable.get_or_init(|| without_calls(ctx, catalog, routine));
        column_views::binds(ctx, relation) && !column_views::binds(uncallable, relation)
    };
    let first: &RoutineDef = match named.first() {
        Some(first) => first,
        None => routine,
    };
    let asking_name = Renaming::asking(catalog, NamedObject::Routine(first));
    let mut queries: Vec<&Relation> = Vec::new();
    for relation in catalog.relations.iter() {
        let query = relation.query();
        if query.is_some_and(|(query, path)| asking_name.is_in_query(query, path))
            && (is_alone || chooses(relation))
        {
            queries.push(relation);
        }
        let Relation::View(view) = relation else { continue };
        let triggers = view.triggers.iter();
        let triggers = triggers.filter(|trigger| trigger.function == routine.oid);
        found.extend(triggers.map(|trigger| Dependent::ViewTrigger(view, &trigger.name)));
    }
    // What reads one of them does not bind either: it comes with that.
    let reads_another = |query: &&Relation| queries.iter().any(|read| query.reads().contains(&read.oid()));
    let own = queries.iter().filter(|query| is_alone || !reads_another(query));
    found.extend(own.map(|query| Dependent::Query(query)));
    let others = catalog
        .routines
        .iter()
        .filter(|other| other.depends_on.contains(&routine.oid));
    found.extend(others.map(Dependent::Routine));
    let casts = catalog.casts.iter().filter(|cast| cast.calls(routine.oid));
    found.extend(casts.map(Dependent::Cast));
    found
}

/// A statement to which a function is a procedure, which no expression may call: what chooses it among those of its name does not bind there.
fn without_calls(ctx: &StatementContext, catalog: &Catalog, routine: &RoutineDef) -> StatementContext {
    let procedure = Arc::new(RoutineDef {
        kind: RoutineKind::Procedure,
        ..routine.clone()
    });
    let routines = catalog.routines.iter();
    let routines = routines.map(|known| {
        Arc::clone(if known.oid == routine.oid {
            &procedure
        } else {
            known
        })
    });
    let mut changed = Catalog::clone(catalog);
    changed.routines = Routines::new(routines);
    StatementContext {
        catalog: Arc::new(changed),
        lookups: Arc::default(),
        // What binding says is no business of the client's.
        notices: Arc::default(),
        ..ctx.clone()
    }
}

/// Errors: 0A000 where a text may call the function or another of its name, of which it does not tell which: another name would break it.
pub(super) fn check_alone_in_text(ctx: &StatementContext, routine: &RoutineDef) -> Result<()> {
    let named = ctx
        .catalog
        .routines
        .find(Some(&routine.schema), &routine.name, &[]);
    let Some(first) = named.first().filter(|_| named.len() > 1) else {
        return Ok(());
    };
    let asking = Renaming::asking(&ctx.catalog, NamedObject::Routine(first));
    let mut relations = ctx.catalog.relations.iter();
    match relations.find(|relation| relation_renamed(relation, &asking).is_some()) {
        None => Ok(()),
        Some(relation) => Err(Error::FeatureNotSupported {
            feature: format!(
                "another name for {} while \"{}\" may call it, or another of its name,",
                described(ctx, routine),
                relation.name()
            ),
            hint: Some("Drop what calls it first, and create it again afterwards.".to_string()),
        }),
    }
}
