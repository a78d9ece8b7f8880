//! INSERT and UPSERT: the source's rows, filled up with defaults, written as the statement says.

use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::{concat_batches, filter_record_batch};
use futures::TryStreamExt;
use sqlparser::ast::{self, OnInsert, Query, SelectItem, SetExpr, Spanned, TableObject};

use super::assign::{assign_array, check_assignable};
use super::conflict::{self, OnConflict};
use super::default::default_values;
use super::found_rows::reads_table;
use super::generated::{Writing, check_writable, generates_of_both, with_dependents, with_generated};
use super::joined::JoinedRelations;
use super::kept_rows::KeptRows;
use super::target::{Target, column_name, dynamic_type_of};
use super::values::{self, Cell};
use super::{WriteResult, returning};
use crate::catalog::{NewDynamicColumn, TableDef};
use crate::codec::row::ColumnBuilder;
use crate::error::StatementFault;
use crate::exec::StatementContext;
use crate::parse::is_upsert;
use crate::parse::text_place;
use crate::query::{self, Observation, PlannedQuery};
use crate::table::{get_rows, insert_missing_rows, insert_rows, upsert_rows, write_schema};
use crate::{Error, Result};

/// Runs INSERT or UPSERT. `observation`: what its reading is counted in.
pub(super) async fn execute(
    ctx: &StatementContext,
    insert: &ast::Insert,
    observation: Option<&Observation>,
) -> Result<WriteResult> {
    check_supported(insert)?;
    let (target, names) = target_of(ctx, insert)?;
    let mut writer = Writer {
        ctx,
        target,
        mode: Mode::Insert,
        on: insert.on.as_ref(),
        returning: insert.returning.as_deref(),
        observation,
        written: 0,
        rows: KeptRows::new(ctx),
    };
    writer.mode = match (&insert.on, is_upsert(insert)) {
        (None, false) => Mode::Insert,
        (None, true) => Mode::Upsert,
        (Some(_), true) => return Err(syntax("UPSERT takes no ON CONFLICT clause")),
        (Some(on), false) => Mode::OnConflict(conflict::read(&writer.target, on)?),
    };
    let listed = !insert.columns.is_empty();
    match insert.source.as_deref() {
        None => writer.write_defaults().await?,
        Some(source) => match plain_values(source) {
            Some(rows) => {
                let contents = rows.iter().map(|row| row.content.as_slice());
                let cells = values::read(ctx, contents, names.len(), !listed).await?;
                writer.write_cells(rows, cells, &names).await?;
            }
            None => {
                let planned = query::plan_source(ctx, source, &query::known_types(ctx))?;
                writer.write_query(source, &planned, &names, !listed).await?;
            }
        },
    }
    writer.finish().await
}

/// Inserts a query's rows into all columns of a new table; answers how many.
pub(crate) async fn insert_query(
    ctx: &StatementContext,
    table: &Arc<TableDef>,
    planned: &PlannedQuery,
) -> Result<u64> {
    copy_rows(ctx, table, planned, &table.visible_positions()).await
}

/// Inserts a query's rows into the columns at these positions of a table that no catalog knows yet; answers how many.
pub(crate) async fn copy_rows(
    ctx: &StatementContext,
    table: &Arc<TableDef>,
    planned: &PlannedQuery,
    positions: &[usize],
) -> Result<u64> {
    let target = Target {
        table: Arc::clone(table),
        alias: None,
        is_widened: false,
    };
    let mut writer = Writer {
        ctx,
        target,
        mode: Mode::Insert,
        on: None,
        returning: None,
        observation: None,
        written: 0,
        rows: KeptRows::new(ctx),
    };
    let mut stream = query::run_once(ctx, planned).await?;
    while let Some(batch) = stream.try_next().await? {
        writer.write_query_batch(&batch, planned, positions).await?;
    }
    Ok(writer.written)
}

/// The table of an INSERT and the names of its columns: those listed, or all. Errors: 42P01, 42703, 42701.
pub(super) fn target_of(ctx: &StatementContext, insert: &ast::Insert) -> Result<(Target, Vec<String>)> {
    let TableObject::TableName(name) = &insert.table else {
        return Err(Error::unsupported(format!("INSERT INTO {}", insert.table), None));
    };
    let target = Target::find(ctx, name, insert.table_alias.as_ref().map(|alias| &alias.alias))?;
    if insert.columns.is_empty() {
        let names = target
            .table
            .visible_columns()
            .map(|column| column.name.clone())
            .collect();
        return Ok((target, names));
    }
    let mut names: Vec<String> = Vec::with_capacity(insert.columns.len());
    for column in &insert.columns {
        let name = column_name(column, &target.table.name)?;
        text_place::at_span(target.column(&name), column.span())?;
        if names.contains(&name) {
            return Err(Error::DuplicateColumn { name });
        }
        names.push(name);
    }
    Ok((target, names))
}

