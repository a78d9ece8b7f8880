//! Which columns of a node's output are columns of its inputs. Asked by `semi_join_reduction`, `join_sides` and `builder`.

use std::sync::Arc;

use datafusion_common::JoinType;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::aggregates::AggregateExec;
use datafusion_physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion_physical_plan::filter::FilterExec;
use datafusion_physical_plan::joins::HashJoinExec;
use datafusion_physical_plan::projection::ProjectionExec;

use super::append::Append;
use super::pauses::is_pause;

/// Columns of a child's output; `None`: it has none that is the same.
pub(super) type ChildColumns = (usize, Vec<Option<usize>>);

/// Which children these columns come from, and as which of their columns. None: a row that goes would change others.
pub(super) fn below(plan: &Arc<dyn ExecutionPlan>, columns: &[Option<usize>]) -> Vec<ChildColumns> {
    let only = |of: &dyn Fn(usize) -> Option<usize>| -> Vec<ChildColumns> {
        vec![(0, columns.iter().map(|column| of((*column)?)).collect())]
    };
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let projection = filter.projection().as_ref();
        return only(&|at| projection.map_or(Some(at), |kept| kept.get(at).copied()));
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        return only(&|at| column_of(&projection.expr()[at].expr));
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        let groups = aggregate.group_expr();
        return match groups.is_single() {
            true => only(&|at| column_of(&groups.expr().get(at)?.0)),
            false => Vec::new(),
        };
    }
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return below_join(join, columns);
    }
    if plan.is::<Append>() {
        return (0..plan.children().len())
            .map(|child| (child, columns.to_vec()))
            .collect();
    }
    match is_pause(plan.as_ref()) || plan.is::<CoalescePartitionsExec>() {
        true => only(&Some),
        false => Vec::new(),
    }
}

/// The same for an inner join: both sides, for a column that equals one of the other side is as good as that.
fn below_join(join: &HashJoinExec, columns: &[Option<usize>]) -> Vec<ChildColumns> {
    if *join.join_type() != JoinType::Inner {
        return Vec::new();
    }
    let left_columns = join.left().schema().fields().len();
    let equal: Vec<(Option<usize>, Option<usize>)> = join
        .on()
        .iter()
        .map(|(left, right)| (column_of(left), column_of(right)))
        .collect();
    let on_left = |at: usize| match at.checked_sub(left_columns) {
        None => Some(at),
        at => equal.iter().find(|(_, right)| *right == at)?.0,
    };
    let on_right = |at: usize| match at.checked_sub(left_columns) {
        None => equal.iter().find(|(left, _)| *left == Some(at))?.1,
        at => at,
    };
    let joined = |at: usize| match &join.projection {
        Some(projection) => projection.get(at).copied(),
        None => Some(at),
    };
    let side = |on_side: &dyn Fn(usize) -> Option<usize>| -> Vec<Option<usize>> {
        columns
            .iter()
            .map(|column| on_side(joined((*column)?)?))
            .collect()
    };
    vec![(0, side(&on_left)), (1, side(&on_right))]
}

/// The column that an expression is.
pub(super) fn column_of(expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    expr.downcast_ref::<Column>().map(Column::index)
}
