//! `SharedSources`: the queries of a write to a partitioned table that may give other rows each time: volatile ones, and those that lock
//! rows. The write is one of each partition, all of which are to find the same: such a query runs once, before them, and they read its rows
//! by a name, as parts of a WITH clause are read. Asked by `write_plan`.
//!
//! ```text
//! DELETE FROM p WHERE id IN (SELECT id FROM p ORDER BY random() LIMIT 1)
//!
//!   "*SELECT* 1":   SELECT id FROM p ORDER BY random() LIMIT 1
//!   each partition: DELETE FROM p_1 AS p WHERE id IN (SELECT * FROM "*SELECT* 1")
//! ```

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::TryStreamExt;
use sqlparser::ast::{
    self, Ident, ObjectName, Query, TableAlias, TableFactor, TableWithJoins, UpdateTableFromKind, VisitorMut,
};

use super::row_buffer::RowBuffer;
use crate::parse::walk::WalkMut;
use crate::parse::{names, parse_query};
use crate::query::{Observation, QueryPlan, known_types, plan_query};
use crate::scan::OutputColumn;
use crate::system::{CommonColumn, CommonRows, StatementContext};
use crate::types::SqlType;
use crate::{Error, Result};

/// See the module.
#[derive(Debug, Default)]
pub(super) struct SharedSources {
    /// How many names of rows the statement around knows.
    first: usize,
    all: Vec<SharedSource>,
}

/// A query that runs once, and the name of its rows.
#[derive(Debug)]
struct SharedSource {
    plan: Arc<QueryPlan>,
    rows: CommonRows,
}

impl SharedSources {
    /// Takes them out of a statement, which names their rows then. A query that reads rows around it stays: it runs for each of them. Errors:
    /// none but of a bug; what is wrong with a query is told by who binds the statement.
    pub(super) fn take_from(ctx: &StatementContext, statement: &mut ast::Statement) -> Result<SharedSources> {
        let mut taking = Taking {
            ctx,
            sources: SharedSources {
                first: ctx.common_rows.len(),
                all: Vec::new(),
            },
            depth: 0,
        };
        if let ast::Statement::Merge(merge) = statement {
            taking.take_factor(&mut merge.source)?;
        }
        let mut tables = joined_with(statement).iter_mut();
        tables.try_for_each(|table| taking.take_tables(table))?;
        match statement.walk_mut(&mut taking) {
            ControlFlow::Break(error) => Err(error),
            ControlFlow::Continue(()) => Ok(taking.sources),
        }
    }

    /// The statement, whose parts may name the rows.
    pub(super) fn naming(&self, ctx: &StatementContext) -> StatementContext {
        self.with_rows(ctx, self.all.iter().map(|source| source.rows.clone()))
    }

    /// Runs them: the statement with their rows; `None`: there are none. Errors: the queries'; 54000, 53200.
    pub(super) async fn filled(&self, ctx: &StatementContext) -> Result<Option<StatementContext>> {
        if self.all.is_empty() {
            return Ok(None);
        }
        let mut all = Vec::with_capacity(self.all.len());
        for source in &self.all {
            let rows = source.rows.anew();
            rows.fill(&all_rows(ctx, &source.plan, None).await?)?;
            all.push(rows);
        }
        Ok(Some(self.with_rows(ctx, all.into_iter())))
    }

    fn with_rows(&self, ctx: &StatementContext, rows: impl Iterator<Item = CommonRows>) -> StatementContext {
        // Parts of a WITH clause behind the one that this is are not named in it.
        let around = ctx.common_rows.iter().take(self.first).cloned();
        StatementContext {
            common_rows: around.chain(rows).collect(),
            ..ctx.clone()
        }
    }

    /// Whether they may run again as long as what they rest on is the same.
    pub(super) fn are_lasting(&self) -> bool {
        self.all.iter().all(|source| source.plan.is_lasting())
    }
}

/// All rows of a query of a statement. Errors: the query's; 54000, 53200.
pub(super) async fn all_rows(
    ctx: &StatementContext,
    plan: &QueryPlan,
    observation: Option<&Observation>,
) -> Result<Vec<RecordBatch>> {
    let rows = plan.run_observed(&ctx.reading(), observation).await?;
    let batches = rows.and_then(|rows| async move { rows.into_batch() });
    Ok(RowBuffer::collect(ctx, Box::pin(batches)).await?.into_batches())
}

