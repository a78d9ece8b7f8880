//! WITH RECURSIVE: the terms of a recursion bound, and what its rows are. Called for the queries of a WITH, and by `search_cycle`.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema};
use sqlparser::ast;

use super::binder::{Binder, BoundQuery, CommonTable, QueryColumn, fault};
use super::coercion::{implicit, type_name};
use super::cte_materialization::mentions;
use super::recursion_form::check_step;
use super::row_locks::refuse_in_term;
use super::same_rows::refuse_unequal;
use super::scope::Outer;
use super::with_name::{names_of, rename};
use crate::error::StatementFault;
use crate::functions::Volatility;
use crate::logical::work_table::WorkTable;
use crate::tree::{Column, Expr, FieldMetadata, Plan};
use crate::types::{SqlType, TYPE_METADATA_KEY};
use crate::{Error, Result};

impl Binder<'_> {
    /// The first term of a recursion with numerics that keep the digits each value has: what the steps compute of a
    /// number has digits of its own.
    fn with_own_digits(&mut self, start: BoundQuery, names: &[String]) -> Result<BoundQuery> {
        if start
            .columns
            .iter()
            .all(|column| column.ty.fixed_size().is_none())
        {
            return Ok(start);
        }
        let own_digits = |ty: &SqlType| match ty.fixed_size() {
            Some(_) => SqlType::Numeric(None),
            None => ty.clone(),
        };
        let types: Vec<SqlType> = start
            .columns
            .iter()
            .map(|column| own_digits(&column.ty))
            .collect();
        let mut columns = start.columns.clone();
        let plan = self.project_as(start, &types, names)?;
        for (column, ty) in columns.iter_mut().zip(types) {
            column.ty = ty;
        }
        Ok(BoundQuery { plan, columns })
    }

    /// `WITH RECURSIVE name AS ([WITH …] start UNION [ALL] step)`. Errors: 42P19.
    pub(super) fn recursive_with(
        &mut self,
        name: &str,
        cte: &ast::Cte,
        outer: Option<&Outer<'_>>,
    ) -> Result<BoundQuery> {
        let outside = self.common_tables.len();
        if let Some(with) = &cte.query.with {
            let mut within = with.cte_tables.iter();
            if within.any(|own| mentions(own.query.as_ref(), name) > 0) {
                let message =
                    format!("recursive reference to query \"{name}\" must not appear within a subquery");
                return Err(fault(StatementFault::InvalidRecursion, message));
            }
            self.with(with, &cte.query, outer)?;
        }
        let bound = self.recursive(name, cte, outer);
        self.common_tables.truncate(outside);
        bound
    }

    /// `WITH RECURSIVE name AS (start UNION [ALL] step)`.
    pub(super) fn recursive(
        &mut self,
        name: &str,
        cte: &ast::Cte,
        outer: Option<&Outer<'_>>,
    ) -> Result<BoundQuery> {
        let (left, right, is_distinct) = terms(name, cte)?;
        let mut start = self.set_expr(left, outer)?;
        for column in &mut start.columns {
            if matches!(column.ty, SqlType::Unknown | SqlType::Void) {
                column.ty = SqlType::Text;
            }
        }
        rename(names_of(&mut start), &cte.alias, name)?;
        let columns = start.columns.iter();
        let names: Vec<String> = columns.map(|column| column.column.name.clone()).collect();
        start = self.with_own_digits(start, &names)?;
        let types: Vec<SqlType> = start.columns.iter().map(|column| column.ty.clone()).collect();
        // What the terms after the first give may be NULL, but the operator takes the columns of all from the first, and
        // trusts them. Volatile, lest a constant be computed before: it would be known not to be NULL again.
        let perhaps_null = |column, ty: &SqlType| self.perhaps_null(column, ty, Volatility::Volatile);
        start.plan = with_type_labels(start.plan, &types, &names, perhaps_null)?;
        for column in &mut start.columns {
            column.column = Column::new_unqualified(&column.column.name);
            // Rows of the other term are no table's.
            column.origin = None;
        }
        let keys: Vec<String> = names.iter().map(|_| self.unique_name("?key")).collect();
        let mut distinct_by = None;
        if is_distinct {
            types.iter().try_for_each(refuse_unequal)?;
            let (plan, places) = self.with_unlike_keys(start.plan, &keys)?;
            (start.plan, distinct_by) = (plan, Some(places));
        }
        let internal = self.unique_name(name);
        let outside = self.common_tables.len();
        self.common_tables.push(CommonTable {
            name: name.to_string(),
            source: work_table(&internal, &start)?,
        });
        let around = std::mem::replace(&mut self.is_in_step, true);
        let step = self.set_expr(right, outer);
        self.is_in_step = around;
        self.common_tables.truncate(outside);
        let step = step?;
        if step.columns.len() != start.columns.len() {
            let message = "each UNION query must have the same number of columns";
            return Err(fault(StatementFault::Syntax, message));
        }
        check_step_types(name, &start.columns, &step.columns)?;
        let mut step = with_type_labels(
            self.project_as(step, &types, &names)?,
            &types,
            &names,
            |column, _| column,
        )?;
        if is_distinct {
            (step, _) = self.with_unlike_keys(step, &keys)?;
        }
        let plan = start.plan.recursion(internal, step, distinct_by);
        let shown = start
            .columns
            .iter()
            .map(|column| Expr::Column(column.column.clone()));
        Ok(BoundQuery {
            plan: plan.project(shown)?,
            columns: start.columns,
        })
    }
}

