//! DROP SCHEMA: what it holds goes with it, relations as `drop` has it, types with what rests on them.

use std::sync::Arc;

use sqlparser::ast::ObjectName;

use super::default_dependents::DependentDefault;
use super::drop::{Dependents, dependents_of, drop_all};
use super::{described, foreign_key, notice, notice_cascade, routine_ref, trash, type_dependents};
use crate::catalog::{BUILTIN_SCHEMAS, CatalogWriter, Relation, TypeDef};
use crate::error::StatementFault;
use crate::parse::names;
use crate::parse::quoting::qualified;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Errors: 2BP01 for what a schema holds.
fn check_holds_nothing(
    ctx: &StatementContext,
    schema: &str,
    held: &[&Relation],
    types: &[Arc<TypeDef>],
) -> Result<()> {
    let routines = ctx
        .catalog
        .routines
        .iter()
        .filter(|routine| routine.schema == schema);
    let routines: Vec<_> = routines.collect();
    if held.is_empty() && types.is_empty() && routines.is_empty() {
        return Ok(());
    }
    let lines = held.iter().map(|relation| {
        format!(
            "{} depends on schema {}",
            described(ctx, relation),
            relation.schema()
        )
    });
    let lines = lines.chain(types.iter().map(|ty| {
        let name = qualified(&ty.schema, &ty.name);
        format!("type {name} depends on schema {}", ty.schema)
    }));
    let lines = lines.chain(routines.into_iter().map(|routine| {
        let described = routine_ref::described(ctx, routine);
        format!("{described} depends on schema {}", routine.schema)
    }));
    Err(Error::DependentObjects {
        object: format!("schema {schema}"),
        dependents: lines.collect(),
    })
}

/// Says all that goes with a schema.
fn notice_gone(
    ctx: &StatementContext,
    dropped: &[&Relation],
    types: &[Arc<TypeDef>],
    dependents: &Dependents<'_>,
) {
    let gone = dropped.iter().map(|relation| described(ctx, relation));
    let gone = gone.chain(
        types
            .iter()
            .map(|ty| format!("type {}", qualified(&ty.schema, &ty.name))),
    );
    let defaults = dependents.defaults.iter().map(DependentDefault::described);
    let keys = dependents.foreign_keys.iter().map(foreign_key::described);
    let routines = dependents.routines.iter();
    let defaults = defaults.chain(routines.map(|(routine, _)| routine_ref::described(ctx, routine)));
    notice_cascade(ctx, &gone.chain(defaults).chain(keys).collect::<Vec<_>>());
}

/// Runs DROP SCHEMA. Errors: 3F000; 2BP01 for one of the system, and without CASCADE for what it holds.
pub(super) async fn drop_schemas(
    ctx: &StatementContext,
    names: &[ObjectName],
    if_exists: bool,
    cascade: bool,
) -> Result<()> {
    let mut schemas = Vec::with_capacity(names.len());
    for name in names {
        let (_, name) = names::relation_name(name)?;
        if BUILTIN_SCHEMAS.iter().any(|(builtin, _)| *builtin == name) {
            return Err(Error::InvalidStatement {
                state: StatementFault::DependentObjects,
                message: format!("cannot drop schema {name} because it is required by the database system"),
                hint: None,
            });
        }
        match ctx.catalog.schema(&name) {
            Ok(schema) => schemas.push(schema),
            Err(_) if if_exists => {
                notice(
                    ctx,
                    "00000",
                    format!("schema \"{name}\" does not exist, skipping"),
                    None,
                );
            }
            Err(error) => return Err(error),
        }
    }
    if schemas.is_empty() {
        return Ok(());
    }
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    // A sequence that goes with a column goes with its table, which is in the same schema.
    let goes_along = |relation: &Relation| {
        let sequence = relation.get_sequence();
        sequence.is_some_and(|sequence| sequence.owner.is_some())
    };
    let held = |relation: &&Relation| {
        schemas.iter().any(|schema| schema.name == relation.schema()) && !goes_along(relation)
    };
    let types = ctx.catalog.types.iter();
    let types: Vec<Arc<TypeDef>> = types
        .filter(|ty| schemas.iter().any(|schema| schema.name == ty.schema))
        .cloned()
        .collect();
    let mut dropped: Vec<&Relation> = ctx.catalog.relations.iter().filter(held).collect();
    if let Some(first) = schemas.first().filter(|_| !cascade) {
        check_holds_nothing(ctx, &first.name, &dropped, &types)?;
    }
    let dependents = dependents_of(&ctx.catalog, &dropped);
    dropped.extend(dependents.views.iter().map(|(view, _)| *view));
    notice_gone(ctx, &dropped, &types, &dependents);
    let kept = trash::kept(ctx);
    drop_all(&ctx.catalog, &writer, &dropped, (&dependents, kept)).await?;
    type_dependents::drop_of_schemas(ctx, &writer, &types, &dropped).await?;
    for routine in ctx.catalog.routines.iter() {
        let is_gone = dependents
            .routines
            .iter()
            .any(|(gone, _)| gone.oid == routine.oid);
        if schemas.iter().any(|schema| schema.name == routine.schema) && !is_gone {
            writer.drop_routine(routine)?;
        }
    }
    schemas
        .into_iter()
        .try_for_each(|schema| writer.drop_schema(schema))
}
