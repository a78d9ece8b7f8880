//! `Planning`: what the plans of a statement are made in and run in: the statement, its catalogs, and the settings and memory that
//! DataFusion's operators find in their context. Made for a statement in no time: what is the same for all is set up once. Knows
//! nothing of how a plan is made.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use arrow::array::RecordBatch;
use datafusion_common::config::ConfigOptions;
use datafusion_common::{DataFusionError, Result as DataFusionResult};
use datafusion_execution::TaskContext;
use datafusion_execution::config::SessionConfig;
use datafusion_execution::runtime_env::RuntimeEnv;
use datafusion_physical_plan::{ExecutionPlan, execute_stream};
use futures::future::BoxFuture;
use futures::stream::BoxStream;

use super::build_keys;
use crate::Result;
use crate::logical::placeholder::Constants;
use crate::logical::run_inputs::{Given, RunInputs};
use crate::system::datafusion_error::{batches_of, from_datafusion};
use crate::system::pg_catalog::{self, CatalogContext, CatalogPlace};
use crate::system::{Settings, StatementContext, StatementMemory};
use crate::tree::Plan;

/// Rows of a batch between operators.
const BATCH_ROWS: usize = 8192;

/// This part of a statement's memory at most a sort keeps for merging what it has spilled: a statement may sort several times.
const SORT_MERGE_PART: usize = 16;

/// Makes a logical plan executable: `planner` does. A plan plans its subqueries while it runs, so it is given what made it itself.
pub(super) type Planner =
    for<'a> fn(&'a Planning, Plan) -> BoxFuture<'a, DataFusionResult<Arc<dyn ExecutionPlan>>>;

/// See the module's description.
#[derive(Debug)]
pub struct Planning {
    planner: Planner,
    ctx: Arc<StatementContext>,
    catalogs: Arc<CatalogContext>,
    /// Of a generic plan: what its runs are given.
    inputs: Option<Arc<RunInputs>>,
    config: SessionConfig,
    runtime: Arc<RuntimeEnv>,
}

impl Planning {
    /// Of a statement, with the catalogs as it sees them; for a generic plan with what its runs are given. Errors: the folder of temporary files cannot
    /// be had.
    pub(super) fn new(
        planner: Planner,
        ctx: Arc<StatementContext>,
        catalogs: Arc<CatalogContext>,
        inputs: Option<Arc<RunInputs>>,
    ) -> Result<Planning> {
        let mut config = run_config(&ctx, &catalogs);
        let place = match &inputs {
            Some(inputs) => Arc::clone(inputs.catalogs()),
            None => CatalogPlace::of(Arc::clone(&catalogs)),
        };
        // Functions find the statement's catalogs in the options that expressions are planned with.
        pg_catalog::install(place, config.options_mut());
        let runtime = runtime(&ctx.settings, &ctx.memory)?;
        Ok(Planning {
            planner,
            ctx,
            catalogs,
            inputs,
            config,
            runtime,
        })
    }

    /// The plan, executable.
    pub(super) async fn plan(&self, plan: Plan) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        (self.planner)(self, plan).await
    }

    /// What makes plans executable.
    pub(super) fn planner(&self) -> Planner {
        self.planner
    }

    /// The statement.
    pub(super) fn statement(&self) -> &Arc<StatementContext> {
        &self.ctx
    }

    /// The catalogs as it sees them.
    pub(super) fn catalogs(&self) -> &Arc<CatalogContext> {
        &self.catalogs
    }

    /// What is open in the plan, in the run that it is made for. Errors: 42P02.
    pub(super) fn constants(&self) -> Result<Arc<Constants>> {
        match &self.inputs {
            Some(inputs) => Ok(Arc::clone(&inputs.given()?.constants)),
            None => Constants::new(&self.ctx, &[]).map(Arc::new),
        }
    }

    /// Of a generic plan: what its runs are given.
    pub(super) fn inputs(&self) -> Option<&Arc<RunInputs>> {
        self.inputs.as_ref()
    }

    /// The catalogs that functions over constants may ask: those of a generic plan are asked by each run.
    pub(super) fn known_catalogs(&self) -> Option<&Arc<CatalogContext>> {
        Some(&self.catalogs).filter(|_| self.inputs.is_none())
    }

    /// The options of operators.
    pub(super) fn options(&self) -> &Arc<ConfigOptions> {
        self.config.options()
    }

    /// The rows of a plan of its; nothing is read before the first poll. Errors: the plan cannot begin.
    pub(crate) fn run(
        &self,
        plan: Arc<dyn ExecutionPlan>,
    ) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        Ok(batches_of(execute_stream(plan, self.task_context())?))
    }

    /// What its plans run in.
    pub(super) fn task_context(&self) -> Arc<TaskContext> {
        Arc::new(context_of(self.config.clone(), Arc::clone(&self.runtime)))
    }
}

