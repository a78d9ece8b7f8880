//! The `StatementContext` that DataFusion's state carries, from where a plan is made to where it runs: a statement's state is a cheap
//! copy of one that is set up once. Knows nothing of how that is done (`datafusion_state`).

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::error::{DataFusionError, Result as DataFusionResult};
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SessionState, SessionStateBuilder, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;

use super::datafusion_error::from_datafusion;
use super::pg_catalog::{CatalogContext, CatalogPlace};
use super::placeholder::Constants;
use super::run_inputs::{Given, RunInputs};
use super::{Settings, StatementContext, StatementMemory, pg_catalog};
use crate::Result;

/// The statement's context, which every session of ours carries.
pub(super) fn statement_context(config: &SessionConfig) -> DataFusionResult<Arc<StatementContext>> {
    config
        .get_extension::<StatementContext>()
        .ok_or_else(|| DataFusionError::Internal("a plan outside a statement".to_string()))
}

/// The catalogs of the statement, which every session of ours carries.
pub(super) fn statement_catalogs(config: &SessionConfig) -> DataFusionResult<Arc<CatalogContext>> {
    config
        .get_extension::<CatalogContext>()
        .ok_or_else(|| DataFusionError::Internal("a plan outside a statement".to_string()))
}

/// What the present run of a plan leaves open; of a custom plan that is put in before it is made. Errors: 42P02.
pub(super) fn run_constants(config: &SessionConfig) -> Result<Arc<Constants>> {
    match config.get_extension::<Constants>() {
        Some(constants) => Ok(constants),
        None => {
            let ctx = statement_context(config).map_err(from_datafusion)?;
            Constants::new(&ctx, &[]).map(Arc::new)
        }
    }
}

/// The state that one statement plans and runs in, with its catalogs; and with the inputs of a generic plan, if it plans one.
pub(super) fn state_of(
    base: &SessionState,
    ctx: &StatementContext,
    catalogs: &Arc<CatalogContext>,
    inputs: Option<&Arc<RunInputs>>,
) -> Result<SessionState> {
    let mut config = base.config().clone();
    config.set_extension(Arc::new(ctx.clone()));
    config.set_extension(Arc::clone(catalogs));
    let place = match inputs {
        Some(inputs) => {
            config.set_extension(Arc::clone(inputs));
            Arc::clone(inputs.catalogs())
        }
        None => CatalogPlace::of(Arc::clone(catalogs)),
    };
    pg_catalog::install(place, config.options_mut());
    keep_join_keys(&mut config, ctx.settings.join_keys_max);
    let mut state = SessionStateBuilder::new_from_existing(base.clone())
        .with_config(config)
        .with_runtime_env(runtime(base, &ctx.settings, &ctx.memory)?)
        .build();
    // Functions find the statement's catalogs in the options that expressions are planned with.
    let options = Arc::clone(state.config().options());
    state.execution_props_mut().mark_start_execution(options);
    Ok(state)
}

/// The plan made executable by the planner of the state, which rewrites it first.
pub(super) async fn executable(
    state: &SessionState,
    plan: &LogicalPlan,
) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    state.query_planner().create_physical_plan(plan, state).await
}

/// What one run of a generic plan runs in.
pub(super) fn run_context(base: &SessionState, given: &Given) -> Result<TaskContext> {
    let ctx = given.catalogs.statement();
    let mut config = base.config().clone();
    config.set_extension(Arc::clone(ctx));
    config.set_extension(Arc::clone(&given.catalogs));
    config.set_extension(Arc::clone(&given.constants));
    keep_join_keys(&mut config, ctx.settings.join_keys_max);
    Ok(TaskContext::new(
        None,
        String::new(),
        config,
        HashMap::new(),
        HashMap::new(),
        HashMap::new(),
        HashMap::new(),
        runtime(base, &ctx.settings, &ctx.memory)?,
    ))
}

/// Of so many keys of a join their list, which a scan can look up.
fn keep_join_keys(config: &mut SessionConfig, keys_max: usize) {
    if config
        .options()
        .optimizer
        .hash_join_inlist_pushdown_max_distinct_values
        != keys_max
    {
        let optimizer = &mut config.options_mut().optimizer;
        optimizer.hash_join_inlist_pushdown_max_distinct_values = keys_max;
    }
}

/// What the sorts, groups and joins of one statement hold in memory before they spill to temporary files (or, where they
/// cannot, fail with 53200), and where these files are.
pub(super) fn runtime(
    base: &SessionState,
    settings: &Settings,
    memory: &StatementMemory,
) -> Result<Arc<RuntimeEnv>> {
    Ok(Arc::new(RuntimeEnv {
        memory_pool: memory.pool(),
        disk_manager: settings
            .spill
            .manager_within(settings.temp_file_bytes_max)
            .map_err(from_datafusion)?,
        ..base.runtime_env().as_ref().clone()
    }))
}

/// The state without its statement: what outlives that holds none.
pub(super) fn bare_state(state: &SessionState) -> SessionState {
    let mut options = state.config_options().as_ref().clone();
    options.extensions = Default::default();
    SessionStateBuilder::new_from_existing(state.clone())
        .with_config(SessionConfig::from(options))
        .with_runtime_env(Arc::default())
        .build()
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
