//! Values of domains in code: a cast to the domain, run as a statement.

use std::sync::Arc;

use sqlparser::ast;

use super::statement_run::run_statement;
use crate::catalog::{RoutineDef, TypeDef};
use crate::query::type_name::name_of;
use crate::sql::Statement;
use crate::system::StatementContext;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// `SELECT CAST($1 AS domain)`.
pub(in crate::sql) fn domain_cast(domain: &TypeDef) -> Result<Arc<Statement>> {
    cast_within("SELECT $1", domain)
}

/// A query with its only column cast to a domain.
fn cast_within(query: &str, domain: &TypeDef) -> Result<Arc<Statement>> {
    let selected = crate::sql::parse(query)?.pop();
    let mut parsed = selected.ok_or_else(|| Error::internal("no statement"))?.parsed;
    if let ast::Statement::Query(query) = &mut parsed.ast
        && let ast::SetExpr::Select(select) = query.body.as_mut()
        && let [ast::SelectItem::UnnamedExpr(value)] = select.projection.as_mut_slice()
    {
        *value = ast::Expr::Cast {
            kind: ast::CastKind::Cast,
            expr: Box::new(value.clone()),
            data_type: name_of(domain),
            array: false,
            format: None,
        };
    }
    Ok(Arc::new(Statement::new(parsed)))
}

/// Errors: 23514, 23502 for a row of a function whose values are not of the domains that it declares.
pub(in crate::sql) async fn check_rows(
    ctx: &StatementContext,
    routine: &RoutineDef,
    rows: &[Vec<Value>],
) -> Result<()> {
    // What a call in an expression gives passes there.
    if !routine.returns_set && !routine.returns.is_row() {
        return Ok(());
    }
    for (at, domain) in routine.result_domains().into_iter().enumerate() {
        let Some(domain) = domain else { continue };
        let values = rows.iter().filter(|row| !row.is_empty());
        let values = values.map(|row| row.get(at).cloned().unwrap_or(Value::Null));
        check_values(ctx, domain, values.collect()).await?;
    }
    Ok(())
}

/// Errors: 23514, 23502 where one is not of the domain.
async fn check_values(ctx: &StatementContext, domain: &TypeDef, values: Vec<Value>) -> Result<()> {
    let ty = domain.sql_type();
    // Arrays of arrays would be taken apart to the last.
    if values.len() > 1 && !matches!(ty, SqlType::Array(_)) {
        let all = cast_within("SELECT value FROM unnest($1) AS given (value)", domain)?;
        return run_cast(ctx, &all, Value::Array(values.into()), SqlType::array(ty)).await;
    }
    let one = domain_cast(domain)?;
    for value in values {
        run_cast(ctx, &one, value, ty.clone()).await?;
    }
    Ok(())
}

/// Runs a cast of one parameter. Errors: 23514, 23502.
async fn run_cast(ctx: &StatementContext, cast: &Arc<Statement>, value: Value, ty: SqlType) -> Result<()> {
    let mut ctx = ctx.clone();
    ctx.parameter_types = Arc::from([ty]);
    ctx.parameters = Arc::from([value]);
    let mut ran = run_statement(&mut ctx, cast).await?;
    while ran.rows.next().await?.is_some() {}
    Ok(())
}