/// The terms of a recursion, and whether it is a UNION without ALL. Errors: 42P19, 0A000 for what may not stand there.
fn terms<'a>(name: &str, cte: &'a ast::Cte) -> Result<(&'a ast::SetExpr, &'a ast::SetExpr, bool)> {
    let wrong = || {
        let message = format!(
            "recursive query \"{name}\" does not have the form non-recursive-term UNION [ALL] recursive-term"
        );
        fault(StatementFault::InvalidRecursion, message)
    };
    let ast::SetExpr::SetOperation {
        left,
        op: ast::SetOperator::Union,
        set_quantifier,
        right,
    } = cte.query.body.as_ref()
    else {
        return Err(wrong());
    };
    if mentions(left.as_ref(), name) > 0 {
        let message =
            format!("recursive reference to query \"{name}\" must not appear within its non-recursive term");
        return Err(fault(StatementFault::InvalidRecursion, message));
    }
    refuse_order_and_limit(&cte.query)?;
    check_step(name, right)?;
    refuse_in_term(left)?;
    refuse_in_term(right)?;
    Ok((left, right, !matches!(set_quantifier, ast::SetQuantifier::All)))
}

/// What the step of a recursive query reads under the query's name: the rows that the step before it gave.
fn work_table(internal: &str, start: &BoundQuery) -> Result<BoundQuery> {
    let fields = start.plan.schema().fields().iter();
    let schema = Schema::new(fields.map(|field| field.as_ref().clone()).collect::<Vec<Field>>());
    let reference = crate::tree::RelationAlias::bare(internal);
    let source = Arc::new(WorkTable::new(internal.to_string(), Arc::new(schema)));
    let plan = Plan::scan(reference.clone(), source);
    let columns = start.columns.iter().map(|column| QueryColumn {
        column: Column::new(Some(reference.clone()), &column.column.name),
        origin: None,
        ..column.clone()
    });
    Ok(BoundQuery {
        plan,
        columns: columns.collect(),
    })
}

/// PostgreSQL's grammar takes them on the whole of a recursive query, and its analysis does not.
fn refuse_order_and_limit(query: &ast::Query) -> Result<()> {
    let (limit, offset) = match &query.limit_clause {
        Some(ast::LimitClause::LimitOffset { limit, offset, .. }) => (limit.is_some(), offset.is_some()),
        Some(ast::LimitClause::OffsetCommaLimit { .. }) => (true, true),
        None => (query.fetch.is_some(), false),
    };
    let clauses = [
        ("ORDER BY", query.order_by.is_some()),
        ("OFFSET", offset),
        ("LIMIT", limit),
        ("FOR UPDATE/SHARE", !query.locks.is_empty()),
    ];
    match clauses.into_iter().find(|(_, is_there)| *is_there) {
        Some((clause, _)) => Err(fault(
            StatementFault::NotImplemented,
            format!("{clause} in a recursive query is not implemented"),
        )),
        None => Ok(()),
    }
}

/// The step's columns must have the start's types.
fn check_step_types(name: &str, start: &[QueryColumn], step: &[QueryColumn]) -> Result<()> {
    let types = start.iter().zip(step).map(|(a, b)| (&a.ty, &b.ty)).enumerate();
    for (index, (a, b)) in types {
        if !implicit(b, a) {
            return Err(Error::DatatypeMismatch {
                message: format!(
                    "recursive query \"{name}\" column {} has type {} in non-recursive term but type {} overall",
                    index + 1,
                    type_name(a),
                    type_name(b)
                ),
                hint: Some("Cast the output of the non-recursive term to the correct type.".to_string()),
            });
        }
    }
    Ok(())
}

/// The plan with each field labelled by its type, whatever its expression's own label: the terms of a recursive query
/// must agree in that too. `wrap` goes around each column.
fn with_type_labels(
    plan: Plan,
    types: &[SqlType],
    names: &[String],
    wrap: impl Fn(Expr, &SqlType) -> Expr,
) -> Result<Plan> {
    let exprs: Vec<Expr> = types
        .iter()
        .zip(names)
        .enumerate()
        .map(|(index, (ty, name))| {
            let label = HashMap::from([(TYPE_METADATA_KEY.to_string(), ty.metadata())]);
            let column = wrap(
                Expr::Column(Column::from(plan.schema().qualified_field(index))),
                ty,
            );
            column.alias_with_metadata(name, Some(FieldMetadata::from(label)))
        })
        .collect();
    plan.project(exprs)
}
