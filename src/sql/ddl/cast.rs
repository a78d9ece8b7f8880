//! CREATE CAST, DROP CAST and COMMENT ON CAST. What a cast does is `query::user_cast`'s matter: here stands which may be made.
//! One is made where no cast is built in for the two types; how text becomes a value of any type, and back, is none that is built in.

use std::sync::Arc;

use sqlparser::ast::DataType;

use super::notice;
use super::routine_ref::found_routine;
use super::routine_type::{Resolved, resolve};
use super::user_type::take_oid;
use crate::catalog::cast::described;
use crate::catalog::{
    CastApplies, CastDef, CastMethod, CatalogWriter, RoutineDef, RoutineResult, RoutineType,
};
use crate::error::{Raised, StatementFault};
use crate::functions;
use crate::parse::cast::{CastDefinition, CastTypes, WrittenContext, WrittenMethod};
use crate::parse::names;
use crate::parse::routine::{RoutineRef, RoutineWord, WrittenType};
use crate::system::StatementContext;
use crate::system::pg_catalog::has_built_in_cast;
use crate::types::SqlType;
use crate::{Error, Result};

/// Runs it. Errors: 42704 for types and casts that are not there, 42710, 42809, 42883, 42P17; 0A000 for casts of domains and tables' rows.
pub(super) async fn execute(ctx: &StatementContext, definition: &CastDefinition) -> Result<()> {
    match definition {
        CastDefinition::Create {
            types,
            method,
            context,
        } => create(ctx, types, method, *context).await,
        CastDefinition::Drop { types, if_exists } => drop_cast(ctx, types, *if_exists),
        CastDefinition::Comment { types, comment } => self::comment(ctx, types, comment.clone()),
    }
}

async fn create(
    ctx: &StatementContext,
    types: &CastTypes,
    method: &WrittenMethod,
    context: WrittenContext,
) -> Result<()> {
    let source = cast_type(ctx, &types.source, "source")?;
    let target = cast_type(ctx, &types.target, "target")?;
    let method = match method {
        WrittenMethod::InOut => CastMethod::Text,
        WrittenMethod::WithoutFunction => {
            check_same_values(&source, &target)?;
            CastMethod::Same
        }
        WrittenMethod::Function(named) => {
            CastMethod::Function(cast_function(ctx, named, &source, &target)?.oid)
        }
    };
    if source.oid() == target.oid() {
        return Err(invalid("source data type and target data type are the same"));
    }
    if ctx.catalog.casts.get(&source, &target).is_some() || has_built_in_cast(&source, &target) {
        let message = format!("{} already exists", described(&source, &target));
        return Err(Raised::new("42710", message).into());
    }
    let cast = CastDef {
        oid: take_oid(ctx).await?,
        version: 0,
        source,
        target,
        method,
        applies: match context {
            WrittenContext::Explicit => CastApplies::Explicit,
            WrittenContext::Assignment => CastApplies::Assignment,
            WrittenContext::Implicit => CastApplies::Implicit,
        },
        comment: None,
    };
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_cast(&cast)
}

/// A type that may be cast. `side`: what messages call it. Errors: 42704, 42809, 0A000.
fn cast_type(ctx: &StatementContext, written: &DataType, side: &str) -> Result<SqlType> {
    match resolve(ctx, &WrittenType::Named(written.clone()))? {
        Resolved::Type(RoutineType::Sql(ty)) => Ok(ty),
        Resolved::Type(RoutineType::Domain(_)) => Err(Error::unsupported(
            format!("a cast whose {side} data type is a domain"),
            Some("Leave it out: PostgreSQL takes it and ignores it."),
        )),
        Resolved::Type(RoutineType::Row(_)) => Err(Error::unsupported(
            format!("a cast whose {side} data type is the row of a table"),
            Some("Make a composite type with CREATE TYPE, and a cast of it."),
        )),
        Resolved::Type(RoutineType::Polymorphic(_))
        | Resolved::Void
        | Resolved::Record
        | Resolved::Trigger => {
            let name = written.to_string().to_lowercase();
            Err(Error::InvalidStatement {
                state: StatementFault::WrongObjectType,
                message: format!("{side} data type {name} is a pseudo-type"),
                hint: None,
            })
        }
    }
}

