//! `node_properties`: what our plan nodes say of themselves to DataFusion's: a bounded stream that comes as it is made.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_physical_expr::EquivalenceProperties;
use datafusion_physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion_physical_plan::{Partitioning, PlanProperties};

/// Of a node that gives all rows in one part, in this order.
pub(super) fn in_order(order: EquivalenceProperties) -> Arc<PlanProperties> {
    let one = Partitioning::UnknownPartitioning(1);
    Arc::new(PlanProperties::new(
        order,
        one,
        EmissionType::Incremental,
        Boundedness::Bounded,
    ))
}

/// Of one that gives them in so many parts, in no order that anybody may rely on.
pub(super) fn in_parts(schema: SchemaRef, parts: usize) -> Arc<PlanProperties> {
    let one = in_order(EquivalenceProperties::new(schema)).as_ref().clone();
    Arc::new(one.with_partitioning(Partitioning::UnknownPartitioning(parts)))
}
