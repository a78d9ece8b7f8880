//! The types of a function's arguments and results as CREATE writes them.

use crate::Result;
use crate::catalog::{Polymorphic, RoutineType};
use crate::parse::routine::WrittenType;
use crate::query::type_name::NamedType;
use crate::sql::plpgsql::type_of;
use crate::system::StatementContext;
use crate::types::SqlType;

/// What a type of CREATE FUNCTION is.
pub(super) enum Resolved {
    /// A type.
    Type(RoutineType),
    /// void.
    Void,
    /// record.
    Record,
    /// trigger.
    Trigger,
}

/// The type that is meant, without a length: PostgreSQL keeps none. Errors: 42704, 0A000.
pub(super) fn resolve(ctx: &StatementContext, written: &WrittenType) -> Result<Resolved> {
    let named = match written {
        WrittenType::Named(named) => named,
        written => return type_of(ctx, written).map(|named| Resolved::Type(declared(named))),
    };
    let word = named.to_string().to_lowercase();
    match word.strip_prefix("pg_catalog.").unwrap_or(&word) {
        "void" => return Ok(Resolved::Void),
        "record" => return Ok(Resolved::Record),
        "trigger" | "event_trigger" => return Ok(Resolved::Trigger),
        word => {
            if let Some(polymorphic) = Polymorphic::named(word) {
                return Ok(Resolved::Type(RoutineType::Polymorphic(polymorphic)));
            }
        }
    }
    type_of(ctx, written).map(|named| Resolved::Type(declared(named)))
}

fn declared(named: NamedType) -> RoutineType {
    match (named.domain, named.ty) {
        (Some(domain), _) => RoutineType::Domain(domain),
        // The row of a relation has the columns that this has when the function is called.
        (None, SqlType::Record(row)) if row.is_of_relation() => RoutineType::Row(row.oid),
        (None, ty) => RoutineType::Sql(bare(ty)),
    }
}

/// A type without its length.
fn bare(ty: SqlType) -> SqlType {
    match &ty {
        SqlType::Array(item) => item.map(|item| bare(item.clone())),
        SqlType::Enum(_) | SqlType::Record(_) | SqlType::Catalog(_) => ty,
        plain => SqlType::from_oid(plain.oid(), -1).unwrap_or(ty),
    }
}

/// A type as messages and pg_get_function_arguments show it.
pub(super) fn shown(ctx: &StatementContext, ty: &RoutineType) -> String {
    match ty {
        RoutineType::Sql(ty) => ty.to_string(),
        RoutineType::Domain(ty) => ty.name.clone(),
        RoutineType::Polymorphic(ty) => ty.name().to_string(),
        RoutineType::Row(oid) => {
            let relation = ctx
                .catalog
                .relations
                .iter()
                .find(|relation| relation.oid() == *oid);
            relation.map_or_else(|| oid.to_string(), |relation| relation.name().to_string())
        }
    }
}
