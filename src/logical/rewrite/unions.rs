//! The rule `unions`: a union of unions is one of all their parts, whose rows then come side by side; and what takes rows once takes them
//! once from parts that have them more often.

use std::sync::Arc;

use datafusion_common::Result as DataFusionResult;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_expr::{Distinct, LogicalPlan, Projection, Union};

use super::Rewriting;
use super::substitution::substituted;

/// The plan with its unions so.
pub(super) fn unions(plan: LogicalPlan, _: &Rewriting<'_>) -> DataFusionResult<LogicalPlan> {
    plan.transform_up(|node| match node {
        LogicalPlan::Union(union) => flat(union, false).map(LogicalPlan::Union).map(Transformed::yes),
        LogicalPlan::Distinct(Distinct::All(input)) => match input.as_ref() {
            LogicalPlan::Union(_) => {
                let LogicalPlan::Union(union) = Arc::unwrap_or_clone(input) else {
                    unreachable!("it is a union")
                };
                let union = Arc::new(LogicalPlan::Union(flat(union, true)?));
                Ok(Transformed::yes(LogicalPlan::Distinct(Distinct::All(union))))
            }
            _ => Ok(Transformed::no(LogicalPlan::Distinct(Distinct::All(input)))),
        },
        node => Ok(Transformed::no(node)),
    })
    .data()
}

/// The union with the parts of its parts. `once`: each row is taken once of what it gives.
fn flat(union: Union, once: bool) -> DataFusionResult<Union> {
    let mut inputs = Vec::with_capacity(union.inputs.len());
    for input in union.inputs {
        let input = match input.as_ref() {
            LogicalPlan::Distinct(Distinct::All(rows)) if once => Arc::clone(rows),
            _ => input,
        };
        match input.as_ref() {
            LogicalPlan::Union(inner) => inputs.extend(inner.inputs.iter().cloned()),
            LogicalPlan::Projection(projection) => match projection.input.as_ref() {
                LogicalPlan::Union(inner) => {
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
fn projected(
    projection: &Projection,
    union: &Union,
    part: &Arc<LogicalPlan>,
) -> DataFusionResult<LogicalPlan> {
    let columns = part.schema().columns();
    let exprs = projection.expr.iter().map(|expr| {
        substituted(expr.clone(), &union.schema, &|at| {
            datafusion_expr::Expr::Column(columns[at].clone())
        })
    });
    let exprs = exprs.collect::<DataFusionResult<Vec<_>>>()?;
    let schema = Arc::clone(&projection.schema);
    Projection::try_new_with_schema(exprs, Arc::clone(part), schema).map(LogicalPlan::Projection)
}
