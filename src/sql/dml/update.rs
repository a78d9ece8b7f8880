//! UPDATE: the rows that the condition finds, what SET makes of them, a page at a time: memory holds a page and what the
//! transaction has written, whose limit refuses more.
//!
//! A statement must not see its own writes. A query that reads the target once and leaves keys alone is safe: it meets
//! each row before the row is written, and never again. Where keys may move, or the target is read at another place as
//! well, all rows are read before the first is written ([`KeptRows`], bounded by the same limit).

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::{filter, filter_record_batch};
use futures::TryStreamExt;
use sqlparser::ast::{self, AssignmentTarget, Expr, Spanned, TableWithJoins, UpdateTableFromKind};
use sqlparser::tokenizer::Span;

use super::assign::{assign_array, assign_value, check_assignable, with_columns};
use super::default::default_values;
use super::found_rows::{Finding, FoundRows, split_page};
use super::generated::{Writing, check_writable, with_generated};
use super::joined::JoinedRelations;
use super::kept_rows::KeptRows;
use super::returning;
use super::target::{Target, column_name, dynamic_type_of, dynamic_type_of_constant};
use super::{WriteResult, is_default};
use crate::catalog::{ColumnDef, ColumnDefault, NewDynamicColumn, TableDef};
use crate::codec::row::ColumnBuilder;
use crate::error::StatementFault;
use crate::exec::StatementContext;
use crate::exec::plan_cache::PlanCache;
use crate::parse::text_place;
use crate::query::{Observation, QueryPlan, constant};
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

/// Runs UPDATE. How its rows are found is kept with the statement, and counted if somebody observes.
pub(super) async fn execute(
    ctx: &StatementContext,
    update: &ast::Update,
    (cache, observation): (&PlanCache<QueryPlan>, Option<&Observation>),
) -> Result<WriteResult> {
    if update.or.is_some() || !update.order_by.is_empty() || update.limit.is_some() {
        return Err(Error::unsupported(
            "ORDER BY, LIMIT or OR in UPDATE",
            Some("Name the rows by a condition."),
        ));
    }
    let mut target = Target::of_factor(ctx, &update.table)?;
    add_dynamic_columns(ctx, &mut target, &update.assignments, |target, expr| {
        let finding = finding(target, &[], update);
        let types = crate::query::known_types(ctx);
        finding.computing(&[expr]).types(ctx, &types)
    })?;
    let assignments = read_assignments(&target, &update.assignments)?;
    let constants = constant_values(ctx, &target, &assignments)?;
    let expressions: Vec<&Expr> = match &constants {
        Some(_) => Vec::new(),
        None => assignments.iter().filter_map(Assignment::expression).collect(),
    };
    let returning = update.returning.as_deref();
    let joined = JoinedRelations::of(ctx, &target, returning, from_tables(update))?;
    let beside = joined.columns();
    let computed = expressions.len();
    let expressions: Vec<&Expr> = expressions.into_iter().chain(&beside).collect();
    let columns: Vec<usize> = (0..target.table.columns.len()).collect();
    let keys_move = changes_keys(&target.table, &assignments);
    let finding = finding(&target, &columns, update).computing(&expressions);
    let FoundRows { types, mut pages } = finding.find(ctx, cache, observation, keys_move).await?;
    let computing = assignments
        .iter()
        .filter(|assignment| assignment.expression().is_some());
    for (assignment, ty) in computing.zip(types.iter().take(computed)) {
        check_assignable(ty, &target.table.columns[assignment.position])?;
    }
    let mut returned = KeptRows::new(ctx);
    let mut updated = 0;
    let mut write = RowUpdate::new(&ctx.txn, &target.table, ctx.settings.limits, keys_move);
    let mut first = FirstOfEachKey::new(&target.table, ctx);
    while let Some(page) = pages.try_next().await? {
        let (rows, values) = split_page(&page, columns.len());
        let mut values = values.to_vec();
        let mut old =
            RecordBatch::try_new(write_schema(&target.table), rows.to_vec()).map_err(Error::arrow)?;
        if !finding.from.is_empty() {
            // A row that joins with several is updated once, by any of them.
            (old, values) = first.take_unseen_rows(&old, &values)?;
        }
        if old.num_rows() == 0 {
            continue;
        }
        let beside = values.split_off(computed);
        let new = match &constants {
            Some(constants) => with_columns(
                &target.table,
                &old,
                constant_columns(&target.table, constants, old.num_rows())?,
            )?,
            None => {
                let values = types.iter().cloned().zip(values).collect();
                assigned(ctx, &target, &old, &assignments, values).await?
            }
        };
        let new = with_generated(ctx, &target.table, new)?;
        write.replace(&old, &new).await?;
        updated += new.num_rows();
        if returning.is_some() {
            returned.push(joined.append_joined(new, beside)?)?;
        }
    }
    write.finish()?;
    let tag = format!("UPDATE {updated}");
    returning::result(ctx, (&target, &joined), returning, returned.into_batches(), tag).await
}

