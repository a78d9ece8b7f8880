//! The order in which an aggregate finds its rows: that of an ORDER BY below. DataFusion's aggregates take no order from
//! their input, so the calls that keep one (`array_agg`, `string_agg` …) are told of it.

use datafusion_common::Column;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_expr::expr::Sort;
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

use super::binder::Binder;
use crate::Result;
use crate::system::datafusion_error::from_datafusion;

/// DataFusion's aggregate that gathers values, in the order they come.
const GATHERING: &str = "array_agg";

impl Binder<'_> {
    /// The calls over the plan, those that gather values without an order of their own in that of the plan.
    pub(super) fn in_input_order(
        &mut self,
        plan: LogicalPlan,
        mut calls: Vec<Expr>,
    ) -> Result<(LogicalPlan, Vec<Expr>)> {
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
    pub(super) fn with_order(&mut self, plan: LogicalPlan) -> Result<(LogicalPlan, Vec<Sort>)> {
        match plan {
            LogicalPlan::Sort(sort) => {
                let order = sort.expr.clone();
                Ok((LogicalPlan::Sort(sort), order))
            }
            LogicalPlan::Filter(_) | LogicalPlan::Limit(_) => {
                let (input, order) = self.with_order(plan.inputs()[0].clone())?;
                let plan = plan.with_new_exprs(plan.expressions(), vec![input]);
                Ok((plan.map_err(from_datafusion)?, order))
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let (input, order) = self.with_order(alias.input.as_ref().clone())?;
                let below = input.schema().clone();
                let plan = LogicalPlanBuilder::new(input)
                    .alias(alias.alias)
                    .and_then(LogicalPlanBuilder::build)
                    .map_err(from_datafusion)?;
                let above = |expr: Expr| match &expr {
                    Expr::Column(column) => {
                        let at = below.index_of_column(column)?;
                        let column = Column::from(plan.schema().qualified_field(at));
                        Ok(Transformed::yes(Expr::Column(column)))
                    }
                    _ => Ok(Transformed::no(expr)),
                };
                let order = order.into_iter().map(|key| {
                    let expr = key.expr.clone().transform_up(above).map_err(from_datafusion)?;
                    Ok(Sort {
                        expr: expr.data,
                        ..key
                    })
                });
                let order = order.collect::<Result<_>>()?;
                Ok((plan, order))
            }
            LogicalPlan::Projection(projection) => {
                let (input, mut order) = self.with_order(projection.input.as_ref().clone())?;
                let mut outputs = projection.expr;
                for key in &mut order {
                    let name = self.unique_name("?order");
                    let column = Expr::Column(Column::new_unqualified(&name));
                    outputs.push(std::mem::replace(&mut key.expr, column).alias(name));
                }
                let plan = LogicalPlanBuilder::new(input)
                    .project(outputs)
                    .and_then(LogicalPlanBuilder::build)
                    .map_err(from_datafusion)?;
                Ok((plan, order))
            }
            plan => Ok((plan, Vec::new())),
        }
    }
}
