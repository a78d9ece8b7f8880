//! `CopyPlan`: the write of a COPY FROM, whose rows come in batches that `sql::copy` makes of the data. As an INSERT's: defaults for
//! the columns that are not given, then what is generated, then WHERE, then rows.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::interleave;
use sqlparser::ast::{self, Ident, ObjectName, Visitor};

use super::default::DefaultPlan;
use super::named_columns::NamedColumns;
use super::new_rows::NewRows;
use super::references::References;
use super::row_checks::RowChecks;
use super::row_event::RowEvent;
use super::row_expressions::RowExpressions;
use super::row_triggers::{RowTriggers, fire_before_statement};
use super::target::{Target, undefined_column};
use super::whole_rows::WholeRows;
use crate::catalog::{Access, ColumnDef, NewDynamicColumn, Object, RelationName, TableDef, TriggerTiming};
use crate::codec::row::ColumnBuilder;
use crate::error::StatementFault;
use crate::functions::object_name::objects_meant;
use crate::parse::walk::Walk;
use crate::parse::{names, text_place};
use crate::query::{Clause, RowQuery};
use crate::system::StatementContext;
use crate::table::{RowFault, insert_told_rows, lock_for_writes};
use crate::types::{SqlType, take_rows, value_at};
use crate::{Error, Result};

/// The write of a COPY FROM, bound.
#[derive(Debug)]
pub(crate) struct CopyPlan {
    target: Target,
    /// The positions in the table of the columns that the data gives, in its order.
    positions: Vec<usize>,
    rows: NewRows,
    /// What the data's columns are where it says that they take their default; empty when it cannot say so.
    defaults: Vec<DefaultPlan>,
    condition: Option<RowExpressions>,
    checks: RowChecks,
    /// How its rows are written, if the table is partitioned.
    routed: Option<WholeRows>,
}

/// Some rows of the data: a column of each of the plan's.
#[derive(Debug, Default)]
pub(crate) struct Given {
    /// The values.
    pub(crate) arrays: Vec<ArrayRef>,
    /// The rows, of each column, that take its default; empty when the data cannot say so.
    pub(crate) defaults: Vec<Vec<usize>>,
    /// How many rows.
    pub(crate) count: usize,
}

impl Given {
    /// One of the rows.
    fn row(&self, row: usize) -> Given {
        let takes_default = |rows: &Vec<usize>| rows.contains(&row).then_some(0).into_iter().collect();
        Given {
            arrays: self.arrays.iter().map(|array| array.slice(row, 1)).collect(),
            defaults: self.defaults.iter().map(takes_default).collect(),
            count: 1,
        }
    }
}

impl CopyPlan {
    /// Binds it, and locks the table for writes; the columns that it adds to a dynamic table are there then. `columns`: those that the
    /// data gives, all that are not generated when none is named; `selection`: WHERE; `has_marker`: the data may say that a
    /// column takes its default. Errors: 42P01, 42809, 42703, 42701, 42P10, those of WHERE and of defaults; `Conflict`.
    pub(crate) async fn bind(
        ctx: &StatementContext,
        name: &ObjectName,
        columns: &[String],
        selection: Option<&ast::Expr>,
        has_marker: bool,
    ) -> Result<CopyPlan> {
        // PostgreSQL says no place of the names in a COPY.
        let target = Target::find(ctx, name, None, Access::CopyFrom);
        let mut target = target.map_err(Error::without_place)?;
        let missing = missing_columns(&target, columns)?;
        lock_for_writes(&ctx.txn, &target.table).await?;
        target.add_columns_of_patterns(ctx, columns.iter().map(String::as_str))?;
        target.add_columns(ctx, missing)?;
        target.tell_added(ctx);
        if !columns.is_empty() {
            if let Some(selection) = selection {
                // The nearest name may be that of any column.
                bind_condition(ctx, &target, selection)?;
            }
            target.narrow(ctx, NamedColumns::of_copy(columns, selection))?;
        }
        let table = Arc::clone(&target.table);
        let positions = match columns.is_empty() {
            true => {
                let visible = table.visible_positions().into_iter();
                visible
                    .filter(|at| table.columns[*at].generation().is_none())
                    .collect()
            }
            false => columns
                .iter()
                .filter_map(|name| table.column_index(name))
                .collect(),
        };
        let positions: Vec<usize> = positions;
        let condition = selection.map(|selection| bind_condition(ctx, &target, selection));
        let defaults = positions.iter().filter(|_| has_marker);
        Ok(CopyPlan {
            rows: NewRows::bind(ctx, &table, positions.iter().copied(), 0)?,
            defaults: defaults
                .map(|at| DefaultPlan::bind(ctx, &table.columns[*at]))
                .collect::<Result<_>>()?,
            condition: condition.transpose()?,
            checks: RowChecks::bind(ctx, &table)?,
            routed: match table.partitioning.is_some() {
                true => Some(WholeRows::bind(ctx, &table)?),
                false => None,
            },
            positions,
            target,
        })
    }

