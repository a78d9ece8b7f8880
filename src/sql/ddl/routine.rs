//! CREATE, ALTER and COMMENT ON FUNCTION and PROCEDURE.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use sqlparser::ast::{Ident, ObjectName, SelectItem, SetExpr, Visitor};

use super::named_in_text::{NamedObject, Renaming};
use super::new_relation::NewRelation;
use super::routine_ref::{found_routine, known_routine, shown_types};
use super::routine_type::{Resolved, resolve};
use super::row_expression::with_schemas;
use super::user_type::take_oid;
use super::{renamed_texts, role, routine_dependents, storage, view};
use crate::catalog::{
    ArgumentMode, BodyKind, Catalog, CatalogWriter, Language, Parallel, RoutineArgument, RoutineDef,
    RoutineKind, RoutineResult, RoutineType, Routines, Volatile, is_system_schema,
};
use crate::error::StatementFault;
use crate::parse::definition::{Persistence, RoleName};
use crate::parse::names;
use crate::parse::routine::{
    NewRoutine, PassedAs, RoutineChange, RoutineOption, RoutineRef, RoutineWord, WrittenBody,
};
use crate::parse::walk::{Walk, visit_relations};
use crate::query::RoutineBody;
use crate::sql::plpgsql;
use crate::sql::routine::check_sql_body;
use crate::system::{Settings, StatementContext};
use crate::{Error, Result};

/// Runs CREATE FUNCTION, CREATE PROCEDURE. Errors: 42P13, 42723, 42704; those of the body, unless check_function_bodies is off.
pub(super) async fn create(ctx: &StatementContext, new: &NewRoutine) -> Result<()> {
    let NewRelation { schema, name } = NewRelation::of(ctx, &new.name, Persistence::Permanent)?;
    let mut routine = defined(ctx, new, schema, name)?;
    let known = known_routine(ctx, &routine).cloned();
    match &known {
        Some(known) => {
            check_replaceable(ctx, known, &routine, new.or_replace)?;
            routine.oid = known.oid;
            routine.comment.clone_from(&known.comment);
        }
        None => routine.oid = take_oid(ctx).await?,
    }
    for option in &new.options {
        set_option(ctx, &mut routine, option)?;
    }
    if routine.rows.is_some() && !routine.returns_set {
        return Err(Error::InvalidParameter {
            message: "ROWS is not applicable when function does not return a set".to_string(),
            hint: None,
        });
    }
    keep_defaults(ctx, &mut routine)?;
    if routine.body_kind != BodyKind::Text {
        routine.search_path = ctx.settings.search_path.clone();
        routine.depends_on = objects_read(ctx, &routine)?;
    }
    check_body(ctx, &routine).await?;
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    writer.put_routine(&routine)
}

/// Errors: those of a body that says what cannot be.
async fn check_body(ctx: &StatementContext, routine: &RoutineDef) -> Result<()> {
    let is_checked =
        ctx.settings.show("check_function_bodies")? == "on" || routine.body_kind != BodyKind::Text;
    match routine.language {
        _ if !is_checked => Ok(()),
        // What an aggregate calls is checked where it is made.
        Language::Internal => Ok(()),
        Language::Sql => {
            // A function may call itself, and sees itself as it is to be.
            let others = ctx
                .catalog
                .routines
                .iter()
                .filter(|known| known.oid != routine.oid);
            let itself = Arc::new(routine.clone());
            let mut catalog = Catalog::clone(&ctx.catalog);
            catalog.routines = Routines::new(others.cloned().chain([itself]));
            let checked = StatementContext {
                catalog: Arc::new(catalog),
                ..ctx.clone()
            };
            check_sql_body(&checked, routine).await
        }
        Language::Plpgsql => plpgsql::check_body(ctx, routine).map_err(|error| match error {
            error @ Error::FeatureNotSupported { .. } => error,
            error => error
                .without_place()
                .within(format!("compilation of PL/pgSQL function \"{}\"", routine.name)),
        }),
    }
}

