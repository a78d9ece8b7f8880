//! DEFAULT clauses: constants are converted to the column's type at once, other expressions are planned to see that
//! they can be, and kept as text.

use std::ops::ControlFlow;

use sqlparser::ast::{self, CastKind, DataType, Expr, FunctionArg, FunctionArgExpr};

use super::row_expression::{check_no_subquery, with_schemas};
use crate::catalog::{Access, CastApplies, ColumnDef, ColumnDefault, Object, RelationName};
use crate::error::StatementFault;
use crate::functions::object_name::objects_meant;
use crate::parse::names;
use crate::parse::walk::{visit_expressions, visit_expressions_mut};
use crate::query;
use crate::sql::dml;
use crate::system::StatementContext;
use crate::system::pg_catalog::naming::split_name;
use crate::types::{FormatSettings, SqlType, Value};
use crate::{Error, Result};

/// Functions whose values differ from row to row: a default of theirs cannot fill rows that are there already.
const VOLATILE_FUNCTIONS: [&str; 8] = [
    "random",
    "gen_random_uuid",
    "uuid_generate_v4",
    "uuid",
    "clock_timestamp",
    "timeofday",
    "setseed",
    "nextval",
];

/// Functions whose first argument is a sequence.
const SEQUENCE_FUNCTIONS: [&str; 3] = ["nextval", "currval", "setval"];

/// What DEFAULT NULL is for a column of a domain that has a default: it must be kept, or the domain's would be taken.
pub(super) fn or_null_over_domain(
    ctx: &StatementContext,
    read: Option<ColumnDefault>,
    column: &ColumnDef,
) -> Option<ColumnDefault> {
    let domains = column.domain.iter().flat_map(|domain| domain.domains());
    let mut domains = domains.filter_map(|domain| domain.domain());
    let has_default = domains.any(|domain| domain.default.is_some());
    read.or_else(|| {
        has_default.then(|| ColumnDefault::Constant {
            value: Value::Null,
            sql: "NULL".to_string(),
            text: Some(query::null_text(ctx, &column.ty)),
        })
    })
}

/// The default that an expression gives a column; `None` for DEFAULT NULL of a type without a length. Errors: those of the expression, 42804.
pub(super) async fn read(
    ctx: &StatementContext,
    expr: &Expr,
    ty: &SqlType,
    column: &str,
) -> Result<Option<ColumnDefault>> {
    if let Some(query::Constant { value, ty: from }) = constant(ctx, expr, ty)? {
        if value == Value::Null {
            check_assignable(ctx, &from, (ty, column))?;
        }
        // A length, or the like, is a function of the value, which PostgreSQL keeps.
        if value == Value::Null && (ty.modifier() == -1 || matches!(ty, SqlType::Interval(_))) {
            return Ok(None);
        }
        if value == Value::Null {
            return Ok(Some(ColumnDefault::Constant {
                value,
                sql: "NULL".to_string(),
                text: Some(query::null_text(ctx, ty)),
            }));
        }
        let value = match ty.names_objects() {
            true => objects_meant(ctx, value, ty)?,
            false => value,
        };
        let settings = ctx.format_settings();
        match value.clone().assign(ty, column, &settings) {
            Ok(value) => {
                let sql = without_own_cast(ctx, expr, ty).to_string();
                let text = Some(query::default_text(ctx, expr, ty)?);
                return Ok(Some(ColumnDefault::Constant { value, sql, text }));
            }
            Err(error) if is_told_by_rows(&value, ty, &error, &settings) => {}
            Err(error) => return Err(as_default_error(error)),
        }
    }
    check_no_subquery(expr, "DEFAULT expression")?;
    let kept = with_schemas(ctx, expr);
    let expr = query::pinned_assigned(ctx, ("", &[]), &kept, ty).unwrap_or(kept);
    let (expr, sequences) = with_sequences_by_oid(ctx, &expr)?;
    match dml::default_type(ctx, &expr) {
        Err(error) if error.is_undefined_column() || error.sqlstate() == "42P01" => {
            Err(Error::InvalidStatement {
                state: StatementFault::NotImplemented,
                message: "cannot use column reference in DEFAULT expression".to_string(),
                hint: Some("Give a constant or a function.".to_string()),
            })
        }
        Err(error) => Err(error),
        Ok(from) => {
            check_assignable(ctx, &from, (ty, column))?;
            Ok(Some(match (next_value_of(&expr), sequences.as_slice()) {
                (Some(oid), [_]) => ColumnDefault::Sequence { oid },
                _ => ColumnDefault::Expression {
                    sql: expr.to_string(),
                    sequences,
                    text: Some(query::default_text(ctx, &expr, ty)?),
                },
            }))
        }
    }
}

