//! EXPLAIN: the object that runs, for every statement, in PostgreSQL's manner. Each kind of plan (short statements,
//! general plans, writes) becomes a tree of `PlanNode`s, which one place prints as text or as JSON;
//! YAML and XML are printed of the latter.
//!
//! ```text
//! Limit
//!   ->  Sort
//!         Sort Key: (count(*)) DESC
//!         ->  HashAggregate
//!               Group Key: status
//!               ->  Range Scan on orders using orders_pkey
//!                     Range: channel = 'alipay'
//!                     Order: id, ts
//! ```

mod document;
mod query;
mod short;
mod with_writes;
mod write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{ArrayRef, RecordBatch, StringArray};
use futures::{StreamExt, stream};
use serde_json::{Map, Value as Json, json};
use sqlparser::ast;

use self::document::Document;
use super::{Outcome, Statement, ddl};
use crate::operators::explain::{PlanNode, milliseconds, number};
use crate::parse::explain_options::{Format, Options};
use crate::parse::kind::{is_select_into, take_into};
use crate::parse::with_write::has_writes;
use crate::query::{Observation, QueryPlan, known_types, plan_kept};
use crate::scan::{OutputColumn, Rows};
use crate::system::StatementContext;
use crate::types::SqlType;
use crate::{Error, Result};

/// Runs EXPLAIN. Errors: those of planning the statement, 42601 and 22023 for options.
pub(crate) async fn execute(ctx: &StatementContext, statement: &Statement) -> Result<Outcome> {
    let begun = Instant::now();
    let ast::Statement::Explain {
        statement: explained, ..
    } = &statement.parsed.ast
    else {
        return Err(Error::internal("EXPLAIN of nothing"));
    };
    let options = Options::of(&statement.parsed.ast)?;
    if !ddl::would_create(ctx, explained)? {
        let made = match explained.as_ref() {
            ast::Statement::CreateView(_) => "CREATE MATERIALIZED VIEW",
            _ => "CREATE TABLE AS",
        };
        let lines = match options.format {
            Format::Text => Vec::new(),
            format => vec![Document::Name(made).text(format)?],
        };
        return answer(&statement.parsed.ast, lines);
    }
    if let Some(instead) = options.instead {
        let lines = query::lines_instead(ctx, explained, instead)?;
        let lines = match options.format {
            Format::Text => lines,
            format => vec![Document::Lines(lines).text(format)?],
        };
        return answer(&statement.parsed.ast, lines);
    }
    let explained = match explained.as_ref() {
        making @ ast::Statement::CreateTable(ast::CreateTable {
            query: Some(query), ..
        }) => Box::pin(explain_making(ctx, making, query, options, begun)).await?,
        making @ ast::Statement::CreateView(ast::CreateView {
            materialized: true,
            query,
            ..
        }) => Box::pin(explain_making(ctx, making, query, options, begun)).await?,
        ast::Statement::Query(query) if is_select_into(query) => {
            Box::pin(explain_making(ctx, explained, query, options, begun)).await?
        }
        ast::Statement::Query(query) if has_writes(query) => {
            with_writes::explain_with_writes(ctx, query, options, begun).await?
        }
        ast::Statement::Query(query) => query::explain_query(ctx, query, options, begun).await?,
        write @ (ast::Statement::Update(_)
        | ast::Statement::Delete(_)
        | ast::Statement::Insert(_)
        | ast::Statement::Merge(_)) => write::explain_write(ctx, write, options, begun).await?,
        _ => {
            return Err(Error::unsupported("EXPLAIN of this statement", None));
        }
    };
    let lines = match options.format {
        Format::Text => explained.lines(options),
        format => vec![Document::Statement(explained.tree(options)).text(format)?],
    };
    answer(&statement.parsed.ast, lines)
}

/// The plan of the query whose rows a new table gets. ANALYZE makes the table of them.
async fn explain_making(
    ctx: &StatementContext,
    making: &ast::Statement,
    query: &ast::Query,
    options: Options,
    begun: Instant,
) -> Result<Explained> {
    let mut rows = query.clone();
    take_into(&mut rows);
    if has_writes(&rows) {
        return match options.analyze {
            false => with_writes::explain_with_writes(ctx, &rows, options, begun).await,
            true => Err(Error::unsupported(
                "EXPLAIN ANALYZE of a new table whose query writes",
                Some("Leave ANALYZE out, or explain the query by itself."),
            )),
        };
    }
    let mut without_run = options;
    without_run.analyze = false;
    if !options.analyze || ctx.hints.without_rows {
        return query::explain_query(ctx, &rows, without_run, begun).await;
    }
    let plan = Arc::new(QueryPlan::new(plan_kept(ctx, &rows, &known_types(ctx))?));
    let observation = Observation::default();
    let run = Run::after(begun);
    ddl::make_of_query(ctx, making, (&plan, &observation)).await?;
    let ran = run.end();
    query::ran(ctx, &plan, (&observation, ran), options).await
}

