//! `InnerJoins`: relations under inner joins, and the conditions of all of these, made anew: each relation is asked what concerns it alone,
//! the next to be joined is the first, as they are written, that an equality connects with those before it, and a condition is asked
//! where the last of its relations comes in.
//!
//! ```text
//!   a, b, c WHERE a.x = c.x AND c.y = b.y AND b.z > 1      Inner Join: c.y = b.y
//!                                                             Inner Join: a.x = c.x
//!                                                               a
//!                                                               c
//!                                                             b: b.z > 1
//! ```

use std::sync::Arc;

use super::inference::{alternatives, said_of};
use super::operands::{operands, operands_of, said_once};
use super::scan_filters::filtered;
use super::{is_asked_by_join, is_of_each_row};
use crate::Result;
use crate::logical::equal_columns::EqualColumns;
use crate::logical::equality;
use crate::tree::{
    Column, Expr, Join, JoinType, NullEquality, Operator, Plan, Projection, RowSchemaRef, conjunction,
    equal_key_pair, with_stack,
};

/// Relations under inner joins.
pub(super) struct InnerJoins {
    pub(super) relations: Vec<Relation>,
    /// Conditions between relations, and the places of these.
    between: Vec<(Expr, Vec<usize>)>,
    /// Conditions that no join asks.
    above: Vec<Expr>,
    /// Of the joins as they were written.
    schema: RowSchemaRef,
}

/// A relation, and what is asked of it alone.
pub(super) struct Relation {
    pub(super) plan: Plan,
    pub(super) conditions: Vec<Expr>,
}

/// Whether relations of the join may be joined in any order with others.
pub(super) fn is_inner(join: &Join) -> bool {
    let mut own = join
        .filter
        .iter()
        .flat_map(|filter| operands_of(filter, Operator::And));
    join.join_type == JoinType::Inner
        && join.null_equality == NullEquality::NullEqualsNothing
        && !own.any(is_of_each_row)
}

impl InnerJoins {
    /// The relations under a join that `is_inner`. `conditions`: those above it. `infers`: whether more is asked than is written.
    pub(super) fn of(join: Join, conditions: Vec<Expr>, infers: bool) -> InnerJoins {
        let mut joins = InnerJoins {
            relations: Vec::new(),
            between: Vec::new(),
            above: Vec::new(),
            schema: Arc::clone(&join.schema),
        };
        let mut all = Vec::new();
        joins.add(Plan::Join(join), &mut all);
        all.extend(conditions);
        for condition in said_once(all) {
            joins.place(condition);
        }
        if infers {
            joins.infer();
        }
        joins
    }

    /// The relations of a plan, and the conditions of its joins.
    fn add(&mut self, plan: Plan, conditions: &mut Vec<Expr>) {
        with_stack(|| match plan {
            Plan::Join(join) if is_inner(&join) => {
                self.add(Arc::unwrap_or_clone(join.left), conditions);
                self.add(Arc::unwrap_or_clone(join.right), conditions);
                conditions.extend(join.on.into_iter().map(|(left, right)| left.eq(right)));
                conditions.extend(
                    join.filter
                        .into_iter()
                        .flat_map(|filter| operands(filter, Operator::And)),
                );
            }
            Plan::Filter(filter)
                if matches!(filter.input.as_ref(), Plan::Join(join) if is_inner(join))
                    && !operands_of(&filter.predicate, Operator::And)
                        .into_iter()
                        .any(is_of_each_row) =>
            {
                self.add(Arc::unwrap_or_clone(filter.input), conditions);
                conditions.extend(operands(filter.predicate, Operator::And));
            }
            plan => self.relations.push(Relation {
                plan,
                conditions: Vec::new(),
            }),
        })
    }

    fn place(&mut self, condition: Expr) {
        let places = self.places(&condition);
        match places.as_slice() {
            [] if condition.is_volatile() => self.above.push(condition),
            [] => self.relations[0].conditions.push(condition),
            [only] => self.relations[*only].conditions.push(condition),
            _ if is_asked_by_join(&condition) => self.between.push((condition, places)),
            _ => self.above.push(condition),
        }
    }

    /// The places of the relations whose columns it is over.
    fn places(&self, condition: &Expr) -> Vec<usize> {
        let columns = condition.column_refs();
        let mut places = Vec::with_capacity(2);
        for column in columns {
            let at = self
                .relations
                .iter()
                .position(|relation| relation.plan.schema().has_column(column));
            places.extend(at);
        }
        places.sort_unstable();
        places.dedup();
        places
    }

