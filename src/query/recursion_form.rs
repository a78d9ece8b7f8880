//! The form of WITH RECURSIVE: in which order its queries are bound, and where the second term of a recursion may name it, as
//! PostgreSQL's `parse_cte.c` has it. Asked before anything is bound.

use std::ops::ControlFlow;

use sqlparser::ast;

use super::aggregate::is_aggregate;
use super::binder::{fault, fold};
use super::cte_materialization::mentions;
use crate::error::StatementFault;
use crate::parse::walk::Walk;
use crate::{Error, Result};

/// The queries of a clause, each behind those that it names. Errors: 0A000 when two name each other.
pub(super) fn in_order(with: &ast::With) -> Result<Vec<&ast::Cte>> {
    let mut waiting: Vec<&ast::Cte> = with.cte_tables.iter().collect();
    if !with.recursive {
        return Ok(waiting);
    }
    let mut ordered = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let names_none = |at: &usize| {
            let mut others = waiting.iter().enumerate().filter(|(other, _)| other != at);
            others.all(|(_, other)| mentions(waiting[*at].query.as_ref(), &fold(&other.alias.name)) == 0)
        };
        let Some(next) = (0..waiting.len()).find(names_none) else {
            let message = "mutual recursion between WITH items is not implemented";
            return Err(fault(StatementFault::NotImplemented, message));
        };
        ordered.push(waiting.remove(next));
    }
    Ok(ordered)
}

/// Errors: 42P19 where the second term of the recursion of this name names it where it may not, twice, or aggregates its rows.
pub(super) fn check_step(name: &str, step: &ast::SetExpr) -> Result<()> {
    let mut form = Form { name, references: 0 };
    form.set_expr(step, Place::Allowed)
}

/// Where something stands.
#[derive(Debug, Clone, Copy)]
enum Place {
    Allowed,
    OuterJoin,
    Intersect,
    Except,
    Subquery,
}

struct Form<'a> {
    name: &'a str,
    references: usize,
}

