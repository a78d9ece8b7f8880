//! Which joins of a rewritten plan are lookups, and in which order inner joins are made: by the form of the statement, as long as
//! what is looked up is not most of a table (`sizes`).
//!
//! Rows that are bounded (`cardinality_bound`) say what is looked up: in a join whose other side must stay (LEFT JOIN, EXISTS) they are
//! that other side; of relations under inner joins one that is bounded is read first, and then whichever a key leads to
//! from those so far, in the order in which they are written. The first is that from which most can be looked up, then that
//! which is bounded most closely, then that which is written first.

use std::cell::Cell;
use std::cmp::Reverse;
use std::sync::Arc;

use super::cardinality_bound::{CountedRows, bound_of};
use super::cheapest_order::cheapest_order;
use super::inner::is_over;
use super::inner_joins::{InnerJoins, Joined, conditions, is_inner_join, is_selection, kept_side, selected};
use super::node::look_up;
use super::sizes::Sizes;
use crate::Result;
use crate::logical::stored_table::judge_scan;
use crate::logical::unique_columns::unique_columns;
use crate::system::StatementContext;
use crate::tree::{Column, Expr, Join, JoinType, Partners, Plan, Projection, Transformed, TreeNode};

/// The plan with lookups where they serve, by its form and by how many rows there are to look up, and with other inner joins in the order
/// that is likely to cost least. Errors: those of reading what is known of the tables.
pub(crate) async fn with_join_order(ctx: &StatementContext, plan: Plan) -> Result<Plan> {
    let mut sizes = Sizes::of(ctx, &plan).await?;
    let (plan, is_open) = ordered(ctx, plan, &sizes)?;
    if !is_open {
        return Ok(plan);
    }
    sizes.judge_scans(ctx, &plan).await?;
    match sizes.are_judged() {
        true => ordered(ctx, plan, &sizes).map(|(plan, _)| plan),
        false => Ok(plan),
    }
}

/// The plan with lookups where its form alone says that they serve.
pub(crate) fn with_lookups(ctx: &StatementContext, plan: Plan) -> Result<Plan> {
    ordered(ctx, plan, &Sizes::default()).map(|(plan, _)| plan)
}

/// And whether there are joins of which the order is open.
fn ordered(ctx: &StatementContext, plan: Plan, sizes: &Sizes) -> Result<(Plan, bool)> {
    let planner = JoinOrder {
        ctx,
        few: CountedRows {
            limit_max: ctx.settings.multi_get_keys_max,
            sort_max: ctx.settings.multi_get_keys_max,
        },
        sizes,
        is_open: Cell::new(false),
    };
    let plan = planner.rewritten(plan, false)?.data;
    Ok((plan, planner.is_open.get()))
}

struct JoinOrder<'a> {
    ctx: &'a StatementContext,
    /// Rows that a count may leave to bound what is looked up for them.
    few: CountedRows,
    /// What is known of the relations; of those that nothing is known of, the form of the statement decides.
    sizes: &'a Sizes,
    /// Whether there are inner joins without lookups.
    is_open: Cell<bool>,
}

