//! LIMIT, OFFSET and FETCH: counts that are known when the query is planned, or only when it runs.

use datafusion::common::Column;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use sqlparser::ast;

use super::binder::{Binder, Bound, Clause, Place};
use super::coercion::CastContext;
use super::condition::is_constant;
use super::scope::{Outer, Scope};
use crate::exec::datafusion_error::from_datafusion;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

impl Binder<'_> {
    pub(super) fn limit(
        &mut self,
        plan: LogicalPlan,
        query: &ast::Query,
        outer: Option<&Outer<'_>>,
    ) -> Result<LogicalPlan> {
        let (mut limit, mut offset) = (None, None);
        match &query.limit_clause {
            None => {}
            Some(ast::LimitClause::LimitOffset {
                limit: rows,
                offset: skip,
                limit_by,
            }) => {
                if !limit_by.is_empty() {
                    return Err(Error::unsupported("LIMIT BY", None));
                }
                limit = rows.as_ref();
                offset = skip.as_ref().map(|skip| &skip.value);
            }
            Some(ast::LimitClause::OffsetCommaLimit {
                offset: skip,
                limit: rows,
            }) => {
                limit = Some(rows);
                offset = Some(skip);
            }
        }
        if let Some(fetch) = &query.fetch {
            if fetch.with_ties || fetch.percent {
                return Err(Error::unsupported("FETCH FIRST WITH TIES or PERCENT", None));
            }
            match &fetch.quantity {
                Some(quantity) => limit = Some(quantity),
                None => {
                    let skip = self.row_count(offset, Clause::Offset, outer)?;
                    return LogicalPlanBuilder::new(plan)
                        .limit_by_expr(skip, Some(datafusion::logical_expr::lit(1_i64)))
                        .and_then(LogicalPlanBuilder::build)
                        .map_err(from_datafusion);
                }
            }
        }
        let (fetch, skip) = (
            self.row_count(limit, Clause::Limit, outer)?,
            self.row_count(offset, Clause::Offset, outer)?,
        );
        let is_known = |count: &Option<Expr>| count.as_ref().is_none_or(is_constant);
        if !is_known(&fetch) || !is_known(&skip) {
            return self.computed_limit(plan, fetch, skip);
        }
        if fetch.is_none() && skip.is_none() {
            return Ok(plan);
        }
        LogicalPlanBuilder::new(plan)
            .limit_by_expr(skip, fetch)
            .and_then(LogicalPlanBuilder::build)
            .map_err(from_datafusion)
    }

    /// Counts that are known only when the query runs (subqueries): rows are numbered and filtered.
    pub(super) fn computed_limit(
        &mut self,
        plan: LogicalPlan,
        fetch: Option<Expr>,
        skip: Option<Expr>,
    ) -> Result<LogicalPlan> {
        use datafusion::logical_expr::{Operator, lit};
        let kept: Vec<Expr> = (0..plan.schema().fields().len())
            .map(|index| Expr::Column(Column::from(plan.schema().qualified_field(index))))
            .collect();
        let number = datafusion::functions_window::expr_fn::row_number();
        let name = number.schema_name().to_string();
        let numbered = LogicalPlanBuilder::new(plan)
            .window(vec![number])
            .and_then(LogicalPlanBuilder::build)
            .map_err(from_datafusion)?;
        let number = datafusion::logical_expr::Cast::new(
            Box::new(Expr::Column(Column::from_name(name))),
            SqlType::Int8.arrow_type(),
        );
        let number = Expr::Cast(number);
        // A NULL count counts as absent.
        let zero = |count: Expr| {
            let present = Expr::IsNotNull(Box::new(count.clone()));
            let branches = vec![(Box::new(present), Box::new(count))];
            Expr::Case(datafusion::logical_expr::Case::new(
                None,
                branches,
                Some(Box::new(lit(0_i64))),
            ))
        };
        let skipped = zero(skip.unwrap_or_else(|| lit(0_i64)));
        let after = super::operator::binary(number.clone(), Operator::Minus, skipped);
        let mut condition = super::operator::binary(after.clone(), Operator::Gt, lit(0_i64));
        if let Some(fetch) = fetch {
            let within = super::operator::binary(after, Operator::LtEq, fetch.clone());
            let all = super::operator::binary(Expr::IsNull(Box::new(fetch)), Operator::Or, within);
            condition = super::operator::binary(condition, Operator::And, all);
        }
        let filtered = self.filter(numbered, condition)?;
        LogicalPlanBuilder::new(filtered)
            .project(kept)
            .and_then(LogicalPlanBuilder::build)
            .map_err(from_datafusion)
    }

    /// LIMIT's or OFFSET's count: a constant or parameter; NULL counts as absent.
    pub(super) fn row_count(
        &mut self,
        expr: Option<&ast::Expr>,
        clause: Clause,
        outer: Option<&Outer<'_>>,
    ) -> Result<Option<Expr>> {
        let Some(expr) = expr else { return Ok(None) };
        let nothing = Scope::default();
        let place = Place {
            scope: &nothing,
            outer,
            clause,
            windows: &[],
        };
        let bound = self.expression(expr, place)?;
        let bound = match &bound.ty {
            SqlType::Numeric(_) | SqlType::Float4 | SqlType::Float8 => {
                self.convert(bound, &SqlType::Int8, CastContext::Explicit)?
            }
            SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Unknown | SqlType::Void => {
                self.convert(bound, &SqlType::Int8, CastContext::Implicit)?
            }
            other => {
                return Err(Error::DatatypeMismatch {
                    message: format!(
                        "argument of {} must be type bigint, not type {}",
                        clause.name(),
                        super::coercion::type_name(other)
                    ),
                    hint: None,
                });
            }
        };
        let constant = Bound::new(crate::exec::functions::fold_constants(bound.expr)?, SqlType::Int8);
        match constant.literal()? {
            Some(Value::Null) => Ok(None),
            Some(Value::Int(number)) if number < 0 => Err(Error::DataException {
                state: if clause == Clause::Limit { "2201W" } else { "2201X" },
                message: format!("{} must not be negative", clause.name()),
            }),
            _ => Ok(Some(constant.expr)),
        }
    }
}
