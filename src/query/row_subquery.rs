//! Rows beside subqueries: `(a, b) IN (SELECT …)`, `(a, b) < ANY (SELECT …)`, `(a, b) = (SELECT …)`. Called by `subquery` and
//! `condition`; knows nothing of how a subquery gets its place in a plan.
//!
//! Whether some row of a subquery passes a test of three values is
//!
//! ```text
//! EXISTS (rows for which it is TRUE) OR EXISTS (rows for which it is NULL) AND NULL
//! ```
//!
//! and ALL is NOT of that over the test's opposite. A condition that only TRUE passes needs no more than `only_true` leaves of it.

use std::cell::RefCell;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use sqlparser::ast;

use super::binder::{Binder, Bound, Place, fault};
use super::decorrelation::sub_plan_of;
use super::expression::comparison_named;
use super::operator::{binary, no_operator};
use super::scope::Scope;
use super::subquery::named_capture;
use crate::error::StatementFault;
use crate::functions::Volatility;
use crate::tree::{Column, Exists, Expr, Operator, Plan, RowSchema, Subquery, Transformed, TreeNode};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

impl Binder<'_> {
    /// The columns of the one row of `(SELECT …)`, of which there must be so many; NULLs when there is no row.
    pub(super) fn row_of_query(
        &mut self,
        query: &ast::Query,
        width: usize,
        place: Place<'_>,
    ) -> Result<Vec<Bound>> {
        let (bound, mut marker) = self.subquery(query, place)?;
        check_width(bound.columns.len(), width)?;
        let columns = bound.columns.iter().map(|column| {
            let expr = Expr::Column(column.column.clone());
            (column.name.clone(), Bound::new(expr, column.ty.clone()))
        });
        let row = self.row_of_columns(columns.collect(), None)?;
        let name = self.unique_name("?row_value");
        marker.subquery = Arc::new(bound.plan.project(vec![row.expr.alias(name)])?);
        let value = self.perhaps_null(Expr::ScalarSubquery(marker), &row.ty, Volatility::Immutable);
        let fields = self.fields_of_record(&Bound::new(value, row.ty))?;
        Ok(fields.into_iter().map(|(_, field)| field).collect())
    }

    /// `(x, y) IN (SELECT a, b …)`.
    pub(super) fn row_in_subquery(
        &mut self,
        items: &[&ast::Expr],
        query: &ast::Query,
        negated: bool,
        place: Place<'_>,
    ) -> Result<Bound> {
        let found = self.quantified_row(items, "=", (query, false), place)?;
        Ok(match negated {
            true => Bound::new(Expr::Not(Box::new(found.expr)), SqlType::Bool),
            false => found,
        })
    }

    /// `(x, y) op ANY (SELECT a, b …)`, or with ALL. Errors: 42601 for another number of columns, 42883, 42804 and 0A000 for
    /// operators by which rows do not compare.
    pub(super) fn quantified_row(
        &mut self,
        items: &[&ast::Expr],
        symbol: &str,
        (query, all): (&ast::Query, bool),
        place: Place<'_>,
    ) -> Result<Bound> {
        let mut operands = Vec::with_capacity(items.len());
        for item in items {
            operands.push(self.expression(item, place)?);
        }
        let (bound, mut marker) = self.subquery(query, place)?;
        check_width(bound.columns.len(), operands.len())?;
        let used = RefCell::new(Vec::new());
        let mut pairs = Vec::with_capacity(operands.len());
        for (operand, column) in operands.into_iter().zip(&bound.columns) {
            let outer = match is_computed_outside(&operand.expr) {
                true => self.captured_operand(operand, &mut marker),
                false => Bound {
                    expr: to_outer(operand.expr.clone(), (place.scope, &used))?,
                    ..operand
                },
            };
            let inner = Bound::new(Expr::Column(column.column.clone()), column.ty.clone());
            pairs.push((outer, inner));
        }
        let op = match comparison_named(symbol) {
            Some(op) => op,
            None => return Err(self.no_row_operator(symbol, pairs)),
        };
        let test = self.compare_rows(op, pairs)?.expr;
        for column in used.into_inner() {
            let reference = captured_column(column);
            if !marker.outer_ref_columns.contains(&reference) {
                marker.outer_ref_columns.push(reference);
            }
        }
        some_row(&mut marker, test, all)
    }

    /// The operand as the subquery names it, which asks for it under a name that no other operand has.
    fn captured_operand(&mut self, operand: Bound, marker: &mut Subquery) -> Bound {
        let name = Column::new_unqualified(self.unique_name("?operand"));
        let field = Arc::new(Field::new(&name.name, operand.ty.arrow_type(), true));
        let capture = named_capture((name.clone(), operand.expr));
        marker.outer_ref_columns.push(capture);
        Bound::new(Expr::OuterReferenceColumn(field, name), operand.ty)
    }

    /// Why rows do not compare by this operator.
    fn no_row_operator(&mut self, symbol: &str, pairs: Vec<(Bound, Bound)>) -> Error {
        let Some((left, right)) = pairs.into_iter().next() else {
            return Error::unsupported("an empty row", None);
        };
        let given = match self.operator(symbol, left.clone(), right.clone()) {
            Ok(test) => test.ty,
            Err(_) => return no_operator(symbol, &left.ty, &right.ty),
        };
        match given {
            SqlType::Bool => Error::unsupported(
                format!("a comparison of rows by {symbol}"),
                Some("Rows compare by =, <>, <, <=, > and >=."),
            ),
            ty => Error::DatatypeMismatch {
                message: format!("row comparison operator must yield type boolean, not type {ty}"),
                hint: None,
            },
        }
    }
}

