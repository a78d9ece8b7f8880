//! The function that ALTER, DROP or COMMENT names, with the types of its arguments or without.

use std::sync::Arc;

use sqlparser::ast::DataType;

use super::routine_type::{Resolved, resolve, shown};
use crate::catalog::{RoutineDef, RoutineKind, RoutineType, signature};
use crate::error::StatementFault;
use crate::parse::names;
use crate::parse::routine::{PassedAs, RoutineRef, RoutineWord, WrittenType};
use crate::query::described_routine;
use crate::system::StatementContext;
use crate::types::SqlType;
use crate::{Error, Result};

/// The function. Errors: 42883 for none, 42725 for several, 42809 for one of another kind.
pub(super) fn found_routine(
    ctx: &StatementContext,
    word: RoutineWord,
    named: &RoutineRef,
) -> Result<Arc<RoutineDef>> {
    let (schema, name) = names::relation_name(&named.name)?;
    if let Some(schema) = &schema {
        ctx.catalog.schema(ctx.settings.schema_meant(schema))?;
    }
    let found = ctx
        .catalog
        .routines
        .find(schema.as_deref(), &name, &ctx.settings.search_path);
    let of_kind = |routine: &&Arc<RoutineDef>| match word {
        RoutineWord::Routine => true,
        RoutineWord::Function => routine.kind == RoutineKind::Function,
        RoutineWord::Procedure => routine.kind == RoutineKind::Procedure,
        RoutineWord::Aggregate => routine.kind == RoutineKind::Aggregate,
    };
    let shown_name = schema.map_or_else(|| name.clone(), |schema| format!("{schema}.{name}"));
    let Some(arguments) = &named.arguments else {
        let fitting: Vec<&Arc<RoutineDef>> = found.iter().filter(of_kind).collect();
        return only_one(&fitting, word, &shown_name);
    };
    let mut types = Vec::with_capacity(arguments.len());
    for argument in arguments
        .iter()
        .filter(|argument| argument.passed != PassedAs::Out)
    {
        types.push(match resolve(ctx, &argument.ty)? {
            Resolved::Type(ty) => ty,
            Resolved::Void | Resolved::Record | Resolved::Trigger => RoutineType::Row(0),
        });
    }
    let wanted = signature(&name, types.iter());
    let is_it = |routine: &&Arc<RoutineDef>| {
        let written = routine.arguments.iter().map(|argument| &argument.ty);
        routine.signature() == wanted
            || (routine.kind == RoutineKind::Procedure && signature(&name, written) == wanted)
    };
    let Some(routine) = found.iter().find(is_it) else {
        let types: Vec<String> = types.iter().map(|ty| shown(ctx, ty)).collect();
        return Err(Error::InvalidStatement {
            state: StatementFault::UndefinedRoutine,
            message: format!(
                "{} {shown_name}({}) does not exist",
                missing_word(word),
                types.join(", ")
            ),
            hint: None,
        });
    };
    match of_kind(&routine) {
        true => Ok(Arc::clone(routine)),
        false => Err(Error::InvalidStatement {
            state: StatementFault::WrongObjectType,
            message: match word {
                RoutineWord::Aggregate => {
                    format!("function {} is not an aggregate", described_routine(routine))
                }
                _ => format!("{} is not a {}", described_routine(routine), word.word()),
            },
            hint: None,
        }),
    }
}

/// What PostgreSQL calls one that is not there.
fn missing_word(word: RoutineWord) -> &'static str {
    match word {
        RoutineWord::Routine => "function",
        word => word.word(),
    }
}

/// The function of the same schema, name and types of arguments.
pub(super) fn known_routine<'a>(
    ctx: &'a StatementContext,
    routine: &RoutineDef,
) -> Option<&'a Arc<RoutineDef>> {
    let signature = routine.signature();
    ctx.catalog.routines.iter().find(|known| {
        known.schema == routine.schema && known.name == routine.name && known.signature() == signature
    })
}

/// The one of a name that is said without arguments. Errors: 42883, 42725.
fn only_one(fitting: &[&Arc<RoutineDef>], word: RoutineWord, name: &str) -> Result<Arc<RoutineDef>> {
    match fitting {
        [only] => Ok(Arc::clone(only)),
        [] => Err(Error::InvalidStatement {
            state: StatementFault::UndefinedRoutine,
            message: format!("could not find a {} named \"{name}\"", missing_word(word)),
            hint: None,
        }),
        _ => Err(Error::InvalidStatement {
            state: StatementFault::AmbiguousRoutine,
            message: format!("{} name \"{name}\" is not unique", word.word()),
            hint: Some(format!(
                "Specify the argument list to select the {} unambiguously.",
                word.word()
            )),
        }),
    }
}

/// The types of what a caller gives.
pub(super) fn shown_types(ctx: &StatementContext, routine: &RoutineDef) -> String {
    let types = routine.inputs().map(|input| shown(ctx, &input.ty));
    types.collect::<Vec<_>>().join(",")
}

/// `function f(integer)`.
pub(super) fn described(ctx: &StatementContext, routine: &RoutineDef) -> String {
    format!(
        "{} {}({})",
        routine.kind.word(),
        routine.name,
        shown_types(ctx, routine)
    )
}

/// A name as the notice of IF EXISTS shows it, whose types are those that the words of SQL mean.
pub(super) fn written_name(named: &RoutineRef) -> String {
    let arguments = named.arguments.iter().flatten();
    let types = arguments.filter(|argument| argument.passed != PassedAs::Out);
    let types = types.map(|argument| match &argument.ty {
        WrittenType::Named(DataType::Custom(name, _)) => name.to_string(),
        WrittenType::Named(DataType::Text) => "text".to_string(),
        WrittenType::Named(ty) => match crate::parse::type_name::sql_type(ty) {
            Ok(known) if is_word_of_grammar(&known) => format!("pg_catalog.{}", known.catalog_name()),
            Ok(known) => known.base_name().to_string(),
            Err(_) => ty.to_string(),
        },
        WrittenType::OfColumn(name) | WrittenType::OfRow(name) => name.to_string(),
    });
    format!(
        "{}({})",
        named.name.to_string().replace('"', ""),
        types.collect::<Vec<_>>().join(",")
    )
}

/// Whether the grammar has a word of its own for the type.
fn is_word_of_grammar(ty: &SqlType) -> bool {
    matches!(
        ty,
        SqlType::Bool
            | SqlType::Int2
            | SqlType::Int4
            | SqlType::Int8
            | SqlType::Float4
            | SqlType::Float8
            | SqlType::Numeric(_)
            | SqlType::Varchar(_)
            | SqlType::Char(_)
            | SqlType::Bit(_)
            | SqlType::VarBit(_)
            | SqlType::Time(_)
            | SqlType::Timestamp(_)
            | SqlType::TimestampTz(_)
            | SqlType::Interval(_)
    )
}
