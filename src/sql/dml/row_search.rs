//! `RowSearch`: how an UPDATE, DELETE or MERGE finds its rows, planned; EXPLAIN shows the very plan. They come page by page.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema};
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use sqlparser::ast::{Expr, ObjectName, Visitor};

use super::row_buffer::RowBuffer;
use super::target::Target;
use crate::catalog::{Access, Object, TableDef};
use crate::logical::placeholder::Constants;
use crate::operators::recheck::KeptRecheck;
use crate::operators::row_locks::TableRowLocks;
use crate::parse::current_of::cursor_of;
use crate::parse::walk::Walk;
use crate::query::{FoundPlan, Observation, Others, QueryPlan, RowRelation, TargetRows, plan_target_rows};
use crate::sql::relation::get_relation;
use crate::store::LockMode;
use crate::system::StatementContext;
use crate::types::SqlType;
use crate::{Error, Result};

/// Where a write finds its rows.
#[derive(Clone, Copy)]
pub(super) struct Finding<'a> {
    /// Positions in `TableDef::columns` of the columns to read.
    pub(super) columns: &'a [usize],
    /// What SET computes of each row.
    pub(super) expressions: &'a [&'a Expr],
    /// What the target is joined with.
    pub(super) others: Others<'a>,
    /// WHERE.
    pub(super) selection: Option<&'a Expr>,
    /// Whether somebody asks for the columns of what the target is joined with.
    pub(super) beside: bool,
    /// Only rows behind this stored key, in the order of the primary key.
    pub(super) after: Option<&'a Arc<[u8]>>,
}

/// How rows are found.
#[derive(Debug)]
pub(super) struct RowSearch {
    pub(super) plan: Arc<QueryPlan>,
    /// The relations whose columns stand behind the expressions.
    pub(super) beside: Vec<RowRelation>,
    columns: usize,
    expressions: usize,
    /// Whether a row may be found several times.
    pub(super) joins: bool,
    /// Whether the target is read at another place than as the target.
    reads_target_again: bool,
    /// What locks the rows of a page, and the columns of the page that are their keys. `None`: the write locks them.
    locks: Option<(TableRowLocks, Vec<usize>)>,
    recheck: KeptRecheck,
    /// It finds the row of a cursor, where that stands in this run.
    is_of_cursor: bool,
}

/// A page of rows.
pub(super) struct FoundPage<'a> {
    /// The columns asked for.
    pub(super) columns: &'a [ArrayRef],
    /// The expressions, then the columns beside.
    pub(super) others: &'a [ArrayRef],
}

impl RowSearch {
    /// Plans how they are found. `types`: as [`plan_target_rows`]. Errors: as binding a query.
    pub(super) fn bind(
        ctx: &StatementContext,
        target: &Target,
        finding: Finding<'_>,
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<RowSearch> {
        let rows = TargetRows {
            table: &target.table,
            alias: target.alias.as_deref(),
            columns: finding.columns,
            expressions: finding.expressions,
            others: finding.others,
            selection: finding.selection,
            beside: finding.beside,
            after: finding.after,
        };
        let FoundPlan { query, beside } = plan_target_rows(ctx, rows, types)?;
        let locks = finding.locks(&target.table);
        let locks = locks.filter(|_| !query.looks_up() && !target.table.stands_for_view());
        let plan = Arc::new(QueryPlan::new(query));
        Ok(RowSearch {
            reads_target_again: finding.reads_table_again(ctx, &target.table)
                || plan.reads_beyond(target.table.oid, 1),
            plan,
            beside,
            columns: finding.columns.len(),
            expressions: finding.expressions.len(),
            joins: finding.joins(),
            locks,
            recheck: KeptRecheck::default(),
            is_of_cursor: finding.selection.and_then(cursor_of).is_some(),
        })
    }

    /// Whether it reads the target alone, once, so that its rows come in the order of the key that it reads.
    pub(super) fn is_walk(&self) -> bool {
        !self.joins
            && !self.reads_target_again
            && self.plan.is_chain()
            && self.plan.bound().only_scan().is_some()
    }

    /// Whether a function is run in it that may write.
    pub(super) fn may_write(&self) -> bool {
        self.plan.may_write()
    }

    /// Whether it finds the same rows in each run, as long as what it rests on is the same.
    pub(super) fn is_lasting(&self) -> bool {
        !self.is_of_cursor && self.plan.is_lasting()
    }

    /// The types of the expressions. `Unknown`: an untyped literal, which takes the type of the column it is for.
    pub(super) fn types(&self) -> Vec<SqlType> {
        let columns = self.plan.columns();
        let computed = columns.iter().skip(self.columns).take(self.expressions);
        computed.map(|column| column.ty.clone()).collect()
    }

    /// Begins to find the rows. `moves`: the write may make rows that would be found again, so that the first page comes when
    /// all are read. Errors: those of planning the access.
    pub(super) async fn pages(
        &self,
        ctx: &StatementContext,
        observation: Option<&Observation>,
        moves: bool,
    ) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let rows = match self.may_write() {
            true => {
                let fetching = Box::new(ctx.reading().fetching());
                self.plan.run_observed(&fetching, observation).await?
            }
            false => self.plan.run_observed(&ctx.reading(), observation).await?,
        };
        let pages = rows.and_then(|rows| async move { rows.into_batch() }).boxed();
        // What functions write between two rows, the next one's see, and the query does not.
        let goes_by_row = self.may_write() && ctx.began.is_some();
        if goes_by_row || !moves && !self.reads_target_again {
            return Ok(pages);
        }
        let ctx = ctx.clone();
        let kept = async move {
            let kept = RowBuffer::collect(&ctx, pages).await?.into_batches();
            Ok::<_, Error>(stream::iter(kept.into_iter().map(Ok)))
        };
        Ok(stream::once(kept).try_flatten().boxed())
    }

