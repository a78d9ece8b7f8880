//! `VALUES` of an INSERT as Arrow columns, without DataFusion: constants and parameters directly, the expressions among
//! them by one query.

use arrow::array::ArrayRef;
use sqlparser::ast::{Expr, Parens, SelectItem};

use super::assign::{assign_value, result_value};
use super::default::default_values;
use super::evaluate::{run, select_of};
use super::generated::{Writing, check_writable};
use super::is_default;
use super::target::{Target, dynamic_type_of, dynamic_type_of_constant};
use crate::catalog::NewDynamicColumn;
use crate::codec::row::ColumnBuilder;
use crate::error::StatementFault;
use crate::exec::StatementContext;
use crate::query::{Constant, constant};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// One cell of VALUES.
pub(super) enum Cell {
    /// A constant.
    Constant(Constant),
    /// An expression's value and type.
    Computed(Value, SqlType),
    /// DEFAULT.
    Default,
    /// An expression that waits to be evaluated.
    Pending,
}

/// Reads rows of VALUES, expressions evaluated; every row has `width` cells, or fewer when `short` rows may be.
/// Errors: 42601 for rows of other widths, those of the expressions.
pub(super) async fn read<'a>(
    ctx: &StatementContext,
    rows: impl Iterator<Item = &'a [Expr]>,
    width: usize,
    short: bool,
) -> Result<Vec<Vec<Cell>>> {
    let mut cells: Vec<Vec<Cell>> = Vec::new();
    let mut expressions = Vec::new();
    for row in rows {
        if cells.first().is_some_and(|first| first.len() != row.len()) {
            return Err(syntax("VALUES lists must all be the same length"));
        }
        check_width(row.len(), width, short)?;
        let read = row.iter().map(|expr| {
            Ok(match constant(ctx, expr)? {
                Some(constant) => Cell::Constant(constant),
                None if is_default(expr) => Cell::Default,
                None => {
                    expressions.push(SelectItem::UnnamedExpr(expr.clone()));
                    Cell::Pending
                }
            })
        });
        cells.push(read.collect::<Result<_>>()?);
    }
    if !expressions.is_empty() {
        evaluate_cells(ctx, &mut cells, expressions).await?;
    }
    Ok(cells)
}

/// Errors: 42601 when a row has more values than columns, or fewer than the list names.
pub(super) fn check_width(values: usize, columns: usize, short: bool) -> Result<()> {
    if values > columns {
        return Err(syntax("INSERT has more expressions than target columns"));
    }
    if values < columns && !short {
        return Err(syntax("INSERT has more target columns than expressions"));
    }
    Ok(())
}

/// Evaluates the expressions of all cells in one query of one row.
async fn evaluate_cells(
    ctx: &StatementContext,
    cells: &mut [Vec<Cell>],
    items: Vec<SelectItem>,
) -> Result<()> {
    let (columns, batch) = run(ctx, &select_of(items)?).await?;
    let waiting = cells
        .iter_mut()
        .flatten()
        .filter(|cell| matches!(cell, Cell::Pending));
    for ((cell, array), column) in waiting.zip(batch.columns()).zip(&columns) {
        *cell = Cell::Computed(result_value(array, 0, &column.ty)?, column.ty.clone());
    }
    Ok(())
}

/// The dynamic column at place `at` of the rows, with the type of its first value; `None` when all are NULL.
pub(super) fn dynamic_column(
    ctx: &StatementContext,
    rows: &[Parens<Vec<Expr>>],
    cells: &[Vec<Cell>],
    at: usize,
    name: &str,
) -> Option<NewDynamicColumn> {
    let ty = rows.iter().zip(cells).find_map(|(row, cells)| {
        let expr = row.content.get(at)?;
        match cells.get(at)? {
            Cell::Constant(constant) => dynamic_type_of_constant(ctx, expr, constant),
            Cell::Computed(value, ty) => dynamic_type_of(ty).filter(|_| *value != Value::Null),
            Cell::Default | Cell::Pending => None,
        }
    })?;
    let name = name.to_string();
    Some(NewDynamicColumn { name, ty })
}

/// The cells at place `at` as an array of the column at `position`. Errors: those of the assignment, 428C9.
pub(super) async fn column_array(
    ctx: &StatementContext,
    target: &Target,
    cells: &mut [Vec<Cell>],
    at: usize,
    position: usize,
) -> Result<ArrayRef> {
    let column = &target.table.columns[position];
    let defaults_wanted = cells
        .iter()
        .filter(|row| matches!(row[at], Cell::Default))
        .count();
    if defaults_wanted < cells.len() {
        check_writable(column, Writing::Insert)?;
    }
    let mut defaults = default_values(ctx, &target.table, position, defaults_wanted)
        .await?
        .into_iter();
    let settings = ctx.format_settings();
    let mut builder = ColumnBuilder::new(&column.ty, cells.len());
    for row in cells {
        let value = match std::mem::replace(&mut row[at], Cell::Default) {
            Cell::Constant(Constant { value, ty, .. }) | Cell::Computed(value, ty) => {
                assign_value(value, &ty, column, &settings)?
            }
            Cell::Default => defaults.next().unwrap_or(Value::Null),
            Cell::Pending => return Err(Error::internal("an expression of VALUES was not evaluated")),
        };
        builder.append_value(&value)?;
    }
    Ok(builder.finish())
}

fn syntax(message: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::Syntax,
        message: message.to_string(),
        hint: None,
    }
}
