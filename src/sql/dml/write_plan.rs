//! `WritePlan`: a write, bound. It is kept with its statement, described and explained as what runs.

use std::sync::Arc;
use std::time::Instant;

use sqlparser::ast;

use super::conflict::OnConflict;
use super::delete::DeletePlan;
use super::insert::{InsertPlan, Mode};
use super::insert_source::Source;
use super::merge::MergePlan;
use super::operation::Operation;
use super::part_columns;
use super::partition_writes::{of_partition, partitioned_target};
use super::references::References;
use super::returning::Returning;
use super::row_event::RowEvent;
use super::row_triggers::fire_before_statement;
use super::shared_sources::SharedSources;
use super::target::Target;
use super::update::{UpdatePlan, WalkedTo};
use super::view_checks::{ViewCheck, ViewChecks};
use super::view_target::{ThroughViews, through_views};
use super::write_result::WriteResult;
use crate::catalog::{TableDef, TriggerEvent};
use crate::operators::short::PartitionReads;
use crate::plan::row_keys;
use crate::query::{Experience, Observation, QueryPlan, known_types};
use crate::scan::OutputColumn;
use crate::sql::Description;
use crate::system::StatementContext;
use crate::system::plan_cache::PlanCache;
use crate::table::lock_for_writes;
use crate::types::SqlType;
use crate::{Error, Result};

/// A bound write.
#[derive(Debug)]
pub(crate) struct WritePlan {
    write: Write,
    /// Of an UPDATE, DELETE or MERGE of a partitioned table; the table itself has no rows.
    parts: Parts,
    /// The types of `$1` … that it was bound with: `Unknown` where nothing decides.
    parameters: Vec<SqlType>,
    experience: Experience,
}

/// What an UPDATE, DELETE or MERGE of a partitioned table is of each of its partitions.
#[derive(Debug, Default)]
struct Parts {
    plans: Vec<Arc<WritePlan>>,
    /// What runs once for all of them.
    shared: SharedSources,
    /// What is known of their reads together.
    reads: Option<PartitionReads>,
}

#[derive(Debug)]
enum Write {
    Insert(InsertPlan),
    Update(UpdatePlan),
    Delete(DeletePlan),
    Merge(MergePlan),
}

