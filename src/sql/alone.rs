//! Statements that are transactions of their own, and run neither in a block nor in a function.

use crate::system::StatementContext;
use crate::{Error, Result};

/// Errors: 25001 in a transaction block or a function.
pub(super) fn require_alone(ctx: &StatementContext, statement: &str) -> Result<()> {
    let what = match (ctx.in_block, ctx.calls > 0) {
        (_, true) => "cannot be executed from a function",
        (true, false) => "cannot run inside a transaction block",
        (false, false) => return Ok(()),
    };
    Err(Error::TransactionState {
        state: "25001",
        message: format!("{statement} {what}"),
    })
}
