//! The counts of LIMIT and OFFSET: what they may be, and which rows they keep where they are known only as the query runs.
//! Used by the binder, by plans whose parameters are given, and by short statements.

use super::definition::Body;
use crate::{Error, Result};

/// Which count it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitClause {
    /// LIMIT or FETCH.
    Limit,
    /// OFFSET.
    Offset,
}

/// A count that is not NULL. Errors: 2201W, 2201X.
pub fn row_count(count: i64, clause: LimitClause) -> Result<usize> {
    let (state, name) = match clause {
        LimitClause::Limit => ("2201W", "LIMIT"),
        LimitClause::Offset => ("2201X", "OFFSET"),
    };
    usize::try_from(count).map_err(|_| Error::DataException {
        state,
        message: format!("{name} must not be negative"),
    })
}

/// Whether a row stays: its number, its rank (its number, where rows of equal rank do not count as one), what is skipped, and
/// how many rows are wanted; the counts may be NULL, and then count as absent.
pub const WITHIN_LIMIT: Body = Body::Batch(|b| b.map4(is_within));

fn is_within(number: i64, rank: i64, skip: Option<i64>, fetch: Option<i64>) -> Result<bool> {
    if let Some(skip) = skip {
        row_count(skip, LimitClause::Offset)?;
    }
    if let Some(fetch) = fetch {
        row_count(fetch, LimitClause::Limit)?;
    }
    let skip = skip.unwrap_or(0);
    let is_wanted = fetch.is_none_or(|fetch| fetch > 0 && rank <= skip.saturating_add(fetch));
    Ok(number > skip && is_wanted)
}
