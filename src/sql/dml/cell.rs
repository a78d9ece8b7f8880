//! `Cell`: a value that a write states, bound; `Cells`: those of a statement, which are evaluated together.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use futures::TryStreamExt;
use sqlparser::ast::{DataType, Expr, Ident, Spanned, Value as Literal};

use super::assign::{assign_value, check_assignable, result_value};
use super::row_expressions::rows_of_nothing;
use super::target::dynamic_type_of;
use crate::catalog::ColumnDef;
use crate::error::StatementFault;
use crate::functions::evaluate;
use crate::logical::placeholder::Constants;
use crate::operators::alike_expressions::AlikeExpressions;
use crate::operators::computed::Computed;
use crate::parse::text_place;
use crate::query::type_name::get_named_type;
use crate::query::{BoundCell, Clause, Constant, QueryPlan, base, bind_cells, is_readable, literal};
use crate::system::StatementContext;
use crate::types::{FormatSettings, SqlType, Value};
use crate::{Error, Result};

/// One value that a statement states.
#[derive(Debug)]
pub(super) enum Cell {
    /// The same in every run; as its column holds it, once that is known.
    Constant(Constant),
    /// `$n`, counted from 0.
    Parameter(usize),
    /// An expression that depends on the run.
    Computed(Computed, SqlType),
    /// A column of the row that [`Cells::query`] gives.
    Queried(usize, SqlType),
    /// DEFAULT.
    Default,
}

/// What evaluates the cells of a statement.
#[derive(Debug)]
pub(super) struct Cells {
    /// The types of `$1` … as the expressions read them.
    parameters: Vec<SqlType>,
    /// What gives one row of those that take a plan.
    query: Option<Arc<QueryPlan>>,
    computes: bool,
}

/// The cells in one run.
pub(super) struct CellValues<'a> {
    ctx: &'a StatementContext,
    settings: FormatSettings,
    constants: Option<Constants>,
    one_row: RecordBatch,
    queried: Option<RecordBatch>,
}

impl Cells {
    /// Binds expressions that state values. Parameters that stand alone must have got their types before: those of the columns
    /// they are for. Errors: those of binding.
    pub(super) fn bind(
        ctx: &StatementContext,
        exprs: &[&Expr],
        clause: Clause,
        types: &mut Vec<Option<SqlType>>,
    ) -> Result<(Vec<Cell>, Cells)> {
        let read: Vec<Option<Cell>> = exprs.iter().map(|expr| plain_cell(expr)).collect::<Result<_>>()?;
        let others = read.iter().zip(exprs).filter(|(read, _)| read.is_none());
        let others: Vec<&Expr> = others.map(|(_, expr)| *expr).collect();
        let (mut bound, mut query) = (Vec::new(), None);
        if !others.is_empty() {
            let cells = bind_cells(ctx, &others, clause, types)?;
            (bound, query) = (cells.cells, cells.query);
        }
        let computes = bound.iter().any(|cell| matches!(cell, BoundCell::Computed(..)));
        let (mut bound, mut queried) = (bound.into_iter(), 0);
        let cells = read.into_iter().map(|read| match read {
            Some(cell) => Ok(cell),
            None => match bound.next() {
                Some(BoundCell::Constant(constant)) => Ok(Cell::Constant(constant)),
                Some(BoundCell::Computed(computed, ty)) => Ok(Cell::Computed(computed, ty)),
                Some(BoundCell::Queried(ty)) => {
                    queried += 1;
                    Ok(Cell::Queried(queried - 1, ty))
                }
                None => Err(Error::internal("a value was not bound")),
            },
        });
        let cells = cells.collect::<Result<_>>()?;
        let decided = types.iter().map(|ty| ty.clone().unwrap_or(SqlType::Text));
        Ok((
            cells,
            Cells {
                parameters: if computes { decided.collect() } else { Vec::new() },
                query: query.map(|query| Arc::new(QueryPlan::new(query))),
                computes,
            },
        ))
    }