    /// The rows of a page, locked, as they are now. Errors: as [`TableRowLocks::lock`].
    pub(super) async fn lock(
        &self,
        ctx: &StatementContext,
        page: RecordBatch,
        mode: LockMode,
    ) -> Result<RecordBatch> {
        let Some((locks, key)) = &self.locks else {
            return Ok(page);
        };
        let key: Vec<ArrayRef> = key.iter().map(|at| Arc::clone(page.column(*at))).collect();
        let recheck = || {
            let constants = Constants::new(ctx, self.plan.parameters())?;
            let recheck = self.recheck.of(self.plan.bound(), None);
            Ok(recheck.map(|recheck| (recheck, constants)))
        };
        locks.lock(&ctx.txn, mode, (&key, page), recheck).await
    }

    /// Takes a page apart.
    pub(super) fn split<'a>(&self, page: &'a RecordBatch) -> FoundPage<'a> {
        let (columns, others) = page.columns().split_at(self.columns);
        FoundPage { columns, others }
    }
}

impl Finding<'_> {
    /// `None`: a row may come several times, and only the first is written.
    fn locks(&self, table: &TableDef) -> Option<(TableRowLocks, Vec<usize>)> {
        if self.joins() {
            return None;
        }
        let key = table.primary_key.columns.iter().map(|key| {
            let at = table.column_index_by_id(key.column)?;
            self.columns.iter().position(|column| *column == at)
        });
        let locks = TableRowLocks::of_write(table);
        Some((locks, key.collect::<Option<_>>()?))
    }

    fn reads_table_again(&self, ctx: &StatementContext, table: &TableDef) -> bool {
        self.expressions.iter().any(|expr| reads_table(ctx, *expr, table))
            || self
                .selection
                .is_some_and(|selection| reads_table(ctx, selection, table))
            || match self.others {
                Others::From(from) => from.iter().any(|item| reads_table(ctx, item, table)),
                Others::Source(source) => {
                    reads_table(ctx, source.relation, table) || reads_table(ctx, source.on, table)
                }
            }
    }

    /// Whether a row of the target may come several times.
    fn joins(&self) -> bool {
        !matches!(self.others, Others::From([]))
    }
}

/// The rows of pages, each in a page of its own: what is done once one is written may be to the next.
pub(super) fn row_by_row(
    pages: BoxStream<'static, Result<RecordBatch>>,
) -> BoxStream<'static, Result<RecordBatch>> {
    let rows = pages.map_ok(|page| {
        let rows = (0..page.num_rows()).map(move |row| Ok(page.slice(row, 1)));
        stream::iter(rows)
    });
    rows.try_flatten().boxed()
}

/// Whole rows of the target with the columns of the relations behind them.
pub(super) fn append_beside(
    rows: RecordBatch,
    relations: &[RowRelation],
    beside: Vec<ArrayRef>,
) -> Result<RecordBatch> {
    if relations.is_empty() {
        return Ok(rows);
    }
    let mut fields: Vec<Arc<Field>> = rows.schema().fields().iter().cloned().collect();
    for column in relations.iter().flat_map(|relation| &relation.columns) {
        fields.push(Arc::new(column.ty.field(&column.name, true)));
    }
    let columns = rows.columns().iter().cloned().chain(beside).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).map_err(Error::arrow)
}

/// Whether a query, or a part of one, names the table, or a view (which may read it).
pub(super) fn reads_table(ctx: &StatementContext, query: &impl Walk, table: &TableDef) -> bool {
    struct Reads<'a>(&'a StatementContext, u32);
    impl Visitor for Reads<'_> {
        type Break = ();
        fn pre_visit_relation(&mut self, name: &ObjectName) -> std::ops::ControlFlow<()> {
            match get_relation(self.0, name, Access::Name) {
                Ok(Some(Object::Table(table))) if table.oid == self.1 => std::ops::ControlFlow::Break(()),
                Ok(Some(Object::View(_))) => std::ops::ControlFlow::Break(()),
                _ => std::ops::ControlFlow::Continue(()),
            }
        }
    }
    query.walk(&mut Reads(ctx, table.oid)).is_break()
}
