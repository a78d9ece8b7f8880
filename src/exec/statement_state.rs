//! The `StatementContext` that DataFusion's state carries, from where a plan is made to where it runs. Knows nothing of how
//! the state is set up (`datafusion_state`).

use std::sync::Arc;

use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::{SessionState, SessionStateBuilder};

use super::StatementContext;

/// The statement's context, which every session of ours carries.
pub(super) fn statement_context(
    config: &datafusion::prelude::SessionConfig,
) -> DataFusionResult<Arc<StatementContext>> {
    config
        .get_extension::<StatementContext>()
        .ok_or_else(|| DataFusionError::Internal("a plan outside a statement".to_string()))
}

/// The same state for plans that run again and again: short ones, for which more readers cost more than they save.
pub(super) fn serial_state(state: &SessionState) -> DataFusionResult<SessionState> {
    let ctx = statement_context(state.config())?;
    let mut config = state.config().clone();
    config.set_extension(Arc::new(serial(&ctx)));
    Ok(SessionStateBuilder::new_from_existing(state.clone())
        .with_config(config)
        .build())
}

/// The same statement, read by one reader.
pub(super) fn serial(ctx: &StatementContext) -> StatementContext {
    let mut settings = ctx.settings.as_ref().clone();
    settings.parallel_workers_max = 0;
    StatementContext {
        settings: Arc::new(settings),
        ..ctx.clone()
    }
}
