//! UPDATE: the rows that the condition finds, what SET makes of them, a page at a time: memory holds a page and what the
//! transaction has written, whose limit refuses more.
//!
//! A statement must not see its own writes. A range scan does not: it sees what was written before it was opened. Gets by
//! key, queries that read the target more than once, and subqueries in SET, which run again for each page, might: their
//! rows are all read before the first is written ([`KeptRows`], bounded by the same limit). A query that reads the
//! target once and leaves keys alone is safe: it meets each row before the row is written, and never again.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use futures::stream;
use futures::{StreamExt, TryStreamExt};
use sqlparser::ast::{
    self, AssignmentTarget, Expr, SelectItem, Spanned, TableWithJoins, UpdateTableFromKind, Visit, Visitor,
};
use sqlparser::tokenizer::Span;

use super::assign::{assign_array, assign_value};
use super::conflict::replace;
use super::default::default_values;
use super::evaluate::{Rows, evaluate};
use super::found_rows::{FoundRows, TargetQuery, find_rows, scan_metrics, split_page, target_query};
use super::insert::reads_table;
use super::kept_rows::KeptRows;
use super::returning::{self, visible_rows};
use super::target::{Target, column_name, dynamic_type_of, dynamic_type_of_constant};
use super::{WriteResult, fold, is_default};
use crate::catalog::{ColumnDef, ColumnDefault, NewDynamicColumn, TableDef};
use crate::codec::row::ColumnBuilder;
use crate::error::StatementFault;
use crate::exec::scan::{Demand, scan_batches};
use crate::exec::{RowSite, StatementContext};
use crate::plan::{AccessClass, AccessPath};
use crate::sql::query::Observation;
use crate::sql::{query, text_place};
use crate::table::{RowEncoder, RowUpdate, write_schema};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// One column of a SET clause.
pub(super) struct Assignment<'a> {
    /// Its position in the table.
    pub(super) position: usize,
    /// What it is set to.
    pub(super) value: Assigned<'a>,
}

/// The right side of `=` in SET.
pub(super) enum Assigned<'a> {
    /// DEFAULT.
    Default,
    /// Anything else.
    Expression(&'a Expr),
}

/// Runs UPDATE. `observation`: what its reading is counted in.
pub(super) async fn execute(
    ctx: &StatementContext,
    update: &ast::Update,
    observation: Option<&Observation>,
) -> Result<WriteResult> {
    if update.or.is_some() || !update.order_by.is_empty() || update.limit.is_some() {
        return Err(Error::unsupported(
            "ORDER BY, LIMIT or OR in UPDATE",
            Some("Name the rows by a condition."),
        ));
    }
    let target = target_of(ctx, update).await?;
    let assignments = read_assignments(&target, &update.assignments)?;
    check_not_generated(&target, &assignments)?;
    let returning = update.returning.as_deref();
    let from = from_tables(update);
    let expressions = assignments.iter().filter_map(Assignment::expression).collect();
    let found = find_rows(ctx, &target, expressions, from, update.selection.as_ref()).await?;
    let mut write = UpdateWrite {
        ctx,
        target: &target,
        assignments: &assignments,
        observation,
        constants: constant_values(ctx, &target, &assignments)?,
        keys_move: changes_keys(&target.table, &assignments),
        updated: 0,
        returned: returning.map(|_| KeptRows::new(ctx)),
    };
    match found {
        FoundRows::Path(path) => write.write_path(path).await?,
        FoundRows::Query(query) => write.write_query(*query, from, update.selection.as_ref()).await?,
    }
    let tag = format!("UPDATE {}", write.updated);
    let returned = write.returned.map_or_else(Vec::new, KeptRows::into_batches);
    returning::result(ctx, &target, returning, returned, tag).await
}

/// How UPDATE finds its rows. Errors: as when it runs.
pub(super) async fn plan_reading(
    ctx: &StatementContext,
    update: &ast::Update,
) -> Result<(Target, FoundRows)> {
    let target = target_of(ctx, update).await?;
    let assignments = read_assignments(&target, &update.assignments)?;
    let expressions = assignments.iter().filter_map(Assignment::expression).collect();
    let (from, selection) = (from_tables(update), update.selection.as_ref());
    let found = find_rows(ctx, &target, expressions, from, selection).await?;
    Ok((target, found))
}

/// The table, with the columns that SET adds to it.
async fn target_of(ctx: &StatementContext, update: &ast::Update) -> Result<Target> {
    let mut target = Target::of_factor(ctx, &update.table)?;
    add_dynamic_columns(ctx, &mut target, &update.assignments, from_tables(update)).await?;
    Ok(target)
}

