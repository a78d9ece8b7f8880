//! INSERT and UPSERT: the source's rows, filled up with defaults, written as the statement says.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::{concat_batches, filter_record_batch};
use futures::TryStreamExt;
use sqlparser::ast;

use super::assign::assign_array;
use super::conflict::{self, OnConflict};
use super::exclusions;
use super::generated_columns::{generates_of_both, with_dependents};
use super::insert_clauses::Clauses;
use super::insert_source::{Source, SourceQuery};
use super::insert_target::target_of;
use super::named_columns::returns_all;
use super::new_rows::NewRows;
use super::partition_routes::Routes;
use super::references::References;
use super::returning::Returning;
use super::row_buffer::RowBuffer;
use super::row_checks::RowChecks;
use super::row_event::RowEvent;
use super::row_triggers::{RowTriggers, WrittenRow};
use super::target::{Target, bind_narrowed};
use super::transition_tables::triggers_see_rows;
use super::values::syntax;
use super::version_time;
use super::view_checks::{ViewCheck, ViewChecks};
use super::write_result::WriteResult;
use super::written_marks::{names_xmax, with_marks};
use crate::catalog::{TableDef, TriggerTiming};
use crate::query::{Observation, RowRelation, known_types, written_marks};
use crate::system::StatementContext;
use crate::table::{Conflicts, Limits, get_rows, insert_missing_rows, insert_rows, upsert_rows};
use crate::types::SqlType;
use crate::{Error, Result};

/// An INSERT or UPSERT, bound.
#[derive(Debug)]
pub(super) struct InsertPlan {
    pub(super) target: Target,
    pub(super) source: Source,
    pub(super) rows: NewRows,
    checks: RowChecks,
    /// What views ask of the rows, once they are written.
    pub(super) view_checks: ViewChecks,
    pub(super) mode: Mode,
    pub(super) returning: Option<Returning>,
    /// Whether RETURNING asks which rows were there before.
    marks_updated: bool,
    /// How long its rows live, if it says so.
    lifetime: Option<i64>,
    /// The time of its rows, in milliseconds since 1970, if it says so.
    version_time: Option<i64>,
    /// Where its rows go, if its table is partitioned.
    routes: Option<Box<Routes<InsertPlan>>>,
    /// Their table does not know yet that rows may say so: that is recorded when it is bound to run.
    is_first_to_expire: bool,
}

/// What is done with a row whose key is there already.
#[derive(Debug)]
pub(super) enum Mode {
    /// 23505.
    Insert,
    /// The columns named are overwritten.
    Upsert,
    /// As the clause says.
    OnConflict(OnConflict),
}

impl InsertPlan {
    /// Binds it; the columns that it adds to a dynamic table are there then. `narrows`: of many columns it may leave out those that it
    /// does not name. Errors: those of binding, 0A000.
    pub(super) async fn bind_for_run(
        ctx: &StatementContext,
        insert: &ast::Insert,
        types: &mut Vec<Option<SqlType>>,
        narrows: bool,
    ) -> Result<InsertPlan> {
        let known = types.clone();
        match InsertPlan::bind_target(ctx, insert, types, narrows).await {
            // The nearest name may be that of any column.
            Err(error) if narrows && error.is_undefined_column() => {
                *types = known;
                InsertPlan::bind_target(ctx, insert, types, false).await
            }
            bound => bound,
        }
    }

    async fn bind_target(
        ctx: &StatementContext,
        insert: &ast::Insert,
        types: &mut Vec<Option<SqlType>>,
        narrows: bool,
    ) -> Result<InsertPlan> {
        let (mut target, names) = target_of(ctx, insert, narrows)?;
        if ctx.hints.row_lifetime.is_some() {
            target.let_rows_expire(ctx)?;
        }
        target.add_columns_of_patterns(ctx, names.iter().map(String::as_str))?;
        let mut source = Source::bind(ctx, &target, insert, &names, types)?;
        if target.table.gets_columns() {
            let before = Arc::clone(&target.table);
            target.add_columns(ctx, source.new_columns(ctx).await?)?;
            let on = conflict::with_nulls(&target, insert, &source);
            conflict::add_new_columns(ctx, &mut target, on.as_deref(), types).await?;
            if !Arc::ptr_eq(&before, &target.table) {
                source = Source::bind(ctx, &target, insert, &names, types)?;
            }
            target.tell_added(ctx);
        }
        let on = conflict::with_nulls(&target, insert, &source);
        let clauses = Clauses::of(insert).with_on(on.as_deref());
        InsertPlan::of_source(ctx, clauses, (target, source), types)
    }

