//! EXPLAIN of queries: the direct path, a short statement or the general plan, whichever runs.

use std::sync::Arc;
use std::time::Instant;

use datafusion::physical_plan::ExecutionPlan;
use futures::future::BoxFuture;
use futures::{FutureExt, TryStreamExt};
use sqlparser::ast;

use super::access::{TableRead, with_metrics};
use super::node::PlanNode;
use super::options::Options;
use super::physical::plan_node;
use super::short::short_node;
use super::{Explained, Run};
use crate::exec::datafusion_error::from_datafusion;
use crate::exec::dependent_join_exec::DependentJoinExec;
use crate::exec::observed::{Figures, watch};
use crate::exec::scan::ScanMetrics;
use crate::exec::{Rows, StatementContext};
use crate::sql::direct::{DirectPlan, DirectSelect};
use crate::sql::known_types;
use crate::sql::query::{self, Observation, QueryPlan};
use crate::{Error, Result};

pub(super) async fn explain_query(
    ctx: &StatementContext,
    query: &ast::Query,
    options: Options,
    begun: Instant,
) -> Result<Explained> {
    if let Some(select) = DirectSelect::from_query(ctx, query, None)
        && let Some(plan) = select.plan(ctx)?
    {
        return explain_direct(ctx, plan, options, begun).await;
    }
    let plan = QueryPlan::new(query::plan_query(ctx, query, &known_types(ctx)).await?);
    if !options.analyze {
        let node = query_node(ctx, &plan, None).await?;
        return Ok(Explained::planned(node, begun));
    }
    let observation = Observation::default();
    let mut rows = plan.run_observed(ctx, Some(&observation)).await?;
    let run = Run::after(begun);
    while rows.try_next().await?.is_some() {}
    let ran = run.end();
    let node = query_node(ctx, &plan, Some(&observation)).await?;
    Ok(Explained { node, ..ran })
}

async fn explain_direct(
    ctx: &StatementContext,
    plan: DirectPlan,
    options: Options,
    begun: Instant,
) -> Result<Explained> {
    let (path, alias) = (Arc::clone(&plan.path), plan.alias().to_string());
    let read = TableRead {
        limit: plan.path_rows_max(),
        ..TableRead::new(&path, &alias)
    };
    let scan = read.node(Vec::new());
    let (is_count, is_limited) = (plan.is_count(), plan.is_limited());
    let shape = |scan: PlanNode, result| {
        let mut node = scan;
        if is_count {
            let aggregate = PlanNode::named("Aggregate")
                .with_property("Strategy", "Plain")
                .with_property("Partial Mode", "Simple");
            node = aggregate.over(node).counted(result);
        }
        match is_limited {
            true => PlanNode::named("Limit").over(node).counted(result),
            false => node,
        }
    };
    if !options.analyze {
        return Ok(Explained::planned(shape(scan, None), begun));
    }
    let (metrics, result) = (Arc::new(ScanMetrics::timed()), Arc::new(Figures::default()));
    let run = Run::after(begun);
    let mut rows = watch(plan.run(ctx, Arc::clone(&metrics)), &result, Rows::num_rows);
    while rows.try_next().await?.is_some() {}
    let ran = run.end();
    let scan = with_metrics(scan, &metrics).counted(metrics.figures.as_ref().map(|figures| figures.seen()));
    let node = shape(scan, Some(result.seen()));
    Ok(Explained { node, ..ran })
}

/// The tree of a query: of what ran, or of what would. Errors: those of planning the access.
pub(super) async fn query_node(
    ctx: &StatementContext,
    plan: &QueryPlan,
    observation: Option<&Observation>,
) -> Result<PlanNode> {
    if let Some(ran) = observation.and_then(Observation::general) {
        // A subquery that never ran need not have a plan.
        let _ = plan_examples(ran).await;
        return Ok(plan_node(ran));
    }
    if let Some(story) = plan.story(ctx)? {
        return Ok(short_node(story, observation));
    }
    let physical = plan.physical(ctx).await?;
    plan_examples(&physical).await?;
    Ok(plan_node(&physical))
}

/// Plans the subqueries that run once for each outer row, to show how they would. Errors: those of planning the access.
fn plan_examples(plan: &Arc<dyn ExecutionPlan>) -> BoxFuture<'_, Result<()>> {
    async move {
        if let Some(join) = plan.downcast_ref::<DependentJoinExec>() {
            // What else does not plan with made-up values is not shown.
            if let Err(refused @ (Error::FullScan { .. } | Error::TooManyKeys { .. })) =
                join.plan_examples().await.map_err(from_datafusion)
            {
                return Err(refused);
            }
            for (at, _) in join.sub_plans().enumerate() {
                if let Some(shown) = join.shown().get(at) {
                    plan_examples(&shown.plan).await?;
                }
            }
        }
        for child in plan.children() {
            plan_examples(child).await?;
        }
        Ok(())
    }
    .boxed()
}
