//! The rule `limits`: what a LIMIT leaves of rows, whatever gives these need not give more of: a sort keeps the first, a scan stops, the
//! parts of a union and the side of an outer join that stays give as many each. Counts that are computed at run time stay where they are.

use std::sync::Arc;

use datafusion_common::JoinType;
use datafusion_common::Result as DataFusionResult;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_expr::{FetchType, Join, Limit, LogicalPlan, SkipType, lit};

use super::Rewriting;
use super::empty_relations::nothing;

/// Rows left out, and how many are taken then: all, without a count.
#[derive(Clone, Copy)]
struct Counts {
    skip: usize,
    fetch: Option<usize>,
}

impl Counts {
    /// `None`: they are known at run time only.
    fn of(limit: &Limit) -> DataFusionResult<Option<Counts>> {
        Ok(match (limit.get_skip_type()?, limit.get_fetch_type()?) {
            (SkipType::Literal(skip), FetchType::Literal(fetch)) => Some(Counts { skip, fetch }),
            _ => None,
        })
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

    fn over(self, input: Arc<LogicalPlan>) -> LogicalPlan {
        let count = |rows: usize| Box::new(lit(i64::try_from(rows).unwrap_or(i64::MAX)));
        LogicalPlan::Limit(Limit {
            skip: Some(count(self.skip)),
            fetch: self.fetch.map(count),
            input,
        })
    }
}

/// The plan with its limits known.
pub(super) fn limits(plan: LogicalPlan, _: &Rewriting<'_>) -> DataFusionResult<LogicalPlan> {
    plan.transform_down(|node| match node {
        LogicalPlan::Limit(limit) => limited(limit).map(Transformed::yes),
        node => Ok(Transformed::no(node)),
    })
    .data()
}

fn limited(limit: Limit) -> DataFusionResult<LogicalPlan> {
    let Some(mut counts) = Counts::of(&limit)? else {
        return Ok(LogicalPlan::Limit(limit));
    };
    let mut input = limit.input;
    while let LogicalPlan::Limit(inner) = input.as_ref() {
        let Some(inner_counts) = Counts::of(inner)? else {
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
fn giving(input: Arc<LogicalPlan>, rows: usize, counts: Counts) -> DataFusionResult<LogicalPlan> {
    let fewer = |fetch: Option<usize>| Some(fetch.map_or(rows, |fetch| fetch.min(rows)));
    let part = |input: Arc<LogicalPlan>| {
        let all = Counts {
            skip: 0,
            fetch: Some(rows),
        };
        Arc::new(all.over(input))
    };
    let input = match Arc::unwrap_or_clone(input) {
        LogicalPlan::TableScan(mut scan) => {
            scan.fetch = fewer(scan.fetch);
            LogicalPlan::TableScan(scan)
        }
        LogicalPlan::Sort(mut sort) => {
            sort.fetch = fewer(sort.fetch);
            if counts.skip == 0 {
                return Ok(LogicalPlan::Sort(sort));
            }
            LogicalPlan::Sort(sort)
        }
        LogicalPlan::Union(mut union) => {
            union.inputs = union.inputs.into_iter().map(part).collect();
            LogicalPlan::Union(union)
        }
        LogicalPlan::Join(join) => LogicalPlan::Join(match join.join_type {
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
        LogicalPlan::Projection(mut projection) => {
            projection.input = Arc::new(counts.over(projection.input));
            return Ok(LogicalPlan::Projection(projection));
        }
        LogicalPlan::SubqueryAlias(mut alias) => {
            alias.input = Arc::new(counts.over(alias.input));
            return Ok(LogicalPlan::SubqueryAlias(alias));
        }
        input => input,
    };
    Ok(counts.over(Arc::new(input)))
}
