//! `WithWrites`: a statement whose WITH clause writes, bound, and its run. Every part sees the tables as they were when the statement
//! began, and of the others what they return, by name. A row that one part has changed the others leave alone.

use std::sync::Arc;
use std::time::Instant;

use sqlparser::ast;

use super::references::References;
use super::settling::settle;
use super::shared_sources::{all_rows, common_column};
use super::with_parts::{WithPart, WithParts};
use super::write_plan::WritePlan;
use super::write_result::WriteResult;
use crate::parse::names::fold;
use crate::parse::{parameters, parse_query};
use crate::query::{Experience, Observation, QueryPlan, known_types, plan_query, rename};
use crate::scan::OutputColumn;
use crate::sql::Description;
use crate::system::plan_cache::PlanCache;
use crate::system::{CommonRows, StatementContext};
use crate::types::SqlType;
use crate::{Error, Result};

/// The statement, bound.
#[derive(Debug)]
pub(crate) struct WithWrites {
    parts: Vec<BoundPart>,
    /// See [`WithParts::order`].
    order: Vec<usize>,
    /// What the parts give, as those that name it know it.
    common_rows: Vec<CommonRows>,
    /// The types of `$1` … that it was bound with.
    parameters: Arc<[SqlType]>,
    experience: Experience,
}

/// A part, bound.
#[derive(Debug)]
pub(crate) struct BoundPart {
    /// The place of what the others read; `None`: it is the statement itself.
    pub(crate) rows: Option<usize>,
    pub(crate) plan: PartPlan,
}

/// The plan of a part.
#[derive(Debug)]
pub(crate) enum PartPlan {
    /// A query.
    Query(Arc<QueryPlan>),
    /// A write.
    Write(Arc<WritePlan>),
}

impl WithWrites {
    /// The plan of a statement that is to run: the one that it kept, or a new one, which it keeps if it lasts. The columns that the parts
    /// add to dynamic tables are there then. Errors: those of binding.
    pub(crate) async fn of(
        ctx: &StatementContext,
        query: &ast::Query,
        kept: &PlanCache<WithWrites>,
    ) -> Result<Arc<WithWrites>> {
        if let Some(bound) = kept.get(ctx.plan_basis()).filter(|bound| bound.fits(ctx)) {
            return Ok(bound);
        }
        let noticed = ctx.notices_raised();
        let bound = Arc::new(Box::pin(WithWrites::bind(ctx, query)).await?);
        // What the client is told of, it is told of each time.
        if bound.is_lasting() && ctx.notices_raised() == noticed {
            kept.set(ctx.kept_basis(), &bound);
        }
        Ok(bound)
    }

    async fn bind(ctx: &StatementContext, query: &ast::Query) -> Result<WithWrites> {
        let parts = WithParts::of(query)?;
        let parameters = Arc::clone(&ctx.parameter_types);
        let mut ctx = ctx.clone();
        let mut bound = Vec::with_capacity(parts.parts.len());
        for part in &parts.parts {
            let plan = PartPlan::bind(&ctx, &part.statement).await?;
            if plan.adds_columns() {
                ctx = ctx.seeing_definitions().await?;
            }
            let rows = common_rows(part, plan.columns())?;
            let place = rows.as_ref().map(|_| ctx.common_rows.len());
            ctx = naming(ctx, rows);
            bound.push(BoundPart { rows: place, plan });
        }
        Ok(WithWrites {
            parts: bound,
            order: parts.order(),
            common_rows: ctx.common_rows.to_vec(),
            parameters,
            experience: Experience::default(),
        })
    }

    /// Whether the statement was described with the types that it was bound with.
    pub(crate) fn fits(&self, ctx: &StatementContext) -> bool {
        self.parameters == ctx.parameter_types
    }

    /// Whether it may be run again as long as what it rests on is the same. Columns that it has just added are in no catalog that it
    /// could be kept for.
    fn is_lasting(&self) -> bool {
        self.parts.iter().all(|part| part.plan.is_lasting())
    }

    /// Whether its last run was short.
    pub(crate) fn is_short_by_experience(&self) -> bool {
        self.experience.is_short()
    }

