//! The counts of LIMIT and OFFSET once the parameters are known: in a short statement, and in a general plan before the rewriter
//! takes them for granted.

use super::dependent_join::for_each_node;
use super::placeholder::Constants;
use crate::functions::{LimitClause, row_count};
use crate::tree::{Expr, Plan, ScalarValue, TreeNodeRecursion};
use crate::{Error, Result};

/// A count with its parameters put in; NULL counts as absent. Errors: 2201W, 2201X.
pub(crate) fn limit_count(
    count: Option<&Expr>,
    constants: &Constants,
    clause: LimitClause,
) -> Result<Option<usize>> {
    let Some(count) = count else { return Ok(None) };
    match constants.folded(count)? {
        Expr::Literal(ScalarValue::Int64(Some(count)), _) => row_count(count, clause).map(Some),
        Expr::Literal(scalar, _) if scalar.is_null() => Ok(None),
        other => Err(Error::internal(format!("{other} is no row count"))),
    }
}

/// Whether every count of a plan is one. Errors: 2201W, 2201X.
pub(crate) fn check_limits(plan: &Plan, constants: &Constants) -> Result<()> {
    for_each_node(plan, &mut |node| {
        if let Plan::Limit(limit) = node {
            for (count, clause) in [
                (&limit.skip, LimitClause::Offset),
                (&limit.fetch, LimitClause::Limit),
            ] {
                limit_count(count.as_deref(), constants, clause)?;
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })
}
