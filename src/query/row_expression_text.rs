//! Expressions over the columns of a row as text, with the conversions that PostgreSQL's catalogs show: conditions, defaults, what generated
//! columns are computed of. Called where these are defined; `condition_text` prints them.

use std::sync::Arc;

use sqlparser::ast;

use super::binder::{Binder, Clause, Place};
use super::coercion::base;
use super::condition_text::Printer;
use super::literal_pins::LiteralPins;
use super::printed::{Printed, Shape};
use super::printed_names::{type_text, with_type_names};
use super::printed_query::ShownRelations;
use super::row_query::{RowColumn, RowRelation};
use crate::Result;
use crate::catalog::{ColumnDef, ExpressionText, PrintedQuery, TableDef};
use crate::system::StatementContext;
use crate::types::SqlType;

/// A condition over the columns of a table, plain and pretty. Errors: those of binding the table's columns.
pub(crate) fn condition_text(
    ctx: &StatementContext,
    table: &TableDef,
    condition: &ast::Expr,
) -> Result<(String, String)> {
    condition_text_over(ctx, row_columns(&table.columns), &table.name, condition)
}

/// A condition over the columns of a table, its literals in the form that every session reads alike. Errors: as [`condition_text`].
pub(crate) fn pinned_condition(
    ctx: &StatementContext,
    table: &TableDef,
    condition: &ast::Expr,
) -> Result<ast::Expr> {
    let pins = pins_over(ctx, (row_columns(&table.columns), &table.name), condition, None)?;
    Ok(pins.put(condition))
}

/// The same of what is assigned to a column of a type, among these columns. Errors: as [`default_text`].
pub(crate) fn pinned_assigned(
    ctx: &StatementContext,
    (table, columns): (&str, &[ColumnDef]),
    expr: &ast::Expr,
    ty: &SqlType,
) -> Result<ast::Expr> {
    Ok(pins_over(ctx, (row_columns(columns), table), expr, Some(ty))?.put(expr))
}

/// The literals of an expression over these columns of a relation of this name. `assigned`: the type that it is assigned to, if it is.
pub(super) fn pins_over(
    ctx: &StatementContext,
    (columns, name): (RowColumns, &str),
    expr: &ast::Expr,
    assigned: Option<&SqlType>,
) -> Result<Arc<LiteralPins>> {
    let pins = LiteralPins::new(ctx);
    let printed = printed_over(ctx, columns, name, expr, Some(Arc::clone(&pins)))?;
    if let Some(ty) = assigned {
        printed.into_type(&base(ty));
    }
    Ok(pins)
}

/// Columns that an expression is over.
pub(super) struct RowColumns {
    columns: Vec<RowColumn>,
    /// Those of domains, with these.
    domains: Vec<(String, u32)>,
}

impl From<Vec<RowColumn>> for RowColumns {
    /// Columns of no domains.
    fn from(columns: Vec<RowColumn>) -> RowColumns {
        RowColumns {
            columns,
            domains: Vec::new(),
        }
    }
}

fn row_columns(columns: &[ColumnDef]) -> RowColumns {
    let visible = || columns.iter().filter(|column| !column.hidden);
    let domains = visible().filter_map(|column| Some((column.name.clone(), column.domain.as_ref()?.oid)));
    let columns = visible().map(|column| RowColumn {
        name: column.name.clone(),
        ty: column.ty.clone(),
        origin: None,
    });
    RowColumns {
        columns: columns.collect(),
        domains: domains.collect(),
    }
}

/// The default of a column of a type, as `pg_get_expr` prints it. Errors: none that its reading has not met.
pub(crate) fn default_text(
    ctx: &StatementContext,
    default: &ast::Expr,
    ty: &SqlType,
) -> Result<ExpressionText> {
    assigned_text(ctx, row_columns(&[]), "", default, ty)
}

/// What a generated column of a type is computed of, among these columns. Errors: as [`default_text`].
pub(crate) fn generation_text(
    ctx: &StatementContext,
    (table, columns): (&str, &[ColumnDef]),
    expr: &ast::Expr,
    ty: &SqlType,
) -> Result<ExpressionText> {
    assigned_text(ctx, row_columns(columns), table, expr, ty)
}