/// The constant that a default is, if it is one.
fn constant(ctx: &StatementContext, expr: &Expr, ty: &SqlType) -> Result<Option<query::Constant>> {
    match calls_a_function(expr) {
        true => Ok(None),
        false if ty.names_objects() => constant_object(ctx, expr, ty),
        false => query::constant(ctx, expr),
    }
}

/// The same of one that names an object, which is looked up once: whatever search path others have, it is the one that was meant. That of the
/// table that is being made is not there yet, and is looked up by who needs it.
fn constant_object(ctx: &StatementContext, expr: &Expr, ty: &SqlType) -> Result<Option<query::Constant>> {
    let literal = without_own_cast(ctx, expr, ty);
    let found = query::constant(ctx, literal)?;
    let is_there = |found: &query::Constant| objects_meant(ctx, found.value.clone(), ty).is_ok();
    match literal == expr || found.as_ref().is_none_or(is_there) {
        true => Ok(found),
        false => query::constant(ctx, expr),
    }
}

/// Errors: 42804 for a default of a type that the column does not take.
fn check_assignable(ctx: &StatementContext, from: &SqlType, (ty, column): (&SqlType, &str)) -> Result<()> {
    let by_user = || ctx.casts().get_unwritten(from, ty, CastApplies::Assignment);
    if *from == SqlType::Unknown || query::is_assignable(from, ty) || by_user().is_some() {
        return Ok(());
    }
    Err(Error::DatatypeMismatch {
        message: format!(
            "column \"{column}\" is of type {} but default expression is of type {}",
            ty.full_base_name(),
            from.full_base_name()
        ),
        hint: Some("You will need to rewrite or cast the expression.".to_string()),
    })
}

/// The literal of `'literal'::type`, where that is the column's own: as it stands in the catalogs it has the type behind it anyway.
fn without_own_cast<'e>(ctx: &StatementContext, expr: &'e Expr, ty: &SqlType) -> &'e Expr {
    let Expr::Cast {
        expr: literal,
        data_type,
        ..
    } = expr
    else {
        return expr;
    };
    let is_text =
        matches!(&**literal, Expr::Value(value) if matches!(value.value, ast::Value::SingleQuotedString(_)));
    let is_own = || {
        let named = query::type_name::named_type(ctx, data_type);
        named.is_ok_and(|named| {
            let (own, bare) = (named.ty.full_base_name(), named.ty.modifier() == -1);
            named.domain.is_none() && bare && own == ty.full_base_name()
        })
    };
    match is_text && is_own() {
        true => literal,
        false => expr,
    }
}

/// The expression with the sequences that it names by their oids, so that they may be renamed; and the oids. Errors: 42P01.
fn with_sequences_by_oid(ctx: &StatementContext, expr: &Expr) -> Result<(Expr, Vec<u32>)> {
    let (mut expr, mut sequences) = (expr.clone(), Vec::new());
    let visited = visit_expressions_mut(&mut expr, |expr| match name_by_oid(ctx, expr, &mut sequences) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(error),
    });
    match visited {
        ControlFlow::Break(error) => Err(error),
        ControlFlow::Continue(()) => Ok((expr, sequences)),
    }
}

