//! A value that a statement assigns to a column, where casts that users made may apply: it stands as SAFE_CAST, which PostgreSQL does not
//! have and the parser refuses (`tree_fields`), so that nothing that a client writes means it. `sql::dml` wraps values, `query` binds them.

use sqlparser::ast::{CastKind, DataType, Expr};

/// A value, and the type that it is assigned to.
pub(crate) struct Assigned<'e> {
    /// The value.
    pub(crate) value: &'e Expr,
    /// The name of the type.
    pub(crate) data_type: &'e DataType,
}

/// The value as one that is assigned.
pub(crate) fn assigned_to(value: Expr, data_type: DataType) -> Expr {
    Expr::Cast {
        kind: CastKind::SafeCast,
        expr: Box::new(value),
        data_type,
        array: false,
        format: None,
    }
}

/// What the expression assigns, if it is such a value.
pub(crate) fn as_assigned(expr: &Expr) -> Option<Assigned<'_>> {
    match expr {
        Expr::Cast {
            kind: CastKind::SafeCast,
            expr,
            data_type,
            ..
        } => Some(Assigned {
            value: expr,
            data_type,
        }),
        _ => None,
    }
}
