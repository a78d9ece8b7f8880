//! `QueryPlan`: a query that is planned, with what does not depend on its parameters worked out once.

use std::sync::{Arc, OnceLock};

use arrow::array::RecordBatch;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt};

use super::experience::{Experience, SHORT};
use super::generic_plans::GenericPlans;
use super::moment::moment_of;
use super::plan_locks::PlanLocks;
use super::prior::{Answer, PriorSubquery, prior_subqueries, with_answers};
use super::{BatchStream, PlannedQuery, physical_plan, run_query};
use crate::catalog::{Moment, TableDef};
use crate::functions::value_array::{scalar_at, value_of_scalar};
use crate::logical::dependent_join::{asks_what_acts, for_each_node, has_expression};
use crate::logical::open_moments::{moments_query, open_moments, with_moments};
use crate::logical::placeholder::Constants;
use crate::logical::rows_source::RowsSource;
use crate::logical::stored_table::is_stored_table;
use crate::logical::work_table::is_work_table;
use crate::operators::Operator;
use crate::operators::catalog_table::is_catalog;
use crate::operators::short::{PartitionReads, PointRead, ShortPlan, ShortStory, StepFigures};
use crate::scan::figures::{Figures, Seen, watch};
use crate::scan::{OutputColumn, Rows, RowsStream};
use crate::system::{StatementContext, query_threads};
use crate::tree::{Expr, Plan, TreeNode, TreeNodeRecursion};
use crate::types::SqlType;
use crate::{Error, Result};

/// A planned query and the ways to run it.
#[derive(Debug)]
pub(crate) struct QueryPlan {
    query: Arc<PlannedQuery>,
    columns: Arc<[OutputColumn]>,
    short: Option<ShortPlan>,
    /// The same, where it reads one row by its key.
    point: Option<PointRead>,
    /// What its runs as a short statement tell, where that is more than a read.
    experience: Experience,
    /// The plans that it keeps, if it may: else each run has a custom plan.
    generic: Option<Arc<GenericPlans>>,
    /// Subqueries to be answered before the rest is planned.
    prior: Arc<[Prior]>,
    /// The chain that it is once they are, their answers left open; `None`: it is none.
    open: OnceLock<Option<ShortPlan>>,
    /// Moments of the past that are asked before, too.
    moments: Vec<Expr>,
    /// What of tables it locks.
    locks: PlanLocks,
    /// A function of a user's is run in it.
    calls_routines: bool,
    /// One of these may write.
    may_write: bool,
    /// How many calls in it do more than answer.
    acting: usize,
    /// Such a call stands in a subquery that is asked for each row.
    asks_what_acts: bool,
}

/// A subquery to be answered before the rest is planned, and its plan.
type Prior = (PriorSubquery, Arc<QueryPlan>);

/// A plan with the answers of subqueries in it.
#[derive(Debug)]
pub(crate) struct Answered {
    /// The plan.
    pub(crate) plan: QueryPlan,
    /// What was answered for it.
    pub(crate) subqueries: Vec<Arc<QueryPlan>>,
}

impl QueryPlan {
    pub(crate) fn new(query: PlannedQuery) -> QueryPlan {
        let whole = QueryPlan::without_prior(query);
        if whole.short.is_some() {
            // Its subqueries are looked up.
            return whole;
        }
        let plan_of = |subquery: PriorSubquery| {
            let plan = QueryPlan::new(PlannedQuery {
                columns: Vec::new(),
                parameters: whole.query.parameters.clone(),
                plan: subquery.plan.clone(),
                views: Arc::default(),
            });
            // A list is worth its making when a key leads to its rows, or a limit ends it.
            let short = plan.short.as_ref();
            let is_cheap = short.is_some_and(|short| short.is_bounded() || short.is_limited());
            (!subquery.is_list() || is_cheap).then(|| (subquery, Arc::new(plan)))
        };
        let prior = prior_subqueries(&whole.query.plan).into_iter();
        let prior = prior.filter_map(plan_of).collect();
        QueryPlan { prior, ..whole }
    }

    /// How it reads one row by its key, if that is all.
    pub(crate) fn point_read(&self) -> Option<&PointRead> {
        self.point.as_ref()
    }

    /// Whether a function of a user's is run in it.
    pub(crate) fn calls_routines(&self) -> bool {
        self.calls_routines
    }

    /// Whether a function is run in it that may write, and sees what was written: rows are computed one at a time for who writes them.
    pub(crate) fn may_write(&self) -> bool {
        self.may_write
    }

    /// Whether a function is run in it that does more than answer.
    pub(crate) fn acts(&self) -> bool {
        self.acting > 0
    }