/// What one run of a generic plan runs in. `place`: where its functions that wait find the catalogs. Errors: the folder of temporary files
/// cannot be had.
pub(super) fn run_context(given: &Given, place: Option<&Arc<CatalogPlace>>) -> Result<TaskContext> {
    let ctx = given.catalogs.statement();
    let mut config = run_config(ctx, &given.catalogs);
    config.set_extension(Arc::clone(&given.constants));
    if let Some(place) = place {
        pg_catalog::install(Arc::clone(place), config.options_mut());
    }
    Ok(context_of(config, runtime(&ctx.settings, &ctx.memory)?))
}

/// What the sorts, groups and joins of one statement hold in memory before they spill to temporary files (or, where they
/// cannot, fail with 53200), and where these files are.
pub(super) fn runtime(settings: &Settings, memory: &StatementMemory) -> Result<Arc<RuntimeEnv>> {
    static BASE: LazyLock<RuntimeEnv> = LazyLock::new(RuntimeEnv::default);
    Ok(Arc::new(RuntimeEnv {
        memory_pool: memory.pool(),
        disk_manager: settings
            .spill
            .manager_within(settings.temp_file_bytes_max)
            .map_err(from_datafusion)?,
        ..BASE.clone()
    }))
}

/// The statement's context, which everything that runs finds in its task's.
pub(super) fn statement_context(config: &SessionConfig) -> DataFusionResult<Arc<StatementContext>> {
    config
        .get_extension::<StatementContext>()
        .ok_or_else(|| DataFusionError::Internal("a plan outside a statement".to_string()))
}

/// The statement's catalogs, likewise.
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

/// The same statement, read by one reader.
pub(super) fn serial(ctx: &StatementContext) -> StatementContext {
    let mut settings = ctx.settings.as_ref().clone();
    settings.parallel_workers_max = 0;
    StatementContext {
        settings: Arc::new(settings),
        ..ctx.clone()
    }
}

/// The configuration of a run. Of so many keys a join keeps a list, which a scan can look up.
fn run_config(ctx: &Arc<StatementContext>, catalogs: &Arc<CatalogContext>) -> SessionConfig {
    static BASE: LazyLock<SessionConfig> = LazyLock::new(base_config);
    let mut config = BASE.clone();
    config.set_extension(Arc::clone(ctx));
    config.set_extension(Arc::clone(catalogs));
    let kept = config
        .options()
        .optimizer
        .hash_join_inlist_pushdown_max_distinct_values;
    if kept != ctx.settings.join_keys_max {
        let optimizer = &mut config.options_mut().optimizer;
        optimizer.hash_join_inlist_pushdown_max_distinct_values = ctx.settings.join_keys_max;
    }
    let share = ctx.settings.query_memory_bytes_max / SORT_MERGE_PART;
    if share < config.options().execution.sort_spill_reservation_bytes {
        config.options_mut().execution.sort_spill_reservation_bytes = share;
    }
    config
}

/// One partition: what is better done in parts, `parallel` splits.
fn base_config() -> SessionConfig {
    let mut config = SessionConfig::new()
        .with_target_partitions(1)
        .with_batch_size(BATCH_ROWS);
    let optimizer = &mut config.options_mut().optimizer;
    optimizer.hash_join_inlist_pushdown_max_size = build_keys::KEYS_BYTES_MAX;
    optimizer.hash_join_inlist_pushdown_max_distinct_values = Settings::default().join_keys_max;
    config
}

fn context_of(config: SessionConfig, runtime: Arc<RuntimeEnv>) -> TaskContext {
    TaskContext::new(
        None,
        String::new(),
        config,
        HashMap::new(),
        HashMap::new(),
        HashMap::new(),
        HashMap::new(),
        runtime,
    )
}
