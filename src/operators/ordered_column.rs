//! Which column a sort key is: stored keys are in PostgreSQL's order, which comparisons give to floats.

use std::sync::Arc;

use datafusion_physical_expr::expressions::Column;
use datafusion_physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use crate::functions::compare::FLOAT_ORDER_NAME;

/// The column that a sort key is; `None` for any other expression.
pub(crate) fn ordered_column(key: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    if let Some(call) = key.downcast_ref::<ScalarFunctionExpr>()
        && call.name() == FLOAT_ORDER_NAME
    {
        return ordered_column(call.args().first()?);
    }
    key.downcast_ref::<Column>().map(Column::index)
}
