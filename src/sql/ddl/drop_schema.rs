//! DROP SCHEMA: what it holds goes with it, relations as `drop` has it, types with what rests on them.

use std::sync::Arc;

use sqlparser::ast::ObjectName;

use super::default_dependents::DependentDefault;
use super::drop::{Dependents, add_partitions, dependents_of, drop_all};
use super::{described, foreign_key, notice, notice_cascade, routine_ref, trash, type_dependents};
use crate::catalog::{
    BUILTIN_SCHEMAS, Catalog, CatalogWriter, ExtensionDef, Relation, RoutineDef, SchemaDef, TypeDef, TypeKind,
};
use crate::error::StatementFault;
use crate::parse::names;
use crate::parse::quoting::qualified;
use crate::system::StatementContext;
use crate::{Error, Result};

/// The extensions that were made in a schema.
fn extensions_of<'c>(catalog: &'c Catalog, schema: &str) -> Vec<&'c ExtensionDef> {
    let extensions = catalog.extensions.values();
    extensions.filter(|made| made.schema == schema).collect()
}

/// Whether a user made the type, not an extension, with which it goes.
fn is_made(ty: &TypeDef) -> bool {
    !matches!(ty.kind, TypeKind::Base(_))
}

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
    let extensions = extensions_of(&ctx.catalog, schema);
    if held.is_empty() && types.is_empty() && routines.is_empty() && extensions.is_empty() {
        return Ok(());
    }
    let lines = held.iter().map(|relation| {
        format!(
            "{} depends on schema {}",
            described(ctx, relation),
            relation.schema()
        )
    });
    let lines = lines.chain(types.iter().filter(|ty| is_made(ty)).map(|ty| {
        let name = qualified(&ty.schema, &ty.name);
        format!("type {name} depends on schema {}", ty.schema)
    }));
    let lines = lines.chain(extensions.into_iter().map(|extension| {
        let ExtensionDef { name, schema, .. } = extension;
        format!("extension {name} depends on schema {schema}")
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
    extensions: &[&ExtensionDef],
    dependents: &Dependents<'_>,
) {
    let gone = dropped.iter().map(|relation| described(ctx, relation));
    let gone = gone.chain(
        types
            .iter()
            .filter(|ty| is_made(ty))
            .map(|ty| format!("type {}", qualified(&ty.schema, &ty.name))),
    );
    let extensions = extensions.iter();
    let gone = gone.chain(extensions.map(|extension| format!("extension {}", extension.name)));
    let defaults = dependents.defaults.iter().map(DependentDefault::described);
    let keys = dependents.foreign_keys.iter().map(foreign_key::described);
    let routines = dependents.routines.iter();
    let defaults = defaults.chain(routines.map(|(routine, _)| routine_ref::described(ctx, routine)));
    notice_cascade(ctx, &gone.chain(defaults).chain(keys).collect::<Vec<_>>());
}

/// The schemas of these names. Errors: 3F000; 2BP01 for one of the system.
fn named_schemas<'c>(
    ctx: &'c StatementContext,
    names: &[ObjectName],
    if_exists: bool,
) -> Result<Vec<&'c SchemaDef>> {
    let mut schemas = Vec::with_capacity(names.len());
    for name in names {
        let (_, name) = names::relation_name(name)?;
        let mut builtin = BUILTIN_SCHEMAS.iter();
        if name != "public" && builtin.any(|(builtin, _)| *builtin == name) {
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
    Ok(schemas)
}

/// Runs DROP SCHEMA. Errors: 3F000; 2BP01 for one of the system, and without CASCADE for what it holds.
pub(super) async fn drop_schemas(
    ctx: &StatementContext,
    names: &[ObjectName],
    if_exists: bool,
    cascade: bool,
) -> Result<()> {
    let schemas = named_schemas(ctx, names, if_exists)?;
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
    let is_of = |ty: &&Arc<TypeDef>| schemas.iter().any(|schema| schema.name == ty.schema);
    let types: Vec<Arc<TypeDef>> = ctx.catalog.types.iter().filter(is_of).cloned().collect();
    let mut dropped: Vec<&Relation> = ctx.catalog.relations.iter().filter(held).collect();
    if let Some(first) = schemas.first().filter(|_| !cascade) {
        check_holds_nothing(ctx, &first.name, &dropped, &types)?;
    }
    add_partitions(&ctx.catalog, &mut dropped);
    let dependents = dependents_of(&ctx.catalog, &dropped);
    dropped.extend(dependents.views.iter().map(|(view, _)| *view));
    let extensions: Vec<_> = schemas
        .iter()
        .flat_map(|schema| extensions_of(&ctx.catalog, &schema.name))
        .collect();
    notice_gone(ctx, &dropped, &types, &extensions, &dependents);
    let kept = trash::kept(ctx);
    drop_all(&ctx.catalog, &writer, &dropped, (&dependents, kept)).await?;
    type_dependents::drop_of_schemas(ctx, &writer, &types, &dropped).await?;
    let is_gone = |routine: &RoutineDef| {
        let mut gone = dependents.routines.iter();
        gone.any(|(gone, _)| gone.oid == routine.oid)
    };
    let is_held = |schema: &str| schemas.iter().any(|dropped| dropped.name == schema);
    let mut routines = ctx.catalog.routines.iter();
    routines.try_for_each(|routine| match is_held(&routine.schema) && !is_gone(routine) {
        true => writer.drop_routine(routine),
        false => Ok(()),
    })?;
    extensions
        .into_iter()
        .try_for_each(|extension| writer.drop_extension(extension))?;
    schemas
        .into_iter()
        .try_for_each(|schema| match schema.name.as_str() {
            // It is there unless a record says otherwise.
            "public" => writer.put_schema(&SchemaDef {
                dropped: true,
                ..schema.clone()
            }),
            _ => writer.drop_schema(schema),
        })
}
