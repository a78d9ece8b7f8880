//! CREATE TYPE … AS (…), and the changes of ALTER TYPE to its attributes. Values in rows name their attributes by number, so that
//! one that is added or dropped leaves them as they are.

use std::sync::Arc;

use sqlparser::ast::{DataType, ObjectName};

use super::attribute_users::users_of_attributes;
use super::user_type::{new_name, put_new, take_oid};
use super::{members_in_text, notice, type_lookup, user_type};
use crate::catalog::{CatalogWriter, CompositeDef, TypeDef, TypeKind};
use crate::error::{DuplicateKind, Limit, StatementFault};
use crate::parse::definition::{AttributeChange, TypeChange};
use crate::query::type_name;
use crate::sql::column_type::check_stored;
use crate::system::StatementContext;
use crate::types::{RecordField, RecordType, SqlType, check_row_nesting};
use crate::{Error, Result};

/// The most attributes of a type; PostgreSQL's of a table.
const ATTRIBUTES_MAX: u16 = 1_600;

/// Runs CREATE TYPE … AS (…). Errors: 42710, 42701 for an attribute that is there twice, those of the types, 54011.
pub(super) async fn create(
    ctx: &StatementContext,
    name: &ObjectName,
    attributes: &[(String, DataType)],
) -> Result<()> {
    let (schema, name) = new_name(ctx, name)?;
    if attributes.is_empty() {
        return Err(Error::unsupported(
            "a composite type of no attributes",
            Some("Give it one."),
        ));
    }
    let mut fields: Vec<RecordField> = Vec::with_capacity(attributes.len());
    for (number, (attribute, ty)) in (1..).zip(attributes) {
        check_number(number)?;
        if fields.iter().any(|known| known.name == *attribute) {
            return Err(Error::DuplicateColumn {
                name: attribute.clone(),
            });
        }
        fields.push(RecordField {
            number,
            name: attribute.clone(),
            ty: attribute_type(ctx, attribute, ty)?,
        });
    }
    let (oid, array_oid) = (take_oid(ctx).await?, take_oid(ctx).await?);
    let last_number = fields.last().map_or(0, |field| field.number);
    let row = RecordType {
        oid,
        array_oid,
        version: 0,
        name: name.clone(),
        fields,
    };
    check_row_nesting(&row)?;
    let composite = CompositeDef {
        last_number,
        row: Arc::new(row),
    };
    put_new(
        ctx,
        (oid, array_oid),
        (schema, name),
        TypeKind::Composite(composite),
    )
}

/// Errors: 54011.
fn check_number(number: u16) -> Result<()> {
    match number <= ATTRIBUTES_MAX {
        true => Ok(()),
        false => Err(Error::LimitExceeded {
            state: Limit::Columns,
            message: format!("a composite type has at most {ATTRIBUTES_MAX} attributes"),
            hint: "Make two types, one of them an attribute of the other.".to_string(),
        }),
    }
}

/// Errors: 42704, 42P16 for pseudo-types, 0A000 for a domain.
fn attribute_type(ctx: &StatementContext, name: &str, ty: &DataType) -> Result<SqlType> {
    let named = type_name::declared_type(ctx, ty)?;
    if let Some(domain) = named.domain {
        return Err(Error::unsupported(
            format!("attribute \"{name}\" of domain {}", domain.name),
            Some("Use the type that the domain is over, with a CHECK constraint of the table."),
        ));
    }
    check_stored(&named.ty)?;
    Ok(named.ty)
}

/// Runs ALTER TYPE, of whatever kind the type is. Errors: 42704, those of the change.
pub(super) async fn alter_type(ctx: &StatementContext, name: &ObjectName, change: &TypeChange) -> Result<()> {
    if !matches!(
        change,
        TypeChange::Attributes(_) | TypeChange::RenameAttribute { .. }
    ) {
        return user_type::alter(ctx, name, change).await;
    }
    let ty = type_lookup::user_type(ctx, name)?;
    match &ty.kind {
        TypeKind::Composite(composite) => alter(ctx, &ty, composite, change),
        TypeKind::Enum(_) | TypeKind::Domain(_) | TypeKind::Base(_) => Err(no_composite(&ty)),
    }
}

