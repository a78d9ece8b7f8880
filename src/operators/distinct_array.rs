//! `array_agg(DISTINCT …)` as an aggregate of DataFusion's: its own, which sorts the values once all are there. DataFusion takes the order
//! of the rows that come in for the one that was asked for, or the other way round, and this accumulator does not hear of it; so it says
//! that the order of rows is nothing to it.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion_common::Result as DataFusionResult;
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::utils::AggregateOrderSensitivity;
use datafusion_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature};
use datafusion_functions_aggregate::array_agg::array_agg_udaf;

/// The aggregate.
pub(super) fn distinct_array() -> Arc<AggregateUDF> {
    let aggregate = array_agg_udaf();
    Arc::new(AggregateUDF::new_from_impl(DistinctArray { aggregate }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct DistinctArray {
    aggregate: Arc<AggregateUDF>,
}

impl AggregateUDFImpl for DistinctArray {
    fn name(&self) -> &str {
        self.aggregate.name()
    }
    fn signature(&self) -> &Signature {
        self.aggregate.signature()
    }
    fn return_type(&self, arguments: &[DataType]) -> DataFusionResult<DataType> {
        self.aggregate.return_type(arguments)
    }
    fn accumulator(&self, args: AccumulatorArgs) -> DataFusionResult<Box<dyn Accumulator>> {
        self.aggregate.accumulator(args)
    }
    fn state_fields(&self, args: StateFieldsArgs) -> DataFusionResult<Vec<FieldRef>> {
        self.aggregate.state_fields(args)
    }
    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}
