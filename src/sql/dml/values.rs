//! `ValuesPlan`: the rows of VALUES in an INSERT, bound: constants are converted once, each run fills in the rest.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow::array::ArrayRef;
use sqlparser::ast::{Expr, ObjectName, Parens, Spanned};
use sqlparser::tokenizer::Span;

use super::assign::{assign_array, assign_value, result_value};
use super::cell::{Cell, CellValues, Cells, decide_parameter, is_default};
use super::default::DefaultPlan;
use super::generated_columns::{Writing, check_writable, is_left_out};
use super::new_rows::{NewRows, one_below_the_other};
use super::target::Target;
use super::user_cast::assigned_rows;
use crate::catalog::{ColumnDef, NewDynamicColumn, TableDef};
use crate::codec::row::ColumnBuilder;
use crate::error::StatementFault;
use crate::functions::SEQUENCE_CALLS;
use crate::operators::alike_expressions::AlikeExpressions;
use crate::parse::names::last_name;
use crate::parse::text_place;
use crate::parse::unread_words::Overriding;
use crate::parse::walk::visit_expressions;
use crate::query::{Clause, common_type};
use crate::system::StatementContext;
use crate::types::{FormatSettings, SqlType, Value};
use crate::{Error, Result};

/// Rows of VALUES.
#[derive(Debug)]
pub(super) struct ValuesPlan {
    pub(super) rows: usize,
    columns: Vec<ValuesColumn>,
    cells: Cells,
    /// Dynamic columns that the table does not have yet, each with a cell and its expression for each row.
    unwritten: Vec<(String, Vec<(Cell, Expr)>)>,
    /// Of one row: the position of the first column whose cell asks a sequence. The defaults of the columns before it come first, so that
    /// it sees what they took.
    sequence_asked: Option<usize>,
    /// Its rows, each by itself, where a function of one sees those that were written before; else none.
    by_row: Vec<ValuesPlan>,
}

/// The cells of one column.
#[derive(Debug)]
struct ValuesColumn {
    position: usize,
    cells: Vec<Cell>,
    /// For those that are DEFAULT.
    default: Option<DefaultPlan>,
    /// Those that are computed together.
    alike: Vec<AlikeCells>,
    /// Where all are constants.
    array: Option<ArrayRef>,
}

/// Computed cells that differ in constants and parameters alone.
#[derive(Debug)]
struct AlikeCells {
    /// Which of their column's cells they are.
    places: Vec<usize>,
    exprs: AlikeExpressions,
    ty: SqlType,
}