/// An UPDATE on its way.
struct UpdateWrite<'a> {
    ctx: &'a StatementContext,
    target: &'a Target,
    assignments: &'a [Assignment<'a>],
    observation: Option<&'a Observation>,
    /// The assigned values by position, when all are constants.
    constants: Option<Vec<(usize, Value)>>,
    /// A key whose uniqueness must be checked may change.
    keys_move: bool,
    updated: usize,
    /// The new rows, when there is a RETURNING.
    returned: Option<KeptRows>,
}

impl<'a> UpdateWrite<'a> {
    /// Updates the rows of an access path.
    async fn write_path(&mut self, path: AccessPath) -> Result<()> {
        let (ctx, table) = (self.ctx, &*self.target.table);
        let reads_own_writes = self.keys_move && matches!(path.class, AccessClass::MultiGet { .. })
            || self.constants.is_none() && has_subquery(self.assignments);
        let all = (0..table.columns.len()).collect();
        let mut pages = scan_batches(
            Arc::clone(&ctx.txn),
            Arc::new(path),
            all,
            Demand::All,
            scan_metrics(self.observation),
        );
        let schema = write_schema(table);
        if reads_own_writes {
            let whole = KeptRows::collect(ctx, pages).await?.into_batch(&schema)?;
            pages = stream::once(async { Ok(whole) }).boxed();
        }
        let mut update = RowUpdate::new(&ctx.txn, table, ctx.settings.limits, self.keys_move);
        let mut found = false;
        while let Some(page) = pages.try_next().await? {
            found = true;
            let old = RecordBatch::try_new(schema.clone(), page.columns().to_vec()).map_err(Error::arrow)?;
            let new = self.changed(&old).await?;
            self.replace(&mut update, &old, new).await?;
        }
        if !found {
            // Names and types are wrong whether or not a row is found.
            self.changed(&RecordBatch::new_empty(schema)).await?;
        }
        update.finish()
    }

    /// Updates the rows that a general query finds.
    async fn write_query(
        &mut self,
        query: TargetQuery,
        from: &[TableWithJoins],
        selection: Option<&Expr>,
    ) -> Result<()> {
        let (ctx, target) = (self.ctx, self.target);
        let expressions: Vec<Expr> = self
            .assignments
            .iter()
            .filter_map(Assignment::expression)
            .collect();
        let reads_own_writes = self.keys_move
            || reads_table(ctx, &expressions, &target.table)
            || reads_table(ctx, &selection.cloned(), &target.table)
            || reads_table(ctx, &from.to_vec(), &target.table);
        let (types, mut pages) = (query.types(target), query.run(self.observation).await?);
        if reads_own_writes {
            let kept = KeptRows::collect(ctx, pages).await?.into_batches();
            pages = stream::iter(kept.into_iter().map(Ok)).boxed();
        }
        let mut update = RowUpdate::new(&ctx.txn, &target.table, ctx.settings.limits, self.keys_move);
        let mut seen = HashSet::new();
        while let Some(page) = pages.try_next().await? {
            let (mut old, mut arrays) = split_page(&target.table, &page)?;
            if !from.is_empty() {
                // A row that joins with several is updated once, by any of them.
                let first = first_of_each_key(ctx, &target.table, &old, &mut seen)?;
                old = filter_record_batch(&old, &first).map_err(Error::arrow)?;
                for array in &mut arrays {
                    *array = arrow::compute::filter(array, &first).map_err(Error::arrow)?;
                }
            }
            let values = types.iter().cloned().zip(arrays).collect();
            let new = assigned(ctx, target, &old, self.assignments, values).await?;
            self.replace(&mut update, &old, new).await?;
        }
        update.finish()
    }

    /// What the assignments make of rows.
    async fn changed(&self, old: &RecordBatch) -> Result<RecordBatch> {
        match &self.constants {
            Some(constants) => {
                let columns = constant_columns(&self.target.table, constants, old.num_rows());
                replace(&self.target.table, old, columns)
            }
            None => changed_rows(self.ctx, self.target, old, self.assignments).await,
        }
    }

    async fn replace(
        &mut self,
        update: &mut RowUpdate<'_>,
        old: &RecordBatch,
        new: RecordBatch,
    ) -> Result<()> {
        if new.num_rows() == 0 {
            return Ok(());
        }
        update.replace(old, &new).await?;
        self.updated += new.num_rows();
        match &mut self.returned {
            Some(returned) => returned.push(new),
            None => Ok(()),
        }
    }
}

impl<'a> Assignment<'a> {
    /// Its expression, unless it is DEFAULT.
    pub(super) fn expression(&self) -> Option<Expr> {
        match self.value {
            Assigned::Default => None,
            Assigned::Expression(expr) => Some(expr.clone()),
        }
    }