    /// Parameter types and the statement's columns, without running it. `types`: those the client gave (`None`: unsaid).
    pub(crate) fn describe(
        ctx: &StatementContext,
        query: &ast::Query,
        mut types: Vec<Option<SqlType>>,
    ) -> Result<Description> {
        let parts = WithParts::of(query)?;
        let mut ctx = ctx.clone();
        let mut columns = None;
        for part in &parts.parts {
            columns = describe_part(&ctx, &part.statement, &mut types)?;
            // What such a write returns, running it tells.
            if columns.is_none() && returns(&part.statement) {
                break;
            }
            ctx = naming(ctx, common_rows(part, columns.clone())?);
        }
        let parameters = types.into_iter();
        Ok(Description {
            parameters: parameters.map(|ty| ty.unwrap_or(SqlType::Text)).collect(),
            columns,
        })
    }

    /// Runs it. On an error what it wrote is for the caller to undo.
    pub(crate) async fn run(&self, ctx: &StatementContext) -> Result<WriteResult> {
        let begun = Instant::now();
        let ctx = self.begin(ctx).await?;
        let (mut result, references) = (None, References::default());
        for at in &self.order {
            let written = self.run_part(&ctx, *at, None, &references).await?;
            if self.parts[*at].rows.is_none() {
                result = Some(written);
            }
        }
        settle(&ctx, &references).await?;
        self.experience.note(begun.elapsed());
        result.ok_or_else(|| Error::internal("a statement without itself"))
    }

    /// What the parts run in, in one run.
    pub(crate) async fn begin(&self, ctx: &StatementContext) -> Result<StatementContext> {
        // Those of a trigger are there already.
        let given = ctx.common_rows.iter().cloned();
        let parts = self.common_rows.iter().skip(given.len()).map(CommonRows::anew);
        let ctx = StatementContext {
            common_rows: given.chain(parts).collect(),
            ..ctx.beginning()
        };
        match self.parts.iter().any(|part| part.plan.adds_columns()) {
            true => ctx.seeing_definitions().await,
            false => Ok(ctx),
        }
    }

    /// Runs a part, whose turn it is. `observation`: what its reading is counted in.
    pub(crate) async fn run_part(
        &self,
        ctx: &StatementContext,
        at: usize,
        observation: Option<&Observation>,
        references: &References,
    ) -> Result<WriteResult> {
        let BoundPart { rows, plan } = &self.parts[at];
        let written = plan.run(ctx, observation, references).await?;
        let rows = rows.map(|place| &ctx.common_rows[place]);
        if let Some(rows) = rows.filter(|rows| rows.columns.is_some()) {
            rows.fill(&written.batches)?;
        }
        Ok(written)
    }

    /// The parts in the order in which they run.
    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }

    /// The parts as they were written; the statement itself is the last.
    pub(crate) fn parts(&self) -> &[BoundPart] {
        &self.parts
    }

    /// What the others call a part; `None`: it is the statement itself.
    pub(crate) fn name(&self, part: &BoundPart) -> Option<&str> {
        part.rows.map(|place| self.common_rows[place].name.as_str())
    }
}

/// The name of the rows that a query around reads.
const MADE: &str = "made";

/// Runs a query whose clause writes, unless it is to make no rows; gives a query of its rows, and what that runs in. On an error what it
/// wrote is for the caller to undo.
pub(crate) async fn rows_of_writes(
    ctx: &StatementContext,
    query: &ast::Query,
) -> Result<(StatementContext, Box<ast::Query>)> {
    let (columns, batches) = match ctx.hints.without_rows {
        true => {
            let described = WithWrites::describe(ctx, query, Vec::new())?;
            (described.columns.unwrap_or_default().to_vec(), Vec::new())
        }
        false => {
            let bound = WithWrites::of(ctx, query, &PlanCache::default()).await?;
            let written = bound.run(ctx).await?;
            (written.columns, written.batches)
        }
    };
    let columns = columns.iter().map(common_column);
    let rows = CommonRows::new(MADE.to_string(), Some(columns.collect()));
    rows.fill(&batches)?;
    let ctx = StatementContext {
        common_rows: [rows].into(),
        ..ctx.clone().seeing_definitions().await?
    };
    let read = parse_query(&format!("SELECT * FROM {MADE}"));
    let read = read.map_err(|error| Error::internal(error.to_string()))?;
    Ok((ctx, read))
}