impl ValuesPlan {
    /// Binds the rows for the columns of these names, which the statement `named`, or for the first of them. Errors: 42601 for rows of
    /// other widths, 428C9, 42804, those of the expressions.
    pub(super) fn bind(
        ctx: &StatementContext,
        target: &Target,
        rows: &[Parens<Vec<Expr>>],
        (names, named, overriding): (&[String], &[ObjectName], Overriding),
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<ValuesPlan> {
        if let [row] = rows
            && let Some((row, names)) = in_order(&target.table, row, names)
        {
            return ValuesPlan::bind_as_written(ctx, target, &[row], (&names, named, overriding), types);
        }
        let known = types.clone();
        let mut plan = ValuesPlan::bind_as_written(ctx, target, rows, (names, named, overriding), types)?;
        if rows.len() > 1 && plan.cells.may_write() {
            let alone = |row| {
                let types = &mut known.clone();
                ValuesPlan::bind_as_written(
                    ctx,
                    target,
                    std::slice::from_ref(row),
                    (names, named, overriding),
                    types,
                )
            };
            plan.by_row = rows.iter().map(alone).collect::<Result<_>>()?;
        }
        Ok(plan)
    }

    /// Whether a function is run for it that may write, and sees what was written.
    pub(super) fn may_write(&self) -> bool {
        self.cells.may_write()
    }

    /// The rows that are computed and written one behind the other; none where all are together.
    pub(super) fn by_row(&self) -> &[ValuesPlan] {
        &self.by_row
    }

    fn bind_as_written(
        ctx: &StatementContext,
        target: &Target,
        rows: &[Parens<Vec<Expr>>],
        (names, named, overriding): (&[String], &[ObjectName], Overriding),
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<ValuesPlan> {
        let width = width_of(rows, names.len(), named)?;
        let table = &target.table;
        let positions: Vec<Option<usize>> = names[..width]
            .iter()
            .map(|name| table.column_index(name))
            .collect();
        let columns = positions.iter().copied();
        let columns: Vec<_> = columns.map(|at| at.map(|at| &table.columns[at])).collect();
        for (at, column) in columns.iter().enumerate() {
            let Some(column) = column else { continue };
            let mut exprs = rows.iter().map(|row| &row.content[at]);
            if exprs.clone().any(|expr| !is_default(expr)) {
                check_writable(column, Writing::Insert(overriding))?;
            }
            exprs.try_for_each(|expr| {
                decide_parameter(expr, &column.ty, types);
                Ok::<_, Error>(())
            })?;
        }
        let rows = &*assigned_rows(ctx, rows, &columns, types)?;
        let exprs: Vec<&Expr> = rows.iter().flat_map(|row| &row.content).collect();
        let (cells, evaluator) = Cells::bind(ctx, &exprs, Clause::Values, types)?;
        let mut plan = ValuesPlan {
            rows: rows.len(),
            columns: Vec::with_capacity(width),
            cells: evaluator,
            unwritten: Vec::new(),
            sequence_asked: match rows {
                [row] => {
                    let cells = row.content.iter().zip(&positions);
                    let asking = cells.filter(|(expr, _)| asks_sequence(expr));
                    asking.filter_map(|(_, position)| *position).min()
                }
                _ => None,
            },
            by_row: Vec::new(),
        };
        let mut by_column: Vec<Vec<Cell>> = (0..width).map(|_| Vec::with_capacity(rows.len())).collect();
        for (number, cell) in cells.into_iter().enumerate() {
            by_column[number % width].push(cell);
        }
        for (at, (cells, position)) in by_column.into_iter().zip(positions).enumerate() {
            let exprs = rows.iter().map(|row| &row.content[at]);
            match position {
                Some(position) if is_left_out(&table.columns[position], overriding) => {}
                Some(position) => {
                    plan.columns
                        .push(bind_column(ctx, (table, position), cells, exprs, types)?);
                }
                None => {
                    let cells = cells.into_iter().zip(exprs.cloned()).collect();
                    plan.unwritten.push((names[at].clone(), cells));
                }
            }
        }
        Ok(plan)
    }

    /// The positions of the columns that are given.
    pub(super) fn positions(&self) -> impl Iterator<Item = usize> + '_ {
        self.columns.iter().map(|column| column.position)
    }

    /// Whether it may run again as long as catalog and settings are the same.
    pub(super) fn is_lasting(&self) -> bool {
        self.unwritten.is_empty() && self.cells.is_lasting()
    }

    /// The dynamic columns that the table does not have yet, with the types of their values; without those that are given
    /// nothing but NULL.
    pub(super) async fn new_columns(&self, ctx: &StatementContext) -> Result<Vec<NewDynamicColumn>> {
        if self.unwritten.is_empty() {
            return Ok(Vec::new());
        }
        let values = self.cells.run(ctx).await?;
        let mut new = Vec::new();
        for (name, cells) in &self.unwritten {
            let types = cells.iter().map(|(cell, expr)| values.dynamic_type(cell, expr));
            let types: Vec<Option<SqlType>> = types.collect::<Result<_>>()?;
            let ty = type_of_all(types.into_iter().flatten());
            new.extend(ty.map(|ty| NewDynamicColumn::of_value(name.clone(), ty)));
        }
        Ok(new)
    }

    /// The same before a run, with the types that are expected of them. `types`: those of the parameters, as far as they are known.
    pub(super) fn expected_columns(
        &self,
        ctx: &StatementContext,
        types: &[Option<SqlType>],
    ) -> Vec<NewDynamicColumn> {
        let unwritten = self.unwritten.iter();
        let new = unwritten.filter_map(|(name, cells)| {
            let expected = cells.iter();
            let expected = expected.filter_map(|(cell, expr)| cell.expected_type(ctx, expr, types));
            let ty = type_of_all(expected)?;
            Some(NewDynamicColumn::of_value(name.clone(), ty))
        });
        new.collect()
    }

    /// The names that are given and that the table has no column for.
    pub(super) fn unwritten(&self) -> impl Iterator<Item = &str> + '_ {
        self.unwritten.iter().map(|(name, _)| name.as_str())
    }