/// Errors: 42601 where a subquery has another number of columns than the row beside it.
fn check_width(columns: usize, wanted: usize) -> Result<()> {
    let how_many = match columns.cmp(&wanted) {
        std::cmp::Ordering::Less => "few",
        std::cmp::Ordering::Greater => "many",
        std::cmp::Ordering::Equal => return Ok(()),
    };
    let message = format!("subquery has too {how_many} columns");
    Err(fault(StatementFault::Syntax, message))
}

/// Whether some row of the subquery passes the test; with `all`, whether every row does.
fn some_row(marker: &mut Subquery, test: Expr, all: bool) -> Result<Bound> {
    let sought = if all {
        Expr::Not(Box::new(test.clone()))
    } else {
        test.clone()
    };
    let exists = |test: Expr| {
        let plan = marker.subquery.as_ref().clone().filter(test);
        let found = Subquery {
            subquery: Arc::new(plan),
            ..marker.clone()
        };
        Expr::Exists(Exists::new(found, false))
    };
    let null = Bound::constant(&Value::Null, SqlType::Bool)?.expr;
    let open = binary(exists(Expr::IsNull(Box::new(test))), Operator::And, null);
    let some = binary(exists(sought), Operator::Or, open);
    let found = if all { Expr::Not(Box::new(some)) } else { some };
    Ok(Bound::new(found, SqlType::Bool))
}

/// The conditions of which a condition is made of what only TRUE passes, over rows of this schema: of a test whether some row of a
/// subquery passes, without what makes it NULL instead of FALSE.
pub(super) fn only_true(condition: Expr, schema: &RowSchema) -> Vec<Expr> {
    match condition {
        Expr::Not(inner) => match some_or_open(&inner) {
            Some((found, open)) => {
                let mut none = vec![negated(found)];
                if may_be_null(open, schema) {
                    none.push(negated(open));
                }
                none
            }
            None => vec![Expr::Not(inner)],
        },
        other => match some_or_open(&other) {
            Some((found, _)) => vec![Expr::Exists(found.clone())],
            None => vec![other],
        },
    }
}

/// The parts of what `some_row` makes.
fn some_or_open(condition: &Expr) -> Option<(&Exists, &Exists)> {
    let Expr::BinaryExpr(some) = condition else {
        return None;
    };
    let (Operator::Or, Expr::Exists(found), Expr::BinaryExpr(open)) = (some.op, &*some.left, &*some.right)
    else {
        return None;
    };
    match (open.op, &*open.left, &*open.right) {
        (Operator::And, Expr::Exists(open), Expr::Literal(value, _)) if value.is_null() => {
            Some((found, open))
        }
        _ => None,
    }
}

fn negated(exists: &Exists) -> Expr {
    Expr::Exists(Exists {
        negated: true,
        ..exists.clone()
    })
}

/// Whether the test of a row is NULL for any: one of its columns may be.
fn may_be_null(open: &Exists, schema: &RowSchema) -> bool {
    let Plan::Filter(filter) = open.subquery.subquery.as_ref() else {
        return true;
    };
    let Expr::IsNull(test) = &filter.predicate else {
        return true;
    };
    let inner = filter.input.schema();
    let is_filled = |of: &RowSchema, column: &Column| {
        let field = of.field_from_column(column);
        field.is_ok_and(|field| !field.is_nullable())
    };
    let may_be = test.exists(|expr| {
        Ok(match expr {
            Expr::Column(column) => !is_filled(inner, column),
            Expr::OuterReferenceColumn(_, column) => !is_filled(schema, column),
            Expr::Literal(value, _) => value.is_null(),
            Expr::BinaryExpr(_) | Expr::Not(_) | Expr::Cast(_) => false,
            _ => true,
        })
    });
    may_be.unwrap_or(true)
}

/// Whether an operand is computed of the rows around, not in the subquery: it calls what is asked once a row, or what has no place there.
fn is_computed_outside(operand: &Expr) -> bool {
    let is_outside = |expr: &Expr| match expr {
        Expr::AggregateFunction(_) | Expr::WindowFunction(_) => true,
        expr => sub_plan_of(expr).is_some(),
    };
    operand.is_volatile() || operand.has(is_outside)
}

/// A captured column as a marker holds it.
fn captured_column(column: Column) -> Expr {
    named_capture((column.clone(), Expr::Column(column)))
}

/// The expression with its columns, which are of the scope, as outer references, noted in `used`.
fn to_outer(expr: Expr, (scope, used): (&Scope, &RefCell<Vec<Column>>)) -> Result<Expr> {
    let replaced = expr.transform_up(|expr| match expr {
        Expr::Column(column) => {
            let known = scope.type_of(&column).map_or(DataType::Null, SqlType::arrow_type);
            used.borrow_mut().push(column.clone());
            let field = Arc::new(Field::new(&column.name, known, true));
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
        }
        other => Ok(Transformed::no(other)),
    });
    replaced.map(|replaced| replaced.data)
}
