//! The rule `outer_joins`: an outer join of which no made-up row is left in the end is an inner one, or makes up rows of one side only.
//! From the top down it is known which columns a row must have to count: a condition that is true for no NULL of theirs is asked above,
//! or a join that finds partners by them.

use std::sync::Arc;

use super::Rewriting;
use super::absent::{Absent, makes_up};
use crate::Result;
use crate::tree::{Expr, Join, JoinType, Plan, Transformed, TreeNode, with_stack};

/// The plan with its outer joins so.
pub(super) fn outer_joins(plan: Plan, _: &Rewriting<'_>) -> Result<Plan> {
    let has_outer = plan
        .exists(|node| Ok(matches!(node, Plan::Join(join) if makes_up(join.join_type) != (false, false))))?;
    match has_outer {
        true => reduced(plan, &Absent::default()),
        false => Ok(plan),
    }
}

/// `needed`: of rows that count.
fn reduced(plan: Plan, needed: &Absent) -> Result<Plan> {
    with_stack(|| {
        let plan = match plan {
            Plan::Join(join) => return reduced_join(join, needed),
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
fn below(plan: &Plan, needed: &Absent) -> Result<Vec<Absent>> {
    let renamed = |schema: &crate::tree::RowSchema, input: &Plan| {
        let columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
        needed.through(|column| columns.get(schema.maybe_index_of_column(column)?))
    };
    Ok(match plan {
        Plan::Filter(filter) => {
            let mut needed = needed.clone();
            needed.extend(Absent::of(&filter.predicate));
            vec![needed]
        }
        _ if needed.is_nothing() => Vec::new(),
        Plan::Projection(projection) => vec![needed.through(|column| {
            let at = projection.schema.maybe_index_of_column(column)?;
            projection.expr.get(at).map(Expr::unnamed)
        })],
        Plan::SubqueryAlias(alias) => vec![renamed(&alias.schema, &alias.input)],
        Plan::Union(union) => {
            let inputs = union.inputs.iter();
            inputs.map(|input| renamed(&union.schema, input)).collect()
        }
        Plan::Sort(sort) if sort.fetch.is_none() => vec![needed.clone()],
        Plan::Aggregate(aggregate) => {
            let has_sets = aggregate
                .group_expr
                .iter()
                .any(|key| matches!(key, Expr::GroupingSets(_)));
            vec![needed.through(|column| {
                let at = aggregate.schema.maybe_index_of_column(column)?;
                aggregate
                    .group_expr
                    .get(at)
                    .filter(|_| !has_sets)
                    .map(Expr::unnamed)
            })]
        }
        _ => Vec::new(),
    })
}

fn reduced_join(join: Join, needed: &Absent) -> Result<Plan> {
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
    let keeps_left = matches!(join_type, JoinType::Left | JoinType::Full | JoinType::LeftAnti);
    let keeps_right = matches!(join_type, JoinType::Right | JoinType::Full);
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
    let mut join = Join { join_type, ..join };
    let inputs = (std::mem::take(&mut join.left), std::mem::take(&mut join.right));
    let left = Arc::new(reduced(Arc::unwrap_or_clone(inputs.0), &left)?);
    let right = Arc::new(reduced(Arc::unwrap_or_clone(inputs.1), &right)?);
    Ok(Plan::Join(join.with_sides(left, right)))
}
