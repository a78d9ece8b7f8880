//! DataFusion, set up once: its configuration, physical optimizer and memory limit. Every statement runs in a
//! cheap copy of the base state that carries its `StatementContext`.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use datafusion::prelude::SessionConfig;

use super::append::AppendUnions;
use super::datafusion_error::from_datafusion;
use super::dependent_join_exec::DependentJoinPlanner;
use super::lookup_join::{LookupJoinPlanner, Sizes, looked_up, with_lookups};
use super::pg_catalog::CatalogContext;
use super::rewrite::rewrite;
use super::run_inputs::{RunInputs, with_parameters};
use super::semi_join_order::groups_asked_last;
use super::shared_rows::SharedRowsPlanner;
use super::small_scans::require_small;
use super::statement_state::{self, executable, state_of, statement_context};
use super::table_provider::judge_scan;
use super::{Settings, StatementContext, StatementMemory, build_keys, optimizer, written_filters};
use crate::parse::Hints;
use crate::plan::AccessPath;
use crate::{Error, Result};

/// Rows of a batch between operators.
const BATCH_ROWS: usize = 8192;

/// The state that one statement plans and runs in.
pub fn session_state(ctx: &StatementContext) -> Result<SessionState> {
    state_of(base()?, ctx, &CatalogContext::new(Arc::new(ctx.clone())), None)
}

/// Rewrites a logical plan and makes it executable. Errors: those of planning the access to each table.
pub async fn physical_plan(state: &SessionState, plan: &LogicalPlan) -> Result<Arc<dyn ExecutionPlan>> {
    let planned = executable(state, plan).await.map_err(from_datafusion);
    let Err(refusal @ Error::FullScan { .. }) = planned else {
        return planned;
    };
    let ctx = statement_context(state.config()).map_err(from_datafusion)?;
    for path in judge_written(&ctx, state, plan).map_err(from_datafusion)? {
        require_small(&ctx.txn, &path).await?;
    }
    if ctx.hints.allow_filtering {
        return Err(refusal);
    }
    // Only inferred filters were in the way.
    let allowed = StatementContext {
        hints: Hints {
            allow_filtering: true,
            ..ctx.hints.clone()
        },
        ..ctx.as_ref().clone()
    };
    let state = session_state(&allowed)?;
    executable(&state, plan).await.map_err(from_datafusion)
}

/// Rewrites a plan by the rules that the statement's settings leave.
fn rewritten(plan: LogicalPlan, config: &SessionConfig) -> DataFusionResult<LogicalPlan> {
    let ctx = statement_context(config)?;
    rewrite(plan, config.options(), &ctx.settings.rewrite_rule_off)
}

/// Whether the full-scan rule lets the plan pass with the filters that the user wrote; if small tables only, which are read.
/// What is looked up is no scan. Errors: 53400, 54000.
fn judge_written(
    ctx: &StatementContext,
    state: &SessionState,
    plan: &LogicalPlan,
) -> DataFusionResult<Vec<AccessPath>> {
    let mut small = Vec::new();
    let rows_max = ctx.settings.multi_get_keys_max;
    let rewritten = rewritten(plan.clone(), state.config())?;
    let looked_up = looked_up(&with_lookups(rewritten, rows_max, &Sizes::default())?)?;
    written_filters::for_each_scan(state.config().options(), plan, &mut |scan| {
        let is_same = |source| Arc::ptr_eq(source, &scan.source);
        match looked_up.iter().any(is_same) {
            true => Ok(()),
            false => {
                let path = judge_scan(ctx, scan)?;
                small.extend(path.filter(AccessPath::is_small_scan));
                Ok(())
            }
        }
    })?;
    Ok(small)
}

/// What a statement's sorts run in that are none of a plan: see [`statement_state::runtime`].
pub(super) fn runtime(settings: &Settings, memory: &StatementMemory) -> Result<Arc<RuntimeEnv>> {
    statement_state::runtime(base()?, settings, memory)
}

fn base() -> Result<&'static SessionState> {
    static BASE: OnceLock<std::result::Result<SessionState, crate::Error>> = OnceLock::new();
    let state = BASE.get_or_init(|| build().map_err(from_datafusion));
    state.as_ref().map_err(Clone::clone)
}

/// The same for generic plans: what they read comes in one part.
pub fn generic_base() -> Result<&'static Arc<SessionState>> {
    static BASE: OnceLock<Result<Arc<SessionState>>> = OnceLock::new();
    let state = BASE.get_or_init(|| {
        let base = base()?.clone();
        let mut rules = optimizer::physical_rules();
        rules.insert(0, Arc::new(AppendUnions));
        let mut config = base.config().clone();
        let keys_max = &mut config
            .options_mut()
            .optimizer
            .hash_join_inlist_pushdown_max_distinct_values;
        *keys_max = Settings::default().join_keys_max;
        let builder = SessionStateBuilder::new_from_existing(base).with_config(config);
        Ok(Arc::new(builder.with_physical_optimizer_rules(rules).build()))
    });
    state.as_ref().map_err(Clone::clone)
}

fn build() -> DataFusionResult<SessionState> {
    // One partition: what is better done in parts, our own rule splits.
    let mut config = SessionConfig::new()
        .with_target_partitions(1)
        .with_batch_size(BATCH_ROWS)
        .with_information_schema(false)
        .with_create_default_catalog_and_schema(false);
    let options = config.options_mut();
    options.execution.collect_statistics = false;
    // What scans and counts say of their rows goes through all nodes, up to the joins.
    options.optimizer.use_statistics_registry = true;
    // The logical plan knows of more CASEs that they are never NULL than the physical one does, which is no fault.
    options.execution.skip_physical_aggregate_schema_check = true;
    options.optimizer.enable_dynamic_filter_pushdown = false;
    options.optimizer.hash_join_inlist_pushdown_max_size = build_keys::KEYS_BYTES_MAX;
    options.optimizer.repartition_joins = false;
    options.optimizer.repartition_aggregations = false;
    options.optimizer.repartition_sorts = false;
    options.optimizer.repartition_windows = false;
    options.optimizer.enable_round_robin_repartition = false;
    let runtime = RuntimeEnvBuilder::new().build_arc()?;
    Ok(SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(runtime)
        .with_query_planner(Arc::new(KeyspanQueryPlanner))
        // The planner rewrites plans itself.
        .with_analyzer_rules(Vec::new())
        .with_optimizer_rules(Vec::new())
        .with_physical_optimizer_rules(optimizer::physical_rules())
        .build())
}

/// DataFusion's planner, with our nodes.
#[derive(Debug)]
struct KeyspanQueryPlanner;

#[async_trait]
impl QueryPlanner for KeyspanQueryPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let ctx = statement_context(session.config())?;
        let plan = groups_asked_last(rewritten(plan.clone(), session.config())?)?;
        let planner = DefaultPhysicalPlanner::with_extension_planners(vec![
            Arc::new(DependentJoinPlanner),
            Arc::new(LookupJoinPlanner),
            Arc::new(SharedRowsPlanner),
        ]);
        let sizes = Sizes::of(&ctx, &plan, &planner, session).await?;
        let plan = with_lookups(plan, ctx.settings.multi_get_keys_max, &sizes)?;
        match session.config().get_extension::<RunInputs>() {
            Some(inputs) => {
                let plan = with_parameters(plan, &inputs)?;
                planner.create_physical_plan(&plan, session).await
            }
            None => planner.create_physical_plan(&plan, session).await,
        }
    }
}
