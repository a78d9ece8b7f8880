//! EXPLAIN of queries: a short statement or the general plan, whichever runs.

use std::time::Instant;

use futures::future::BoxFuture;
use futures::{FutureExt, TryStreamExt};
use sqlparser::ast;

use super::short::short_node;
use super::{BoundForm, Explained, Run};
use crate::operators::explain::{PlanNode, plan_examples, plan_node};
use crate::parse::explain_options::{Instead, Options};
use crate::parse::kind::is_select_into;
use crate::parse::quoting::quote_ident;
use crate::parse::with_write::has_writes;
use crate::query::known_types;
use crate::query::{self, Observation, QueryPlan};
use crate::scan::OutputColumn;
use crate::system::StatementContext;
use crate::{Error, Result};

pub(super) async fn explain_query(
    ctx: &StatementContext,
    query: &ast::Query,
    options: Options,
    begun: Instant,
) -> Result<Explained> {
    let plan = QueryPlan::new(query::plan_query(ctx, query, &known_types(ctx))?);
    if !options.analyze {
        let node = query_node(ctx, &plan, None).await?;
        let bound = bound_form(ctx, &plan, options, None).await?;
        return Ok(Explained {
            bound,
            ..Explained::planned(node, begun)
        });
    }
    let observation = Observation::default();
    let mut rows = plan.run_observed(ctx, Some(&observation)).await?;
    let run = Run::after(begun);
    while rows.try_next().await?.is_some() {}
    ran(ctx, &plan, (&observation, run.end()), options).await
}

/// What TYPES and LOGICAL show of a query. Errors: those of binding it; 0A000 for what is no query.
pub(super) fn lines_instead(
    ctx: &StatementContext,
    statement: &ast::Statement,
    instead: Instead,
) -> Result<Vec<String>> {
    let ast::Statement::Query(query) = statement else {
        return Err(Error::unsupported(
            "EXPLAIN of the types or the logical plan of what is no query",
            Some("Write EXPLAIN alone: it shows the plan of every statement."),
        ));
    };
    if has_writes(query) || is_select_into(query) {
        return Err(Error::unsupported(
            "EXPLAIN of the types or the logical plan of a query that writes",
            Some("Write EXPLAIN alone: it shows the plan of every statement."),
        ));
    }
    let plan = QueryPlan::new(query::plan_query(ctx, query, &known_types(ctx))?);
    Ok(match instead {
        Instead::Types => {
            let columns = plan.columns();
            let line = |column: &OutputColumn| format!("{} {}", quote_ident(&column.name), column.ty);
            columns.iter().map(line).collect()
        }
        Instead::BoundTree => plan.bound().text().lines().map(str::to_string).collect(),
    })
}

/// What a query that has run is explained as.
pub(super) async fn ran(
    ctx: &StatementContext,
    plan: &QueryPlan,
    (observation, ran): (&Observation, Explained),
    options: Options,
) -> Result<Explained> {
    let node = query_node(ctx, plan, Some(observation)).await?;
    let bound = bound_form(ctx, plan, options, Some(observation)).await?;
    Ok(Explained { node, bound, ..ran })
}

/// For VERBOSE, what the query is bound to and whether that ran, or would run, as it is. Errors: as binding parameters.
pub(super) async fn bound_form(
    ctx: &StatementContext,
    plan: &QueryPlan,
    options: Options,
    observation: Option<&Observation>,
) -> Result<Option<BoundForm>> {
    if !options.verbose {
        return Ok(None);
    }
    let is_short = match observation {
        Some(observation) => observation.general().is_none(),
        None => match plan.answered(ctx).await? {
            Some(answered) => answered.plan.story(ctx)?.is_some(),
            None => plan.story(ctx)?.is_some(),
        },
    };
    let tree = plan.bound().text();
    Ok(Some(BoundForm { is_short, tree }))
}

/// The tree of a query: of what ran, or of what would. Prior subqueries are run for it. Errors: those of planning the
/// access, and of running such subqueries.
pub(super) fn query_node<'a>(
    ctx: &'a StatementContext,
    plan: &'a QueryPlan,
    observation: Option<&'a Observation>,
) -> BoxFuture<'a, Result<PlanNode>> {
    async move {
        let planned = match observation {
            Some(_) => None,
            None => plan.answered(ctx).await?,
        };
        let ran = observation.and_then(Observation::answered);
        let Some(answered) = ran.or(planned.as_ref()) else {
            return answered_node(ctx, plan, observation).await;
        };
        let mut node = answered_node(ctx, &answered.plan, observation).await?;
        for subquery in &answered.subqueries {
            let below = query_node(ctx, subquery, None).await?;
            node = node.over_as("InitPlan", below.labelled("InitPlan".to_string()));
        }
        Ok(node)
    }
    .boxed()
}

/// The tree of a query whose prior subqueries are answered.
async fn answered_node(
    ctx: &StatementContext,
    plan: &QueryPlan,
    observation: Option<&Observation>,
) -> Result<PlanNode> {
    if let Some(ran) = observation.and_then(Observation::general) {
        // A subquery that never ran need not have a plan.
        let _ = plan_examples(ctx, ran).await;
        return Ok(plan_node(ran));
    }
    if let Some(story) = plan.story(ctx)? {
        return Ok(short_node(story, observation));
    }
    let physical = plan.physical(ctx).await?;
    plan_examples(ctx, &physical).await?;
    Ok(plan_node(&physical))
}
