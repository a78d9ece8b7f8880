//! Walks over plans, their subqueries and those of dependent joins ([`crate::tree::DependentJoin`]).

use std::sync::Arc;

use crate::Result;
use crate::tree::{DependentJoin, Expr, Plan, SavedName, Transformed, TransformedResult, TreeNodeRecursion};

/// Whether two runs of the plan may give different rows, those that are shared aside.
pub fn is_volatile(plan: &Plan) -> Result<bool> {
    let mut volatile = false;
    for_each_node(plan, &mut |node| {
        node.apply_expressions(|expr| {
            volatile |= expr.is_volatile();
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(match node {
            Plan::SharedRows(_) => TreeNodeRecursion::Jump,
            _ => TreeNodeRecursion::Continue,
        })
    })?;
    Ok(volatile)
}

/// Whether such an expression stands in a plan, its subqueries included.
pub fn has_expression(plan: &Plan, is_it: fn(&Expr) -> bool) -> bool {
    let mut found = false;
    let walked = for_each_node(plan, &mut |node| {
        found |= node.expressions().into_iter().any(|expr| expr.has(is_it));
        Ok(match found {
            true => TreeNodeRecursion::Stop,
            false => TreeNodeRecursion::Continue,
        })
    });
    found || walked.is_err()
}

/// Whether a subquery of a dependent join does more than answer for each row.
pub fn asks_what_acts(join: &DependentJoin) -> bool {
    let mut plans = join.sub_plans.iter().map(|sub_plan| &sub_plan.plan);
    plans.any(|plan| has_expression(plan, Expr::is_acting_call))
}

/// Calls `visit` for every node of a plan, of its subqueries and of those of dependent joins.
pub fn for_each_node(plan: &Plan, visit: &mut dyn FnMut(&Plan) -> Result<TreeNodeRecursion>) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        let next = visit(node)?;
        if let Plan::DependentJoin(join) = node {
            for sub_plan in &join.sub_plans {
                for_each_node(&sub_plan.plan, visit)?;
            }
        }
        Ok(next)
    })?;
    Ok(())
}

/// Rewrites every expression of a plan, in its subqueries, in those of dependent joins, and in what makes rows that are locked. What an
/// expression gives keeps its name, by which the nodes above know it.
pub fn transform_expressions(plan: Plan, rewrite: Rewrite<'_>) -> Result<Plan> {
    let transformed = plan.transform_up_with_subqueries(|node| {
        rewrite_node(node, rewrite)?
            .transform_data(|node| map_inner(node, |plan| transform_expressions(plan.clone(), rewrite)))
    });
    transformed.data()
}

/// Maps the plans within a node that are no inputs of it: those of dependent joins, and what makes rows that are locked.
pub(super) fn map_inner(node: Plan, map: impl Fn(&Plan) -> Result<Plan>) -> Result<Transformed<Plan>> {
    Ok(match node {
        Plan::DependentJoin(mut join) => {
            for sub_plan in &mut join.sub_plans {
                sub_plan.plan = Arc::new(map(&sub_plan.plan)?);
            }
            Transformed::yes(Plan::DependentJoin(join))
        }
        Plan::LockRows(mut locked) => {
            locked.made = Arc::new(map(&locked.made)?);
            Transformed::yes(Plan::LockRows(locked))
        }
        node => Transformed::no(node),
    })
}

/// What becomes of an expression.
type Rewrite<'a> = &'a dyn Fn(Expr) -> Result<Transformed<Expr>>;

fn rewrite_node(node: Plan, rewrite: Rewrite<'_>) -> Result<Transformed<Plan>> {
    let names_output = matches!(node, Plan::Projection(_) | Plan::Aggregate(_) | Plan::Window(_));
    node.map_expressions(|expr| {
        if !names_output {
            return rewrite(expr);
        }
        let name = SavedName::of(&expr);
        let rewritten = rewrite(expr)?;
        Ok(match rewritten.transformed {
            true => rewritten.update_data(|expr| name.restore(expr)),
            false => rewritten,
        })
    })
}