    /// Whether two runs of it may give different rows of the same tables.
    pub(crate) fn is_volatile(&self) -> bool {
        has_expression(&self.query.plan, Expr::is_volatile_node)
    }

    /// A plan whose subqueries are all answered as it runs.
    fn without_prior(query: PlannedQuery) -> QueryPlan {
        let short = match query.looks_up() {
            true => None,
            false => ShortPlan::of(&query.plan),
        };
        let point = short.as_ref();
        let point = point.and_then(|short| PointRead::of(short, &query.parameters));
        // A plan that cannot be walked has an error that its run tells.
        let moments = open_moments(&query.plan).unwrap_or_default();
        let may_keep = short.is_none() && moments.is_empty() && !query.looks_up() && is_lasting(&query.plan);
        QueryPlan {
            locks: PlanLocks::of(&query.plan, &query.views),
            calls_routines: has_expression(&query.plan, Expr::is_routine_call),
            may_write: may_write(&query.plan),
            acting: acting_calls(&query.plan),
            asks_what_acts: has_acting_subqueries(&query.plan),
            columns: query.columns.as_slice().into(),
            query: Arc::new(query),
            short,
            point,
            experience: Experience::default(),
            generic: may_keep.then(Arc::default),
            prior: Arc::default(),
            open: OnceLock::new(),
            moments,
        }
    }

    /// The plan with the answers of its prior subqueries, which are run for it, and at the moments that it names; `None` without such.
    /// Errors: those of running them.
    pub(crate) async fn answered(&self, ctx: &StatementContext) -> Result<Option<Answered>> {
        match self.prior.is_empty() && self.moments.is_empty() {
            true => Ok(None),
            false => {
                let (answers, _) = self.answers(ctx).await?;
                self.answered_by(ctx, &answers).await.map(Some)
            }
        }
    }

    /// What its prior subqueries give; `None`: more than one may, or what failed in it counts only where its value is read. The first such
    /// failure beside. Errors: those of running them.
    async fn answers(&self, ctx: &StatementContext) -> Result<(Arc<[Option<Answer>]>, Option<Error>)> {
        let (mut answers, mut failure) = (Vec::with_capacity(self.prior.len()), None);
        for (subquery, plan) in &*self.prior {
            let answer = async {
                let rows = plan.batches(ctx).await?;
                subquery.answer(rows, ctx.settings.multi_get_keys_max).await
            };
            answers.push(match answer.await {
                Err(error) if error.is_of_values() => {
                    failure = failure.or(Some(error));
                    None
                }
                answer => answer?,
            });
        }
        Ok((answers.into(), failure))
    }

    /// The plan with these answers in it. Errors: those of asking what moments it names.
    async fn answered_by(&self, ctx: &StatementContext, answers: &[Option<Answer>]) -> Result<Answered> {
        let told = self.told_moments(ctx).await?;
        let answered = self
            .prior
            .iter()
            .zip(answers)
            .filter(|(_, answer)| answer.is_some());
        let subqueries = answered.map(|((_, plan), _)| Arc::clone(plan)).collect();
        let plan = QueryPlan::without_prior(PlannedQuery {
            plan: with_moments(plan_with(&self.query, &self.prior, answers)?, &told)?,
            ..self.query.as_ref().clone()
        });
        Ok(Answered { plan, subqueries })
    }

    /// The chain that it is with answers, which stand in it as placeholders of these names.
    fn open_chain(&self, ctx: &StatementContext) -> Option<&ShortPlan> {
        let open = self.open.get_or_init(|| {
            if !self.moments.is_empty() || self.query.looks_up() {
                return None;
            }
            let settings = Arc::new(ctx.format_settings());
            let prior = self.prior.iter().enumerate();
            let placed = prior
                .map(|(at, (subquery, _))| Some((subquery, subquery.open(&answer_name(at), &settings)?)));
            let plan = with_answers(&self.query.plan, &placed.collect::<Option<Vec<_>>>()?).ok()?;
            ShortPlan::of(&plan)
        });
        open.as_ref()
    }

    /// Its rows as those of that chain; `None`: with these answers it is not short. Errors: as [`ShortPlan::run`].
    fn run_open(
        &self,
        ctx: &StatementContext,
        answers: &Arc<[Option<Answer>]>,
    ) -> Result<Option<RowsStream>> {
        let Some(short) = self.open_chain(ctx) else {
            return Ok(None);
        };
        let mut constants = Vec::new();
        for (at, ((subquery, _), answer)) in self.prior.iter().zip(&**answers).enumerate() {
            let Some(answer) = answer else { return Ok(None) };
            constants.push((Arc::from(answer_name(at)), subquery.constant(answer)));
        }
        let constants = Constants::new(ctx, &self.query.parameters)?.with_outer(constants.into_iter());
        let (query, prior, answers) = (
            Arc::clone(&self.query),
            Arc::clone(&self.prior),
            Arc::clone(answers),
        );
        self.run_short(short, ctx, (&constants, None), move || {
            Ok(Arc::new(PlannedQuery {
                plan: plan_with(&query, &prior, &answers)?,
                ..query.as_ref().clone()
            }))
        })
    }

