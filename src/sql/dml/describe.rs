//! Describe of writes: parameter types from the columns they are written to or compared with, RETURNING's columns.

use sqlparser::ast::{self, Expr, OnConflictAction, OnInsert, SelectItem, SetExpr};

use super::conflict::Proposed;
use super::evaluate::select_of;
use super::joined::JoinedRelations;
use super::target::{Target, parameter_index};
use super::update::pairs;
use super::{delete, insert, is_default, returning, update};
use crate::Result;
use crate::exec::StatementContext;
use crate::parse::text_place;
use crate::query;
use crate::sql::{Description, Statement};
use crate::types::SqlType;

/// Parameter types and RETURNING columns of a write, without running it.
pub async fn describe(
    ctx: &StatementContext,
    statement: &Statement,
    parameters: &[Option<SqlType>],
) -> Result<Description> {
    let mut types = parameters.to_vec();
    let (target, items, from) = match &statement.parsed.ast {
        ast::Statement::Insert(insert) => (
            describe_insert(ctx, insert, &mut types).await?,
            insert.returning.as_deref(),
            &[][..],
        ),
        ast::Statement::Update(update) => (
            describe_update(ctx, update, &mut types)?,
            update.returning.as_deref(),
            update::from_tables(update),
        ),
        ast::Statement::Delete(delete) => (
            describe_delete(ctx, delete, &mut types)?,
            delete.returning.as_deref(),
            delete.using.as_deref().unwrap_or_default(),
        ),
        other => return Err(crate::Error::internal(format!("not a write: {other}"))),
    };
    let joined = JoinedRelations::of(ctx, &target, items, from)?;
    let columns = match returning::describe(ctx, (&target, &joined), items, &types).await? {
        None => None,
        Some((columns, inferred)) => {
            adopt(&mut types, inferred);
            Some(columns)
        }
    };
    // A value for a column that does not exist yet stays open: whoever writes the column first decides.
    let parameters = types
        .into_iter()
        .map(|ty| ty.unwrap_or(SqlType::Unknown))
        .collect();
    Ok(Description {
        parameters,
        columns: columns.map(Into::into),
    })
}

async fn describe_insert(
    ctx: &StatementContext,
    insert: &ast::Insert,
    types: &mut [Option<SqlType>],
) -> Result<Target> {
    let (target, names) = insert::target_of(ctx, insert)?;
    match insert.source.as_deref() {
        None => {}
        Some(source) => match insert::plain_values(source) {
            Some(rows) => {
                let mut expressions = Vec::new();
                for row in rows {
                    for (expr, name) in row.content.iter().zip(&names) {
                        if !decide(expr, &target, name, types) && !is_default(expr) && has_parameter(expr) {
                            expressions.push(SelectItem::UnnamedExpr(expr.clone()));
                        }
                    }
                }
                if !expressions.is_empty() && types.iter().any(Option::is_none) {
                    adopt(
                        types,
                        query::plan_query(ctx, &select_of(expressions)?, types)?.parameters,
                    );
                }
            }
            None => {
                if let SetExpr::Select(select) = source.body.as_ref() {
                    for (item, name) in select.projection.iter().zip(&names) {
                        if let SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } = item {
                            decide(expr, &target, name, types);
                        }
                    }
                }
                adopt(types, query::plan_query(ctx, source, types)?.parameters);
            }
        },
    }
    if let Some(OnInsert::OnConflict(clause)) = &insert.on
        && let OnConflictAction::DoUpdate(update) = &clause.action
    {
        describe_assignments(&target, &update.assignments, types)?;
        if types.iter().any(Option::is_none) {
            let expressions = set_expressions(&target, &update.assignments)?;
            let proposed = Proposed::new(ctx, &target)?;
            let selection = update.selection.as_ref();
            adopt(types, proposed.parameters(&expressions, selection, types)?);
        }
    }
    Ok(target)
}

fn describe_update(
    ctx: &StatementContext,
    update: &ast::Update,
    types: &mut [Option<SqlType>],
) -> Result<Target> {
    let target = Target::of_factor(ctx, &update.table)?;
    describe_assignments(&target, &update.assignments, types)?;
    let expressions = set_expressions(&target, &update.assignments)?;
    let finding = update::finding(&target, &[], update).computing(&expressions);
    match finding.parameters(ctx, types) {
        // It may be one that SET adds: what the others are, running the statement tells.
        Err(error) if error.is_undefined_column() && adds_columns(&target, update)? => {}
        inferred => adopt(types, inferred?),
    }
    Ok(target)
}

/// Whether SET names columns that the table does not have yet.
fn adds_columns(target: &Target, update: &ast::Update) -> Result<bool> {
    let mut named = pairs(&update.assignments, &target.table.name)?.into_iter();
    Ok(named.any(|(name, _, _)| target.table.column_index(&name).is_none()))
}

fn describe_delete(
    ctx: &StatementContext,
    delete: &ast::Delete,
    types: &mut [Option<SqlType>],
) -> Result<Target> {
    let target = Target::of_factor(ctx, delete::target_of(delete)?)?;
    let finding = delete::finding(&target, &[], delete);
    adopt(types, finding.parameters(ctx, types)?);
    Ok(target)
}

/// What SET computes; a bare parameter takes the type of its column.
fn set_expressions<'a>(target: &Target, assignments: &'a [ast::Assignment]) -> Result<Vec<&'a Expr>> {
    let pairs = pairs(assignments, &target.table.name)?.into_iter();
    let expressions = pairs.map(|(_, _, expr)| expr);
    Ok(expressions
        .filter(|expr| !is_default(expr) && parameter_index(expr).is_none())
        .collect())
}

fn describe_assignments(
    target: &Target,
    assignments: &[ast::Assignment],
    types: &mut [Option<SqlType>],
) -> Result<()> {
    for (name, span, expr) in pairs(assignments, &target.table.name)? {
        text_place::at_span(target.column(&name), span)?;
        decide(expr, target, &name, types);
    }
    Ok(())
}

/// Gives a bare parameter the type of the column it is written to. Answers whether the expression is a bare parameter.
fn decide(expr: &Expr, target: &Target, column: &str, types: &mut [Option<SqlType>]) -> bool {
    let Some(at) = parameter_index(expr) else {
        return false;
    };
    let ty = target
        .table
        .column_index(column)
        .map(|position| target.table.columns[position].ty.clone());
    if let (Some(slot), Some(ty)) = (types.get_mut(at), ty) {
        slot.get_or_insert(ty);
    }
    true
}

/// Fills in what is not known yet.
fn adopt(types: &mut [Option<SqlType>], inferred: Vec<SqlType>) {
    for (slot, ty) in types.iter_mut().zip(inferred) {
        slot.get_or_insert(ty);
    }
}

fn has_parameter(expr: &Expr) -> bool {
    ast::visit_expressions(expr, |expr| match parameter_index(expr) {
        Some(_) => std::ops::ControlFlow::Break(()),
        None => std::ops::ControlFlow::Continue(()),
    })
    .is_break()
}
