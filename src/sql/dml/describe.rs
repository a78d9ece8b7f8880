//! Describe of writes: parameter types from the columns they are written to or compared with, RETURNING's columns.

use sqlparser::ast::{self, Expr, OnConflictAction, OnInsert, SelectItem, SetExpr};

use super::evaluate::select_of;
use super::found_rows::target_query;
use super::target::{Target, parameter_index};
use super::update::{from_tables, pairs};
use super::{delete, insert, is_default, returning};
use crate::Result;
use crate::exec::StatementContext;
use crate::sql::{Description, Statement, predicate, query, text_place};
use crate::types::SqlType;

/// Parameter types and RETURNING columns of a write, without running it.
pub async fn describe(
    ctx: &StatementContext,
    statement: &Statement,
    parameters: &[Option<SqlType>],
) -> Result<Description> {
    let mut types = parameters.to_vec();
    let (target, items) = match &statement.ast {
        ast::Statement::Insert(insert) => (
            describe_insert(ctx, insert, &mut types).await?,
            insert.returning.as_deref(),
        ),
        ast::Statement::Update(update) => (
            describe_update(ctx, update, &mut types).await?,
            update.returning.as_deref(),
        ),
        ast::Statement::Delete(delete) => (
            describe_delete(ctx, delete, &mut types).await?,
            delete.returning.as_deref(),
        ),
        other => return Err(crate::Error::internal(format!("not a write: {other}"))),
    };
    let columns = match returning::describe(ctx, &target, items, &types).await? {
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
                        query::plan_query(ctx, &select_of(expressions)?, types)
                            .await?
                            .parameters,
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
                adopt(types, query::plan_query(ctx, source, types).await?.parameters);
            }
        },
    }
    if let Some(OnInsert::OnConflict(clause)) = &insert.on
        && let OnConflictAction::DoUpdate(update) = &clause.action
    {
        describe_assignments(&target, &update.assignments, types)?;
        if let Some(selection) = &update.selection {
            predicate::infer_parameters(selection, &target.table, types);
        }
    }
    Ok(target)
}

async fn describe_update(
    ctx: &StatementContext,
    update: &ast::Update,
    types: &mut [Option<SqlType>],
) -> Result<Target> {
    let target = Target::of_factor(ctx, &update.table)?;
    describe_assignments(&target, &update.assignments, types)?;
    if let Some(selection) = &update.selection {
        predicate::infer_parameters(selection, &target.table, types);
    }
    if types.iter().any(Option::is_none) {
        let expressions = pairs(&update.assignments, &target.table.name)?
            .into_iter()
            .map(|(_, _, expr)| expr);
        let expressions = expressions
            .filter(|expr| !is_default(expr) && parameter_index(expr).is_none())
            .cloned()
            .collect();
        let (ctx, query) = target_query(
            ctx,
            &target,
            expressions,
            from_tables(update),
            update.selection.as_ref(),
        )?;
        adopt(types, query::plan_query(&ctx, &query, types).await?.parameters);
    }
    Ok(target)
}

async fn describe_delete(
    ctx: &StatementContext,
    delete: &ast::Delete,
    types: &mut [Option<SqlType>],
) -> Result<Target> {
    let target = Target::of_factor(ctx, delete::target_of(delete)?)?;
    if let Some(selection) = &delete.selection {
        predicate::infer_parameters(selection, &target.table, types);
    }
    if types.iter().any(Option::is_none) {
        let using = delete.using.as_deref().unwrap_or_default();
        let (ctx, query) = target_query(ctx, &target, Vec::new(), using, delete.selection.as_ref())?;
        adopt(types, query::plan_query(&ctx, &query, types).await?.parameters);
    }
    Ok(target)
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

/// Gives a bare parameter the type of the column it is written to; inside an expression, what the expression decides.
/// Answers whether the expression is a bare parameter.
fn decide(expr: &Expr, target: &Target, column: &str, types: &mut [Option<SqlType>]) -> bool {
    let Some(at) = parameter_index(expr) else {
        predicate::infer_parameters(expr, &target.table, types);
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
