//! `SET n = n + 1` without DataFusion: for a few rows, arithmetic over numbers is folded row by row as constants are,
//! with the row's values for its columns. Planning a query for it costs ten times as much as the whole write.
//!
//! Only what folds alike in every row and type is taken; anything else answers `None` and is left to `evaluate`, errors
//! included.

use std::ops::ControlFlow;

use arrow::array::{ArrayRef, RecordBatch};
use sqlparser::ast::{self, Expr, Ident, Value as Literal};

use super::assign::assign_value;
use super::update::{Assigned, Assignment};
use crate::Result;
use crate::catalog::TableDef;
use crate::codec::row::ColumnBuilder;
use crate::exec::StatementContext;
use crate::sql::constant::ConstantContext;
use crate::sql::names;
use crate::table::value_at;
use crate::types::{SqlType, Value};

/// Above so many rows a plan is cheaper.
const ROWS_MAX: usize = 64;

/// Rows under a name that expressions know them by, whole rows of the table; several have rows that belong together.
pub(super) struct Source<'a> {
    pub(super) name: &'a str,
    pub(super) batch: &'a RecordBatch,
}

/// The assigned columns by position; `None` when an assignment is not of this simple form.
pub(super) fn fold_rows(
    ctx: &StatementContext,
    table: &TableDef,
    sources: &[Source<'_>],
    assignments: &[Assignment<'_>],
) -> Result<Option<Vec<(usize, ArrayRef)>>> {
    let rows = sources.first().map_or(0, |source| source.batch.num_rows());
    if rows > ROWS_MAX {
        return Ok(None);
    }
    let settings = ctx.format_settings();
    let mut columns = Vec::with_capacity(assignments.len());
    for assignment in assignments {
        let Assigned::Expression(expr) = assignment.value else {
            return Ok(None);
        };
        let target = &table.columns[assignment.position];
        let Some((expr, read)) = bind(ctx, table, sources, expr, &target.ty) else {
            return Ok(None);
        };
        let mut builder = ColumnBuilder::new(&target.ty, rows);
        for row in 0..rows {
            let mut parameters = ctx.parameters.to_vec();
            for (source, position) in &read {
                let array = sources[*source].batch.column(*position);
                parameters.push(value_at(array, row, &table.columns[*position].ty)?);
            }
            match fold(ctx, &parameters, &expr)? {
                Some(value) => builder.append_value(&assign_value(value, target, &settings)?),
                None => return Ok(None),
            }
        }
        columns.push((assignment.position, builder.finish()));
    }
    Ok(Some(columns))
}

fn fold(ctx: &StatementContext, parameters: &[Value], expr: &Expr) -> Result<Option<Value>> {
    ConstantContext {
        parameters,
        time_zone: ctx.settings.time_zone,
        now_us: ctx.transaction_time_us,
    }
    .fold(expr)
}

/// The expression with its columns as parameters behind the statement's own, and which columns (source, position) they
/// are. `None` when a name is not plainly a column, or a type is one that does not fold as a constant of its value does.
fn bind(
    ctx: &StatementContext,
    table: &TableDef,
    sources: &[Source<'_>],
    expr: &Expr,
    target: &SqlType,
) -> Option<(Expr, Vec<(usize, usize)>)> {
    let is_copy = column_of(table, sources, expr).is_some_and(|(_, at)| table.columns[at].ty == *target);
    let mut bound = expr.clone();
    let mut read = Vec::new();
    let unknown = ast::visit_expressions_mut(&mut bound, |expr| {
        if !matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_)) {
            return ControlFlow::Continue(());
        }
        match column_of(table, sources, expr) {
            Some(column) if is_copy || (folds(&table.columns[column.1].ty) && folds(target)) => {
                read.push(column);
                let number = ctx.parameters.len() + read.len();
                *expr = Expr::Value(Literal::Placeholder(format!("${number}")).into());
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Break(()),
        }
    });
    unknown.is_continue().then_some((bound, read))
}

/// Types whose arithmetic is that of constants of the same value. A smallint's is narrower, a real's is rounded.
fn folds(ty: &SqlType) -> bool {
    matches!(
        ty,
        SqlType::Int4 | SqlType::Int8 | SqlType::Float8 | SqlType::Numeric(_)
    )
}

/// The column that a name means: unqualified only where one source could be meant.
fn column_of(table: &TableDef, sources: &[Source<'_>], expr: &Expr) -> Option<(usize, usize)> {
    let (source, name): (usize, &Ident) = match (expr, sources) {
        (Expr::Identifier(name), [_]) => (0, name),
        (Expr::CompoundIdentifier(parts), sources) => match parts.as_slice() {
            [relation, name] => {
                let relation = names::fold(relation);
                (sources.iter().position(|source| source.name == relation)?, name)
            }
            _ => return None,
        },
        _ => return None,
    };
    Some((source, table.column_index(&names::fold(name))?))
}
