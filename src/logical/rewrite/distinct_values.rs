//! The rule `distinct_values`: aggregates of the distinct values of one expression, and of nothing else but sums, least and greatest values,
//! are aggregates of groups by that expression: groups spill, sets of values do not.
//!
//! ```text
//!   Aggregate: g, count(DISTINCT x), sum(y)      Projection: g, count(?value), sum(?part)
//!     t                                            Aggregate: g, count(?value), sum(?part)
//!                                                    Aggregate: g, x AS ?value, sum(y) AS ?part
//!                                                      t
//! ```

use std::sync::Arc;

use super::Rewriting;
use crate::Result;
use crate::tree::{
    Aggregate, AggregateFunction, Column, Expr, Plan, Projection, RowSchema, Transformed, TransformedResult,
    TreeNode,
};

/// Aggregates of aggregates that are those of all rows.
const OF_PARTS: [&str; 3] = ["sum", "min", "max"];

/// The plan with such aggregates so.
pub(super) fn distinct_values(plan: Plan, rewriting: &Rewriting<'_>) -> Result<Plan> {
    plan.transform_up(|node| match node {
        Plan::Aggregate(aggregate) => match distinct_of(&aggregate) {
            Some(value) => in_groups(&aggregate, value, rewriting).map(Transformed::yes),
            None => Ok(Transformed::no(Plan::Aggregate(aggregate))),
        },
        node => Ok(Transformed::no(node)),
    })
    .data()
}

/// The one expression of which distinct values are aggregated. `None`: there is none, or what else is asked needs all rows.
fn distinct_of(aggregate: &Aggregate) -> Option<&Expr> {
    let has_sets = |key: &Expr| matches!(key, Expr::GroupingSets(_));
    if aggregate.group_expr.iter().any(has_sets) {
        return None;
    }
    let schema = aggregate.input.schema();
    let mut value = None;
    for expr in &aggregate.aggr_expr {
        let Expr::AggregateFunction(call) = expr else {
            return None;
        };
        let params = &call.params;
        if params.filter.is_some() || !params.order_by.is_empty() {
            return None;
        }
        match (params.distinct, params.args.as_slice()) {
            (true, [own]) if sums_floats(call, own, schema) => return None,
            (true, [own]) if !own.is_volatile() && value.is_none_or(|value| value == own) => {
                value = Some(own)
            }
            (false, _) if OF_PARTS.contains(&call.func.name()) => {}
            _ => return None,
        }
    }
    value
}

/// Whether the digits of what is computed depend on the order of the values, which groups do not keep.
fn sums_floats(call: &AggregateFunction, value: &Expr, schema: &RowSchema) -> bool {
    let is_float = value.get_type(schema).is_ok_and(|ty| ty.is_floating());
    is_float && call.func.depends_on_order()
}

fn in_groups(aggregate: &Aggregate, value: &Expr, rewriting: &Rewriting<'_>) -> Result<Plan> {
    let column = |name: &str| Expr::Column(Column::new_unqualified(name));
    let (mut keys_below, mut keys) = (Vec::new(), Vec::new());
    for key in &aggregate.group_expr {
        match key {
            Expr::Column(_) => {
                keys_below.push(key.clone());
                keys.push(key.clone());
            }
            key => {
                let name = rewriting.name("key");
                keys_below.push(key.clone().unalias().alias(&name));
                keys.push(column(&name));
            }
        }
    }
    let value_name = rewriting.name("value");
    keys_below.push(value.clone().alias(&value_name));
    let (mut parts, mut calls) = (Vec::new(), Vec::new());
    for expr in &aggregate.aggr_expr {
        let Expr::AggregateFunction(call) = expr else {
            continue;
        };
        let argument = match call.params.distinct {
            true => column(&value_name),
            false => {
                let name = rewriting.name("part");
                parts.push(expr.clone().alias(&name));
                column(&name)
            }
        };
        let call = AggregateFunction::new(call.func.clone(), vec![argument], false, None, Vec::new());
        calls.push(Expr::AggregateFunction(call));
    }
    let groups = Aggregate::try_new(Arc::clone(&aggregate.input), keys_below, parts)?;
    let groups = Arc::new(Plan::Aggregate(groups));
    let whole = Arc::new(Plan::Aggregate(Aggregate::try_new(groups, keys, calls)?));
    let outputs = named_as(&whole, &aggregate.schema);
    Projection::try_new(outputs, whole).map(Plan::Projection)
}

/// The columns of a plan, by the names of a schema.
fn named_as(plan: &Plan, schema: &RowSchema) -> Vec<Expr> {
    let columns = plan.schema().columns().into_iter().zip(schema.columns());
    let named = columns.map(|(column, wanted)| match column == wanted {
        true => Expr::Column(column),
        false => Expr::Column(column).alias_qualified(wanted.relation, wanted.name),
    });
    named.collect()
}