    /// Whether they may be evaluated again as long as catalog and settings are the same.
    pub(super) fn is_lasting(&self) -> bool {
        self.query.as_ref().is_none_or(|query| query.is_lasting())
    }

    /// Whether a function is run for them that may write, and sees what was written.
    pub(super) fn may_write(&self) -> bool {
        self.query.as_ref().is_some_and(|query| query.may_write())
    }

    /// Whether no query is run for them.
    pub(super) fn are_cheap(&self) -> bool {
        self.query.is_none()
    }

    /// Begins to evaluate them. Errors: those of reading parameters, and of the query.
    pub(super) async fn run<'a>(&self, ctx: &'a StatementContext) -> Result<CellValues<'a>> {
        let queried = match &self.query {
            None => None,
            Some(query) => Some(first_row(ctx, query).await?),
        };
        Ok(CellValues {
            settings: ctx.format_settings(),
            constants: match self.computes {
                true => Some(Constants::new(ctx, &self.parameters)?),
                false => None,
            },
            one_row: rows_of_nothing(1)?,
            queried,
            ctx,
        })
    }
}

impl CellValues<'_> {
    /// A cell as the column holds it; `None` for DEFAULT. Errors: those of the expression and of the assignment.
    pub(super) fn assigned(&self, cell: &Cell, column: &ColumnDef) -> Result<Option<Value>> {
        Ok(match cell {
            Cell::Constant(constant) => Some(constant.value.clone()),
            _ => match self.stated(cell)? {
                None => None,
                Some(Constant { value, ty }) => Some(assign_value(value, &ty, column, &self.settings)?),
            },
        })
    }

    /// A cell as it stands; `None` for DEFAULT. Errors: those of the expression, 42P02.
    pub(super) fn stated(&self, cell: &Cell) -> Result<Option<Constant>> {
        let of_run = |array, ty: &SqlType| {
            let value = result_value(array, 0, ty)?;
            Ok(Some(Constant {
                value,
                ty: ty.clone(),
            }))
        };
        match (cell, &self.constants, &self.queried) {
            (Cell::Constant(constant), ..) => Ok(Some(constant.clone())),
            (Cell::Parameter(at), ..) => parameter(self.ctx, *at).map(Some),
            (Cell::Default, ..) => Ok(None),
            (Cell::Computed(computed, ty), Some(constants), _) => {
                of_run(&evaluate::values(&computed.bind(constants)?, &self.one_row)?, ty)
            }
            (Cell::Queried(at, ty), _, Some(row)) => of_run(row.column(*at), ty),
            (Cell::Computed(..) | Cell::Queried(..), ..) => Err(Error::internal("a value was not evaluated")),
        }
    }

    /// Computed cells that are alike, as they stand. Errors: those of the expressions, 42P02.
    pub(super) fn alike(&self, cells: &AlikeExpressions) -> Result<ArrayRef> {
        match &self.constants {
            Some(constants) => cells.values(constants),
            None => Err(Error::internal("a value was not evaluated")),
        }
    }

    /// The type that a dynamic column gets from the cell, if that is the first to be written to it: that of a typed parameter or
    /// of a cast, else what the value looks like. `None` for NULL, which decides nothing.
    pub(super) fn dynamic_type(&self, cell: &Cell, expr: &Expr) -> Result<Option<SqlType>> {
        let Some(Constant { value, ty }) = self.stated(cell)? else {
            return Ok(None);
        };
        if value == Value::Null {
            return Ok(None);
        }
        let parameter = |at: usize| match self.ctx.parameters_are_constants {
            true => None,
            false => self.ctx.parameter_types.get(at).cloned(),
        };
        Ok(cell.type_given(declared_type(self.ctx, cell, expr, &parameter), &ty))
    }
}

