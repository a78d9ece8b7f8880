//! A query in parentheses that is all of another: `(SELECT a FROM t) ORDER BY b`. What stands around the parentheses belongs to the query in
//! them, as in PostgreSQL, so that it sorts by what only that one sees. And an operator behind another, `- - 1`: the tree's text would have
//! them as one (`--1`, a comment), so that the second is put in parentheses. Called by `tree`.

use std::ops::ControlFlow;

use sqlparser::ast::{
    Expr, LimitClause, OrderBy, OrderByKind, Query, SetExpr, Spanned, UnaryOperator, Values, VisitorMut,
};
use sqlparser::tokenizer::Location;

use super::walk::WalkMut;
use crate::Error;
use crate::error::StatementFault;

/// A clause that stands within the parentheses and around them.
#[derive(Debug)]
pub(super) struct Repeated {
    clause: &'static str,
    /// Where the one around them stands.
    pub(super) place: Location,
}

impl From<Repeated> for Error {
    fn from(repeated: Repeated) -> Error {
        Error::InvalidStatement {
            state: StatementFault::Syntax,
            message: format!("multiple {} clauses not allowed", repeated.clause),
            hint: None,
        }
    }
}

/// Takes such parentheses away, at any depth. Errors: a clause stands on both sides of them.
pub(super) fn take_away(tree: &mut impl WalkMut) -> Result<(), Repeated> {
    match tree.walk_mut(&mut Parentheses) {
        ControlFlow::Break(repeated) => Err(repeated),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Parentheses;

impl VisitorMut for Parentheses {
    type Break = Repeated;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Repeated> {
        while matches!(query.body.as_ref(), SetExpr::Query(_)) {
            if let Err(repeated) = merge(query) {
                return ControlFlow::Break(repeated);
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Repeated> {
        if let Expr::UnaryOp { op, expr: operand } = expr
            && *op != UnaryOperator::Not
            && matches!(operand.as_ref(), Expr::UnaryOp { op, .. } if *op != UnaryOperator::Not)
        {
            let nothing = Expr::Tuple(Vec::new());
            let inner = std::mem::replace(operand.as_mut(), nothing);
            **operand = Expr::Nested(Box::new(inner));
        }
        ControlFlow::Continue(())
    }
}

/// Makes a query the one in its parentheses, with what stands around them.
fn merge(query: &mut Query) -> Result<(), Repeated> {
    let nothing = Values {
        explicit_row: false,
        value_keyword: false,
        rows: Vec::new(),
    };
    let mut inner = match std::mem::replace(query.body.as_mut(), SetExpr::Values(nothing)) {
        SetExpr::Query(inner) => inner,
        body => {
            *query.body = body;
            return Ok(());
        }
    };
    if let (Some(with), Some(_)) = (&query.with, &inner.with) {
        return Err(repeated("WITH", with.with_token.0.span.start));
    }
    if let (Some(order_by), Some(_)) = (&query.order_by, &inner.order_by) {
        return Err(repeated("ORDER BY", start_of(order_by)));
    }
    let within = Bounds::of(inner.limit_clause.take(), inner.fetch.is_some());
    let around = Bounds::of(query.limit_clause.take(), query.fetch.is_some());
    inner.limit_clause = around.and(within)?;
    inner.with = inner.with.take().or(query.with.take());
    inner.order_by = inner.order_by.take().or(query.order_by.take());
    inner.fetch = inner.fetch.take().or(query.fetch.take());
    inner.locks.append(&mut query.locks);
    *query = *inner;
    Ok(())
}

/// LIMIT and OFFSET.
struct Bounds {
    clause: Option<LimitClause>,
    /// FETCH FIRST stands in the place of LIMIT.
    has_fetch: bool,
}

impl Bounds {
    fn of(clause: Option<LimitClause>, has_fetch: bool) -> Bounds {
        Bounds { clause, has_fetch }
    }

    /// These, and those within the parentheses.
    fn and(self, within: Bounds) -> Result<Option<LimitClause>, Repeated> {
        let is_limited = within.has_fetch || within.limit().is_some();
        match self.limit() {
            Some(limit) if is_limited => return Err(repeated("LIMIT", limit.span().start)),
            None if is_limited && self.has_fetch => return Err(repeated("LIMIT", Location::empty())),
            _ => {}
        }
        if let (Some(offset), Some(_)) = (self.offset(), within.offset()) {
            return Err(repeated("OFFSET", offset.span().start));
        }
        Ok(match (self.clause, within.clause) {
            (
                Some(LimitClause::LimitOffset {
                    limit,
                    offset,
                    limit_by,
                }),
                Some(LimitClause::LimitOffset {
                    limit: inner_limit,
                    offset: inner_offset,
                    ..
                }),
            ) => Some(LimitClause::LimitOffset {
                limit: limit.or(inner_limit),
                offset: offset.or(inner_offset),
                limit_by,
            }),
            (around, within) => around.or(within),
        })
    }

    fn limit(&self) -> Option<&Expr> {
        match self.clause.as_ref()? {
            LimitClause::LimitOffset { limit, .. } => limit.as_ref(),
            LimitClause::OffsetCommaLimit { limit, .. } => Some(limit),
        }
    }

    fn offset(&self) -> Option<&Expr> {
        match self.clause.as_ref()? {
            LimitClause::LimitOffset { offset, .. } => offset.as_ref().map(|offset| &offset.value),
            LimitClause::OffsetCommaLimit { offset, .. } => Some(offset),
        }
    }
}

fn repeated(clause: &'static str, place: Location) -> Repeated {
    Repeated { clause, place }
}

fn start_of(order_by: &OrderBy) -> Location {
    match &order_by.kind {
        OrderByKind::Expressions(keys) => keys.first().map(|key| key.span().start),
        OrderByKind::All(_) => None,
    }
    .unwrap_or(Location::empty())
}
