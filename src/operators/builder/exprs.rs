//! Expressions of a plan as what computes them. Called by the other files of `builder`.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion_common::Result as DataFusionResult;
use datafusion_common::tree_node::TreeNode;
use datafusion_common::{DFSchema, DFSchemaRef};
use datafusion_expr::Expr;
use datafusion_expr::expr::{Sort, physical_name};
use datafusion_physical_expr::{
    PhysicalExpr, PhysicalSortExpr, create_physical_expr, create_physical_sort_exprs,
};
use datafusion_physical_plan::async_func::{AsyncFuncExec, AsyncMapper};
use datafusion_physical_plan::projection::{ProjectionExec, ProjectionExpr};

use super::{Builder, Operator};

impl Builder<'_> {
    /// The expression over rows of this schema.
    pub(super) fn expr(&self, expr: &Expr, schema: &DFSchema) -> DataFusionResult<Arc<dyn PhysicalExpr>> {
        create_physical_expr(expr, schema, self.planning.props(), &self.context)
    }

    /// Several, in their order.
    pub(super) fn exprs(
        &self,
        exprs: &[Expr],
        schema: &DFSchema,
    ) -> DataFusionResult<Vec<Arc<dyn PhysicalExpr>>> {
        exprs.iter().map(|expr| self.expr(expr, schema)).collect()
    }

    /// Sort keys.
    pub(super) fn sort_exprs(
        &self,
        keys: &[Sort],
        schema: &DFSchema,
    ) -> DataFusionResult<Vec<PhysicalSortExpr>> {
        create_physical_sort_exprs(keys, schema, self.planning.props(), &self.context)
    }
}

/// What an expression over `input` is called in the rows that it is a column of.
pub(super) fn field_name(expr: &Expr, below: &DFSchema, input: &Schema) -> DataFusionResult<String> {
    if let Expr::Column(column) = expr
        && let Ok(at) = below.index_of_column(column)
    {
        return Ok(input.field(at).name().clone());
    }
    physical_name(expr)
}

/// Named expressions over the rows of a node, as columns of this schema.
pub(super) fn projected(
    named: Vec<(Arc<dyn PhysicalExpr>, String)>,
    input: Operator,
    schema: &DFSchemaRef,
) -> DataFusionResult<Operator> {
    let (exprs, names): (Vec<_>, Vec<_>) = named.into_iter().unzip();
    let (exprs, input) = waited_for(exprs, input)?;
    let columns = exprs.into_iter().zip(names);
    let columns = columns.map(|(expr, alias)| ProjectionExpr { expr, alias });
    Ok(Arc::new(ProjectionExec::try_new_with_schema_metadata(
        columns,
        input,
        schema.as_arrow(),
    )?))
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
