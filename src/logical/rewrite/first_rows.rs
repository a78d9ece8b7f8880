//! The rule `first_rows`: what the first rows in some order are made of, of that no more than the first are asked, which a key may give as they
//! are. Of a union each part gives its own first ones; so with the partitions of a table. Where each row of an input gives one row at least
//! (an outer join for the side that stays, subqueries for the rows they are asked for), its first rows give the first of all: what is
//! joined, or asked, is so for these alone.
//!
//! ```text
//! Sort (at, first 3) over Union [a, b]        =>   Sort (at, first 3) over Union [Sort (at, first 3) over a, Sort (at, first 3) over b]
//! Sort (a.at, first 3) over Left Join (a, b)  =>   Sort (a.at, first 3) over Left Join (Sort (a.at, first 3) over a, b)
//! ```

use std::sync::Arc;

use super::Rewriting;
use super::substitution::substituted;
use crate::Result;
use crate::logical::dependent_join::is_volatile;
use crate::tree::{
    DependentJoin, Expr, JoinType, OrderKey, Plan, RowSchema, Sort, SubPlanKind, Transformed,
    TransformedResult, TreeNode,
};

/// More rows are not asked of each part: a sort of many spills, and the first of all may be those of one part.
pub(crate) const FIRST_ROWS_MAX: usize = 1000;

/// The plan with such sorts.
pub(super) fn first_rows(plan: Plan, _: &Rewriting<'_>) -> Result<Plan> {
    plan.transform_down(|node| match node {
        Plan::Sort(mut sort) => {
            let Some(rows) = sort
                .fetch
                .filter(|rows| *rows <= FIRST_ROWS_MAX && is_steady(&sort.expr))
            else {
                return Ok(Transformed::no(Plan::Sort(sort)));
            };
            sort.input = Arc::new(parts_sorted(
                Arc::unwrap_or_clone(sort.input),
                sort.expr.clone(),
                rows,
            )?);
            Ok(Transformed::yes(Plan::Sort(sort)))
        }
        node => Ok(Transformed::no(node)),
    })
    .data()
}

fn is_steady(keys: &[OrderKey]) -> bool {
    keys.iter().all(|key| !key.expr.is_volatile())
}

/// The plan, whose inputs give so many of their first rows in this order if these are enough; or what stands below names and columns.
fn parts_sorted(plan: Plan, keys: Vec<OrderKey>, rows: usize) -> Result<Plan> {
    Ok(match plan {
        Plan::Union(mut union) => {
            for input in &mut union.inputs {
                let columns = input.schema().columns();
                let stands_for = |at: usize| Expr::Column(columns[at].clone());
                let expr = said_below(&keys, &union.schema, &stands_for)?;
                *input = first_of(std::mem::take(input), expr, rows);
            }
            Plan::Union(union)
        }
        Plan::Join(mut join) if !join.filter.as_ref().is_some_and(Expr::is_volatile) => {
            let kept = match join.join_type {
                JoinType::Left => Some(&mut join.left),
                JoinType::Right => Some(&mut join.right),
                _ => None,
            };
            if let Some(kept) = kept.filter(|kept| are_over(&keys, kept.schema())) {
                *kept = first_of(std::mem::take(kept), keys, rows);
            }
            Plan::Join(join)
        }
        Plan::DependentJoin(mut join) => {
            if are_over(&keys, join.input.schema()) && keeps_each_row(&join)? {
                join.input = first_of(join.input, keys, rows);
            }
            Plan::DependentJoin(join)
        }
        Plan::SubqueryAlias(mut alias) => {
            let columns = alias.input.schema().columns();
            let stands_for = |at: usize| Expr::Column(columns[at].clone());
            let keys = said_below(&keys, &alias.schema, &stands_for)?;
            alias.input = Arc::new(parts_sorted(Arc::unwrap_or_clone(alias.input), keys, rows)?);
            Plan::SubqueryAlias(alias)
        }
        Plan::Projection(mut projection) => {
            let stands_for = |at: usize| projection.expr[at].unnamed().clone();
            let keys = said_below(&keys, &projection.schema, &stands_for)?;
            if !is_steady(&keys) {
                return Ok(Plan::Projection(projection));
            }
            projection.input = Arc::new(parts_sorted(Arc::unwrap_or_clone(projection.input), keys, rows)?);
            Plan::Projection(projection)
        }
        plan => plan,
    })
}

/// So many of the first rows of a plan.
fn first_of(input: Arc<Plan>, keys: Vec<OrderKey>, rows: usize) -> Arc<Plan> {
    Arc::new(Plan::Sort(Sort {
        expr: keys,
        input,
        fetch: Some(rows),
    }))
}

/// Whether keys are computed of these columns alone.
fn are_over(keys: &[OrderKey], schema: &RowSchema) -> bool {
    let is_over = |key: &OrderKey| {
        let columns = key.expr.column_refs();
        !key.expr.has(Expr::is_subquery) && columns.iter().all(|column| schema.has_column(column))
    };
    keys.iter().all(is_over)
}

/// Whether each row of the input gives one at least, and subqueries may be asked for fewer of them.
fn keeps_each_row(join: &DependentJoin) -> Result<bool> {
    for sub_plan in &join.sub_plans {
        let is_kept = match &sub_plan.kind {
            SubPlanKind::Rows { keep_left, .. } => *keep_left || gives_one_row(&sub_plan.plan),
            SubPlanKind::Scalar | SubPlanKind::Exists { .. } | SubPlanKind::In { .. } => true,
        };
        if !is_kept || is_volatile(&sub_plan.plan)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a plan gives one row, whatever it reads: aggregates of all rows.
fn gives_one_row(plan: &Plan) -> bool {
    match plan {
        Plan::SubqueryAlias(alias) => gives_one_row(&alias.input),
        Plan::Projection(projection) => {
            let is_list = |expr: &Expr| expr.has(|expr| matches!(expr, Expr::Unnest(_)));
            !projection.expr.iter().any(is_list) && gives_one_row(&projection.input)
        }
        Plan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        _ => false,
    }
}

/// The keys over what a node reads.
fn said_below(
    keys: &[OrderKey],
    schema: &RowSchema,
    stands_for: &dyn Fn(usize) -> Expr,
) -> Result<Vec<OrderKey>> {
    let below = keys.iter().map(|key| {
        let expr = substituted(key.expr.clone(), schema, stands_for)?;
        Ok(OrderKey::new(expr, key.asc, key.nulls_first))
    });
    below.collect()
}