/// NULL as the default of a column of a type, as `pg_get_expr` prints it.
pub(crate) fn null_text(ctx: &StatementContext, ty: &SqlType) -> ExpressionText {
    let named = |ty: &SqlType| with_type_names(ctx, type_text(ty));
    let text = match base(ty) {
        SqlType::Char(_) => "NULL::bpchar".to_string(),
        SqlType::Bit(_) => "NULL::\"bit\"".to_string(),
        SqlType::Array(item) => format!("NULL::{}[]", named(&base(item.innermost()))),
        ty => format!("NULL::{}", named(&ty)),
    };
    ExpressionText {
        plain: text.clone(),
        pretty: text,
    }
}

/// An expression that is assigned to a column of a type: a literal is of that.
fn assigned_text(
    ctx: &StatementContext,
    columns: RowColumns,
    table: &str,
    expr: &ast::Expr,
    ty: &SqlType,
) -> Result<ExpressionText> {
    let relation = RowRelation::new(table.to_string(), columns.columns);
    let printed = printed_by(ctx, (&[relation], None, &columns.domains), None, |printer| {
        let printed = printer.assigned(expr, &base(ty));
        match &printed.untyped {
            Some(untyped) => untyped.typed(&base(ty)),
            None => as_assigned(printed, ty),
        }
    })?;
    Ok(ExpressionText {
        plain: printed.plain,
        pretty: printed.pretty,
    })
}

/// What becomes a value of the type by a call that nobody sees, of which it is the argument.
fn as_assigned(printed: Printed, ty: &SqlType) -> Printed {
    let is_converted = printed.ty != SqlType::Unknown && printed.ty != *ty;
    match is_converted && printed.shape != Shape::Word {
        true => Printed {
            pretty: format!("({})", printed.pretty),
            shape: Shape::Word,
            ..printed
        },
        false => printed,
    }
}

/// The same, over these columns of a relation of this name.
pub(super) fn condition_text_over(
    ctx: &StatementContext,
    columns: RowColumns,
    name: &str,
    condition: &ast::Expr,
) -> Result<(String, String)> {
    let printed = printed_over(ctx, columns, name, condition, None)?;
    Ok((printed.plain, printed.pretty))
}

/// A condition over several relations, which its columns stand behind: as it is kept, its literals in the form that every session reads
/// alike, and as it is printed, plain and pretty. Errors: those of binding.
pub(crate) fn condition_of_relations(
    ctx: &StatementContext,
    relations: &[RowRelation],
    condition: &ast::Expr,
) -> Result<(ast::Expr, String, String)> {
    let names = relations.iter().map(|relation| relation.name.clone());
    let shown = ShownRelations {
        shown: names.map(|name| (name.clone(), name)).collect(),
        parent: None,
    };
    let pins = LiteralPins::new(ctx);
    let over = (relations, Some(&shown), &[][..]);
    let printed = printed_by(ctx, over, Some(Arc::clone(&pins)), |printer| {
        printer.print(condition)
    })?;
    let standard = |name: &str, _| name.strip_prefix("public.").unwrap_or(name).to_string();
    let [plain, pretty] =
        [&printed.plain, &printed.pretty].map(|text| PrintedQuery::with_names(text, standard));
    Ok((pins.put(condition), plain, pretty))
}

fn printed_over(
    ctx: &StatementContext,
    columns: RowColumns,
    name: &str,
    expr: &ast::Expr,
    pins: Option<Arc<LiteralPins>>,
) -> Result<Printed> {
    let relation = RowRelation::new(name.to_string(), columns.columns);
    let over = (&[relation][..], None, columns.domains.as_slice());
    printed_by(ctx, over, pins, |printer| printer.print(expr))
}

/// What `print` prints over these relations, the names of types in it.
fn printed_by(
    ctx: &StatementContext,
    (relations, shown, domains): (&[RowRelation], Option<&ShownRelations<'_>>, &[(String, u32)]),
    pins: Option<Arc<LiteralPins>>,
    print: impl FnOnce(&mut Printer<'_, '_>) -> Printed,
) -> Result<Printed> {
    let parameters = Vec::new();
    let mut binder = Binder::new(ctx, &parameters);
    binder.pins = pins;
    let scope = binder.rows_in_memory(relations, None)?.0.scope;
    let place = Place {
        scope: &scope,
        outer: None,
        clause: Clause::Check,
        windows: &[],
    };
    let mut printer = Printer {
        binder: &mut binder,
        place,
        shown,
        domains,
        indent: 0,
        has_failed: false,
    };
    let printed = print(&mut printer);
    Ok(Printed {
        plain: with_type_names(ctx, printed.plain),
        pretty: with_type_names(ctx, printed.pretty),
        ..printed
    })
}
