//! Semi- and anti-joins of the same rows, each of which leaves some of them: those that ask other rows as they are stored come before
//! those that ask groups of rows, which then need not be made for rows that go anyway. By the form of the statement alone.

use std::sync::Arc;

use super::lookup_join::is_selection;
use crate::Result;
use crate::tree::{Join, JoinType, Plan, Projection, Transformed, TransformedResult, TreeNode};

/// The plan with its semi- and anti-joins in that order.
pub(crate) fn groups_asked_last(plan: Plan) -> Result<Plan> {
    plan.transform_up_with_subqueries(|node| {
        Ok(match sunk(&node) {
            Some(sunk) => Transformed::yes(sunk),
            None => Transformed::no(node),
        })
    })
    .data()
}

/// A join that asks rows, below those right under it that ask groups. `None`: it is none, or there are none.
fn sunk(plan: &Plan) -> Option<Plan> {
    let join = filtering_join(plan).filter(|join| !has_groups(&join.right))?;
    let (selected, left) = match join.left.as_ref() {
        Plan::Projection(projection) if is_selection(projection) => (Some(projection), &projection.input),
        _ => (None, &join.left),
    };
    let under = filtering_join(left).filter(|under| has_groups(&under.right))?;
    let asked_first = Plan::Join(Join {
        left: Arc::clone(&under.left),
        schema: Arc::clone(under.left.schema()),
        ..join.clone()
    });
    let asked_first = sunk(&asked_first).unwrap_or(asked_first);
    let asked_last = Plan::Join(Join {
        left: Arc::new(asked_first),
        ..under.clone()
    });
    match selected {
        Some(projection) => Projection::try_new(projection.expr.clone(), Arc::new(asked_last))
            .map(Plan::Projection)
            .ok(),
        None => Some(asked_last),
    }
}

/// A join that leaves rows of its left side as they are.
fn filtering_join(plan: &Plan) -> Option<&Join> {
    match plan {
        Plan::Join(join) => matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti).then_some(join),
        _ => None,
    }
}

fn has_groups(plan: &Plan) -> bool {
    let groups = |node: &Plan| Ok(matches!(node, Plan::Aggregate(_)));
    plan.exists(groups).unwrap_or(true)
}
