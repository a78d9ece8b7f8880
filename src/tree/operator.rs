//! `Operator`: what stands between two operands of an expression. What computes something else is a call of a function.

use std::fmt;

/// An operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `=`.
    Eq,
    /// `<>`.
    NotEq,
    /// `<`.
    Lt,
    /// `<=`.
    LtEq,
    /// `>`.
    Gt,
    /// `>=`.
    GtEq,
    /// `AND`.
    And,
    /// `OR`.
    Or,
    /// `IS DISTINCT FROM`.
    IsDistinctFrom,
    /// `IS NOT DISTINCT FROM`.
    IsNotDistinctFrom,
    /// `&`, of a grouping set's number.
    BitwiseAnd,
    /// `|`.
    BitwiseOr,
    /// `<<`.
    BitwiseShiftLeft,
    /// `>>`.
    BitwiseShiftRight,
}

impl Operator {
    /// All of them, in the order of the list above.
    pub const ALL: [Operator; 14] = [
        Operator::Eq,
        Operator::NotEq,
        Operator::Lt,
        Operator::LtEq,
        Operator::Gt,
        Operator::GtEq,
        Operator::And,
        Operator::Or,
        Operator::IsDistinctFrom,
        Operator::IsNotDistinctFrom,
        Operator::BitwiseAnd,
        Operator::BitwiseOr,
        Operator::BitwiseShiftLeft,
        Operator::BitwiseShiftRight,
    ];

    /// The operator that is true where this one is false.
    pub fn negate(self) -> Option<Operator> {
        use Operator::{Eq, Gt, GtEq, IsDistinctFrom, IsNotDistinctFrom, Lt, LtEq, NotEq};
        Some(match self {
            Eq => NotEq,
            NotEq => Eq,
            Lt => GtEq,
            LtEq => Gt,
            Gt => LtEq,
            GtEq => Lt,
            IsDistinctFrom => IsNotDistinctFrom,
            IsNotDistinctFrom => IsDistinctFrom,
            _ => return None,
        })
    }

    /// The comparison that says the same with its sides changed.
    pub fn swap(self) -> Option<Operator> {
        use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
        Some(match self {
            Eq => Eq,
            NotEq => NotEq,
            Lt => Gt,
            LtEq => GtEq,
            Gt => Lt,
            GtEq => LtEq,
            _ => return None,
        })
    }

    /// Whether it is one of `=`, `<>`, `<`, `<=`, `>` and `>=`.
    pub fn is_comparison(self) -> bool {
        self.swap().is_some()
    }

    /// Whether it gives a truth value.
    pub(super) fn is_condition(self) -> bool {
        use Operator::{BitwiseAnd, BitwiseOr, BitwiseShiftLeft, BitwiseShiftRight};
        !matches!(
            self,
            BitwiseAnd | BitwiseOr | BitwiseShiftLeft | BitwiseShiftRight
        )
    }

    /// Whether NULL on a side makes NULL.
    pub fn returns_null_on_null(self) -> bool {
        use Operator::{And, IsDistinctFrom, IsNotDistinctFrom, Or};
        !matches!(self, And | Or | IsDistinctFrom | IsNotDistinctFrom)
    }
}

const _: () = assert!(
    Operator::ALL.len() == Operator::BitwiseShiftRight as usize + 1,
    "an operator is missing in Operator::ALL"
);

impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Operator::Eq => "=",
            Operator::NotEq => "!=",
            Operator::Lt => "<",
            Operator::LtEq => "<=",
            Operator::Gt => ">",
            Operator::GtEq => ">=",
            Operator::And => "AND",
            Operator::Or => "OR",
            Operator::IsDistinctFrom => "IS DISTINCT FROM",
            Operator::IsNotDistinctFrom => "IS NOT DISTINCT FROM",
            Operator::BitwiseAnd => "&",
            Operator::BitwiseOr => "|",
            Operator::BitwiseShiftLeft => "<<",
            Operator::BitwiseShiftRight => ">>",
        })
    }
}
