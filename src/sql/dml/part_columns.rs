//! `INSERT INTO t (id, home.zip, home.city, tags[1]) VALUES (…)`: fields of composite columns and items of arrays become the columns, the
//! rest of which is NULL.
//! Called before an INSERT is bound.

use std::borrow::Cow;

use sqlparser::ast::{self, Expr, Ident, ObjectName, SetExpr, TableObject};

use super::cell::is_default;
use super::parse_expression;
use super::target::Target;
use crate::catalog::Access;
use crate::error::StatementFault;
use crate::parse::quoting::quote_ident;
use crate::parse::unread_words::{self, InsertColumns};
use crate::parse::{names, subscript_assignment};
use crate::query::{no_fields, no_such_field};
use crate::system::StatementContext;
use crate::{Error, Result};

/// A column, and of each of its fields that are named the path and which value it takes; a whole column has no path.
struct Column {
    name: String,
    parts: Vec<(Vec<String>, usize)>,
}

/// The INSERT with whole columns. Errors: 42P01, 42703, 42701, 0A000 for the rows of a query.
pub(super) fn whole<'a>(ctx: &StatementContext, insert: &'a ast::Insert) -> Result<Cow<'a, ast::Insert>> {
    let InsertColumns { named, .. } = unread_words::split(&insert.columns);
    if named.iter().all(|name| name.0.len() == 1) {
        return Ok(Cow::Borrowed(insert));
    }
    let TableObject::TableName(table) = &insert.table else {
        return Ok(Cow::Borrowed(insert));
    };
    let target = Target::find(ctx, table, None, Access::Insert)?;
    let columns = columns_of(named)?;
    let mut whole = insert.clone();
    let marks = insert.columns.len() - named.len();
    whole.columns.truncate(marks);
    let ident = |column: &Column| ObjectName::from(vec![Ident::with_quote('"', &column.name)]);
    whole.columns.extend(columns.iter().map(ident));
    let rows = whole.source.as_mut().map(|source| source.body.as_mut());
    let Some(SetExpr::Values(values)) = rows else {
        return Err(Error::unsupported(
            "fields of columns as the target of a query's rows",
            Some("Give the whole column a value: ROW(...)."),
        ));
    };
    for row in &mut values.rows {
        if row.content.len() != named.len() {
            let message = match row.content.len() > named.len() {
                true => "INSERT has more expressions than target columns",
                false => "INSERT has more target columns than expressions",
            };
            return Err(Error::InvalidStatement {
                state: StatementFault::Syntax,
                message: message.to_string(),
                hint: None,
            });
        }
        let given = std::mem::take(&mut row.content);
        let merged = columns.iter().map(|column| merged(&target, column, &given));
        row.content = merged.collect::<Result<_>>()?;
    }
    Ok(Cow::Owned(whole))
}

/// The columns that are named, each once. Errors: 42701.
fn columns_of(named: &[ObjectName]) -> Result<Vec<Column>> {
    let mut columns: Vec<Column> = Vec::new();
    for (at, name) in named.iter().enumerate() {
        let parts = name.0.iter().filter_map(|part| part.as_ident().map(names::fold));
        let mut parts: Vec<String> = parts.collect();
        let first = parts.remove(0);
        match columns.iter_mut().find(|column| column.name == first) {
            None => columns.push(Column {
                name: first,
                parts: vec![(parts, at)],
            }),
            Some(known) => {
                let is_whole = |(path, _): &(Vec<String>, usize)| path.is_empty();
                if parts.is_empty() || known.parts.iter().any(is_whole) {
                    return Err(Error::DuplicateColumn { name: first });
                }
                known.parts.push((parts, at));
            }
        }
    }
    Ok(columns)
}

/// The value of a column of a row, of the values given. Errors: 42703.
fn merged(target: &Target, column: &Column, given: &[Expr]) -> Result<Expr> {
    if let [(path, at)] = column.parts.as_slice()
        && path.is_empty()
    {
        return Ok(given[*at].clone());
    }
    let Some(position) = target.column(&column.name)? else {
        // Whoever writes a part of it does not say of what type the whole is.
        return Err(Error::DataException {
            state: "42703",
            message: format!(
                "column \"{}\" of relation \"{}\" does not exist",
                column.name, target.table.name
            ),
        });
    };
    let ty = &target.table.columns[position].ty;
    let field = column.parts.iter().find_map(|(path, _)| path.first());
    let field = field.filter(|part| part.strip_prefix(subscript_assignment::SUBSCRIPT).is_none());
    if let (Some(field), None) = (field, ty.record_type()) {
        return Err(no_fields(field, &column.name, &ty.full_base_name()));
    }
    let mut value = match ty.record_type() {
        Some(_) => parse_expression(&format!("NULL::\"@{}\"", ty.oid()))?,
        None => parse_expression(&format!("NULL::{}", ty.full_base_name()))?,
    };
    let row = ty.record_type();
    for (path, at) in &column.parts {
        if let (Some(row), Some(first)) = (row, path.first())
            && row.place_of(first).is_none()
        {
            return Err(no_such_field(first, &column.name, &row.name));
        }
        let path = path
            .iter()
            .map(|part| match part.strip_prefix(subscript_assignment::SUBSCRIPT) {
                Some(subscript) => subscript.to_string(),
                None => format!(".{}", quote_ident(part)),
            });
        let mark = subscript_assignment::MARK;
        let text = format!("\"{mark}\"((NULL){}, NULL)", path.collect::<String>());
        let assignment = subscript_assignment::with_root(&parse_expression(&text)?, value);
        if is_default(&given[*at]) {
            return Err(Error::InvalidStatement {
                state: StatementFault::NotImplemented,
                message: "cannot set a subfield to DEFAULT".to_string(),
                hint: None,
            });
        }
        value = subscript_assignment::with_value(assignment, given[*at].clone());
    }
    Ok(value)
}
