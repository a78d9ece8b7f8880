//! Where the rows of an INSERT come from: VALUES, a query, or defaults alone, bound.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use sqlparser::ast::{self, Query, SelectItem, SetExpr, Spanned};
use sqlparser::tokenizer::Span;

use super::assign::check_assignable;
use super::cell::{decide_parameter_at, parameter_index};
use super::generated_columns::{Writing, check_writable, is_left_out};
use super::row_search::reads_table;
use super::row_values;
use super::target::{Target, dynamic_type_of};
use super::user_cast::assigned_query;
use super::values::{self, ValuesPlan};
use crate::Result;
use crate::catalog::{NewDynamicColumn, TableDef};
use crate::parse::text_place;
use crate::parse::unread_words::{self, InsertColumns};
use crate::parse::walk::visit_expressions;
use crate::query::{self, Observation, QueryPlan};
use crate::system::{StatementContext, query_threads};
use crate::types::SqlType;

/// Where the rows come from.
#[derive(Debug)]
pub(super) enum Source {
    /// DEFAULT VALUES.
    Defaults,
    /// VALUES.
    Values(ValuesPlan),
    /// A query.
    Query(SourceQuery),
    /// They are those of the table that this one is a partition of, which gives the columns at these positions.
    Routed(Vec<usize>),
}

/// A query whose rows are written.
#[derive(Debug)]
pub(super) struct SourceQuery {
    pub(super) plan: Arc<QueryPlan>,
    /// The position in the table of each of its columns; `None` for a dynamic one that the table does not have yet.
    pub(super) positions: Vec<Option<usize>>,
    /// Those that OVERRIDING USER VALUE leaves out.
    pub(super) left_out: Vec<usize>,
    pub(super) names: Vec<String>,
    /// Whether it reads the table that is written.
    pub(super) reads_target: bool,
    /// Nothing that it computes writes or sets a savepoint: its next rows may be read while the last are written.
    pub(super) reads_ahead: bool,
}

impl Source {
    /// Binds what stands behind INTO. Errors: those of binding, 42601 for another number of columns, 42804, 428C9.
    pub(super) fn bind(
        ctx: &StatementContext,
        target: &Target,
        insert: &ast::Insert,
        names: &[String],
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<Source> {
        let InsertColumns {
            named, overriding, ..
        } = unread_words::split(&insert.columns);
        let Some(source) = insert.source.as_deref() else {
            return Ok(Source::Defaults);
        };
        if let Some(rows) = plain_values(source) {
            let rows = &row_values::expanded(ctx, rows);
            let known = types.clone();
            match ValuesPlan::bind(ctx, target, rows, (names, named, overriding), types) {
                // One row whose values are sets is as many as these give.
                Err(error) if rows.len() == 1 && row_values::is_of_set(&error) => {
                    *types = known;
                    let selected = row_values::selected(&rows[0])?;
                    return Source::of_query(ctx, target, (insert, &selected), names, types);
                }
                bound => return bound.map(Source::Values),
            }
        }
        Source::of_query(ctx, target, (insert, source), names, types)
    }

    /// Binds the query whose rows are written. Errors: as `bind`.
    fn of_query(
        ctx: &StatementContext,
        target: &Target,
        (insert, source): (&ast::Insert, &Query),
        names: &[String],
        types: &mut [Option<SqlType>],
    ) -> Result<Source> {
        let InsertColumns {
            named, overriding, ..
        } = unread_words::split(&insert.columns);
        decide_selected(ctx, target, (source, names), types);
        let mut planned = query::plan_source(ctx, source, types)?;
        let column = |name: &String| {
            target
                .table
                .column_index(name)
                .map(|at| &target.table.columns[at])
        };
        let columns: Vec<_> = names.iter().map(column).collect();
        if let Some(cast) = assigned_query(ctx, source, &planned.columns, &columns)? {
            planned = query::plan_source(ctx, &cast, types)?;
        }
        for (slot, ty) in types.iter_mut().zip(&planned.parameters) {
            slot.get_or_insert_with(|| ty.clone());
        }
        let spans = selected_spans(source);
        values::check_width(planned.columns.len(), &spans, names.len(), named)?;
        let names = &names[..planned.columns.len()];
        let positions: Vec<Option<usize>> =
            names.iter().map(|name| target.table.column_index(name)).collect();
        let mut left_out = Vec::new();
        for (at, (position, output)) in positions.iter().zip(&planned.columns).enumerate() {
            if let Some(position) = position {
                let column = &target.table.columns[*position];
                if is_left_out(column, overriding) {
                    left_out.push(*position);
                }
                check_writable(column, Writing::Insert(overriding))?;
                let span = spans.get(at).copied().unwrap_or_else(Span::empty);
                text_place::at_span(check_assignable(&output.ty, column), span)?;
            }
        }
        let plan = Arc::new(QueryPlan::new(planned));
        Ok(Source::Query(SourceQuery {
            reads_target: reads_table(ctx, source, &target.table) || plan.reads_beyond(target.table.oid, 0),
            plan,
            positions,
            left_out,
            names: names.to_vec(),
            reads_ahead: false,
        }))
    }

    /// The dynamic columns that the rows bring and the table does not have.
    pub(super) async fn new_columns(&self, ctx: &StatementContext) -> Result<Vec<NewDynamicColumn>> {
        match self {
            Source::Defaults | Source::Routed(_) => Ok(Vec::new()),
            Source::Values(values) => values.new_columns(ctx).await,
            Source::Query(query) => Ok(query.new_columns()),
        }
    }

    /// The same before a run, with the types that are expected of them. `types`: those of the parameters, as far as they are known.
    pub(super) fn expected_columns(
        &self,
        ctx: &StatementContext,
        types: &[Option<SqlType>],
    ) -> Vec<NewDynamicColumn> {
        match self {
            Source::Defaults | Source::Routed(_) => Vec::new(),
            Source::Values(values) => values.expected_columns(ctx, types),
            Source::Query(query) => query.new_columns(),
        }
    }

    /// The names that are given nothing but NULL, and that the table, which has got the others, has no column for.
    pub(super) fn unwritten(&self, table: &TableDef) -> Vec<&str> {
        match self {
            Source::Defaults | Source::Routed(_) | Source::Query(_) => Vec::new(),
            Source::Values(values) => {
                let names = values.unwritten();
                names.filter(|name| table.column_index(name).is_none()).collect()
            }
        }
    }

    /// Whether a function is run for the rows that may write, and sees what was written.
    pub(super) fn may_write(&self) -> bool {
        match self {
            Source::Defaults | Source::Routed(_) => false,
            Source::Values(values) => values.may_write(),
            Source::Query(query) => query.plan.may_write(),
        }
    }

    pub(super) fn positions(&self) -> Vec<usize> {
        match self {
            Source::Defaults => Vec::new(),
            Source::Routed(positions) => positions.clone(),
            Source::Values(values) => values.positions().collect(),
            Source::Query(query) => {
                let given = query.positions.iter().flatten().copied();
                given.filter(|at| !query.left_out.contains(at)).collect()
            }
        }
    }

    pub(super) fn rows_expected(&self) -> usize {
        match self {
            Source::Values(values) => values.rows,
            Source::Defaults | Source::Routed(_) | Source::Query(_) => 1,
        }
    }
}

impl SourceQuery {
    /// Its rows. Errors: those of running it.
    pub(super) async fn batches(
        &self,
        ctx: &StatementContext,
        observation: Option<&Observation>,
    ) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let rows = match self.plan.may_write() {
            true => {
                let fetching = Box::new(ctx.fetching());
                self.plan.run_observed(&fetching, observation).await?
            }
            false => self.plan.run_observed(ctx, observation).await?,
        };
        let batches = rows.and_then(|rows| async move { rows.into_batch() }).boxed();
        Ok(match self.reads_ahead {
            true => query_threads::apart(batches),
            false => batches,
        })
    }

