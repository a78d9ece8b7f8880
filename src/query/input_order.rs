//! The order in which an aggregate finds its rows: that of an ORDER BY below. Aggregates take no order from
//! their input, so the calls that keep one (`array_agg`, `string_agg` …) are told of it.

use std::sync::Arc;

use super::binder::Binder;
use crate::Result;
use crate::tree::{Column, Expr, OrderKey, Plan, Transformed, TreeNode};

/// The aggregate that gathers values, in the order they come.
const GATHERING: &str = "array_agg";

impl Binder<'_> {
    /// The calls over the plan, those that gather values without an order of their own in that of the plan.
    pub(super) fn in_input_order(&mut self, plan: Plan, mut calls: Vec<Expr>) -> Result<(Plan, Vec<Expr>)> {
        let gathers = |call: &Expr| match call {
            Expr::AggregateFunction(call) => {
                call.func.name() == GATHERING && call.params.order_by.is_empty() && !call.params.distinct
            }
            _ => false,
        };
        if !calls.iter().any(gathers) {
            return Ok((plan, calls));
        }
        let (plan, order) = self.with_order(plan)?;
        for call in calls.iter_mut().filter(|call| gathers(call)) {
            if let Expr::AggregateFunction(call) = call {
                call.params.order_by.clone_from(&order);
            }
        }
        Ok((plan, calls))
    }

    /// The plan, and the order of its rows over its own columns: empty when no ORDER BY decided it. The plan may have
    /// got columns at its end.
    pub(super) fn with_order(&mut self, plan: Plan) -> Result<(Plan, Vec<OrderKey>)> {
        match plan {
            Plan::Sort(sort) => {
                let order = sort.expr.clone();
                Ok((Plan::Sort(sort), order))
            }
            Plan::Filter(mut filter) => {
                let (input, order) = self.with_order(Arc::unwrap_or_clone(filter.input))?;
                filter.input = Arc::new(input);
                Ok((Plan::Filter(filter), order))
            }
            Plan::Limit(mut limit) => {
                let (input, order) = self.with_order(Arc::unwrap_or_clone(limit.input))?;
                limit.input = Arc::new(input);
                Ok((Plan::Limit(limit), order))
            }
            Plan::SubqueryAlias(alias) => {
                let (input, order) = self.with_order(alias.input.as_ref().clone())?;
                let below = input.schema().clone();
                let plan = input.alias(alias.alias)?;
                let above = |expr: Expr| match &expr {
                    Expr::Column(column) => {
                        let at = below.index_of_column(column)?;
                        let column = Column::from(plan.schema().qualified_field(at));
                        Ok(Transformed::yes(Expr::Column(column)))
                    }
                    _ => Ok(Transformed::no(expr)),
                };
                let order = order.into_iter().map(|key| {
                    let expr = key.expr.clone().transform_up(above)?;
                    Ok(OrderKey {
                        expr: expr.data,
                        ..key
                    })
                });
                let order = order.collect::<Result<_>>()?;
                Ok((plan, order))
            }
            Plan::Projection(projection) => {
                let (input, mut order) = self.with_order(projection.input.as_ref().clone())?;
                let mut outputs = projection.expr;
                for key in &mut order {
                    let name = self.unique_name("?order");
                    let column = Expr::Column(Column::new_unqualified(&name));
                    outputs.push(std::mem::replace(&mut key.expr, column).alias(name));
                }
                let plan = input.project(outputs)?;
                Ok((plan, order))
            }
            plan => Ok((plan, Vec::new())),
        }
    }
}
