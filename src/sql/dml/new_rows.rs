//! `NewRows`: the rows of an INSERT as they will be: what the statement gives, defaults for the other columns, then what is
//! generated of both.

use arrow::array::{Array, ArrayRef, RecordBatch};
use arrow::compute::concat;
use arrow::datatypes::SchemaRef;

use super::assign::repeated;
use super::default::DefaultPlan;
use super::generated_columns::with_generated;
use crate::catalog::TableDef;
use crate::system::StatementContext;
use crate::types::Value;
use crate::{Error, Result};

/// Where the columns of new rows come from.
#[derive(Debug)]
pub(super) struct NewRows {
    schema: SchemaRef,
    columns: Vec<NewColumn>,
    /// Its defaults are computed a row at a time.
    goes_by_row: bool,
}

#[derive(Debug)]
enum NewColumn {
    /// The statement gives it.
    Given,
    /// Its default is a constant; with so many of them as the statement is expected to write.
    Constant(Value, ArrayRef),
    /// Its default is asked for.
    Default(DefaultPlan),
}

impl NewRows {
    /// Binds the defaults of the columns that are not given. Errors: those of the defaults.
    pub(super) fn bind(
        ctx: &StatementContext,
        table: &TableDef,
        given: impl Iterator<Item = usize>,
        rows_expected: usize,
    ) -> Result<NewRows> {
        let mut is_given = vec![false; table.columns.len()];
        given.for_each(|position| is_given[position] = true);
        let column = |(column, is_given)| {
            if is_given {
                return Ok(NewColumn::Given);
            }
            Ok(match DefaultPlan::bind(ctx, column)? {
                DefaultPlan::Value(value) => {
                    let array = repeated(&value, &column.ty, rows_expected)?;
                    NewColumn::Constant(value, array)
                }
                default => NewColumn::Default(default),
            })
        };
        let columns = table.columns.iter().zip(is_given).map(column);
        let mut rows = NewRows {
            schema: table.write_schema(),
            columns: columns.collect::<Result<_>>()?,
            goes_by_row: false,
        };
        rows.goes_by_row = DefaultPlan::go_by_row(rows.defaults());
        Ok(rows)
    }

    /// Whether its defaults, with those of what the statement gives, are computed a row at a time.
    pub(super) fn go_by_row_beside<'a>(&'a self, own: impl Iterator<Item = &'a DefaultPlan>) -> bool {
        let mut own = own.peekable();
        match own.peek() {
            None => self.goes_by_row,
            Some(_) => DefaultPlan::go_by_row(own.chain(self.defaults())),
        }
    }

    /// Whether a function is run for a default that may write, and sees what was written.
    pub(super) fn may_write(&self) -> bool {
        self.defaults().any(DefaultPlan::may_write)
    }

    /// The defaults that are asked for.
    fn defaults(&self) -> impl Iterator<Item = &DefaultPlan> {
        self.columns.iter().filter_map(|column| match column {
            NewColumn::Default(default) => Some(default),
            NewColumn::Given | NewColumn::Constant(..) => None,
        })
    }

    /// Which columns the statement gives.
    pub(super) fn named(&self) -> Vec<bool> {
        let columns = self.columns.iter();
        columns.map(|column| matches!(column, NewColumn::Given)).collect()
    }

    /// `count` rows of which the columns at `wanted` are as they will be; `None` when only a run tells what they hold. Errors:
    /// those of generated columns.
    pub(super) fn fill_settled(
        &self,
        ctx: &StatementContext,
        table: &TableDef,
        (given, count): (Vec<(usize, ArrayRef)>, usize),
        wanted: &[usize],
    ) -> Result<Option<RecordBatch>> {
        let mut filled = Vec::with_capacity(self.columns.len());
        for (position, column) in self.columns.iter().enumerate() {
            let value = match column {
                NewColumn::Default(_) if wanted.contains(&position) => return Ok(None),
                NewColumn::Constant(value, _) => value,
                NewColumn::Default(_) | NewColumn::Given => &Value::Null,
            };
            filled.push(repeated(value, &table.columns[position].ty, count)?);
        }
        for (position, array) in given {
            filled[position] = array;
        }
        let batch = RecordBatch::try_new(self.schema.clone(), filled).map_err(Error::arrow)?;
        with_generated(ctx, table, batch).map(Some)
    }

    /// The columns of one row before a position whose defaults are asked for. Errors: those of the defaults.
    pub(super) async fn defaults_before(
        &self,
        ctx: &StatementContext,
        table: &TableDef,
        end: usize,
    ) -> Result<Vec<(usize, ArrayRef)>> {
        let mut arrays = Vec::new();
        for (position, column) in self.columns.iter().enumerate().take(end) {
            if let NewColumn::Default(default) = column {
                arrays.push((position, default.array(ctx, table, position, 1).await?));
            }
        }
        Ok(arrays)
    }

    /// All defaults that are asked for, of `count` rows, computed a row at a time. Errors: those of the defaults.
    pub(super) async fn defaults_by_row(
        &self,
        ctx: &StatementContext,
        table: &TableDef,
        count: usize,
    ) -> Result<Vec<(usize, ArrayRef)>> {
        let mut rows = Vec::with_capacity(count);
        for _ in 0..count {
            rows.push(self.defaults_before(ctx, table, self.columns.len()).await?);
        }
        one_below_the_other(&rows)
    }

    /// `count` whole rows of what the statement gives, by position. Errors: those of defaults and of generated columns.
    pub(super) async fn fill(
        &self,
        ctx: &StatementContext,
        table: &TableDef,
        given: Vec<(usize, ArrayRef)>,
        count: usize,
    ) -> Result<RecordBatch> {
        let mut arrays: Vec<Option<ArrayRef>> = vec![None; self.columns.len()];
        for (position, array) in given {
            arrays[position] = Some(array);
        }
        let mut columns = arrays.iter().zip(&self.columns);
        let is_open = |(array, column): (&Option<ArrayRef>, &NewColumn)| {
            array.is_none() && matches!(column, NewColumn::Default(_))
        };
        if self.goes_by_row && count > 1 && columns.any(is_open) {
            for (position, array) in self.defaults_by_row(ctx, table, count).await? {
                arrays[position] = Some(array);
            }
        }
        let mut filled = Vec::with_capacity(arrays.len());
        for (position, (array, column)) in arrays.into_iter().zip(&self.columns).enumerate() {
            filled.push(match (array, column) {
                (Some(array), _) => array,
                (None, NewColumn::Constant(_, array)) if array.len() == count => array.clone(),
                (None, NewColumn::Constant(value, _)) => repeated(value, &table.columns[position].ty, count)?,
                (None, NewColumn::Default(default)) => default.array(ctx, table, position, count).await?,
                (None, NewColumn::Given) => return Err(Error::internal("a column was not given")),
            });
        }
        let batch = RecordBatch::try_new(self.schema.clone(), filled).map_err(Error::arrow)?;
        with_generated(ctx, table, batch)
    }
}

/// The same columns of several rows, by position, each as one array.
pub(super) fn one_below_the_other(rows: &[Vec<(usize, ArrayRef)>]) -> Result<Vec<(usize, ArrayRef)>> {
    let Some(first) = rows.first() else {
        return Ok(Vec::new());
    };
    let column = |(at, (position, _)): (usize, &(usize, ArrayRef))| {
        let parts: Vec<&dyn Array> = rows.iter().map(|row| row[at].1.as_ref()).collect();
        let whole = concat(&parts).map_err(Error::arrow)?;
        Ok((*position, whole))
    };
    first.iter().enumerate().map(column).collect()
}