/// What CREATE says, but for its options.
fn defined(ctx: &StatementContext, new: &NewRoutine, schema: String, name: String) -> Result<RoutineDef> {
    let language = match (new.language.as_deref(), &new.body) {
        (Some("sql"), _) | (None, Some(WrittenBody::Return(_) | WrittenBody::Atomic(_))) => Language::Sql,
        (Some("plpgsql"), _) => Language::Plpgsql,
        (Some("c" | "internal"), _) => {
            return Err(Error::unsupported(
                "a function in C",
                Some("Write it in LANGUAGE SQL or plpgsql."),
            ));
        }
        (Some(other), _) => {
            return Err(Error::UndefinedObject {
                kind: "language",
                name: other.to_string(),
            });
        }
        (None, _) => return Err(invalid("no language specified")),
    };
    let (body_kind, body) = match &new.body {
        Some(WrittenBody::Text(text)) => (BodyKind::Text, text.clone()),
        Some(WrittenBody::Return(text)) => (BodyKind::Return, text.clone()),
        Some(WrittenBody::Atomic(text)) => (BodyKind::Atomic, text.clone()),
        None => return Err(invalid("no function body specified")),
    };
    if body_kind != BodyKind::Text && language != Language::Sql {
        return Err(invalid("inline SQL function body only valid for language SQL"));
    }
    let arguments = arguments(ctx, new)?;
    let returns = returned(ctx, new, &arguments)?;
    Ok(RoutineDef {
        kind: match new.is_procedure {
            true => RoutineKind::Procedure,
            false => RoutineKind::Function,
        },
        language,
        arguments,
        returns,
        returns_set: new.returns_set,
        body_kind,
        body,
        ..RoutineDef::new(schema, name)
    })
}

fn arguments(ctx: &StatementContext, new: &NewRoutine) -> Result<Vec<RoutineArgument>> {
    let mut arguments: Vec<RoutineArgument> = Vec::with_capacity(new.arguments.len());
    let mut has_default = false;
    for written in &new.arguments {
        let mode = match written.passed {
            PassedAs::In => ArgumentMode::In,
            PassedAs::Out => ArgumentMode::Out,
            PassedAs::InOut => ArgumentMode::InOut,
            PassedAs::Variadic => ArgumentMode::Variadic,
            PassedAs::Table => ArgumentMode::Table,
        };
        let ty = match resolve(ctx, &written.ty)? {
            Resolved::Type(ty) => ty,
            Resolved::Void => return Err(invalid(&no_argument(new, "void"))),
            Resolved::Trigger => return Err(invalid(&no_argument(new, "trigger"))),
            Resolved::Record => {
                return Err(Error::unsupported(
                    "an argument of type record",
                    Some("Pass its columns, or a jsonb."),
                ));
            }
        };
        let is_array = matches!(&ty, RoutineType::Sql(ty) if ty.item_type().is_some())
            || matches!(
                ty,
                RoutineType::Polymorphic(crate::catalog::Polymorphic::Array(_))
            );
        if mode == ArgumentMode::Variadic && !is_array {
            return Err(invalid("VARIADIC parameter must be an array"));
        }
        if let Some(name) = &written.name
            && is_taken(&arguments, name, mode)
        {
            return Err(invalid(&format!("parameter name \"{name}\" used more than once")));
        }
        if written.default.is_some() && !mode.is_input() {
            return Err(invalid("only input parameters can have default values"));
        }
        if mode.is_input() && mode != ArgumentMode::Variadic {
            if has_default && written.default.is_none() {
                let message = "input parameters after one with a default value must also have defaults";
                return Err(invalid(message));
            }
            has_default |= written.default.is_some();
        }
        arguments.push(RoutineArgument {
            name: written.name.clone(),
            mode,
            ty,
            default: written.default.clone(),
        });
    }
    Ok(arguments)
}

fn no_argument(new: &NewRoutine, ty: &str) -> String {
    let kind = if new.is_procedure {
        "Procedures"
    } else {
        "functions"
    };
    match new.is_procedure {
        true => format!("{kind} cannot accept type {ty}"),
        false => format!("SQL {kind} cannot have arguments of type {ty}"),
    }
}

/// Whether two arguments of one name would both be given, or both be given back.
fn is_taken(arguments: &[RoutineArgument], name: &str, mode: ArgumentMode) -> bool {
    let clashes = |known: &RoutineArgument| {
        known.name.as_deref() == Some(name)
            && ((known.mode.is_input() && mode.is_input())
                || (known.mode.is_output() && mode.is_output())
                || mode == ArgumentMode::Table)
    };
    arguments.iter().any(clashes)
}

