//! Operators and functions that give NULL for any NULL, over a NULL that stands in the text: they are NULL, and what stands beside
//! it is never computed, as in PostgreSQL. (`NULL <= a * b * c` fails nowhere, however large the product would be.) Called
//! once for every bound query, when all rules of what may stand where have been asked.

use crate::Result;
use crate::functions::value_array::null_of;
use crate::logical::dependent_join::{for_each_node, transform_expressions};
use crate::tree::{Expr, Plan, ScalarValue, Transformed, TreeNode, TreeNodeRecursion};

/// The plan with such calls replaced by NULL.
pub(super) fn fold_null_operands(plan: Plan) -> Result<Plan> {
    let mut is_there = false;
    for_each_node(&plan, &mut |node| {
        node.apply_expressions(|expr| {
            is_there |= expr.exists(|expr| Ok(folded(expr).is_some()))?;
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    if !is_there {
        return Ok(plan);
    }
    let fold = |expr: Expr| {
        expr.transform_up(|expr| {
            Ok(match folded(&expr) {
                Some(null) => Transformed::yes(Expr::Literal(null, None)),
                None => Transformed::no(expr),
            })
        })
    };
    transform_expressions(plan, &fold)
}

/// The NULL that a call over a NULL is.
fn folded(expr: &Expr) -> Option<ScalarValue> {
    match expr {
        Expr::BinaryExpr(binary) if binary.op.is_comparison() => {
            let is_folded = is_null(&binary.left) || is_null(&binary.right);
            is_folded.then_some(ScalarValue::Boolean(None))
        }
        Expr::ScalarFunction(call) if call.func.is_strict() && call.args.iter().any(is_null) => {
            null_of(&call.func.returns().arrow_type()).ok()
        }
        _ => None,
    }
}

fn is_null(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(scalar, _) if scalar.is_null())
}