    /// Binds it with the columns that it would add to a table that gets some, which nobody else gets to know.
    pub(super) fn bind_for_describe(
        ctx: &StatementContext,
        insert: &ast::Insert,
        types: &mut Vec<Option<SqlType>>,
        may_narrow: bool,
    ) -> Result<InsertPlan> {
        bind_narrowed(types, |types, narrows| {
            let (mut target, names) = target_of(ctx, insert, narrows && may_narrow)?;
            target.assume_columns_of_patterns(ctx, names.iter().map(String::as_str))?;
            let mut source = Source::bind(ctx, &target, insert, &names, types)?;
            let expected = source.expected_columns(ctx, types);
            // What `*` is told to be must not depend on whether a value proves to be NULL.
            if !expected.is_empty() && !returns_all(insert.returning.as_deref()) {
                target.assume_columns(ctx, expected)?;
                source = Source::bind(ctx, &target, insert, &names, types)?;
            }
            let on = conflict::with_nulls(&target, insert, &source);
            let clauses = Clauses::of(insert).with_on(on.as_deref());
            InsertPlan::of_source(ctx, clauses, (target, source), types)
        })
    }

    /// Binds what a write to a partitioned table writes to one of its partitions, which is called as that is, and whose columns at these
    /// positions it gives.
    pub(super) fn bind_for_partition(
        ctx: &StatementContext,
        clauses: Clauses<'_>,
        (partition, known_as): (&Arc<TableDef>, &str),
        given: Vec<usize>,
    ) -> Result<InsertPlan> {
        let mut target = Target::of_table(partition);
        target.alias = Some(known_as.to_string());
        if ctx.hints.row_lifetime.is_some() {
            target.let_rows_expire(ctx)?;
        }
        InsertPlan::of_source(
            ctx,
            clauses,
            (target, Source::Routed(given)),
            &mut known_types(ctx),
        )
    }

    /// Of rows that are there already, whose table no catalog may know yet. Errors: those of binding.
    pub(super) fn of_rows_there(
        ctx: &StatementContext,
        table: &Arc<TableDef>,
        source: SourceQuery,
        positions: &[usize],
    ) -> Result<InsertPlan> {
        Ok(InsertPlan {
            target: Target::of_table(table),
            rows: NewRows::bind(ctx, table, positions.iter().copied(), 0)?,
            checks: RowChecks::bind_some(ctx, table, |check| !check.not_valid)?,
            view_checks: ViewChecks::default(),
            source: Source::Query(source),
            mode: Mode::Insert,
            returning: None,
            marks_updated: false,
            lifetime: None,
            version_time: None,
            routes: None,
            is_first_to_expire: false,
        })
    }

    /// Has its rows asked what views ask of them. Errors: those of binding.
    pub(super) fn ask(&mut self, ctx: &StatementContext, checks: Vec<ViewCheck>) -> Result<()> {
        match &mut self.routes {
            Some(routes) => routes.ask(checks),
            None => self.view_checks = ViewChecks::bind(ctx, &self.target.table, checks)?,
        }
        Ok(())
    }

    /// The first of the rows of its table that no partition has, and its error: 23514.
    pub(super) fn first_homeless(&self, rows: &RecordBatch) -> Result<Option<(usize, Error)>> {
        match &self.routes {
            Some(routes) => routes.first_homeless(&self.target.table, rows),
            None => Ok(None),
        }
    }

