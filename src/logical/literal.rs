//! The constant that an expression is. Asked by whoever reads conditions.

use crate::tree::{Expr, ScalarValue};

/// The constant that an expression is, under casts that nobody has folded but that change nothing.
pub(super) fn literal(expr: &Expr) -> Option<&ScalarValue> {
    match expr {
        Expr::Literal(value, _) => Some(value),
        Expr::Alias(alias) => literal(&alias.expr),
        Expr::Cast(cast) => literal(&cast.expr).filter(|value| value.data_type() == cast.ty),
        _ => None,
    }
}
