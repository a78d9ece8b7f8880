//! `DefaultPlan`: where the values of a column come from that a write leaves out.

use arrow::array::ArrayRef;
use sqlparser::ast::{Expr, SelectItem};

use super::assign::{assign_value, repeated, result_value};
use super::row_expressions::{RowExpressions, rows_of_nothing};
use crate::catalog::{ColumnDef, ColumnDefault, TableDef};
use crate::codec::row::ColumnBuilder;
use crate::parse;
use crate::query::{Clause, RowQuery, constant, stored_constant};
use crate::system::StatementContext;
use crate::system::sequence_values::next_values;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// A column's default, bound.
#[derive(Debug)]
pub(super) enum DefaultPlan {
    /// The same for every row. What is generated is NULL until it is computed of the whole row.
    Value(Value),
    /// The hidden row id.
    RowId,
    /// The next value of the sequence with this oid.
    Sequence(u32),
    /// An expression for each row: volatile functions differ from row to row.
    Computed(RowExpressions),
}

impl DefaultPlan {
    /// That of a column. Errors: those of the expression, 42804.
    pub(super) fn bind(ctx: &StatementContext, column: &ColumnDef) -> Result<DefaultPlan> {
        Ok(match &column.default {
            None => match domain_default(column) {
                Some(sql) => DefaultPlan::of_expression(ctx, sql, column)?,
                None => DefaultPlan::Value(Value::Null),
            },
            Some(ColumnDefault::Generated(_)) => DefaultPlan::Value(Value::Null),
            Some(ColumnDefault::Constant { value, .. }) => DefaultPlan::Value(value.clone()),
            Some(ColumnDefault::RowId) => DefaultPlan::RowId,
            Some(ColumnDefault::Sequence { oid } | ColumnDefault::Identity { oid, .. }) => {
                DefaultPlan::Sequence(*oid)
            }
            Some(ColumnDefault::Expression { sql, .. }) => DefaultPlan::of_expression(ctx, sql, column)?,
        })
    }

    fn of_expression(ctx: &StatementContext, sql: &str, column: &ColumnDef) -> Result<DefaultPlan> {
        let expr = parse_expression(sql)?;
        Ok(match stored_constant(ctx, &expr)? {
            Some(constant) => {
                let settings = ctx.format_settings();
                DefaultPlan::Value(assign_value(constant.value, &constant.ty, column, &settings)?)
            }
            None => DefaultPlan::Computed(bind_expression(ctx, &expr, Clause::Default)?),
        })
    }

    /// Whether a function is run for it that may write, and sees what was written.
    pub(super) fn may_write(&self) -> bool {
        matches!(self, DefaultPlan::Computed(expression) if expression.may_write())
    }

    /// Whether rows get these one row after the other, not one default after the other: what one gives depends on what another took.
    pub(super) fn go_by_row<'a>(defaults: impl Iterator<Item = &'a DefaultPlan>) -> bool {
        let (mut sequences, mut computed, mut shared) = (Vec::new(), 0, false);
        for default in defaults {
            match default {
                DefaultPlan::Sequence(oid) => {
                    shared |= sequences.contains(oid);
                    sequences.push(*oid);
                }
                DefaultPlan::Computed(expression) => computed += usize::from(expression.act()),
                DefaultPlan::Value(_) | DefaultPlan::RowId => {}
            }
        }
        shared || (computed > 0 && computed + sequences.len() > 1)
    }

    /// `count` values for rows that do not give one.
    pub(super) async fn values(
        &self,
        ctx: &StatementContext,
        table: &TableDef,
        position: usize,
        count: usize,
    ) -> Result<Vec<Value>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        let column = &table.columns[position];
        let settings = ctx.format_settings();
        match self {
            DefaultPlan::Value(value) => Ok(vec![value.clone(); count]),
            DefaultPlan::RowId => {
                let ids = ctx.sequences.take_row_ids(&ctx.txn, table, count).await?;
                Ok(ids.map(Value::Int).collect())
            }
            DefaultPlan::Sequence(oid) => {
                let values = next_values(ctx, *oid, count).await?.into_iter();
                values
                    .map(|value| assign_value(Value::Int(value), &SqlType::Int8, column, &settings))
                    .collect()
            }
            DefaultPlan::Computed(expression) => {
                let evaluated = expression.evaluate(ctx, &rows_of_nothing(count)?).await?;
                let from = &expression.columns()[0].ty;
                let value = |row| result_value(evaluated.batch.column(0), row, from);
                (0..count)
                    .map(|row| assign_value(value(row)?, from, column, &settings))
                    .collect()
            }
        }
    }

    /// The same as an array of the column.
    pub(super) async fn array(
        &self,
        ctx: &StatementContext,
        table: &TableDef,
        position: usize,
        count: usize,
    ) -> Result<ArrayRef> {
        let ty = &table.columns[position].ty;
        if let DefaultPlan::Value(value) = self {
            return repeated(value, ty, count);
        }
        let mut builder = ColumnBuilder::new(ty, count);
        let values = self.values(ctx, table, position, count).await?;
        values.iter().try_for_each(|value| builder.append_value(value))?;
        Ok(builder.finish())
    }
}

/// The default of a column's domain, where the column has none: the innermost domain that has one counts least.
fn domain_default(column: &ColumnDef) -> Option<&str> {
    let domains = column.domain.as_ref()?.domains();
    let mut defaults = domains.into_iter().rev().filter_map(|domain| domain.domain());
    defaults.find_map(|domain| domain.default.as_deref())
}

/// Evaluates what a definition states for a column, once: a default, a bound of a partition. Errors: those of the expression, 42804.
pub(crate) async fn evaluate_stated(
    ctx: &StatementContext,
    expr: &Expr,
    (ty, column): (&SqlType, &str),
    clause: Clause,
) -> Result<Value> {
    let value = match constant(ctx, expr)? {
        Some(constant) => constant.value,
        None => {
            let expression = bind_expression(ctx, expr, clause)?;
            let evaluated = expression.evaluate(ctx, &rows_of_nothing(1)?).await?;
            result_value(evaluated.batch.column(0), 0, &expression.columns()[0].ty)?
        }
    };
    value.assign(ty, column, &ctx.format_settings())
}

/// The type of an expression that is to be a default. Errors: those of binding it.
pub(crate) fn default_type(ctx: &StatementContext, expr: &Expr) -> Result<SqlType> {
    let bound = bind_expression(ctx, expr, Clause::Default)?;
    Ok(bound.columns()[0].ty.clone())
}

/// Reads an expression that the catalog keeps as text. Errors: `Corrupt`.
pub(crate) fn parse_expression(sql: &str) -> Result<Expr> {
    let parsed = parse::parse_expression(sql);
    parsed.map_err(|error| Error::Corrupt {
        what: format!("expression {sql}"),
        reason: error.to_string(),
    })
}

fn bind_expression(ctx: &StatementContext, expr: &Expr, clause: Clause) -> Result<RowExpressions> {
    let query = RowQuery {
        relations: &[],
        items: &[SelectItem::UnnamedExpr(expr.clone())],
        selection: None,
        clause,
    };
    RowExpressions::bind(ctx, query, &mut Vec::new())
}