impl Cell {
    /// Whether it can be told before the statement runs.
    pub(super) fn is_settled(&self) -> bool {
        match self {
            Cell::Constant(_) | Cell::Parameter(_) => true,
            Cell::Computed(computed, _) => computed.is_settled(),
            Cell::Queried(..) | Cell::Default => false,
        }
    }

    /// The type that a dynamic column is expected to get from the cell, which `expr` states, before a run tells whether it is NULL.
    /// `types`: those of the parameters, as far as they are known.
    pub(super) fn expected_type(
        &self,
        ctx: &StatementContext,
        expr: &Expr,
        types: &[Option<SqlType>],
    ) -> Option<SqlType> {
        let parameter = |at: usize| types.get(at).cloned().flatten();
        let ty = match self {
            Cell::Default => return None,
            Cell::Constant(constant) if constant.value == Value::Null => return None,
            Cell::Constant(constant) => constant.ty.clone(),
            Cell::Parameter(at) => parameter(*at).unwrap_or(SqlType::Text),
            Cell::Computed(_, ty) | Cell::Queried(_, ty) => ty.clone(),
        };
        self.type_given(declared_type(ctx, self, expr, &parameter), &ty)
    }

    /// The type that a dynamic column gets from the cell: `declared` by the statement, else what a value of type `ty` looks like.
    fn type_given(&self, declared: Option<SqlType>, ty: &SqlType) -> Option<SqlType> {
        match (declared, ty) {
            (Some(SqlType::Numeric(size)), _) => Some(SqlType::Numeric(size)),
            (Some(ty), _) => dynamic_type_of(&ty),
            (None, SqlType::Int2 | SqlType::Int4) if !matches!(self, Cell::Queried(..)) => {
                Some(SqlType::Int8)
            }
            (None, SqlType::Numeric(_)) => Some(SqlType::Float8),
            (None, ty) => dynamic_type_of(ty),
        }
    }

    /// The same, which `expr` states, for a column: a constant is converted to what that holds, of others the type is checked.
    /// Errors: 42804, those of converting.
    pub(super) fn for_column(
        self,
        expr: &Expr,
        column: &ColumnDef,
        types: &[Option<SqlType>],
        settings: &FormatSettings,
    ) -> Result<Cell> {
        match &self {
            Cell::Constant(Constant { value, ty }) => {
                let assigned = assign_value(value.clone(), ty, column, settings);
                let value = assigned.map_err(|error| match value {
                    Value::Unknown(text) if is_readable(text, &column.ty, settings) => error,
                    Value::Unknown(_) => text_place::at_error(error, expr.span()),
                    _ if matches!(error, Error::DatatypeMismatch { .. }) => {
                        text_place::at_error(error, expr.span())
                    }
                    _ => error,
                })?;
                let ty = column.ty.clone();
                return Ok(Cell::Constant(Constant { value, ty }));
            }
            Cell::Computed(_, ty) | Cell::Queried(_, ty) => {
                text_place::at_span(check_assignable(ty, column), expr.span())?;
            }
            Cell::Parameter(at) => {
                if let Some(Some(ty)) = types.get(*at) {
                    text_place::at_span(check_assignable(ty, column), expr.span())?;
                }
            }
            Cell::Default => {}
        }
        Ok(self)
    }
}

/// The type that the statement itself gives a value. `parameter`: that of `$n`, counted from 0.
fn declared_type(
    ctx: &StatementContext,
    cell: &Cell,
    expr: &Expr,
    parameter: &dyn Fn(usize) -> Option<SqlType>,
) -> Option<SqlType> {
    match (expr, cell) {
        (Expr::Nested(inner), _) => declared_type(ctx, cell, inner, parameter),
        (Expr::Cast { data_type, .. }, _) => named(ctx, data_type),
        (Expr::TypedString(typed), _) => named(ctx, &typed.data_type),
        (_, Cell::Parameter(at)) => {
            let ty = parameter(*at).filter(|ty| *ty != SqlType::Unknown);
            ty.map(type_of_parameter)
        }
        _ => None,
    }
}

