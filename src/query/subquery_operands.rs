//! What subqueries are asked with: the values looked up IN one, and what is computed of a row for all that a subquery does. Called by
//! `subquery` before the subqueries themselves get their place.

use super::binder::Binder;
use super::decorrelation::{has_subquery, marker};
use super::set_returning::all_columns;
use super::subquery::named_capture;
use crate::Result;
use crate::tree::{Column, Expr, Plan, Transformed, TreeNode, TreeNodeRecursion};

impl Binder<'_> {
    /// Gives what subqueries are asked with its place below them, where it holds subqueries itself or is another value each time: the
    /// values of the one come from a join below, the other is computed once a row.
    pub(super) fn place_operands(&mut self, plan: Plan, exprs: Vec<Expr>) -> Result<(Plan, Vec<Expr>)> {
        let operands = operands_of(&exprs)?;
        if operands.is_empty() {
            return Ok((plan, exprs));
        }
        let (plan, placed) = self.place_subqueries(plan, operands.clone(), false)?;
        let (plan, placed) = as_columns(plan, placed)?;
        let known = |expr: Expr| match operands.iter().position(|operand| *operand == expr) {
            Some(at) => placed[at].clone(),
            None => expr,
        };
        let exprs = exprs.into_iter().map(|expr| {
            let looked_up = expr.transform_down(|expr| match expr {
                Expr::InSubquery(mut test) => {
                    *test.expr = known(*test.expr);
                    Ok(Transformed::yes(Expr::InSubquery(test)))
                }
                other => Ok(Transformed::no(other)),
            })?;
            looked_up.data.map_captured(|captured| Ok(known(captured)))
        });
        Ok((plan, exprs.collect::<Result<_>>()?))
    }
}

/// What is looked up IN subqueries and has subqueries; what they capture, under its name, that has or is volatile. Each once.
fn operands_of(exprs: &[Expr]) -> Result<Vec<Expr>> {
    let mut operands: Vec<Expr> = Vec::new();
    let mut note = |operand: &Expr| {
        if !operands.contains(operand) {
            operands.push(operand.clone());
        }
    };
    for expr in exprs {
        expr.apply(|expr| {
            let Some(subquery) = marker(expr) else {
                return Ok(TreeNodeRecursion::Continue);
            };
            let captured = subquery.outer_ref_columns.iter();
            captured
                .filter(|captured| has_subquery(captured) || captured.is_volatile())
                .for_each(&mut note);
            match expr {
                Expr::InSubquery(test) if has_subquery(&test.expr) => {
                    note(&test.expr);
                    Ok(TreeNodeRecursion::Jump)
                }
                _ => Ok(TreeNodeRecursion::Continue),
            }
        })?;
    }
    Ok(operands)
}

/// The plan with those of the expressions as columns that have a name, and what stands for each.
fn as_columns(plan: Plan, exprs: Vec<Expr>) -> Result<(Plan, Vec<Expr>)> {
    let mut outputs = all_columns(&plan);
    let before = outputs.len();
    let columns: Vec<Expr> = exprs
        .into_iter()
        .map(|expr| match expr {
            Expr::Alias(named) => {
                let column = Column::new_unqualified(&named.name);
                outputs.push(Expr::Alias(named));
                named_capture((column.clone(), Expr::Column(column)))
            }
            other => other,
        })
        .collect();
    match outputs.len() {
        same if same == before => Ok((plan, columns)),
        _ => Ok((plan.project(outputs)?, columns)),
    }
}
