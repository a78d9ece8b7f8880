//! Short statements: a query over one table, or over none, whose plan is a chain (filters, computed columns, an order, a
//! limit, aggregates, DISTINCT) runs as it was bound: no rewriting, no physical planner, no other thread. Everything
//! that does not depend on the parameters is worked out once, and kept with a prepared statement.
//!
//! A statement is short by its form; whether few rows pass through it nobody knows before. So a chain that turns out to
//! be long leaves: rows that stream go on on the query threads once the `allowance` is spent, and a chain that only collects (a
//! sort, aggregates) is given up for the general plan, which has threads, memory accounts and files to spill to.

mod append;
mod arrival;
mod asked_of_parts;
mod beside;
mod catalog_lookup;
mod catalog_source;
mod chain;
mod ends;
mod ends_of_parts;
mod explain;
mod extent;
mod figures;
mod filter;
mod first_of_parts;
mod groups;
mod incremental_sort;
mod join_group;
mod lateral;
mod order;
mod point_read;
mod prune;
mod read;
mod recursion;
mod row_limit;
mod row_number;
mod run;
mod start;
mod step;
mod sub_chain;
mod subquery;
mod top_rows;
mod totals;
use std::sync::Arc;

pub use append::PartitionReads;
use arrival::Arrival;
use arrow::array::RecordBatch;
use ends::{Ends, count_or_read, first_rows};
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt};

use crate::logical::evaluable::waits;
use crate::logical::placeholder::Constants;
use crate::plan::OrderColumn;
use crate::scan::RowsStream;
use crate::scan::executor::Demand;
use crate::scan::figures::watch;
use crate::system::StatementContext;
use crate::system::pg_catalog::CatalogContext;
use crate::table::RowLayout;
use crate::tree::{Expr, Plan};
use crate::{Error, Result};
pub use explain::{ShortKind, ShortNode, ShortSource, ShortStory};
use extent::{Extent, stream_run};
pub use figures::StepFigures;
pub use point_read::PointRead;
use prune::{prune, without_reordering};
use read::{Access, TableRead, one_row};
use row_limit::{ends_soon, limit_counts, may_end_early, rows_wanted, skip_rows};
use run::RunningStep;
use step::{Source, Step};
use totals::RowCount;

/// A query's plan as a chain.
#[derive(Debug)]
pub struct ShortPlan {
    source: Source,
    /// From the source to the result.
    steps: Vec<Step>,
    /// The order that the sort asks for, when it goes by columns of the table; empty without a sort.
    order: Option<Vec<OrderColumn>>,
    /// The columns of the table that the sort begins with, when a limit follows it.
    first_order: Vec<OrderColumn>,
    /// The columns of the table whose values the first groups share; `None`: no groups, or not by columns.
    group_columns: Option<Vec<usize>>,
    /// What the steps take of the table, when that is no more than its ends and its number of rows.
    ends: Option<Ends>,
    /// Whether it is short only if it reads no more than these.
    reads_ends_only: bool,
    /// See [`ShortPlan::looks_up`].
    looks_up: bool,
    /// Whether it asks the catalogs, by what it reads or by functions.
    reads_catalogs: bool,
    /// The first step that does something, which is not to be done again; the first of all, if the source does.
    acts_from: Option<usize>,
    /// The layout of the result in the table's rows, when nothing is computed.
    stored: Option<Arc<RowLayout>>,
}

/// The general plan's result, for a chain that turned out to be long.
pub type Long = BoxFuture<'static, Result<BoxStream<'static, Result<RecordBatch>>>>;

impl ShortPlan {
    /// The plan as a chain, if it is one. It is good as long as the plan is.
    pub fn of(plan: &Plan) -> Option<ShortPlan> {
        ShortPlan::filtered(Vec::new(), plan)
    }

