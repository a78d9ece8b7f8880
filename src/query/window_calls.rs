//! Calls over windows get their place in the plan of a SELECT: above its groups, below its subqueries.

use super::binder::Binder;
use super::calls::Calls;
use crate::Result;
use crate::tree::{Column, Expr, Plan, Transformed, TreeNode, TreeNodeRecursion};

impl Binder<'_> {
    /// Computes window functions; the expressions then refer to their columns.
    pub(super) fn windows(&mut self, plan: Plan, exprs: Vec<Expr>) -> Result<(Plan, Vec<Expr>)> {
        let calls = Calls::among(&exprs, |expr| matches!(expr, Expr::WindowFunction(_)));
        if calls.exprs.is_empty() {
            return Ok((plan, exprs));
        }
        let (plan, lowered) = self.place_subqueries(plan, calls.exprs.clone(), false)?;
        let (plan, lowered) = self.place_volatile_inputs(plan, lowered)?;
        let lowered = self.distinctly_named(lowered);
        let names = lowered.iter().map(|call| call.schema_name().to_string());
        let columns: Vec<Column> = names.map(Column::new_unqualified).collect();
        let plan = plan.windows(lowered)?;
        let computed = Computed { calls, columns };
        let exprs = exprs.into_iter().map(|expr| computed.replaced(expr));
        Ok((plan, exprs.collect::<Result<_>>()?))
    }
}

/// Window calls, and the column of each.
struct Computed {
    calls: Calls,
    columns: Vec<Column>,
}

impl Computed {
    /// The expression with columns in the places of the calls.
    fn replaced(&self, expr: Expr) -> Result<Expr> {
        let replaced = expr.transform_down(|expr| match self.calls.place(&expr) {
            Some(at) => Ok(Transformed::new(
                Expr::Column(self.columns[at].clone()),
                true,
                TreeNodeRecursion::Jump,
            )),
            None => Ok(Transformed::no(expr)),
        })?;
        replaced.data.map_captured(|captured| self.replaced(captured))
    }
}
