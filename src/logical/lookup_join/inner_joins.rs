//! `InnerJoins`: relations under inner joins and the conditions of all of these; `Joined`: some of them joined, in any order.

use std::sync::Arc;

use datafusion_common::{JoinType, NullEquality};
use datafusion_expr::utils::{conjunction, find_valid_equijoin_key_pair, split_conjunction_owned};
use datafusion_expr::{Expr, Join, JoinConstraint, LogicalPlan, Projection};

use super::inner::is_over;
use super::node::look_up;
use super::partners::Partners;
use crate::logical::equality;

/// Relations under inner joins.
#[derive(Default)]
pub(super) struct InnerJoins {
    pub(super) relations: Vec<LogicalPlan>,
    /// The conditions of all the joins.
    pub(super) conditions: Vec<Expr>,
}

/// Relations so far joined, and what is left to join.
#[derive(Clone)]
pub(super) struct Joined {
    pub(super) plan: LogicalPlan,
    pub(super) is_bounded: bool,
    pub(super) lookups: usize,
    /// Places among the relations.
    pub(super) left: Vec<usize>,
    pub(super) conditions: Vec<Expr>,
}

impl InnerJoins {
    /// `None`: it is no inner join.
    pub(super) fn of(plan: &LogicalPlan) -> Option<InnerJoins> {
        let mut joins = InnerJoins::default();
        joins.add(plan);
        (joins.relations.len() > 1).then_some(joins)
    }

    fn add(&mut self, plan: &LogicalPlan) {
        match plan {
            LogicalPlan::Join(join) if is_inner_join(join) => {
                self.add(&join.left);
                self.add(&join.right);
                self.conditions.extend(conditions(join).into_iter().flatten());
            }
            LogicalPlan::Projection(projection) if is_selection(projection) => self.add(&projection.input),
            relation => self.relations.push(relation.clone()),
        }
    }
}

impl Joined {
    /// With a relation that is looked up for the rows so far. `None`: no key leads to it.
    pub(super) fn looking_up(mut self, relation: &LogicalPlan, at: usize) -> Option<Joined> {
        let conditions = self.take_conditions(relation);
        self.plan = look_up(self.plan, relation, Partners::Needed, conditions)?;
        self.left.retain(|left| *left != at);
        self.lookups += 1;
        Some(self)
    }

    /// With a relation that is read by itself.
    pub(super) fn joining(mut self, relation: &LogicalPlan, at: usize, is_bounded: bool) -> Option<Joined> {
        let (mut on, mut others) = (Vec::new(), Vec::new());
        for condition in self.take_conditions(relation) {
            let (own, other) = (self.plan.schema(), relation.schema());
            let pair = equality(&condition).and_then(|[(left, right), _]| {
                find_valid_equijoin_key_pair(left, right, own, other)
                    .ok()
                    .flatten()
            });
            match pair {
                Some(pair) => on.push(pair),
                None => others.push(condition),
            }
        }
        let join = Join::try_new(
            Arc::new(self.plan),
            Arc::new(relation.clone()),
            on,
            conjunction(others),
            JoinType::Inner,
            JoinConstraint::On,
            NullEquality::NullEqualsNothing,
            false,
        );
        self.plan = LogicalPlan::Join(join.ok()?);
        self.left.retain(|left| *left != at);
        self.is_bounded &= is_bounded;
        Some(self)
    }

    /// The conditions that can be checked once the relation is there.
    fn take_conditions(&mut self, relation: &LogicalPlan) -> Vec<Expr> {
        let all = std::mem::take(&mut self.conditions);
        let is_over = |condition: &Expr| is_over(condition, &[self.plan.schema(), relation.schema()]);
        let (taken, left): (Vec<Expr>, Vec<Expr>) = all.into_iter().partition(is_over);
        self.conditions = left;
        taken
    }
}

/// The conditions of a join. `None`: it asks for more than that they hold.
pub(super) fn conditions(join: &Join) -> Option<Vec<Expr>> {
    if join.null_equality != NullEquality::NullEqualsNothing {
        return None;
    }
    let equalities = join.on.iter().map(|(left, right)| left.clone().eq(right.clone()));
    let others = join.filter.clone().map(split_conjunction_owned);
    let conditions: Vec<Expr> = equalities.chain(others.into_iter().flatten()).collect();
    let is_volatile = conditions.iter().any(Expr::is_volatile);
    (!is_volatile).then_some(conditions)
}

/// Whether it may be made in any order with others.
pub(super) fn is_inner_join(join: &Join) -> bool {
    join.join_type == JoinType::Inner && conditions(join).is_some()
}

/// Whether a projection only leaves columns out, or puts them into another order.
pub(crate) fn is_selection(projection: &Projection) -> bool {
    let mut exprs = projection.expr.iter();
    exprs.all(|expr| matches!(expr, Expr::Column(_))) && matches!(*projection.input, LogicalPlan::Join(_))
}