/// Where the rows of a write come from.
pub(crate) enum RowsRead<'a> {
    /// VALUES of so many rows.
    Values(usize),
    /// A query.
    Query(&'a Arc<QueryPlan>),
    /// Each partition has a write of its own.
    Partitions(&'a [Arc<WritePlan>]),
}

impl WritePlan {
    /// The plan of a statement that is to run: the one that it kept, or a new one, which it keeps if it lasts. The columns that
    /// the statement adds to a dynamic table are there then. Errors: those of binding.
    pub(crate) async fn of(
        ctx: &StatementContext,
        statement: &ast::Statement,
        kept: &PlanCache<WritePlan>,
    ) -> Result<Arc<WritePlan>> {
        let plan = kept.get(ctx.plan_basis());
        if let Some(plan) = plan.filter(|plan| plan.fits(ctx)) {
            return Ok(plan);
        }
        Box::pin(WritePlan::bind(ctx, statement, kept)).await
    }

    /// Whether the statement was described with the types that it was bound with.
    pub(crate) fn fits(&self, ctx: &StatementContext) -> bool {
        self.parameters == *ctx.parameter_types
    }

    async fn bind(
        ctx: &StatementContext,
        statement: &ast::Statement,
        kept: &PlanCache<WritePlan>,
    ) -> Result<Arc<WritePlan>> {
        let mut types = known_types(ctx);
        let noticed = ctx.notices_raised();
        let ThroughViews {
            mut statement,
            checks,
        } = through_views(ctx, statement)?;
        let partitioned = partitioned_target(ctx, &statement)?;
        let shared = match &partitioned {
            Some(_) => SharedSources::take_from(ctx, statement.to_mut())?,
            None => SharedSources::default(),
        };
        let named = partitioned.is_some().then(|| shared.naming(ctx));
        let ctx = named.as_ref().unwrap_or(ctx);
        let parts = match &partitioned {
            Some(table) => Box::pin(parts_of(ctx, (&*statement, table), &checks, shared)).await?,
            None => Parts::default(),
        };
        let write = match statement.as_ref() {
            ast::Statement::Insert(insert) => {
                let insert = part_columns::whole(ctx, insert)?;
                let narrows = checks.is_empty();
                let plan = InsertPlan::bind_for_run(ctx, insert.as_ref(), &mut types, narrows).await?;
                Write::Insert(plan)
            }
            ast::Statement::Update(update) => {
                Write::Update(UpdatePlan::bind_for_run(ctx, update, &mut types, None).await?)
            }
            ast::Statement::Delete(delete) => Write::Delete(DeletePlan::bind(ctx, delete, &mut types)?),
            ast::Statement::Merge(merge) => {
                Write::Merge(MergePlan::bind_for_run(ctx, merge, &mut types).await?)
            }
            other => return Err(not_a_write(other)),
        };
        Ok(write
            .checked(ctx, checks)?
            .kept(ctx, kept, (types, parts), noticed))
    }

    /// Parameter types and RETURNING columns, without running it. `parameters`: the types the client gave (`None`: unsaid).
    pub(crate) fn describe(
        ctx: &StatementContext,
        statement: &ast::Statement,
        kept: &PlanCache<WritePlan>,
        parameters: &[Option<SqlType>],
    ) -> Result<Description> {
        let mut types = parameters.to_vec();
        let (noticed, before) = (ctx.notices_raised(), ctx.notices_count());
        let ThroughViews { statement, checks } = through_views(ctx, statement)?;
        let write = match statement.as_ref() {
            ast::Statement::Insert(insert) => Write::Insert(InsertPlan::bind_for_describe(
                ctx,
                part_columns::whole(ctx, insert)?.as_ref(),
                &mut types,
                checks.is_empty(),
            )?),
            ast::Statement::Update(update) => {
                match UpdatePlan::bind_for_describe(ctx, update, &mut types)? {
                    Some(plan) => Write::Update(plan),
                    // What it returns, running it tells.
                    None => {
                        return Ok(Description {
                            parameters: decided(types),
                            columns: None,
                        });
                    }
                }
            }
            ast::Statement::Delete(delete) => Write::Delete(DeletePlan::bind(ctx, delete, &mut types)?),
            ast::Statement::Merge(merge) => {
                Write::Merge(MergePlan::bind_for_describe(ctx, merge, &mut types)?)
            }
            other => return Err(not_a_write(other)),
        };
        let is_partitioned = partitioned_target(ctx, &statement)?.is_some();
        let write = write.checked(ctx, checks)?;
        // What is described alone is not kept for a run.
        let own = PlanCache::default();
        let kept = if is_partitioned { &own } else { kept };
        let plan = write.kept(ctx, kept, (types, Parts::default()), noticed);
        // What raised some is bound again to be run.
        ctx.forget_notices(before);
        let columns = plan.returned_columns();
        Ok(Description {
            parameters: plan.parameters.clone(),
            columns,
        })
    }

    /// Runs it. `observation`: what its reading is counted in; `references`: what is settled when its statement ends.
    pub(crate) async fn run(
        &self,
        ctx: &StatementContext,
        observation: Option<&Observation>,
        references: &References,
    ) -> Result<WriteResult> {
        let begun = Instant::now();
        ctx.session.begins_work();
        references.write_to(ctx, self.table());
        // What a partition may hold follows from those beside it: a partitioned table is locked like those that have its rows.
        lock_for_writes(&ctx.txn, self.table()).await?;
        let written = match self.reads_as_it_writes() {
            true => {
                let ctx = ctx.beginning_part();
                let writing = self.write(&ctx, observation, references);
                Box::pin(self.with_triggers(&ctx, references, writing)).await
            }
            false => self.write(ctx, observation, references).await,
        };
        self.experience.note(begun.elapsed());
        written
    }

    /// Runs a part of it as a statement of its own: `write` is given what it runs in. Its table is locked already.
    pub(super) async fn run_part<R>(
        &self,
        ctx: &StatementContext,
        references: &References,
        write: impl FnOnce(StatementContext) -> R,
    ) -> Result<WriteResult>
    where
        R: Future<Output = Result<WriteResult>>,
    {
        references.write_to(ctx, self.table());
        if !self.reads_as_it_writes() {
            return write(ctx.clone()).await;
        }
        let ctx = ctx.beginning_part();
        let writing = write(ctx.clone());
        Box::pin(self.with_triggers(&ctx, references, writing)).await
    }

    /// Whether its last run was short.
    pub(crate) fn is_short_by_experience(&self) -> bool {
        self.experience.is_short()
    }

    /// Writes, and has the triggers fire that fire once for the statement.
    async fn with_triggers(
        &self,
        ctx: &StatementContext,
        references: &References,
        writing: impl Future<Output = Result<WriteResult>>,
    ) -> Result<WriteResult> {
        let table = self.table();
        let events = match &self.write {
            Write::Insert(plan) => plan.events(),
            Write::Update(plan) => vec![(TriggerEvent::Update, plan.columns_set())],
            Write::Delete(_) => vec![(TriggerEvent::Delete, Vec::new())],
            Write::Merge(plan) => plan.events(),
        };
        let events = || events.iter().map(|(event, set)| RowEvent { event: *event, set });
        for event in events() {
            fire_before_statement(ctx, table, event).await?;
        }
        let written = writing.await?;
        for event in events().rev() {
            references.triggers.note_statement(ctx, table, event);
        }
        Ok(written)
    }

    async fn write(
        &self,
        ctx: &StatementContext,
        observation: Option<&Observation>,
        references: &References,
    ) -> Result<WriteResult> {
        let filled = Box::pin(self.parts.shared.filled(ctx)).await?.map(Box::new);
        let ctx = filled.as_deref().unwrap_or(ctx);
        if !self.parts.plans.is_empty() {
            return Box::pin(self.write_parts(ctx, observation, references)).await;
        }
        match &self.write {
            Write::Insert(plan) => plan.run(ctx, observation, references).await,
            Write::Update(plan) => plan.run(ctx, observation, references).await,
            Write::Delete(plan) => plan.run(ctx, observation, references).await,
            Write::Merge(plan) => plan.run(ctx, observation, references).await,
        }
    }

    /// Runs it on each partition, none of which sees what it has done to the others.
    async fn write_parts(
        &self,
        ctx: &StatementContext,
        observation: Option<&Observation>,
        references: &References,
    ) -> Result<WriteResult> {
        let mut all = WriteResult {
            tag: String::new(),
            rows_written: 0,
            columns: self
                .returning()
                .map(|returning| returning.columns().to_vec())
                .unwrap_or_default(),
            batches: Vec::new(),
        };
        let left = self.parts.left(ctx)?;
        let left = || left.iter().map(|place| &self.parts.plans[*place]);
        for part in left() {
            lock_for_writes(&ctx.txn, part.table()).await?;
        }
        for part in left() {
            references.write_to(ctx, part.table());
            // Of one alone it tells what was read.
            let observation = observation.filter(|_| self.parts.plans.len() == 1);
            let written = Box::pin(part.write(ctx, observation, references)).await?;
            all.rows_written += written.rows_written;
            all.batches.extend(written.batches);
        }
        if let Write::Merge(plan) = &self.write
            && plan.inserts_unmatched()
        {
            all.rows_written += plan.run(ctx, None, references).await?.rows_written;
        }
        all.tag = format!("{} {}", self.operation().verb(), all.rows_written);
        Ok(all)
    }

    /// Whether queries of its own run once it has begun to write.
    fn reads_as_it_writes(&self) -> bool {
        let updates = match &self.write {
            Write::Insert(plan) => match &plan.mode {
                Mode::OnConflict(OnConflict::DoUpdate(update)) => update.reads_more(),
                Mode::Insert | Mode::Upsert | Mode::OnConflict(OnConflict::DoNothing(_)) => false,
            },
            Write::Update(_) | Write::Delete(_) | Write::Merge(_) => false,
        };
        let fires = !self.table().triggers.is_empty();
        fires
            || updates
            || !self.parts.plans.is_empty()
            || self.may_write()
            || self.returning().is_some_and(Returning::reads_more)
    }

    /// Whether a function is run for it that may write, and sees what was written.
    fn may_write(&self) -> bool {
        match &self.write {
            Write::Insert(plan) => plan.may_write(),
            Write::Update(plan) => plan.may_write(),
            Write::Delete(plan) => plan.may_write(),
            Write::Merge(plan) => plan.may_write(),
        }
    }

    /// The columns of RETURNING.
    pub(crate) fn returned_columns(&self) -> Option<Arc<[OutputColumn]>> {
        self.returning().map(|returning| returning.columns().into())
    }

    /// Whether it may be run again as long as what it rests on is the same. Columns that it has just added are in no catalog that it
    /// could be kept for.
    pub(crate) fn is_lasting(&self) -> bool {
        let is_lasting = match &self.write {
            Write::Insert(plan) => plan.is_lasting(),
            Write::Update(plan) => plan.is_lasting(),
            Write::Delete(plan) => plan.found.is_lasting(),
            Write::Merge(plan) => plan.is_lasting(),
        };
        let Parts { plans, shared, .. } = &self.parts;
        is_lasting
            && !self.adds_columns()
            && shared.are_lasting()
            && plans.iter().all(|part| part.is_lasting())
    }

    /// Whether it has added columns to its table as it was bound.
    pub(crate) fn adds_columns(&self) -> bool {
        self.target().is_widened()
    }

    /// The DELETE that it is, if it is one.
    pub(super) fn delete(&self) -> Option<&DeletePlan> {
        match &self.write {
            Write::Delete(plan) => Some(plan),
            Write::Insert(_) | Write::Update(_) | Write::Merge(_) => None,
        }
    }

    /// The UPDATE that it is, if it is one.
    pub(super) fn update(&self) -> Option<&UpdatePlan> {
        match &self.write {
            Write::Update(plan) => Some(plan),
            Write::Insert(_) | Write::Delete(_) | Write::Merge(_) => None,
        }
    }

    /// The UPDATE of a statement that goes on behind a stored key. Errors: those of binding.
    pub(super) async fn of_update_after(
        ctx: &StatementContext,
        statement: &ast::Statement,
        after: &WalkedTo,
    ) -> Result<WritePlan> {
        let ThroughViews { statement, checks } = through_views(ctx, statement)?;
        let ast::Statement::Update(update) = statement.as_ref() else {
            return Err(not_a_write(&statement));
        };
        let mut types = known_types(ctx);
        let write = UpdatePlan::bind_for_run(ctx, update, &mut types, Some(after)).await?;
        Ok(WritePlan {
            write: Write::Update(write).checked(ctx, checks)?,
            parts: Parts::default(),
            parameters: decided(types),
            experience: Experience::default(),
        })
    }

    /// What it does with its rows.
    pub(crate) fn operation(&self) -> Operation {
        let on_conflict = match &self.write {
            Write::Update(_) => return Operation::Update,
            Write::Delete(_) => return Operation::Delete,
            Write::Merge(_) => return Operation::Merge,
            Write::Insert(plan) => match &plan.mode {
                Mode::Insert => None,
                Mode::OnConflict(OnConflict::DoNothing(_)) => Some("NOTHING"),
                Mode::Upsert | Mode::OnConflict(OnConflict::DoUpdate(_)) => Some("UPDATE"),
            },
        };
        Operation::Insert { on_conflict }
    }

    /// The table that it writes to.
    pub(crate) fn table(&self) -> &Arc<TableDef> {
        &self.target().table
    }

    /// What the statement calls the table.
    pub(crate) fn alias(&self) -> &str {
        self.target().name()
    }

    fn target(&self) -> &Target {
        match &self.write {
            Write::Insert(plan) => &plan.target,
            Write::Update(plan) => &plan.target,
            Write::Delete(plan) => &plan.target,
            Write::Merge(plan) => &plan.target,
        }
    }

    /// What finds the rows of an UPDATE or DELETE.
    fn finding(&self) -> Option<&QueryPlan> {
        match &self.write {
            Write::Update(plan) => Some(&plan.found.plan),
            Write::Delete(plan) => Some(&plan.found.plan),
            Write::Insert(_) | Write::Merge(_) => None,
        }
    }

    /// Where its rows come from.
    pub(crate) fn rows(&self) -> RowsRead<'_> {
        if !self.parts.plans.is_empty() {
            return RowsRead::Partitions(&self.parts.plans);
        }
        match &self.write {
            Write::Update(plan) => RowsRead::Query(&plan.found.plan),
            Write::Delete(plan) => RowsRead::Query(&plan.found.plan),
            Write::Merge(plan) => RowsRead::Query(&plan.found.plan),
            Write::Insert(plan) => match &plan.source {
                Source::Defaults | Source::Routed(_) => RowsRead::Values(1),
                Source::Values(values) => RowsRead::Values(values.rows),
                Source::Query(query) => RowsRead::Query(&query.plan),
            },
        }
    }

    /// The keys that an INSERT of VALUES writes, in SQL words; none when only a run tells them.
    pub(crate) async fn keys(&self, ctx: &StatementContext) -> Vec<String> {
        match &self.write {
            // What fails does so when it runs.
            Write::Insert(plan) => match plan.keys(ctx).await {
                Ok(Some(keys)) if !plan.target.table.stands_for_view() => row_keys(&plan.target.table, &keys),
                _ => Vec::new(),
            },
            Write::Update(_) | Write::Delete(_) | Write::Merge(_) => Vec::new(),
        }
    }

    fn returning(&self) -> Option<&Returning> {
        match &self.write {
            Write::Insert(plan) => plan.returning.as_ref(),
            Write::Update(plan) => plan.returning.as_ref(),
            Write::Delete(plan) => plan.returning.as_ref(),
            Write::Merge(plan) => plan.returning.as_ref(),
        }
    }
}

