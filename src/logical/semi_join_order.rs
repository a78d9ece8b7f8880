//! Semi- and anti-joins of the same rows, each of which leaves some of them: those that ask other rows as they are stored come before
//! those that ask groups of rows, which then need not be made for rows that go anyway. By the form of the statement alone.

use std::sync::Arc;

use datafusion_common::JoinType;
use datafusion_common::Result as DataFusionResult;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_expr::{Join, LogicalPlan, Projection};

use super::lookup_join::is_selection;

/// The plan with its semi- and anti-joins in that order.
pub(crate) fn groups_asked_last(plan: LogicalPlan) -> DataFusionResult<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| {
        Ok(match sunk(&node) {
            Some(sunk) => Transformed::yes(sunk),
            None => Transformed::no(node),
        })
    })
    .data()
}

/// A join that asks rows, below those right under it that ask groups. `None`: it is none, or there are none.
fn sunk(plan: &LogicalPlan) -> Option<LogicalPlan> {
    let join = filtering_join(plan).filter(|join| !has_groups(&join.right))?;
    let (selected, left) = match join.left.as_ref() {
        LogicalPlan::Projection(projection) if is_selection(projection) => {
            (Some(projection), &projection.input)
        }
        _ => (None, &join.left),
    };
    let under = filtering_join(left).filter(|under| has_groups(&under.right))?;
    let asked_first = LogicalPlan::Join(Join {
        left: Arc::clone(&under.left),
        schema: Arc::clone(under.left.schema()),
        ..join.clone()
    });
    let asked_first = sunk(&asked_first).unwrap_or(asked_first);
    let asked_last = LogicalPlan::Join(Join {
        left: Arc::new(asked_first),
        ..under.clone()
    });
    match selected {
        Some(projection) => Projection::try_new(projection.expr.clone(), Arc::new(asked_last))
            .map(LogicalPlan::Projection)
            .ok(),
        None => Some(asked_last),
    }
}

/// A join that leaves rows of its left side as they are.
fn filtering_join(plan: &LogicalPlan) -> Option<&Join> {
    match plan {
        LogicalPlan::Join(join) => {
            matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti).then_some(join)
        }
        _ => None,
    }
}

fn has_groups(plan: &LogicalPlan) -> bool {
    let groups = |node: &LogicalPlan| Ok(matches!(node, LogicalPlan::Aggregate(_)));
    plan.exists(groups).unwrap_or(true)
}