fn returned(
    ctx: &StatementContext,
    new: &NewRoutine,
    arguments: &[RoutineArgument],
) -> Result<RoutineResult> {
    let outputs: Vec<&RoutineArgument> = arguments
        .iter()
        .filter(|argument| argument.mode.is_output())
        .collect();
    let of_outputs = match outputs.as_slice() {
        [] => None,
        [only] if !new.is_procedure => Some(RoutineResult::Type(only.ty.clone())),
        _ => Some(RoutineResult::Outputs),
    };
    if new.is_procedure {
        return Ok(of_outputs.unwrap_or(RoutineResult::Void));
    }
    let written = match &new.returns {
        Some(written) => Some(resolve(ctx, written)?),
        None => None,
    };
    match (written, of_outputs) {
        (None, Some(outputs)) => Ok(outputs),
        (None, None) => Err(invalid("function result type must be specified")),
        (Some(Resolved::Record), Some(outputs @ RoutineResult::Outputs)) => Ok(outputs),
        (Some(_), Some(RoutineResult::Outputs)) => Err(invalid(
            "function result type must be record because of OUT parameters",
        )),
        (Some(Resolved::Type(ty)), Some(RoutineResult::Type(only))) if ty == only => {
            Ok(RoutineResult::Type(only))
        }
        (Some(_), Some(RoutineResult::Type(only))) => Err(invalid(&format!(
            "function result type must be {} because of OUT parameters",
            super::routine_type::shown(ctx, &only)
        ))),
        (Some(Resolved::Void), _) => Ok(RoutineResult::Void),
        (Some(Resolved::Record), _) => Ok(RoutineResult::Record),
        (Some(Resolved::Trigger), _) => Ok(RoutineResult::Trigger),
        (Some(Resolved::Type(ty)), _) => {
            let is_polymorphic =
                |argument: &RoutineArgument| matches!(argument.ty, RoutineType::Polymorphic(_));
            if let RoutineType::Polymorphic(wanted) = &ty
                && !arguments.iter().any(is_polymorphic)
            {
                return Err(crate::error::Raised {
                    detail: Some(format!(
                        "A result of type {} requires at least one input of type anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange.",
                        wanted.name()
                    )),
                    ..crate::error::Raised::new("42P13", "cannot determine result data type")
                }
                .into());
            }
            Ok(RoutineResult::Type(ty))
        }
    }
}

/// Errors: 42723 without OR REPLACE; 42809, 42P13 for what may not become another.
pub(super) fn check_replaceable(
    ctx: &StatementContext,
    known: &RoutineDef,
    new: &RoutineDef,
    or_replace: bool,
) -> Result<()> {
    if !or_replace {
        return Err(Error::InvalidStatement {
            state: StatementFault::DuplicateFunction,
            message: format!(
                "function \"{}\" already exists with same argument types",
                new.name
            ),
            hint: None,
        });
    }
    if known.kind != new.kind {
        return Err(crate::error::Raised {
            detail: Some(format!("\"{}\" is a {}.", known.name, known.kind.word())),
            ..crate::error::Raised::new("42809", "cannot change routine kind")
        }
        .into());
    }
    let way_out = format!(
        "Use DROP {} {}({}) first.",
        known.kind.word().to_uppercase(),
        known.name,
        shown_types(ctx, known)
    );
    if known.returns != new.returns || known.returns_set != new.returns_set {
        return Err(with_hint(
            "cannot change return type of existing function",
            way_out,
        ));
    }
    // One output alone is no row: its name is no part of what is given.
    let outputs = |routine: &RoutineDef| -> Vec<(Option<String>, RoutineType)> {
        let named = routine.outputs().nth(1).is_some();
        let outputs = routine.outputs();
        outputs
            .map(|output| (output.name.clone().filter(|_| named), output.ty.clone()))
            .collect()
    };
    if outputs(known) != outputs(new) && known.outputs().next().is_some() {
        return Err(crate::error::Raised {
            detail: Some("Row type defined by OUT parameters is different.".to_string()),
            hint: Some(way_out),
            ..crate::error::Raised::new("42P13", "cannot change return type of existing function")
        }
        .into());
    }
    for (old, new) in known.inputs().zip(new.inputs()) {
        if let Some(name) = &old.name
            && old.name != new.name
        {
            return Err(with_hint(
                &format!("cannot change name of input parameter \"{name}\""),
                way_out,
            ));
        }
        if old.default.is_some() && new.default.is_none() {
            return Err(with_hint(
                "cannot remove parameter defaults from existing function",
                way_out,
            ));
        }
    }
    Ok(())
}

