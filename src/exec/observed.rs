//! What EXPLAIN ANALYZE counts: `Figures` of one node, `watch` that counts a stream, and `observe`, which puts an
//! `ObservedExec` around every node of a physical plan. Only EXPLAIN ANALYZE uses it: other runs count nothing.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::error::Result as DataFusionResult;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, replace_children_if_necessary,
};
use futures::{Stream, StreamExt};

use super::dependent_join_exec::DependentJoinExec;

/// The counters of a node, over all of its runs.
#[derive(Debug, Default)]
pub struct Figures {
    loops: AtomicU64,
    rows: AtomicU64,
    first_ns: AtomicU64,
    total_ns: AtomicU64,
}

/// What was counted, as EXPLAIN shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seen {
    /// Runs that were asked for rows: of a node that several readers run, one each.
    pub loops: u64,
    /// Rows of all runs.
    pub rows: u64,
    /// From when it was asked to its first answer, over all runs.
    pub first: Duration,
    /// From when it was asked to its answers, over all runs.
    pub total: Duration,
}

impl Figures {
    /// What was counted so far.
    pub fn seen(&self) -> Seen {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Seen {
            loops: read(&self.loops),
            rows: read(&self.rows),
            first: Duration::from_nanos(read(&self.first_ns)),
            total: Duration::from_nanos(read(&self.total_ns)),
        }
    }

    fn add(&self, counter: impl Fn(&Figures) -> &AtomicU64, more: u64) {
        counter(self).fetch_add(more, Ordering::Relaxed);
    }
}

/// A stream whose rows and time are counted: from each time it is asked to its answer, waiting included.
pub struct Watched<S, T> {
    stream: S,
    figures: Arc<Figures>,
    rows_of: fn(&T) -> usize,
    /// When it was asked for what it has not answered yet.
    asked: Option<Instant>,
    has_begun: bool,
    has_answered: bool,
}

/// Counts a stream as one run. `rows_of`: the rows of an item.
pub fn watch<S, T, E>(stream: S, figures: &Arc<Figures>, rows_of: fn(&T) -> usize) -> Watched<S, T>
where
    S: Stream<Item = Result<T, E>>,
{
    Watched {
        stream,
        figures: Arc::clone(figures),
        rows_of,
        asked: None,
        has_begun: false,
        has_answered: false,
    }
}

impl<S, T, E> Stream for Watched<S, T>
where
    S: Stream<Item = Result<T, E>> + Unpin,
{
    type Item = Result<T, E>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<T, E>>> {
        if !self.has_begun {
            self.has_begun = true;
            self.figures.add(|figures| &figures.loops, 1);
        }
        let asked = *self.asked.get_or_insert_with(Instant::now);
        let Poll::Ready(answer) = self.stream.poll_next_unpin(context) else {
            return Poll::Pending;
        };
        self.asked = None;
        let spent = u64::try_from(asked.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.figures.add(|figures| &figures.total_ns, spent);
        if !self.has_answered {
            self.has_answered = true;
            self.figures.add(|figures| &figures.first_ns, spent);
        }
        if let Some(Ok(item)) = &answer {
            let rows = (self.rows_of)(item) as u64;
            self.figures.add(|figures| &figures.rows, rows);
        }
        Poll::Ready(answer)
    }
}

/// A node with its counters.
pub struct ObservedExec {
    inner: Arc<dyn ExecutionPlan>,
    figures: Arc<Figures>,
}

/// The plan with counters at every node, those of subqueries too.
pub fn observe(plan: Arc<dyn ExecutionPlan>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|node| {
        let inner = match node.downcast_ref::<DependentJoinExec>() {
            Some(join) => Arc::new(join.observed()) as Arc<dyn ExecutionPlan>,
            None => node,
        };
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
    fn name(&self) -> &str {
        "ObservedExec"
    }
    fn properties(&self) -> &Arc<PlanProperties> {
        self.inner.properties()
    }
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.inner]
    }
    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }
    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> DataFusionResult<TreeNodeRecursion>,
    ) -> DataFusionResult<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
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
    let own = node_like(node, earlier_node);
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

/// The node, counting what it does beside the rows where the earlier one does.
fn node_like(node: &Arc<dyn ExecutionPlan>, earlier: &Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    use super::table_provider::KeyspanScanExec;
    let scans = (
        node.downcast_ref::<KeyspanScanExec>(),
        earlier.downcast_ref::<KeyspanScanExec>(),
    );
    if let (Some(scan), Some(earlier)) = scans {
        return Arc::new(scan.counted_in(earlier.metrics_read()));
    }
    let joins = (
        node.downcast_ref::<DependentJoinExec>(),
        earlier.downcast_ref::<DependentJoinExec>(),
    );
    match joins {
        (Some(join), Some(earlier)) => Arc::new(join.observed_as(earlier)),
        _ => Arc::clone(node),
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;

    use super::*;

    #[tokio::test]
    async fn rows_and_loops_are_counted_and_time_grows() {
        let figures = Arc::new(Figures::default());
        assert_eq!(figures.seen(), Seen::default());
        for _ in 0..2 {
            let items = stream::iter([Ok::<usize, ()>(3), Ok(4)]);
            let all: Vec<_> = watch(items, &figures, |rows| *rows).collect().await;
            assert_eq!(all, [Ok(3), Ok(4)]);
        }
        let seen = figures.seen();
        assert_eq!((seen.loops, seen.rows), (2, 14));
        assert!(seen.first > Duration::ZERO && seen.total >= seen.first);
    }

    #[test]
    fn a_stream_that_nobody_asks_has_not_run() {
        let figures = Arc::new(Figures::default());
        drop(watch(stream::iter([Ok::<usize, ()>(3)]), &figures, |rows| *rows));
        assert_eq!(figures.seen().loops, 0);
    }
}
