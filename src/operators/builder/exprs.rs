//! Expressions of a plan as what computes them. Called by the other files of `builder`.

use std::sync::Arc;

use datafusion_common::Result as DataFusionResult;
use datafusion_common::tree_node::TreeNode;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr_common::physical_expr::is_volatile;
use datafusion_physical_plan::async_func::{AsyncFuncExec, AsyncMapper};
use datafusion_physical_plan::projection::{ProjectionExec, ProjectionExpr};

use super::{Builder, Operator};
use crate::functions::evaluate::calls_that_act;
use crate::operators::row_by_row::RowByRow;
use crate::operators::varying_columns::VaryingColumns;
use crate::tree::{Expr, RowSchema, RowSchemaRef};

impl Builder<'_> {
    /// The expression over rows of this schema.
    pub(super) fn expr(&self, expr: &Expr, schema: &RowSchema) -> DataFusionResult<Arc<dyn PhysicalExpr>> {
        self.exprs.build(expr, schema)
    }
}

/// Named expressions over the rows of a node, as columns of this schema. `may_end`: perhaps only some of the rows are asked for, or something is
/// done between two of them.
pub(super) fn projected(
    named: Vec<(Arc<dyn PhysicalExpr>, String)>,
    mut input: Operator,
    schema: &RowSchemaRef,
    may_end: bool,
) -> DataFusionResult<Operator> {
    let (exprs, names): (Vec<_>, Vec<_>) = named.into_iter().unzip();
    let varying: Vec<bool> = exprs.iter().map(is_volatile).collect();
    let acting: usize = exprs.iter().map(calls_that_act).sum();
    if acting > 1 || acting == 1 && may_end {
        input = RowByRow::of(input);
    }
    let (exprs, input) = waited_for(exprs, input)?;
    let columns = exprs.into_iter().zip(names);
    let columns = columns.map(|(expr, alias)| ProjectionExpr { expr, alias });
    let projection = ProjectionExec::try_new_with_schema_metadata(columns, input, schema.as_arrow())?;
    Ok(VaryingColumns::of(Arc::new(projection), varying.into_iter()))
}

/// Functions that wait are called below the expressions that they stand in, which then read a column. The columns of the input stay the
/// first ones.
pub(super) fn waited_for(
    exprs: Vec<Arc<dyn PhysicalExpr>>,
    input: Operator,
) -> DataFusionResult<(Vec<Arc<dyn PhysicalExpr>>, Operator)> {
    let schema = input.schema();
    let mut calls = AsyncMapper::new(schema.fields().len());
    for expr in &exprs {
        calls.find_references(expr, &schema)?;
    }
    if calls.is_empty() {
        return Ok((exprs, input));
    }
    let exprs = exprs
        .into_iter()
        .map(|expr| Ok(expr.transform_up(|expr| Ok(calls.map_expr(expr)))?.data));
    let exprs = exprs.collect::<DataFusionResult<_>>()?;
    Ok((exprs, Arc::new(AsyncFuncExec::try_new(calls.async_exprs, input)?)))
}