fn with_hint(message: &str, hint: String) -> Error {
    Error::InvalidStatement {
        state: StatementFault::InvalidFunctionDefinition,
        message: message.to_string(),
        hint: Some(hint),
    }
}

/// Has the defaults of arguments mean the same under any search path. Errors: those of binding them.
fn keep_defaults(ctx: &StatementContext, routine: &mut RoutineDef) -> Result<()> {
    for argument in &mut routine.arguments {
        let (Some(default), Some(ty)) = (argument.default.clone(), argument.ty.sql_type()) else {
            continue;
        };
        let text = format!("SELECT {default}");
        let read = crate::parse::parse(&text)?;
        let Some(sqlparser::ast::Statement::Query(query)) = read.first().map(|statement| &statement.ast)
        else {
            return Err(invalid("a default that is no expression"));
        };
        let planned = crate::query::plan_query(ctx, query, &[]).map_err(Error::without_place)?;
        let found = planned.columns.first().map(|column| column.ty.object_type());
        let is_literal = matches!(
            default.trim_start().as_bytes().first(),
            Some(b'\'') | Some(b'N' | b'n')
        );
        if let Some(found) = found.filter(|found| found != ty && !is_literal)
            && !crate::query::is_assignable(&found, ty)
        {
            return Err(Error::DatatypeMismatch {
                message: format!("argument of DEFAULT must be type {ty}, not type {found}"),
                hint: None,
            });
        }
        if let SetExpr::Select(select) = query.body.as_ref()
            && let [SelectItem::UnnamedExpr(expr)] = select.projection.as_slice()
        {
            let kept = with_schemas(ctx, expr);
            if kept != *expr {
                argument.default = Some(kept.to_string());
            }
        }
    }
    Ok(())
}

/// The relations and functions that a body names that is no string.
fn objects_read(ctx: &StatementContext, routine: &RoutineDef) -> Result<Vec<u32>> {
    let body = RoutineBody::of(routine)?;
    let mut named = Named::default();
    let mut oids = BTreeSet::new();
    for statement in &body.statements {
        if let sqlparser::ast::Statement::Query(query) = &statement.ast {
            oids.extend(view::relations_read(ctx, query));
        } else {
            for name in relations_of(&statement.ast) {
                let found = crate::sql::relation::get_relation(ctx, &name, crate::catalog::Access::Name)?;
                oids.extend(found.map(|found| found.oid()));
            }
        }
        let _ = statement.ast.walk(&mut named);
    }
    for name in &named.functions {
        let (schema, name) = names::relation_name(name)?;
        let found = ctx
            .catalog
            .routines
            .find(schema.as_deref(), &name, &ctx.settings.search_path);
        oids.extend(found.iter().map(|routine| routine.oid));
    }
    oids.remove(&routine.oid);
    Ok(oids.into_iter().collect())
}

fn relations_of(statement: &sqlparser::ast::Statement) -> Vec<ObjectName> {
    let mut found = Vec::new();
    let _ = visit_relations(statement, |name| {
        found.push(name.clone());
        ControlFlow::<()>::Continue(())
    });
    found
}

#[derive(Default)]
struct Named {
    functions: Vec<ObjectName>,
}

impl Visitor for Named {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &sqlparser::ast::Expr) -> ControlFlow<()> {
        if let sqlparser::ast::Expr::Function(function) = expr {
            self.functions.push(function.name.clone());
        }
        ControlFlow::Continue(())
    }
}