    /// What the moments are that only a run tells. Errors: those of asking them, and of values that are none.
    async fn told_moments(&self, ctx: &StatementContext) -> Result<Vec<(Expr, Moment)>> {
        if self.moments.is_empty() {
            return Ok(Vec::new());
        }
        let asked = QueryPlan::without_prior(PlannedQuery {
            columns: Vec::new(),
            parameters: self.query.parameters.clone(),
            plan: moments_query(&self.moments, ctx.txn.read_time())?,
            views: Arc::default(),
        });
        let row: Vec<RecordBatch> = asked.batches(ctx).await?.try_collect().await?;
        let row = row.iter().find(|batch| batch.num_rows() == 1);
        let row = row.ok_or_else(|| Error::internal("moments of the past without a row"))?;
        let settings = ctx.format_settings();
        // What the statement's own clocks told after it began is not to come: it reads what it sees.
        let begun = ctx.txn.read_time();
        let now = ctx.sequences.store().clock().now().max(ctx.transaction_time_us);
        let told = self.moments.iter().enumerate().map(|(at, moment)| {
            let ty = SqlType::from_field(row.schema_ref().field(at));
            let value = value_of_scalar(&scalar_at(row.column(at), 0)?, &ty)?;
            let told = match moment_of(&value, &settings)? {
                Moment::At(at) if (begun..=now).contains(&at) => Moment::Before(0),
                told => told,
            };
            Ok((moment.clone(), told))
        });
        told.collect()
    }

    /// Its rows as batches: a future of its own kind, for a subquery may have subqueries.
    fn batches<'a>(&'a self, ctx: &'a StatementContext) -> BoxFuture<'a, Result<BatchStream>> {
        async move {
            let rows = self.run(ctx).await?;
            Ok(rows.map(|rows| rows?.into_batch()).boxed())
        }
        .boxed()
    }

    /// Whether it locks rows: then it may have to begin again, and none of its rows may leave before all are there.
    pub(crate) fn locks_rows(&self) -> bool {
        self.locks.locks_rows()
    }

    /// The result's columns.
    pub(crate) fn columns(&self) -> Arc<[OutputColumn]> {
        Arc::clone(&self.columns)
    }

    /// What the query is bound to.
    pub(crate) fn bound(&self) -> &Plan {
        &self.query.plan
    }

    /// The types of `$1` …
    pub(crate) fn parameters(&self) -> &[SqlType] {
        &self.query.parameters
    }

    /// Whether the statement was described with the types that it was planned with.
    pub(crate) fn fits(&self, ctx: &StatementContext) -> bool {
        *ctx.parameter_types == *self.query.parameters
    }

    /// Whether it may be run again as long as catalog and settings are the same: it reads nothing that was made for one run.
    pub(crate) fn is_lasting(&self) -> bool {
        match &self.short {
            Some(short) => short.is_lasting(),
            None => is_lasting(&self.query.plan),
        }
    }

    /// What is known of these plans together if each reads one of these partitions, by the same conditions.
    pub(crate) fn partition_reads(
        plans: &[&QueryPlan],
        partitions: &[Arc<TableDef>],
    ) -> Option<PartitionReads> {
        let chains: Option<Vec<&ShortPlan>> = plans.iter().map(|plan| plan.short.as_ref()).collect();
        PartitionReads::of(chains?.into_iter(), partitions)
    }

    /// The places of the partitions that may have rows for it and the other plans, of which it is the first; `None`: any. Errors: 42P02.
    pub(crate) fn partitions_left(
        &self,
        ctx: &StatementContext,
        reads: &PartitionReads,
    ) -> Result<Option<Vec<usize>>> {
        let constants = Constants::new(ctx, &self.query.parameters)?;
        Ok(self
            .short
            .as_ref()
            .and_then(|short| reads.left(short, &constants)))
    }

    /// Whether it runs as a chain.
    pub(crate) fn is_chain(&self) -> bool {
        self.short.is_some()
    }

