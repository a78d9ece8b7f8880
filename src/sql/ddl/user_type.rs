//! CREATE TYPE … AS ENUM, ALTER TYPE, and what ALTER DOMAIN has in common with it: names, schemas, owners.

use std::sync::Arc;

use sqlparser::ast::{Ident, ObjectName};

use super::named_in_text::{NamedObject, Renaming};
use super::new_relation::NewRelation;
use super::type_lookup::user_type;
use super::{members_in_text, notice, renamed_texts, role};
use crate::catalog::{CatalogWriter, TypeDef, TypeKind, is_system_schema};
use crate::error::{DuplicateKind, StatementFault};
use crate::parse::definition::{LabelPlace, Persistence, RoleName, TypeChange};
use crate::system::StatementContext;
use crate::types::{EnumLabel, EnumType, POSITION_STEP};
use crate::{Error, Result};

/// The longest label, in bytes; PostgreSQL's.
const LABEL_BYTES_MAX: usize = 63;

/// Runs CREATE TYPE … AS ENUM. Errors: 42710, 42602, 3F000.
pub(super) async fn create_enum(ctx: &StatementContext, name: &ObjectName, labels: &[String]) -> Result<()> {
    let (schema, name) = new_name(ctx, name)?;
    let mut known: Vec<EnumLabel> = Vec::with_capacity(labels.len());
    for (at, label) in labels.iter().enumerate() {
        check_label(label)?;
        if known.iter().any(|known| known.label == *label) {
            return Err(Error::InvalidStatement {
                state: StatementFault::DuplicateObject,
                message: format!("enum label \"{label}\" is given twice"),
                hint: None,
            });
        }
        known.push(EnumLabel {
            oid: take_oid(ctx).await?,
            position: (at as i64 + 1).saturating_mul(POSITION_STEP),
            label: label.clone(),
        });
    }
    let (oid, array_oid) = (take_oid(ctx).await?, take_oid(ctx).await?);
    let labels = EnumType {
        oid,
        array_oid,
        version: 0,
        name: name.clone(),
        labels: known,
    };
    put_new(
        ctx,
        (oid, array_oid),
        (schema, name),
        TypeKind::Enum(Arc::new(labels)),
    )
}

/// Writes the record of a type that is made, with its own oid and its array's.
pub(super) fn put_new(
    ctx: &StatementContext,
    (oid, array_oid): (u32, u32),
    (schema, name): (String, String),
    kind: TypeKind,
) -> Result<()> {
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_type(&TypeDef {
        oid,
        array_oid,
        version: 0,
        schema,
        name,
        comment: None,
        kind,
    })
}

/// Runs ALTER TYPE. Errors: 42704, 42809 for one of another kind, those of the change.
pub(super) async fn alter(ctx: &StatementContext, name: &ObjectName, change: &TypeChange) -> Result<()> {
    let ty = user_type(ctx, name)?;
    match (&ty.kind, change) {
        (
            TypeKind::Enum(labels),
            TypeChange::AddValue {
                label,
                if_not_exists,
                place,
            },
        ) => {
            let Some(added) = with_value(ctx, labels, label, *if_not_exists, place).await? else {
                return Ok(());
            };
            put_labels(ctx, &ty, added)
        }
        (TypeKind::Enum(labels), TypeChange::RenameValue { from, to }) => {
            let renamed = with_renamed_value(labels, from, to)?;
            members_in_text::check_label_not_in_text(ctx, &ty, from)?;
            put_labels(ctx, &ty, renamed)
        }
        (
            TypeKind::Domain(_) | TypeKind::Composite(_) | TypeKind::Base(_),
            TypeChange::AddValue { .. } | TypeChange::RenameValue { .. },
        ) => Err(Error::InvalidStatement {
            state: StatementFault::WrongObjectType,
            message: format!("{} is not an enum", ty.name),
            hint: None,
        }),
        (_, change) => alter_any(ctx, &ty, change),
    }
}

/// RENAME TO, SET SCHEMA, OWNER TO, of any type. Errors: 42710, 3F000, 42704 for the role.
pub(super) fn alter_any(ctx: &StatementContext, ty: &Arc<TypeDef>, change: &TypeChange) -> Result<()> {
    let mut changed = TypeDef::clone(ty);
    match change {
        TypeChange::Rename(name) => changed.name.clone_from(name),
        TypeChange::Schema(schema) => {
            changed.schema = ctx.catalog.schema(schema)?.name.clone();
            if is_system_schema(schema) {
                return Err(Error::NotAllowed {
                    message: format!("system schema \"{schema}\" takes no new objects"),
                });
            }
        }
        TypeChange::Owner(RoleName::Named(name)) => return role::check(ctx, &Ident::with_quote('"', name)),
        TypeChange::Owner(RoleName::Current | RoleName::All) => return Ok(()),
        TypeChange::AddValue { .. }
        | TypeChange::RenameValue { .. }
        | TypeChange::Attributes(_)
        | TypeChange::RenameAttribute { .. } => {
            return Err(Error::internal("a change of what a type has not"));
        }
    }
    if changed.schema == ty.schema && changed.name == ty.name {
        return match change {
            TypeChange::Rename(_) => Err(taken(&ty.name)),
            _ => Ok(()),
        };
    }
    check_free(ctx, &changed.schema, &changed.name)?;
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    // Nor may anybody be making what names it.
    writer.guard_dependents(ty.oid);
    let new = (changed.schema.as_str(), changed.name.as_str());
    renamed_texts::follow(
        ctx,
        &writer,
        &Renaming::new(&ctx.catalog, NamedObject::Type(ty), new),
    )?;
    writer.put_type(&changed)
}

