//! `UnorderedExpr`: the value of an expression, of which nobody is to know in what order it comes, nor that it is one. DataFusion's groups
//! compare the values of keys that come in order, and have no order of those that we keep in several parts: arrays, rows.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef, Schema};
use arrow::record_batch::RecordBatch;
use datafusion_common::Result as DataFusionResult;
use datafusion_expr::ColumnarValue;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr_common::physical_expr::is_volatile;

use super::physical_expr::Physical;

/// See the module.
#[derive(Debug)]
pub(super) struct UnorderedExpr {
    value: Physical,
}

impl UnorderedExpr {
    /// Of a value.
    pub(super) fn of(value: Physical) -> Physical {
        Arc::new(UnorderedExpr { value })
    }
}

// Derived, they would move the value out.
impl PartialEq for UnorderedExpr {
    fn eq(&self, other: &UnorderedExpr) -> bool {
        self.value.eq(&other.value)
    }
}

impl Eq for UnorderedExpr {}

impl Hash for UnorderedExpr {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value.hash(state);
    }
}

impl PhysicalExpr for UnorderedExpr {
    fn return_field(&self, schema: &Schema) -> DataFusionResult<FieldRef> {
        self.value.return_field(schema)
    }
    fn data_type(&self, schema: &Schema) -> DataFusionResult<DataType> {
        self.value.data_type(schema)
    }
    fn nullable(&self, schema: &Schema) -> DataFusionResult<bool> {
        self.value.nullable(schema)
    }
    fn evaluate(&self, batch: &RecordBatch) -> DataFusionResult<ColumnarValue> {
        self.value.evaluate(batch)
    }
    /// None: what only has constants below it is said to be one.
    fn children(&self) -> Vec<&Physical> {
        Vec::new()
    }
    fn is_volatile_node(&self) -> bool {
        is_volatile(&self.value)
    }
    fn with_new_children(self: Arc<Self>, _: Vec<Physical>) -> DataFusionResult<Physical> {
        Ok(self)
    }
    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt_sql(f)
    }
}

impl fmt::Display for UnorderedExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.value, f)
    }
}
