//! What may fail as it is computed: what PostgreSQL computes for some rows only is computed for more of them where it cannot. Asked by
//! `query`, which knows nothing of operators; they ask the same of what they run (`operators::short_circuit`).

use super::dependent_join::has_expression;
use crate::functions::cast::CAST_NAME;
use crate::functions::sort_key::is_around_operands;
use crate::tree::{Expr, FunctionCall, Plan};
use crate::types::SqlType;

/// Functions that have a result for all arguments, and are often called.
const TOTAL: [&str; 6] = ["lower", "upper", "length", "btrim", "ltrim", "rtrim"];

/// Whether computing the expression may fail for some values, or does something. Sums, differences and products of numbers that are out
/// of range are none of these: whoever asks would give up too much for what hardly ever is.
pub(crate) fn may_fail(expr: &Expr) -> bool {
    expr.has(|part| !is_safe(part))
}

/// Whether computing rows of the plan may, whichever of them are wanted. A plan that cannot be walked may.
pub(crate) fn rows_may_fail(plan: &Plan) -> bool {
    has_expression(plan, |part| !is_safe(part))
}

/// Whether an expression cannot fail if its parts do not.
fn is_safe(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(_)
        | Expr::Column(_)
        | Expr::OuterReferenceColumn(..)
        | Expr::Literal(..)
        | Expr::Placeholder(_)
        | Expr::BinaryExpr(_)
        | Expr::Not(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::TruthTest(_)
        | Expr::Like(_)
        | Expr::Case(_)
        | Expr::Let(_)
        | Expr::LetValue(_)
        | Expr::Cast(_)
        | Expr::InList(_)
        | Expr::AggregateFunction(_) => true,
        Expr::ScalarFunction(call) => is_safe_call(call),
        Expr::Fold(_)
        | Expr::Exists(_)
        | Expr::InSubquery(_)
        | Expr::ScalarSubquery(_)
        | Expr::WindowFunction(_)
        | Expr::Unnest(_)
        | Expr::GroupingSets(_) => false,
    }
}

fn is_safe_call(call: &FunctionCall) -> bool {
    let (name, returns) = (call.name(), call.func.returns());
    let is_of_numbers = returns.is_number() && call.func.arguments().iter().all(SqlType::is_number);
    let is_wide = matches!(returns, SqlType::Numeric(None) | SqlType::Float8);
    match name {
        "+" | "-" | "*" => is_of_numbers,
        CAST_NAME => *returns == SqlType::Text || is_of_numbers && is_wide,
        _ => is_around_operands(name) || TOTAL.contains(&name),
    }
}
