//! What the first rows in an order are made of, as what may be read in that order and left once there are enough of them ([`TopRows`]): the
//! table whose column comes first in the order is read first, and all that is joined is looked up for its rows, however many they turn out
//! to be. Whether a key gives the order, and how much of it is read before the other way is taken, the operators say. Called by the planner.
//!
//! ```text
//! Sort (o.at, first 3)                 TopRows
//!   Semi Join (o.id = l.order)    =>     Sort (o.at, first 3) as it stands
//!     Scan o                             LookupJoin (l, by l.order)
//!     Scan l                               Scan o
//! ```

use std::sync::Arc;

use super::cardinality_bound::{CountedRows, bound_of};
use super::inner_joins::{InnerJoins, Joined, conditions, is_inner_join, kept_side, selected};
use super::node::look_up;
use crate::Result;
use crate::catalog::TableDef;
use crate::logical::dependent_join::{has_expression, is_volatile};
use crate::logical::rewrite::FIRST_ROWS_MAX;
use crate::logical::stored_table::read_table;
use crate::plan::Bound;
use crate::system::StatementContext;
use crate::tree::{
    Aggregate, Column, DependentJoin, Expr, Filter, Join, Partners, Plan, Projection, Sort, SubqueryAlias,
    TopRows, Transformed, TransformedResult,
};

/// Rules by whose names it is left out with them, for tests.
const LEFT_OUT_WITH: [&str; 2] = ["first_rows", "all"];

/// The plan with such ways beside its sorts that keep few rows. Errors: those of a plan that does not fit together.
pub(crate) fn with_top_rows(ctx: &StatementContext, plan: Plan) -> Result<Plan> {
    if LEFT_OUT_WITH.contains(&&*ctx.settings.rewrite_rule_off) {
        return Ok(plan);
    }
    plan.transform_up_with_subqueries(|node| {
        let streamed = match &node {
            Plan::Sort(sort) => streamed_input(sort)?,
            _ => None,
        };
        Ok(match streamed {
            Some(streamed) => Transformed::yes(Plan::TopRows(TopRows {
                whole: Arc::new(node),
                streamed: Arc::new(streamed),
            })),
            None => Transformed::no(node),
        })
    })
    .data()
}

/// What is sorted, so that it may be left once there is enough of it. `None`: it cannot, or may not be asked twice.
fn streamed_input(sort: &Sort) -> Result<Option<Plan>> {
    let is_few = sort
        .fetch
        .is_some_and(|rows| (1..=FIRST_ROWS_MAX).contains(&rows));
    let Some(Expr::Column(first)) = sort.expr.first().filter(|_| is_few).map(|key| &key.expr) else {
        return Ok(None);
    };
    let Some(streamed) = streamed(&sort.input, first) else {
        return Ok(None);
    };
    let acts = |expr: &Expr| expr.is_acting_call() || expr.is_routine_call();
    let is_steady = !is_volatile(&sort.input)? && !has_expression(&sort.input, acts);
    Ok(is_steady.then_some(streamed))
}

/// The plan, whose rows come in the order in which those of the stored table do that this column is of. `None`: it takes in all of something
/// first, or more than one row of the table makes a row.
fn streamed(plan: &Plan, column: &Column) -> Option<Plan> {
    match plan {
        Plan::TableScan(scan) => {
            let table = read_table(scan).filter(|_| scan.fetch.is_none())?.table;
            is_of_key(&table, &column.name).then(|| plan.clone())
        }
        Plan::Filter(filter) => Some(Plan::Filter(Filter {
            predicate: filter.predicate.clone(),
            input: Arc::new(streamed(&filter.input, column)?),
        })),
        Plan::SubqueryAlias(alias) => {
            let at = alias.schema.maybe_index_of_column(column)?;
            let below = Column::from(alias.input.schema().qualified_field(at));
            Some(Plan::SubqueryAlias(SubqueryAlias {
                input: Arc::new(streamed(&alias.input, &below)?),
                ..alias.clone()
            }))
        }
        Plan::Projection(projection) => {
            let at = projection.schema.maybe_index_of_column(column)?;
            let below = plain_column(projection.expr.get(at)?)?;
            let is_list = |expr: &Expr| expr.has(|expr| matches!(expr, Expr::Unnest(_)));
            if projection.expr.iter().any(is_list) {
                return None;
            }
            Some(Plan::Projection(Projection {
                input: Arc::new(streamed(&projection.input, &below)?),
                ..projection.clone()
            }))
        }
        Plan::Aggregate(aggregate) => {
            let at = aggregate.schema.maybe_index_of_column(column)?;
            let below = plain_column(aggregate.group_expr.get(at)?)?;
            Some(Plan::Aggregate(Aggregate {
                input: Arc::new(streamed(&aggregate.input, &below)?),
                ..aggregate.clone()
            }))
        }
        Plan::DependentJoin(join) => Some(Plan::DependentJoin(DependentJoin {
            input: Arc::new(streamed(&join.input, column)?),
            ..join.clone()
        })),
        Plan::Join(join) if is_inner_join(join) => streamed_inner(plan, column),
        Plan::Join(join) => streamed_outer(join, column),
        _ => None,
    }
}

/// Whether a key of the table may give its rows in the order of a column.
fn is_of_key(table: &TableDef, column: &str) -> bool {
    let Some(at) = table.column_index(column) else {
        return false;
    };
    let mut keys = table.all_indexes().filter(|key| key.is_complete());
    keys.any(|key| key.columns.iter().any(|own| own.column == table.columns[at].id))
}

fn plain_column(expr: &Expr) -> Option<Column> {
    match expr.clone().unalias() {
        Expr::Column(column) => Some(column),
        _ => None,
    }
}

/// Inner joins, made by looking all but one of the relations up. `None`: some cannot be, or few rows of one are better read first.
fn streamed_inner(plan: &Plan, column: &Column) -> Option<Plan> {
    let joins = InnerJoins::of(plan)?;
    let is_there = |relation: &Plan| relation.schema().has_column(column);
    let first = joins.relations.iter().position(is_there)?;
    let streamed = streamed(&joins.relations[first], column)?;
    let mut joined = Joined::beginning_with(streamed, &joins, first);
    while !joined.left.is_empty() {
        let looked_up = |at: &usize| {
            let relation = &joins.relations[*at];
            match is_small(relation) {
                true => None,
                false => joined.clone().looking_up(relation, *at),
            }
        };
        joined = joined.left.iter().find_map(looked_up)?;
    }
    joined.finished(plan.schema())
}

/// Whether conditions pin what a relation gives by a key.
fn is_small(relation: &Plan) -> bool {
    matches!(
        bound_of(relation, CountedRows::NONE),
        Some(Bound::Points | Bound::Prefix)
    )
}

/// A join of which one side stays, as a lookup of the other.
fn streamed_outer(join: &Join, column: &Column) -> Option<Plan> {
    let (outer, inner, partners) = kept_side(join)?;
    if partners == Partners::Exist && is_small(inner) {
        return None;
    }
    let joined = look_up(streamed(outer, column)?, inner, partners, conditions(join)?)?;
    selected(joined, &join.schema)
}