    /// The same of its rows for which all conditions hold.
    fn filtered(conditions: Vec<Expr>, plan: &Plan) -> Option<ShortPlan> {
        if waits(plan) {
            return None;
        }
        let mut short = match conditions.is_empty() {
            true => chain::read(plan)?,
            false => chain::read_filtered(conditions, plan)?,
        };
        let is_lookup = |step: &Step| matches!(step, Step::Lookup(_));
        short.looks_up = short.steps.iter().any(is_lookup) && short.may_drive();
        if let Some(columns) = short.source.step_columns().filter(|_| !short.is_told()) {
            // EXPLAIN would tell of the names that it gives.
            without_reordering(&mut short.steps, columns);
        }
        short.prune_columns();
        short.reads_catalogs =
            short.source.reads_catalogs() || short.steps.iter_mut().any(Step::reads_catalogs);
        short.acts_from = match short.source.acts() {
            true => Some(0),
            false => short.steps.iter_mut().position(Step::acts),
        };
        if let Source::Table(table) = &short.source {
            short.order = order::of_source(|column| table.position(column), &short.steps);
            short.first_order = order::begun_by_table(table, &short.steps);
            short.group_columns = order::of_groups(table, &short.steps);
            short.ends = Ends::of(table, &short.steps);
            short.stored = order::unchanged(&short.steps).map(|columns| Arc::new(table.layout(&columns)));
        }
        if let Source::Append(append) = &mut short.source {
            let order = order::of_source(|column| column, &short.steps);
            append.ask_order(&order.unwrap_or_default());
        }
        let is_lasting = |step: &Step| match step {
            Step::Beside { others, .. } => others.is_lasting(),
            _ => true,
        };
        // What was there when it was planned is only told by the source.
        short.steps.iter().all(is_lasting).then_some(short)
    }

    fn from_source(source: Source) -> ShortPlan {
        ShortPlan {
            source,
            steps: Vec::new(),
            order: None,
            first_order: Vec::new(),
            group_columns: None,
            ends: None,
            reads_ends_only: false,
            looks_up: false,
            reads_catalogs: false,
            acts_from: None,
            stored: None,
        }
    }

    /// Leaves out what the source and the lookups would give and nobody reads.
    fn prune_columns(&mut self) {
        match &mut self.source {
            Source::Table(table) => {
                if let Some(used) = prune(&mut self.steps) {
                    table.keep_columns(used);
                }
            }
            Source::Catalog(relation) => {
                if let Some(used) = prune(&mut self.steps) {
                    relation.keep_columns(used);
                }
            }
            Source::OneRow | Source::Rows(_) | Source::Append(_) | Source::Recursion(_) | Source::Work(_) => {
            }
        }
    }

    /// The same chain, short only if it reads no more than the ends of its table's keys; `None`: it takes more of it.
    fn only_of_ends(self) -> Option<ShortPlan> {
        self.ends.is_some().then_some(ShortPlan {
            reads_ends_only: true,
            ..self
        })
    }

    /// Has its last step, a limit, give what OFFSET leaves out.
    fn give_skipped(&mut self) {
        if let Some(Step::Limit { gives_skipped, .. }) = self.steps.last_mut() {
            *gives_skipped = true;
        }
    }

    /// The table that it reads, if it is one.
    fn table(&self) -> Option<&TableRead> {
        match &self.source {
            Source::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The column of the table that a column of the result is, if it is one, of rows that are only filtered, ordered and limited.
    fn column_of_table(&self, column: usize) -> Option<usize> {
        order::column_of_table(self.table()?, &self.steps, column)
    }

    /// Whether it asks the catalogs, by what it reads or by functions.
    fn reads_catalogs(&self) -> bool {
        self.reads_catalogs
    }

    /// Whether it does more than read.
    fn acts(&self) -> bool {
        self.acts_from.is_some()
    }

    /// Whether it may be given up for the general plan when it has done something, which that would do again.
    fn would_act_again(&self, arrival: Arrival) -> bool {
        let Some(from) = self.acts_from else { return false };
        let keeps_lookups = self.keeps_lookups(arrival);
        let mut behind = self.steps.iter().skip(from);
        behind.any(|step| step.may_be_given_up(arrival.is_ordered, keeps_lookups))
    }

    /// Whether it gives its rows as they come, whatever its constants: none of its steps collects more than the first rows in an order.
    fn streams(&self) -> bool {
        let streams = |(at, step): (usize, &Step)| match step {
            Step::Filter(_) | Step::Project { .. } | Step::Limit { .. } => true,
            Step::Sort(_) => matches!(self.steps.get(at + 1), Some(Step::Limit { fetch: Some(_), .. })),
            _ => false,
        };
        let sources_stream = match &self.source {
            Source::Append(append) => append.members().iter().all(ShortPlan::streams),
            Source::OneRow
            | Source::Rows(_)
            | Source::Table(_)
            | Source::Catalog(_)
            | Source::Work(_)
            | Source::Recursion(_) => true,
        };
        sources_stream && self.steps.iter().enumerate().all(streams)
    }

    fn sorts(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Sort(_)))
    }

