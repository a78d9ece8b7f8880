//! Set-returning functions: the arrays that they give become rows, in the select list and in FROM.

use super::binder::{Binder, Bound, fault};
use super::select_item::BoundItem;
use crate::error::StatementFault;
use crate::tree::{Column, Expr, Plan, Ranking, Transformed, TreeNode, UnnestExpr, WindowFrame};
use crate::types::SqlType;
use crate::{Error, Result};

/// What the names of columns with the number of a row begin with.
const ROW: &str = "?row";

impl Binder<'_> {
    /// Set-returning functions of the select list: their arrays become rows. Those whose arguments are sets come after
    /// these; all of one depth go side by side.
    pub(super) fn unnest(&mut self, mut plan: Plan, mut exprs: Vec<Expr>) -> Result<(Plan, Vec<Expr>)> {
        loop {
            let mut sets: Vec<(Expr, String)> = Vec::new();
            let replaced = exprs.into_iter().map(|expr| {
                let transformed = expr.transform_up(|expr| match expr {
                    Expr::Unnest(UnnestExpr { expr }) if has_set_of(&expr, &sets) => {
                        Ok(Transformed::no(Expr::Unnest(UnnestExpr { expr })))
                    }
                    Expr::Unnest(UnnestExpr { expr }) => {
                        // Equal ones are one, unless they may be another set each time.
                        let is_it = |(other, _): &&(Expr, String)| *other == *expr && !expr.is_volatile();
                        let name = match sets.iter().find(is_it) {
                            Some((_, name)) => name.clone(),
                            None => {
                                let name = self.unique_name("?set");
                                sets.push((*expr, name.clone()));
                                name
                            }
                        };
                        Ok(Transformed::yes(Expr::Column(Column::new_unqualified(name))))
                    }
                    other => Ok(Transformed::no(other)),
                });
                transformed.map(|transformed| transformed.data)
            });
            exprs = replaced.collect::<Result<_>>()?;
            if sets.is_empty() {
                return Ok((plan, exprs));
            }
            plan = unnest_columns(plan, sets)?;
        }
    }

    /// Numbers the rows of a plan as they come, in a column more. By it a sort leaves those that one row became in the order of their set,
    /// as PostgreSQL does, which makes them of sorted rows.
    pub(super) fn number_rows(&mut self, plan: &mut Plan) -> Result<BoundItem> {
        let name = self.unique_name(ROW);
        let mut outputs = all_columns(plan);
        let number = Ranking::RowNumber.over(Vec::new(), WindowFrame::new(None));
        outputs.push(Expr::Column(Column::new_unqualified(number.schema_name().to_string())).alias(&name));
        *plan = plan.clone().windows(vec![number])?.project(outputs)?;
        let column = Expr::Column(Column::new_unqualified(&name));
        Ok(BoundItem {
            name,
            bound: Bound::new(column, SqlType::Int8),
        })
    }
}

/// Whether the expression gives rows of its own.
pub(super) fn has_set(expr: &Expr) -> bool {
    expr.exists(|expr| Ok(matches!(expr, Expr::Unnest(_))))
        .unwrap_or(true)
}

/// Errors: 0A000 where the argument of a function in FROM gives rows.
pub(super) fn refuse_set_in_from(arguments: &[Bound]) -> Result<()> {
    match arguments.iter().any(|argument| has_set(&argument.expr)) {
        true => Err(fault(
            StatementFault::NotImplemented,
            "set-returning functions must appear at top level of FROM",
        )),
        false => Ok(()),
    }
}

/// Errors: 0A000 where a value of which only some are computed gives rows. `construct`: CASE or COALESCE.
pub(super) fn refuse_set_in(construct: &str, value: &Expr) -> Result<()> {
    if !has_set(value) {
        return Ok(());
    }
    Err(Error::InvalidStatement {
        state: StatementFault::NotImplemented,
        message: format!("set-returning functions are not allowed in {construct}"),
        hint: Some(
            "You might be able to move the set-returning function into a LATERAL FROM item.".to_string(),
        ),
    })
}

/// Adds array columns to a plan and makes rows of their items.
pub(super) fn unnest_columns(plan: Plan, sets: Vec<(Expr, String)>) -> Result<Plan> {
    let mut outputs = all_columns(&plan);
    let columns: Vec<Column> = sets
        .iter()
        .map(|(_, name)| Column::new_unqualified(name))
        .collect();
    outputs.extend(sets.into_iter().map(|(expr, name)| expr.alias(name)));
    plan.project(outputs)?.unnest(columns)
}

/// All columns of a plan, in their order.
pub(super) fn all_columns(plan: &Plan) -> Vec<Expr> {
    (0..plan.schema().fields().len())
        .map(|index| Expr::Column(Column::from(plan.schema().qualified_field(index))))
        .collect()
}

/// Whether a sort key is the number of [`Binder::number_rows`].
pub(super) fn is_row_number(key: &Expr) -> bool {
    matches!(key, Expr::Column(column) if column.name.starts_with(ROW))
}

/// Whether the expression uses one of these sets, or holds one that is not among them yet.
fn has_set_of(expr: &Expr, sets: &[(Expr, String)]) -> bool {
    let is_set = |expr: &Expr| match expr {
        Expr::Unnest(_) => true,
        Expr::Column(column) => {
            column.relation.is_none() && sets.iter().any(|(_, name)| *name == column.name)
        }
        _ => false,
    };
    expr.exists(|expr| Ok(is_set(expr))).unwrap_or(true)
}