/// The function of a cast. Errors: 42883, 42P17; 0A000 for one that is built in.
fn cast_function(
    ctx: &StatementContext,
    named: &RoutineRef,
    source: &SqlType,
    target: &SqlType,
) -> Result<Arc<RoutineDef>> {
    let found = found_routine(ctx, RoutineWord::Function, named);
    let routine = found.map_err(|error| {
        let name = names::relation_name(&named.name).map(|(_, name)| name);
        let is_built_in = name.is_ok_and(|name| functions::functions_named(&name).next().is_some());
        match is_built_in {
            true => Error::unsupported(
                "a cast by a function that is built in",
                Some("Call it in a function of your own, and name that."),
            ),
            false => error,
        }
    })?;
    let inputs: Vec<Option<&SqlType>> = routine.inputs().map(|input| input.ty.sql_type()).collect();
    let Some((first, rest)) = inputs.split_first().filter(|(_, rest)| rest.len() < 3) else {
        return Err(invalid("cast function must take one to three arguments"));
    };
    if !first.is_some_and(|first| is_same_in_memory(source, first)) {
        return Err(invalid(
            "argument of cast function must match or be binary-coercible from source data type",
        ));
    }
    let is = |at: usize, ty: &SqlType| rest.get(at).is_none_or(|found| *found == Some(ty));
    if !is(0, &SqlType::Int4) {
        return Err(invalid("second argument of cast function must be type integer"));
    }
    if !is(1, &SqlType::Bool) {
        return Err(invalid("third argument of cast function must be type boolean"));
    }
    let result = match &routine.returns {
        RoutineResult::Type(ty) => ty.sql_type(),
        _ => None,
    };
    if !result.is_some_and(|result| is_same_in_memory(result, target)) {
        return Err(invalid(
            "return data type of cast function must match or be binary-coercible to target data type",
        ));
    }
    match routine.returns_set {
        true => Err(invalid("cast function must not return a set")),
        false => Ok(routine),
    }
}

/// Whether values of one type are values of the other as they are.
fn is_same_in_memory(from: &SqlType, to: &SqlType) -> bool {
    let is_text = |ty: &SqlType| matches!(ty, SqlType::Text | SqlType::Varchar(_));
    from.oid() == to.oid() || is_text(from) && is_text(to)
}

/// Errors: 42P17 for types whose values are not the same bytes.
fn check_same_values(source: &SqlType, target: &SqlType) -> Result<()> {
    let either = |is: fn(&SqlType) -> bool| is(source) || is(target);
    if either(|ty| matches!(ty, SqlType::Record(_))) {
        return Err(invalid("composite data types are not binary-compatible"));
    }
    if either(|ty| matches!(ty, SqlType::Enum(_))) {
        return Err(invalid("enum data types are not binary-compatible"));
    }
    if either(|ty| matches!(ty, SqlType::Array(_))) {
        return Err(invalid("array data types are not binary-compatible"));
    }
    let is_text = |ty: &SqlType| ty.is_string() || *ty == SqlType::Json;
    match is_text(source) && is_text(target) {
        true => Ok(()),
        false => Err(invalid(
            "source and target data types are not physically compatible",
        )),
    }
}

fn drop_cast(ctx: &StatementContext, types: &CastTypes, if_exists: bool) -> Result<()> {
    let ends = [(&types.source, "source"), (&types.target, "target")];
    let mut found = Vec::with_capacity(2);
    for (written, side) in ends {
        match cast_type(ctx, written, side) {
            Ok(ty) => found.push(ty),
            Err(Error::UndefinedObject { name, .. }) if if_exists => {
                notice(
                    ctx,
                    "00000",
                    format!("type \"{name}\" does not exist, skipping"),
                    None,
                );
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    }
    let [source, target] = found.as_slice() else {
        return Err(Error::internal("a cast has two types"));
    };
    if let Some(cast) = ctx.catalog.casts.get(source, target) {
        return CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.drop_cast(cast);
    }
    if has_built_in_cast(source, target) {
        let message = format!(
            "cannot drop cast from {} to {} because it is required by the database system",
            source.full_base_name(),
            target.full_base_name()
        );
        return Err(Raised::new("2BP01", message).into());
    }
    if !if_exists {
        return Err(undefined(source, target));
    }
    let message = format!("{} does not exist, skipping", described(source, target));
    notice(ctx, "00000", message, None);
    Ok(())
}

fn comment(ctx: &StatementContext, types: &CastTypes, comment: Option<String>) -> Result<()> {
    let source = cast_type(ctx, &types.source, "source")?;
    let target = cast_type(ctx, &types.target, "target")?;
    let Some(cast) = ctx.catalog.casts.get(&source, &target) else {
        return match has_built_in_cast(&source, &target) {
            true => Err(Error::unsupported("a comment on a cast that is built in", None)),
            false => Err(undefined(&source, &target)),
        };
    };
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_cast(&CastDef {
        comment,
        ..CastDef::clone(cast)
    })
}

fn undefined(source: &SqlType, target: &SqlType) -> Error {
    Raised::new("42704", format!("{} does not exist", described(source, target))).into()
}

fn invalid(message: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::InvalidObjectDefinition,
        message: message.to_string(),
        hint: None,
    }
}
