//! Walks over plans and the subqueries in their expressions.

use std::sync::Arc;

use super::column::Column;
use super::expr::{Exists, Expr, InSubquery, Subquery};
use super::plan::Plan;
use super::walk::{Transformed, TreeNode, TreeNodeRecursion};
use super::with_stack;
use crate::Result;

impl Plan {
    /// Calls `visit` with the plans of the subqueries in its own expressions.
    pub fn apply_subqueries<'n>(
        &'n self,
        visit: &mut dyn FnMut(&'n Plan) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.apply_expressions(|expr| {
            expr.apply(|expr| match subquery_of(expr) {
                Some(subquery) => visit(&subquery.subquery),
                None => Ok(TreeNodeRecursion::Continue),
            })
        })
    }

    /// With other plans of the subqueries in its own expressions.
    pub fn map_subqueries<F>(self, mut map: F) -> Result<Transformed<Plan>>
    where
        F: FnMut(Plan) -> Result<Transformed<Plan>>,
    {
        let has_any = self.expressions().iter().any(|expr| expr.has(Expr::is_subquery));
        if !has_any {
            return Ok(Transformed::no(self));
        }
        self.map_expressions(|expr| {
            expr.transform_down(|expr| {
                let mut changed = |subquery: Subquery| -> Result<Transformed<Subquery>> {
                    let plan = map(Arc::unwrap_or_clone(subquery.subquery))?;
                    Ok(plan.update_data(|plan| Subquery {
                        subquery: Arc::new(plan),
                        outer_ref_columns: subquery.outer_ref_columns,
                    }))
                };
                Ok(match expr {
                    Expr::ScalarSubquery(subquery) => changed(subquery)?.update_data(Expr::ScalarSubquery),
                    Expr::Exists(exists) => changed(exists.subquery)?
                        .update_data(|subquery| Expr::Exists(Exists::new(subquery, exists.negated))),
                    Expr::InSubquery(test) => changed(test.subquery)?.update_data(|subquery| {
                        Expr::InSubquery(InSubquery::new(test.expr, subquery, test.negated))
                    }),
                    other => Transformed::no(other),
                })
            })
        })
    }

    /// Calls `visit` with the plan and all below it, from above, those of its subqueries too.
    pub fn apply_with_subqueries<'n, F>(&'n self, mut visit: F) -> Result<TreeNodeRecursion>
    where
        F: FnMut(&'n Plan) -> Result<TreeNodeRecursion>,
    {
        apply(self, &mut visit)
    }

    /// Whether such an expression is part of one of the plan's, or of its subqueries'.
    pub fn has_expression(&self, is_it: impl Fn(&Expr) -> bool) -> bool {
        let mut found = false;
        let walked = self.apply_with_subqueries(|node| {
            found = node.expressions().into_iter().any(|expr| expr.has(&is_it));
            Ok(match found {
                true => TreeNodeRecursion::Stop,
                false => TreeNodeRecursion::Continue,
            })
        });
        found || walked.is_err()
    }

    /// The plan changed from below, its subqueries too.
    pub fn transform_up_with_subqueries<F>(self, mut change: F) -> Result<Transformed<Plan>>
    where
        F: FnMut(Plan) -> Result<Transformed<Plan>>,
    {
        transform_up(self, &mut change)
    }
}

impl Expr {
    /// Whether it is a subquery, what it is made of aside.
    pub fn is_subquery(&self) -> bool {
        subquery_of(self).is_some()
    }

    /// Whether it, or a subquery in it, reads such a column of the rows that it is computed of.
    pub fn asks_for_column(&self, is_it: &dyn Fn(&Column) -> bool) -> bool {
        self.has(|part| match part {
            Expr::Column(column) => is_it(column),
            part => subquery_of(part).is_some_and(|subquery| {
                let mut captured = subquery.outer_ref_columns.iter();
                captured.any(|captured| captured.asks_for_column(is_it))
            }),
        })
    }

    /// With other things captured by the subqueries in it.
    pub fn map_captured(self, mut change: impl FnMut(Expr) -> Result<Expr>) -> Result<Expr> {
        let mut changed = |subquery: Subquery| -> Result<Subquery> {
            let captured = subquery.outer_ref_columns.into_iter().map(&mut change);
            Ok(Subquery {
                outer_ref_columns: captured.collect::<Result<_>>()?,
                ..subquery
            })
        };
        let mapped = self.transform_down(|expr| {
            Ok(match expr {
                Expr::ScalarSubquery(subquery) => Transformed::yes(Expr::ScalarSubquery(changed(subquery)?)),
                Expr::Exists(exists) => {
                    let subquery = changed(exists.subquery)?;
                    Transformed::yes(Expr::Exists(Exists::new(subquery, exists.negated)))
                }
                Expr::InSubquery(test) => {
                    let subquery = changed(test.subquery)?;
                    let test = InSubquery::new(test.expr, subquery, test.negated);
                    Transformed::yes(Expr::InSubquery(test))
                }
                other => Transformed::no(other),
            })
        });
        mapped.map(|mapped| mapped.data)
    }
}

fn subquery_of(expr: &Expr) -> Option<&Subquery> {
    match expr {
        Expr::ScalarSubquery(subquery) => Some(subquery),
        Expr::Exists(exists) => Some(&exists.subquery),
        Expr::InSubquery(test) => Some(&test.subquery),
        _ => None,
    }
}

fn apply<'n>(
    plan: &'n Plan,
    visit: &mut dyn FnMut(&'n Plan) -> Result<TreeNodeRecursion>,
) -> Result<TreeNodeRecursion> {
    with_stack(|| match visit(plan)? {
        TreeNodeRecursion::Continue => {
            if plan.apply_subqueries(&mut |subquery| apply(subquery, visit))? == TreeNodeRecursion::Stop {
                return Ok(TreeNodeRecursion::Stop);
            }
            plan.apply_children(|child| apply(child, visit))
        }
        TreeNodeRecursion::Jump => Ok(TreeNodeRecursion::Continue),
        TreeNodeRecursion::Stop => Ok(TreeNodeRecursion::Stop),
    })
}

fn transform_up(
    plan: Plan,
    change: &mut dyn FnMut(Plan) -> Result<Transformed<Plan>>,
) -> Result<Transformed<Plan>> {
    with_stack(|| {
        plan.map_subqueries(|subquery| transform_up(subquery, change))?
            .transform_data(|plan| plan.map_children(|child| transform_up(child, change)))?
            .transform_data(change)
    })
}
