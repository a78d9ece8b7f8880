//! The rule `union_sorts`: of the first rows of a union in some order each part gives its own first ones, which a key may give it as they are.
//! So with the partitions of a table.
//!
//! ```text
//! Sort (at, first 3) over Union [a, b]   =>   Sort (at, first 3) over Union [Sort (at, first 3) over a, Sort (at, first 3) over b]
//! ```

use std::sync::Arc;

use super::Rewriting;
use super::substitution::{substituted, unnamed};
use crate::Result;
use crate::tree::{Expr, OrderKey, Plan, RowSchema, Sort, Transformed, TransformedResult, TreeNode};

/// More rows are not asked of each part: a sort of many spills, and the first of all may be those of one part.
pub(crate) const FIRST_ROWS_MAX: usize = 1000;

/// The plan with such sorts.
pub(super) fn union_sorts(plan: Plan, _: &Rewriting<'_>) -> Result<Plan> {
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

/// The plan, whose parts give so many of their first rows in this order if it is a union; or what stands below names and columns.
fn parts_sorted(plan: Plan, keys: Vec<OrderKey>, rows: usize) -> Result<Plan> {
    Ok(match plan {
        Plan::Union(mut union) => {
            for input in &mut union.inputs {
                let columns = input.schema().columns();
                let stands_for = |at: usize| Expr::Column(columns[at].clone());
                let expr = said_below(&keys, &union.schema, &stands_for)?;
                let part = std::mem::take(input);
                *input = Arc::new(Plan::Sort(Sort {
                    expr,
                    input: part,
                    fetch: Some(rows),
                }));
            }
            Plan::Union(union)
        }
        Plan::SubqueryAlias(mut alias) => {
            let columns = alias.input.schema().columns();
            let stands_for = |at: usize| Expr::Column(columns[at].clone());
            let keys = said_below(&keys, &alias.schema, &stands_for)?;
            alias.input = Arc::new(parts_sorted(Arc::unwrap_or_clone(alias.input), keys, rows)?);
            Plan::SubqueryAlias(alias)
        }
        Plan::Projection(mut projection) => {
            let stands_for = |at: usize| unnamed(&projection.expr[at]).clone();
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