    /// Those of the columns at `wanted` that are given; `None` when only a run tells what they hold. Errors: as `arrays`.
    pub(super) async fn settled_arrays(
        &self,
        ctx: &StatementContext,
        table: &TableDef,
        wanted: &[usize],
    ) -> Result<Option<Vec<(usize, ArrayRef)>>> {
        let columns = self.columns.iter();
        let columns = columns.filter(|column| wanted.contains(&column.position));
        let columns: Vec<&ValuesColumn> = columns.collect();
        let mut cells = columns.iter().flat_map(|column| &column.cells);
        if !self.cells.are_cheap() || !cells.all(Cell::is_settled) {
            return Ok(None);
        }
        self.arrays_of(ctx, table, columns.into_iter()).await.map(Some)
    }

    /// The columns that are given, by position, and those of `rows` whose defaults come before. Errors: those of the expressions and of
    /// the assignment.
    pub(super) async fn arrays(
        &self,
        ctx: &StatementContext,
        table: &TableDef,
        rows: &NewRows,
    ) -> Result<Vec<(usize, ArrayRef)>> {
        let Some(asked) = self.sequence_asked else {
            let own = self.columns.iter().filter_map(|column| column.default.as_ref());
            return match self.rows > 1 && rows.go_by_row_beside(own) {
                true => self.arrays_by_row(ctx, table, rows).await,
                false => self.arrays_of(ctx, table, self.columns.iter()).await,
            };
        };
        let is_before = |column: &ValuesColumn| column.default.is_some() && column.position < asked;
        let mut arrays = rows.defaults_before(ctx, table, asked).await?;
        for column in self.columns.iter().filter(|column| is_before(column)) {
            if let Some(default) = &column.default {
                let array = default.array(ctx, table, column.position, self.rows).await?;
                arrays.push((column.position, array));
            }
        }
        let others = self.columns.iter().filter(|column| !is_before(column));
        arrays.extend(self.arrays_of(ctx, table, others).await?);
        Ok(arrays)
    }

    /// The same, with all defaults of `rows` and their own, which are computed a row at a time.
    async fn arrays_by_row(
        &self,
        ctx: &StatementContext,
        table: &TableDef,
        rows: &NewRows,
    ) -> Result<Vec<(usize, ArrayRef)>> {
        let mut own: Vec<Vec<Value>> = vec![Vec::new(); self.columns.len()];
        let mut others = Vec::with_capacity(self.rows);
        let values = self.cells.run(ctx).await?;
        for row in 0..self.rows {
            for (column, own) in self.columns.iter().zip(&mut own) {
                if let (Some(default), Some(Cell::Default)) = (&column.default, column.cells.get(row)) {
                    own.extend(default.values(ctx, table, column.position, 1).await?);
                }
            }
            others.push(rows.defaults_before(ctx, table, table.columns.len()).await?);
        }
        let mut arrays = one_below_the_other(&others)?;
        for (column, own) in self.columns.iter().zip(own) {
            let array = column.array_with(&values, table, &ctx.format_settings(), own)?;
            arrays.push((column.position, array));
        }
        Ok(arrays)
    }

    async fn arrays_of(
        &self,
        ctx: &StatementContext,
        table: &TableDef,
        columns: impl Iterator<Item = &ValuesColumn>,
    ) -> Result<Vec<(usize, ArrayRef)>> {
        let values = self.cells.run(ctx).await?;
        let mut arrays = Vec::with_capacity(self.columns.len());
        for column in columns {
            arrays.push((column.position, column.array(&values, ctx, table).await?));
        }
        Ok(arrays)
    }
}

