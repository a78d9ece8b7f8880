//! What a write assigns to columns, where casts that users made may apply, or names of objects become their oids: such values stand as
//! ones that are assigned (`parse::assignment_cast`), for whoever binds them to know what they become. All others stay.

use std::borrow::Cow;

use sqlparser::ast::{self, DataType, Expr, Ident, ObjectName, Parens, Query, SelectItem, SetExpr};

use super::cell::{is_default, parameter_index};
use crate::catalog::{CastApplies, ColumnDef};
use crate::parse::assignment_cast::assigned_to;
use crate::parse::routine::WrittenType;
use crate::parse::{parse, written_type};
use crate::query::{base, literal};
use crate::scan::OutputColumn;
use crate::system::StatementContext;
use crate::types::SqlType;
use crate::{Error, Result};

/// A value for a column. `types`: those of parameters, where they are known. Errors: those of reading a literal.
pub(super) fn assigned<'e>(
    ctx: &StatementContext,
    value: &'e Expr,
    column: &ColumnDef,
    types: &[Option<SqlType>],
) -> Result<Cow<'e, Expr>> {
    let written = || Ok(Cow::Owned(assigned_to(value.clone(), type_written(&column.ty)?)));
    if is_default(value) {
        return Ok(Cow::Borrowed(value));
    }
    if column.ty.names_objects() {
        return written();
    }
    let casts = ctx.casts().iter();
    let mut casts = casts.filter(|cast| cast.applies >= CastApplies::Assignment);
    let is_cast = casts.any(|cast| cast.target.oid() == column.ty.oid());
    // Of an oid that names an object a string is given the name.
    let is_number_or_text = || matches!(value, Expr::Value(_)) && parameter_index(value).is_none();
    if !is_cast && (!column.ty.innermost().is_string() || is_number_or_text()) {
        return Ok(Cow::Borrowed(value));
    }
    let is_open = match (parameter_index(value), literal(value)?) {
        // A parameter takes the column's type, unless the client gave it one.
        (Some(at), _) => match types.get(at) {
            Some(Some(ty)) => {
                !ty.names_objects() && (!is_cast || *ty == SqlType::Unknown || base(ty) == base(&column.ty))
            }
            _ => true,
        },
        (None, Some(constant)) => constant.ty == SqlType::Unknown || !is_cast,
        (None, None) => false,
    };
    match is_open {
        true => Ok(Cow::Borrowed(value)),
        false => written(),
    }
}

/// Rows of values for the columns at these positions of a table. Errors: as [`assigned`].
pub(super) fn assigned_rows<'r>(
    ctx: &StatementContext,
    rows: &'r [Parens<Vec<Expr>>],
    columns: &[Option<&ColumnDef>],
    types: &[Option<SqlType>],
) -> Result<Cow<'r, [Parens<Vec<Expr>>]>> {
    let may_convert = |column: &&ColumnDef| column.ty.names_objects() || column.ty.innermost().is_string();
    if ctx.casts().is_empty() && !columns.iter().flatten().any(may_convert) {
        return Ok(Cow::Borrowed(rows));
    }
    let mut given = Cow::Borrowed(rows);
    for (at, row) in rows.iter().enumerate() {
        for (place, (value, column)) in row.content.iter().zip(columns).enumerate() {
            let Some(column) = column else { continue };
            if let Cow::Owned(value) = assigned(ctx, value, column, types)? {
                given.to_mut()[at].content[place] = value;
            }
        }
    }
    Ok(given)
}

/// The query of an INSERT whose columns are assigned by casts of users'; `None`: none of them is. `found`: what the query gives as it
/// stands. Errors: those of making it.
pub(super) fn assigned_query(
    ctx: &StatementContext,
    source: &Query,
    found: &[OutputColumn],
    columns: &[Option<&ColumnDef>],
) -> Result<Option<Query>> {
    let casts = ctx.casts();
    let mut targets = Vec::with_capacity(columns.len());
    for (output, column) in found.iter().zip(columns) {
        let column = column.filter(|column| {
            let cast = casts.get_unwritten(&output.ty, &column.ty, CastApplies::Assignment);
            let is_named = output.ty != column.ty && (output.ty.names_objects() || column.ty.names_objects());
            cast.is_some() || is_named
        });
        targets.push(column.map(|column| type_written(&column.ty)).transpose()?);
    }
    if targets.iter().all(Option::is_none) {
        return Ok(None);
    }
    let mut query = source.clone();
    if let Some(items) = plain_items(&mut query, targets.len()) {
        for (item, target) in items.iter_mut().zip(targets) {
            if let (
                SelectItem::UnnamedExpr(value) | SelectItem::ExprWithAlias { expr: value, .. },
                Some(target),
            ) = (item, target)
            {
                *value = assigned_to(value.clone(), target);
            }
        }
        return Ok(Some(query));
    }
    over(query, &targets).map(Some)
}

/// The select list, where it is as long as what is written of expressions alone.
fn plain_items(query: &mut Query, width: usize) -> Option<&mut Vec<SelectItem>> {
    let is_plain = |item: &SelectItem| {
        matches!(
            item,
            SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }
        )
    };
    match query.body.as_mut() {
        SetExpr::Select(select)
            if select.projection.len() == width && select.projection.iter().all(is_plain) =>
        {
            Some(&mut select.projection)
        }
        _ => None,
    }
}

/// `SELECT … FROM (query) AS given(c1, c2, …)`.
fn over(query: Query, targets: &[Option<DataType>]) -> Result<Query> {
    let names: Vec<String> = (1..=targets.len()).map(|at| format!("c{at}")).collect();
    let text = format!("SELECT {0} FROM (SELECT 1) AS given({0})", names.join(", "));
    let statement = parse(&text)?.pop();
    let Some(ast::Statement::Query(mut outer)) = statement.map(|statement| statement.ast) else {
        return Err(Error::internal("a query over another that does not read"));
    };
    let SetExpr::Select(select) = outer.body.as_mut() else {
        return Err(Error::internal("a query over another that is none"));
    };
    for (item, (name, target)) in select.projection.iter_mut().zip(names.iter().zip(targets)) {
        if let (SelectItem::UnnamedExpr(value), Some(target)) = (item, target) {
            let column = Expr::Identifier(Ident::with_quote('"', name));
            *value = assigned_to(column, target.clone());
        }
    }
    if let Some(from) = select.from.first_mut()
        && let ast::TableFactor::Derived { subquery, .. } = &mut from.relation
    {
        **subquery = query;
    }
    Ok(*outer)
}

/// A type's name, which means it whatever the search path is.
fn type_written(ty: &SqlType) -> Result<DataType> {
    if let SqlType::Enum(_) | SqlType::Record(_) = ty {
        let name = Ident::with_quote('"', format!("@{}", ty.oid()));
        return Ok(DataType::Custom(ObjectName::from(vec![name]), Vec::new()));
    }
    match written_type(&ty.full_base_name())? {
        WrittenType::Named(named) => Ok(named),
        WrittenType::OfColumn(_) | WrittenType::OfRow(_) => {
            Err(Error::internal("a type's name that is none"))
        }
    }
}
