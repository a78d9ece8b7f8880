//! What a query around does not ask for of the queries in its FROM: columns that are computed, and subqueries whose answers would be such.
//! They are not computed, so that they cannot fail, either, as in PostgreSQL; of a view that has many a query pays for those that it
//! names. Asked of every bound plan, before anyone decides how it runs; `columns` goes on from there, down to what is read.

use std::sync::Arc;

use super::column_demand::Asked;
use super::columns::{alias_over, join_over, sides, with_keys};
use crate::Result;
use crate::logical::dependent_join::is_volatile;
use crate::tree::{
    Column, DependentJoin, Expr, Join, Plan, Projection, SubPlan, SubPlanKind, Transformed, TreeNode, lit,
    with_stack,
};

/// The plan without what is computed below for nobody. Columns that are only passed on stay.
pub(crate) fn without_unasked(plan: Plan) -> Result<Plan> {
    let plan = plan.transform_down(|node| {
        node.map_subqueries(|subquery| without_unasked(subquery).map(Transformed::yes))
    })?;
    let plan = plan.data;
    if !plan.exists(|node| Ok(matches!(node, Plan::SubqueryAlias(alias) if computes(&alias.input))))? {
        return Ok(plan);
    }
    let all = Asked::all(plan.schema());
    asked_of(plan, &all)
}

/// Whether a query computes columns, under conditions, an order or a limit.
fn computes(plan: &Plan) -> bool {
    match plan {
        Plan::Projection(projection) => {
            projection.expr.iter().any(|expr| passed_column(expr).is_none()) || computes(&projection.input)
        }
        Plan::DependentJoin(_) => true,
        Plan::Filter(filter) => computes(&filter.input),
        Plan::Sort(sort) => computes(&sort.input),
        Plan::Limit(limit) => computes(&limit.input),
        Plan::SubqueryAlias(alias) => computes(&alias.input),
        _ => false,
    }
}

/// The column of the input that an output is, by whatever name.
fn passed_column(expr: &Expr) -> Option<&Column> {
    match expr.unnamed() {
        Expr::Column(column) => Some(column),
        _ => None,
    }
}

/// Whether a column of these rows is computed below: by a query in FROM, or as the answer of a subquery.
fn is_computed(plan: &Plan, column: &Column) -> bool {
    match plan {
        Plan::DependentJoin(join) => {
            let is_named = |sub_plan: &SubPlan| {
                !matches!(sub_plan.kind, SubPlanKind::Rows { .. }) && sub_plan.name == column.name
            };
            join.sub_plans.iter().any(is_named) || is_computed(&join.input, column)
        }
        Plan::Projection(projection) => match projection.schema.maybe_index_of_column(column) {
            Some(at) => match passed_column(&projection.expr[at]) {
                Some(passed) => is_computed(&projection.input, passed),
                None => true,
            },
            None => false,
        },
        Plan::SubqueryAlias(alias) => match alias.schema.maybe_index_of_column(column) {
            Some(at) => {
                let input = alias.input.schema();
                is_computed(&alias.input, &Column::from(input.qualified_field(at)))
            }
            None => false,
        },
        Plan::Join(join) => is_computed(&join.left, column) || is_computed(&join.right, column),
        Plan::Filter(filter) => is_computed(&filter.input, column),
        Plan::Sort(sort) => is_computed(&sort.input, column),
        Plan::Limit(limit) => is_computed(&limit.input, column),
        _ => false,
    }
}

