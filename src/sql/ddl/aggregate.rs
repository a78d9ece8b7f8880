//! CREATE AGGREGATE.

use sqlparser::ast::ObjectName;

use super::new_relation::NewRelation;
use super::routine::{check_replaceable, invalid};
use super::routine_ref::known_routine;
use super::routine_type::{Resolved, resolve};
use super::user_type::take_oid;
use crate::catalog::{
    AggregateDef, AggregateFunctionDef, ArgumentMode, CatalogWriter, Language, RoutineArgument, RoutineDef,
    RoutineKind, RoutineResult, RoutineType, Volatile,
};
use crate::parse::definition::Persistence;
use crate::parse::names;
use crate::parse::routine::{NewAggregate, PassedAs};
use crate::query::{aggregate_type, example_of};
use crate::system::StatementContext;
use crate::types::SqlType;
use crate::{Error, Result};

/// Runs it. Errors: 42P13, 42723, 42883 for functions that are not there, 42804 for those that do not fit, 0A000.
pub(super) async fn create(ctx: &StatementContext, new: &NewAggregate) -> Result<()> {
    let NewRelation { schema, name } = NewRelation::of(ctx, &new.name, Persistence::Permanent)?;
    let step = new
        .step
        .as_ref()
        .ok_or_else(|| invalid("aggregate sfunc must be specified"))?;
    let arguments = arguments_of(ctx, new)?;
    let state = state_of(ctx, new, &arguments)?;
    let inputs = arguments.iter().map(|argument| example_of(ctx, &argument.ty));
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    let aggregate = AggregateDef {
        step: function_of(ctx, step, 1 + arguments.len())?,
        state: state.stored_name(),
        initial: new.initial.clone(),
        finish: match &new.finish {
            Some(name) => {
                let more = if new.finish_extra { arguments.len() } else { 0 };
                Some(function_of(ctx, name, 1 + more)?)
            }
            None => None,
        },
        finish_extra: new.finish_extra,
    };
    let given = aggregate_type(ctx, &aggregate, (&inputs, &example_of(ctx, &state)?))?;
    let returns = match new.finish {
        None => state,
        Some(_) => declared_as(given, &arguments),
    };
    let functions = [Some(&aggregate.step), aggregate.finish.as_ref()]
        .into_iter()
        .flatten();
    let depends_on = functions.filter_map(AggregateFunctionDef::oid).collect();
    let mut routine = RoutineDef {
        kind: RoutineKind::Aggregate,
        language: Language::Internal,
        arguments,
        returns: RoutineResult::Type(returns),
        volatile: Volatile::Immutable,
        body: "aggregate_dummy".to_string(),
        depends_on,
        aggregate: Some(aggregate),
        ..RoutineDef::new(schema, name)
    };
    match known_routine(ctx, &routine) {
        Some(known) => {
            check_replaceable(ctx, known, &routine, new.or_replace)?;
            routine.oid = known.oid;
            routine.comment.clone_from(&known.comment);
        }
        None => routine.oid = take_oid(ctx).await?,
    }
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_routine(&routine)
}

fn arguments_of(ctx: &StatementContext, new: &NewAggregate) -> Result<Vec<RoutineArgument>> {
    let arguments = new.arguments.iter().map(|written| {
        if written.passed != PassedAs::In {
            return Err(Error::unsupported(
                "an aggregate of any number of arguments",
                None,
            ));
        }
        match resolve(ctx, &written.ty)? {
            Resolved::Type(ty) => Ok(RoutineArgument {
                name: written.name.clone(),
                mode: ArgumentMode::In,
                ty,
                default: None,
            }),
            _ => Err(invalid("an aggregate cannot take a pseudo-type")),
        }
    });
    arguments.collect()
}

fn state_of(
    ctx: &StatementContext,
    new: &NewAggregate,
    arguments: &[RoutineArgument],
) -> Result<RoutineType> {
    let written = new
        .state
        .as_ref()
        .ok_or_else(|| invalid("aggregate stype must be specified"))?;
    let state = match resolve(ctx, written)? {
        Resolved::Type(ty) => ty,
        _ => return Err(invalid("aggregate transition data type cannot be a pseudo-type")),
    };
    let is_polymorphic = |ty: &RoutineType| matches!(ty, RoutineType::Polymorphic(_));
    if is_polymorphic(&state) && !arguments.iter().any(|argument| is_polymorphic(&argument.ty)) {
        return Err(invalid("cannot determine transition data type"));
    }
    Ok(state)
}

/// A function by its name, of those that users made the one of so many arguments.
fn function_of(ctx: &StatementContext, name: &ObjectName, arguments: usize) -> Result<AggregateFunctionDef> {
    let (schema, name) = names::relation_name(name)?;
    let schema = schema.as_deref().map(|schema| ctx.settings.schema_meant(schema));
    let found = ctx.routines_named(schema, &name, &ctx.settings.search_path);
    let mut fitting = found
        .iter()
        .filter(|routine| routine.inputs().count() == arguments);
    Ok(match fitting.next() {
        Some(routine) => AggregateFunctionDef::Function(routine.oid),
        None => AggregateFunctionDef::BuiltIn(name),
    })
}

/// The type that an aggregate declares to give: text is what stands for a polymorphic one.
fn declared_as(given: SqlType, arguments: &[RoutineArgument]) -> RoutineType {
    let polymorphic = arguments.iter().find_map(|argument| match &argument.ty {
        RoutineType::Polymorphic(polymorphic) => Some(polymorphic),
        _ => None,
    });
    match (polymorphic, &given) {
        (Some(_), SqlType::Text) => RoutineType::element(),
        (Some(_), SqlType::Array(item)) if **item == SqlType::Text => RoutineType::array(),
        _ => RoutineType::Sql(given),
    }
}