    fn of_source(
        ctx: &StatementContext,
        clauses: Clauses<'_>,
        (target, source): (Target, Source),
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<InsertPlan> {
        let mode = match (clauses.on, clauses.is_upsert) {
            (None, false) => Mode::Insert,
            (None, true) if target.table.stands_for_view() => return Err(upsert_of_view()),
            (None, true) => Mode::Upsert,
            (Some(_), true) => return Err(syntax("UPSERT takes no ON CONFLICT clause")),
            (Some(on), false) => Mode::OnConflict(OnConflict::bind(ctx, &target, on, types)?),
        };
        let rows = NewRows::bind(
            ctx,
            &target.table,
            source.positions().into_iter(),
            source.rows_expected(),
        )?;
        let items = clauses.returning;
        let marks_updated = matches!(mode, Mode::OnConflict(OnConflict::DoUpdate(_))) && names_xmax(items);
        let beside: &[RowRelation] = match marks_updated {
            true => &[written_marks()],
            false => &[],
        };
        let returning = Returning::bind(ctx, &target, beside, items, types)?;
        let routes = target.table.partitioning.is_some().then(|| {
            let given = source.positions();
            Routes::bind(ctx, &target, clauses, clauses.is_upsert.then_some(&given)).map(Box::new)
        });
        Ok(InsertPlan {
            routes: routes.transpose()?,
            is_first_to_expire: ctx.hints.row_lifetime.is_some() && !target.table.options.expiry.by_row,
            checks: RowChecks::bind(ctx, &target.table)?,
            view_checks: ViewChecks::default(),
            target,
            source,
            rows,
            mode,
            returning,
            marks_updated,
            lifetime: ctx.hints.row_lifetime,
            version_time: ctx.hints.version_time,
        })
    }

    /// What holds for the rows that it writes.
    fn limits(&self, ctx: &StatementContext) -> Result<Limits> {
        Ok(Limits {
            row_lifetime: self.lifetime,
            ..version_time::limits(ctx, &self.target.table, self.version_time)?
        })
    }

    /// Whether it may run again as long as catalog and settings are the same.
    pub(super) fn is_lasting(&self) -> bool {
        if let Mode::OnConflict(OnConflict::DoUpdate(update)) = &self.mode
            && update.set.leaves_out
        {
            return false;
        }
        if self.is_first_to_expire {
            return false;
        }
        match &self.source {
            Source::Defaults | Source::Routed(_) => true,
            Source::Values(values) => values.is_lasting(),
            Source::Query(query) => query.plan.is_lasting() && !query.positions.contains(&None),
        }
    }

    /// Whether a function is run for it that may write, and sees what was written.
    pub(super) fn may_write(&self) -> bool {
        self.source.may_write() || self.goes_by_row()
    }

    /// Whether such a function is run for each row once that is there.
    fn goes_by_row(&self) -> bool {
        let on_conflict = match &self.mode {
            Mode::OnConflict(OnConflict::DoUpdate(update)) => update.may_write(),
            Mode::Insert | Mode::Upsert | Mode::OnConflict(OnConflict::DoNothing(_)) => false,
        };
        on_conflict || self.rows.may_write() || self.returning.as_ref().is_some_and(Returning::may_write)
    }

    /// Runs it. `observation`: what its reading is counted in.
    pub(super) async fn run(
        &self,
        ctx: &StatementContext,
        observation: Option<&Observation>,
        references: &References,
    ) -> Result<WriteResult> {
        let mut writer = self.writer(ctx, references);
        match &self.source {
            Source::Routed(_) => return Err(Error::internal("rows of a partition without its table")),
            Source::Defaults => writer.write(Vec::new(), 1).await?,
            Source::Values(values) if !values.by_row().is_empty() => {
                for row in values.by_row() {
                    let given = row.arrays(ctx, &self.target.table, &self.rows).await?;
                    writer.write(given, 1).await?;
                }
            }
            Source::Values(values) => {
                let given = values.arrays(ctx, &self.target.table, &self.rows).await?;
                writer.write(given, values.rows).await?;
            }
            Source::Query(query) => writer.write_query(query, observation).await?,
        }
        writer.finish("INSERT 0").await
    }

    fn writer<'a>(&'a self, ctx: &'a StatementContext, references: &'a References) -> Writer<'a> {
        Writer {
            ctx,
            plan: self,
            references,
            written: 0,
            rows: RowBuffer::new(ctx),
            returned: Vec::new(),
        }
    }

    /// Writes whole rows of the table that this one is a partition of, whose columns `given` are. Answers how many there were, and what
    /// RETURNING shows of them.
    pub(super) async fn run_routed(
        &self,
        ctx: &StatementContext,
        (given, count): (Vec<(usize, ArrayRef)>, usize),
        references: &References,
    ) -> Result<WriteResult> {
        references.write_to(ctx, &self.target.table);
        let mut writer = self.writer(ctx, references);
        writer.write(given, count).await?;
        writer.finish("INSERT 0").await
    }
}

fn upsert_of_view() -> Error {
    Error::unsupported(
        "UPSERT into a view with INSTEAD OF triggers",
        Some("Write INSERT INTO: the trigger decides what becomes of a row that is there already."),
    )
}

/// Writes batches of rows and keeps what RETURNING shows.
struct Writer<'a> {
    ctx: &'a StatementContext,
    plan: &'a InsertPlan,
    references: &'a References,
    written: u64,
    /// Rows written, whole, when there is a RETURNING.
    rows: RowBuffer,
    /// What RETURNING shows of rows that partitions have got, or that it was asked of at once.
    returned: Vec<RecordBatch>,
}

