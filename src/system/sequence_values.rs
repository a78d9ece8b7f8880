//! Values of sequences as a statement takes them: of those that its session holds, then of those that the server has reserved.

use super::StatementContext;
use crate::catalog::is_temporary_schema;
use crate::table::{OpenSequence, SequenceState};
use crate::{Error, Result};

/// `count` values of the sequence with this oid. Errors: 25006, 2200H; those of [`crate::table::Sequences::open`].
pub(crate) async fn next_values(ctx: &StatementContext, oid: u32, count: usize) -> Result<Vec<i64>> {
    let open = ctx.sequences.open(&ctx.txn, oid).await?;
    check_writable(ctx, &open, "nextval()")?;
    let session = &ctx.session.sequences;
    let mut values = Vec::with_capacity(count);
    while values.len() < count {
        let wanted = (count - values.len()) as u64;
        let run = match session.take_held(&open, wanted) {
            Some(run) => run,
            None => {
                let cache = u64::try_from(open.def.cache).unwrap_or(1);
                let mut run = ctx.sequences.take(&ctx.txn, &open, wanted.max(cache)).await?;
                let first = run.take_first(wanted);
                session.keep(&open, run);
                first
            }
        };
        session.note_given(&open, run);
        values.extend(run.values());
    }
    Ok(values)
}

/// `setval`. Errors: 25006, 22003 beyond the sequence's bounds; those of [`crate::table::Sequences::open`].
pub(crate) async fn set_value(ctx: &StatementContext, oid: u32, state: SequenceState) -> Result<()> {
    let open = ctx.sequences.open(&ctx.txn, oid).await?;
    check_writable(ctx, &open, "setval()")?;
    let (min, max) = (open.def.min, open.def.max);
    if !(min..=max).contains(&state.last) {
        return Err(Error::NumericOutOfRange {
            message: format!(
                "setval: value {} is out of bounds for sequence \"{}\" ({min}..{max})",
                state.last, open.def.name
            ),
            detail: None,
        });
    }
    ctx.sequences.set(&ctx.txn, &open, state).await?;
    ctx.session.sequences.note_set(oid, state);
    Ok(())
}

/// Errors: 25006 in a read-only transaction, but for a sequence of the session's own.
fn check_writable(ctx: &StatementContext, open: &OpenSequence, what: &str) -> Result<()> {
    match is_temporary_schema(&open.def.schema) {
        true => Ok(()),
        false => ctx.settings.require_writable(ctx.in_block, what),
    }
}
