//! EXPLAIN of writes: what is done, over how its rows are found. ANALYZE carries the write out, as in PostgreSQL.

use std::sync::Arc;
use std::time::Instant;

use sqlparser::ast;

use super::query::{bound_form, query_node};
use super::{BoundForm, Explained, Run};
use crate::operators::explain::PlanNode;
use crate::parse::explain_options::Options;
use crate::query::Observation;
use crate::scan::figures::Seen;
use crate::sql::dml::{Operation, RowsRead, WritePlan, run_write};
use crate::system::StatementContext;
use crate::system::plan_cache::PlanCache;
use crate::{Error, Result};

pub(super) async fn explain_write(
    ctx: &StatementContext,
    statement: &ast::Statement,
    options: Options,
    begun: Instant,
) -> Result<Explained> {
    if !options.analyze {
        // Columns that the write adds are there while it is planned.
        let savepoint = ctx.txn.savepoint();
        let planned = WritePlan::of(ctx, statement, &PlanCache::default()).await;
        ctx.txn.rollback_to(savepoint);
        let plan = planned?;
        let bound = rows_bound(ctx, &plan, options, None).await?;
        let node = node_of(ctx, &plan, None).await?;
        return Ok(Explained {
            bound,
            ..Explained::planned(node, begun)
        });
    }
    if ctx.hints.batch_rows.is_some() {
        return Err(Error::unsupported(
            "EXPLAIN ANALYZE with the hint _l_batch_",
            Some("Leave ANALYZE out, or the hint: what is explained is one transaction."),
        ));
    }
    let plan = WritePlan::of(ctx, statement, &PlanCache::default()).await?;
    let observation = Observation::default();
    let run = Run::after(begun);
    let written = run_write(ctx, &plan, Some(&observation)).await?;
    let ran = run.end();
    let returned = written.batches.iter().map(|batch| batch.num_rows() as u64);
    let seen = Seen {
        loops: 1,
        rows: returned.sum(),
        first: ran.execution.unwrap_or_default(),
        total: ran.execution.unwrap_or_default(),
    };
    let node = node_of(ctx, &plan, Some(&observation)).await?.counted(Some(seen));
    let bound = rows_bound(ctx, &plan, options, Some(&observation)).await?;
    Ok(Explained { node, bound, ..ran })
}

/// The node of a write that is not run, or has been, over its rows.
pub(super) async fn node_of(
    ctx: &StatementContext,
    plan: &WritePlan,
    observation: Option<&Observation>,
) -> Result<PlanNode> {
    if let RowsRead::Partitions(parts) = plan.rows() {
        return Box::pin(node_over_parts(ctx, plan, parts, observation)).await;
    }
    let below = rows_node(ctx, plan, observation).await?;
    Ok(write_node(plan, plan.keys(ctx).await).over(below))
}

/// The node of a write to a partitioned table over those of its partitions.
async fn node_over_parts(
    ctx: &StatementContext,
    plan: &WritePlan,
    parts: &[Arc<WritePlan>],
    observation: Option<&Observation>,
) -> Result<PlanNode> {
    let mut node = write_node(plan, Vec::new());
    for part in parts {
        let observation = observation.filter(|_| parts.len() == 1);
        let part = node_of(ctx, part, observation).await?;
        if !part.reads_nothing() {
            node = node.over_as("Member", part);
        }
    }
    Ok(node)
}

/// `Update on t`, as PostgreSQL's ModifyTable, with the keys that are written where they are known.
fn write_node(plan: &WritePlan, keys: Vec<String>) -> PlanNode {
    let (table, alias) = (plan.table(), plan.alias());
    let verb = match plan.operation() {
        Operation::Insert { .. } => "Insert",
        Operation::Update => "Update",
        Operation::Delete => "Delete",
        Operation::Merge => "Merge",
    };
    let relation = if alias == table.name {
        alias.to_string()
    } else {
        format!("{} {alias}", table.name)
    };
    let node = PlanNode::new("ModifyTable", format!("{verb} on {relation}"))
        .with_property("Operation", verb)
        .with_property("Relation Name", table.name.as_str())
        .with_property("Schema", table.schema.as_str())
        .with_property("Alias", alias);
    let node = match plan.operation() {
        Operation::Insert {
            on_conflict: Some(resolution),
        } => node.with("Conflict Resolution", resolution),
        _ => node,
    };
    match keys.is_empty() {
        true => node,
        false => node
            .with_lines(keys.iter().map(|key| format!("Key: {key}")).collect())
            .with_property("Conditions", keys),
    }
}

async fn rows_node(
    ctx: &StatementContext,
    plan: &WritePlan,
    observation: Option<&Observation>,
) -> Result<PlanNode> {
    match plan.rows() {
        RowsRead::Values(rows) => {
            let node = match rows {
                1 => PlanNode::named("Result"),
                _ => PlanNode::new("Values Scan", "Values Scan on \"*VALUES*\"")
                    .with_property("Alias", "*VALUES*"),
            };
            let seen = Seen {
                loops: 1,
                rows: rows as u64,
                ..Seen::default()
            };
            Ok(node.counted(observation.map(|_| seen)))
        }
        RowsRead::Query(plan) => query_node(ctx, plan, observation).await,
        RowsRead::Partitions(_) => Err(Error::internal("partitions have nodes of their own")),
    }
}

async fn rows_bound(
    ctx: &StatementContext,
    plan: &WritePlan,
    options: Options,
    observation: Option<&Observation>,
) -> Result<Option<BoundForm>> {
    match plan.rows() {
        RowsRead::Values(_) | RowsRead::Partitions(_) => Ok(None),
        RowsRead::Query(plan) => bound_form(ctx, plan, options, observation).await,
    }
}
