//! Casts to domains: the value as one of the type that the domain is over, once the domain's conditions hold of it. Writes ask the
//! same of columns of domains (`sql::dml::row_checks`), as casts of these.

use std::ops::ControlFlow;

use sqlparser::ast;

use super::binder::{Binder, Bound, Clause, Place, fold};
use super::row_expression_text::{condition_text_over, pins_over};
use super::row_query::RowColumn;
use super::scope::{Scope, ScopeColumn};
use crate::catalog::{DomainDef, TypeDef};
use crate::functions::{self, Volatility};
use crate::parse;
use crate::parse::walk::visit_expressions_mut;
use crate::system::StatementContext;
use crate::tree::{self, Expr};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// The name that stands for the value in a domain's conditions.
const VALUE: &str = "value";
/// The same as PostgreSQL prints it.
const PRINTED_VALUE: &str = "VALUE";

impl Binder<'_> {
    /// A value of the type that the domain is over, which passes the domain's conditions: those of the domains that it is over first.
    /// Errors: those of binding the conditions, which were met when they were made.
    pub(super) fn of_domain(&mut self, bound: Bound, domain: &TypeDef) -> Result<Bound> {
        let mut bound = Bound {
            origin: None,
            ..bound
        };
        for part in domain.domains() {
            bound = self.of_one_domain(bound, part, domain)?;
        }
        Ok(bound)
    }

    /// `named`: the domain that is told of.
    fn of_one_domain(&mut self, bound: Bound, ty: &TypeDef, named: &TypeDef) -> Result<Bound> {
        let Some(domain) = ty
            .domain()
            .filter(|domain| domain.not_null || !domain.checks.is_empty())
        else {
            return Ok(bound);
        };
        let value_type = bound.ty.clone();
        let checked = self.once(bound, |binder, bound| binder.checked(bound, domain, named))?;
        Ok(Bound::new(checked, value_type))
    }

    /// A value of a domain, which fails where the domain does not take it.
    fn checked(&mut self, bound: Bound, domain: &DomainDef, named: &TypeDef) -> Result<Expr> {
        let value_type = bound.ty.clone();
        let schema = Bound::constant(&Value::Text(named.schema.clone()), SqlType::Text)?;
        let name = Bound::constant(&Value::Text(named.name.clone()), SqlType::Text)?;
        let not_null = Bound::constant(&Value::Bool(domain.not_null), SqlType::Bool)?;
        let mut arguments = vec![
            (bound.expr.clone(), value_type.clone()),
            (schema.expr, schema.ty),
            (name.expr, name.ty),
            (not_null.expr, not_null.ty),
        ];
        for check in &domain.checks {
            let expr = parse::parse_expression(&check.sql).map_err(|error| Error::Corrupt {
                what: format!("expression {}", check.sql),
                reason: error.to_string(),
            })?;
            let name = Bound::constant(&Value::Text(check.name.clone()), SqlType::Text)?;
            let condition = self
                .within_definition(|binder| binder.domain_condition(&expr, bound.clone()))
                .map_err(Error::without_place)?;
            arguments.push((name.expr, name.ty));
            arguments.push((condition.expr, condition.ty));
        }
        let definition = (
            "domain_value",
            functions::DOMAIN_VALUE,
            false,
            Volatility::Immutable,
        );
        Ok(tree::call(definition, arguments, value_type, &self.settings))
    }

    /// A condition over the value. Errors: those of binding, 42804 for one that is not boolean.
    fn domain_condition(&mut self, expr: &ast::Expr, value: Bound) -> Result<Bound> {
        let scope = Scope {
            visible: vec![ScopeColumn {
                name: VALUE.to_string(),
                bound: value,
            }],
            relations: Vec::new(),
        };
        let place = Place {
            scope: &scope,
            outer: None,
            clause: Clause::Check,
            windows: &[],
        };
        let bound = self.expression(expr, place)?;
        self.coerce_boolean(bound, "CHECK")
            .map(|expr| Bound::new(expr, SqlType::Bool))
    }
}

/// Checks that an expression can be a condition of a domain over this type. Errors: those of binding, 42804.
pub(crate) fn check_domain_condition(ctx: &StatementContext, expr: &ast::Expr, ty: &SqlType) -> Result<()> {
    let mut binder = Binder::new(ctx, &[]);
    let value = Bound::constant(&Value::Null, ty.clone())?;
    let bound = binder.domain_condition(expr, value);
    bound.map(drop).map_err(|error| binder.at_its_place(error))
}

/// A domain's condition of a value that is this expression, in place of VALUE.
pub(crate) fn condition_of_value(mut condition: ast::Expr, value: &ast::Expr) -> ast::Expr {
    let _ = visit_expressions_mut(&mut condition, |expr| {
        let is_value = matches!(expr, ast::Expr::Identifier(name) if fold(name) == VALUE);
        if is_value {
            expr.clone_from(value);
        }
        ControlFlow::<()>::Continue(())
    });
    condition
}

/// A domain's condition with its literals in the form that every session reads alike. Errors: those of binding.
pub(crate) fn pinned_domain_condition(
    ctx: &StatementContext,
    condition: &ast::Expr,
    ty: &SqlType,
) -> Result<ast::Expr> {
    let (columns, named) = printable(condition, ty);
    Ok(pins_over(ctx, (columns.into(), ""), &named, None)?.put(condition))
}

/// The condition of a column called [`PRINTED_VALUE`], and this.
fn printable(condition: &ast::Expr, ty: &SqlType) -> (Vec<RowColumn>, ast::Expr) {
    let column = RowColumn {
        name: PRINTED_VALUE.to_string(),
        ty: ty.clone(),
        origin: None,
    };
    let name = ast::Expr::Identifier(ast::Ident::with_quote('"', PRINTED_VALUE));
    (vec![column], condition_of_value(condition.clone(), &name))
}

/// A domain's condition as PostgreSQL prints it, and pretty. Errors: those of binding.
pub(crate) fn domain_condition_text(
    ctx: &StatementContext,
    condition: &ast::Expr,
    ty: &SqlType,
) -> Result<(String, String)> {
    let (columns, condition) = printable(condition, ty);
    let (text, pretty) = condition_text_over(ctx, columns.into(), "", &condition)?;
    let named = |text: String| text.replace(&format!("\"{PRINTED_VALUE}\""), PRINTED_VALUE);
    Ok((named(text), named(pretty)))
}
