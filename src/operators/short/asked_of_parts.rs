//! `Asked`: what is asked of the rows of a union, on its way down to what it is of each of its parts. So with the partitions of a table.

use std::sync::Arc;

use crate::logical::column_mapping::{below_schema, replaced_columns};
use crate::tree::{Column, Expr, Filter, Plan, RowSchema, Union, conjunction, split_conjunction};

/// What is asked of the rows of a plan.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    /// What is computed of them: the keys of an order, or aggregates.
    pub(super) exprs: Vec<Expr>,
    /// Which of them are meant: those for which all of these hold.
    pub(super) conditions: Vec<Expr>,
}

impl Asked {
    /// The same of what a node reads that leaves rows as they are but for their columns and conditions.
    pub(super) fn below(mut self, plan: &Plan) -> Option<(Asked, &Arc<Plan>)> {
        match plan {
            Plan::Filter(filter) => {
                let conditions = split_conjunction(&filter.predicate).into_iter().cloned();
                self.conditions.extend(conditions);
                Some((self, &filter.input))
            }
            Plan::SubqueryAlias(alias) => {
                let below = alias.input.schema();
                let column = |at: usize| Some(Expr::Column(Column::from(below.qualified_field(at))));
                Some((self.in_terms_of(&alias.schema, column)?, &alias.input))
            }
            Plan::Projection(projection) => {
                let computed = |at: usize| {
                    let expr = projection.expr[at].clone().unalias();
                    (!expr.is_volatile()).then_some(expr)
                };
                Some((self.in_terms_of(&projection.schema, computed)?, &projection.input))
            }
            _ => None,
        }
    }

    /// The same of what is below all such nodes.
    pub(super) fn of_source(self, plan: &Arc<Plan>) -> Option<(Asked, &Arc<Plan>)> {
        match **plan {
            Plan::Filter(_) | Plan::SubqueryAlias(_) | Plan::Projection(_) => {
                let (asked, input) = self.below(plan)?;
                asked.of_source(input)
            }
            _ => Some((self, plan)),
        }
    }

    /// What is asked of each part of a union: its rows for which the conditions hold, and what is computed of them.
    pub(super) fn of_parts(&self, union: &Union) -> Option<Vec<(Arc<Plan>, Vec<Expr>)>> {
        let parts = union.inputs.iter().map(|input| {
            let schema = input.schema();
            let column = |at: usize| Some(Expr::Column(Column::from(schema.qualified_field(at))));
            let asked = self.clone().in_terms_of(&union.schema, column)?;
            Some((filtered(input, asked.conditions), asked.exprs))
        });
        parts.collect()
    }

    fn in_terms_of(self, schema: &RowSchema, made_of: impl Fn(usize) -> Option<Expr>) -> Option<Asked> {
        let stands_for = |column: &Column| schema.index_of_column(column).ok().and_then(&made_of);
        let exprs = self.exprs.into_iter();
        let exprs = exprs.map(|expr| replaced_columns(expr, stands_for));
        Some(Asked {
            exprs: exprs.collect::<Option<_>>()?,
            conditions: below_schema(self.conditions, schema, &made_of)?,
        })
    }
}

/// Those rows of a plan for which all conditions hold.
pub(super) fn filtered(plan: &Arc<Plan>, conditions: Vec<Expr>) -> Arc<Plan> {
    match conjunction(conditions) {
        Some(predicate) => Arc::new(Plan::Filter(Filter::new(predicate, Arc::clone(plan)))),
        None => Arc::clone(plan),
    }
}