impl ValuesColumn {
    async fn array(
        &self,
        values: &CellValues<'_>,
        ctx: &StatementContext,
        table: &TableDef,
    ) -> Result<ArrayRef> {
        let defaults = match &self.default {
            None => Vec::new(),
            Some(default) => {
                let wanted = self.cells.iter().filter(|cell| matches!(cell, Cell::Default));
                default.values(ctx, table, self.position, wanted.count()).await?
            }
        };
        self.array_with(values, table, &ctx.format_settings(), defaults)
    }

    /// The same with the values of those that are DEFAULT.
    fn array_with(
        &self,
        values: &CellValues<'_>,
        table: &TableDef,
        settings: &FormatSettings,
        defaults: Vec<Value>,
    ) -> Result<ArrayRef> {
        if let Some(array) = &self.array {
            return Ok(Arc::clone(array));
        }
        let column = &table.columns[self.position];
        if let [alike] = self.alike.as_slice()
            && alike.places.len() == self.cells.len()
        {
            return assign_array(&values.alike(&alike.exprs)?, &alike.ty, column, settings);
        }
        let mut computed = self.computed_together(values, column, settings)?;
        let mut builder = ColumnBuilder::new(&column.ty, self.cells.len());
        let mut defaults = defaults.into_iter();
        for (place, cell) in self.cells.iter().enumerate() {
            match (cell, computed.get_mut(place).and_then(Option::take)) {
                (_, Some(value)) => builder.append_value(&value)?,
                (Cell::Constant(constant), None) => builder.append_value(&constant.value)?,
                (cell, None) => match values.assigned(cell, column)? {
                    Some(value) => builder.append_value(&value)?,
                    None => builder.append_value(&defaults.next().unwrap_or(Value::Null))?,
                },
            }
        }
        Ok(builder.finish())
    }

    /// The values of cells that are computed together, in the places of these; empty where none are.
    fn computed_together(
        &self,
        values: &CellValues<'_>,
        column: &ColumnDef,
        settings: &FormatSettings,
    ) -> Result<Vec<Option<Value>>> {
        let mut computed = Vec::new();
        for AlikeCells { places, exprs, ty } in &self.alike {
            computed.resize(self.cells.len(), None);
            let array = values.alike(exprs)?;
            for (row, place) in places.iter().enumerate() {
                let value = result_value(&array, row, ty)?;
                computed[*place] = Some(assign_value(value, ty, column, settings)?);
            }
        }
        Ok(computed)
    }
}

/// A row and the names of its columns in the order of the table, in which PostgreSQL computes it, where several of its cells call something
/// that may be volatile; `None`: it stays as it is. (Of several rows each is computed as it is written.)
fn in_order(
    table: &TableDef,
    row: &Parens<Vec<Expr>>,
    names: &[String],
) -> Option<(Parens<Vec<Expr>>, Vec<String>)> {
    let width = row.content.len();
    let named = names.get(..width)?;
    row.content.iter().filter(|expr| calls(expr)).nth(1)?;
    let positions: Vec<Option<usize>> = named.iter().map(|name| table.column_index(name)).collect();
    if positions.iter().any(Option::is_none) || positions.is_sorted() {
        return None;
    }
    let mut order: Vec<usize> = (0..width).collect();
    order.sort_by_key(|at| positions[*at]);
    let mut ordered = row.clone();
    ordered.content = order.iter().map(|at| row.content[*at].clone()).collect();
    let given = order.iter().map(|at| names[*at].clone());
    Some((ordered, given.chain(names[width..].iter().cloned()).collect()))
}