/// Schema and name of a type to be made. Errors: 42710, 3F000, 42501.
pub(super) fn new_name(ctx: &StatementContext, name: &ObjectName) -> Result<(String, String)> {
    let NewRelation { schema, name } = NewRelation::of(ctx, name, Persistence::Permanent)?;
    check_free(ctx, &schema, &name)?;
    Ok((schema, name))
}

/// Errors: 42710 for a name that a type has: a table, view or sequence has one of its own name.
pub(super) fn check_free(ctx: &StatementContext, schema: &str, name: &str) -> Result<()> {
    let is_relation = ctx.catalog.relations.get(schema, name).is_some();
    match is_relation || ctx.catalog.types.get(schema, name).is_some() {
        true => Err(taken(name)),
        false => Ok(()),
    }
}

fn taken(name: &str) -> Error {
    Error::Duplicate {
        kind: DuplicateKind::Type,
        name: name.to_string(),
    }
}

/// A number for a new object.
pub(super) async fn take_oid(ctx: &StatementContext) -> Result<u32> {
    ctx.sequences.object_ids().take_oid().await
}

fn check_label(label: &str) -> Result<()> {
    if label.len() <= LABEL_BYTES_MAX {
        return Ok(());
    }
    Err(Error::InvalidStatement {
        state: StatementFault::InvalidName,
        message: format!("invalid enum label \"{label}\""),
        hint: Some(format!("Labels must be {LABEL_BYTES_MAX} bytes or less.")),
    })
}

fn put_labels(ctx: &StatementContext, ty: &TypeDef, labels: EnumType) -> Result<()> {
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_type(&TypeDef {
        kind: TypeKind::Enum(Arc::new(labels)),
        ..ty.clone()
    })
}

/// The labels with one more; `None` when it is there and may be. Errors: 42710, 22023 for a neighbour that is none, 0A000 where no
/// position is left between two.
async fn with_value(
    ctx: &StatementContext,
    known: &EnumType,
    label: &str,
    if_not_exists: bool,
    place: &LabelPlace,
) -> Result<Option<EnumType>> {
    check_label(label)?;
    if known.labels.iter().any(|known| known.label == label) {
        if if_not_exists {
            let message = format!("enum label \"{label}\" already exists, skipping");
            notice(ctx, "42710", message, None);
            return Ok(None);
        }
        return Err(Error::InvalidStatement {
            state: StatementFault::DuplicateObject,
            message: format!("enum label \"{label}\" already exists"),
            hint: None,
        });
    }
    let place_of = |neighbor: &String| {
        let found = known.labels.iter().position(|known| known.label == *neighbor);
        found.ok_or_else(|| Error::InvalidParameter {
            message: format!("\"{neighbor}\" is not an existing enum label"),
            hint: None,
        })
    };
    let at = match place {
        LabelPlace::End => known.labels.len(),
        LabelPlace::Before(neighbor) => place_of(neighbor)?,
        LabelPlace::After(neighbor) => place_of(neighbor)? + 1,
    };
    let position_at = |at: Option<usize>| at.and_then(|at| known.labels.get(at)).map(|label| label.position);
    let position = match (position_at(at.checked_sub(1)), position_at(Some(at))) {
        (None, None) => Some(POSITION_STEP),
        (None, Some(after)) => after.checked_sub(POSITION_STEP),
        (Some(before), None) => before.checked_add(POSITION_STEP),
        (Some(before), Some(after)) => Some(before + (after - before) / 2).filter(|middle| *middle > before),
    };
    let position = position.ok_or_else(|| {
        Error::unsupported(
            format!("one more label beside \"{label}\""),
            Some("Create a new type with the labels in their order, and ALTER COLUMN ... TYPE to it."),
        )
    })?;
    let mut added = known.clone();
    added.labels.insert(
        at,
        EnumLabel {
            oid: take_oid(ctx).await?,
            position,
            label: label.to_string(),
        },
    );
    Ok(Some(added))
}

/// The labels with one renamed. Errors: 22023, 42710.
fn with_renamed_value(known: &EnumType, from: &str, to: &str) -> Result<EnumType> {
    check_label(to)?;
    let mut renamed = known.clone();
    let is_taken = known.labels.iter().any(|known| known.label == to);
    let Some(label) = renamed.labels.iter_mut().find(|known| known.label == from) else {
        return Err(Error::InvalidParameter {
            message: format!("\"{from}\" is not an existing enum label"),
            hint: None,
        });
    };
    if is_taken {
        return Err(Error::InvalidStatement {
            state: StatementFault::DuplicateObject,
            message: format!("enum label \"{to}\" already exists"),
            hint: None,
        });
    }
    label.label = to.to_string();
    Ok(renamed)
}