    /// Whether its last run was short, and its next is as a chain or by a plan that it keeps, and so by what leaves, or pauses, when
    /// it proves long.
    pub(crate) fn is_short_by_experience(&self) -> bool {
        if !self.prior.is_empty() || !self.moments.is_empty() {
            return false;
        }
        match &self.generic {
            Some(generic) => generic.are_used(),
            None => self.experience.is_short(),
        }
    }

    /// Runs it with the context's parameters, in its transaction. Errors: those of planning the access.
    pub(crate) async fn run(&self, ctx: &StatementContext) -> Result<RowsStream> {
        self.run_observed(ctx, None).await
    }

    /// What EXPLAIN tells of it as a short statement; `None` when the general plan would run. Errors: as `run`.
    pub(crate) fn story(&self, ctx: &StatementContext) -> Result<Option<ShortStory>> {
        match &self.short {
            Some(short) => short.story(ctx, &Constants::new(ctx, &self.query.parameters)?),
            None => Ok(None),
        }
    }

    /// The general plan, made on the query threads. Errors: those of planning the access.
    pub(crate) async fn physical(&self, ctx: &StatementContext) -> Result<Operator> {
        let (ctx, query) = (ctx.clone(), Arc::clone(&self.query));
        let planned = async move { physical_plan(&ctx, &query).await.map(|(plan, _)| plan) };
        Box::pin(query_threads::run(planned)).await
    }

    /// Whether it gives one row, of what PostgreSQL computes as it plans.
    pub(crate) fn is_of_constants(&self) -> bool {
        let Plan::Projection(row) = &self.query.plan else {
            return false;
        };
        matches!(row.input.as_ref(), Plan::EmptyRelation(_))
    }

    /// Runs it, counted in the observation if there is one.
    pub(crate) async fn run_observed(
        &self,
        ctx: &StatementContext,
        observation: Option<&Observation>,
    ) -> Result<RowsStream> {
        self.locks.lock_tables(ctx).await?;
        // What one call does another may see: rows pass all of them one by one.
        let goes_by_row = self.may_write && self.acting > 1 && !ctx.hints.may_end;
        let fetching = goes_by_row.then(|| Box::new(ctx.fetching()));
        let ctx = fetching.as_deref().unwrap_or(ctx);
        // Statements run while it gives rows where it calls functions, where a function goes over its rows, and where a client takes
        // them in parts.
        let in_use = (self.calls_routines || ctx.calls > 0 || ctx.in_block).then(|| self.locks.enter(ctx));
        let rows = match self.prior.is_empty() && self.moments.is_empty() {
            true => self.start(ctx, observation).await?,
            false => Box::pin(self.start_answered(ctx, observation)).await?,
        };
        ctx.session.begins_work();
        let rows = match observation {
            Some(observation) => watch(rows, &observation.result, Rows::num_rows).boxed(),
            None => rows,
        };
        Ok(match in_use {
            Some(in_use) => rows
                .inspect(move |_| {
                    let _ = &in_use;
                })
                .boxed(),
            None => rows,
        })
    }

    /// Begins it with what is asked before.
    async fn start_answered(
        &self,
        ctx: &StatementContext,
        observation: Option<&Observation>,
    ) -> Result<RowsStream> {
        let (answers, failure) = self.answers(ctx).await?;
        if observation.is_none()
            && let Some(rows) = self.run_open(ctx, &answers)?
        {
            return Ok(rows);
        }
        let answered = self.answered_by(ctx, &answers).await?;
        let rows = answered.plan.start(ctx, observation).await;
        // Without an answer it may be refused.
        let rows = rows.map_err(|error| failure.unwrap_or(error))?;
        if let Some(observation) = observation {
            // Each observation is of one run.
            let _ = observation.answered.set(answered);
        }
        Ok(rows)
    }

    /// Its rows as those of a chain. `query`: what the chain was made of, should it be long. `None` and errors: as [`ShortPlan::run`].
    fn run_short(
        &self,
        short: &ShortPlan,
        ctx: &StatementContext,
        (constants, observation): (&Constants, Option<&Observation>),
        query: impl FnOnce() -> Result<Arc<PlannedQuery>> + Send + 'static,
    ) -> Result<Option<RowsStream>> {
        let general = observation.map(|observation| Arc::clone(&observation.general));
        let long = || {
            let mut ctx = ctx.clone();
            // What was looked up by keys is allowed, however much it turned out to be.
            ctx.hints.allow_filtering |= short.looks_up();
            async move { Box::pin(run_query(&ctx, &*query()?, general)).await }.boxed()
        };
        let figures = observation.map(|observation| &observation.steps);
        let rows = short.run(ctx, constants, figures, long)?;
        Ok(rows.map(|rows| match short.is_plain() {
            true => rows,
            false => self.experience.timed(rows, SHORT),
        }))
    }

