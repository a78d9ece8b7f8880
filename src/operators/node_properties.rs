//! `node_properties`: what our plan nodes say of themselves to DataFusion's: a bounded stream that comes as it is made, of one input or
//! none.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion_common::{DataFusionError, Result as DataFusionResult};
use datafusion_physical_expr::EquivalenceProperties;
use datafusion_physical_expr::equivalence::ProjectionMapping;
use datafusion_physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion_physical_plan::{ExecutionPlan, Partitioning, PlanProperties};

/// Of a node that gives all rows in one part, in this order.
pub(super) fn in_order(order: EquivalenceProperties) -> Arc<PlanProperties> {
    of(order, 1)
}

/// Of a node with this schema that gives the columns of its input first, and its rows in their order.
pub(super) fn beside_input(
    input: &Arc<dyn ExecutionPlan>,
    schema: &SchemaRef,
) -> DataFusionResult<Arc<PlanProperties>> {
    let given: Vec<usize> = (0..input.schema().fields().len()).collect();
    let given = ProjectionMapping::from_indices(&given, &input.schema())?;
    let known = input.properties().equivalence_properties();
    Ok(in_order(known.project(&given, Arc::clone(schema))))
}

/// Of one that gives them in so many parts, in no order that anybody may rely on.
pub(super) fn in_parts(schema: SchemaRef, parts: usize) -> Arc<PlanProperties> {
    of(EquivalenceProperties::new(schema), parts)
}

/// The one input that a node is given anew. Errors: it is given none.
pub(super) fn only_input<T>(inputs: Vec<T>) -> DataFusionResult<T> {
    let input = inputs.into_iter().next();
    input.ok_or_else(|| DataFusionError::Internal("no input".to_string()))
}

/// What a node over `before` says of itself, `known`, once another input stands in its place: the same where that says the same.
pub(super) fn over_another(
    (before, known): (&Arc<dyn ExecutionPlan>, &Arc<PlanProperties>),
    input: &Arc<dyn ExecutionPlan>,
    made: impl FnOnce(&Arc<dyn ExecutionPlan>) -> Arc<PlanProperties>,
) -> Arc<PlanProperties> {
    match Arc::ptr_eq(before.properties(), input.properties()) {
        true => Arc::clone(known),
        false => made(input),
    }
}

fn of(order: EquivalenceProperties, parts: usize) -> Arc<PlanProperties> {
    Arc::new(PlanProperties::new(
        order,
        Partitioning::UnknownPartitioning(parts),
        EmissionType::Incremental,
        Boundedness::Bounded,
    ))
}

/// What an executable node says whose rows are computed of no expressions that DataFusion would look at: its name, its properties (its own,
/// or those of its one input), and that there are none.
macro_rules! node_without_expressions {
    ($name:literal) => {
        crate::operators::node_properties::node_without_expressions!($name, |node| &node.properties);
    };
    ($name:literal, |$node:ident| $properties:expr) => {
        fn name(&self) -> &str {
            $name
        }
        fn properties(&self) -> &std::sync::Arc<datafusion_physical_plan::PlanProperties> {
            let $node = self;
            $properties
        }
        fn apply_expressions(
            &self,
            _: &mut dyn FnMut(
                &std::sync::Arc<dyn datafusion_physical_expr::PhysicalExpr>,
            )
                -> datafusion_common::Result<datafusion_common::tree_node::TreeNodeRecursion>,
        ) -> datafusion_common::Result<datafusion_common::tree_node::TreeNodeRecursion> {
            Ok(datafusion_common::tree_node::TreeNodeRecursion::Continue)
        }
    };
}
pub(super) use node_without_expressions;