impl PartPlan {
    async fn bind(ctx: &StatementContext, statement: &ast::Statement) -> Result<PartPlan> {
        Ok(match statement {
            ast::Statement::Query(query) => {
                let planned = plan_query(ctx, query, &known_types(ctx))?;
                PartPlan::Query(Arc::new(QueryPlan::new(planned)))
            }
            write => PartPlan::Write(WritePlan::of(ctx, write, &PlanCache::default()).await?),
        })
    }

    fn adds_columns(&self) -> bool {
        match self {
            PartPlan::Query(_) => false,
            PartPlan::Write(plan) => plan.adds_columns(),
        }
    }

    fn is_lasting(&self) -> bool {
        match self {
            PartPlan::Query(plan) => plan.is_lasting(),
            PartPlan::Write(plan) => plan.is_lasting(),
        }
    }

    fn columns(&self) -> Option<Arc<[OutputColumn]>> {
        match self {
            PartPlan::Query(plan) => Some(plan.columns()),
            PartPlan::Write(plan) => plan.returned_columns(),
        }
    }

    async fn run(
        &self,
        ctx: &StatementContext,
        observation: Option<&Observation>,
        references: &References,
    ) -> Result<WriteResult> {
        let plan = match self {
            PartPlan::Write(plan) => return plan.run(ctx, observation, references).await,
            PartPlan::Query(plan) => plan,
        };
        let kept = all_rows(ctx, plan, observation).await?;
        let count: usize = kept.iter().map(|batch| batch.num_rows()).sum();
        Ok(WriteResult {
            tag: format!("SELECT {count}"),
            rows_written: 0,
            columns: plan.columns().to_vec(),
            batches: kept,
        })
    }
}

/// What the others may read of a part. Errors: 42P10.
fn common_rows(part: &WithPart, columns: Option<Arc<[OutputColumn]>>) -> Result<Option<CommonRows>> {
    let Some(alias) = &part.alias else {
        return Ok(None);
    };
    let name = fold(&alias.name);
    let mut columns: Option<Vec<_>> = columns.map(|columns| columns.iter().map(common_column).collect());
    let names = columns.as_deref_mut().unwrap_or_default().iter_mut();
    rename(names.map(|column| &mut column.name), alias, &name)?;
    Ok(Some(CommonRows::new(name, columns)))
}

/// The statement, whose later parts may read these rows.
fn naming(ctx: StatementContext, rows: Option<CommonRows>) -> StatementContext {
    let known = ctx.common_rows.iter().cloned();
    StatementContext {
        common_rows: known.chain(rows).collect(),
        ..ctx
    }
}

/// The columns of a part, which decides the types of parameters that it has and nobody before it.
fn describe_part(
    ctx: &StatementContext,
    statement: &ast::Statement,
    types: &mut [Option<SqlType>],
) -> Result<Option<Arc<[OutputColumn]>>> {
    let described = match statement {
        ast::Statement::Query(query) => {
            let planned = plan_query(ctx, query, types)?;
            Description {
                parameters: planned.parameters,
                columns: Some(planned.columns.into()),
            }
        }
        write => WritePlan::describe(ctx, write, &PlanCache::default(), types)?,
    };
    let named = parameters::named(statement);
    for (at, ty) in described.parameters.into_iter().enumerate() {
        if named.contains(&(at + 1)) && ty != SqlType::Unknown {
            types[at].get_or_insert(ty);
        }
    }
    Ok(described.columns)
}

/// Whether a part is a write with RETURNING.
fn returns(statement: &ast::Statement) -> bool {
    match statement {
        ast::Statement::Insert(insert) => insert.returning.is_some(),
        ast::Statement::Update(update) => update.returning.is_some(),
        ast::Statement::Delete(delete) => delete.returning.is_some(),
        ast::Statement::Merge(merge) => merge.output.is_some(),
        _ => false,
    }
}
