//! `first_of_parts`: the first rows of a union in some order are made of the first of each of its parts, which a key may give it as they are. So
//! with the partitions of a table. What the rewriter's rule `first_rows` does to plans that are rewritten. A part has OFFSET and LIMIT of the
//! whole, and leaves nothing out for OFFSET (`Append::give_skipped`).

use std::sync::Arc;

use super::asked_of_parts::Asked;
use crate::logical::rewrite::FIRST_ROWS_MAX;
use crate::tree::{Limit, OrderKey, Plan, Projection, RowCount, Sort, SubqueryAlias, Union};

/// What a limit is over, if that is a sorted union, with the parts limited, too; `None`: it is something else.
pub(super) fn first_of_parts(limit: &Limit) -> Option<Plan> {
    let is_few = match (limit.fetch_count(), limit.skip_count()) {
        (RowCount::None, _) => false,
        (RowCount::Known(fetch), RowCount::Known(skip)) => fetch.saturating_add(skip) <= FIRST_ROWS_MAX,
        (RowCount::Known(rows), _) | (_, RowCount::Known(rows)) => rows <= FIRST_ROWS_MAX,
        (RowCount::Open, _) => true,
    };
    is_few.then(|| sorted(&limit.input, limit))?
}

/// The plan down to the sort, and that over limited parts.
fn sorted(plan: &Plan, limit: &Limit) -> Option<Plan> {
    match plan {
        Plan::Sort(sort) if sort.fetch.is_none() => {
            let keys = sort.expr.iter().map(|key| key.expr.clone());
            let asked = Asked {
                exprs: keys.collect(),
                conditions: Vec::new(),
            };
            let input = Arc::new(with_parts_limited(&sort.input, asked, (sort, limit))?);
            Some(Plan::Sort(Sort {
                input,
                ..sort.clone()
            }))
        }
        // Conditions on sorted rows stand above the sort.
        Plan::SubqueryAlias(_) | Plan::Projection(_) => rebuilt(plan, |input| sorted(input, limit)),
        _ => None,
    }
}

fn with_parts_limited(plan: &Plan, asked: Asked, (sort, limit): (&Sort, &Limit)) -> Option<Plan> {
    if let Plan::Union(union) = plan {
        return limited(union, &asked, (sort, limit));
    }
    let (asked, input) = asked.below(plan)?;
    match plan {
        // It is asked of the parts.
        Plan::Filter(_) => with_parts_limited(input, asked, (sort, limit)),
        _ => rebuilt(plan, |input| with_parts_limited(input, asked, (sort, limit))),
    }
}

/// The same node over something else with the same columns.
fn rebuilt(plan: &Plan, input: impl FnOnce(&Plan) -> Option<Plan>) -> Option<Plan> {
    Some(match plan {
        Plan::SubqueryAlias(alias) => Plan::SubqueryAlias(SubqueryAlias {
            input: Arc::new(input(&alias.input)?),
            ..alias.clone()
        }),
        Plan::Projection(projection) => Plan::Projection(Projection::with_schema(
            projection.expr.clone(),
            Arc::new(input(&projection.input)?),
            Arc::clone(&projection.schema),
        )),
        _ => return None,
    })
}

fn limited(union: &Union, asked: &Asked, (sort, limit): (&Sort, &Limit)) -> Option<Plan> {
    let parts = asked.of_parts(union)?.into_iter().map(|(input, keys)| {
        let by = keys.into_iter().zip(&sort.expr);
        let by = by.map(|(key, of)| OrderKey::new(key, of.asc, of.nulls_first));
        let sorted = Plan::Sort(Sort {
            expr: by.collect(),
            input,
            fetch: None,
        });
        Arc::new(Plan::Limit(Limit {
            skip: limit.skip.clone(),
            fetch: limit.fetch.clone(),
            input: Arc::new(sorted),
        }))
    });
    Some(Plan::Union(Union {
        inputs: parts.collect(),
        schema: Arc::clone(&union.schema),
    }))
}