/// Runs ADD, DROP, ALTER and RENAME ATTRIBUTE. Errors: 42701, 42703, 0A000 where what is stored depends on it.
fn alter(ctx: &StatementContext, ty: &TypeDef, composite: &CompositeDef, change: &TypeChange) -> Result<()> {
    let mut row = RecordType::clone(&composite.row);
    let mut last_number = composite.last_number;
    match change {
        TypeChange::RenameAttribute { from, to } => {
            members_in_text::check_attribute_not_in_text(ctx, ty, from)?;
            let at = place_of(&row, ty, from)?;
            check_free(&row, ty, to)?;
            row.fields[at].name.clone_from(to);
        }
        TypeChange::Attributes(changes) => {
            for change in changes {
                alter_attribute(ctx, ty, (&mut row, &mut last_number), change)?;
            }
        }
        _ => return Err(Error::internal("a change of no attribute")),
    }
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_type(&TypeDef {
        kind: TypeKind::Composite(CompositeDef {
            row: Arc::new(row),
            last_number,
        }),
        ..ty.clone()
    })
}

fn alter_attribute(
    ctx: &StatementContext,
    ty: &TypeDef,
    (row, last_number): (&mut RecordType, &mut u16),
    change: &AttributeChange,
) -> Result<()> {
    match change {
        AttributeChange::Add { name, ty: written } => {
            users_of_attributes(ctx, ty)?.check_constants(ty)?;
            check_free(row, ty, name)?;
            let added = attribute_type(ctx, name, written)?;
            if is_within(ctx, &added, ty.oid) {
                return Err(Error::InvalidStatement {
                    state: StatementFault::InvalidTableDefinition,
                    message: format!("composite type {} cannot be made a member of itself", ty.name),
                    hint: None,
                });
            }
            *last_number += 1;
            check_number(*last_number)?;
            row.fields.push(RecordField {
                number: *last_number,
                name: name.clone(),
                ty: added,
            });
        }
        AttributeChange::Drop { name, if_exists } => {
            if row.place_of(name).is_none() && *if_exists {
                let message = format!(
                    "column \"{name}\" of relation \"{}\" does not exist, skipping",
                    ty.name
                );
                notice(ctx, "00000", message, None);
                return Ok(());
            }
            let at = place_of(row, ty, name)?;
            users_of_attributes(ctx, ty)?.check_constants(ty)?;
            members_in_text::check_attribute_not_in_text(ctx, ty, name)?;
            if row.fields.len() == 1 {
                return Err(Error::unsupported(
                    "a composite type of no attributes",
                    Some("Drop the type."),
                ));
            }
            row.fields.remove(at);
        }
        AttributeChange::Retype { name, ty: written } => {
            let at = place_of(row, ty, name)?;
            let retyped = attribute_type(ctx, name, written)?;
            users_of_attributes(ctx, ty)?.check_none(ty)?;
            row.fields[at].ty = retyped;
        }
    }
    Ok(())
}

/// Whether a type holds the composite type with this oid, at any depth.
fn is_within(ctx: &StatementContext, ty: &SqlType, oid: u32) -> bool {
    ty.user_types().into_iter().any(|(used, _)| {
        let inner = ctx.catalog.types.by_oid(used);
        used == oid || inner.is_some_and(|inner| inner.rests_on().contains(&oid))
    })
}

fn place_of(row: &RecordType, ty: &TypeDef, name: &str) -> Result<usize> {
    row.place_of(name).ok_or_else(|| Error::UndefinedColumn {
        name: format!("\"{name}\" of relation \"{}\"", ty.name),
        hint: None,
    })
}

fn check_free(row: &RecordType, ty: &TypeDef, name: &str) -> Result<()> {
    match row.place_of(name) {
        None => Ok(()),
        Some(_) => Err(Error::Duplicate {
            kind: DuplicateKind::Column,
            name: format!("{name}\" of relation \"{}", ty.name),
        }),
    }
}

/// 42P01: no type but a composite one has attributes, nor a row in pg_class.
fn no_composite(ty: &TypeDef) -> Error {
    Error::UndefinedTable {
        name: ty.name.clone(),
        nearest: None,
    }
}
