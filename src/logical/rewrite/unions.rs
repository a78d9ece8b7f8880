//! The rule `unions`: a union of unions is one of all their parts, whose rows then come side by side; and what takes rows once takes them
//! once from parts that have them more often.

use std::sync::Arc;

use super::Rewriting;
use super::substitution::substituted;
use crate::Result;
use crate::tree::{Plan, Projection, Transformed, TransformedResult, TreeNode, Union};

/// The plan with its unions so.
pub(super) fn unions(plan: Plan, _: &Rewriting<'_>) -> Result<Plan> {
    plan.transform_up(|node| match node {
        Plan::Union(union) => flat(union, false).map(Plan::Union).map(Transformed::yes),
        Plan::Distinct(input) => match input.as_ref() {
            Plan::Union(_) => {
                let Plan::Union(union) = Arc::unwrap_or_clone(input) else {
                    unreachable!("it is a union")
                };
                let union = Arc::new(Plan::Union(flat(union, true)?));
                Ok(Transformed::yes(Plan::Distinct(union)))
            }
            _ => Ok(Transformed::no(Plan::Distinct(input))),
        },
        node => Ok(Transformed::no(node)),
    })
    .data()
}

/// The union with the parts of its parts. `once`: each row is taken once of what it gives.
fn flat(union: Union, once: bool) -> Result<Union> {
    let mut inputs = Vec::with_capacity(union.inputs.len());
    for input in union.inputs {
        let input = match input.as_ref() {
            Plan::Distinct(rows) if once => Arc::clone(rows),
            _ => input,
        };
        match input.as_ref() {
            Plan::Union(inner) => inputs.extend(inner.inputs.iter().cloned()),
            Plan::Projection(projection) => match projection.input.as_ref() {
                Plan::Union(inner) => {
                    for part in &inner.inputs {
                        inputs.push(Arc::new(projected(projection, inner, part)?));
                    }
                }
                _ => inputs.push(input),
            },
            _ => inputs.push(input),
        }
    }
    Ok(Union {
        inputs,
        schema: union.schema,
    })
}

/// What a projection of a union makes of one of its parts.
fn projected(projection: &Projection, union: &Union, part: &Arc<Plan>) -> Result<Plan> {
    let columns = part.schema().columns();
    let exprs = projection.expr.iter().map(|expr| {
        substituted(expr.clone(), &union.schema, &|at| {
            crate::tree::Expr::Column(columns[at].clone())
        })
    });
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    let schema = Arc::clone(&projection.schema);
    Ok(Plan::Projection(Projection::with_schema(
        exprs,
        Arc::clone(part),
        schema,
    )))
}
