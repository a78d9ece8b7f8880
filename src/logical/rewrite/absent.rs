//! `Absent`: which columns a condition needs. A condition that is not true where all columns of a set are NULL drops the rows that an outer
//! join makes up of its side, if the set is of that side alone.

use std::collections::BTreeSet;

use super::operands::operands_of;
use crate::tree::{BinaryExpr, Column, Expr, Join, JoinType, NullEquality, Operator, Plan, with_stack};

/// Sets that an OR is made of at most; of more of them nothing is concluded.
const SETS_MAX: usize = 32;

/// Sets of columns, none of which is all NULL in a row that counts.
#[derive(Debug, Clone, Default)]
pub(super) struct Absent {
    sets: Vec<BTreeSet<Column>>,
}

impl Absent {
    /// What rows must have for which a condition is true.
    pub(super) fn of(condition: &Expr) -> Absent {
        let mut needed = Absent::default();
        for part in operands_of(condition, Operator::And) {
            needed.extend(truth_needs(part));
        }
        needed
    }

    /// What rows need that have a partner in a join.
    pub(super) fn of_partners(join: &Join) -> Absent {
        let mut needed = join.filter.as_ref().map(Absent::of).unwrap_or_default();
        if join.null_equality == NullEquality::NullEqualsNothing {
            for (left, right) in &join.on {
                needed.extend(value_needs(left));
                needed.extend(value_needs(right));
            }
        }
        needed
    }

    pub(super) fn extend(&mut self, other: Absent) {
        for set in other.sets {
            if !self.sets.contains(&set) {
                self.sets.push(set);
            }
        }
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.sets.is_empty()
    }

    /// Whether no row counts for which a relation has nothing but NULLs.
    pub(super) fn rejects_nulls_of(&self, plan: &Plan) -> bool {
        let schema = plan.schema();
        self.sets
            .iter()
            .any(|set| set.iter().all(|column| schema.has_column(column)))
    }

    /// The sets that are of this relation's columns alone.
    pub(super) fn within(&self, plan: &Plan) -> Absent {
        let schema = plan.schema();
        let sets = self.sets.iter();
        let own = sets.filter(|set| set.iter().all(|column| schema.has_column(column)));
        Absent {
            sets: own.cloned().collect(),
        }
    }

    /// The same of what the columns are computed of. `None`: a column may be NULL for what is not.
    pub(super) fn through<'a>(&self, computed_of: impl Fn(&Column) -> Option<&'a Expr>) -> Absent {
        let mut below = Absent::default();
        for set in &self.sets {
            let needs = set
                .iter()
                .map(|column| computed_of(column).map(value_needs).unwrap_or_default());
            below.extend(any_of(needs));
        }
        below
    }
}

/// What is needed if one of several is: a set of each, together.
fn any_of(mut alternatives: impl Iterator<Item = Absent>) -> Absent {
    let Some(mut joint) = alternatives.next() else {
        return Absent::default();
    };
    for next in alternatives {
        if joint.sets.len() * next.sets.len() > SETS_MAX {
            return Absent::default();
        }
        let both = joint.sets.iter().flat_map(|one| {
            let others = next.sets.iter();
            others.map(move |other| one.union(other).cloned().collect())
        });
        joint = Absent { sets: both.collect() };
    }
    joint
}

/// What a condition needs to be true.
fn truth_needs(condition: &Expr) -> Absent {
    with_stack(|| match condition {
        Expr::BinaryExpr(BinaryExpr {
            op: Operator::And, ..
        }) => Absent::of(condition),
        Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. }) => {
            any_of(operands_of(condition, Operator::Or).into_iter().map(truth_needs))
        }
        Expr::IsNotNull(inner) => value_needs(inner),
        Expr::TruthTest(test) => match (test.truth, test.negated) {
            (Some(true), false) => truth_needs(&test.expr),
            (Some(false), false) | (None, true) => value_needs(&test.expr),
            _ => Absent::default(),
        },
        other => value_needs(other),
    })
}

/// What a value needs not to be NULL.
fn value_needs(value: &Expr) -> Absent {
    with_stack(|| match value {
        Expr::Column(column) => Absent {
            sets: vec![BTreeSet::from([column.clone()])],
        },
        Expr::Alias(alias) => value_needs(&alias.expr),
        Expr::Cast(cast) => value_needs(&cast.expr),
        Expr::Not(inner) => value_needs(inner),
        Expr::InList(list) => value_needs(&list.expr),
        Expr::Like(like) => all_of([&*like.expr, &*like.pattern].into_iter()),
        // Both sides must be known, or one of them decides.
        Expr::BinaryExpr(BinaryExpr {
            op: op @ (Operator::And | Operator::Or),
            ..
        }) => any_of(operands_of(value, *op).into_iter().map(value_needs)),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) if op.returns_null_on_null() => {
            all_of([left.as_ref(), right.as_ref()].into_iter())
        }
        Expr::ScalarFunction(call) if call.func.is_strict() => all_of(call.args.iter()),
        _ => Absent::default(),
    })
}

fn all_of<'a>(values: impl Iterator<Item = &'a Expr>) -> Absent {
    let mut needed = Absent::default();
    for value in values {
        needed.extend(value_needs(value));
    }
    needed
}

/// Whether a join makes up rows of its left side, and of its right side.
pub(super) fn makes_up(join_type: JoinType) -> (bool, bool) {
    match join_type {
        JoinType::Left => (false, true),
        JoinType::Right => (true, false),
        JoinType::Full => (true, true),
        _ => (false, false),
    }
}
