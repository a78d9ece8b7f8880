//! VALUES lists: rows of constants, or a union of selects where a value needs a plan.

use sqlparser::ast::{self, Spanned};
use sqlparser::tokenizer::Span;

use super::binder::{Binder, Bound, BoundQuery, Clause, Place, QueryColumn, fault};
use super::bound::declare_alike;
use super::coercion::CastContext;
use super::decorrelation::has_subquery;
use super::scope::{Outer, Scope};
use crate::error::StatementFault;
use crate::parse::text_place;
use crate::tree::{Column, Expr, FieldMetadata, Plan, TreeNode};
use crate::types::SqlType;
use crate::{Error, Result};

impl Binder<'_> {
    /// VALUES: each column of the rows' common type.
    pub(super) fn values(&mut self, values: &ast::Values, outer: Option<&Outer<'_>>) -> Result<BoundQuery> {
        let nothing = Scope::default();
        let place = Place {
            scope: &nothing,
            outer,
            clause: Clause::Values,
            windows: &[],
        };
        let mut rows: Vec<Vec<Bound>> = Vec::with_capacity(values.rows.len());
        for row in &values.rows {
            let bound = row
                .content
                .iter()
                .map(|expr| self.expression(expr, place))
                .collect::<Result<Vec<_>>>()?;
            if rows.first().is_some_and(|first| first.len() != bound.len()) {
                let error = fault(StatementFault::Syntax, "VALUES lists must all be the same length");
                let first = row.content.first();
                return Err(text_place::at_error(
                    error,
                    first.map_or_else(Span::empty, Spanned::span),
                ));
            }
            rows.push(bound);
        }
        let width = rows.first().map_or(0, Vec::len);
        let (mut types, mut declared) = (Vec::with_capacity(width), Vec::with_capacity(width));
        for index in 0..width {
            let column: Vec<Bound> = rows.iter().map(|row| row[index].clone()).collect();
            let ty = self.common_type_of("VALUES", &column)?;
            declared.push(declare_alike(&column, &ty));
            types.push(ty);
        }
        let names: Vec<String> = (1..=width)
            .map(|index| self.unique_name(&format!("column{index}")))
            .collect();
        let mut exprs = Vec::with_capacity(rows.len());
        for row in rows {
            let row = row
                .into_iter()
                .zip(&types)
                .map(|(bound, ty)| Ok(self.convert(bound, ty, CastContext::Implicit)?.expr))
                .collect::<Result<Vec<_>>>()?;
            exprs.push(row);
        }
        let plan = self.value_rows(exprs, &names, &types)?;
        let columns = names
            .iter()
            .zip(types.into_iter().zip(declared))
            .enumerate()
            .map(|(index, (_, (ty, is_declared)))| QueryColumn {
                name: format!("column{}", index + 1),
                column: Column::from(plan.schema().qualified_field(index)),
                ty,
                origin: None,
                is_declared,
                constant: false,
            })
            .collect();
        Ok(BoundQuery { plan, columns })
    }

    /// Rows of constants are one node; rows that need a plan (subqueries, sets, outer columns) are a union of selects.
    pub(super) fn value_rows(
        &mut self,
        rows: Vec<Vec<Expr>>,
        names: &[String],
        types: &[SqlType],
    ) -> Result<Plan> {
        // Literals do not say of what type they are.
        let named = |expr: Expr, at: usize| {
            let label = types[at].field(&names[at], true).metadata().clone();
            expr.alias_with_metadata(&names[at], Some(FieldMetadata::from(label)))
        };
        let needs_plan = |expr: &Expr| {
            has_subquery(expr)
                || expr
                    .exists(|expr| Ok(matches!(expr, Expr::OuterReferenceColumn(..) | Expr::Unnest(_))))
                    .unwrap_or(true)
        };
        if !rows.iter().flatten().any(needs_plan) {
            let plan = Plan::values(rows)?;
            let outputs: Vec<Expr> = (0..names.len())
                .map(|at| named(Expr::Column(Column::from(plan.schema().qualified_field(at))), at))
                .collect();
            return plan.project(outputs);
        }
        let mut union: Option<Plan> = None;
        for row in rows {
            let one = Plan::one_row();
            let (one, row) = self.place_subqueries(one, row, false)?;
            let outputs: Vec<Expr> = row
                .into_iter()
                .enumerate()
                .map(|(at, expr)| named(expr, at))
                .collect();
            let one = one.project(outputs)?;
            union = Some(match union {
                None => one,
                Some(before) => before.union(one)?,
            });
        }
        union.ok_or_else(|| Error::unsupported("VALUES without rows", None))
    }
}
