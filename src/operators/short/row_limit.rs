//! How many rows of a chain are wanted, as its LIMIT and OFFSET say.

use futures::{StreamExt, TryStreamExt};

use super::run::RunningStep;
use super::step::Step;
use crate::Result;
use crate::functions::LimitClause;
use crate::functions::evaluate::RowsWanted;
use crate::logical::limit_counts::limit_count;
use crate::logical::placeholder::Constants;
use crate::logical::rewrite::FIRST_ROWS_MAX;
use crate::scan::RowsStream;
use crate::tree::{Expr, Partners};

/// How many rows these steps take, if they say. `is_ordered`: a sort has nothing to do. Errors: 2201W, 2201X.
pub(super) fn rows_wanted(steps: &[Step], is_ordered: bool, constants: &Constants) -> Result<Option<usize>> {
    for step in steps {
        match step {
            Step::Project { .. } => {}
            Step::Sort(_) if is_ordered => {}
            Step::Limit { skip, fetch, .. } => {
                let (skip, fetch) = limit_counts(skip.as_ref(), fetch.as_ref(), constants)?;
                return Ok(fetch.map(|fetch| fetch.saturating_add(skip)));
            }
            // Rows stay as many as they are.
            Step::SubChain(chain) if chain.keeps_all() => {}
            // Rows may be left out that others have locked.
            Step::LockRows(_)
            | Step::SubChain(_)
            | Step::Sort(_)
            | Step::Filter(_)
            | Step::Beside { .. }
            | Step::Lookup(_)
            | Step::CatalogLookup(_)
            | Step::Lateral(_)
            | Step::Numbered { .. }
            | Step::Groups { .. }
            | Step::Totals { .. } => break,
        }
    }
    Ok(None)
}

/// Whether a limit may end the rows before all have come, of which nobody knows how many it takes: steps before it leave some out, or add
/// some. `is_ordered`: as in [`rows_wanted`].
pub(super) fn may_end_early(steps: &[Step], is_ordered: bool) -> bool {
    for step in steps {
        match step {
            Step::Limit { fetch, .. } => return fetch.is_some(),
            Step::Sort(_) if is_ordered => {}
            Step::Sort(_) | Step::Numbered { .. } | Step::Groups { .. } | Step::Totals { .. } => {
                return false;
            }
            Step::Project { .. }
            | Step::Filter(_)
            | Step::LockRows(_)
            | Step::Lookup(_)
            | Step::CatalogLookup(_)
            | Step::Lateral(_)
            | Step::SubChain(_)
            | Step::Beside { .. } => {}
        }
    }
    false
}

/// Whether a limit that takes few rows ends them, once they come in the order of the sort, before many more than it takes are read: steps
/// before it ask keys for what belongs to each row, or lock it, and none has a condition of which nobody knows what it leaves. Errors: 2201W,
/// 2201X.
pub(super) fn ends_soon(steps: &[Step], constants: &Constants) -> Result<bool> {
    for step in steps {
        match step {
            Step::Limit { skip, fetch, .. } => {
                let (skip, fetch) = limit_counts(skip.as_ref(), fetch.as_ref(), constants)?;
                return Ok(fetch.is_some_and(|fetch| fetch.saturating_add(skip) <= FIRST_ROWS_MAX));
            }
            Step::SubChain(chain) if !chain.keeps_all() => return Ok(false),
            Step::Lookup(lookup)
                if lookup.partners() != Partners::OrNone && !lookup.conditions().is_empty() =>
            {
                return Ok(false);
            }
            Step::Project { .. }
            | Step::Sort(_)
            | Step::LockRows(_)
            | Step::Lookup(_)
            | Step::Lateral(_)
            | Step::SubChain(_) => {}
            Step::Filter(_)
            | Step::CatalogLookup(_)
            | Step::Beside { .. }
            | Step::Numbered { .. }
            | Step::Groups { .. }
            | Step::Totals { .. } => return Ok(false),
        }
    }
    Ok(false)
}

/// Tells the steps before a limit that rows behind those which it takes are not wanted. `may_end`: perhaps nobody asks for all rows of the
/// last.
pub(super) fn note_ends(steps: &mut [RunningStep], may_end: bool) {
    let mut wanted = if may_end { Ahead::Some } else { Ahead::All };
    for step in steps.iter_mut().rev() {
        wanted = match (step, wanted) {
            (
                RunningStep::Limit {
                    skip,
                    left: Some(left),
                },
                _,
            ) => Ahead::AtMost(skip.saturating_add(*left)),
            (RunningStep::Limit { skip, left: None }, Ahead::AtMost(rows)) => {
                Ahead::AtMost(skip.saturating_add(rows))
            }
            (
                RunningStep::TopRows(_)
                | RunningStep::IncrementalSort(_)
                | RunningStep::Groups(_)
                | RunningStep::Totals(_)
                | RunningStep::Numbered(_),
                _,
            )
            | (_, Ahead::All) => Ahead::All,
            (RunningStep::Limit { .. }, Ahead::Some) => Ahead::Some,
            (RunningStep::Project(projection), Ahead::AtMost(rows)) => {
                projection.want(RowsWanted::at_most(rows));
                wanted
            }
            (RunningStep::Project(projection), Ahead::Some) => {
                projection.note_end();
                wanted
            }
            (RunningStep::SubChain(chain), Ahead::AtMost(rows)) if chain.keeps_all() => {
                chain.wanted = RowsWanted::at_most(rows);
                wanted
            }
            (RunningStep::Filter(filter), _) => {
                filter.note_end();
                Ahead::Some
            }
            (
                RunningStep::SubChain(_)
                | RunningStep::LockRows(_)
                | RunningStep::Lookup(_)
                | RunningStep::CatalogLookup(_)
                | RunningStep::Lateral(_)
                | RunningStep::Beside(_),
                _,
            ) => Ahead::Some,
        };
    }
}

/// How many of the rows that leave a step are wanted.
#[derive(Debug, Clone, Copy)]
enum Ahead {
    All,
    AtMost(usize),
    /// Nobody knows how many.
    Some,
}

/// Leaves out the first rows of a stream.
pub(super) fn skip_rows(stream: RowsStream, mut skip: usize) -> RowsStream {
    if skip == 0 {
        return stream;
    }
    let rest = stream.try_filter_map(move |rows| {
        let skipped = skip.min(rows.num_rows());
        skip -= skipped;
        let rows = rows.slice(skipped, rows.num_rows() - skipped);
        futures::future::ready(Ok((rows.num_rows() > 0).then_some(rows)))
    });
    rest.boxed()
}

/// Rows to leave out and, if there is a limit, rows to give. Errors: 2201W, 2201X.
pub(super) fn limit_counts(
    skip: Option<&Expr>,
    fetch: Option<&Expr>,
    constants: &Constants,
) -> Result<(usize, Option<usize>)> {
    // PostgreSQL looks at OFFSET first.
    let skip = limit_count(skip, constants, LimitClause::Offset)?;
    let fetch = limit_count(fetch, constants, LimitClause::Limit)?;
    Ok((skip.unwrap_or(0), fetch))
}