    /// Locks the table for writes, in another transaction than the one that it was bound in. Errors: `Conflict` when its definition has
    /// changed meanwhile.
    pub(crate) async fn lock(&self, ctx: &StatementContext) -> Result<()> {
        let table = &self.target.table;
        let now = ctx.clone().seeing_definitions().await?;
        let name = RelationName::in_schema(&table.schema, &table.name);
        let is_same = match now.get_relation(name, Access::Name)? {
            Some(Object::View(found)) => found.oid() == table.oid && found.version == table.version,
            Some(Object::Table(found)) => found.oid == table.oid && found.version == table.version,
            _ => false,
        };
        match is_same {
            true => lock_for_writes(&ctx.txn, table).await,
            false => Err(Error::Conflict { key: Vec::new() }),
        }
    }

    /// Its statement writes to the table from now on.
    pub(crate) fn enter(&self, ctx: &StatementContext, references: &References) {
        references.write_to(ctx, &self.target.table);
    }

    /// The table's oid.
    pub(crate) fn table_oid(&self) -> u32 {
        self.target.table.oid()
    }

    /// The table's name.
    pub(crate) fn table_name(&self) -> &str {
        &self.target.table.name
    }

    /// Whether writes may add columns to the table.
    pub(crate) fn takes_new_columns(&self) -> bool {
        self.target.table.gets_columns()
    }

    /// The columns that the data gives, in its order.
    pub(crate) fn columns(&self) -> impl ExactSizeIterator<Item = &ColumnDef> {
        self.positions.iter().map(|at| &self.target.table.columns[*at])
    }

    /// Errors: 42703, 42P10 unless the data could give the table's column of this name.
    pub(crate) fn check_column(&self, name: &str) -> Result<()> {
        check_copied(&self.target.table, std::iter::once(name.to_string()))
    }

    /// Calls the triggers that fire before its first row. Errors: their functions'.
    pub(crate) async fn fire_before(&self, ctx: &StatementContext) -> Result<()> {
        fire_before_statement(ctx, &self.target.table, RowEvent::INSERT).await
    }

    /// All rows are written: the triggers that fire then are called when its statement is settled.
    pub(crate) fn note_end(&self, ctx: &StatementContext, references: &References) {
        let table = &self.target.table;
        references.triggers.note_statement(ctx, table, RowEvent::INSERT);
    }

    /// Writes rows; answers how many WHERE lets through. `references`: what is settled when the statement ends. Errors: those of INSERT,
    /// with the row at fault.
    pub(crate) async fn write(
        &self,
        ctx: &StatementContext,
        given: &Given,
        references: &References,
    ) -> Result<usize, RowFault> {
        let table = &self.target.table;
        let triggers = RowTriggers::bind(ctx, table, RowEvent::INSERT, TriggerTiming::Before);
        let triggers = triggers.map_err(|error| RowFault { row: None, error })?;
        if triggers.is_none() {
            return self.write_together(ctx, given, None, references).await;
        }
        let mut written = 0;
        for row in 0..given.count {
            let of_row = given.row(row);
            let one = self
                .write_together(ctx, &of_row, triggers.as_ref(), references)
                .await;
            written += one.map_err(|fault| RowFault {
                row: Some(row),
                ..fault
            })?;
        }
        Ok(written)
    }

