//! EXPLAIN of a statement whose WITH clause writes: the statement over its parts, each under the name that it has in the clause.

use std::time::Instant;

use sqlparser::ast;

use super::query::query_node;
use super::{Explained, Run, write};
use crate::operators::explain::PlanNode;
use crate::parse::explain_options::Options;
use crate::query::Observation;
use crate::scan::figures::Seen;
use crate::sql::dml::{PartPlan, References, WithWrites, settle};
use crate::system::StatementContext;
use crate::system::plan_cache::PlanCache;
use crate::{Error, Result};

pub(super) async fn explain_with_writes(
    ctx: &StatementContext,
    query: &ast::Query,
    options: Options,
    begun: Instant,
) -> Result<Explained> {
    let savepoint = ctx.txn.savepoint();
    let bound = WithWrites::of(ctx, query, &PlanCache::default()).await;
    let runs_in = match &bound {
        Ok(bound) => bound.begin(ctx).await,
        Err(_) => Ok(ctx.clone()),
    };
    if !options.analyze {
        // Columns that the parts add are there while they are planned.
        ctx.txn.rollback_to(savepoint);
        let node = tree(&*bound?, &runs_in?, &[]).await?;
        return Ok(Explained::planned(node, begun));
    }
    let (bound, ctx) = (bound?, runs_in?);
    let mut observed: Vec<Option<Observed>> = bound.parts().iter().map(|_| None).collect();
    let (run, references) = (Run::after(begun), References::default());
    for at in bound.order() {
        let (observation, begun) = (Observation::default(), Instant::now());
        let written = bound.run_part(&ctx, *at, Some(&observation), &references).await?;
        let returned = written.batches.iter().map(|batch| batch.num_rows() as u64);
        let seen = Seen {
            loops: 1,
            rows: returned.sum(),
            first: begun.elapsed(),
            total: begun.elapsed(),
        };
        observed[*at] = Some(Observed { observation, seen });
    }
    settle(&ctx, &references).await?;
    let ran = run.end();
    let node = tree(&bound, &ctx, &observed).await?;
    Ok(Explained { node, ..ran })
}

/// What a part did.
struct Observed {
    observation: Observation,
    seen: Seen,
}

async fn tree(bound: &WithWrites, ctx: &StatementContext, observed: &[Option<Observed>]) -> Result<PlanNode> {
    let (mut main, mut parts) = (None, Vec::new());
    for (at, part) in bound.parts().iter().enumerate() {
        let observed = observed.get(at).and_then(Option::as_ref);
        let observation = observed.map(|observed| &observed.observation);
        let node = match &part.plan {
            PartPlan::Query(plan) => query_node(&ctx.reading(), plan, observation).await?,
            PartPlan::Write(plan) => {
                let node = write::node_of(ctx, plan, observation).await?;
                node.counted(observed.map(|observed| observed.seen))
            }
        };
        match bound.name(part) {
            Some(name) => parts.push(node.labelled(format!("CTE {name}"))),
            None => main = Some(node),
        }
    }
    let main = main.ok_or_else(|| Error::internal("a statement without itself"))?;
    Ok(parts
        .into_iter()
        .fold(main, |main, part| main.over_as("InitPlan", part)))
}
