//! `JoinGroup`: relations that are joined in every way, what LEFT JOINs add to them, and the conditions on all of it; `Growing`: rows to
//! which they are looked up one after the other, each once something leads to it. So the order that FROM names them in does not matter.

use std::sync::Arc;

use super::catalog_lookup::CatalogLookup;
use super::step::Step;
use crate::logical::equality;
use crate::logical::evaluable::is_evaluable;
use crate::logical::lookup_join::{inner_of, is_over};
use crate::operators::computed::Computed;
use crate::operators::lookup::Lookup;
use crate::tree::{Expr, JoinType, NullEquality, Partners, Plan, RowSchema, split_conjunction};

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct JoinGroup {
    relations: Vec<Plan>,
    /// What is joined to all relations, and on which conditions; in their order.
    optional: Vec<(Plan, Vec<Expr>)>,
    conditions: Vec<Expr>,
}

impl JoinGroup {
    /// What the plan joins, and these conditions on it. `None`: it is something else, or conditions take more than rows.
    pub(super) fn read(plan: &Plan, conditions: Vec<Expr>) -> Option<JoinGroup> {
        JoinGroup::read_in(plan, conditions, Some)
    }

    /// The same with conditions that are first put in other terms. `None`: also when one cannot be.
    pub(super) fn read_in(
        plan: &Plan,
        conditions: Vec<Expr>,
        terms: impl Fn(Expr) -> Option<Expr>,
    ) -> Option<JoinGroup> {
        let mut group = JoinGroup {
            conditions,
            ..JoinGroup::default()
        };
        group.gather(plan)?;
        let settled = |condition: Expr| {
            let condition = terms(condition)?;
            let is_settled = is_evaluable(&condition) && !condition.is_volatile();
            is_settled.then_some(condition)
        };
        let all = |conditions: Vec<Expr>| conditions.into_iter().map(&settled).collect::<Option<Vec<_>>>();
        group.conditions = all(group.conditions)?;
        let optional = group.optional.into_iter();
        let optional = optional.map(|(relation, on)| Some((relation, all(on)?)));
        group.optional = optional.collect::<Option<_>>()?;
        Some(group)
    }

    fn gather(&mut self, plan: &Plan) -> Option<()> {
        match plan {
            Plan::Join(join)
                if join.on.is_empty() && join.null_equality == NullEquality::NullEqualsNothing =>
            {
                let on = join.filter.as_ref().map(split_conjunction).unwrap_or_default();
                let on: Vec<Expr> = on.into_iter().cloned().collect();
                self.gather(&join.left)?;
                match join.join_type {
                    JoinType::Inner => {
                        self.conditions.extend(on);
                        self.gather(&join.right)
                    }
                    JoinType::Left if is_relation(&join.right) => {
                        self.optional.push((join.right.as_ref().clone(), on));
                        Some(())
                    }
                    _ => None,
                }
            }
            Plan::Filter(filter) => {
                let conditions = split_conjunction(&filter.predicate).into_iter().cloned();
                self.conditions.extend(conditions);
                self.gather(&filter.input)
            }
            Plan::EmptyRelation(empty) if empty.produce_one_row => Some(()),
            relation if is_relation(relation) => {
                self.relations.push(relation.clone());
                Some(())
            }
            _ => None,
        }
    }

    /// Whether it is several relations, all of them ones that `is_one` knows.
    pub(super) fn joins_only(&self, is_one: impl Fn(&Plan) -> bool) -> bool {
        let optional = self.optional.iter().map(|(relation, _)| relation);
        let count = self.relations.len() + self.optional.len();
        count > 1 && !self.relations.is_empty() && self.relations.iter().chain(optional).all(is_one)
    }

    /// The relation that is to be read first, and the conditions on it alone: one of which a column is known, if there is any.
    pub(super) fn take_first(&mut self) -> (Plan, Vec<Expr>) {
        let nothing = RowSchema::empty();
        let ranks = self.relations.iter();
        let ranks: Vec<usize> = ranks.map(|relation| self.rank(relation, &nothing)).collect();
        let first = self.relations.remove(first_greatest(&ranks));
        let own = self.take_conditions(&[first.schema()]);
        (first, own)
    }