impl Write {
    /// The write with what the views that it goes through ask of its rows. Errors: those of binding.
    fn checked(mut self, ctx: &StatementContext, checks: Vec<ViewCheck>) -> Result<Write> {
        match &mut self {
            Write::Insert(plan) => plan.ask(ctx, checks)?,
            Write::Update(plan) => plan.view_checks = ViewChecks::bind(ctx, &plan.target.table, checks)?,
            Write::Delete(_) | Write::Merge(_) => {}
        }
        Ok(self)
    }

    /// The plan, which the statement keeps if it lasts. `noticed`: how many notices were raised before it was bound; what the client is
    /// told of, it is told of each time.
    fn kept(
        self,
        ctx: &StatementContext,
        kept: &PlanCache<WritePlan>,
        (types, parts): (Vec<Option<SqlType>>, Parts),
        noticed: usize,
    ) -> Arc<WritePlan> {
        let plan = Arc::new(WritePlan {
            write: self,
            parts,
            parameters: decided(types),
            experience: Experience::default(),
        });
        if plan.is_lasting() && ctx.notices_raised() == noticed {
            kept.set(ctx.kept_basis(), &plan);
        }
        plan
    }
}

/// What an UPDATE, DELETE or MERGE of a partitioned table is of each of its partitions. `checks`: what views ask of the rows; `shared`: what
/// was taken out of the statement. Errors: those of binding, 0A000.
async fn parts_of(
    ctx: &StatementContext,
    (statement, table): (&ast::Statement, &Arc<TableDef>),
    checks: &[ViewCheck],
    shared: SharedSources,
) -> Result<Parts> {
    if ctx.hints.batch_rows.is_some() {
        return Err(Error::unsupported(
            format!(
                "the hint _l_batch_ of a write to the partitioned table \"{}\"",
                table.name
            ),
            Some("Write one of its partitions at a time."),
        ));
    }
    let mut plans = Vec::new();
    for partition in ctx.leaves_of(table)? {
        let mut types = known_types(ctx);
        let write = match of_partition(statement, table, &partition)? {
            ast::Statement::Update(update) => {
                let plan = UpdatePlan::bind_for_run(ctx, &update, &mut types, None).await?;
                Write::Update(plan.moving_rows(ctx, table, update.returning.as_deref())?)
            }
            ast::Statement::Delete(delete) => Write::Delete(DeletePlan::bind(ctx, &delete, &mut types)?),
            ast::Statement::Merge(merge) if merge.clauses.is_empty() => continue,
            ast::Statement::Merge(merge) => {
                let plan = MergePlan::bind_for_run(ctx, &merge, &mut types).await?;
                Write::Merge(plan.moving_rows(ctx, table)?)
            }
            other => return Err(not_a_write(&other)),
        };
        plans.push(Arc::new(WritePlan {
            write: write.checked(ctx, checks.to_vec())?,
            parts: Parts::default(),
            parameters: decided(types),
            experience: Experience::default(),
        }));
    }
    let reads = plans.iter().map(|plan| plan.finding());
    let reads = reads.collect::<Option<Vec<&QueryPlan>>>();
    let partitions = ctx.read_leaves(table)?;
    Ok(Parts {
        reads: reads.and_then(|reads| QueryPlan::partition_reads(&reads, &partitions)),
        plans,
        shared,
    })
}

impl Parts {
    /// The places of those that may have rows to write. Errors: 42P02.
    fn left(&self, ctx: &StatementContext) -> Result<Vec<usize>> {
        let first = self.plans.first().and_then(|plan| plan.finding());
        let left = match (&self.reads, first) {
            (Some(reads), Some(first)) => first.partitions_left(ctx, reads)?,
            _ => None,
        };
        Ok(left.unwrap_or_else(|| (0..self.plans.len()).collect()))
    }
}

/// The types of the parameters. A value for a column that does not exist yet stays open: whoever writes the column first decides.
fn decided(types: Vec<Option<SqlType>>) -> Vec<SqlType> {
    let types = types.into_iter();
    types.map(|ty| ty.unwrap_or(SqlType::Unknown)).collect()
}

fn not_a_write(other: &ast::Statement) -> Error {
    Error::internal(format!("not a write: {other}"))
}
