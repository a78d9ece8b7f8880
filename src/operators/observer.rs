//! `ObservedExec`, which counts what a node of a physical plan answers, and `observe`, which puts one around every node.
//! Only EXPLAIN ANALYZE uses it. A node that has more to count than its rows is told by [`CountMore`].

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use datafusion_common::Result as DataFusionResult;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::stream::RecordBatchStreamAdapter;
use datafusion_physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, replace_children_if_necessary};

use crate::operators::node_properties::node_without_expressions;
use crate::scan::figures::{Figures, watch};

/// The state by which a node learns that what it does beside its rows is to be counted (`with_new_state`): what a scan
/// reads, how subqueries run.
#[derive(Debug)]
pub struct CountMore {
    /// Count it with that of this node of an earlier run, which is of the same kind.
    pub earlier: Option<Arc<dyn ExecutionPlan>>,
}

impl CountMore {
    /// The node of the earlier run, if there was one; `None` when the state is another.
    pub(super) fn earlier<N: ExecutionPlan>(state: &dyn Any) -> Option<Option<&N>> {
        let CountMore { earlier } = state.downcast_ref()?;
        Some(earlier.as_ref().and_then(|earlier| earlier.downcast_ref()))
    }
}

/// The node, counting also what it does beside its rows.
fn counting(node: Arc<dyn ExecutionPlan>, earlier: Option<Arc<dyn ExecutionPlan>>) -> Arc<dyn ExecutionPlan> {
    let counting = node.with_new_state(Arc::new(CountMore { earlier }));
    counting.unwrap_or(node)
}

/// A node with its counters.
pub struct ObservedExec {
    inner: Arc<dyn ExecutionPlan>,
    figures: Arc<Figures>,
}

/// The plan with counters at every node, those of subqueries too.
pub fn observe(plan: Arc<dyn ExecutionPlan>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let inner = counting(node, None);
        Ok(Transformed::yes(Arc::new(ObservedExec {
            inner,
            figures: Arc::default(),
        }) as Arc<dyn ExecutionPlan>))
    })
    .data()
}

/// The node itself, and its counters if it has some.
pub fn unwrap(plan: &Arc<dyn ExecutionPlan>) -> (&Arc<dyn ExecutionPlan>, Option<&Arc<Figures>>) {
    match plan.downcast_ref::<ObservedExec>() {
        Some(observed) => (&observed.inner, Some(&observed.figures)),
        None => (plan, None),
    }
}

impl fmt::Debug for ObservedExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObservedExec").finish_non_exhaustive()
    }
}

impl DisplayAs for ObservedExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        self.inner.fmt_as(format, f)
    }
}

impl ExecutionPlan for ObservedExec {
    node_without_expressions!("ObservedExec", |node| node.inner.properties());
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.inner]
    }
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }
    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        // A recursion runs each turn in a copy of its plan: they all count together.
        let inner = children
            .into_iter()
            .next()
            .unwrap_or_else(|| Arc::clone(&self.inner));
        Ok(Arc::new(ObservedExec {
            inner,
            figures: Arc::clone(&self.figures),
        }))
    }
    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> DataFusionResult<SendableRecordBatchStream> {
        let batches = self.inner.execute(partition, context)?;
        let schema = batches.schema();
        let watched = watch(batches, &self.figures, |batch| batch.num_rows());
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, watched)))
    }
}

/// Counts a further run of a plan in the counters of an earlier one of the same shape; with its own where they differ.
pub(super) fn observe_again(
    plan: Arc<dyn ExecutionPlan>,
    earlier: &Arc<dyn ExecutionPlan>,
) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    let observed = observe(plan)?;
    match same_shape(&observed, earlier) {
        true => adopt(&observed, earlier),
        false => Ok(observed),
    }
}

fn same_shape(left: &Arc<dyn ExecutionPlan>, right: &Arc<dyn ExecutionPlan>) -> bool {
    let (left_children, right_children) = (left.children(), right.children());
    left.name() == right.name()
        && left_children.len() == right_children.len()
        && left_children
            .into_iter()
            .zip(right_children)
            .all(|(left, right)| same_shape(left, right))
}

fn adopt(
    plan: &Arc<dyn ExecutionPlan>,
    earlier: &Arc<dyn ExecutionPlan>,
) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    let (node, earlier_node) = (unwrap(plan).0, unwrap(earlier).0);
    let children = node.children().into_iter().zip(earlier_node.children());
    let children: Vec<Arc<dyn ExecutionPlan>> = children
        .map(|(child, earlier)| adopt(child, earlier))
        .collect::<DataFusionResult<_>>()?;
    let own = counting(Arc::clone(node), Some(Arc::clone(earlier_node)));
    let inner = match children.is_empty() {
        true => own,
        false => replace_children_if_necessary(own, children)?,
    };
    Ok(match unwrap(earlier).1 {
        Some(figures) => Arc::new(ObservedExec {
            inner,
            figures: Arc::clone(figures),
        }),
        None => inner,
    })
}