    async fn start(&self, ctx: &StatementContext, observation: Option<&Observation>) -> Result<RowsStream> {
        let in_pieces = ctx.hints.may_end && self.asks_what_acts;
        let short = self.short.as_ref().filter(|_| !in_pieces);
        if let Some(short) = short.filter(|short| observation.is_none() || short.is_told()) {
            let constants = Constants::new(ctx, &self.query.parameters)?;
            let query = Arc::clone(&self.query);
            let query = move || Ok(query);
            if let Some(rows) = self.run_short(short, ctx, (&constants, observation), query)? {
                return Ok(rows);
            }
        }
        let general = observation.map(|observation| Arc::clone(&observation.general));
        // Who takes its rows one by one runs a plan that was made for that.
        let is_whole = !(self.may_write && ctx.hints.may_end);
        let generic = self
            .generic
            .as_ref()
            .filter(|_| observation.is_none() && is_whole);
        if let Some(generic) = generic.filter(|generic| generic.are_used())
            && let Some(batches) = generic.run(ctx, &self.query).await?
        {
            return Ok(batches.map_ok(Rows::Columns).boxed());
        }
        let mut batches = Box::pin(run_query(ctx, &self.query, general)).await?;
        if let Some(generic) = generic {
            batches = generic.watched(batches);
        }
        Ok(batches.map_ok(Rows::Columns).boxed())
    }
}

/// What a query is bound to, with these answers of its prior subqueries in it.
fn plan_with(query: &PlannedQuery, prior: &[Prior], answers: &[Option<Answer>]) -> Result<Plan> {
    let known = prior.iter().zip(answers);
    let placed: Vec<(&PriorSubquery, Expr)> = known
        .filter_map(|((subquery, _), answer)| Some((subquery, subquery.answered(answer.as_ref()?))))
        .collect();
    with_answers(&query.plan, &placed)
}

/// The name of the placeholder for the answer of a prior subquery.
fn answer_name(at: usize) -> String {
    format!("$answer{at}")
}

/// What EXPLAIN ANALYZE counts of a run.
#[derive(Debug, Default)]
pub(crate) struct Observation {
    result: Arc<Figures>,
    steps: Arc<StepFigures>,
    general: Arc<OnceLock<Operator>>,
    answered: OnceLock<Answered>,
}

impl Observation {
    /// The result's rows.
    pub(crate) fn seen(&self) -> Seen {
        self.result.seen()
    }

    /// What a keyed read, or the steps of a short statement, are counted in.
    pub(crate) fn steps(&self) -> &StepFigures {
        &self.steps
    }

    /// What ran, when prior subqueries were answered for it.
    pub(crate) fn answered(&self) -> Option<&Answered> {
        self.answered.get()
    }

    /// The general plan, when it was that which ran.
    pub(crate) fn general(&self) -> Option<&Operator> {
        self.general.get()
    }
}

fn is_lasting(plan: &Plan) -> bool {
    let mut lasting = true;
    let walked = for_each_node(plan, &mut |node| {
        lasting &= match node {
            Plan::TableScan(scan) => {
                let is_made = || {
                    scan.source
                        .downcast_ref::<RowsSource>()
                        .is_some_and(|rows| rows.rows().is_lasting())
                };
                is_stored_table(scan) || is_catalog(scan) || is_work_table(scan) || is_made()
            }
            Plan::SharedRows(_) | Plan::LookupJoin(_) | Plan::TopRows(_) => false,
            _ => true,
        };
        Ok(match lasting {
            true => TreeNodeRecursion::Continue,
            false => TreeNodeRecursion::Stop,
        })
    });
    walked.is_ok() && lasting
}

/// Whether a function of a user's is run in a plan that may write.
pub(crate) fn may_write(plan: &Plan) -> bool {
    has_expression(plan, Expr::is_writing_call)
}

/// How many calls in a plan do more than answer.
fn acting_calls(plan: &Plan) -> usize {
    let mut calls = 0;
    let walked = for_each_node(plan, &mut |node| {
        for expr in node.expressions() {
            expr.apply(|part| {
                calls += usize::from(part.is_acting_call());
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.map_or(usize::MAX, |()| calls)
}

/// Whether a subquery that is asked for each row does more than answer.
fn has_acting_subqueries(plan: &Plan) -> bool {
    let mut found = false;
    let walked = for_each_node(plan, &mut |node| {
        found |= matches!(node, Plan::DependentJoin(join) if asks_what_acts(join));
        Ok(TreeNodeRecursion::Continue)
    });
    found || walked.is_err()
}