/// A column of rows that are read by a name.
pub(super) fn common_column(column: &OutputColumn) -> CommonColumn {
    CommonColumn {
        name: column.name.clone(),
        ty: match &column.ty {
            SqlType::Unknown | SqlType::Void => SqlType::Text,
            ty => ty.clone(),
        },
        origin: (column.table_oid != 0).then_some((column.table_oid, column.attribute)),
    }
}

/// What FROM or USING join with the table that is written.
fn joined_with(statement: &mut ast::Statement) -> &mut [TableWithJoins] {
    match statement {
        ast::Statement::Update(update) => match &mut update.from {
            Some(UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from)) => from,
            None => &mut [],
        },
        ast::Statement::Delete(delete) => delete.using.as_deref_mut().unwrap_or_default(),
        _ => &mut [],
    }
}

/// On the way through a statement.
struct Taking<'a> {
    ctx: &'a StatementContext,
    sources: SharedSources,
    /// How many queries it is in.
    depth: usize,
}

impl Taking<'_> {
    fn take_tables(&mut self, tables: &mut TableWithJoins) -> Result<()> {
        self.take_factor(&mut tables.relation)?;
        let mut joined = tables.joins.iter_mut();
        joined.try_for_each(|join| self.take_factor(&mut join.relation))
    }

    /// Takes what is no query in parentheses: a view, a function.
    fn take_factor(&mut self, factor: &mut TableFactor) -> Result<()> {
        let (known_as, alias) = match factor {
            TableFactor::NestedJoin { table_with_joins, .. } => return self.take_tables(table_with_joins),
            TableFactor::Table { name, alias, .. } | TableFactor::Function { name, alias, .. } => {
                (names::last_name(name), alias)
            }
            TableFactor::UNNEST { alias, .. } => (Some("unnest".to_string()), alias),
            _ => return Ok(()),
        };
        let known_as = match alias {
            Some(alias) => Some(names::fold(&alias.name)),
            None => known_as,
        };
        let mut query = select_all("x")?;
        if let ast::SetExpr::Select(select) = query.body.as_mut()
            && let Some(from) = select.from.first_mut()
        {
            from.relation = factor.clone();
        }
        let (Some(known_as), Some(name)) = (known_as, self.taken(&query)) else {
            return Ok(());
        };
        let alias = TableAlias {
            explicit: true,
            name: Ident::with_quote('"', known_as),
            columns: Vec::new(),
            at: None,
        };
        let name = ObjectName::from(vec![Ident::with_quote('"', name)]);
        *factor = names::relation_in_from(name, Some(alias));
        Ok(())
    }

    /// Takes a query that may give other rows each time; answers the name of its rows.
    fn taken(&mut self, query: &Query) -> Option<String> {
        let noticed = self.ctx.notices_count();
        let planned = plan_query(self.ctx, query, &known_types(self.ctx)).ok();
        let plan = planned.map(QueryPlan::new);
        let Some(plan) = plan.filter(|plan| plan.is_volatile() || plan.locks_rows()) else {
            // What is told of it is told when it is bound where it stands.
            self.ctx.forget_notices(noticed);
            return None;
        };
        let name = format!("*SELECT* {}", self.sources.first + self.sources.all.len() + 1);
        let columns = plan.columns().iter().map(common_column).collect();
        self.sources.all.push(SharedSource {
            plan: Arc::new(plan),
            rows: CommonRows::new(name.clone(), Some(columns)),
        });
        Some(name)
    }
}

impl VisitorMut for Taking<'_> {
    type Break = Error;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<Error> {
        self.depth += 1;
        if self.depth == 1
            && let Some(name) = self.taken(query)
        {
            match select_all(&name) {
                Ok(named) => *query = *named,
                Err(error) => return ControlFlow::Break(error),
            }
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<Error> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

fn select_all(name: &str) -> Result<Box<Query>> {
    let query = parse_query(&format!("SELECT * FROM {}", Ident::with_quote('"', name)));
    query.map_err(|error| Error::internal(error.to_string()))
}