/// The rows of a source that is VALUES and nothing else.
pub(super) fn plain_values(source: &Query) -> Option<&[ast::Parens<Vec<ast::Expr>>]> {
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

fn check_supported(insert: &ast::Insert) -> Result<()> {
    if insert.or.is_some() || insert.ignore || !insert.assignments.is_empty() {
        return Err(Error::unsupported(
            "this form of INSERT",
            Some("Use INSERT INTO ... VALUES, ON CONFLICT or UPSERT."),
        ));
    }
    if let Some(OnInsert::DuplicateKeyUpdate(_)) = &insert.on {
        return Err(Error::unsupported(
            "ON DUPLICATE KEY UPDATE",
            Some("Use ON CONFLICT (...) DO UPDATE SET ...."),
        ));
    }
    Ok(())
}

/// What is done with a row whose key is there already.
enum Mode<'a> {
    /// 23505.
    Insert,
    /// The columns named are overwritten.
    Upsert,
    /// As the clause says.
    OnConflict(OnConflict<'a>),
}

/// Writes batches of rows and keeps what RETURNING shows.
struct Writer<'a> {
    ctx: &'a StatementContext,
    target: Target,
    mode: Mode<'a>,
    /// The clause that `mode` was read from.
    on: Option<&'a OnInsert>,
    returning: Option<&'a [SelectItem]>,
    observation: Option<&'a Observation>,
    written: u64,
    /// Rows written, whole, when there is a RETURNING.
    rows: KeptRows,
}

