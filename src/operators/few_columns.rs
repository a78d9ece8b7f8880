//! `FewColumns`: an expression with the columns that it reads.

use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use datafusion_common::Result as DataFusionResult;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::utils::collect_columns;

type Physical = Arc<dyn PhysicalExpr>;

/// An expression over no other columns than those that it reads: of rows that are left out nothing else need be copied.
#[derive(Debug)]
pub(super) struct FewColumns {
    /// Which columns of the rows.
    pub(super) columns: Vec<usize>,
    /// Over these.
    pub(super) expr: Physical,
}

impl FewColumns {
    /// Of an expression over more. Errors: none.
    pub(super) fn of(expr: &Physical) -> DataFusionResult<FewColumns> {
        let mut columns: Vec<usize> = collect_columns(expr).iter().map(Column::index).collect();
        columns.sort_unstable();
        columns.dedup();
        let moved = Arc::clone(expr).transform(|expr| {
            let moved = expr.downcast_ref::<Column>().map(|column| {
                let at = columns.partition_point(|at| *at < column.index());
                Arc::new(Column::new(column.name(), at)) as Physical
            });
            Ok(moved.map_or_else(|| Transformed::no(expr), Transformed::yes))
        });
        let expr = moved?.data;
        Ok(FewColumns { columns, expr })
    }

    /// Its values for the chosen rows.
    pub(super) fn evaluate(
        &self,
        batch: &RecordBatch,
        selection: &BooleanArray,
    ) -> DataFusionResult<ColumnarValue> {
        self.expr
            .evaluate_selection(&batch.project(&self.columns)?, selection)
    }
}
