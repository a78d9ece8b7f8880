//! The rule `outer_joins`: an outer join of which no made-up row is left in the end is an inner one, or makes up rows of one side only.
//! From the top down it is known which columns a row must have to count: a condition that is true for no NULL of theirs is asked above,
//! or a join that finds partners by them.

use std::sync::Arc;

use datafusion_common::JoinType;
use datafusion_common::Result as DataFusionResult;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_expr::{Expr, Join, LogicalPlan};

use super::absent::{Absent, makes_up};
use super::substitution::unnamed;
use super::{Rewriting, with_stack};

/// The plan with its outer joins so.
pub(super) fn outer_joins(plan: LogicalPlan, _: &Rewriting<'_>) -> DataFusionResult<LogicalPlan> {
    let has_outer = plan.exists(|node| {
        Ok(matches!(node, LogicalPlan::Join(join) if makes_up(join.join_type) != (false, false)))
    })?;
    match has_outer {
        true => reduced(plan, &Absent::default()),
        false => Ok(plan),
    }
}

/// `needed`: of rows that count.
fn reduced(plan: LogicalPlan, needed: &Absent) -> DataFusionResult<LogicalPlan> {
    with_stack(|| {
        let plan = match plan {
            LogicalPlan::Join(join) => return reduced_join(join, needed),
            plan => plan,
        };
        let below = below(&plan, needed)?;
        let mut places = 0..;
        let reduced = plan.map_children(|input| {
            let nothing = Absent::default();
            let needed = places.next().and_then(|at| below.get(at)).unwrap_or(&nothing);
            reduced(input, needed).map(Transformed::yes)
        })?;
        Ok(reduced.data)
    })
}

/// What rows of its inputs need to count in a node.
fn below(plan: &LogicalPlan, needed: &Absent) -> DataFusionResult<Vec<Absent>> {
    let renamed = |schema: &datafusion_common::DFSchema, input: &LogicalPlan| {
        let columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
        needed.through(|column| columns.get(schema.maybe_index_of_column(column)?))
    };
    Ok(match plan {
        LogicalPlan::Filter(filter) => {
            let mut needed = needed.clone();
            needed.extend(Absent::of(&filter.predicate));
            vec![needed]
        }
        _ if needed.is_nothing() => Vec::new(),
        LogicalPlan::Projection(projection) => vec![needed.through(|column| {
            let at = projection.schema.maybe_index_of_column(column)?;
            projection.expr.get(at).map(unnamed)
        })],
        LogicalPlan::SubqueryAlias(alias) => vec![renamed(&alias.schema, &alias.input)],
        LogicalPlan::Union(union) => {
            let inputs = union.inputs.iter();
            inputs.map(|input| renamed(&union.schema, input)).collect()
        }
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => vec![needed.clone()],
        LogicalPlan::Aggregate(aggregate) => {
            let has_sets = aggregate
                .group_expr
                .iter()
                .any(|key| matches!(key, Expr::GroupingSet(_)));
            vec![needed.through(|column| {
                let at = aggregate.schema.maybe_index_of_column(column)?;
                aggregate.group_expr.get(at).filter(|_| !has_sets).map(unnamed)
            })]
        }
        _ => Vec::new(),
    })
}

fn reduced_join(join: Join, needed: &Absent) -> DataFusionResult<LogicalPlan> {
    let (made_left, made_right) = makes_up(join.join_type);
    let left_made = made_left && !needed.rejects_nulls_of(&join.left);
    let right_made = made_right && !needed.rejects_nulls_of(&join.right);
    let join_type = match (join.join_type, left_made, right_made) {
        (JoinType::Left | JoinType::Right | JoinType::Full, false, false) => JoinType::Inner,
        (JoinType::Full, true, false) => JoinType::Right,
        (JoinType::Full, false, true) => JoinType::Left,
        (join_type, ..) => join_type,
    };
    let with_partner = Absent::of_partners(&join);
    let mut left = Absent::default();
    let mut right = Absent::default();
    // Rows of which none is made up are asked from above; those that are nothing without a partner, by the join.
    let keeps_left = matches!(
        join_type,
        JoinType::Left | JoinType::Full | JoinType::LeftAnti | JoinType::LeftMark
    );
    let keeps_right = matches!(
        join_type,
        JoinType::Right | JoinType::Full | JoinType::RightAnti | JoinType::RightMark
    );
    if !left_made {
        left.extend(needed.within(&join.left));
    }
    if !right_made {
        right.extend(needed.within(&join.right));
    }
    if !join.null_aware {
        if !keeps_left {
            left.extend(with_partner.within(&join.left));
        }
        if !keeps_right {
            right.extend(with_partner.within(&join.right));
        }
    }
    let inputs = (
        reduced(Arc::unwrap_or_clone(join.left), &left)?,
        reduced(Arc::unwrap_or_clone(join.right), &right)?,
    );
    Join::try_new(
        Arc::new(inputs.0),
        Arc::new(inputs.1),
        join.on,
        join.filter,
        join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )
    .map(LogicalPlan::Join)
}