fn asked_of(plan: Plan, asked: &Asked) -> Result<Plan> {
    with_stack(|| match plan {
        Plan::Projection(projection) => of_projection(projection, asked),
        Plan::SubqueryAlias(mut alias) => {
            let input = input_of(std::mem::take(&mut alias.input), asked)?;
            alias_over(alias, input)
        }
        Plan::DependentJoin(join) => of_dependent_join(join, asked),
        Plan::Join(join) => of_join(join, asked),
        Plan::Filter(mut filter) => {
            let mut below = Asked::of(asked.columns().to_vec(), false);
            below.add([&filter.predicate], filter.input.schema());
            filter.input = input_of(filter.input, &below)?;
            Ok(Plan::Filter(filter))
        }
        Plan::Sort(mut sort) => {
            let mut below = Asked::of(asked.columns().to_vec(), false);
            below.add(sort.expr.iter().map(|key| &key.expr), sort.input.schema());
            sort.input = input_of(sort.input, &below)?;
            Ok(Plan::Sort(sort))
        }
        Plan::Limit(mut limit) => {
            limit.input = input_of(limit.input, asked)?;
            Ok(Plan::Limit(limit))
        }
        Plan::Aggregate(mut aggregate) => {
            let exprs = aggregate.group_expr.iter().chain(&aggregate.aggr_expr);
            let below = Asked::by(exprs, aggregate.input.schema(), false);
            aggregate.input = input_of(aggregate.input, &below)?;
            Ok(Plan::Aggregate(aggregate))
        }
        plan => {
            let below = plan.map_children(|input| {
                let all = Asked::all(input.schema());
                asked_of(input, &all).map(Transformed::yes)
            })?;
            Ok(below.data)
        }
    })
}

fn input_of(input: Arc<Plan>, asked: &Asked) -> Result<Arc<Plan>> {
    asked_of(Arc::unwrap_or_clone(input), asked).map(Arc::new)
}

fn of_projection(projection: Projection, asked: &Asked) -> Result<Plan> {
    // One that is volatile is computed for each row, whoever asks.
    let stays = |at: &usize| {
        let expr = &projection.expr[*at];
        let is_passed = passed_column(expr).is_some_and(|column| !is_computed(&projection.input, column));
        asked.columns().contains(at) || is_passed || expr.is_volatile()
    };
    let kept = Asked::of((0..projection.expr.len()).filter(stays).collect(), false);
    let is_whole = kept.columns().len() == projection.expr.len();
    let exprs = match kept.columns() {
        _ if is_whole => projection.expr,
        // Of rows without columns it is not known how many there are.
        [] => vec![lit(true).alias("?unasked")],
        _ => kept.taken(&projection.expr),
    };
    let below = Asked::by(&exprs, projection.input.schema(), false);
    let input = input_of(projection.input, &below)?;
    Ok(Plan::Projection(match is_whole {
        true => Projection::with_schema(exprs, input, projection.schema),
        false => Projection::try_new(exprs, input)?,
    }))
}

/// Rows of a lateral join stay, for they decide how many rows there are.
fn of_dependent_join(join: DependentJoin, asked: &Asked) -> Result<Plan> {
    let mut at = join.input.schema().fields().len();
    let (passed, _) = asked.split(at);
    let mut kept = Vec::with_capacity(join.sub_plans.len());
    for sub_plan in join.sub_plans {
        let (columns, is_rows) = match &sub_plan.kind {
            SubPlanKind::Rows { schema, .. } => (schema.fields().len(), true),
            _ => (1, false),
        };
        if is_rows || asked.columns().contains(&at) || is_volatile(&sub_plan.plan)? {
            kept.push(sub_plan);
        }
        at += columns;
    }
    let mut below = Asked::of(passed, false);
    for sub_plan in &kept {
        below.add(sub_plan.expressions(), join.input.schema());
    }
    let input = input_of(join.input, &below)?;
    Ok(match kept.is_empty() {
        true => Arc::unwrap_or_clone(input),
        false => Plan::DependentJoin(DependentJoin::new(input, kept)),
    })
}

fn of_join(join: Join, asked: &Asked) -> Result<Plan> {
    let (left, right) = with_keys(&join, sides(&join, asked), (false, false));
    join_over(join, |l, r| Ok((input_of(l, &left)?, input_of(r, &right)?)))
}
