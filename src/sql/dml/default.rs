//! Values of columns that a write leaves out.

use std::sync::Arc;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema;
use sqlparser::ast::{Expr, SelectItem};

use super::assign::{assign_value, result_value};
use super::evaluate::{Rows, evaluate, parse_expression, run, select_of};
use crate::catalog::{ColumnDefault, TableDef};
use crate::exec::{RowSite, StatementContext};
use crate::query::{Constant, constant};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// `count` values of the column at `position`, for rows that do not give one.
pub(super) async fn default_values(
    ctx: &StatementContext,
    table: &TableDef,
    position: usize,
    count: usize,
) -> Result<Vec<Value>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    let column = &table.columns[position];
    match &column.default {
        // What is generated is computed of the whole row, once that is known.
        None | Some(ColumnDefault::Generated(_)) => Ok(vec![Value::Null; count]),
        Some(ColumnDefault::Constant { value, .. }) => Ok(vec![value.clone(); count]),
        Some(ColumnDefault::RowId) => Ok(ctx
            .sequences
            .take_row_ids(&ctx.txn, table, count)
            .await?
            .map(Value::Int)
            .collect()),
        Some(ColumnDefault::Sequence | ColumnDefault::Identity { .. }) => {
            let values = ctx
                .sequences
                .take_values(&ctx.txn, table, position, count)
                .await?;
            let settings = ctx.format_settings();
            values
                .map(|value| assign_value(Value::Int(value), &SqlType::Int8, column, &settings))
                .collect()
        }
        Some(ColumnDefault::Expression { sql }) => {
            let expr = parse_expression(sql)?;
            if let Some(Constant { value, ty, .. }) = constant(ctx, &expr)? {
                let value = assign_value(value, &ty, column, &ctx.format_settings())?;
                return Ok(vec![value; count]);
            }
            evaluate_rows(ctx, &expr, table, position, count).await
        }
    }
}

/// Evaluates a default once. Errors: those of the expression, 42804.
pub(crate) async fn evaluate_default(
    ctx: &StatementContext,
    expr: &Expr,
    ty: &SqlType,
    column: &str,
) -> Result<Value> {
    let value = match constant(ctx, expr)? {
        Some(constant) => constant.value,
        None => {
            let (columns, batch) = run(ctx, &select_of(vec![SelectItem::UnnamedExpr(expr.clone())])?).await?;
            result_value(batch.column(0), 0, &columns[0].ty)?
        }
    };
    value.assign(ty, column, &ctx.format_settings())
}

/// Evaluates an expression for each of `count` rows: volatile functions differ from row to row.
async fn evaluate_rows(
    ctx: &StatementContext,
    expr: &Expr,
    table: &TableDef,
    position: usize,
    count: usize,
) -> Result<Vec<Value>> {
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)
        .map_err(Error::arrow)?;
    let rows = vec![Rows {
        name: "row".to_string(),
        batch,
    }];
    let evaluated = evaluate(
        ctx,
        RowSite::Default(position),
        rows,
        vec![SelectItem::UnnamedExpr(expr.clone())],
        None,
    )
    .await?;
    let settings = ctx.format_settings();
    let from = &evaluated.columns[0].ty;
    (0..count)
        .map(|row| {
            let value = result_value(evaluated.batch.column(0), row, from)?;
            assign_value(value, from, &table.columns[position], &settings)
        })
        .collect()
}
