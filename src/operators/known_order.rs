//! What is known of the order of a scan's rows. Asked by `scan_exec`.

use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::SchemaRef;
use datafusion_physical_expr::expressions::Column as PhysicalColumn;
use datafusion_physical_expr::{
    ConstExpr, EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr,
};
use datafusion_physical_plan::PlanProperties;

use crate::operators::order_requirements::ordered_column;
use crate::plan::{AccessPath, OrderColumn};

/// The order in which rows come: along the key, as far as its columns are in the output. Pinned columns are constant.
pub(super) fn key_order(path: &AccessPath, positions: &[usize], schema: &SchemaRef) -> EquivalenceProperties {
    let mut properties = EquivalenceProperties::new(Arc::clone(schema));
    let column_at = |position: usize| -> Option<Arc<dyn PhysicalExpr>> {
        let at = positions.iter().position(|candidate| *candidate == position)?;
        Some(Arc::new(PhysicalColumn::new(schema.field(at).name(), at)))
    };
    for position in &path.pinned {
        if let Some(column) = column_at(*position) {
            // Adding a constant to fresh properties cannot contradict anything.
            let _ = properties.add_constants([ConstExpr::from(column)]);
        }
    }
    let sorted = path.sort_columns();
    let order = sorted.iter().map_while(|key| {
        Some(PhysicalSortExpr {
            expr: column_at(key.column)?,
            options: SortOptions {
                descending: key.descending != path.reverse,
                nulls_first: key.nulls_first != path.reverse,
            },
        })
    });
    let order: Vec<PhysicalSortExpr> = order.collect();
    if let Some(ordering) = LexOrdering::new(order) {
        properties.add_ordering(ordering);
    }
    properties
}

/// The same of rows that come in this order, too.
pub(super) fn with_order(properties: &PlanProperties, order: &[PhysicalSortExpr]) -> Arc<PlanProperties> {
    let mut known = properties.equivalence_properties().clone();
    known.add_ordering(order.iter().cloned());
    Arc::new(properties.clone().with_eq_properties(known))
}

/// Sort keys as columns of the table, over its columns at these positions. `None`: one is no plain column.
pub(super) fn order_columns(order: &[PhysicalSortExpr], positions: &[usize]) -> Option<Vec<OrderColumn>> {
    let columns = order.iter().map(|key| {
        Some(OrderColumn {
            column: *positions.get(ordered_column(&key.expr)?)?,
            descending: key.options.descending,
            nulls_first: key.options.nulls_first,
        })
    });
    columns.collect()
}
