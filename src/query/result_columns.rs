//! How many columns a result may have. Asked wherever a list of them is bound.

use crate::error::Limit;
use crate::{Error, Result};

/// Columns that a query, RETURNING or a row may have, as in PostgreSQL. The protocol counts them in sixteen bits.
pub(super) const RESULT_COLUMNS_MAX: usize = 1664;

/// Errors: 54011 for more columns than a result may have.
pub(super) fn require_few(columns: usize, message: impl FnOnce() -> String) -> Result<()> {
    match columns > RESULT_COLUMNS_MAX {
        true => Err(Error::LimitExceeded {
            state: Limit::Columns,
            message: message(),
            hint: "Ask for fewer columns at once, or for an array of them.".to_string(),
        }),
        false => Ok(()),
    }
}