/// The type of a column that a parameter of this type is the first to write. Drivers name the smallest that holds the value at hand, as
/// psycopg does, or that of their language's usual number: the next value may be larger.
fn type_of_parameter(ty: SqlType) -> SqlType {
    match ty {
        SqlType::Int2 | SqlType::Int4 => SqlType::Int8,
        SqlType::Float4 => SqlType::Float8,
        SqlType::Array(item) => item.map(|item| type_of_parameter(item.clone())),
        ty => ty,
    }
}

/// The type that a name means, if it is one.
fn named(ctx: &StatementContext, data_type: &DataType) -> Option<SqlType> {
    let found = get_named_type(ctx, data_type).ok().flatten();
    found.map(|found| found.ty)
}

/// A cell that needs no binding.
fn plain_cell(expr: &Expr) -> Result<Option<Cell>> {
    if is_default(expr) {
        return Ok(Some(Cell::Default));
    }
    if let Some(at) = parameter_index(expr) {
        return Ok(Some(Cell::Parameter(at)));
    }
    Ok(literal(expr)?.map(Cell::Constant))
}

/// What the client bound to a parameter. Errors: 42P02.
fn parameter(ctx: &StatementContext, at: usize) -> Result<Constant> {
    let value = ctx.parameters.get(at).cloned();
    let value = value.ok_or_else(|| Error::InvalidStatement {
        state: StatementFault::UndefinedParameter,
        message: format!("there is no parameter ${}", at + 1),
        hint: None,
    })?;
    let declared = ctx.parameter_types.get(at).filter(|ty| **ty != SqlType::Unknown);
    Ok(match declared {
        Some(ty) if !matches!(value, Value::Unknown(_)) => Constant {
            value,
            ty: ty.clone(),
        },
        _ => Constant::natural(value),
    })
}

async fn first_row(ctx: &StatementContext, query: &QueryPlan) -> Result<RecordBatch> {
    let mut rows = query.run(&ctx.reading()).await?;
    while let Some(rows) = rows.try_next().await? {
        let batch = rows.into_batch()?;
        if batch.num_rows() > 0 {
            return Ok(batch);
        }
    }
    Err(Error::internal("the values of a statement gave no row"))
}

/// Whether the expression is the word DEFAULT.
pub(super) fn is_default(expr: &Expr) -> bool {
    matches!(expr, Expr::Identifier(name) if is_default_word(name))
}

/// Whether a name is the word DEFAULT.
pub(super) fn is_default_word(name: &Ident) -> bool {
    name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default")
}

/// The position of `$n` among the parameters.
pub(super) fn parameter_index(expr: &Expr) -> Option<usize> {
    match expr {
        Expr::Nested(inner) => parameter_index(inner),
        Expr::Value(value) => match &value.value {
            Literal::Placeholder(name) => name.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1),
            _ => None,
        },
        _ => None,
    }
}

/// Gives a parameter that stands alone the type of the column it is for, unless it has one. It is no shorter for that, and has all its
/// digits: it may stand elsewhere, too, and what the column cuts off is for each that it is assigned to.
pub(super) fn decide_parameter(expr: &Expr, ty: &SqlType, types: &mut [Option<SqlType>]) {
    if let Some(at) = parameter_index(expr) {
        decide_parameter_at(at, ty, types);
    }
}

/// The same of the parameter at a place, counted from 0.
pub(super) fn decide_parameter_at(at: usize, ty: &SqlType, types: &mut [Option<SqlType>]) {
    let Some(slot) = types.get_mut(at) else { return };
    slot.get_or_insert_with(|| match ty {
        // The fields say what the number in a text counts.
        SqlType::Interval(_) => ty.clone(),
        ty => base(ty),
    });
}
