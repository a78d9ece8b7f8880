//! EXPLAIN of a planned query: its physical plan as a tree of lines, scans with their access class.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use datafusion::physical_plan::{ExecutionPlan, displayable, execute_stream};
use futures::{StreamExt, TryStreamExt};

use super::super::explain::path_lines;
use super::PlannedQuery;
use crate::Result;
use crate::exec::datafusion_error::from_datafusion;
use crate::exec::pauses::is_pause;
use crate::exec::placeholder::Constants;
use crate::exec::query_threads::on_query_threads;
use crate::exec::table_provider::KeyspanScanExec;
use crate::exec::{StatementContext, engine};

/// The plan's lines, two blanks a level. `analyze`: runs the query first and adds what each scan read.
pub(crate) async fn explain_query(
    ctx: &StatementContext,
    query: &PlannedQuery,
    analyze: bool,
) -> Result<Vec<String>> {
    let plan = Constants::new(ctx, &query.parameters)?.replace_in_plan(query.plan.clone())?;
    let state = engine::session_state(ctx)?;
    let physical = engine::physical_plan(&state, &plan).await?;
    if analyze {
        let batches = execute_stream(Arc::clone(&physical), state.task_ctx()).map_err(from_datafusion)?;
        let mut batches = on_query_threads(batches.map_err(from_datafusion).boxed());
        while batches.try_next().await?.is_some() {}
    }
    let mut lines = Vec::new();
    describe(&physical, 0, analyze, &mut lines);
    Ok(lines)
}

fn describe(plan: &Arc<dyn ExecutionPlan>, level: usize, analyze: bool, lines: &mut Vec<String>) {
    let indent = "  ".repeat(level);
    if is_pause(plan.as_ref()) {
        return plan
            .children()
            .into_iter()
            .for_each(|child| describe(child, level, analyze, lines));
    }
    match plan.downcast_ref::<KeyspanScanExec>() {
        Some(scan) => describe_scan(scan, &indent, analyze, lines),
        None => lines.push(format!(
            "{indent}{}",
            displayable(plan.as_ref()).one_line().to_string().trim_end()
        )),
    }
    for child in plan.children() {
        describe(child, level + 1, analyze, lines);
    }
}

fn describe_scan(scan: &KeyspanScanExec, indent: &str, analyze: bool, lines: &mut Vec<String>) {
    lines.extend(
        path_lines(scan.path())
            .into_iter()
            .map(|line| format!("{indent}{line}")),
    );
    if let Some(limit) = scan.limit() {
        lines.push(format!("{indent}  Limit: {limit}"));
    }
    if analyze {
        let metrics = scan.metrics_read();
        let read = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed);
        lines.push(format!(
            "{indent}  Actual: rows={} rows read={} pages={} gets={} bytes={}",
            read(&metrics.rows),
            read(&metrics.rows_read),
            read(&metrics.pages),
            read(&metrics.gets),
            read(&metrics.bytes)
        ));
    }
}
