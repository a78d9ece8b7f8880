//! Constants: functions of ours over constants, computed; and whether an expression depends on nothing but its columns.

use super::expr::Expr;
use super::walk::{Transformed, TransformedResult, TreeNode};
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

/// The same of an expression whose parts are folded.
pub fn fold_one(expression: Expr, statement: Option<&CatalogContext>) -> Result<Transformed<Expr>> {
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
