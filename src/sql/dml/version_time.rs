//! The time that a write gives the versions of its rows (`_l_ts_`): whether it may, and what its rows are written by. Called by INSERT,
//! UPSERT and UPDATE.

use crate::catalog::TableDef;
use crate::error::StatementFault;
use crate::system::StatementContext;
use crate::table::{Limits, check_given_time};
use crate::{Error, Result};

/// What holds for rows that are written with a time in milliseconds since 1970; `None`: with that of their commit. Errors: 55000 for a
/// table that keeps one version, 0A000 for one with HISTORY, 22008 for a time too far in the future.
pub(super) fn limits(ctx: &StatementContext, table: &TableDef, millis: Option<i64>) -> Result<Limits> {
    let limits = ctx.settings.limits;
    let Some(millis) = millis else {
        return Ok(limits);
    };
    check_given_time(table)?;
    let time = millis.checked_mul(1000);
    let offset = ctx.settings.version_offset_max_ms.saturating_mul(1000);
    let latest = ctx.txn.write_time().saturating_add(offset);
    match time.filter(|time| *time <= latest) {
        Some(time) => Ok(Limits {
            version_time: Some(time),
            ..limits
        }),
        None => Err(Error::InvalidStatement {
            state: StatementFault::DatetimeOverflow,
            message: format!("the time {millis} of a version is too far in the future"),
            hint: Some(format!(
                "keyspan.version_offset_max allows {} ms from now on.",
                ctx.settings.version_offset_max_ms
            )),
        }),
    }
}
