//! `merged`: a projection of projections as one, where nothing is computed more often for it.

use std::sync::Arc;

use super::output_names::with_name_of;
use super::substitution::substituted;
use crate::Result;
use crate::tree::{Expr, Plan, Projection, TreeNode, TreeNodeRecursion};

/// What is computed of an input, and of which, the projections below taken in.
pub(super) fn merged(exprs: Vec<Expr>, input: Arc<Plan>) -> Result<(Vec<Expr>, Arc<Plan>)> {
    let (mut exprs, mut input) = (exprs, input);
    while let Plan::Projection(below) = input.as_ref() {
        if !computes_no_more(&exprs, below) {
            break;
        }
        let merged = exprs.into_iter().map(|expr| over_input(expr, below));
        exprs = merged.collect::<Result<_>>()?;
        input = Arc::clone(&below.input);
    }
    Ok((exprs, input))
}

/// Whether what the projection below computes is used once at most; what is volatile, as it is.
fn computes_no_more(exprs: &[Expr], below: &Projection) -> bool {
    let is_plain = |expr: &Expr| matches!(expr.unnamed(), Expr::Column(_) | Expr::Literal(..));
    if below.expr.iter().all(is_plain) {
        return true;
    }
    let mut uses = vec![0; below.expr.len()];
    let mut uses_as_is = vec![0; below.expr.len()];
    for expr in exprs {
        if let Expr::Column(column) = expr.unnamed()
            && let Some(at) = below.schema.maybe_index_of_column(column)
        {
            uses_as_is[at] += 1;
        }
        // No step of it fails.
        let _ = expr.apply(|expr| {
            if let Expr::Column(column) = expr
                && let Some(at) = below.schema.maybe_index_of_column(column)
            {
                uses[at] += 1;
            }
            Ok(TreeNodeRecursion::Continue)
        });
    }
    below
        .expr
        .iter()
        .enumerate()
        .all(|(at, expr)| match expr.is_volatile() {
            true => uses[at] == 1 && uses_as_is[at] == 1,
            false => uses[at] < 2 || is_plain(expr),
        })
}

fn over_input(expr: Expr, below: &Projection) -> Result<Expr> {
    with_name_of(expr, |expr| {
        substituted(expr, &below.schema, &|at| below.expr[at].unnamed().clone())
    })
}