    async fn write_together(
        &self,
        ctx: &StatementContext,
        given: &Given,
        triggers: Option<&RowTriggers<'_>>,
        references: &References,
    ) -> Result<usize, RowFault> {
        let (kept, batch) = match self.new_rows(ctx, given, triggers).await {
            Ok(rows) => rows,
            Err(error) if triggers.is_some() => return Err(RowFault { row: None, error }),
            Err(error) => return Err(self.fault_of_new_rows(ctx, given, error).await),
        };
        if batch.num_rows() == 0 {
            return Ok(0);
        }
        let (table, limits) = (&self.target.table, ctx.settings.limits);
        // The triggers have done it.
        if table.stands_for_view() {
            return Ok(batch.num_rows());
        }
        if let Some(routed) = &self.routed {
            let of_data = |row: usize| kept.as_ref().map_or(Some(row), |kept| kept.get(row).copied());
            let written = Box::pin(routed.write(ctx, (table, &batch), references)).await;
            written.map_err(|fault| RowFault {
                row: fault.row.and_then(of_data),
                ..fault
            })?;
            return Ok(batch.num_rows());
        }
        let inserted = insert_told_rows(&ctx.txn, table, &batch, limits).await;
        inserted.map_err(|fault| RowFault {
            row: match (&kept, fault.row) {
                (Some(kept), Some(row)) => kept.get(row).copied(),
                (_, row) => row,
            },
            ..fault
        })?;
        let noted = references.note_inserted(ctx, table, &batch).await;
        noted.map_err(|error| RowFault { row: None, error })?;
        Ok(batch.num_rows())
    }

    /// Whole rows of what is given: those that WHERE lets through, and which they are unless they are all. Errors: those of what is
    /// computed, 23514.
    async fn new_rows(
        &self,
        ctx: &StatementContext,
        given: &Given,
        triggers: Option<&RowTriggers<'_>>,
    ) -> Result<(Option<Vec<usize>>, RecordBatch)> {
        let table = &*self.target.table;
        let mut columns = Vec::with_capacity(self.positions.len());
        for (at, (array, position)) in given.arrays.iter().zip(&self.positions).enumerate() {
            let array = match given.defaults.get(at) {
                Some(rows) if !rows.is_empty() => self.with_defaults(ctx, at, array, rows).await?,
                _ => Arc::clone(array),
            };
            let array = objects_of_names(ctx, array, &table.columns[*position].ty)?;
            columns.push((*position, array));
        }
        let filled = self.rows.fill(ctx, table, columns, given.count).await?;
        let (kept, batch) = match &self.condition {
            None => (None, filled),
            Some(condition) => {
                let visible = filled.project(&table.visible_positions()).map_err(Error::arrow)?;
                let kept = condition.evaluate(ctx, &visible).await?.ordinals;
                let batch = rows_at(&filled, &kept)?;
                (Some(kept), batch)
            }
        };
        let batch = match triggers {
            None => batch,
            Some(triggers) => triggers.before_all(ctx, (None, Some(&batch))).await?.1,
        };
        self.checks.require(ctx, table, &batch).await?;
        Ok((kept, batch))
    }

    /// The error of the first of the rows that has one by itself.
    async fn fault_of_new_rows(&self, ctx: &StatementContext, given: &Given, error: Error) -> RowFault {
        for row in 0..given.count {
            if let Err(error) = self.new_rows(ctx, &given.row(row), None).await {
                return RowFault {
                    row: Some(row),
                    error,
                };
            }
        }
        RowFault { row: None, error }
    }

    /// The column with its default in these rows.
    async fn with_defaults(
        &self,
        ctx: &StatementContext,
        at: usize,
        given: &ArrayRef,
        rows: &[usize],
    ) -> Result<ArrayRef> {
        let Some(default) = self.defaults.get(at) else {
            return Err(Error::internal("a default was asked for that is not bound"));
        };
        let table = &self.target.table;
        let defaults = default.array(ctx, table, self.positions[at], rows.len()).await?;
        let mut places: Vec<(usize, usize)> = (0..given.len()).map(|row| (0, row)).collect();
        for (number, row) in rows.iter().enumerate() {
            places[*row] = (1, number);
        }
        let sources: [&dyn Array; 2] = [given, &defaults];
        interleave(&sources, &places).map_err(Error::arrow)
    }
}