    /// Runs it as a part of another chain, which it does as [`ShortPlan::streams`] says; `None`: with these constants it is not short.
    fn run_within(
        &self,
        ctx: &StatementContext,
        constants: &Constants,
        figures: Option<&Arc<StepFigures>>,
    ) -> Result<Option<RowsStream>> {
        self.run_or_give_up(ctx, constants, figures, None::<fn() -> Long>)
    }

    /// Whether it reads a table, or nothing, and puts rows in order at most: its form bounds what it takes.
    pub fn is_plain(&self) -> bool {
        let is_plain = |step: &Step| {
            matches!(
                step,
                Step::Filter(_) | Step::Project { .. } | Step::Sort(_) | Step::Limit { .. }
            )
        };
        matches!(self.source, Source::Table(_) | Source::OneRow) && self.steps.iter().all(is_plain)
    }

    /// Whether EXPLAIN can tell of it; else it tells of the general plan.
    pub fn is_told(&self) -> bool {
        let is_told = |step: &Step| {
            !matches!(
                step,
                Step::CatalogLookup(_)
                    | Step::Lateral(_)
                    | Step::SubChain(_)
                    | Step::Beside { .. }
                    | Step::Numbered { .. }
            )
        };
        let is_source_told = match &self.source {
            Source::Catalog(_) | Source::Recursion(_) | Source::Work(_) => false,
            Source::Append(append) => append.members().iter().all(ShortPlan::is_told),
            Source::OneRow | Source::Rows(_) | Source::Table(_) => true,
        };
        is_source_told && self.steps.iter().all(is_told)
    }

    /// Runs it with these constants; `None` when with them it is not short. `figures`: what reading and each step are
    /// counted in. `long`: makes what runs the general plan. Nothing is read before the first poll. Errors: 42P02, 2201W, 2201X;
    /// those of planning the access are the general plan's.
    pub fn run(
        &self,
        ctx: &StatementContext,
        constants: &Constants,
        figures: Option<&Arc<StepFigures>>,
        long: impl FnOnce() -> Long,
    ) -> Result<Option<RowsStream>> {
        self.run_or_give_up(ctx, constants, figures, Some(long))
    }

    /// The same. `long`: `None` where it is a part of another chain, whose rows may have been given: then nothing is given up.
    fn run_or_give_up(
        &self,
        ctx: &StatementContext,
        constants: &Constants,
        figures: Option<&Arc<StepFigures>>,
        long: Option<impl FnOnce() -> Long>,
    ) -> Result<Option<RowsStream>> {
        let with_catalogs = match self.reads_catalogs {
            true => Some(constants.with_catalogs(CatalogContext::new(Arc::new(ctx.clone())))),
            false => None,
        };
        let constants = with_catalogs.as_ref().unwrap_or(constants);
        let mut arrival = Arrival::default();
        let rows = match &self.source {
            Source::Table(table) => return self.run_table(table, ctx, constants, figures, long),
            Source::Catalog(relation) => relation.batches(constants)?,
            Source::Append(append) => {
                let Some(rows) = append.rows(ctx, constants, figures)? else {
                    return Ok(None);
                };
                arrival.is_ordered = rows.is_ordered;
                arrival.are_totals = rows.are_totals;
                if self.steps.is_empty() {
                    return Ok(Some(rows.rows));
                }
                append.batches(rows)
            }
            Source::OneRow => one_row(),
            Source::Recursion(recursion) => match recursion.rows(ctx, constants)? {
                Some(rows) => rows,
                None => return Ok(None),
            },
            Source::Work(_) => return Err(Error::internal("a turn without the one before it")),
            Source::Rows(rows) => {
                let batches = rows.in_run(ctx).to_vec();
                stream::iter(batches.into_iter().map(Ok)).boxed()
            }
        };
        if self.would_act_again(arrival) {
            return Ok(None);
        }
        self.run_over(ctx, (rows, arrival), constants, figures, long)
            .map(Some)
    }

