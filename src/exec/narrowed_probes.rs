//! `NarrowedProbes`: where a hash join streams a table past what it keeps, and the join's columns lead to rows of that table by a key,
//! the scan learns what the join keeps before it begins (`build_keys`). The plan stays; what is read may be less.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::{JoinSide, JoinType};
use datafusion::error::Result as DataFusionResult;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{Column, DynamicFilterPhysicalExpr, lit};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::sanity_checker::SanityCheckPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::{
    ExecutionPlan, ExecutionPlanProperties, InputOrderMode, replace_children_if_necessary,
};

use super::build_keys::BuildKeys;
use super::pauses::is_pause;
use super::scan_exec::KeyspanScanExec;

/// Tells scans what joins above them keep.
#[derive(Debug)]
pub(super) struct NarrowedProbes;

impl PhysicalOptimizerRule for NarrowedProbes {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> DataFusionResult<Arc<dyn ExecutionPlan>> {
        let unordered = narrowed(Arc::clone(&plan), Order::Any)?;
        match needs_no_order(&plan, &unordered, config) {
            true => Ok(unordered),
            false => narrowed(plan, Order::Kept),
        }
    }

    fn name(&self) -> &str {
        "narrowed_probes"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// In which order a narrowed scan may give its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    /// In that of whatever key is read.
    Any,
    /// In that in which it gave them before.
    Kept,
}

/// Whether all is well with the narrowed plan although its scans give their rows in another order.
fn needs_no_order(
    plan: &Arc<dyn ExecutionPlan>,
    narrowed: &Arc<dyn ExecutionPlan>,
    config: &ConfigOptions,
) -> bool {
    plan.output_ordering() == narrowed.output_ordering()
        && ordered_groups(plan) == ordered_groups(narrowed)
        && SanityCheckPlan::new()
            .optimize(Arc::clone(narrowed), config)
            .is_ok()
}

/// Aggregates that finish their groups as they come.
fn ordered_groups(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let aggregate = plan.downcast_ref::<AggregateExec>();
    let own = aggregate.is_some_and(|aggregate| *aggregate.input_order_mode() != InputOrderMode::Linear);
    usize::from(own) + plan.children().into_iter().map(ordered_groups).sum::<usize>()
}

/// The plan with its joins narrowed, those above first: of a scan below two the nearer one decides.
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
    let columns = probed
        .iter()
        .map(|key| Some(key.downcast_ref::<Column>()?.index()));
    let filter = Arc::new(DynamicFilterPhysicalExpr::new(probed.clone(), lit(true)));
    let Some(probe) = probing(join.right(), &columns.collect::<Vec<_>>(), &filter, order)? else {
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
        let keys = BuildKeys::new(Arc::clone(filter), columns.collect());
        return Ok(scan
            .narrowed_by(keys, order)
            .map(|scan| Arc::new(scan) as Arc<dyn ExecutionPlan>));
    }
    if plan.fetch().is_some() {
        return Ok(None);
    }
    let Some((at, below)) = below(plan, columns) else {
        return Ok(None);
    };
    let mut children: Vec<Arc<dyn ExecutionPlan>> = plan.children().into_iter().cloned().collect();
    let Some(child) = probing(&children[at], &below, filter, order)? else {
        return Ok(None);
    };
    children[at] = child;
    replace_children_if_necessary(Arc::clone(plan), children).map(Some)
}

/// Which child these columns come from, and as which of its columns. `None`: a row that goes would change others.
pub(super) fn below(
    plan: &Arc<dyn ExecutionPlan>,
    columns: &[Option<usize>],
) -> Option<(usize, Vec<Option<usize>>)> {
    let mapped = |of: &dyn Fn(usize) -> Option<usize>| -> Vec<Option<usize>> {
        columns.iter().map(|column| of((*column)?)).collect()
    };
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let projection = filter.projection().as_ref();
        return Some((
            0,
            mapped(&|at| projection.map_or(Some(at), |kept| kept.get(at).copied())),
        ));
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let expr = |at: usize| {
            projection.expr()[at]
                .expr
                .downcast_ref::<Column>()
                .map(Column::index)
        };
        return Some((0, mapped(&expr)));
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        let groups = aggregate.group_expr();
        let group = |at: usize| {
            groups
                .expr()
                .get(at)?
                .0
                .downcast_ref::<Column>()
                .map(Column::index)
        };
        return groups.is_single().then(|| (0, mapped(&group)));
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return below_join(join, columns);
    }
    let passes_on = is_pause(plan.as_ref()) || plan.is::<CoalescePartitionsExec>();
    passes_on.then(|| (0, columns.to_vec()))
}

/// The same for an inner join: the side that all of them come from.
fn below_join(join: &HashJoinExec, columns: &[Option<usize>]) -> Option<(usize, Vec<Option<usize>>)> {
    if *join.join_type() != JoinType::Inner {
        return None;
    }
    let left = join.left().schema().fields().len();
    let (mut sides, mut below) = (Vec::new(), Vec::new());
    for column in columns {
        let column = match (&join.projection, column) {
            (Some(projection), Some(at)) => projection.get(*at).copied(),
            (None, at) => *at,
            (_, None) => None,
        };
        let side = column.map(|at| {
            if at < left {
                (JoinSide::Left, at)
            } else {
                (JoinSide::Right, at - left)
            }
        });
        sides.extend(side.map(|(side, _)| side));
        below.push(side.map(|(_, at)| at));
    }
    let first = *sides.first()?;
    let child = usize::from(first == JoinSide::Right);
    sides.iter().all(|side| *side == first).then_some((child, below))
}
