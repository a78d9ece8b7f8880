//! Outer joins whose filter passes no row that the join made up: inner ones. DataFusion's rule finds them where a condition
//! compares columns; here it is told of the columns under functions of ours that give NULL for NULL, such as the key by
//! which numerics compare.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{BinaryExpr, Expr, Filter, LogicalPlan, Operator};
use datafusion::optimizer::eliminate_outer_join::EliminateOuterJoin;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

use crate::functions::is_strict;

/// DataFusion's `EliminateOuterJoin`, which sees what the functions of a filter need.
#[derive(Debug, Default)]
pub(crate) struct RejectNulls {
    inner: EliminateOuterJoin,
}

impl OptimizerRule for RejectNulls {
    fn name(&self) -> &str {
        "reject_nulls"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.inner.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> DataFusionResult<Transformed<LogicalPlan>> {
        let LogicalPlan::Filter(filter) = &plan else {
            return Ok(Transformed::no(plan));
        };
        let needed = needed_columns(&filter.predicate);
        if needed.is_empty() {
            return self.inner.rewrite(plan, config);
        }
        let needed = needed.into_iter().map(|column| column.clone().is_not_null());
        let shown = needed.fold(filter.predicate.clone(), Expr::and);
        let shown = Filter::try_new(shown, Arc::clone(&filter.input))?;
        let rewritten = self.inner.rewrite(LogicalPlan::Filter(shown), config)?;
        match rewritten.data {
            LogicalPlan::Filter(found) if rewritten.transformed => {
                let filter = Filter::try_new(filter.predicate.clone(), found.input)?;
                Ok(Transformed::yes(LogicalPlan::Filter(filter)))
            }
            _ => Ok(Transformed::no(plan)),
        }
    }
}

/// The columns under functions without which a condition is not true.
fn needed_columns(condition: &Expr) -> Vec<&Expr> {
    let mut columns = Vec::new();
    for part in split_conjunction(condition) {
        if let Expr::BinaryExpr(BinaryExpr { left, op, right }) = part
            && matches!(
                op,
                Operator::Eq
                    | Operator::NotEq
                    | Operator::Lt
                    | Operator::LtEq
                    | Operator::Gt
                    | Operator::GtEq
            )
        {
            for side in [left, right] {
                if matches!(side.as_ref(), Expr::ScalarFunction(_)) {
                    collect_strict(side, &mut columns);
                }
            }
        }
    }
    columns
}

/// Columns that make an expression NULL by being it.
fn collect_strict<'a>(expr: &'a Expr, columns: &mut Vec<&'a Expr>) {
    match expr {
        Expr::Column(_) => columns.push(expr),
        Expr::Alias(alias) => collect_strict(&alias.expr, columns),
        Expr::Cast(cast) => collect_strict(&cast.expr, columns),
        Expr::ScalarFunction(call) if is_strict(&call.func) => {
            call.args
                .iter()
                .for_each(|argument| collect_strict(argument, columns));
        }
        _ => {}
    }
}
