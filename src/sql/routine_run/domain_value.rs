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
    let selected = crate::sql::parse("SELECT $1")?.pop();
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
        let cast = domain_cast(domain)?;
        for row in rows.iter().filter(|row| !row.is_empty()) {
            let value = row.get(at).cloned().unwrap_or(Value::Null);
            run_cast(&mut ctx.clone(), &cast, value, domain.sql_type()).await?;
        }
    }
    Ok(())
}

/// Errors: 23514, 23502 for a value that is not of the domain. `ty`: what the domain is over.
async fn run_cast(
    ctx: &mut StatementContext,
    cast: &Arc<Statement>,
    value: Value,
    ty: SqlType,
) -> Result<()> {
    ctx.parameter_types = Arc::from([ty]);
    ctx.parameters = Arc::from([value]);
    let mut ran = run_statement(ctx, cast).await?;
    while ran.rows.next().await?.is_some() {}
    Ok(())
}