    /// How well conditions say which rows of a relation are wanted beside rows of `known`.
    fn rank(&self, relation: &Plan, known: &RowSchema) -> usize {
        let schema = relation.schema();
        let is_equal = |condition: &&Expr| {
            let sides = equality(condition);
            sides.is_some_and(|sides| {
                sides.into_iter().any(|(own, value)| {
                    matches!(own, Expr::Column(column) if schema.has_column(column))
                        && is_over(value, &[known])
                })
            })
        };
        let is_own = |condition: &&Expr| is_over(condition, &[schema]) && !condition.column_refs().is_empty();
        match () {
            () if self.conditions.iter().any(|condition| is_equal(&condition)) => 2,
            () if self.conditions.iter().any(|condition| is_own(&condition)) => 1,
            () => 0,
        }
    }

    /// Takes out the conditions that are over these schemas.
    fn take_conditions(&mut self, schemas: &[&RowSchema]) -> Vec<Expr> {
        let conditions = std::mem::take(&mut self.conditions).into_iter();
        let (taken, left) = conditions.partition(|condition| is_over(condition, schemas));
        self.conditions = left;
        taken
    }
}

/// Rows that become wider with each relation that is looked up.
pub(super) struct Growing {
    pub(super) steps: Vec<Step>,
    pub(super) schema: Arc<RowSchema>,
}

impl Growing {
    /// Looks up all relations of the group. `None`: some of them cannot be.
    pub(super) fn extend(&mut self, mut group: JoinGroup) -> Option<()> {
        let own = group.take_conditions(&[&self.schema]);
        self.filter(&own)?;
        while !group.relations.is_empty() {
            let ranks = group.relations.iter();
            let ranks: Vec<usize> = ranks.map(|relation| group.rank(relation, &self.schema)).collect();
            let relation = group.relations.remove(first_greatest(&ranks));
            let conditions = group.take_conditions(&[&self.schema, relation.schema()]);
            self.look_up(&relation, conditions, Partners::Needed)?;
        }
        for (relation, on) in std::mem::take(&mut group.optional) {
            self.look_up(&relation, on, Partners::OrNone)?;
        }
        self.filter(&group.conditions)
    }

    /// Whether all tables that it looks up are reached by keys that find one row.
    pub(super) fn is_cheap(&self) -> bool {
        self.steps.iter().all(|step| match step {
            Step::Lookup(lookup) => lookup.is_of_one_row(),
            _ => true,
        })
    }

    fn filter(&mut self, conditions: &[Expr]) -> Option<()> {
        for condition in conditions {
            let condition = Computed::in_statement(condition, &self.schema)?;
            self.steps.push(Step::Filter(condition));
        }
        Some(())
    }

    fn look_up(&mut self, relation: &Plan, conditions: Vec<Expr>, partners: Partners) -> Option<()> {
        let joined = Arc::new(self.schema.join(relation.schema()));
        let step = match CatalogLookup::new(relation, &self.schema, partners, &conditions) {
            Some(lookup) => Step::CatalogLookup(Box::new(lookup)),
            None => {
                let mut on = conditions;
                let inner = inner_of(relation, &self.schema, &mut on)?;
                Step::Lookup(Box::new(Lookup::new(
                    inner,
                    &self.schema,
                    &joined,
                    partners,
                    &on,
                )?))
            }
        };
        self.steps.push(step);
        self.schema = joined;
        Some(())
    }
}

/// Where the greatest stands first.
fn first_greatest(ranks: &[usize]) -> usize {
    let greatest = ranks.iter().max();
    let first = ranks.iter().position(|rank| Some(rank) == greatest);
    first.unwrap_or(0)
}

/// Whether a plan is a relation as it stands.
fn is_relation(plan: &Plan) -> bool {
    match plan {
        Plan::TableScan(_) => true,
        Plan::SubqueryAlias(alias) => is_relation(&alias.input),
        _ => false,
    }
}
