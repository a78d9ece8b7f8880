//! What can be computed of the rows at hand: expressions of columns, constants and functions that need nothing of the statement, or only
//! its catalogs.

use crate::tree::{Expr, Plan, RowSchema, TreeNode, TreeNodeRecursion};

/// Whether an expression is made of columns, constants and functions that need nothing of the statement.
pub(crate) fn is_plain(expr: &Expr) -> bool {
    is_evaluable(expr) && !reads_catalogs(expr)
}

/// The same, or of functions that ask the catalogs.
pub(crate) fn is_evaluable(expr: &Expr) -> bool {
    !expr.has(|expr| match expr {
        Expr::ScalarFunction(call) => call.func.waits(),
        Expr::ScalarSubquery(_)
        | Expr::InSubquery(_)
        | Expr::Exists(_)
        | Expr::OuterReferenceColumn(..)
        | Expr::WindowFunction(_)
        | Expr::Unnest(_)
        | Expr::GroupingSets(_) => true,
        _ => false,
    })
}

/// Whether a plain expression is over these rows.
pub(crate) fn is_computable(expr: &Expr, schema: &RowSchema) -> bool {
    let fits = |expr: &Expr| match expr {
        Expr::Column(column) => schema.has_column(column),
        Expr::Placeholder(placeholder) => placeholder.field.is_some(),
        Expr::AggregateFunction(_) => false,
        _ => true,
    };
    is_plain(expr) && !expr.exists(|expr| Ok(!fits(expr))).unwrap_or(true)
}

/// Whether a function in an expression asks the catalogs.
pub(crate) fn reads_catalogs(expr: &Expr) -> bool {
    expr.has(|expr| matches!(expr, Expr::ScalarFunction(call) if call.func.reads_catalogs()))
}

/// Whether a function in an expression does more than answer: run again for the same rows, it would do so again.
pub(crate) fn acts(expr: &Expr) -> bool {
    expr.has(Expr::is_acting_call)
}

/// Whether a function that waits stands in an expression.
pub(crate) fn calls_waiting(expr: &Expr) -> bool {
    expr.has(|expr| matches!(expr, Expr::ScalarFunction(call) if call.func.waits()))
}

/// Whether a function that waits stands in the plan.
pub(crate) fn waits(plan: &Plan) -> bool {
    let mut found = false;
    let walked = plan.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| {
            found |= calls_waiting(expr);
            Ok(TreeNodeRecursion::Continue)
        })
    });
    found || walked.is_err()
}
