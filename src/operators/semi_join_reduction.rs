//! Where a hash join streams a table past what it keeps, and the join's columns lead to rows of that table by a key,
//! the scan learns what the join keeps before it begins (`build_keys`). The plan stays; what is read may be less.

use std::sync::Arc;

use datafusion_common::JoinType;
use datafusion_common::Result as DataFusionResult;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::{DynamicFilterPhysicalExpr, lit};
use datafusion_physical_plan::aggregates::AggregateExec;
use datafusion_physical_plan::joins::HashJoinExec;
use datafusion_physical_plan::recursive_query::RecursiveQueryExec;
use datafusion_physical_plan::{
    ExecutionPlan, ExecutionPlanProperties, InputOrderMode, replace_children_if_necessary,
};

use super::build_keys::{JoinKeys, Order};
use super::columns_below::{below, column_of};
use super::order_requirements::is_in_needed_orders;
use super::scan_exec::KeyspanScanExec;

/// The plan, whose scans know what joins above them keep.
pub(super) fn with_narrowed_probes(plan: Arc<dyn ExecutionPlan>) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    let unordered = narrowed(Arc::clone(&plan), Order::Any)?;
    match needs_no_order(&plan, &unordered)? {
        true => Ok(unordered),
        false => narrowed(plan, Order::Kept),
    }
}

/// Whether a scan of the plan learns what a join above it keeps.
pub(super) fn are_in(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let scan = plan.downcast_ref::<KeyspanScanExec>();
    scan.is_some_and(|scan| scan.build_keys().is_some()) || plan.children().into_iter().any(are_in)
}

/// Whether all is well with the narrowed plan although its scans give their rows in another order.
pub(super) fn needs_no_order(
    plan: &Arc<dyn ExecutionPlan>,
    narrowed: &Arc<dyn ExecutionPlan>,
) -> DataFusionResult<bool> {
    Ok(plan.output_ordering() == narrowed.output_ordering()
        && ordered_groups(plan) == ordered_groups(narrowed)
        && is_in_needed_orders(narrowed)?)
}

/// Aggregates that finish their groups as they come.
fn ordered_groups(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let aggregate = plan.downcast_ref::<AggregateExec>();
    let own = aggregate.is_some_and(|aggregate| *aggregate.input_order_mode() != InputOrderMode::Linear);
    usize::from(own) + plan.children().into_iter().map(ordered_groups).sum::<usize>()
}

/// The plan with its joins narrowed, those above first. A scan below several knows what all of them keep.
fn narrowed(plan: Arc<dyn ExecutionPlan>, order: Order) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
    // A recursion runs its plan again and again, and each turn has other keys.
    if plan.is::<RecursiveQueryExec>() || plan.children().is_empty() {
        return Ok(plan);
    }
    let plan = match plan.downcast_ref::<HashJoinExec>() {
        Some(join) => narrowed_join(join, order)?.unwrap_or(plan),
        None => plan,
    };
    let children = plan
        .children()
        .into_iter()
        .cloned()
        .map(|child| narrowed(child, order));
    let children = children.collect::<DataFusionResult<_>>()?;
    replace_children_if_necessary(plan, children)
}

/// The join, whose probe side learns of its keys. `None`: no scan there has a use for them.
fn narrowed_join(join: &HashJoinExec, order: Order) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    let is_narrowing = matches!(
        join.join_type(),
        JoinType::Inner | JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::RightSemi
    );
    if !is_narrowing || join.null_aware {
        return Ok(None);
    }
    let probed: Vec<Arc<dyn PhysicalExpr>> = join.on().iter().map(|(_, right)| Arc::clone(right)).collect();
    let columns: Vec<Option<usize>> = probed.iter().map(column_of).collect();
    let filter = Arc::new(DynamicFilterPhysicalExpr::new(probed, lit(true)));
    let Some(probe) = probing(join.right(), &columns, &filter, order)? else {
        return Ok(None);
    };
    let join = join
        .builder()
        .with_new_children(vec![Arc::clone(join.left()), probe])?
        .build()?;
    Ok(Some(Arc::new(join.with_dynamic_filter_expr(filter)?)))
}

/// The plan, whose rows must have one of the filter's keys in these columns of its output (`None`: a key that is no column), with a
/// scan that learns of it. `None`: there is none that has a use for it.
fn probing(
    plan: &Arc<dyn ExecutionPlan>,
    columns: &[Option<usize>],
    filter: &Arc<DynamicFilterPhysicalExpr>,
    order: Order,
) -> DataFusionResult<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = plan.downcast_ref::<KeyspanScanExec>() {
        let columns = columns.iter().map(|column| Some(scan.positions()[(*column)?]));
        let keys = JoinKeys {
            filter: Arc::clone(filter),
            columns: columns.collect(),
        };
        return Ok(scan
            .narrowed_by(keys, order)
            .map(|scan| Arc::new(scan) as Arc<dyn ExecutionPlan>));
    }
    if plan.fetch().is_some() {
        return Ok(None);
    }
    let mut children: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().cloned().collect();
    let mut is_narrowed = false;
    for (at, columns) in below(plan, columns) {
        if let Some(child) = probing(&children[at], &columns, filter, order)? {
            children[at] = child;
            is_narrowed = true;
        }
    }
    match is_narrowed {
        true => replace_children_if_necessary(Arc::clone(plan), children).map(Some),
        false => Ok(None),
    }
}