    /// The same over the rows of its table.
    fn run_table(
        &self,
        table: &TableRead,
        ctx: &StatementContext,
        constants: &Constants,
        figures: Option<&Arc<StepFigures>>,
        long: Option<impl FnOnce() -> Long>,
    ) -> Result<Option<RowsStream>> {
        let metrics = figures.map_or_else(Arc::default, |figures| Arc::clone(figures.source()));
        let Some(mut access) = self.access(table, ctx, constants)? else {
            return Ok(None);
        };
        let ends = self.ends_access(table, ctx, constants);
        let arrival = self.arrival(&mut access);
        if self.reads_ends_only && ends.is_none() && !self.is_end(&access, arrival) {
            return Ok(None);
        }
        if self.would_act_again(arrival) {
            return Ok(None);
        }
        let is_ordered = arrival.is_ordered;
        let limit = match arrival.is_extreme {
            true => Some(1),
            false => rows_wanted(&self.steps, is_ordered, constants)?,
        };
        if let Some(layout) = &self.stored
            && is_ordered
            && access.gives_stored(layout)
        {
            let skip = self.rows_skipped(constants)?;
            return Ok(Some(skip_rows(access.stored(ctx, layout, limit, metrics), skip)));
        }
        let demand = self.demand(&access, arrival, limit);
        let mut steps = access.filters(constants)?;
        let (skip, left) = (0, Some(1));
        steps.extend(arrival.is_extreme.then_some(RunningStep::Limit { skip, left }));
        let row_count = RowCount::default();
        steps.extend(self.start(ctx, constants, arrival, &row_count)?);
        observe_lookups(&mut steps, figures);
        let reads_ends = ends.is_some();
        let known = match ends {
            Some(ends) => first_rows(ends, ctx, &metrics),
            None => stream::empty().boxed(),
        };
        let whole_table = access.whole_table();
        let is_sorted = !is_ordered && arrival.first_ordered == 0;
        if long.is_none() && is_sorted && whole_table.is_some() && self.sorts() {
            return Ok(None);
        }
        let by_gets = access.counted_path(steps.iter().any(RunningStep::collects));
        let mut batches = access.batches(ctx, demand, metrics);
        let counts_rows = self.counts_rows(reads_ends);
        if counts_rows {
            batches = count_or_read(ctx, table.table(), &row_count, known, batches);
        } else if reads_ends {
            batches = known;
        }
        let is_any = reads_ends || self.reads_ends_only;
        let extent = match self.keeps_lookups(arrival) || arrival.first_ordered > 0 || is_any {
            true => Extent::Any,
            false if is_ordered && ends_soon(&self.steps, constants)? => Extent::Ended,
            false => Extent::Short {
                whole: whole_table.filter(|_| demand == Demand::All && !counts_rows),
                by_gets,
            },
        };
        Ok(Some(stream_run(ctx, (batches, extent), steps, figures, long)))
    }

    /// How many rows of its table are wanted. `limit`: as many at most leave the steps that let all through.
    fn demand(&self, access: &Access<'_>, arrival: Arrival, limit: Option<usize>) -> Demand {
        match limit {
            _ if arrival.first_ordered > 0 => Demand::Few,
            Some(_) if !access.is_exact() => Demand::Few,
            None if may_end_early(&self.steps, arrival.is_ordered) => Demand::Few,
            limit => Demand::of_limit(limit),
        }
    }

    /// Runs the steps, none of which collects, over the rows of a recursion's turns, where whoever asks for rows runs.
    fn run_over_work(
        &self,
        ctx: &StatementContext,
        work: BoxStream<'static, Result<RecordBatch>>,
        constants: &Constants,
    ) -> Result<RowsStream> {
        let steps = self.start(ctx, constants, Arrival::default(), &RowCount::default())?;
        Ok(stream_run(
            ctx,
            (work, Extent::Here),
            steps,
            None,
            None::<fn() -> Long>,
        ))
    }

