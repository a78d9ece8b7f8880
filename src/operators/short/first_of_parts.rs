//! `first_of_parts`: the first rows of a union in some order are made of the first of each of its parts, which a key may give it as they are. So
//! with the partitions of a table. What the rewriter's rule `union_sorts` does to plans that are rewritten.

use std::sync::Arc;

use crate::logical::column_mapping::{below_schema, replaced_columns};
use crate::logical::rewrite::FIRST_ROWS_MAX;
use crate::tree::{
    Column, Expr, Filter, Limit, OrderKey, Plan, Projection, RowCount, RowSchema, Sort, SubqueryAlias, Union,
    conjunction, split_conjunction,
};

/// What a limit is over, if that is a sorted union, with the parts limited, too; `None`: it is something else.
pub(super) fn first_of_parts(limit: &Limit) -> Option<Plan> {
    let is_few = match limit.fetch_count() {
        RowCount::Known(rows) => rows <= FIRST_ROWS_MAX,
        RowCount::None => false,
        RowCount::Open => true,
    };
    let fetch = limit
        .fetch
        .as_deref()
        .filter(|_| is_few && limit.skip.is_none())?;
    Asked {
        fetch,
        keys: None,
        conditions: Vec::new(),
    }
    .of(&limit.input)
}

/// What is asked of the rows of a plan.
struct Asked<'a> {
    fetch: &'a Expr,
    /// Their order.
    keys: Option<Vec<OrderKey>>,
    conditions: Vec<Expr>,
}

impl Asked<'_> {
    fn of(mut self, plan: &Plan) -> Option<Plan> {
        match plan {
            Plan::Sort(sort) if self.keys.is_none() && sort.fetch.is_none() => {
                self.keys = Some(sort.expr.clone());
                let input = Arc::new(self.of(&sort.input)?);
                Some(Plan::Sort(Sort {
                    input,
                    ..sort.clone()
                }))
            }
            // It is asked of the parts.
            Plan::Filter(filter) if self.keys.is_some() => {
                let conditions = split_conjunction(&filter.predicate).into_iter().cloned();
                self.conditions.extend(conditions);
                self.of(&filter.input)
            }
            Plan::SubqueryAlias(alias) => {
                let below = alias.input.schema();
                let column = |at: usize| Some(Expr::Column(Column::from(below.qualified_field(at))));
                let input = Arc::new(self.below(&alias.schema, column)?.of(&alias.input)?);
                Some(Plan::SubqueryAlias(SubqueryAlias {
                    input,
                    ..alias.clone()
                }))
            }
            Plan::Projection(projection) => {
                let computed = |at: usize| {
                    let expr = projection.expr[at].clone().unalias();
                    (!expr.is_volatile()).then_some(expr)
                };
                let below = self.below(&projection.schema, computed)?;
                let input = Arc::new(below.of(&projection.input)?);
                let schema = Arc::clone(&projection.schema);
                Some(Plan::Projection(Projection::with_schema(
                    projection.expr.clone(),
                    input,
                    schema,
                )))
            }
            Plan::Union(union) => self.of_union(union),
            _ => None,
        }
    }

    /// The same of what a node with this schema reads.
    fn below(self, schema: &RowSchema, made_of: impl Fn(usize) -> Option<Expr>) -> Option<Self> {
        let stands_for = |column: &Column| schema.index_of_column(column).ok().and_then(&made_of);
        let key = |key: OrderKey| {
            let expr = replaced_columns(key.expr, stands_for)?;
            Some(OrderKey::new(expr, key.asc, key.nulls_first))
        };
        Some(Asked {
            fetch: self.fetch,
            keys: match self.keys {
                Some(keys) => Some(keys.into_iter().map(key).collect::<Option<_>>()?),
                None => None,
            },
            conditions: below_schema(self.conditions, schema, &made_of)?,
        })
    }

    fn of_union(self, union: &Union) -> Option<Plan> {
        let keys = self.keys?;
        let mut inputs = Vec::with_capacity(union.inputs.len());
        for input in &union.inputs {
            let schema = input.schema();
            let column = |at: usize| Some(Expr::Column(Column::from(schema.qualified_field(at))));
            let asked = Asked {
                fetch: self.fetch,
                keys: Some(keys.clone()),
                conditions: self.conditions.clone(),
            };
            let asked = asked.below(&union.schema, column)?;
            let mut part = Arc::clone(input);
            if let Some(predicate) = conjunction(asked.conditions) {
                part = Arc::new(Plan::Filter(Filter::new(predicate, part)));
            }
            let sorted = Plan::Sort(Sort {
                expr: asked.keys?,
                input: part,
                fetch: None,
            });
            inputs.push(Arc::new(Plan::Limit(Limit {
                skip: None,
                fetch: Some(Box::new(self.fetch.clone())),
                input: Arc::new(sorted),
            })));
        }
        Some(Plan::Union(Union {
            inputs,
            schema: Arc::clone(&union.schema),
        }))
    }
}
