//! Whether a condition *says where to look* on a column: the syntactic half of the full-scan rule. `channel <> 'x'` does,
//! whatever it may exclude; `channel LIKE '%x'` does not, and `channel IS NOT NULL` only where the key may hold a NULL.

use super::like::{LikePattern, LikeShape};
use super::predicate::{Predicate, lower_row_in};
use crate::types::Value;

/// The first column of a key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstColumn {
    /// Position in `TableDef::columns`.
    pub(crate) position: usize,
    /// It may hold NULL, so that `IS NOT NULL` leaves something out.
    pub(crate) is_nullable: bool,
    /// See `KeyColumnShape::ignores_case`.
    pub(crate) ignores_case: bool,
}

/// Whether every row for which `predicate` is `wanted` is found within a bound on `column`.
pub(crate) fn bounds_column(predicate: &Predicate, wanted: bool, column: FirstColumn) -> bool {
    let is_column = |named: &usize| *named == column.position;
    match predicate {
        // A condition that is never true bounds everything.
        Predicate::Constant(truth) => *truth != Some(wanted),
        Predicate::Compare {
            column: named, value, ..
        } => is_column(named) || *value == Value::Null,
        Predicate::InList { column: named, .. } | Predicate::IsTrue { column: named } => is_column(named),
        Predicate::IsNull { column: named } => is_column(named) && (wanted || column.is_nullable),
        Predicate::Like {
            column: named,
            pattern,
            escape,
            case_insensitive,
        } => {
            let is_exact = *case_insensitive == column.ignores_case;
            let is_bound = is_exact || column.ignores_case && wanted;
            is_column(named) && like_bounds(pattern, *escape, !is_bound, wanted)
        }
        Predicate::RowIn { columns, rows } => bounds_column(&lower_row_in(columns, rows), wanted, column),
        Predicate::And(children) if wanted => {
            children.iter().any(|child| bounds_column(child, wanted, column))
        }
        Predicate::Or(children) if !wanted => {
            children.iter().any(|child| bounds_column(child, wanted, column))
        }
        Predicate::And(children) | Predicate::Or(children) => {
            children.iter().all(|child| bounds_column(child, wanted, column))
        }
        Predicate::Not(child) => bounds_column(child, !wanted, column),
        Predicate::Is {
            child,
            truth,
            negated,
        } => truth_test_bounds(child, *truth, *negated != wanted, column),
        Predicate::HasTerm { .. } | Predicate::WouldHaveTerms { .. } => !wanted,
        Predicate::Opaque { .. } => false,
    }
}

/// The same for `child IS truth` (`holds`) or `child IS NOT truth`.
fn truth_test_bounds(child: &Predicate, truth: Option<bool>, holds: bool, column: FirstColumn) -> bool {
    match (truth, holds) {
        (Some(truth), true) => bounds_column(child, truth, column),
        // Everything but one truth: only a single comparison has an exact complement.
        (Some(_), false) | (None, true) => match child {
            Predicate::Compare { column: named, .. }
            | Predicate::InList { column: named, .. }
            | Predicate::IsTrue { column: named } => *named == column.position,
            Predicate::Like { .. } => {
                bounds_column(child, true, column) && bounds_column(child, false, column)
            }
            _ => false,
        },
        (None, false) => bounds_column(child, true, column) && bounds_column(child, false, column),
    }
}

/// Whether every value that a LIKE pattern matches (or, not `wanted`, does not match) is found within a bound.
pub(crate) fn like_bounds(
    pattern: &Value,
    escape: Option<char>,
    case_insensitive: bool,
    wanted: bool,
) -> bool {
    let bytes = match pattern {
        Value::Null => return true,
        Value::Text(text) => text.as_bytes(),
        Value::Bytes(bytes) => bytes,
        _ => return false,
    };
    let pattern = LikePattern::parse(bytes, escape);
    match pattern.shape() {
        _ if !pattern.is_sound() => false,
        _ if case_insensitive => false,
        LikeShape::Exact(_) => true,
        LikeShape::Prefix(prefix) => !prefix.is_empty(),
        LikeShape::Loose(prefix) => wanted && !prefix.is_empty(),
    }
}