/// The same of one call.
fn name_by_oid(ctx: &StatementContext, expr: &mut Expr, sequences: &mut Vec<u32>) -> Result<()> {
    let Some(argument) = first_argument(expr) else {
        return Ok(());
    };
    let Some(name) = class_name(argument) else {
        return Ok(());
    };
    let Object::Sequence(sequence) = named_by_text(ctx, name)? else {
        return Ok(());
    };
    let oid = sequence.oid();
    if !sequences.contains(&oid) {
        sequences.push(oid);
    }
    *argument = Expr::Cast {
        kind: CastKind::DoubleColon,
        expr: Box::new(Expr::Value(
            ast::Value::SingleQuotedString(oid.to_string()).into(),
        )),
        data_type: DataType::Regclass,
        format: None,
        array: false,
    };
    Ok(())
}

/// The relation that a text names, or its oid. Errors: 42P01.
fn named_by_text<'a>(ctx: &'a StatementContext, text: &str) -> Result<Object<'a>> {
    if let Ok(oid) = text.parse()
        && let Some(sequence) = ctx.catalog.sequence(oid)
    {
        return Ok(Object::Sequence(sequence));
    }
    let undefined = || Error::UndefinedTable {
        name: text.to_string(),
        nearest: None,
    };
    let mut parts = split_name(text).ok_or_else(undefined)?;
    let name = parts.pop().ok_or_else(undefined)?;
    let schema = parts.pop();
    let name = RelationName {
        schema: schema.as_deref(),
        name: &name,
        search_path: &ctx.settings.search_path,
    };
    ctx.get_relation(name, Access::Name)?.ok_or_else(undefined)
}

/// The first argument of a call of a function of sequences.
fn first_argument(expr: &mut Expr) -> Option<&mut Expr> {
    let Expr::Function(function) = expr else {
        return None;
    };
    let name = function.name.0.last()?.as_ident().map(names::fold)?;
    if !SEQUENCE_FUNCTIONS.contains(&name.as_str()) {
        return None;
    }
    let ast::FunctionArguments::List(list) = &mut function.args else {
        return None;
    };
    match list.args.first_mut()? {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(argument)) => Some(argument),
        _ => None,
    }
}

/// The text of a literal that is a regclass.
fn class_name(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            ast::Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        Expr::Cast {
            expr,
            data_type: DataType::Regclass,
            ..
        } => class_name(expr),
        _ => None,
    }
}

/// The sequence of a call of `nextval` that is the whole of an expression in which sequences stand by oid.
fn next_value_of(expr: &Expr) -> Option<u32> {
    let mut expr = expr.clone();
    if let Expr::Nested(inner) = expr {
        return next_value_of(&inner);
    }
    let is_next = matches!(&expr, Expr::Function(function)
        if names::last_name(&function.name).as_deref() == Some("nextval"));
    let argument = first_argument(&mut expr).filter(|_| is_next)?;
    class_name(argument)?.parse().ok()
}

/// Whether a function is called: what it gives may be another value when a row is written.
fn calls_a_function(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |expr| match expr {
        Expr::Function(_) => std::ops::ControlFlow::Break(()),
        _ => std::ops::ControlFlow::Continue(()),
    });
    found.is_break()
}

/// Whether each row would get a value of its own.
pub(super) fn is_volatile(expr: &Expr) -> bool {
    let mut volatile = false;
    let _ = visit_expressions(expr, |expr| {
        if let Expr::Function(function) = expr {
            let name = names::last_name(&function.name);
            volatile |= name.is_some_and(|name| VOLATILE_FUNCTIONS.contains(&name.as_str()));
        }
        std::ops::ControlFlow::<()>::Continue(())
    });
    volatile
}

/// PostgreSQL words a default of the wrong type in its own way.
/// Whether a constant that a column cannot have is refused once a row takes it: a length, or a range, is a function of the value.
fn is_told_by_rows(value: &Value, ty: &SqlType, error: &Error, settings: &FormatSettings) -> bool {
    match value {
        Value::Unknown(text) => query::is_readable(text, ty, settings),
        _ => error.sqlstate().starts_with("22"),
    }
}

fn as_default_error(error: Error) -> Error {
    match error {
        Error::DatatypeMismatch { message, hint } => Error::DatatypeMismatch {
            message: message.replacen(
                "but expression is of type",
                "but default expression is of type",
                1,
            ),
            hint,
        },
        error => error,
    }
}