/// Whether an expression calls something.
pub(super) fn calls(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |part: &Expr| match part {
        Expr::Function(_) => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

impl AlikeCells {
    /// Those among a column's cells.
    fn among(cells: &[Cell]) -> Vec<AlikeCells> {
        if cells.len() < 2 {
            return Vec::new();
        }
        let computed = cells.iter().enumerate().filter_map(|(place, cell)| match cell {
            Cell::Computed(computed, _) => Some((place, computed)),
            _ => None,
        });
        let alike = AlikeExpressions::among(computed).into_iter();
        let typed = alike.filter_map(|(places, exprs)| match cells.get(*places.first()?)? {
            Cell::Computed(_, ty) => Some(AlikeCells {
                ty: ty.clone(),
                places,
                exprs,
            }),
            _ => None,
        });
        typed.collect()
    }
}

fn asks_sequence(expr: &Expr) -> bool {
    let found = visit_expressions(expr, |expr| {
        let Expr::Function(function) = expr else {
            return ControlFlow::Continue(());
        };
        match last_name(&function.name).is_some_and(|name| SEQUENCE_CALLS.contains(&name.as_str())) {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    found.is_break()
}

fn bind_column<'e>(
    ctx: &StatementContext,
    (table, position): (&TableDef, usize),
    cells: Vec<Cell>,
    exprs: impl Iterator<Item = &'e Expr>,
    types: &[Option<SqlType>],
) -> Result<ValuesColumn> {
    let column = &table.columns[position];
    let settings = ctx.format_settings();
    let cells: Vec<Cell> = cells
        .into_iter()
        .zip(exprs)
        .map(|(cell, expr)| cell.for_column(expr, column, types, &settings))
        .collect::<Result<_>>()?;
    let default = match cells.iter().any(|cell| matches!(cell, Cell::Default)) {
        true => Some(DefaultPlan::bind(ctx, column)?),
        false => None,
    };
    let is_constant = cells.iter().all(|cell| matches!(cell, Cell::Constant(_)));
    let mut array = None;
    if is_constant {
        let mut builder = ColumnBuilder::new(&column.ty, cells.len());
        for cell in &cells {
            if let Cell::Constant(constant) = cell {
                builder.append_value(&constant.value)?;
            }
        }
        array = Some(builder.finish());
    }
    Ok(ValuesColumn {
        position,
        alike: AlikeCells::among(&cells),
        cells: if is_constant { Vec::new() } else { cells },
        default,
        array,
    })
}

/// How many values each row has. Errors: as [`check_width`]; 42601 when they are not as many in each.
fn width_of(rows: &[Parens<Vec<Expr>>], columns: usize, named: &[ObjectName]) -> Result<usize> {
    let first = rows.first().map_or(&[][..], |row| &row.content);
    let width = first.len();
    let spans: Vec<Span> = first.iter().map(Spanned::span).collect();
    check_width(width, &spans, columns, named)?;
    match rows.iter().find(|row| row.content.len() != width) {
        None => Ok(width),
        Some(row) => {
            let error = syntax("VALUES lists must all be the same length");
            let span = row.content.first().map_or_else(Span::empty, Spanned::span);
            Err(text_place::at_error(error, span))
        }
    }
}

/// Errors: 42601 when a row has more values than columns, or fewer than the list names; at the first that is too many. `spans`: where
/// the first values stand.
pub(super) fn check_width(values: usize, spans: &[Span], columns: usize, named: &[ObjectName]) -> Result<()> {
    if values > columns {
        let span = spans.get(columns).copied().unwrap_or_else(Span::empty);
        let error = syntax("INSERT has more expressions than target columns");
        return Err(text_place::at_error(error, span));
    }
    match named.get(values) {
        None => Ok(()),
        Some(name) => {
            let error = syntax("INSERT has more target columns than expressions");
            Err(text_place::at_error(error, name.span()))
        }
    }
}

pub(super) fn syntax(message: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::Syntax,
        message: message.to_string(),
        hint: None,
    }
}

/// The type of a column that is given values of these, in their order: that of the first, widened as far as the others need it. `None`:
/// there are none.
fn type_of_all(types: impl Iterator<Item = SqlType>) -> Option<SqlType> {
    types.reduce(|first, other| common_type(&[first.clone(), other]).unwrap_or(first))
}