/// Lines as the result.
fn answer(statement: &ast::Statement, lines: Vec<String>) -> Result<Outcome> {
    let columns = columns(statement);
    let array: ArrayRef = Arc::new(StringArray::from(lines));
    let schema = arrow::datatypes::Schema::new(vec![columns[0].ty.field(&columns[0].name, false)]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![array]).map_err(Error::arrow)?;
    Ok(Outcome::Rows {
        columns: columns.into(),
        stream: stream::once(async move { Ok(Rows::Columns(batch)) }).boxed(),
    })
}

/// EXPLAIN's result: one column `QUERY PLAN`.
pub(crate) fn columns(statement: &ast::Statement) -> Vec<OutputColumn> {
    // There is no type xml.
    let ty = match Options::of(statement).map(|options| options.format) {
        Ok(Format::Json) => SqlType::Json,
        Ok(Format::Text | Format::Yaml | Format::Xml) | Err(_) => SqlType::Text,
    };
    vec![OutputColumn::declared("QUERY PLAN", ty)]
}

/// The same of the words of an EXPLAIN, before what it explains. Errors: 42601.
pub(crate) fn columns_of(words: &str) -> Result<Vec<OutputColumn>> {
    match crate::parse::parse(&format!("{words} SELECT 1"))?.first() {
        Some(explain) => Ok(columns(&explain.ast)),
        None => Err(Error::internal("an EXPLAIN of nothing")),
    }
}

/// A statement's tree, and how long it took.
struct Explained {
    node: PlanNode,
    planning: Duration,
    /// `None`: it was not run.
    execution: Option<Duration>,
    /// For VERBOSE.
    bound: Option<BoundForm>,
}

/// What a statement's rows are bound to, before a way to reach them is planned.
struct BoundForm {
    /// Whether it runs as a short statement, as it is bound. Else a general plan is made of it.
    is_short: bool,
    /// The tree, a line a node.
    tree: String,
}

impl BoundForm {
    fn executor(&self) -> &'static str {
        match self.is_short {
            true => "short",
            false => "general",
        }
    }
}

/// A run of a statement by EXPLAIN ANALYZE.
struct Run {
    planning: Duration,
    begun: Instant,
}

impl Run {
    /// A run that begins now; planning began at `planned`.
    fn after(planned: Instant) -> Run {
        Run {
            planning: planned.elapsed(),
            begun: Instant::now(),
        }
    }

    /// How long it took; the tree is still to be put in.
    fn end(self) -> Explained {
        Explained {
            node: PlanNode::default(),
            planning: self.planning,
            execution: Some(self.begun.elapsed()),
            bound: None,
        }
    }
}

impl Explained {
    /// What is not run.
    fn planned(node: PlanNode, begun: Instant) -> Explained {
        Explained {
            node,
            planning: begun.elapsed(),
            execution: None,
            bound: None,
        }
    }

    fn lines(&self, options: Options) -> Vec<String> {
        let mut lines = self.node.lines(options.timing);
        if let Some(bound) = &self.bound {
            lines.push(format!("Executor: {}", bound.executor()));
            lines.push("Bound:".to_string());
            lines.extend(bound.tree.lines().map(|line| format!("  {line}")));
        }
        let times = self.times(options).into_iter();
        lines.extend(times.map(|(name, time)| format!("{name}: {} ms", milliseconds(time, 1))));
        lines
    }

    /// What is said of the statement, for formats that are no plain text.
    fn tree(&self, options: Options) -> Map<String, Json> {
        let mut object = Map::new();
        object.insert("Plan".to_string(), self.node.json(options.timing));
        if let Some(bound) = &self.bound {
            object.insert("Executor".to_string(), json!(bound.executor()));
            object.insert("Bound".to_string(), json!(bound.tree.lines().collect::<Vec<_>>()));
        }
        for (name, time) in self.times(options) {
            object.insert(name.to_string(), number(milliseconds(time, 1)));
        }
        object
    }

    fn times(&self, options: Options) -> Vec<(&'static str, Duration)> {
        if !options.shows_summary() {
            return Vec::new();
        }
        let execution = self.execution.map(|time| ("Execution Time", time));
        [("Planning Time", self.planning)]
            .into_iter()
            .chain(execution)
            .collect()
    }
}