impl Writer<'_> {
    /// The rows of a query.
    async fn write_query(&mut self, query: &SourceQuery, observation: Option<&Observation>) -> Result<()> {
        let mut batches = query.batches(&self.ctx.reading(), observation).await?;
        // Rows must be read before the first is written when the query reads the table it writes to, and kept together
        // when a key that comes twice is an error of the statement.
        let goes_by_row = query.plan.may_write() && self.ctx.began.is_some();
        if !goes_by_row && (query.reads_target || matches!(self.plan.mode, Mode::OnConflict(_))) {
            let batches = RowBuffer::collect(self.ctx, batches).await?.into_batches();
            if let Some(first) = batches.first() {
                let batch = concat_batches(&first.schema(), &batches).map_err(Error::arrow)?;
                self.write_query_batch(&batch, query).await?;
            }
            return Ok(());
        }
        while let Some(batch) = batches.try_next().await? {
            self.write_query_batch(&batch, query).await?;
        }
        Ok(())
    }

    async fn write_query_batch(&mut self, batch: &RecordBatch, query: &SourceQuery) -> Result<()> {
        let settings = self.ctx.format_settings();
        let (table, columns) = (&self.plan.target.table, query.plan.columns());
        let mut given = Vec::with_capacity(query.positions.len());
        for ((array, output), position) in batch.columns().iter().zip(columns.iter()).zip(&query.positions) {
            if let Some(position) = position.as_ref().filter(|at| !query.left_out.contains(at)) {
                let column = &table.columns[*position];
                given.push((*position, assign_array(array, &output.ty, column, &settings)?));
            }
        }
        self.write(given, batch.num_rows()).await
    }

    /// Fills the rows up with defaults and writes them.
    async fn write(&mut self, given: Vec<(usize, ArrayRef)>, count: usize) -> Result<()> {
        if count > 1 && self.plan.goes_by_row() {
            for row in 0..count {
                let given = given.iter().map(|(at, array)| (*at, array.slice(row, 1)));
                Box::pin(self.write(given.collect(), 1)).await?;
            }
            return Ok(());
        }
        let table = &self.plan.target.table;
        if let Some(routes) = &self.plan.routes {
            return Box::pin(self.route(routes, given, count)).await;
        }
        let triggers = RowTriggers::bind(self.ctx, table, RowEvent::INSERT, TriggerTiming::Before)?;
        if triggers.is_none() && count > 0 {
            return self.write_together(given, count, None).await;
        }
        for row in 0..count {
            let of_row = |(at, array): &(usize, ArrayRef)| (*at, array.slice(row, 1));
            let given = given.iter().map(of_row).collect();
            self.write_together(given, 1, triggers.as_ref()).await?;
        }
        Ok(())
    }

    /// Writes rows to the partitions that have them, in their order as long as anybody may see it.
    async fn route(
        &mut self,
        routes: &Routes<InsertPlan>,
        given: Vec<(usize, ArrayRef)>,
        count: usize,
    ) -> Result<()> {
        let InsertPlan { target, rows, .. } = self.plan;
        let batch = rows.fill(self.ctx, &target.table, given, count).await?;
        let is_seen = self.plan.returning.is_some() && matches!(self.plan.mode, Mode::Insert);
        for (at, rows) in routes.split(&target.table, &batch, is_seen)? {
            let bind = |partition: (&Arc<TableDef>, &str), clauses: Clauses<'_>, given, checks| {
                let mut plan = InsertPlan::bind_for_partition(self.ctx, clauses, partition, given)?;
                plan.ask(self.ctx, checks)?;
                Ok(plan)
            };
            let partition = routes.plan(self.ctx, &target.table, at, bind)?;
            let given = routes.given(&target.table, &partition.target.table, &rows)?;
            let written = partition.run_routed(self.ctx, (given, rows.num_rows()), self.references);
            let written = Box::pin(written).await?;
            self.written += written.rows_written;
            self.returned.extend(written.batches);
        }
        Ok(())
    }

    /// What was done.
    async fn finish(self, verb: &str) -> Result<WriteResult> {
        let returning = self.plan.returning.as_ref();
        let mut result = WriteResult::of(self.ctx, verb, self.written, returning, self.rows).await?;
        result.batches.extend(self.returned);
        Ok(result)
    }

    async fn write_together(
        &mut self,
        given: Vec<(usize, ArrayRef)>,
        count: usize,
        triggers: Option<&RowTriggers<'_>>,
    ) -> Result<()> {
        let plan = self.plan;
        let (target, rows, checks, mode) = (&plan.target, &plan.rows, &plan.checks, &plan.mode);
        let (txn, limits) = (&self.ctx.txn, self.plan.limits(self.ctx)?);
        let table = &*target.table;
        let mut batch = rows.fill(self.ctx, table, given, count).await?;
        if let Some(triggers) = triggers {
            let row = WrittenRow {
                old: None,
                new: Some(&batch),
            };
            match triggers.before(self.ctx, row).await? {
                Some(given) => batch = given,
                None => return Ok(()),
            }
        }
        if !self.changes_standing_rows()? {
            checks.require(self.ctx, table, &batch).await?;
        }
        let mut marks = None;
        let written = match mode {
            // The triggers have done it.
            _ if table.stands_for_view() => batch,
            Mode::Insert => {
                insert_rows(txn, table, &batch, limits).await?;
                self.references
                    .note_inserted(self.ctx, &target.table, &batch)
                    .await?;
                batch
            }
            Mode::Upsert => self.upsert(batch).await?,
            Mode::OnConflict(OnConflict::DoNothing(conflicts)) => {
                let inserted = self.insert_missing(&batch, *conflicts, limits).await?;
                let inserted =
                    filter_record_batch(&batch, &BooleanArray::from(inserted)).map_err(Error::arrow)?;
                self.references
                    .note_inserted(self.ctx, &target.table, &inserted)
                    .await?;
                inserted
            }
            Mode::OnConflict(OnConflict::DoUpdate(update)) => {
                let update = (&**update, limits);
                let (written, updated) =
                    conflict::insert_or_update(self.ctx, target, &batch, update, self.references).await?;
                marks = Some(updated);
                written
            }
        };
        let table = &*target.table;
        self.plan.view_checks.require(self.ctx, table, &written).await?;
        self.written += written.num_rows() as u64;
        if let Some(returning) = &self.plan.returning {
            let rows = match marks.filter(|_| self.plan.marks_updated) {
                Some(updated) => with_marks(written, &updated)?,
                None => written,
            };
            let shown = (&mut self.rows, &mut self.returned);
            returning.note(self.ctx, rows, shown).await?;
        }
        Ok(())
    }

    /// Inserts the rows that nothing is in the way of; answers which were inserted.
    async fn insert_missing(
        &self,
        batch: &RecordBatch,
        conflicts: Conflicts,
        limits: Limits,
    ) -> Result<Vec<bool>> {
        let (txn, table) = (&self.ctx.txn, &self.plan.target.table);
        if table.exclusions().next().is_none() {
            return insert_missing_rows(txn, table, batch, conflicts, limits).await;
        }
        // One by one: each may be in the way of the next.
        let mut inserted = Vec::with_capacity(batch.num_rows());
        for row in (0..batch.num_rows()).map(|row| batch.slice(row, 1)) {
            inserted.extend(
                match exclusions::is_free(self.ctx, table, &row, conflicts).await? {
                    true => insert_missing_rows(txn, table, &row, conflicts, limits).await?,
                    false => vec![false],
                },
            );
        }
        Ok(inserted)
    }

    /// Whether it is an UPSERT whose rows are known only with those that stand.
    fn changes_standing_rows(&self) -> Result<bool> {
        let (table, named) = (&*self.plan.target.table, self.plan.rows.named());
        let changes = matches!(self.plan.mode, Mode::Upsert)
            && (generates_of_both(table, &named)
                || self.plan.checks.need_standing_rows(table, &named)
                || !self.plan.view_checks.is_empty()
                || !table.foreign_keys.is_empty()
                || triggers_see_rows(self.ctx, &self.plan.target.table)?
                || self.ctx.references_to_rows_of(table).next().is_some());
        Ok(changes)
    }

    async fn upsert(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let (txn, limits) = (&self.ctx.txn, self.plan.limits(self.ctx)?);
        let (table, named) = (&*self.plan.target.table, self.plan.rows.named());
        if self.changes_standing_rows()? {
            let (table, checks) = (&self.plan.target.table, &self.plan.checks);
            let rows = conflict::WholeRows {
                table,
                named: &named,
                checks,
            };
            return conflict::upsert_whole_rows(self.ctx, &batch, (rows, limits), self.references).await;
        }
        upsert_rows(txn, table, &batch, &with_dependents(table, &named), limits).await?;
        match self.plan.returning.is_some() {
            // Also those that are over already.
            true => Ok(get_rows(&txn.with_rows_that_are_over(), table, &batch, limits)
                .await?
                .1),
            false => Ok(batch),
        }
    }
}