    /// The dynamic columns that its rows bring and the table does not have.
    fn new_columns(&self) -> Vec<NewDynamicColumn> {
        let columns = self.plan.columns();
        let columns = self.positions.iter().zip(&self.names).zip(columns.iter());
        let missing = columns.filter(|((position, _), _)| position.is_none());
        let new = missing.filter_map(|((_, name), output)| {
            let name = name.clone();
            dynamic_type_of(&output.ty).map(|ty| NewDynamicColumn::of_value(name, ty))
        });
        new.collect()
    }
}

/// The rows of a source that is VALUES and nothing else.
fn plain_values(source: &Query) -> Option<&[ast::Parens<Vec<ast::Expr>>]> {
    match source.body.as_ref() {
        SetExpr::Values(values)
            if source.with.is_none()
                && source.order_by.is_none()
                && source.limit_clause.is_none()
                && source.fetch.is_none() =>
        {
            Some(&values.rows)
        }
        _ => None,
    }
}

/// Where the items of a select list stand, as many as come before one that may be several columns.
fn selected_spans(source: &Query) -> Vec<Span> {
    let SetExpr::Select(select) = source.body.as_ref() else {
        return Vec::new();
    };
    let spans = select.projection.iter().map_while(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr.span()),
        _ => None,
    });
    spans.collect()
}

/// Gives the parameters that stand alone in a select list the types of the columns they are for, unless the rest of the query gives them one.
fn decide_selected(
    ctx: &StatementContext,
    target: &Target,
    (source, names): (&Query, &[String]),
    types: &mut [Option<SqlType>],
) {
    let SetExpr::Select(select) = source.body.as_ref() else {
        return;
    };
    let mut open = Vec::new();
    for (at, (item, name)) in select.projection.iter().zip(names).enumerate() {
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else {
            continue;
        };
        if let Some(parameter) = parameter_index(expr).filter(|at| matches!(types.get(*at), Some(None)))
            && let Some(position) = target.table.column_index(name)
        {
            open.push((at, parameter, &target.table.columns[position].ty));
        }
    }
    let rest = without_items(source, open.iter().map(|(at, ..)| *at));
    let is_open = |at: usize| open.iter().any(|(_, parameter, _)| *parameter == at);
    if !open.is_empty() && mentions_parameter(&rest, is_open) {
        let found = query::parameters_of(ctx, &rest, types);
        for (slot, found) in types.iter_mut().zip(found) {
            *slot = slot.take().or(found);
        }
    }
    for (_, parameter, ty) in open {
        decide_parameter_at(parameter, ty, types);
    }
}

/// The query with NULL for items of its select list.
fn without_items(source: &Query, items: impl Iterator<Item = usize>) -> Query {
    let mut rest = source.clone();
    if let SetExpr::Select(select) = rest.body.as_mut() {
        for at in items {
            if let Some(item) = select.projection.get_mut(at) {
                *item = SelectItem::UnnamedExpr(ast::Expr::value(ast::Value::Null));
            }
        }
    }
    rest
}

/// Whether one of these parameters, counted from 0, stands in a query.
fn mentions_parameter(source: &Query, is_it: impl Fn(usize) -> bool) -> bool {
    let found = visit_expressions(source, |expr| match parameter_index(expr).is_some_and(&is_it) {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    });
    found.is_break()
}