/// How the rows of an UPDATE are found. Errors: those of planning.
pub(super) fn plan(ctx: &StatementContext, update: &ast::Update) -> Result<(Target, Arc<QueryPlan>)> {
    let target = Target::of_factor(ctx, &update.table)?;
    let columns: Vec<usize> = (0..target.table.columns.len()).collect();
    let assignments = read_assignments(&target, &update.assignments)?;
    let expressions: Vec<&Expr> = assignments.iter().filter_map(Assignment::expression).collect();
    let found = finding(&target, &columns, update).computing(&expressions);
    let plan = found.plan(ctx, &PlanCache::default())?;
    Ok((target, plan))
}

/// Where an UPDATE finds its rows.
pub(super) fn finding<'a>(target: &'a Target, columns: &'a [usize], update: &'a ast::Update) -> Finding<'a> {
    Finding {
        target,
        columns,
        expressions: &[],
        from: from_tables(update),
        selection: update.selection.as_ref(),
    }
}

impl<'a> Assignment<'a> {
    /// Its expression, unless it is DEFAULT.
    pub(super) fn expression(&self) -> Option<&'a Expr> {
        match self.value {
            Assigned::Default => None,
            Assigned::Expression(expr) => Some(expr),
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
        values.iter().try_for_each(|value| builder.append_value(value))?;
        Ok(builder.finish())
    }
}

/// Reads a SET clause. Columns of a dynamic table that do not exist by now are set to nothing but NULL, and left out.
/// Errors: 42703, 42601 for a column set twice, 428C9.
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
        if let Assigned::Expression(_) = value {
            check_writable(&target.table.columns[position], Writing::Update)?;
        }
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
    with_columns(&target.table, old, columns)
}

/// Which rows are met for the first time, by their keys. Each is written, so the transaction's limit bounds them.
pub(super) struct FirstOfEachKey<'a> {
    encoder: RowEncoder<'a>,
    seen: HashSet<Vec<u8>>,
}

impl<'a> FirstOfEachKey<'a> {
    pub(super) fn new(table: &'a TableDef, ctx: &StatementContext) -> FirstOfEachKey<'a> {
        FirstOfEachKey {
            encoder: RowEncoder::new(table, ctx.settings.limits),
            seen: HashSet::new(),
        }
    }

    /// The whole rows of the target that no batch had before, and what stands beside them.
    pub(super) fn take_unseen_rows(
        &mut self,
        rows: &RecordBatch,
        beside: &[ArrayRef],
    ) -> Result<(RecordBatch, Vec<ArrayRef>)> {
        let first = (0..rows.num_rows()).map(|row| Ok(self.seen.insert(self.encoder.key(rows, row)?)));
        let first = BooleanArray::from(first.collect::<Result<Vec<bool>>>()?);
        let rows = filter_record_batch(rows, &first).map_err(Error::arrow)?;
        let beside = beside
            .iter()
            .map(|array| filter(array, &first).map_err(Error::arrow));
        Ok((rows, beside.collect::<Result<_>>()?))
    }
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
            Assigned::Expression(expr) => constant(ctx, expr)?
                .map(|constant| assign_value(constant.value, &constant.ty, column, &settings))
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
        None | Some(ColumnDefault::Generated(_)) => Some(Value::Null),
        Some(ColumnDefault::Constant { value, .. }) => Some(value.clone()),
        Some(_) => None,
    }
}

fn constant_columns(
    table: &TableDef,
    constants: &[(usize, Value)],
    rows: usize,
) -> Result<Vec<(usize, ArrayRef)>> {
    let column = |(position, value): &(usize, Value)| {
        let mut builder = ColumnBuilder::new(&table.columns[*position].ty, rows);
        (0..rows).try_for_each(|_| builder.append_value(value))?;
        Ok((*position, builder.finish()))
    };
    constants.iter().map(column).collect()
}

/// Whether an assignment touches a column of a key whose uniqueness must be checked, or one that such a column is computed
/// of.
fn changes_keys(table: &TableDef, assignments: &[Assignment<'_>]) -> bool {
    let mut ids = table.columns_of_keys();
    for (position, generation) in table.generations() {
        if ids.contains(&table.columns[position].id) {
            ids.extend(&generation.inputs);
        }
    }
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
/// `type_of`: that of an expression that is no constant.
pub(super) fn add_dynamic_columns(
    ctx: &StatementContext,
    target: &mut Target,
    assignments: &[ast::Assignment],
    type_of: impl Fn(&Target, &Expr) -> Result<Vec<SqlType>>,
) -> Result<()> {
    let mut new = Vec::new();
    for (name, span, expr) in pairs(assignments, &target.table.name)? {
        if text_place::at_span(target.column(&name), span)?.is_some() || is_default(expr) {
            continue;
        }
        let ty = match constant(ctx, expr)? {
            Some(constant) => dynamic_type_of_constant(ctx, expr, &constant),
            None => type_of(target, expr)?.last().and_then(dynamic_type_of),
        };
        if let Some(ty) = ty {
            new.push(NewDynamicColumn { name, ty });
        }
    }
    target.add_columns(ctx, new)
}
