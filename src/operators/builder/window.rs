//! Windows. Called by `builder`.

use std::sync::Arc;

use datafusion_common::{DataFusionError, Result as DataFusionResult};
use datafusion_physical_expr::window::WindowExpr;
use datafusion_physical_plan::windows::{
    BoundedWindowAggExec, WindowAggExec, create_window_expr, get_window_mode,
};
use datafusion_physical_plan::{ExecutionPlanProperties, InputOrderMode};

use super::{Builder, Operator};
use crate::operators::window_functions::{window_frame, window_function};
use crate::operators::window_memory::WindowMemory;
use crate::tree::{Expr, RowSchema, Window, WindowFunction};

impl Builder<'_> {
    /// The rows of the input with what the window functions say of each; they share one order.
    pub(super) fn window(&self, window: &Window, input: Operator) -> DataFusionResult<Operator> {
        let calls = window
            .window_expr
            .iter()
            .map(|expr| self.window_call(expr, window.input.schema(), &input));
        let calls = in_order_of(&input, calls.collect::<DataFusionResult<Vec<_>>>()?)?;
        // What looks at few rows before and behind its own streams; else the rows of a partition are kept, and counted.
        Ok(match calls.iter().all(|call| call.uses_bounded_memory()) {
            true => Arc::new(BoundedWindowAggExec::try_new(
                calls,
                input,
                InputOrderMode::Sorted,
                false,
            )?),
            false => Arc::new(WindowAggExec::try_new(calls, WindowMemory::of(input), false)?),
        })
    }

    fn window_call(
        &self,
        expr: &Expr,
        schema: &RowSchema,
        input: &Operator,
    ) -> DataFusionResult<Arc<dyn WindowExpr>> {
        let name = expr.column_name();
        let call = match expr {
            Expr::Alias(alias) => alias.expr.as_ref(),
            other => other,
        };
        let Expr::WindowFunction(call) = call else {
            return Err(DataFusionError::Internal(
                "a window without its function".to_string(),
            ));
        };
        let WindowFunction { fun, params } = call.as_ref();
        let filter = params.filter.as_ref();
        let mut partition_by = self.exprs.all(&params.partition_by, schema)?;
        // What is the same in all rows parts none, and DataFusion cannot always tell that they are in its order.
        partition_by.retain(|expr| input.equivalence_properties().is_expr_constant(expr).is_none());
        create_window_expr(
            &window_function(fun),
            name,
            &self.exprs.all(&params.args, schema)?,
            &partition_by,
            &self.exprs.order(&params.order_by, schema)?,
            window_frame(&params.window_frame),
            Arc::clone(schema.inner()),
            params.ignores_nulls,
            false,
            filter.map(|filter| self.expr(filter, schema)).transpose()?,
        )
    }
}

/// The calls, or the same read backwards where the rows come in the opposite of their order.
fn in_order_of(
    input: &Operator,
    calls: Vec<Arc<dyn WindowExpr>>,
) -> DataFusionResult<Vec<Arc<dyn WindowExpr>>> {
    let Some(first) = calls.first() else {
        return Ok(calls);
    };
    let is_opposite = matches!(
        get_window_mode(first.partition_by(), first.order_by(), input)?,
        Some((true, InputOrderMode::Sorted))
    );
    let backwards = || calls.iter().map(|call| call.get_reverse_expr()).collect();
    let backwards: Option<Vec<_>> = is_opposite.then(backwards).flatten();
    Ok(backwards.unwrap_or(calls))
}