    /// What one relation is asked of columns that equal another's, that is asked of it, too; and what every side of an OR says of one.
    fn infer(&mut self) {
        let mut equal = EqualColumns::default();
        for (condition, _) in &self.between {
            if let Some([(Expr::Column(left), Expr::Column(right)), _]) = equality(condition) {
                equal.add(left, right);
            }
        }
        let mut inferred: Vec<(usize, Expr)> = Vec::new();
        for (own, relation) in self.relations.iter().enumerate() {
            for condition in &relation.conditions {
                for (at, other) in self.relations.iter().enumerate().filter(|(at, _)| *at != own) {
                    let said = said_of(&equal, condition, other.plan.schema());
                    inferred.extend(said.map(|said| (at, said)));
                }
            }
        }
        for (condition, places) in &self.between {
            for at in places {
                let said = alternatives(condition, self.relations[*at].plan.schema());
                inferred.extend(said.map(|said| (*at, said)));
            }
        }
        for (at, condition) in inferred {
            let known = &mut self.relations[at].conditions;
            if !known.contains(&condition) {
                known.push(condition);
            }
        }
    }

    /// The joins of the relations, with the columns as they were.
    pub(super) fn joined(self) -> Result<Plan> {
        let mut left: Vec<usize> = (0..self.relations.len()).collect();
        let mut relations: Vec<Option<Plan>> = self
            .relations
            .into_iter()
            .map(|relation| Some(relation.plan))
            .collect();
        let mut between: Vec<Option<(Expr, Vec<usize>)>> = self.between.into_iter().map(Some).collect();
        let mut within = vec![left.remove(0)];
        let mut joined = Arc::new(relations[within[0]].take().unwrap_or_default());
        while !left.is_empty() {
            let next = next_connected(&left, &within, &joined, &relations, &between);
            let at = left.remove(next);
            within.push(at);
            let relation = Arc::new(relations[at].take().unwrap_or_default());
            let (mut on, mut others) = (Vec::new(), Vec::new());
            for slot in &mut between {
                let is_known = slot
                    .as_ref()
                    .is_some_and(|(_, places)| places.iter().all(|place| within.contains(place)));
                let Some((condition, _)) = slot.take_if(|_| is_known) else {
                    continue;
                };
                match key_pair(&condition, &joined, &relation) {
                    Some(pair) => on.push(pair),
                    None => others.push(condition),
                }
            }
            let condition = conjunction(others);
            joined = Arc::new(Plan::Join(Join::new(
                joined,
                relation,
                on,
                condition,
                JoinType::Inner,
            )));
        }
        let in_order = within.is_sorted();
        let plan = match in_order {
            true => Arc::unwrap_or_clone(joined),
            false => {
                // By name: those of the joins stand in another order.
                let columns = self.schema.columns().into_iter().map(Expr::Column);
                Plan::Projection(Projection::with_schema(columns.collect(), joined, self.schema))
            }
        };
        filtered(plan, self.above)
    }
}

/// The place in `left` of the relation that is joined next.
fn next_connected(
    left: &[usize],
    within: &[usize],
    joined: &Plan,
    relations: &[Option<Plan>],
    between: &[Option<(Expr, Vec<usize>)>],
) -> usize {
    let is_connected = |at: &usize| {
        let Some(relation) = &relations[*at] else {
            return false;
        };
        between.iter().flatten().any(|(condition, places)| {
            places.contains(at)
                && places.iter().all(|place| place == at || within.contains(place))
                && key_pair(condition, joined, relation).is_some()
        })
    };
    let connects = |at: &usize| {
        let Some(relation) = &relations[*at] else {
            return false;
        };
        let mut asked = between.iter().flatten();
        asked.any(|(condition, _)| completes_side(condition, joined, relation))
    };
    let mut found = left.iter().position(is_connected);
    found = found.or_else(|| left.iter().position(connects));
    found.unwrap_or(0)
}

/// Whether one side of an equality is over both relations and nothing else, the other over others: with the pairs of both the others are
/// then joined by it, in the place of all pairs with these.
fn completes_side(condition: &Expr, joined: &Plan, relation: &Plan) -> bool {
    let is_of = |plan: &Plan, column: &&Column| plan.schema().has_column(column);
    let Some(sides) = equality(condition) else {
        return false;
    };
    sides.into_iter().any(|(one, other)| {
        let (own, others) = (one.column_refs(), other.column_refs());
        let mut all = own.iter().copied();
        let is_complete = all.all(|column| is_of(joined, &column) || is_of(relation, &column));
        let has = |plan| own.iter().any(|column| is_of(plan, column));
        let is_apart = |column: &&Column| !is_of(joined, column) && !is_of(relation, column);
        is_complete && has(joined) && has(relation) && !others.is_empty() && others.iter().all(is_apart)
    })
}

/// The sides of an equality between relations by which these can be joined.
pub(super) fn key_pair(condition: &Expr, left: &Plan, right: &Plan) -> Option<(Expr, Expr)> {
    let [(one, other), _] = equality(condition)?;
    key_sides(one, other, left, right)
}

/// Two expressions as the first over one relation, the second over the other.
pub(super) fn key_sides(one: &Expr, other: &Expr, left: &Plan, right: &Plan) -> Option<(Expr, Expr)> {
    let (one, other) = equal_key_pair(one, other, left.schema(), right.schema())?;
    let is_plain = !one.is_volatile() && !other.is_volatile();
    is_plain.then_some((one, other))
}