impl Form<'_> {
    fn set_expr(&mut self, body: &ast::SetExpr, place: Place) -> Result<()> {
        match body {
            ast::SetExpr::Select(select) => self.select(select, place),
            ast::SetExpr::Query(query) => self.query(query, place),
            ast::SetExpr::SetOperation {
                left,
                op,
                set_quantifier,
                right,
            } => {
                let keeps_all = matches!(set_quantifier, ast::SetQuantifier::All);
                let (own_left, own_right) = match op {
                    ast::SetOperator::Intersect if keeps_all => (Place::Intersect, Place::Intersect),
                    ast::SetOperator::Except | ast::SetOperator::Minus if keeps_all => {
                        (Place::Except, Place::Except)
                    }
                    ast::SetOperator::Except | ast::SetOperator::Minus => (place, Place::Except),
                    _ => (place, place),
                };
                self.set_expr(left, own_left)?;
                self.set_expr(right, own_right)
            }
            other => self.no_reference(other, place),
        }
    }

    fn query(&mut self, query: &ast::Query, place: Place) -> Result<()> {
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.query(&cte.query, place)?;
            if fold(&cte.alias.name) == self.name {
                // From here on the name is another's.
                return Ok(());
            }
        }
        self.set_expr(&query.body, place)?;
        self.no_reference(&query.order_by, Place::Subquery)?;
        self.no_reference(&query.limit_clause, Place::Subquery)
    }

    fn select(&mut self, select: &ast::Select, place: Place) -> Result<()> {
        let before = self.references;
        for table in &select.from {
            self.joined(table, place)?;
        }
        if mentions(select, self.name) > mentions(&select.from, self.name) {
            return Err(self.misplaced(Place::Subquery));
        }
        let reads = |table: &ast::TableWithJoins| {
            let joined = table.joins.iter().map(|join| &join.relation);
            std::iter::once(&table.relation)
                .chain(joined)
                .any(|factor| self.is_reference(factor))
        };
        let is_direct = self.references > before && select.from.iter().any(reads);
        if is_direct && aggregates(select) {
            let message = "aggregate functions are not allowed in a recursive query's recursive term";
            return Err(fault(StatementFault::InvalidRecursion, message));
        }
        Ok(())
    }

    /// A table, and those that are joined to it, which an outer join may stand above.
    fn joined(&mut self, table: &ast::TableWithJoins, place: Place) -> Result<()> {
        use ast::JoinOperator::{FullOuter, Left, LeftOuter, Right, RightOuter};
        let is_fills_left =
            |join: &ast::Join| matches!(join.join_operator, Right(_) | RightOuter(_) | FullOuter(_));
        let place_before = |at: usize| match table.joins[at..].iter().any(is_fills_left) {
            true => Place::OuterJoin,
            false => place,
        };
        self.factor(&table.relation, place_before(0))?;
        for (at, join) in table.joins.iter().enumerate() {
            let own = match join.join_operator {
                Left(_) | LeftOuter(_) | FullOuter(_) => Place::OuterJoin,
                _ => place_before(at + 1),
            };
            self.factor(&join.relation, own)?;
            self.no_reference(&join.join_operator, Place::Subquery)?;
        }
        Ok(())
    }

    fn factor(&mut self, factor: &ast::TableFactor, place: Place) -> Result<()> {
        match factor {
            ast::TableFactor::Table { .. } if self.is_reference(factor) => self.reference(place),
            ast::TableFactor::Derived { subquery, .. } => self.query(subquery, place),
            ast::TableFactor::NestedJoin { table_with_joins, .. } => self.joined(table_with_joins, place),
            other => self.no_reference(other, Place::Subquery),
        }
    }

    fn is_reference(&self, factor: &ast::TableFactor) -> bool {
        let ast::TableFactor::Table { name, args: None, .. } = factor else {
            return false;
        };
        match name.0.as_slice() {
            [part] => part.as_ident().is_some_and(|ident| fold(ident) == self.name),
            _ => false,
        }
    }

    fn reference(&mut self, place: Place) -> Result<()> {
        if !matches!(place, Place::Allowed) {
            return Err(self.misplaced(place));
        }
        self.references += 1;
        match self.references {
            1 => Ok(()),
            _ => Err(self.wrong("more than once")),
        }
    }

    fn no_reference(&self, part: &impl Walk, place: Place) -> Result<()> {
        match mentions(part, self.name) {
            0 => Ok(()),
            _ => Err(self.misplaced(place)),
        }
    }

    fn misplaced(&self, place: Place) -> Error {
        self.wrong(match place {
            Place::OuterJoin => "within an outer join",
            Place::Intersect => "within INTERSECT",
            Place::Except => "within EXCEPT",
            Place::Allowed | Place::Subquery => "within a subquery",
        })
    }

    fn wrong(&self, place: &str) -> Error {
        let message = format!(
            "recursive reference to query \"{}\" must not appear {place}",
            self.name
        );
        fault(StatementFault::InvalidRecursion, message)
    }
}

/// Whether a SELECT aggregates its rows.
fn aggregates(select: &ast::Select) -> bool {
    let mut calls = Calls { queries: 0 };
    select.projection.walk(&mut calls).is_break() || select.having.walk(&mut calls).is_break()
}

/// Looks for a call of an aggregate outside of subqueries.
struct Calls {
    queries: usize,
}

impl ast::Visitor for Calls {
    type Break = ();

    fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> ControlFlow<()> {
        let ast::Expr::Function(call) = expr else {
            return ControlFlow::Continue(());
        };
        let name = call.name.0.last().and_then(|part| part.as_ident());
        let is_call = name.is_some_and(|name| is_aggregate(&fold(name)));
        match is_call && call.over.is_none() && self.queries == 0 {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}