/// The objects that a column of names means, where the column is of a type of such; any other stays. Errors: 42P01 and its kin.
fn objects_of_names(ctx: &StatementContext, names: ArrayRef, ty: &SqlType) -> Result<ArrayRef> {
    if !ty.names_objects() || *names.data_type() == ty.arrow_type() {
        return Ok(names);
    }
    let mut objects = ColumnBuilder::new(ty, names.len());
    for row in 0..names.len() {
        let name = value_at(&names, row, &SqlType::Text)?;
        objects.append_value(&objects_meant(ctx, name, ty)?)?;
    }
    Ok(objects.finish())
}

/// The dynamic columns that the table does not have yet. Errors: 42703, 42701, 42P10.
fn missing_columns(target: &Target, columns: &[String]) -> Result<Vec<NewDynamicColumn>> {
    let mut missing = Vec::new();
    for name in columns {
        if target.column(name)?.is_none() && target.table.pattern_of(name).is_none() {
            // What data says has no type of its own.
            missing.push(NewDynamicColumn::of_value(name.clone(), SqlType::Text));
        }
    }
    let known = columns
        .iter()
        .filter(|name| target.table.column_index(name).is_some());
    check_copied(&target.table, known.cloned())?;
    match columns
        .iter()
        .enumerate()
        .find(|(at, name)| columns[..*at].contains(name))
    {
        Some((_, name)) => Err(Error::DuplicateColumn { name: name.clone() }),
        None => Ok(missing),
    }
}

/// Whether these are columns that COPY takes, each once. Errors: 42703, 42701, 42P10.
pub(crate) fn check_copied(table: &TableDef, columns: impl Iterator<Item = String>) -> Result<()> {
    let mut named: Vec<String> = Vec::new();
    for name in columns {
        let Some(at) = table.column_index(&name) else {
            return Err(undefined_column(table, &name));
        };
        if table.columns[at].generation().is_some() {
            return Err(Error::GeneratedInCopy {
                message: format!("column \"{name}\" is a generated column"),
                detail: "Generated columns cannot be used in COPY.".to_string(),
            });
        }
        if named.contains(&name) {
            return Err(Error::DuplicateColumn { name });
        }
        named.push(name);
    }
    Ok(())
}

/// Errors: those of the condition, 42P10 where it takes a generated column, 0A000 for a subquery.
fn bind_condition(ctx: &StatementContext, target: &Target, selection: &ast::Expr) -> Result<RowExpressions> {
    let mut refused = Refused { target, error: None };
    let _ = selection.walk(&mut refused);
    if let Some(error) = refused.error {
        return Err(error);
    }
    let query = RowQuery {
        relations: &[target.relation()],
        items: &[],
        selection: Some(selection),
        clause: Clause::CopyWhere,
    };
    RowExpressions::bind(ctx, query, &mut Vec::new())
}

/// Finds what the condition of a COPY must not have.
struct Refused<'a> {
    target: &'a Target,
    error: Option<Error>,
}

impl Visitor for Refused<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &ast::Query) -> std::ops::ControlFlow<()> {
        let error = Error::InvalidStatement {
            state: StatementFault::NotImplemented,
            message: "cannot use subquery in COPY FROM WHERE condition".to_string(),
            hint: None,
        };
        self.error = Some(text_place::at_error(error, ast::Spanned::span(query)));
        std::ops::ControlFlow::Break(())
    }

    fn pre_visit_expr(&mut self, expr: &ast::Expr) -> std::ops::ControlFlow<()> {
        let name: Option<&Ident> = match expr {
            ast::Expr::Identifier(name) => Some(name),
            ast::Expr::CompoundIdentifier(names) => names.last(),
            _ => None,
        };
        let table = &self.target.table;
        let column = name.and_then(|name| table.column_index(&names::fold(name)));
        let generated = column.filter(|at| table.columns[*at].generation().is_some());
        let Some(at) = generated else {
            return std::ops::ControlFlow::Continue(());
        };
        self.error = Some(Error::GeneratedInCopy {
            message: "generated columns are not supported in COPY FROM WHERE conditions".to_string(),
            detail: format!("Column \"{}\" is a generated column.", table.columns[at].name),
        });
        std::ops::ControlFlow::Break(())
    }
}

/// The rows at these places.
fn rows_at(batch: &RecordBatch, places: &[usize]) -> Result<RecordBatch> {
    if places.len() == batch.num_rows() {
        return Ok(batch.clone());
    }
    let places = UInt32Array::from_iter_values(places.iter().map(|place| *place as u32));
    take_rows(batch, &places).map_err(Error::arrow)
}
