//! The functions that an extension makes: they stand in the catalog as users' do, and belong to it.

use std::sync::Arc;

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};

use super::routine;
use super::routine_dependents::drop_routines;
use crate::catalog::{Catalog, CatalogWriter, ExtensionDef, RoutineDef};
use crate::parse::command::Command;
use crate::parse::definition::Definition;
use crate::parse::routine::{NewRoutine, RoutineDefinition, RoutineRef, RoutineWord};
use crate::system::{KNOWN_EXTENSIONS, KnownExtension, StatementContext};
use crate::{Error, Result};

/// Makes those of an extension. Errors: 42723 where the schema has such.
pub(super) async fn create_all(ctx: &StatementContext, known: &KnownExtension, schema: &str) -> Result<()> {
    for made in known.routines {
        let written = written(made.definition)?;
        let new = NewRoutine {
            name: name_in(schema, made.name),
            ..written
        };
        Box::pin(routine::create(ctx, &new)).await?;
    }
    Ok(())
}

/// Drops those of an extension. Errors: 2BP01 without CASCADE where something calls them.
pub(super) async fn drop_all(ctx: &StatementContext, extension: &ExtensionDef, cascade: bool) -> Result<()> {
    let named: Vec<RoutineRef> = routines_of(&ctx.catalog, extension)
        .map(|routine| RoutineRef {
            name: name_in(&routine.schema, &routine.name),
            arguments: Some(Vec::new()),
        })
        .collect();
    let dropped = Box::pin(drop_routines(ctx, RoutineWord::Function, &named, false, cascade)).await;
    dropped.map_err(|error| match error {
        Error::DependentObjects { dependents, .. } => Error::DependentObjects {
            object: format!("extension {}", extension.name),
            dependents,
        },
        other => other,
    })
}

/// Those of an extension go to another schema with it.
pub(super) fn move_all(ctx: &StatementContext, extension: &ExtensionDef, schema: &str) -> Result<()> {
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    routines_of(&ctx.catalog, extension).try_for_each(|routine| {
        writer.put_routine(&RoutineDef {
            schema: schema.to_string(),
            ..RoutineDef::clone(routine)
        })
    })
}

fn routines_of<'c>(
    catalog: &'c Catalog,
    extension: &'c ExtensionDef,
) -> impl Iterator<Item = &'c Arc<RoutineDef>> {
    let known = KNOWN_EXTENSIONS.iter().find(|known| known.name == extension.name);
    let routines = catalog.routines.iter();
    routines.filter(move |routine| {
        known.is_some_and(|known| routine.schema == extension.schema && known.makes(&routine.name))
    })
}

fn name_in(schema: &str, name: &str) -> ObjectName {
    let part = |name: &str| ObjectNamePart::Identifier(Ident::with_quote('"', name));
    ObjectName(vec![part(schema), part(name)])
}

fn written(definition: &str) -> Result<NewRoutine> {
    let statement = crate::parse::parse(definition)?.pop();
    let command = statement.and_then(|statement| statement.command);
    match command {
        Some(Command::Define(Definition::Routine(RoutineDefinition::Create(new)))) => Ok(*new),
        _ => Err(Error::internal("an extension's function that is none")),
    }
}
