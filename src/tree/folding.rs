//! Constants: functions of ours over constants, computed; and whether an expression depends on nothing but its columns.

use std::sync::Arc;

use super::call::FunctionCall;
use super::expr::{BinaryExpr, Cast, Expr, InList};
use super::walk::{Transformed, TransformedResult, TreeNode};
use super::with_stack;
use crate::Result;
use crate::functions::value_array::cast_scalar;
use crate::system::pg_catalog::CatalogContext;

/// The expression with every function of ours over constants computed, but for those that need the statement.
pub fn fold_constants(expression: Expr) -> Result<Expr> {
    fold(expression, None)
}

/// The same with those that read the catalogs, as the statement sees them.
pub fn fold_constants_in(expression: Expr, statement: &CatalogContext) -> Result<Expr> {
    fold(expression, Some(statement))
}

fn fold(expression: Expr, statement: Option<&CatalogContext>) -> Result<Expr> {
    let folded = expression.transform_up(|expression| fold_one(expression, statement));
    folded.data()
}

/// The same of an expression that is made of what is folded.
fn fold_one(expression: Expr, statement: Option<&CatalogContext>) -> Result<Transformed<Expr>> {
    let constant = match &expression {
        Expr::ScalarFunction(call) if call.args.iter().all(is_constant) => {
            let arguments = call.args.iter().filter_map(|argument| match argument {
                Expr::Literal(value, _) => Some(value),
                _ => None,
            });
            call.func.of_constants(arguments, statement)?
        }
        Expr::Cast(cast) => match cast.expr.as_ref() {
            Expr::Literal(value, _) => Some(cast_scalar(value, &cast.ty)?),
            _ => None,
        },
        _ => None,
    };
    Ok(match constant {
        Some(value) => Transformed::yes(Expr::Literal(value, None)),
        None => Transformed::no(expression),
    })
}

/// What `replace` makes of an expression, part by part from below, with its constants computed as `fold_constants` does: a copy that is
/// walked once, for conditions that each run of a statement reads anew.
pub fn folded_copy(expression: &Expr, replace: &dyn Fn(Expr) -> Result<Transformed<Expr>>) -> Result<Expr> {
    let copy = |part: &Expr| folded_copy(part, replace);
    let boxed = |part: &Expr| copy(part).map(Box::new);
    with_stack(|| {
        let whole = match expression {
            Expr::BinaryExpr(binary) => {
                let left = boxed(&binary.left)?;
                Expr::BinaryExpr(BinaryExpr::new(left, binary.op, boxed(&binary.right)?))
            }
            Expr::InList(list) => {
                let items = list.list.iter().map(copy).collect::<Result<_>>()?;
                Expr::InList(InList::new(boxed(&list.expr)?, items, list.negated))
            }
            Expr::Cast(cast) => Expr::Cast(Cast::new(boxed(&cast.expr)?, cast.ty.clone())),
            Expr::ScalarFunction(call) => Expr::ScalarFunction(FunctionCall {
                func: Arc::clone(&call.func),
                args: call.args.iter().map(copy).collect::<Result<_>>()?,
            }),
            leaf @ (Expr::Column(_) | Expr::Literal(..) | Expr::Placeholder(_)) => leaf.clone(),
            other => return fold_constants(other.clone().transform_up(replace).data()?),
        };
        fold_one(replace(whole)?.data, None).data()
    })
}

fn is_constant(expr: &Expr) -> bool {
    matches!(expr, Expr::Literal(..))
}

/// Whether the expression depends on nothing but its columns. (What the binder replaces by a constant, such as
/// `current_user`, it does not see.)
pub fn is_immutable(expr: &Expr) -> bool {
    !expr.has(|expr| match expr {
        Expr::ScalarFunction(call) => !call.func.is_immutable(),
        Expr::OuterReferenceColumn(..)
        | Expr::Placeholder(_)
        | Expr::Exists(_)
        | Expr::InSubquery(_)
        | Expr::ScalarSubquery(_)
        | Expr::AggregateFunction(_)
        | Expr::WindowFunction(_)
        | Expr::Unnest(_)
        | Expr::GroupingSets(_) => true,
        _ => false,
    })
}
