//! The rule `limits`: what a LIMIT leaves of rows, whatever gives these need not give more of: a sort keeps the first, a scan stops, the
//! parts of a union and the side of an outer join that stays give as many each. Counts that are computed at run time stay where they are.

use std::sync::Arc;

use super::Rewriting;
use super::empty_relations::nothing;
use crate::Result;
use crate::tree::{
    Expr, Join, JoinType, Limit, Plan, RowCount, Transformed, TransformedResult, TreeNode, lit,
};

/// Rows left out, and how many are taken then: all, without a count.
#[derive(Clone, Copy)]
struct Counts {
    skip: usize,
    fetch: Option<usize>,
}

impl Counts {
    /// `None`: they are known at run time only.
    fn of(limit: &Limit) -> Option<Counts> {
        let skip = match limit.skip_count() {
            RowCount::Known(skip) => skip,
            RowCount::None => 0,
            RowCount::Open => return None,
        };
        let fetch = match limit.fetch_count() {
            RowCount::Known(fetch) => Some(fetch),
            RowCount::None => None,
            RowCount::Open => return None,
        };
        Some(Counts { skip, fetch })
    }

    /// What is left of what these leave.
    fn then(self, outer: Counts) -> Counts {
        let left = self.fetch.map(|fetch| fetch.saturating_sub(outer.skip));
        Counts {
            skip: self.skip.saturating_add(outer.skip),
            fetch: match (left, outer.fetch) {
                (Some(left), Some(fetch)) => Some(left.min(fetch)),
                (left, fetch) => left.or(fetch),
            },
        }
    }

    /// Rows that are asked for. `None`: all.
    fn needed(self) -> Option<usize> {
        self.fetch.map(|fetch| match fetch {
            0 => 0,
            fetch => fetch.saturating_add(self.skip),
        })
    }

    fn over(self, input: Arc<Plan>) -> Plan {
        let count = |rows: usize| Box::new(lit(i64::try_from(rows).unwrap_or(i64::MAX)));
        Plan::Limit(Limit {
            skip: Some(count(self.skip)),
            fetch: self.fetch.map(count),
            input,
        })
    }
}

/// The plan with its limits known.
pub(super) fn limits(plan: Plan, _: &Rewriting<'_>) -> Result<Plan> {
    plan.transform_down(|node| match node {
        Plan::Limit(limit) => limited(limit).map(Transformed::yes),
        node => Ok(Transformed::no(node)),
    })
    .data()
}

fn limited(limit: Limit) -> Result<Plan> {
    let Some(mut counts) = Counts::of(&limit) else {
        return Ok(Plan::Limit(limit));
    };
    let mut input = limit.input;
    while let Plan::Limit(inner) = input.as_ref() {
        let Some(inner_counts) = Counts::of(inner) else {
            break;
        };
        counts = inner_counts.then(counts);
        input = Arc::clone(&inner.input);
    }
    match counts {
        Counts { fetch: Some(0), .. } => return Ok(nothing(Arc::clone(input.schema()))),
        Counts { skip: 0, fetch: None } => return Ok(Arc::unwrap_or_clone(input)),
        _ => {}
    }
    match counts.needed() {
        Some(rows) => giving(input, rows, counts),
        None => Ok(counts.over(input)),
    }
}

/// The limit over an input that is asked for so many rows, or under what gives a row for each.
fn giving(input: Arc<Plan>, rows: usize, counts: Counts) -> Result<Plan> {
    let fewer = |fetch: Option<usize>| Some(fetch.map_or(rows, |fetch| fetch.min(rows)));
    let part = |input: Arc<Plan>| {
        let all = Counts {
            skip: 0,
            fetch: Some(rows),
        };
        Arc::new(all.over(input))
    };
    let input = match Arc::unwrap_or_clone(input) {
        Plan::TableScan(mut scan) => {
            scan.fetch = fewer(scan.fetch);
            Plan::TableScan(scan)
        }
        Plan::Sort(mut sort) => {
            sort.fetch = fewer(sort.fetch);
            if counts.skip == 0 {
                return Ok(Plan::Sort(sort));
            }
            Plan::Sort(sort)
        }
        Plan::Union(mut union) => {
            union.inputs = union.inputs.into_iter().map(part).collect();
            Plan::Union(union)
        }
        Plan::Join(join) => Plan::Join(match join.join_type {
            JoinType::Left => Join {
                left: part(join.left),
                ..join
            },
            JoinType::Right => Join {
                right: part(join.right),
                ..join
            },
            JoinType::Inner if join.on.is_empty() && join.filter.is_none() => Join {
                left: part(join.left),
                right: part(join.right),
                ..join
            },
            _ => join,
        }),
        // The rows that are left out are computed, too, where that counts.
        Plan::Projection(mut projection)
            if counts.skip > 0 && projection.expr.iter().any(Expr::is_volatile) =>
        {
            projection.input = part(projection.input);
            Plan::Projection(projection)
        }
        Plan::Projection(mut projection) => {
            projection.input = Arc::new(counts.over(projection.input));
            return Ok(Plan::Projection(projection));
        }
        Plan::SubqueryAlias(mut alias) => {
            alias.input = Arc::new(counts.over(alias.input));
            return Ok(Plan::SubqueryAlias(alias));
        }
        input => input,
    };
    Ok(counts.over(Arc::new(input)))
}
