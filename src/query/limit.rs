//! LIMIT, OFFSET and FETCH: counts that are known before the query runs, or only as it does.

use std::sync::Arc;

use sqlparser::ast;

use super::binder::{Binder, Bound, Clause, Place, fault};
use super::coercion::CastContext;
use super::scope::{Outer, Scope};
use super::set_returning::{all_columns, is_row_number};
use crate::error::StatementFault;
use crate::functions::Volatility;
use crate::functions::{self, LimitClause};
use crate::tree::{
    self, Cast, Column, Expr, OrderKey, Plan, Ranking, ScalarValue, Subquery, WindowFrame, lit,
};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// A plan without the sort that its rows leave, in the order of which they are still to be counted.
struct Ordered {
    input: Plan,
    order: Vec<OrderKey>,
    /// What stood above the sort, the lowest first: they leave columns out that only it needed.
    projections: Vec<Vec<Expr>>,
}

impl Ordered {
    fn of(plan: Plan) -> Ordered {
        let mut projections = Vec::new();
        let mut below = &plan;
        loop {
            match below {
                Plan::Projection(projection) if projection.expr.iter().all(is_above_sort) => {
                    projections.push(projection.expr.clone());
                    below = projection.input.as_ref();
                }
                Plan::Sort(sort) if sort.fetch.is_none() => {
                    projections.reverse();
                    return Ordered {
                        input: sort.input.as_ref().clone(),
                        order: sort.expr.clone(),
                        projections,
                    };
                }
                _ => {
                    return Ordered {
                        input: plan,
                        order: Vec::new(),
                        projections: Vec::new(),
                    };
                }
            }
        }
    }
}

/// Whether an output is one of those that are made behind a sort of the same query: what it passes on, and what is volatile.
fn is_above_sort(expr: &Expr) -> bool {
    matches!(expr, Expr::Column(_)) || expr.is_volatile()
}

impl Binder<'_> {
    pub(super) fn limit(
        &mut self,
        plan: Plan,
        query: &ast::Query,
        outer: Option<&Outer<'_>>,
    ) -> Result<Plan> {
        let (mut limit, mut offset) = (None, None);
        match &query.limit_clause {
            None => {}
            Some(ast::LimitClause::LimitOffset {
                limit: rows,
                offset: skip,
                limit_by: _,
            }) => {
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
        let with_ties = query.fetch.as_ref().is_some_and(|fetch| fetch.with_ties);
        if let Some(fetch) = &query.fetch {
            if with_ties && query.order_by.is_none() {
                let message = "WITH TIES cannot be specified without ORDER BY clause";
                return Err(fault(StatementFault::Syntax, message));
            }
            // The parser has no place in FETCH for an expression: it stands in LIMIT.
            limit = fetch.quantity.as_ref().or(limit);
        }
        let is_one_row = query.fetch.is_some() && limit.is_none();
        let fetch = match is_one_row {
            true => Some(lit(1_i64)),
            false => self.row_count(limit, Clause::Limit, outer)?,
        };
        let skip = self.row_count(offset, Clause::Offset, outer)?;
        if fetch.is_none() && skip.is_none() {
            return Ok(plan);
        }
        let is_known = |count: &Option<Expr>| count.as_ref().is_none_or(is_known_before_run);
        if with_ties || !is_known(&fetch) || !is_known(&skip) {
            return self.computed_limit(plan, (fetch, skip), with_ties);
        }
        Ok(plan.limit(skip, fetch))
    }

    /// Counts that are known only when the query runs, or rows that may be more than were counted: they are numbered in
    /// their order and filtered. Only the window function's own ORDER BY makes it that order: a sort below it, or below a
    /// filter, is one that no operator above asks for.
    fn computed_limit(
        &mut self,
        plan: Plan,
        (fetch, skip): (Option<Expr>, Option<Expr>),
        with_ties: bool,
    ) -> Result<Plan> {
        let Ordered {
            input,
            order,
            projections,
        } = Ordered::of(plan);
        if with_ties && order.is_empty() {
            return Err(Error::unsupported(
                "FETCH FIRST WITH TIES of rows that a select list multiplies",
                Some("Move the set-returning function into a subquery in FROM."),
            ));
        }
        let kept = all_columns(&input);
        let over = |function: Ranking, order: Vec<OrderKey>| {
            let frame = WindowFrame::new((!order.is_empty()).then_some(true));
            function.over(order, frame)
        };
        let number = over(Ranking::RowNumber, order.clone());
        let mut windows = vec![number.clone()];
        if with_ties {
            let mut ties = order.clone();
            ties.retain(|sort| !is_row_number(&sort.expr));
            windows.push(over(Ranking::Rank, ties));
        }
        let [number, last] = [windows.first(), windows.last()].map(|function| {
            let name = function.unwrap_or(&number).schema_name().to_string();
            let column = Box::new(Expr::Column(Column::new_unqualified(name)));
            Expr::Cast(Cast::new(column, SqlType::Int8.arrow_type()))
        });
        let absent = || Expr::Literal(ScalarValue::Int64(None), None);
        let counts = [skip, fetch].map(|count| count.unwrap_or_else(absent));
        let [skip, fetch] = counts;
        let arguments = [number.clone(), last, skip, fetch].map(|argument| (argument, SqlType::Int8));
        let definition = (
            "within_limit",
            functions::WITHIN_LIMIT,
            false,
            Volatility::Immutable,
        );
        let condition = tree::call(definition, arguments.into(), SqlType::Bool, &self.settings);
        let mut counted = self.filter(input.windows(windows)?, condition)?;
        if !order.is_empty() {
            counted = counted.sort(vec![OrderKey::new(number, true, false)]);
        }
        let projections = std::iter::once(kept).chain(projections);
        projections.into_iter().try_fold(counted, Plan::project)
    }

    /// LIMIT's or OFFSET's count: a constant or parameter; NULL counts as absent.
    fn row_count(
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
        let bound = self.choosing(|binder| binder.expression(expr, place))?;
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
        let constant = Bound::new(crate::tree::fold_constants(bound.expr)?, SqlType::Int8);
        match constant.literal()? {
            Some(Value::Null) => Ok(None),
            Some(Value::Int(number)) => {
                let clause = match clause {
                    Clause::Limit => LimitClause::Limit,
                    _ => LimitClause::Offset,
                };
                functions::row_count(number, clause)?;
                Ok(Some(constant.expr))
            }
            _ if constant.expr.is_volatile() => self.asked_once(constant.expr).map(Some),
            _ => Ok(Some(constant.expr)),
        }
    }

    /// A count that is another each time, as one that is asked before the rows are counted.
    fn asked_once(&mut self, count: Expr) -> Result<Expr> {
        let name = self.unique_name("?count");
        let asked = Plan::one_row().project(vec![count.alias(name)])?;
        Ok(Expr::ScalarSubquery(Subquery {
            subquery: Arc::new(asked),
            outer_ref_columns: Vec::new(),
        }))
    }
}

/// Whether a count is the same for all rows and known once parameters are: then it is a limit like any other.
fn is_known_before_run(count: &Expr) -> bool {
    match count {
        Expr::Literal(..) | Expr::Placeholder(_) => true,
        Expr::Cast(cast) => is_known_before_run(&cast.expr),
        Expr::ScalarFunction(call) => {
            call.func.volatility() == Volatility::Immutable
                && !call.func.waits()
                && !call.func.reads_catalogs()
                && call.args.iter().all(is_known_before_run)
        }
        _ => false,
    }
}