    /// Defaults for `count` rows.
    pub(super) async fn default_array(
        &self,
        ctx: &StatementContext,
        table: &TableDef,
        count: usize,
    ) -> Result<ArrayRef> {
        let mut builder = ColumnBuilder::new(&table.columns[self.position].ty, count);
        let values = default_values(ctx, table, self.position, count).await?;
        values.iter().for_each(|value| builder.append_value(value));
        Ok(builder.finish())
    }
}

/// Reads a SET clause. Columns of a dynamic table that do not exist by now are set to nothing but NULL, and left out.
/// Errors: 42703, 42601 for a column set twice.
pub(super) fn read_assignments<'a>(
    target: &Target,
    assignments: &'a [ast::Assignment],
) -> Result<Vec<Assignment<'a>>> {
    let mut read: Vec<Assignment<'a>> = Vec::with_capacity(assignments.len());
    for (name, span, expr) in pairs(assignments, &target.table.name)? {
        let column = text_place::at_span(target.column(&name), span);
        let Some(position) = column? else {
            continue;
        };
        if read.iter().any(|known| known.position == position) {
            return Err(Error::InvalidStatement {
                state: StatementFault::Syntax,
                message: format!("multiple assignments to same column \"{name}\""),
                hint: None,
            });
        }
        let value = if is_default(expr) {
            Assigned::Default
        } else {
            Assigned::Expression(expr)
        };
        read.push(Assignment { position, value });
    }
    Ok(read)
}

/// Column names, where they stand, and their expressions; `(a, b) = (1, 2)` taken apart.
pub(super) fn pairs<'a>(
    assignments: &'a [ast::Assignment],
    table: &str,
) -> Result<Vec<(String, Span, &'a Expr)>> {
    let mut pairs = Vec::with_capacity(assignments.len());
    for assignment in assignments {
        match (&assignment.target, &assignment.value) {
            (AssignmentTarget::ColumnName(name), expr) => {
                pairs.push((column_name(name, table)?, name.span(), expr))
            }
            (AssignmentTarget::Tuple(names), Expr::Tuple(exprs)) if names.len() == exprs.len() => {
                for (name, expr) in names.iter().zip(exprs) {
                    pairs.push((column_name(name, table)?, name.span(), expr));
                }
            }
            (AssignmentTarget::Tuple(names), Expr::Nested(expr)) if names.len() == 1 => {
                pairs.push((column_name(&names[0], table)?, names[0].span(), expr));
            }
            (AssignmentTarget::Tuple(_), Expr::Tuple(_)) => {
                return Err(Error::InvalidStatement {
                    state: StatementFault::Syntax,
                    message: "number of columns does not match number of values".to_string(),
                    hint: None,
                });
            }
            (AssignmentTarget::Tuple(_), other) => {
                return Err(Error::unsupported(
                    format!("SET (columns) = {other}"),
                    Some("Set each column by an expression of its own."),
                ));
            }
        }
    }
    Ok(pairs)
}