    /// Runs the steps over what is in memory.
    fn run_over(
        &self,
        ctx: &StatementContext,
        (source, arrival): (BoxStream<'static, Result<RecordBatch>>, Arrival),
        constants: &Constants,
        figures: Option<&Arc<StepFigures>>,
        long: Option<impl FnOnce() -> Long>,
    ) -> Result<RowsStream> {
        let source = match figures.and_then(|figures| figures.source().figures.as_ref()) {
            Some(figures) => watch(source, figures, RecordBatch::num_rows).boxed(),
            None => source,
        };
        let steps = self.start(ctx, constants, arrival, &RowCount::default())?;
        let extent = match self.source {
            Source::Append(_) => Extent::Parts,
            _ => Extent::Short {
                whole: None,
                by_gets: None,
            },
        };
        Ok(stream_run(ctx, (source, extent), steps, figures, long))
    }

    /// Whether it reads a part of a table that conditions bound, or no table.
    pub fn is_bounded(&self) -> bool {
        match &self.source {
            Source::Table(table) => table.has_conditions(),
            Source::OneRow | Source::Rows(_) | Source::Catalog(_) => true,
            Source::Recursion(_) | Source::Work(_) => false,
            Source::Append(append) => append.members().iter().all(ShortPlan::is_bounded),
        }
    }

    /// Whether a limit ends it.
    pub fn is_limited(&self) -> bool {
        let is_limit = |step: &Step| matches!(step, Step::Limit { fetch: Some(_), .. });
        self.steps.iter().any(is_limit)
    }

    /// Whether conditions, by their form, bound what it reads of its table, so that it may say what is looked up in others.
    fn may_drive(&self) -> bool {
        match &self.source {
            Source::Table(table) => table.is_bounded(),
            // What the statement has made itself.
            Source::Work(_) | Source::Rows(_) => true,
            _ => false,
        }
    }

    /// Whether what it joins is looked up for rows of which conditions bound a key. Then the full-scan rule lets it pass.
    pub fn looks_up(&self) -> bool {
        self.looks_up
    }

    /// The same where rows leave as they come. Of much that is gathered, or sorted, the general plan counts what is to be looked up
    /// first.
    fn keeps_lookups(&self, arrival: Arrival) -> bool {
        let gathers = |step: &Step| match step {
            Step::Groups { .. } | Step::Totals { .. } => true,
            Step::Sort(_) => !arrival.is_ordered && arrival.first_ordered == 0,
            _ => false,
        };
        self.looks_up && !self.steps.iter().any(gathers)
    }

    /// Whether it locks rows that it reads.
    fn locks_rows(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::LockRows(_)))
    }

    /// Whether it reads what is there when it runs, not what was there when it was planned.
    pub fn is_lasting(&self) -> bool {
        match &self.source {
            Source::Rows(rows) => rows.is_lasting(),
            Source::Append(append) => append.members().iter().all(ShortPlan::is_lasting),
            Source::Recursion(recursion) => recursion.is_lasting(),
            Source::OneRow | Source::Table(_) | Source::Catalog(_) | Source::Work(_) => true,
        }
    }

    /// How the rows of its table are reached; see [`TableRead::access`].
    fn access<'a>(
        &self,
        table: &'a TableRead,
        ctx: &StatementContext,
        constants: &Constants,
    ) -> Result<Option<Access<'a>>> {
        if let Some(extreme) = self.ends.as_ref().and_then(Ends::only_order) {
            // No extreme is a NULL, and a key may have them at the end where it stands.
            let order = std::slice::from_ref(extreme);
            let mut access = table.access(ctx, constants, order, Some(extreme.column));
            if access.as_mut().is_some_and(|access| access.serve(order, false)) {
                return Ok(access);
            }
        }
        Ok(table.access(ctx, constants, self.first_in_order(constants)?, None))
    }

    /// How the ends of the table are read, if several are all that the steps take of it.
    fn ends_access<'a>(
        &self,
        table: &'a TableRead,
        ctx: &StatementContext,
        constants: &Constants,
    ) -> Option<Vec<Access<'a>>> {
        let ends = self.ends.as_ref()?;
        ends.access(table, ctx, constants)
    }

    /// Whether the number of the table's rows is asked for, beside its ends if they are read, or else alone.
    fn counts_rows(&self, reads_ends: bool) -> bool {
        let counts = |ends: &Ends| ends.counts_rows() && ends.is_row_count() != reads_ends;
        self.ends.as_ref().is_some_and(counts)
    }

    /// The order of the table of which the first rows may be enough; empty: there is none. Errors: 2201W, 2201X.
    fn first_in_order(&self, constants: &Constants) -> Result<&[OrderColumn]> {
        let Some(order) = &self.order else { return Ok(&[]) };
        let may_be_enough =
            rows_wanted(&self.steps, true, constants)?.is_some() || ends_soon(&self.steps, constants)?;
        Ok(if may_be_enough { order } else { &[] })
    }

    /// Rows that its only limit leaves out. Errors: 2201W, 2201X.
    fn rows_skipped(&self, constants: &Constants) -> Result<usize> {
        for step in &self.steps {
            if let Step::Limit {
                skip,
                fetch,
                gives_skipped: false,
            } = step
            {
                return limit_counts(skip.as_ref(), fetch.as_ref(), constants).map(|(skip, _)| skip);
            }
        }
        Ok(0)
    }
}

/// Counts the lookups among the steps.
fn observe_lookups(steps: &mut [RunningStep], figures: Option<&Arc<StepFigures>>) {
    let Some(figures) = figures else { return };
    for (at, step) in steps.iter_mut().enumerate() {
        if let RunningStep::Lookup(lookup) = step {
            lookup.observe(figures.lookup(at));
        }
    }
}
