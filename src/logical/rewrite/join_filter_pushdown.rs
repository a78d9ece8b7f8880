//! `SidedJoin`: a join whose sides are not alike, on its way to be asked less: what is asked above it of the side that stays goes to that
//! side, what its condition asks of the other side alone goes there, and equalities become keys.

use std::sync::Arc;

use super::inference::said_of;
use super::inner_joins::{key_pair, key_sides};
use super::operands::{operands, said_once};
use super::scan_filters::filtered;
use super::{is_asked_by_join, is_of_each_row};
use crate::Result;
use crate::logical::equal_columns::EqualColumns;
use crate::tree::{BinaryExpr, Column, Expr, Join, JoinType, NullEquality, Operator, Plan, conjunction};

/// The join, and where each condition goes.
pub(super) struct SidedJoin {
    join: Join,
    left: Vec<Expr>,
    right: Vec<Expr>,
    /// What it asks of pairs.
    pairs: Vec<Expr>,
    above: Vec<Expr>,
}

/// For which side of a join a condition of its result stands, and for which one of its own conditions on it does.
struct Sides {
    stays: (bool, bool),
    is_asked: (bool, bool),
}

impl Sides {
    fn of(join: &Join) -> Sides {
        use JoinType::{Full, Inner, Left, LeftAnti, LeftSemi, Right, RightSemi};
        Sides {
            stays: match join.join_type {
                Inner => (true, true),
                Left | LeftSemi | LeftAnti => (true, false),
                Right | RightSemi => (false, true),
                Full => (false, false),
            },
            is_asked: match join.null_aware {
                true => (false, false),
                false => join.join_type.asks_before(),
            },
        }
    }
}

impl SidedJoin {
    /// `conditions`: those above the join.
    pub(super) fn of(mut join: Join, conditions: Vec<Expr>, infers: bool) -> SidedJoin {
        let own = join.filter.take().map(|filter| operands(filter, Operator::And));
        let own = said_once(own.unwrap_or_default());
        let mut sided = SidedJoin {
            join,
            left: Vec::new(),
            right: Vec::new(),
            pairs: Vec::new(),
            above: Vec::new(),
        };
        // Then each pair asks all of them.
        let moves_own = !own.iter().any(is_of_each_row);
        let sides = Sides::of(&sided.join);
        for condition in conditions {
            sided.place_above(condition, &sides);
        }
        // What stands for one side of an equality stands for the other.
        let (mut said_left, mut said_right) = (sided.left.clone(), sided.right.clone());
        for condition in own {
            let (is_left, is_right) = sided.is_over(&condition);
            if is_left {
                said_left.push(condition.clone());
            } else if is_right {
                said_right.push(condition.clone());
            }
            match (is_left && sides.is_asked.0, is_right && sides.is_asked.1) {
                (true, _) if moves_own => sided.left.push(condition),
                (_, true) if moves_own => sided.right.push(condition),
                _ => sided.pairs.push(condition),
            }
        }
        sided.take_keys();
        if infers && moves_own {
            sided.infer(&said_left, &said_right);
        }
        sided
    }

    pub(super) fn take_left(&mut self) -> (Plan, Vec<Expr>) {
        let plan = std::mem::take(&mut self.join.left);
        (Arc::unwrap_or_clone(plan), std::mem::take(&mut self.left))
    }

    pub(super) fn take_right(&mut self) -> (Plan, Vec<Expr>) {
        let plan = std::mem::take(&mut self.join.right);
        (Arc::unwrap_or_clone(plan), std::mem::take(&mut self.right))
    }

    /// The join of its sides.
    pub(super) fn joined(self, left: Plan, right: Plan) -> Result<Plan> {
        let join = Join {
            left: Arc::new(left),
            right: Arc::new(right),
            filter: conjunction(self.pairs),
            ..self.join
        };
        filtered(Plan::Join(join), self.above)
    }

    fn place_above(&mut self, condition: Expr, sides: &Sides) {
        let (is_left, is_right) = self.is_over(&condition);
        if is_of_each_row(&condition) {
            self.above.push(condition);
        } else if is_left && sides.stays.0 {
            self.left.push(condition);
        } else if is_right && sides.stays.1 {
            self.right.push(condition);
        } else if self.join.join_type == JoinType::Inner && is_asked_by_join(&condition) {
            self.pairs.push(condition);
        } else {
            self.above.push(condition);
        }
    }

    /// Whether it is over the left side alone, and whether over the right one.
    fn is_over(&self, condition: &Expr) -> (bool, bool) {
        let columns = condition.column_refs();
        let is_of = |plan: &Plan| {
            let schema = plan.schema();
            columns.iter().all(|column| schema.has_column(column))
        };
        (is_of(&self.join.left), is_of(&self.join.right))
    }

    /// Makes equalities keys; without any, what is not distinct.
    fn take_keys(&mut self) {
        if self.join.null_aware {
            return;
        }
        let is_equal = self.join.null_equality == NullEquality::NullEqualsNothing;
        let mut others = Vec::with_capacity(self.pairs.len());
        for condition in std::mem::take(&mut self.pairs) {
            match key_pair(&condition, &self.join.left, &self.join.right).filter(|_| is_equal) {
                Some(pair) => self.join.on.push(pair),
                None => others.push(condition),
            }
        }
        self.pairs = others;
        if !self.join.on.is_empty() {
            return;
        }
        let (mut keys, mut others) = (Vec::new(), Vec::new());
        for condition in std::mem::take(&mut self.pairs) {
            let pair = match &condition {
                Expr::BinaryExpr(BinaryExpr {
                    left,
                    op: Operator::IsNotDistinctFrom,
                    right,
                }) => key_sides(left, right, &self.join.left, &self.join.right),
                _ => None,
            };
            match pair {
                Some(pair) => keys.push(pair),
                None => others.push(condition),
            }
        }
        self.pairs = others;
        if !keys.is_empty() {
            self.join.on = keys;
            self.join.null_equality = NullEquality::NullEqualsNull;
        }
    }

    /// What holds of every row of one side that may have a partner, the other side is asked where it has nothing without one.
    fn infer(&mut self, said_left: &[Expr], said_right: &[Expr]) {
        use JoinType::{Inner, Left, LeftAnti, LeftSemi, Right, RightSemi};
        if self.join.null_aware {
            return;
        }
        let mut equal = EqualColumns::default();
        for (left, right) in &self.join.on {
            if let (Some(left), Some(right)) = (own_column(left), own_column(right)) {
                equal.add(left, right);
            }
        }
        let join_type = self.join.join_type;
        if matches!(join_type, Inner | Left | LeftSemi | LeftAnti) {
            add_said(&equal, said_left, &self.join.right, &mut self.right);
        }
        if matches!(join_type, Inner | Right | RightSemi) {
            add_said(&equal, said_right, &self.join.left, &mut self.left);
        }
    }
}

fn own_column(expr: &Expr) -> Option<&Column> {
    match expr {
        Expr::Column(column) => Some(column),
        _ => None,
    }
}

fn add_said(equal: &EqualColumns, said: &[Expr], side: &Plan, asked: &mut Vec<Expr>) {
    for condition in said {
        let inferred = said_of(equal, condition, side.schema());
        asked.extend(
            inferred
                .filter(|inferred| !asked.contains(inferred))
                .into_iter()
                .collect::<Vec<_>>(),
        );
    }
}
