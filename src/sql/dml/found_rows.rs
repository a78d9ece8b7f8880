//! `FoundRows`: the rows that an UPDATE or DELETE finds, page by page. How they are found is planned once for a prepared
//! statement, and EXPLAIN shows the very plan.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use sqlparser::ast::{Expr, ObjectName, TableWithJoins, Visit, Visitor};

use super::kept_rows::KeptRows;
use super::target::Target;
use crate::Result;
use crate::catalog::TableDef;
use crate::exec::StatementContext;
use crate::exec::plan_cache::PlanCache;
use crate::parse::names;
use crate::query::{Observation, QueryPlan, TargetRows, plan_target_rows};
use crate::types::SqlType;

/// Where a write finds its rows.
#[derive(Clone, Copy)]
pub(super) struct Finding<'a> {
    pub(super) target: &'a Target,
    /// Positions in `TableDef::columns` of the columns to read.
    pub(super) columns: &'a [usize],
    /// What SET computes of each row.
    pub(super) expressions: &'a [&'a Expr],
    /// FROM or USING.
    pub(super) from: &'a [TableWithJoins],
    /// WHERE.
    pub(super) selection: Option<&'a Expr>,
}

/// Rows on their way, and the types of what was computed.
pub(super) struct FoundRows {
    /// `Unknown`: an untyped literal, which takes the type of the column it is for.
    pub(super) types: Vec<SqlType>,
    /// The columns, then the expressions.
    pub(super) pages: BoxStream<'static, Result<RecordBatch>>,
}

impl<'a> Finding<'a> {
    /// The same with these expressions.
    pub(super) fn computing(self, expressions: &'a [&'a Expr]) -> Finding<'a> {
        Finding { expressions, ..self }
    }

    /// The types of what is found. Errors: those of planning.
    pub(super) fn types(
        &self,
        ctx: &StatementContext,
        parameters: &[Option<SqlType>],
    ) -> Result<Vec<SqlType>> {
        let planned = plan_target_rows(ctx, self.rows(), parameters)?;
        Ok(planned.columns.into_iter().map(|column| column.ty).collect())
    }

    /// How the rows are found. `cache`: what the statement keeps. Errors: as binding a query.
    pub(super) fn plan(
        &self,
        ctx: &StatementContext,
        cache: &PlanCache<QueryPlan>,
    ) -> Result<Arc<QueryPlan>> {
        // Columns that the statement has just added are in no catalog that a plan could be kept for.
        let keeps = !self.target.is_widened;
        let width = self.columns.len() + self.expressions.len();
        if keeps
            && let Some(plan) = cache.get(ctx.plan_basis())
            && plan.fits(ctx)
            && plan.columns().len() == width
        {
            return Ok(plan);
        }
        let planned = plan_target_rows(ctx, self.rows(), &crate::query::known_types(ctx))?;
        let plan = Arc::new(QueryPlan::new(planned));
        if keeps && plan.is_lasting() {
            cache.set(ctx.plan_basis(), &plan);
        }
        Ok(plan)
    }

    /// The types of the statement's parameters, as far as finding its rows decides them.
    pub(super) fn parameters(
        &self,
        ctx: &StatementContext,
        types: &[Option<SqlType>],
    ) -> Result<Vec<SqlType>> {
        Ok(plan_target_rows(ctx, self.rows(), types)?.parameters)
    }

    /// Begins to find the rows. `moves`: the write may make rows that would be found again, so that the first page comes when
    /// all are read. Errors: those of planning.
    pub(super) async fn find(
        &self,
        ctx: &StatementContext,
        cache: &PlanCache<QueryPlan>,
        observation: Option<&Observation>,
        moves: bool,
    ) -> Result<FoundRows> {
        let plan = self.plan(ctx, cache)?;
        let columns = plan.columns();
        let computed = columns.iter().skip(self.columns.len());
        let types = computed.map(|column| column.ty.clone()).collect();
        let rows = plan.run_observed(ctx, observation).await?;
        let mut pages = rows.and_then(|rows| async move { rows.into_batch() }).boxed();
        if moves || self.reads_target_again(ctx) {
            let ctx = ctx.clone();
            let kept = async move {
                let kept = KeptRows::collect(&ctx, pages).await?.into_batches();
                Ok(stream::iter(kept.into_iter().map(Ok)))
            };
            pages = stream::once(kept).try_flatten().boxed();
        }
        Ok(FoundRows { types, pages })
    }

    /// Whether the target is read at another place than as the target.
    fn reads_target_again(&self, ctx: &StatementContext) -> bool {
        let table = &self.target.table;
        self.expressions.iter().any(|expr| reads_table(ctx, *expr, table))
            || self
                .selection
                .is_some_and(|selection| reads_table(ctx, selection, table))
            || self.from.iter().any(|item| reads_table(ctx, item, table))
    }

    fn rows(&self) -> TargetRows<'_> {
        TargetRows {
            table: &self.target.table,
            alias: self.target.alias.as_deref(),
            columns: self.columns,
            expressions: self.expressions,
            from: self.from,
            selection: self.selection,
        }
    }
}

/// The columns of a page, and the arrays of the expressions.
pub(super) fn split_page(page: &RecordBatch, columns: usize) -> (&[ArrayRef], &[ArrayRef]) {
    page.columns().split_at(columns)
}

/// Whether a query, or a part of one, names the table, or a view (which may read it).
pub(super) fn reads_table(ctx: &StatementContext, query: &impl Visit, table: &TableDef) -> bool {
    struct Reads<'a>(&'a StatementContext, u32);
    impl Visitor for Reads<'_> {
        type Break = ();
        fn pre_visit_relation(&mut self, name: &ObjectName) -> std::ops::ControlFlow<()> {
            let found = names::relation_name(name).ok().and_then(|(schema, name)| {
                self.0
                    .catalog
                    .get_relation(schema.as_deref(), &name, &self.0.settings.search_path)
            });
            match found {
                Some(relation) if relation.oid() == self.1 || relation.get_table().is_none() => {
                    std::ops::ControlFlow::Break(())
                }
                _ => std::ops::ControlFlow::Continue(()),
            }
        }
    }
    query.visit(&mut Reads(ctx, table.oid)).is_break()
}
