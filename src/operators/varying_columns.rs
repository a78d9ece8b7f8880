//! `VaryingColumns`: columns that DataFusion takes to be constant and that are not. It believes what is constant in an input of an outer join
//! to be so in the join's rows, also where NULLs stand beside rows without a partner, and what a volatile function gives for constants;
//! and of the groups of several sets it believes that they come in the order of the keys. A sort by such a column, or its groups and
//! partitions, would be left out. Put above outer joins, projections and grouping sets by `builder`.

use std::sync::Arc;

use datafusion_common::{Result as DataFusionResult, Statistics};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_expr::utils::collect_columns;
use datafusion_physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion_physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};

use crate::operators::node_properties::{node_without_expressions, only_input, over_another};

/// Passes rows on.
#[derive(Debug)]
pub(super) struct VaryingColumns {
    input: Arc<dyn ExecutionPlan>,
    /// For each column whether it is one of these.
    varying: Arc<[bool]>,
    properties: Arc<PlanProperties>,
}

impl VaryingColumns {
    /// The rows of the input: for each column whether it is one of these. The input itself if there is none.
    pub(super) fn of(
        input: Arc<dyn ExecutionPlan>,
        varying: impl Iterator<Item = bool>,
    ) -> Arc<dyn ExecutionPlan> {
        let varying: Arc<[bool]> = varying.collect();
        if !varying.contains(&true) {
            return input;
        }
        Arc::new(VaryingColumns {
            properties: properties_of(&input, &varying),
            input,
            varying,
        })
    }
}

/// What is known of the input's rows, but for what is said of these columns.
fn properties_of(input: &Arc<dyn ExecutionPlan>, varying: &[bool]) -> Arc<PlanProperties> {
    let said = input.properties();
    let is_kept = |expr: &Arc<dyn PhysicalExpr>| {
        let columns = collect_columns(expr);
        columns
            .iter()
            .all(|column| varying.get(column.index()) == Some(&false))
    };
    let equal = said.equivalence_properties();
    let mut known = EquivalenceProperties::new(input.schema());
    let constants = equal.constants().into_iter();
    // What is left out is only not made use of.
    let _ = known.add_constants(constants.filter(|constant| is_kept(&constant.expr)));
    let orders = equal.oeq_class().iter();
    let orders = orders.map(|order| {
        let keys = order.iter().take_while(|key| is_kept(&key.expr));
        keys.cloned().collect::<Vec<_>>()
    });
    known.add_orderings(orders.collect::<Vec<_>>());
    Arc::new(said.as_ref().clone().with_eq_properties(known))
}

impl DisplayAs for VaryingColumns {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "VaryingColumns")
    }
}

impl ExecutionPlan for VaryingColumns {
    node_without_expressions!("VaryingColumns");
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }
    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let input = only_input(children)?;
        let made = |input: &Arc<dyn ExecutionPlan>| properties_of(input, &self.varying);
        Ok(Arc::new(VaryingColumns {
            properties: over_another((&self.input, &self.properties), &input, made),
            input,
            varying: Arc::clone(&self.varying),
        }))
    }
    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }
    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> DataFusionResult<Arc<Statistics>> {
        only_input(inputs.to_vec())
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
