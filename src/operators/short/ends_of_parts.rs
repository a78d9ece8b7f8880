//! `ends_of_parts`: the least and the greatest values of a union's rows, and their number, are those of each of its parts, which a part may
//! know without reading more than the ends of its keys. So with the partitions of a table.

use std::sync::Arc;

use super::ShortPlan;
use super::asked_of_parts::{Asked, filtered};
use crate::tree::{Aggregate, Expr, Plan};

/// Chains that each give the aggregates of one part of the union that the aggregate is over, and are short where they need no more than
/// [`super::ends::Ends`]. `None`: it is over something else, or asks for more.
pub(super) fn ends_of_parts(aggregate: &Aggregate) -> Option<Vec<ShortPlan>> {
    if !aggregate.group_expr.is_empty() {
        return None;
    }
    let asked = Asked {
        exprs: aggregate.aggr_expr.clone(),
        conditions: Vec::new(),
    };
    let (asked, plan) = asked.of_source(&aggregate.input)?;
    let Plan::Union(union) = plan.as_ref() else {
        return None;
    };
    let parts = asked.of_parts(union)?.into_iter();
    parts
        .map(|(part, aggregates)| ends_of(&part, aggregates))
        .collect()
}

fn ends_of(part: &Arc<Plan>, exprs: Vec<Expr>) -> Option<ShortPlan> {
    let asked = Asked {
        exprs,
        conditions: Vec::new(),
    };
    let (asked, source) = asked.of_source(part)?;
    let rows = filtered(source, asked.conditions);
    let aggregate = Aggregate::try_new(rows, Vec::new(), asked.exprs).ok()?;
    ShortPlan::of(&Plan::Aggregate(aggregate))?.only_of_ends()
}