impl Writer<'_> {
    /// DEFAULT VALUES.
    async fn write_defaults(&mut self) -> Result<()> {
        self.add_columns(Vec::new()).await?;
        self.write(Vec::new(), 1).await
    }

    /// Adds the columns that the rows bring, and those that ON CONFLICT … SET names beside them.
    async fn add_columns(&mut self, new: Vec<NewDynamicColumn>) -> Result<()> {
        let before = Arc::clone(&self.target.table);
        self.target.add_columns(self.ctx, new)?;
        if let Some(on) = self.on {
            conflict::add_dynamic_columns(self.ctx, &mut self.target, on)?;
            if !Arc::ptr_eq(&before, &self.target.table) {
                self.mode = Mode::OnConflict(conflict::read(&self.target, on)?);
            }
        }
        Ok(())
    }

    /// Rows of VALUES into the columns of these names.
    async fn write_cells(
        &mut self,
        rows: &[ast::Parens<Vec<ast::Expr>>],
        mut cells: Vec<Vec<Cell>>,
        names: &[String],
    ) -> Result<()> {
        let width = cells.first().map_or(0, Vec::len);
        let names = &names[..width];
        let new = names
            .iter()
            .enumerate()
            .filter(|(_, name)| self.target.table.column_index(name).is_none())
            .filter_map(|(at, name)| values::dynamic_column(self.ctx, rows, &cells, at, name));
        let new: Vec<_> = new.collect();
        self.add_columns(new).await?;
        let mut given = Vec::with_capacity(width);
        for (at, name) in names.iter().enumerate() {
            // A dynamic column that is given nothing but NULL is not added.
            if let Some(position) = self.target.table.column_index(name) {
                let array = values::column_array(self.ctx, &self.target, &mut cells, at, position).await?;
                given.push((position, array));
            }
        }
        self.write(given, cells.len()).await
    }

    /// The rows of a query into the columns of these names.
    async fn write_query(
        &mut self,
        source: &Query,
        planned: &PlannedQuery,
        names: &[String],
        short: bool,
    ) -> Result<()> {
        values::check_width(planned.columns.len(), names.len(), short)?;
        let names = &names[..planned.columns.len()];
        let missing = names.iter().zip(&planned.columns);
        let missing = missing.filter(|(name, _)| self.target.table.column_index(name).is_none());
        let new = missing
            .filter_map(|(name, output)| {
                Some(NewDynamicColumn {
                    name: name.clone(),
                    ty: dynamic_type_of(&output.ty)?,
                })
            })
            .collect();
        self.add_columns(new).await?;
        let positions: Vec<usize> = names
            .iter()
            .map(|name| self.target.table.column_index(name).unwrap_or(usize::MAX))
            .collect();
        for (&position, output) in positions.iter().zip(&planned.columns) {
            if let Some(column) = self.target.table.columns.get(position) {
                check_writable(column, Writing::Insert)?;
                check_assignable(&output.ty, column)?;
            }
        }
        let mut stream = query::run_once_observed(self.ctx, planned, self.observation).await?;
        // Rows must be read before the first is written when the query reads the table it writes to, and kept together
        // when a key that comes twice is an error of the statement.
        if reads_table(self.ctx, source, &self.target.table) || matches!(&self.mode, Mode::OnConflict(_)) {
            let batches = KeptRows::collect(self.ctx, stream).await?.into_batches();
            if let Some(first) = batches.first() {
                let batch = concat_batches(&first.schema(), &batches).map_err(Error::arrow)?;
                self.write_query_batch(&batch, planned, &positions).await?;
            }
            return Ok(());
        }
        while let Some(batch) = stream.try_next().await? {
            self.write_query_batch(&batch, planned, &positions).await?;
        }
        Ok(())
    }

    async fn write_query_batch(
        &mut self,
        batch: &RecordBatch,
        planned: &PlannedQuery,
        positions: &[usize],
    ) -> Result<()> {
        let settings = self.ctx.format_settings();
        let mut given = Vec::with_capacity(positions.len());
        for ((array, output), &position) in batch.columns().iter().zip(&planned.columns).zip(positions) {
            if let Some(column) = self.target.table.columns.get(position) {
                given.push((position, assign_array(array, &output.ty, column, &settings)?));
            }
        }
        self.write(given, batch.num_rows()).await
    }

    /// Fills the rows up with defaults and writes them.
    async fn write(&mut self, given: Vec<(usize, ArrayRef)>, count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        let table = Arc::clone(&self.target.table);
        let mut named = vec![false; table.columns.len()];
        let mut columns: Vec<Option<ArrayRef>> = vec![None; table.columns.len()];
        for (position, array) in given {
            named[position] = true;
            columns[position] = Some(array);
        }
        let mut filled = Vec::with_capacity(columns.len());
        for (position, array) in columns.into_iter().enumerate() {
            filled.push(match array {
                Some(array) => array,
                None => default_array(self.ctx, &table, position, count).await?,
            });
        }
        let batch = RecordBatch::try_new(write_schema(&table), filled).map_err(Error::arrow)?;
        let batch = with_generated(self.ctx, &table, batch)?;
        self.write_batch(&table, batch, &named).await
    }

    async fn write_batch(&mut self, table: &TableDef, batch: RecordBatch, named: &[bool]) -> Result<()> {
        let (txn, limits) = (&self.ctx.txn, self.ctx.settings.limits);
        let written = match &self.mode {
            Mode::Insert => {
                insert_rows(txn, table, &batch, limits).await?;
                batch
            }
            Mode::Upsert if generates_of_both(table, named) => {
                conflict::upsert_and_generate(self.ctx, table, &batch, named).await?
            }
            Mode::Upsert => {
                upsert_rows(txn, table, &batch, &with_dependents(table, named), limits).await?;
                if self.returning.is_some() {
                    get_rows(txn, table, &batch, limits).await?.1
                } else {
                    batch
                }
            }
            Mode::OnConflict(OnConflict::DoNothing(conflicts)) => {
                let inserted = insert_missing_rows(txn, table, &batch, *conflicts, limits).await?;
                filter_record_batch(&batch, &BooleanArray::from(inserted)).map_err(Error::arrow)?
            }
            Mode::OnConflict(OnConflict::DoUpdate(update)) => {
                conflict::insert_or_update(self.ctx, &self.target, &batch, update).await?
            }
        };
        self.written += written.num_rows() as u64;
        if self.returning.is_some() {
            self.rows.push(written)?;
        }
        Ok(())
    }

    async fn finish(self) -> Result<WriteResult> {
        let tag = format!("INSERT 0 {}", self.written);
        returning::result(
            self.ctx,
            (&self.target, &JoinedRelations::default()),
            self.returning,
            self.rows.into_batches(),
            tag,
        )
        .await
    }
}

/// An array of the column's defaults.
async fn default_array(
    ctx: &StatementContext,
    table: &TableDef,
    position: usize,
    count: usize,
) -> Result<ArrayRef> {
    let column = &table.columns[position];
    if column.default.is_none() || column.generation().is_some() {
        return Ok(arrow::array::new_null_array(&column.ty.arrow_type(), count));
    }
    let mut builder = ColumnBuilder::new(&column.ty, count);
    default_values(ctx, table, position, count)
        .await?
        .iter()
        .try_for_each(|value| builder.append_value(value))?;
    Ok(builder.finish())
}

fn syntax(message: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::Syntax,
        message: message.to_string(),
        hint: None,
    }
}
