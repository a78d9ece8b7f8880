//! DROP FUNCTION and DROP PROCEDURE, and what depends on a function: stored expressions, views and bodies whose text calls it.

use std::cell::OnceCell;
use std::sync::Arc;

use super::column_views;
use super::named_in_text::{NamedObject, Renaming, texts_of};
use super::routine_ref::{described, found_routine, written_name};
use super::type_dependents::{Dependent, add_views_over, remove, triggers_naming, triggers_that};
use super::{notice, notice_cascade};
use crate::catalog::{
    Catalog, CatalogWriter, ColumnDefault, Relation, RoutineDef, RoutineKind, Routines, STANDARD_SCHEMA,
    TableDef,
};
use crate::parse::quoting::quote_ident;
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
    // Where several have the name, the text does not tell which of them is meant: that which its binding chooses is.
    let is_alone = named.len() == 1;
    let first: &RoutineDef = match named.first() {
        Some(first) => first,
        None => routine,
    };
    let asking = Renaming::asking(catalog, NamedObject::Routine(first));
    let uncallable = OnceCell::new();
    let uncallable = || uncallable.get_or_init(|| without_calls(ctx, catalog, routine));
    let calls = |table: &TableDef, sql: &str| {
        asking.is_in_expression(sql)
            && (is_alone || expression_binds(ctx, table, sql) && !expression_binds(uncallable(), table, sql))
    };
    let mut found = triggers_that(catalog, |trigger| trigger.function == routine.oid);
    for table in catalog.tables() {
        for column in table.columns.iter().filter(|column| !column.hidden) {
            if column
                .generation()
                .is_some_and(|generation| calls(table, &generation.sql))
            {
                found.push(Dependent::Column(table, column));
            } else if matches!(&column.default, Some(ColumnDefault::Expression { sql, .. }) if calls(table, sql))
            {
                found.push(Dependent::Default(table, column));
            }
        }
        let checks = table.checks.iter().filter(|check| calls(table, &check.sql));
        found.extend(checks.map(|check| Dependent::Check(table, &check.name)));
        let in_printed = |text: &str| match is_alone {
            true => asking.printed(text).is_some(),
            false => calls(table, text),
        };
        let indexes = table.indexes.iter();
        let indexes = indexes.filter(|index| texts_of(index).iter().any(|text| in_printed(text)));
        found.extend(indexes.map(|index| Dependent::Index(table, index)));
    }
    if is_alone {
        found.extend(triggers_naming(catalog, &asking));
    }
    let chooses = |relation: &Relation| {
        column_views::binds(ctx, relation) && !column_views::binds(uncallable(), relation)
    };
    let mut queries: Vec<&Relation> = Vec::new();
    for relation in catalog.relations.iter() {
        let query = relation.query();
        if query.is_some_and(|(query, path)| asking.is_in_query(query, path))
            && (is_alone || chooses(relation))
        {
            queries.push(relation);
        }
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

/// Whether an expression that is stored with a table can be bound.
fn expression_binds(ctx: &StatementContext, table: &TableDef, sql: &str) -> bool {
    let (schema, name) = (quote_ident(&table.schema), quote_ident(&table.name));
    let path = [STANDARD_SCHEMA.to_string()];
    column_views::query_binds(ctx, &format!("SELECT {sql} FROM {schema}.{name}"), &path)
}

/// What the texts that call a function of several of its name are renamed by: it stands for all of them there. `None`: no text calls it.
/// Errors: 0A000 where texts call others of them, too, for another name would break them.
pub(super) fn named_in_texts(
    ctx: &StatementContext,
    routine: &Arc<RoutineDef>,
) -> Result<Option<Arc<RoutineDef>>> {
    let catalog = &ctx.catalog;
    let named = catalog.routines.find(Some(&routine.schema), &routine.name, &[]);
    let Some(first) = named.first().filter(|_| named.len() > 1) else {
        return Ok(Some(Arc::clone(routine)));
    };
    if dependents(ctx, catalog, routine).is_empty() {
        return Ok(None);
    }
    let mut others = named.iter().filter(|other| other.oid != routine.oid);
    let Some(called) = others.find(|other| !dependents(ctx, catalog, other).is_empty()) else {
        return Ok(Some(Arc::clone(first)));
    };
    Err(Error::FeatureNotSupported {
        feature: format!(
            "another name for {} while {} is called, too,",
            described(ctx, routine),
            described(ctx, called)
        ),
        hint: Some("Drop what calls it first, and create it again afterwards.".to_string()),
    })
}
