//! CREATE, ALTER, DROP and COMMENT ON EXTENSION. The functions that an extension brings are there in any case: its record says that it
//! was asked for. Its types are records too, so that their names are nobody's before, and so are the functions that it makes.

use std::sync::Arc;

use super::user_type::{alter_any, check_free, put_new, take_oid};
use super::{extension_routine, notice, type_dependents};
use crate::catalog::{Catalog, CatalogWriter, ExtensionDef, TypeDef, TypeKind};
use crate::error::{DuplicateKind, Raised, StatementFault};
use crate::parse::definition::TypeChange;
use crate::parse::routine::NewExtension;
use crate::system::statement_statistics::PG_STAT_STATEMENTS;
use crate::system::{KNOWN_EXTENSIONS, PLPGSQL, StatementContext};
use crate::types::SqlType;
use crate::{Error, Result};

/// What to do without extensions that are not there.
const WAYS_OUT: &[(&str, &str)] = &[
    (
        "hstore",
        "Use a jsonb column: its operators ->, ->>, @> and ? do what hstore's do.",
    ),
    (
        "postgis",
        "Keep coordinates in columns of their own, and a geohash or a bounding box in the key.",
    ),
    (
        "vector",
        "Keep vectors in a real[] column, and search them outside the database.",
    ),
    (
        "ltree",
        "Keep paths in a text column: LIKE 'a.b.%' is served by its key.",
    ),
    ("postgres_fdw", "Load the data with COPY."),
    ("dblink", "Load the data with COPY."),
    (
        "timescaledb",
        "A table whose key begins with the time is one sorted range: no chunks are needed.",
    ),
    ("pg_cron", "Run the statements from the system's cron."),
];

/// Runs CREATE EXTENSION. Errors: 42710, 3F000; 0A000 for what is not there.
pub(super) async fn create(ctx: &StatementContext, new: &NewExtension) -> Result<()> {
    let is_there = new.name == PLPGSQL || ctx.catalog.extensions.contains_key(&new.name);
    if is_there {
        if new.if_not_exists {
            let message = format!("extension \"{}\" already exists, skipping", new.name);
            notice(ctx, "42710", message, None);
            return Ok(());
        }
        return Err(Error::Duplicate {
            kind: DuplicateKind::Extension,
            name: new.name.clone(),
        });
    }
    let Some(known) = KNOWN_EXTENSIONS.iter().find(|known| known.name == new.name) else {
        return Err(unavailable(&new.name));
    };
    if let Some(version) = new.version.as_ref().filter(|version| **version != known.version) {
        return Err(Error::InvalidParameter {
            message: format!(
                "extension \"{}\" has no installation script nor update path for version \"{version}\"",
                new.name
            ),
            hint: Some(format!("Its version is {}.", known.version)),
        });
    }
    let schema = match &new.schema {
        Some(schema) => ctx.catalog.schema(schema)?.name.clone(),
        None => ctx
            .catalog
            .creation_schema(ctx.settings.named_path())?
            .to_string(),
    };
    for ty in known.types {
        let name = (schema.clone(), ty.catalog_name());
        check_free(ctx, &name.0, &name.1)?;
        let array = SqlType::array(ty.clone());
        put_new(ctx, (ty.oid(), array.oid()), name, TypeKind::Base(ty.clone()))?;
    }
    if new.name == PG_STAT_STATEMENTS {
        // From now on; whether it stays so is told by the catalog that others see.
        ctx.server.statements.switch(true);
    }
    extension_routine::create_all(ctx, known, &schema).await?;
    let extension = ExtensionDef {
        oid: take_oid(ctx).await?,
        name: new.name.clone(),
        schema,
        version: known.version.to_string(),
        comment: Some(known.comment.to_string()),
    };
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_extension(&extension)
}

/// 0A000, with a way out.
fn unavailable(name: &str) -> Error {
    let way_out = WAYS_OUT.iter().find(|(known, _)| *known == name);
    let hint = way_out.map_or_else(
        || {
            let names: Vec<&str> = KNOWN_EXTENSIONS.iter().map(|known| known.name).collect();
            format!(
                "pg_available_extensions lists those that there are: {}.",
                names.join(", ")
            )
        },
        |(_, hint)| (*hint).to_string(),
    );
    Raised {
        hint: Some(hint),
        ..Raised::new("0A000", format!("extension \"{name}\" is not available"))
    }
    .into()
}

/// The types that an extension made.
pub(super) fn types_of<'c>(catalog: &'c Catalog, name: &str) -> impl Iterator<Item = &'c Arc<TypeDef>> {
    let known = KNOWN_EXTENSIONS.iter().find(|known| known.name == name);
    let made = known.map_or(&[][..], |known| known.types);
    made.iter().filter_map(|ty| catalog.types.by_oid(ty.oid()))
}

/// Runs DROP EXTENSION. Errors: 42704; 2BP01 for plpgsql, and without CASCADE where something is of its types.
pub(super) async fn drop_all(
    ctx: &StatementContext,
    names: &[String],
    if_exists: bool,
    cascade: bool,
) -> Result<()> {
    for name in names {
        match ctx.catalog.extensions.get(name) {
            Some(extension) => {
                let types: Vec<_> = types_of(&ctx.catalog, name).cloned().collect();
                extension_routine::drop_all(ctx, extension, cascade).await?;
                type_dependents::remove_types(ctx, &types, format!("extension {name}"), cascade).await?;
                CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.drop_extension(extension)?;
            }
            None if name == PLPGSQL => {
                return Err(Error::InvalidStatement {
                    state: StatementFault::DependentObjects,
                    message: "cannot drop extension plpgsql because it is required by the database system"
                        .to_string(),
                    hint: None,
                });
            }
            None if if_exists => {
                let message = format!("extension \"{name}\" does not exist, skipping");
                notice(ctx, "00000", message, None);
            }
            None => return Err(undefined(name)),
        }
    }
    Ok(())
}

/// Runs ALTER EXTENSION … UPDATE and SET SCHEMA. Errors: 42704, 3F000.
pub(super) fn alter(ctx: &StatementContext, name: &str, schema: Option<&String>) -> Result<()> {
    let known = ctx.catalog.extensions.get(name);
    match (known, schema) {
        (None, _) if name == PLPGSQL => Ok(()),
        (None, _) => Err(undefined(name)),
        (Some(known), None) => {
            let message = format!(
                "version \"{}\" of extension \"{name}\" is already installed",
                known.version
            );
            notice(ctx, "00000", message, None);
            Ok(())
        }
        (Some(known), Some(schema)) => {
            let changed = ExtensionDef {
                schema: ctx.catalog.schema(schema)?.name.clone(),
                ..known.clone()
            };
            for ty in types_of(&ctx.catalog, name) {
                alter_any(ctx, ty, &TypeChange::Schema(schema.clone()))?;
            }
            extension_routine::move_all(ctx, known, &changed.schema)?;
            CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_extension(&changed)
        }
    }
}

/// Runs COMMENT ON EXTENSION. Errors: 42704.
pub(super) fn comment(ctx: &StatementContext, name: &str, comment: Option<String>) -> Result<()> {
    match ctx.catalog.extensions.get(name) {
        Some(known) => {
            let changed = ExtensionDef {
                comment,
                ..known.clone()
            };
            CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_extension(&changed)
        }
        None if name == PLPGSQL => Ok(()),
        None => Err(undefined(name)),
    }
}

fn undefined(name: &str) -> Error {
    Error::UndefinedObject {
        kind: "extension",
        name: name.to_string(),
    }
}
