//! The planner of general queries: a bound plan is rewritten, lookups are chosen, operators built, and then what can be said of whole
//! plans: scans in any order, several readers, scans narrowed by joins, pauses. The full-scan rule has its say here.

use std::sync::Arc;

use datafusion_common::Result as DataFusionResult;
use datafusion_common::tree_node::{TransformedResult, TreeNode};
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::projection::remove_unnecessary_projections;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::any_order::with_any_order;
use super::builder::build;
use super::parallel::with_parallel_readers;
use super::pauses::with_pauses;
use super::planning::Planning;
use super::semi_join_reduction::with_narrowed_probes;
use crate::logical::full_scan_rule;
use crate::logical::lookup_join::{looked_up, with_join_order, with_lookups, with_top_rows};
use crate::logical::rewrite::rewrite;
use crate::logical::semi_join_order::groups_asked_last;
use crate::logical::stored_table::judge_scan;
use crate::parse::Hints;
use crate::plan::AccessPath;
use crate::system::StatementContext;
use crate::system::datafusion_error::from_datafusion;
use crate::system::pg_catalog::CatalogContext;
use crate::system::small_scans::require_small;
use crate::tree::{Expr, Plan};
use crate::{Error, Result};

/// What the custom plans of a statement are made in.
pub fn planning(ctx: &StatementContext) -> Result<Planning> {
    let ctx = Arc::new(ctx.clone());
    let catalogs = CatalogContext::new(Arc::clone(&ctx));
    Planning::new(executable, ctx, catalogs, None)
}

/// Makes a bound plan executable. Errors: those of planning the access to each table.
pub async fn physical_plan(planning: &Planning, plan: &Plan) -> Result<Arc<dyn ExecutionPlan>> {
    let planned = planning.plan(plan.clone()).await.map_err(from_datafusion);
    let Err(refusal @ Error::FullScan { .. }) = planned else {
        return planned;
    };
    let ctx = planning.statement();
    for path in judge_written(planning, plan).map_err(from_datafusion)? {
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
    let allowed = self::planning(&allowed)?;
    allowed.plan(plan.clone()).await.map_err(from_datafusion)
}

/// Whether the full-scan rule lets the plan pass with the filters that the user wrote; if small tables only, which are read.
/// What is looked up is no scan. Errors: 53400, 54000.
fn judge_written(planning: &Planning, plan: &Plan) -> DataFusionResult<Vec<AccessPath>> {
    let ctx = planning.statement();
    let mut small = Vec::new();
    let rewritten = rewritten(plan.clone(), planning)?;
    let looked_up = looked_up(&with_lookups(ctx, rewritten)?)?;
    full_scan_rule::for_each_scan(planning.known_catalogs(), plan, &mut |scan| {
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

/// The plan that runs.
pub fn executable(
    planning: &Planning,
    plan: Plan,
) -> BoxFuture<'_, DataFusionResult<Arc<dyn ExecutionPlan>>> {
    async move {
        let plan = groups_asked_last(rewritten(plan, planning)?)?;
        let plan = with_top_rows(planning.statement(), plan)?;
        let plan = with_join_order(planning.statement(), plan).await?;
        let built = build(&plan, planning).await?;
        let built = with_any_order(with_columns_where_used(built)?)?;
        // Functions of users run one at a time: each may write.
        let built = match plan.has_expression(Expr::is_routine_call) {
            true => built,
            false => with_parallel_readers(built)?,
        };
        with_pauses(with_narrowed_probes(built)?)
    }
    .boxed()
}

/// The plan, rewritten by the rules that the statement's settings leave.
fn rewritten(plan: Plan, planning: &Planning) -> DataFusionResult<Plan> {
    let left_out = &planning.statement().settings.rewrite_rule_off;
    Ok(rewrite(plan, planning.known_catalogs(), left_out)?)
}

/// Columns are dropped, and named, as far down as a node can do it itself.
fn with_columns_where_used(plan: Arc<dyn ExecutionPlan>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    plan.transform_down(remove_unnecessary_projections).data()
}
