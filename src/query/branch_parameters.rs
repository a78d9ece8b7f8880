//! Parameters without a type that are columns of a branch of a set operation: they take the types of the other branch.

use sqlparser::ast;

use super::binder::{Binder, BoundQuery};
use super::scope::Outer;
use crate::Result;

impl Binder<'_> {
    /// The two branches of a set operation: parameters that are columns of one take the types of the other.
    pub(super) fn both_branches(
        &mut self,
        left: &ast::SetExpr,
        right: &ast::SetExpr,
        outer: Option<&Outer<'_>>,
    ) -> Result<(BoundQuery, BoundQuery)> {
        if self.undecided_columns(left).is_empty() {
            let bound = self.set_expr(left, outer)?;
            self.decide_columns(right, &bound);
            return Ok((bound, self.set_expr(right, outer)?));
        }
        let bound = self.set_expr(right, outer)?;
        self.decide_columns(left, &bound);
        Ok((self.set_expr(left, outer)?, bound))
    }

    fn decide_columns(&mut self, branch: &ast::SetExpr, other: &BoundQuery) {
        for (at, id) in self.undecided_columns(branch) {
            if let Some(column) = other.columns.get(at) {
                self.decide_parameter(&id, &column.ty);
            }
        }
    }

    /// The columns of a SELECT that are parameters without a type, and which.
    fn undecided_columns(&self, branch: &ast::SetExpr) -> Vec<(usize, String)> {
        let ast::SetExpr::Select(select) = branch else {
            return Vec::new();
        };
        let expressions = select.projection.iter().map_while(|item| match item {
            ast::SelectItem::UnnamedExpr(expr) | ast::SelectItem::ExprWithAlias { expr, .. } => Some(expr),
            _ => None,
        });
        let parameters = expressions.enumerate().filter_map(|(at, expr)| match expr {
            ast::Expr::Value(value) => match &value.value {
                ast::Value::Placeholder(id) => Some((at, id.clone())),
                _ => None,
            },
            _ => None,
        });
        parameters.filter(|(_, id)| self.is_undecided(id)).collect()
    }
}