/// A clause that CREATE and ALTER have in common.
fn set_option(ctx: &StatementContext, routine: &mut RoutineDef, option: &RoutineOption) -> Result<()> {
    let is_of_function = !matches!(
        option,
        RoutineOption::SecurityDefiner(_)
            | RoutineOption::Set { .. }
            | RoutineOption::SetFromCurrent(_)
            | RoutineOption::Reset(_)
    );
    if is_of_function && routine.kind == RoutineKind::Procedure {
        return Err(invalid("invalid attribute in procedure definition"));
    }
    match option {
        RoutineOption::Immutable => routine.volatile = Volatile::Immutable,
        RoutineOption::Stable => routine.volatile = Volatile::Stable,
        RoutineOption::Volatile => routine.volatile = Volatile::Volatile,
        RoutineOption::Strict(strict) => routine.strict = *strict,
        RoutineOption::Leakproof(leakproof) => routine.leakproof = *leakproof,
        RoutineOption::SecurityDefiner(definer) => routine.security_definer = *definer,
        RoutineOption::Parallel(word) => {
            routine.parallel = match word.as_str() {
                "safe" => Parallel::Safe,
                "unsafe" => Parallel::Unsafe,
                "restricted" => Parallel::Restricted,
                _ => {
                    return Err(invalid(
                        "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE",
                    ));
                }
            }
        }
        RoutineOption::Cost(cost) => routine.cost = Some(*cost),
        RoutineOption::Rows(rows) => routine.rows = Some(*rows),
        RoutineOption::Set { name, values } => {
            Settings::clone(&ctx.settings).set(name, values)?;
            routine.settings.retain(|(known, _)| known != name);
            routine.settings.push((name.clone(), values.clone()));
        }
        RoutineOption::SetFromCurrent(name) => {
            let value = ctx.settings.show(name)?;
            routine.settings.retain(|(known, _)| known != name);
            routine.settings.push((name.clone(), vec![value]));
        }
        RoutineOption::Reset(None) => routine.settings.clear(),
        RoutineOption::Reset(Some(name)) => routine.settings.retain(|(known, _)| known != name),
    }
    Ok(())
}

/// Runs ALTER FUNCTION. Errors: 42883, 42809, 42723, 3F000.
pub(super) fn alter(
    ctx: &StatementContext,
    word: RoutineWord,
    named: &RoutineRef,
    change: &RoutineChange,
) -> Result<()> {
    let known = found_routine(ctx, word, named)?;
    let mut routine = RoutineDef::clone(&known);
    match change {
        RoutineChange::Rename(name) => routine.name.clone_from(name),
        RoutineChange::Schema(schema) => {
            routine.schema = ctx.catalog.schema(schema)?.name.clone();
            if is_system_schema(schema) {
                return Err(Error::NotAllowed {
                    message: format!("system schema \"{schema}\" takes no new objects"),
                });
            }
            if routine.schema == known.schema {
                return Ok(());
            }
        }
        RoutineChange::Owner(RoleName::Named(name)) => {
            return role::check(ctx, &Ident::with_quote('"', name));
        }
        RoutineChange::Owner(RoleName::Current | RoleName::All) => return Ok(()),
        RoutineChange::Options(options) => {
            for option in options {
                set_option(ctx, &mut routine, option)?;
            }
        }
    }
    if (routine.schema != known.schema || routine.name != known.name)
        && let Some(other) = known_routine(ctx, &routine)
    {
        return Err(Error::InvalidStatement {
            state: StatementFault::DuplicateFunction,
            message: format!(
                "function {}({}) already exists in schema \"{}\"",
                other.name,
                shown_types(ctx, other),
                other.schema
            ),
            hint: None,
        });
    }
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    if routine.schema != known.schema || routine.name != known.name {
        writer.guard_dependents(known.oid);
        if let Some(named) = routine_dependents::named_in_texts(ctx, &known)? {
            let new = (routine.schema.as_str(), routine.name.as_str());
            let renaming = Renaming::new(&ctx.catalog, NamedObject::Routine(&named), new);
            renamed_texts::follow(ctx, &writer, &renaming)?;
        }
    }
    writer.put_routine(&routine)
}

/// Runs COMMENT ON FUNCTION. Errors: 42883, 42809.
pub(super) fn comment(
    ctx: &StatementContext,
    word: RoutineWord,
    named: &RoutineRef,
    comment: Option<String>,
) -> Result<()> {
    let known = match found_routine(ctx, word, named) {
        // One that every database has.
        Err(_) if is_of_system(named) => {
            storage::tell(ctx, vec![format!("COMMENT ON {}", word.word().to_uppercase())]);
            return Ok(());
        }
        known => known?,
    };
    let routine = RoutineDef {
        comment,
        ..RoutineDef::clone(&known)
    };
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_routine(&routine)
}

fn is_of_system(named: &RoutineRef) -> bool {
    let name = names::relation_name(&named.name);
    name.is_ok_and(|(schema, name)| {
        schema.as_deref().is_none_or(|schema| schema == "pg_catalog")
            && crate::functions::functions_named(&name).next().is_some()
    })
}

pub(super) fn invalid(message: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::InvalidFunctionDefinition,
        message: message.to_string(),
        hint: None,
    }
}