impl JoinOrder<'_> {
    /// `is_part`: inner joins around it take its relations for theirs, if it is one.
    fn rewritten(&self, plan: Plan, is_part: bool) -> Result<Transformed<Plan>> {
        let has_parts = match &plan {
            Plan::Join(join) => is_inner_join(join),
            Plan::Projection(projection) => is_part && is_selection(projection),
            _ => false,
        };
        let plan = plan
            .map_subqueries(|subquery| self.rewritten(subquery, false))?
            .transform_data(|plan| plan.map_children(|child| self.rewritten(child, has_parts)))?;
        plan.transform_data(|plan| {
            let Plan::Join(join) = &plan else {
                return Ok(Transformed::no(plan));
            };
            let joined = match join.join_type {
                JoinType::Inner if is_part && has_parts => None,
                JoinType::Inner => self.inner_joins(&plan),
                _ => self.outer_join(join).or_else(|| self.semi_join(join)),
            };
            Ok(joined.map_or_else(|| Transformed::no(plan), Transformed::yes))
        })
    }

    /// Whether it is for bounded rows to say what is looked up of the inner relation. What is refused by itself stays so beside the first rows
    /// in an order.
    fn serves(&self, outer: &Plan, inner: &Plan) -> bool {
        let by_limits = CountedRows {
            sort_max: 0,
            ..self.few
        };
        let may_be_read = || match inner.only_scan().map(|scan| judge_scan(self.ctx, scan)) {
            Some(Ok(path)) => !path.is_some_and(|path| path.is_small_scan()),
            Some(Err(_)) => false,
            None => true,
        };
        self.sizes.pays(outer, inner) && (bound_of(outer, by_limits).is_some() || may_be_read())
    }

    /// A join of which one side must stay, as a lookup of the other. `None`: no key serves it.
    fn outer_join(&self, join: &Join) -> Option<Plan> {
        let (outer, inner, partners) = kept_side(join)?;
        bound_of(outer, self.few).filter(|_| self.serves(outer, inner))?;
        let joined = look_up(outer.as_ref().clone(), inner, partners, conditions(join)?)?;
        selected(joined, &join.schema)
    }

    /// The rows of a table that have a partner among bounded rows, looked up by what those rows say, each once. `None`: no key serves
    /// it, or more than equality is asked of a partner.
    fn semi_join(&self, join: &Join) -> Option<Plan> {
        let (kept, asked) = match join.join_type {
            JoinType::LeftSemi => (&join.left, &join.right),
            JoinType::RightSemi => (&join.right, &join.left),
            _ => return None,
        };
        bound_of(asked, self.few).filter(|_| join.filter.is_none() && self.serves(asked, kept))?;
        conditions(join)?;
        let (mut values, mut equal) = (Vec::new(), Vec::new());
        for (at, (left, right)) in join.on.iter().enumerate() {
            let (own, value) = match join.join_type {
                JoinType::LeftSemi => (left, right),
                _ => (right, left),
            };
            let name = format!("?partner {at}");
            values.push(value.clone().alias(&name));
            equal.push(own.clone().eq(Expr::Column(Column::new_unqualified(name))));
        }
        let values = asked.as_ref().clone().project(values).ok()?;
        let comes_once = unique_columns(&values)
            .iter()
            .any(|set| set.iter().all(|at| *at < equal.len()));
        let columns = values.schema().columns().into_iter().map(Expr::Column);
        let outer = match comes_once {
            true => values,
            false => values.clone().aggregate(columns.collect(), Vec::new()).ok()?,
        };
        let joined = look_up(outer, kept, Partners::Needed, equal)?;
        selected(joined, &join.schema)
    }

    /// Inner joins with at least one lookup among them, or else in the order that is likely to cost least. `None`: as they are.
    fn inner_joins(&self, plan: &Plan) -> Option<Plan> {
        let joins = InnerJoins::of(plan)?;
        let joined = self.with_most_lookups(plan, &joins);
        joined.or_else(|| {
            self.is_open.set(true);
            self.in_cheapest_order(plan, &joins)
        })
    }

    /// Inner joins, with at least one lookup among them. `None`: there is none to be had.
    fn with_most_lookups(&self, plan: &Plan, joins: &InnerJoins) -> Option<Plan> {
        let relations = joins.relations.iter().enumerate();
        let firsts = relations.filter_map(|(at, relation)| Some((at, bound_of(relation, self.few)?)));
        let tried = firsts.map(|(first, bound)| (self.joined(joins, first), bound));
        let tried = tried.filter(|(joined, _)| joined.lookups > 0);
        // Of those that are as good the first is taken.
        let (best, _) = tried.min_by_key(|(joined, bound)| (Reverse(joined.lookups), *bound))?;
        best.finished(plan.schema())
    }

    /// Inner joins without lookups. `None`: too little is known of what they join.
    fn in_cheapest_order(&self, plan: &Plan, joins: &InnerJoins) -> Option<Plan> {
        let (equal, others) = joins.equated();
        let steps = cheapest_order(&joins.relations, (&equal, &others), self.sizes)?;
        let (first, steps) = steps.split_first()?;
        let mut joined = Joined {
            plan: joins.relations[first.at].clone(),
            is_bounded: false,
            lookups: 0,
            left: (0..joins.relations.len()).filter(|at| *at != first.at).collect(),
            conditions: others,
        };
        for step in steps {
            let relation = &joins.relations[step.at];
            joined
                .conditions
                .extend(equal.between(joined.plan.schema(), relation.schema()));
            joined = joined
                .joining(relation, step.at, false)
                .keeping(step.keeps_joined);
            let left: Vec<&Plan> = joined.left.iter().map(|at| &joins.relations[*at]).collect();
            let is_needed = |column: &Column| {
                let mut conditions = joined.conditions.iter();
                plan.schema().has_column(column)
                    || left
                        .iter()
                        .any(|relation| equal.equal_in(column, relation.schema()).is_some())
                    || conditions.any(|condition| condition.column_refs().contains(column))
            };
            joined.plan = with_columns(joined.plan, is_needed)?;
        }
        joined.finished(plan.schema())
    }

    /// All relations joined, `first` first.
    fn joined(&self, joins: &InnerJoins, first: usize) -> Joined {
        let mut joined = Joined::beginning_with(joins.relations[first].clone(), joins, first);
        while !joined.left.is_empty() {
            let looked_up = |at: &usize| {
                let relation = &joins.relations[*at];
                let pays = self.serves(&joins.relations[first], relation);
                pays.then(|| joined.clone().looking_up(relation, *at)).flatten()
            };
            let next = match joined.is_bounded {
                true => joined.left.iter().find_map(looked_up),
                false => None,
            };
            joined = match next {
                Some(next) => next,
                None => {
                    let at = self.next_of(&joined, joins);
                    let relation = &joins.relations[at];
                    joined.joining(relation, at, bound_of(relation, self.few).is_some())
                }
            };
        }
        joined
    }

    /// The relation to be joined next when none can be looked up: a bounded one before others, one that a condition connects before
    /// others, and else as they are written.
    fn next_of(&self, joined: &Joined, joins: &InnerJoins) -> usize {
        let rank = |at: &&usize| {
            let relation = &joins.relations[**at];
            let connects = |condition: &Expr| {
                is_over(condition, &[joined.plan.schema(), relation.schema()])
                    && !is_over(condition, &[relation.schema()])
            };
            let is_connected = joined.conditions.iter().any(connects);
            (bound_of(relation, self.few).is_none(), !is_connected)
        };
        // There is one, and the first of the least is taken.
        joined.left.iter().min_by_key(rank).copied().unwrap_or_default()
    }
}

/// The plan with those of its columns that somebody needs.
fn with_columns(plan: Plan, is_needed: impl Fn(&Column) -> bool) -> Option<Plan> {
    let all = plan.schema().columns();
    let needed: Vec<Expr> = all
        .iter()
        .filter(|column| is_needed(column))
        .cloned()
        .map(Expr::Column)
        .collect();
    match needed.len() == all.len() {
        true => Some(plan),
        false => Projection::try_new(needed, Arc::new(plan))
            .map(Plan::Projection)
            .ok(),
    }
}
