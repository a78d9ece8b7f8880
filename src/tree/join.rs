//! `Join`: rows of two relations that belong together.

use std::fmt;
use std::sync::Arc;

use arrow::datatypes::FieldRef;

use super::column::RelationAlias;
use super::expr::Expr;
use super::plan::Plan;
use super::row_schema::{RowSchema, RowSchemaRef, nullable};

/// What becomes of rows without a partner, and of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JoinType {
    /// Pairs alone.
    Inner,
    /// And rows of the left side without a partner, with NULLs.
    Left,
    /// And those of the right side.
    Right,
    /// And those of both.
    Full,
    /// Rows of the left side that have a partner.
    LeftSemi,
    /// Rows of the right side that have one.
    RightSemi,
    /// Rows of the left side that have none.
    LeftAnti,
}

impl JoinType {
    /// Whether a condition on one side alone may be asked of it before the join: of the left one, and of the right one.
    pub fn asks_before(self) -> (bool, bool) {
        match self {
            JoinType::Inner | JoinType::LeftSemi | JoinType::RightSemi => (true, true),
            JoinType::Left | JoinType::LeftAnti => (false, true),
            JoinType::Right => (true, false),
            JoinType::Full => (false, false),
        }
    }
}

impl fmt::Display for JoinType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Whether NULLs of keys are partners.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NullEquality {
    /// They are nobody's.
    NullEqualsNothing,
    /// They are each other's.
    NullEqualsNull,
}

/// Two relations joined.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Join {
    /// The left one.
    pub left: Arc<Plan>,
    /// The right one.
    pub right: Arc<Plan>,
    /// What must be equal: of the left one, and of the right one.
    pub on: Vec<(Expr, Expr)>,
    /// What else a pair must satisfy.
    pub filter: Option<Expr>,
    /// What becomes of rows.
    pub join_type: JoinType,
    /// The columns.
    pub schema: RowSchemaRef,
    /// Whether NULLs of keys are partners.
    pub null_equality: NullEquality,
    /// NOT IN: a NULL on the right side leaves no row of the left one.
    pub null_aware: bool,
    /// Whether the left side is known to be the one that is kept in memory.
    pub keeps_left: bool,
}

impl Join {
    /// A join of these parts, for which NULLs are nobody's partners.
    pub fn new(
        left: Arc<Plan>,
        right: Arc<Plan>,
        on: Vec<(Expr, Expr)>,
        filter: Option<Expr>,
        join_type: JoinType,
    ) -> Join {
        Join {
            schema: Arc::new(join_schema(left.schema(), right.schema(), join_type)),
            left,
            right,
            on,
            filter,
            join_type,
            null_equality: NullEquality::NullEqualsNothing,
            null_aware: false,
            keeps_left: false,
        }
    }

    /// The same of other sides.
    pub fn with_sides(self, left: Arc<Plan>, right: Arc<Plan>) -> Join {
        Join {
            schema: Arc::new(join_schema(left.schema(), right.schema(), self.join_type)),
            left,
            right,
            ..self
        }
    }
}

/// The columns of a join.
pub fn join_schema(left: &RowSchema, right: &RowSchema, join_type: JoinType) -> RowSchema {
    type Made = fn(&FieldRef) -> FieldRef;
    let (same, made_up): (Made, Made) = (Arc::clone, nullable);
    let (of_left, of_right) = match join_type {
        JoinType::Inner => (same, same),
        JoinType::Left => (same, made_up),
        JoinType::Right => (made_up, same),
        JoinType::Full => (made_up, made_up),
        JoinType::LeftSemi | JoinType::LeftAnti => return left.clone(),
        JoinType::RightSemi => return right.clone(),
    };
    let columns = |schema: &RowSchema, made: Made| -> Vec<(Option<RelationAlias>, FieldRef)> {
        schema
            .iter()
            .map(|(relation, field)| (relation.cloned(), made(field)))
            .collect()
    };
    let mut all = columns(left, of_left);
    all.extend(columns(right, of_right));
    RowSchema::new(all)
}

/// Two sides of an equality as keys of a join, that of its left side first. `None`: they are not of one side each.
pub fn equal_key_pair(one: &Expr, other: &Expr, left: &RowSchema, right: &RowSchema) -> Option<(Expr, Expr)> {
    let is_over = |expr: &Expr, schema: &RowSchema| {
        let columns = expr.column_refs();
        !columns.is_empty() && columns.iter().all(|column| schema.has_column(column))
    };
    if is_over(one, left) && is_over(other, right) {
        return Some((one.clone(), other.clone()));
    }
    (is_over(other, left) && is_over(one, right)).then(|| (other.clone(), one.clone()))
}
