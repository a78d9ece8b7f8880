//! The types of parameters that a WHERE clause decides: `$n` compared with a column has the column's type.

use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Value as Literal, Visit, Visitor};

use super::predicate::{compare_op, tuple};
use super::{names, type_name};
use crate::catalog::TableDef;
use crate::types::SqlType;

/// Fills in the types of parameters that are compared with a column of the table or cast to a type. Types that are
/// already there stay.
pub(crate) fn infer_parameters(expr: &Expr, table: &TableDef, types: &mut [Option<SqlType>]) {
    let _ = expr.visit(&mut Inference { table, types });
}

struct Inference<'a> {
    table: &'a TableDef,
    types: &'a mut [Option<SqlType>],
}

impl Visitor for Inference<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::BinaryOp { left, op, right } if compare_op(op).is_some() => self.pair(left, right),
            Expr::IsDistinctFrom(left, right) | Expr::IsNotDistinctFrom(left, right) => {
                self.pair(left, right)
            }
            Expr::InList { expr, list, .. } => list.iter().for_each(|item| self.pair(expr, item)),
            Expr::Between { expr, low, high, .. } => {
                self.pair(expr, low);
                self.pair(expr, high);
            }
            Expr::Like { expr, pattern, .. } | Expr::ILike { expr, pattern, .. } => {
                let ty = if self.column_type(expr) == Some(SqlType::Bytea) {
                    SqlType::Bytea
                } else {
                    SqlType::Text
                };
                self.decide(pattern, || Some(ty));
            }
            Expr::AnyOp { left, right, .. } | Expr::AllOp { left, right, .. } => {
                let element = self.column_type(left);
                self.decide(right, || element.map(|element| SqlType::Array(Box::new(element))));
            }
            Expr::Cast { expr, data_type, .. } => {
                self.decide(expr, || type_name::get_sql_type(data_type).ok().flatten())
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
}

impl Inference<'_> {
    /// Two sides of a comparison, either of which may be the column.
    fn pair(&mut self, left: &Expr, right: &Expr) {
        if let (Some(left), Some(right)) = (tuple(left), tuple(right)) {
            left.iter()
                .zip(right)
                .for_each(|(left, right)| self.pair(left, right));
            return;
        }
        if let Some(ty) = self.column_type(left) {
            self.decide(right, || Some(ty));
        } else if let Some(ty) = self.column_type(right) {
            self.decide(left, || Some(ty));
        }
    }

    fn decide(&mut self, expr: &Expr, ty: impl FnOnce() -> Option<SqlType>) {
        match expr {
            Expr::Nested(inner) => self.decide(inner, ty),
            Expr::Value(value) => {
                if let Literal::Placeholder(name) = &value.value
                    && let Some(number) = name
                        .strip_prefix('$')
                        .and_then(|digits| digits.parse::<usize>().ok())
                    && let Some(slot) = number.checked_sub(1).and_then(|at| self.types.get_mut(at))
                    && slot.is_none()
                {
                    *slot = ty();
                }
            }
            _ => {}
        }
    }

    /// The type a parameter compared with this column has: without length or precision, as PostgreSQL resolves it.
    fn column_type(&self, expr: &Expr) -> Option<SqlType> {
        let ident = match expr {
            Expr::Nested(inner) => return self.column_type(inner),
            Expr::Cast { expr, data_type, .. } => {
                self.column_type(expr)?;
                return type_name::get_sql_type(data_type).ok().flatten();
            }
            Expr::Identifier(ident) => ident,
            Expr::CompoundIdentifier(parts) => parts.last()?,
            _ => return None,
        };
        let column = self.table.column_index(&names::fold(ident))?;
        Some(match &self.table.columns[column].ty {
            SqlType::Varchar(_) => SqlType::Text,
            SqlType::Numeric(_) => SqlType::Numeric(None),
            other => other.clone(),
        })
    }
}
