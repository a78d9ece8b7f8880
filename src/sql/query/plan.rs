//! `QueryPlan`: a query that is planned, with what does not depend on its parameters worked out once.

use std::sync::Arc;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan};
use futures::{FutureExt, StreamExt, TryStreamExt};

use super::{PlannedQuery, run_query};
use crate::Result;
use crate::exec::placeholder::Constants;
use crate::exec::scan::ScanMetrics;
use crate::exec::short::{ShortPlan, ShortStory};
use crate::exec::table_provider::is_stored_table;
use crate::exec::{OutputColumn, Rows, RowsStream, StatementContext, functions};
use crate::types::SqlType;

/// A planned query and the ways to run it.
#[derive(Debug)]
pub(crate) struct QueryPlan {
    query: Arc<PlannedQuery>,
    columns: Arc<[OutputColumn]>,
    short: Option<ShortPlan>,
}

impl QueryPlan {
    pub(crate) fn new(query: PlannedQuery) -> QueryPlan {
        let short = match query.looks_up() {
            true => None,
            false => ShortPlan::of(&query.plan),
        };
        QueryPlan {
            columns: query.columns.as_slice().into(),
            query: Arc::new(query),
            short,
        }
    }

    /// The result's columns.
    pub(crate) fn columns(&self) -> Arc<[OutputColumn]> {
        Arc::clone(&self.columns)
    }

    /// The types of `$1` …
    pub(crate) fn parameters(&self) -> &[SqlType] {
        &self.query.parameters
    }

    /// Whether the statement was described with the types that it was planned with.
    pub(crate) fn fits(&self, ctx: &StatementContext) -> bool {
        *ctx.parameter_types == *self.query.parameters
    }

    /// Whether it may be run again as long as catalog and settings are the same: it reads nothing but stored tables, and
    /// no function in it knows of the statement.
    pub(crate) fn is_lasting(&self) -> bool {
        match &self.short {
            Some(short) => short.is_lasting(),
            None => is_lasting(&self.query.plan),
        }
    }

    /// Runs it with the context's parameters, in its transaction. Errors: those of planning the access.
    pub(crate) async fn run(&self, ctx: &StatementContext) -> Result<RowsStream> {
        self.run_counted(ctx, Arc::default()).await
    }

    /// What EXPLAIN tells of it as a short statement; `None` when the general plan would run. Errors: as `run`.
    pub(crate) fn story(&self, ctx: &StatementContext) -> Result<Option<ShortStory>> {
        match &self.short {
            Some(short) => short.story(ctx, &Constants::new(ctx, &self.query.parameters)?),
            None => Ok(None),
        }
    }

    /// The planned query, for what the general plan says of it.
    pub(crate) fn planned(&self) -> &PlannedQuery {
        &self.query
    }

    /// Runs it and counts what a short statement reads of its table.
    pub(crate) async fn run_counted(
        &self,
        ctx: &StatementContext,
        metrics: Arc<ScanMetrics>,
    ) -> Result<RowsStream> {
        if let Some(short) = &self.short {
            let constants = Constants::new(ctx, &self.query.parameters)?;
            let long = || {
                let (ctx, query) = (ctx.clone(), Arc::clone(&self.query));
                async move { run_query(&ctx, &query).await }.boxed()
            };
            if let Some(rows) = short.run(ctx, &constants, metrics, long)? {
                return Ok(rows);
            }
        }
        let batches = Box::pin(run_query(ctx, &self.query)).await?;
        Ok(batches.map_ok(Rows::Columns).boxed())
    }
}

fn is_lasting(plan: &LogicalPlan) -> bool {
    let mut lasting = true;
    let walked = plan.apply_with_subqueries(|node| {
        let own = match node {
            LogicalPlan::TableScan(scan) => is_stored_table(scan),
            LogicalPlan::Extension(_) | LogicalPlan::RecursiveQuery(_) => false,
            _ => true,
        };
        lasting &= own;
        node.apply_expressions(|expr| {
            lasting &= !expr.exists(|expr| Ok(needs_statement(expr)))?;
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(match lasting {
            true => TreeNodeRecursion::Continue,
            false => TreeNodeRecursion::Stop,
        })
    });
    walked.is_ok() && lasting
}

fn needs_statement(expr: &Expr) -> bool {
    matches!(expr, Expr::ScalarFunction(call) if !functions::is_self_contained(&call.func))
}
