//! Whole queries: WITH, set operations, VALUES, ORDER BY and LIMIT around them.

use sqlparser::ast;

use super::binder::{Binder, Bound, BoundQuery, CommonTable, QueryColumn, fault, fold};
use super::coercion::{CastContext, common_type, no_common_type, without_scale_of_constants};
use super::cte_materialization::{mentions, shared};
use super::recursion_form::in_order;
use super::result_columns::{RESULT_COLUMNS_MAX, require_few};
use super::row_locks::refuse_in_term;
use super::same_rows::{refuse_unequal, refuse_unsortable};
use super::scope::Outer;
use super::select_item::{SortKey, output_at};
use super::with_name::{names_of, not_readable_yet, rename, repeated_name};
use crate::error::StatementFault;
use crate::parse::names::relation_in_from;
use crate::parse::with_write::is_write;
use crate::tree::{Column, Expr, JoinType, OrderKey, Plan, Ranking, WindowFrame};
use crate::types::SqlType;
use crate::{Error, Result};

impl Binder<'_> {
    /// Binds a query with everything around its body.
    pub(super) fn query(&mut self, query: &ast::Query, outer: Option<&Outer<'_>>) -> Result<BoundQuery> {
        self.one_level_deeper(|binder| {
            let outside = binder.common_tables.len();
            let bound = binder.query_here(query, outer);
            binder.common_tables.truncate(outside);
            bound
        })
    }

    pub(super) fn query_here(&mut self, query: &ast::Query, outer: Option<&Outer<'_>>) -> Result<BoundQuery> {
        let around = self.locks_around();
        if let Some(with) = &query.with {
            self.with(with, query, outer)?;
        }
        let order_by: &[ast::OrderByExpr] = match &query.order_by {
            None => &[],
            Some(order_by) => match &order_by.kind {
                ast::OrderByKind::Expressions(items) => items,
                ast::OrderByKind::All(_) => return Err(Error::unsupported("ORDER BY ALL", None)),
            },
        };
        let locks = self.row_locks(query, around)?;
        let mut bound = match query.body.as_ref() {
            ast::SetExpr::Select(select) => self.select(select, (order_by, locks), outer)?,
            body => {
                let bound = self.set_expr(body, outer)?;
                self.sort_outputs(bound, order_by)?
            }
        };
        require_few(bound.columns.len(), || {
            format!("target lists can have at most {RESULT_COLUMNS_MAX} entries")
        })?;
        bound.plan = self.limit(bound.plan, query, outer)?;
        Ok(bound)
    }

    /// A value as it leaves the statement: of an oid that names an object the name, and it.
    pub(super) fn as_sent(&mut self, bound: Bound) -> Result<Bound> {
        match bound.ty.output_type() == bound.ty {
            true => Ok(bound),
            false => {
                let ty = bound.ty.output_type();
                let sent = self.object_names_by(bound, ["sent_object_name", "sent_object_names"])?;
                Ok(Bound::new(sent.expr, ty))
            }
        }
    }

    /// What is shown of a value: of an oid that names an object the name.
    pub(super) fn as_shown(&mut self, bound: Bound) -> Result<Bound> {
        match bound.ty.output_type() == bound.ty {
            true => Ok(bound),
            false => self.object_names(bound),
        }
    }

    /// The query as it leaves the statement: oids that name objects become the names.
    pub(super) fn with_output_types(&mut self, bound: BoundQuery) -> Result<BoundQuery> {
        if bound
            .columns
            .iter()
            .all(|column| column.ty.output_type() == column.ty)
        {
            return Ok(bound);
        }
        let mut outputs = Vec::with_capacity(bound.columns.len());
        let mut columns = Vec::with_capacity(bound.columns.len());
        for column in bound.columns {
            let shown = self.as_sent(Bound::new(Expr::Column(column.column), column.ty))?;
            let name = self.unique_name(&column.name);
            outputs.push(shown.expr.alias(&name));
            columns.push(QueryColumn {
                name: column.name,
                column: Column::new_unqualified(&name),
                ty: shown.ty,
                origin: column.origin,
                is_declared: column.is_declared,
                constant: column.constant,
            });
        }
        let plan = bound.plan.project(outputs)?;
        Ok(BoundQuery { plan, columns })
    }

    /// Binds the WITH queries of `query`.
    pub(super) fn with(
        &mut self,
        with: &ast::With,
        query: &ast::Query,
        outer: Option<&Outer<'_>>,
    ) -> Result<()> {
        let outside = self.common_tables.len();
        for (at, cte) in in_order(with)?.into_iter().enumerate() {
            let name = fold(&cte.alias.name);
            if is_write(&cte.query) {
                let message = "WITH clause containing a data-modifying statement must be at the top level";
                return Err(fault(StatementFault::NotImplemented, message));
            }
            if self.common_tables[outside..]
                .iter()
                .any(|other| other.name == name)
            {
                return Err(repeated_name(&name));
            }
            let mut source = if let Some(searched) = self.searched(&name, with, cte, outer)? {
                searched
            } else if with.recursive && mentions(cte.query.as_ref(), &name) > 0 {
                self.recursive_with(&name, cte, outer)?
            } else {
                let bound = self.query(&cte.query, outer);
                let later = with.cte_tables.get(at..).filter(|_| !with.recursive);
                let bound = bound.map_err(|error| not_readable_yet(error, later.unwrap_or_default()))?;
                shared(bound, cte, query)?
            };
            rename(names_of(&mut source), &cte.alias, &name)?;
            self.common_tables.push(CommonTable { name, source });
        }
        Ok(())
    }

    /// The body of a query without ORDER BY and LIMIT.
    pub(super) fn set_expr(&mut self, body: &ast::SetExpr, outer: Option<&Outer<'_>>) -> Result<BoundQuery> {
        match body {
            ast::SetExpr::Select(select) => self.select(select, (&[], Vec::new()), outer),
            ast::SetExpr::Query(query) => self.query(query, outer),
            ast::SetExpr::Values(values) => self.values(values, outer),
            ast::SetExpr::SetOperation {
                left,
                op,
                set_quantifier,
                right,
            } => {
                self.one_level_deeper(|binder| binder.set_operation(left, *op, *set_quantifier, right, outer))
            }
            ast::SetExpr::Table(table) => {
                let name = table.table_name.clone().unwrap_or_default();
                let mut parts = vec![ast::Ident::new(name)];
                if let Some(schema) = &table.schema_name {
                    parts.insert(0, ast::Ident::new(schema.clone()));
                }
                let factor = relation_in_from(ast::ObjectName::from(parts), None);
                let (plan, scope) = self.from(
                    &[ast::TableWithJoins {
                        relation: factor,
                        joins: Vec::new(),
                    }],
                    outer,
                )?;
                let columns = scope
                    .visible
                    .into_iter()
                    .map(|column| match column.bound.expr {
                        Expr::Column(inner) => Ok(QueryColumn {
                            name: column.name,
                            column: inner,
                            ty: column.bound.ty,
                            origin: column.bound.origin,
                            is_declared: column.bound.is_declared,
                            constant: false,
                        }),
                        _ => Err(Error::internal("a table's column that is none")),
                    })
                    .collect::<Result<Vec<_>>>()?;
                Ok(BoundQuery { plan, columns })
            }
            _ => Err(Error::unsupported("a write inside a query", None)),
        }
    }

    pub(super) fn set_operation(
        &mut self,
        left: &ast::SetExpr,
        op: ast::SetOperator,
        quantifier: ast::SetQuantifier,
        right: &ast::SetExpr,
        outer: Option<&Outer<'_>>,
    ) -> Result<BoundQuery> {
        let word = match op {
            ast::SetOperator::Union => "UNION",
            ast::SetOperator::Intersect => "INTERSECT",
            _ => "EXCEPT",
        };
        refuse_in_term(left)?;
        refuse_in_term(right)?;
        let all = matches!(quantifier, ast::SetQuantifier::All);
        let (left, right) = self.both_branches(left, right, outer)?;
        if left.columns.len() != right.columns.len() {
            let message = format!("each {word} query must have the same number of columns");
            return Err(fault(StatementFault::Syntax, message));
        }
        let mut types = Vec::with_capacity(left.columns.len());
        let mut declared = Vec::with_capacity(left.columns.len());
        for (a, b) in left.columns.iter().zip(&right.columns) {
            let common = common_type(&[a.ty.clone(), b.ty.clone()])
                .map(|ty| without_scale_of_constants(ty, [a, b].iter().all(|column| column.constant)));
            types.push(common.ok_or_else(|| no_common_type(word, &a.ty, &b.ty))?);
            declared.push(a.is_declared && b.is_declared && a.ty == b.ty);
        }
        if !all || op != ast::SetOperator::Union {
            types.iter().try_for_each(refuse_unequal)?;
        }
        let shown: Vec<String> = left.columns.iter().map(|column| column.name.clone()).collect();
        let names: Vec<String> = shown.iter().map(|name| self.unique_name(name)).collect();
        let left = self.project_as(left, &types, &names)?;
        let right = self.project_as(right, &types, &names)?;
        let plan = match (op, all) {
            (ast::SetOperator::Union, _) => {
                let both = left.union(right)?;
                match all {
                    true => both,
                    false => self.distinct_rows(both)?,
                }
            }
            (_, false) => {
                let left = self.distinct_rows(left)?;
                self.rows_beside(left, right, join_of(op))?
            }
            (_, true) => self.bag_operation(left, right, op, &names)?,
        };
        let columns = shown
            .into_iter()
            .zip(types.into_iter().zip(declared))
            .enumerate()
            .map(|(index, (name, (ty, is_declared)))| {
                let column = Column::from(plan.schema().qualified_field(index));
                QueryColumn {
                    name,
                    column,
                    ty,
                    origin: None,
                    is_declared,
                    constant: false,
                }
            })
            .collect();
        Ok(BoundQuery { plan, columns })
    }

    /// INTERSECT ALL and EXCEPT ALL: the n-th copy of a row on one side meets the n-th copy on the other.
    pub(super) fn bag_operation(
        &mut self,
        left: Plan,
        right: Plan,
        op: ast::SetOperator,
        names: &[String],
    ) -> Result<Plan> {
        let copy = self.unique_name("?copy");
        let (left, right) = (self.numbered(left, &copy)?, self.numbered(right, &copy)?);
        let plan = self.rows_beside(left, right, join_of(op))?;
        let kept: Vec<Expr> = (0..names.len())
            .map(|index| Expr::Column(Column::from(plan.schema().qualified_field(index))))
            .collect();
        plan.project(kept)
    }

    /// The plan with the number of each copy of a row in one more column, called `copy`.
    fn numbered(&mut self, plan: Plan, copy: &str) -> Result<Plan> {
        let mut outputs = Vec::with_capacity(plan.schema().fields().len() + 1);
        let mut keys = Vec::with_capacity(outputs.capacity());
        for index in 0..plan.schema().fields().len() {
            let (qualifier, field) = plan.schema().qualified_field(index);
            let column = Expr::Column(Column::from((qualifier, field)));
            let key = self.key_of(&column, field)?;
            keys.push(key.unwrap_or_else(|| column.clone()));
            outputs.push(column);
        }
        let number = Ranking::RowNumber.of_parts(keys, Vec::new(), WindowFrame::new(None));
        outputs.push(Expr::Column(Column::new_unqualified(number.schema_name().to_string())).alias(copy));
        plan.windows(vec![number])?.project(outputs)
    }

    /// The query's plan with its columns of these types under these names.
    pub(super) fn project_as(
        &mut self,
        bound: BoundQuery,
        types: &[SqlType],
        names: &[String],
    ) -> Result<Plan> {
        let mut outputs = Vec::with_capacity(types.len());
        for ((column, ty), name) in bound.columns.into_iter().zip(types).zip(names) {
            let from = match column.ty {
                SqlType::Unknown | SqlType::Void => SqlType::Text,
                ty => ty,
            };
            let expr = Bound::new(Expr::Column(column.column), from);
            outputs.push(self.convert(expr, ty, CastContext::Explicit)?.named(name));
        }
        bound.plan.project(outputs)
    }

    /// ORDER BY over the outputs of a set operation or VALUES: names and positions only.
    pub(super) fn sort_outputs(
        &mut self,
        bound: BoundQuery,
        order_by: &[ast::OrderByExpr],
    ) -> Result<BoundQuery> {
        if order_by.is_empty() {
            return Ok(bound);
        }
        let mut sorts = Vec::with_capacity(order_by.len());
        for item in order_by {
            let output = match (
                &item.expr,
                output_at(&item.expr, "ORDER BY", bound.columns.len())?,
            ) {
                (_, Some(output)) => output,
                (ast::Expr::Identifier(ident), None) => {
                    let name = fold(ident);
                    bound
                        .columns
                        .iter()
                        .position(|column| column.name == name)
                        .ok_or_else(|| Error::UndefinedColumn {
                            name: format!("\"{name}\""),
                            hint: None,
                        })?
                }
                _ => {
                    return Err(Error::InvalidStatement {
                        state: StatementFault::NotImplemented,
                        message: "invalid UNION/INTERSECT/EXCEPT ORDER BY clause".to_string(),
                        hint: Some(
                            "Add the expression/function to every SELECT, or move the UNION into a FROM clause.".to_string(),
                        ),
                    });
                }
            };
            let key = SortKey::new(output, &item.options);
            refuse_unsortable(&bound.columns[output].ty)?;
            let column = Expr::Column(bound.columns[output].column.clone());
            let ordered = self.order_key(Bound::new(column, bound.columns[output].ty.clone()))?;
            sorts.push(OrderKey::new(ordered, key.ascending, key.nulls_first));
        }
        let plan = bound.plan.sort(sorts);
        Ok(BoundQuery { plan, ..bound })
    }
}

/// INTERSECT and EXCEPT as joins.
fn join_of(op: ast::SetOperator) -> JoinType {
    match op {
        ast::SetOperator::Intersect => JoinType::LeftSemi,
        _ => JoinType::LeftAnti,
    }
}
