//! `InnerJoins`: relations under inner joins and the conditions of all of these; `Joined`: some of them joined, in any order.

use std::sync::Arc;

use super::inner::is_over;
use super::node::look_up;
use crate::logical::equal_columns::EqualColumns;
use crate::logical::equality;
use crate::tree::{
    Expr, Join, JoinType, NullEquality, Partners, Plan, Projection, RowSchema, conjunction, equal_key_pair,
    split_conjunction_owned,
};

/// Relations under inner joins.
#[derive(Default)]
pub(super) struct InnerJoins {
    pub(super) relations: Vec<Plan>,
    /// The conditions of all the joins.
    pub(super) conditions: Vec<Expr>,
}

/// Relations so far joined, and what is left to join.
#[derive(Clone)]
pub(super) struct Joined {
    pub(super) plan: Plan,
    pub(super) is_bounded: bool,
    pub(super) lookups: usize,
    /// Places among the relations.
    pub(super) left: Vec<usize>,
    pub(super) conditions: Vec<Expr>,
}

impl InnerJoins {
    /// `None`: it is no inner join.
    pub(super) fn of(plan: &Plan) -> Option<InnerJoins> {
        let mut joins = InnerJoins::default();
        joins.add(plan);
        (joins.relations.len() > 1).then_some(joins)
    }

    fn add(&mut self, plan: &Plan) {
        match plan {
            Plan::Join(join) if is_inner_join(join) => {
                self.add(&join.left);
                self.add(&join.right);
                self.conditions.extend(conditions(join).into_iter().flatten());
            }
            Plan::Projection(projection) if is_selection(projection) => self.add(&projection.input),
            relation => self.relations.push(relation.clone()),
        }
    }
}

impl InnerJoins {
    /// The columns that the conditions make equal, and the other conditions.
    pub(super) fn equated(&self) -> (EqualColumns, Vec<Expr>) {
        let (mut equal, mut others) = (EqualColumns::default(), Vec::new());
        for condition in &self.conditions {
            match equality(condition) {
                Some([(Expr::Column(one), Expr::Column(other)), _]) => equal.add(one, other),
                _ => others.push(condition.clone()),
            }
        }
        (equal, others)
    }
}

impl Joined {
    /// One relation alone, made by this plan.
    pub(super) fn beginning_with(plan: Plan, joins: &InnerJoins, at: usize) -> Joined {
        Joined {
            plan,
            is_bounded: true,
            lookups: 0,
            left: (0..joins.relations.len()).filter(|left| *left != at).collect(),
            conditions: joins.conditions.clone(),
        }
    }

    /// All of it, with the conditions that are left and the columns that the schema has.
    pub(super) fn finished(self, schema: &RowSchema) -> Option<Plan> {
        let whole = match conjunction(self.conditions) {
            Some(condition) => self.plan.filter(condition),
            None => self.plan,
        };
        selected(whole, schema)
    }

    /// With a relation that is looked up for the rows so far. `None`: no key leads to it.
    pub(super) fn looking_up(mut self, relation: &Plan, at: usize) -> Option<Joined> {
        let conditions = self.take_conditions(relation);
        self.plan = look_up(self.plan, relation, Partners::Needed, conditions)?;
        self.left.retain(|left| *left != at);
        self.lookups += 1;
        Some(self)
    }

    /// With a relation that is read by itself.
    pub(super) fn joining(mut self, relation: &Plan, at: usize, is_bounded: bool) -> Joined {
        let (mut on, mut others) = (Vec::new(), Vec::new());
        for condition in self.take_conditions(relation) {
            let (own, other) = (self.plan.schema(), relation.schema());
            let pair =
                equality(&condition).and_then(|[(left, right), _]| equal_key_pair(left, right, own, other));
            match pair {
                Some(pair) => on.push(pair),
                None => others.push(condition),
            }
        }
        let (left, right) = (Arc::new(self.plan), Arc::new(relation.clone()));
        self.plan = Plan::Join(Join::new(left, right, on, conjunction(others), JoinType::Inner));
        self.left.retain(|left| *left != at);
        self.is_bounded &= is_bounded;
        self
    }

    /// With the side that the last join keeps in memory: what was joined before it, or the relation that it joined.
    pub(super) fn keeping(mut self, is_joined: bool) -> Joined {
        if let Plan::Join(join) = self.plan {
            let sides = match is_joined {
                true => join,
                false => {
                    let (left, right) = (Arc::clone(&join.right), Arc::clone(&join.left));
                    let on = join.on.iter().map(|(left, right)| (right.clone(), left.clone()));
                    Join::new(left, right, on.collect(), join.filter.clone(), JoinType::Inner)
                }
            };
            self.plan = Plan::Join(Join {
                keeps_left: true,
                ..sides
            });
        }
        self
    }

    /// The conditions that can be checked once the relation is there.
    fn take_conditions(&mut self, relation: &Plan) -> Vec<Expr> {
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

/// The side of a join that must stay, the other one, and what becomes of rows of the first. `None`: there is no such side.
pub(super) fn kept_side(join: &Join) -> Option<(&Arc<Plan>, &Arc<Plan>, Partners)> {
    Some(match join.join_type {
        JoinType::Left => (&join.left, &join.right, Partners::OrNone),
        JoinType::LeftSemi => (&join.left, &join.right, Partners::Exist),
        JoinType::LeftAnti if !join.null_aware => (&join.left, &join.right, Partners::Miss),
        JoinType::Right => (&join.right, &join.left, Partners::OrNone),
        JoinType::RightSemi => (&join.right, &join.left, Partners::Exist),
        _ => return None,
    })
}

/// Whether it may be made in any order with others.
pub(super) fn is_inner_join(join: &Join) -> bool {
    join.join_type == JoinType::Inner && conditions(join).is_some()
}

/// Whether a projection only leaves columns out, or puts them into another order.
pub(crate) fn is_selection(projection: &Projection) -> bool {
    let mut exprs = projection.expr.iter();
    exprs.all(|expr| matches!(expr, Expr::Column(_))) && matches!(*projection.input, Plan::Join(_))
}

/// The plan with its columns as the schema has them.
pub(super) fn selected(plan: Plan, schema: &RowSchema) -> Option<Plan> {
    if plan.schema().columns() == schema.columns() {
        return Some(plan);
    }
    let columns = schema.columns().into_iter().map(Expr::Column);
    Projection::try_new(columns.collect(), Arc::new(plan))
        .map(Plan::Projection)
        .ok()
}
