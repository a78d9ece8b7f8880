//! The end of a statement that writes: what its rows have left to be asked of foreign keys and of unique keys that are deferrable; then
//! the triggers that it has fired.

use super::deferrable_keys;
use super::deferred_references::{is_deferred, leave_gone, leave_missing};
use super::exclusions;
use super::referenced_keys::check_present;
use super::references::References;
use super::referring_rows::{check_unreferred, follow};
use super::write_plan::WritePlan;
use super::write_result::WriteResult;
use crate::Result;
use crate::catalog::ReferentialAction;
use crate::query::Observation;
use crate::system::StatementContext;

/// Runs a write as a statement of its own. `observation`: what its reading is counted in.
pub(crate) async fn run_write(
    ctx: &StatementContext,
    plan: &WritePlan,
    observation: Option<&Observation>,
) -> Result<WriteResult> {
    let references = References::default();
    let written = plan.run(ctx, observation, &references).await?;
    settle(ctx, &references).await?;
    Ok(written)
}

/// The statement's own writes are done: follows them to the rows that refer, and asks what is left. Errors: 23503, and those of
/// the writes that follow. What is asked when the transaction commits is left to it.
pub(crate) async fn settle(ctx: &StatementContext, references: &References) -> Result<()> {
    let mut unchanged = Vec::new();
    while let Some(gone) = references.next_gone()? {
        match gone.action() {
            ReferentialAction::NoAction if is_deferred(ctx, &gone.foreign_key) => leave_gone(ctx, gone),
            ReferentialAction::NoAction => unchanged.push(gone),
            ReferentialAction::Restrict => Box::pin(check_unreferred(ctx, &gone)).await?,
            ReferentialAction::Cascade | ReferentialAction::SetNull => {
                Box::pin(follow(ctx, &gone, references)).await?;
            }
            ReferentialAction::SetDefault => {
                Box::pin(follow(ctx, &gone, references)).await?;
                // Rows whose key is the default have changed nothing, and still refer to what is gone.
                unchanged.push(gone);
            }
        }
    }
    for gone in unchanged {
        Box::pin(check_unreferred(ctx, &gone)).await?;
    }
    for missing in references.take_missing() {
        match is_deferred(ctx, &missing.foreign_key) {
            true => leave_missing(ctx, missing),
            false => check_present(ctx, &missing).await?,
        }
    }
    for written in references.take_written() {
        Box::pin(deferrable_keys::settle(ctx, written)).await?;
    }
    for written in references.take_exclusions() {
        Box::pin(exclusions::settle(ctx, written)).await?;
    }
    Box::pin(references.triggers.call_all(ctx)).await
}
