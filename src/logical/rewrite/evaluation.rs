//! `evaluated`: what an expression over constants gives, as the constant that it is. What fails is left to fail when it is computed for a
//! row, if it ever is; what would be long is left to be computed there.

use std::sync::{Arc, LazyLock};

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::Schema;
use datafusion_common::Result as DataFusionResult;
use datafusion_common::config::ConfigOptions;
use datafusion_common::metadata::FieldMetadata;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::execution_props::ExecutionProps;
use datafusion_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion_expr::{ColumnarValue, Expr, Volatility};
use datafusion_physical_expr::create_physical_expr;

use crate::functions::folding::folding;
use crate::functions::waits;

/// One row of nothing.
static ROW: LazyLock<RecordBatch> = LazyLock::new(|| {
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)
        .expect("no column is of the wrong type")
});

/// The constant that an expression over constants is. `None`: it is none, or it fails. `options`: where functions find the catalogs.
pub(super) fn evaluated(expr: &Expr, options: &Arc<ConfigOptions>) -> Option<Expr> {
    if !is_computation(expr) || !is_over_constants(expr) {
        return None;
    }
    folding(|| value(expr, options)).ok()
}

fn value(expr: &Expr, options: &Arc<ConfigOptions>) -> DataFusionResult<Expr> {
    let mut props = ExecutionProps::new();
    props.config_options = Some(Arc::clone(options));
    let planning = PhysicalPlanningContext::default();
    let physical = create_physical_expr(expr, &DFSchema::empty(), &props, &planning)?;
    let field = physical.return_field(ROW.schema_ref())?;
    let metadata = Some(field.metadata()).filter(|metadata| !metadata.is_empty());
    let value = match physical.evaluate(&ROW)? {
        ColumnarValue::Scalar(value) => value,
        ColumnarValue::Array(values) => ScalarValue::try_from_array(&values, 0)?,
    };
    Ok(Expr::Literal(value, metadata.map(FieldMetadata::from)))
}

/// Whether it computes something, and the same for every row of a statement.
fn is_computation(expr: &Expr) -> bool {
    match expr {
        Expr::ScalarFunction(call) => {
            call.func.signature().volatility != Volatility::Volatile && !waits(&call.func)
        }
        Expr::BinaryExpr(_)
        | Expr::Not(_)
        | Expr::IsNotNull(_)
        | Expr::IsNull(_)
        | Expr::IsTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsUnknown(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNotFalse(_)
        | Expr::IsNotUnknown(_)
        | Expr::Negative(_)
        | Expr::Between(_)
        | Expr::Like(_)
        | Expr::SimilarTo(_)
        | Expr::Case(_)
        | Expr::Cast(_)
        | Expr::TryCast(_)
        | Expr::InList(_) => true,
        _ => false,
    }
}

fn is_over_constants(expr: &Expr) -> bool {
    let mut is_constant = true;
    let walked = datafusion_common::tree_node::TreeNode::apply_children(expr, |child| {
        is_constant &= matches!(child, Expr::Literal(..));
        Ok(if is_constant {
            TreeNodeRecursion::Continue
        } else {
            TreeNodeRecursion::Stop
        })
    });
    walked.is_ok() && is_constant
}