/// Whether an assignment holds a query.
fn has_subquery(assignments: &[Assignment<'_>]) -> bool {
    struct Queries;
    impl Visitor for Queries {
        type Break = ();
        fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    let mut expressions = assignments.iter().filter_map(Assignment::expression);
    expressions.any(|expr| expr.visit(&mut Queries).is_break())
}

/// What the assignments make of rows in memory.
async fn changed_rows(
    ctx: &StatementContext,
    target: &Target,
    old: &RecordBatch,
    assignments: &[Assignment<'_>],
) -> Result<RecordBatch> {
    let rows: Rows = visible_rows(target, old)?;
    let items: Vec<_> = assignments
        .iter()
        .filter_map(Assignment::expression)
        .map(SelectItem::UnnamedExpr)
        .collect();
    // Also for no rows at all: names and types are wrong whether or not a row is found.
    let values = match items.is_empty() {
        true => Vec::new(),
        false => {
            let evaluated = evaluate(ctx, RowSite::Assignments, vec![rows], items, None).await?;
            let types = evaluated.columns.into_iter().map(|column| column.ty);
            types.zip(evaluated.batch.columns().to_vec()).collect()
        }
    };
    assigned(ctx, target, old, assignments, values).await
}

/// Puts the values of the SET expressions (types and arrays, in their order) and defaults into the rows.
async fn assigned(
    ctx: &StatementContext,
    target: &Target,
    old: &RecordBatch,
    assignments: &[Assignment<'_>],
    values: Vec<(SqlType, ArrayRef)>,
) -> Result<RecordBatch> {
    let settings = ctx.format_settings();
    let mut values = values.into_iter();
    let mut columns = Vec::with_capacity(assignments.len());
    for assignment in assignments {
        let column = &target.table.columns[assignment.position];
        let array = match assignment.value {
            Assigned::Default => {
                assignment
                    .default_array(ctx, &target.table, old.num_rows())
                    .await?
            }
            Assigned::Expression(_) => {
                let (ty, array) = values
                    .next()
                    .ok_or_else(|| Error::internal("a SET expression is missing"))?;
                assign_array(&array, &ty, column, &settings)?
            }
        };
        columns.push((assignment.position, array));
    }
    replace(&target.table, old, columns)
}

/// Which rows are the first with their key. `seen`: the keys so far; each is written, so the transaction's limit bounds them.
pub(super) fn first_of_each_key(
    ctx: &StatementContext,
    table: &TableDef,
    rows: &RecordBatch,
    seen: &mut HashSet<Vec<u8>>,
) -> Result<BooleanArray> {
    let mut encoder = RowEncoder::new(table, ctx.settings.limits);
    let first = (0..rows.num_rows()).map(|row| Ok(seen.insert(encoder.key(rows, row)?)));
    Ok(BooleanArray::from(first.collect::<Result<Vec<bool>>>()?))
}

/// The assigned values by position, when all are constants.
fn constant_values(
    ctx: &StatementContext,
    target: &Target,
    assignments: &[Assignment<'_>],
) -> Result<Option<Vec<(usize, Value)>>> {
    let settings = ctx.format_settings();
    let mut values = Vec::with_capacity(assignments.len());
    for assignment in assignments {
        let column = &target.table.columns[assignment.position];
        let value = match assignment.value {
            Assigned::Default => constant_default(column),
            Assigned::Expression(expr) => fold(ctx, expr)?
                .map(|value| assign_value(value, column, &settings))
                .transpose()?,
        };
        match value {
            Some(value) => values.push((assignment.position, value)),
            None => return Ok(None),
        }
    }
    Ok(Some(values))
}

fn constant_default(column: &ColumnDef) -> Option<Value> {
    match &column.default {
        None => Some(Value::Null),
        Some(ColumnDefault::Constant { value, .. }) => Some(value.clone()),
        Some(_) => None,
    }
}

fn constant_columns(table: &TableDef, constants: &[(usize, Value)], rows: usize) -> Vec<(usize, ArrayRef)> {
    let column = |(position, value): &(usize, Value)| {
        let mut builder = ColumnBuilder::new(&table.columns[*position].ty, rows);
        (0..rows).for_each(|_| builder.append_value(value));
        (*position, builder.finish())
    };
    constants.iter().map(column).collect()
}

/// Whether an assignment touches a column of a key whose uniqueness must be checked.
fn changes_keys(table: &TableDef, assignments: &[Assignment<'_>]) -> bool {
    let keys = std::iter::once(&table.primary_key).chain(table.kept_indexes());
    let ids: HashSet<_> = keys
        .flat_map(|key| key.columns.iter().map(|column| column.column))
        .collect();
    assignments
        .iter()
        .any(|assignment| ids.contains(&table.columns[assignment.position].id))
}

/// The tables of FROM.
pub(super) fn from_tables(update: &ast::Update) -> &[TableWithJoins] {
    match &update.from {
        None => &[],
        Some(UpdateTableFromKind::BeforeSet(from) | UpdateTableFromKind::AfterSet(from)) => from,
    }
}

/// Adds the columns that SET names and a dynamic table does not have yet, with the types of their expressions.
/// `from`: the other tables that these may read.
pub(super) async fn add_dynamic_columns(
    ctx: &StatementContext,
    target: &mut Target,
    assignments: &[ast::Assignment],
    from: &[TableWithJoins],
) -> Result<()> {
    let mut new = Vec::new();
    for (name, span, expr) in pairs(assignments, &target.table.name)? {
        if text_place::at_span(target.column(&name), span)?.is_some() || is_default(expr) {
            continue;
        }
        let ty = match fold(ctx, expr)? {
            Some(value) => dynamic_type_of_constant(ctx, expr, &value),
            None => {
                let (ctx, query) = target_query(ctx, target, vec![expr.clone()], from, None)?;
                let planned = query::plan_query(&ctx, &query, &super::super::known_types(&ctx)).await?;
                planned
                    .columns
                    .last()
                    .and_then(|column| dynamic_type_of(&column.ty))
            }
        };
        if let Some(ty) = ty {
            new.push(NewDynamicColumn { name, ty });
        }
    }
    target.add_columns(ctx, new)
}

/// Errors: 428C9 for GENERATED ALWAYS columns.
fn check_not_generated(target: &Target, assignments: &[Assignment<'_>]) -> Result<()> {
    for assignment in assignments {
        let column = &target.table.columns[assignment.position];
        let always = matches!(column.default, Some(ColumnDefault::Identity { always: true }));
        if always && matches!(assignment.value, Assigned::Expression(_)) {
            return Err(Error::InvalidStatement {
                state: StatementFault::GeneratedAlways,
                message: format!("column \"{}\" can only be updated to DEFAULT", column.name),
                hint: None,
            });
        }
    }
    Ok(())
}
