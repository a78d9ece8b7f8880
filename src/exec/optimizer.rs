//! The rules that plans are optimized by: DataFusion's, without what would change an answer. Called by `datafusion_state` (and by
//! `written_filters`, so that filters are judged where they go).
//!
//! 1. A condition without columns stays above what gives a row of nothing: `SELECT count(*) … HAVING false` has no row,
//!    and the count over no rows has one. DataFusion pushes it below.
//! 2. A volatile condition (`random() < 0.5`) stays above groups, windows and DISTINCT; without columns, above joins too:
//!    each row of the result asks it, as PostgreSQL has it, not each row below.
//! 3. Filters move in the logical plan only, where a column has its relation's name. The physical rule finds columns by
//!    their bare names, and of two tables with one name it takes the first.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{Aggregate, Expr, Filter, LogicalPlan};
use datafusion::optimizer::eliminate_outer_join::EliminateOuterJoin;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::optimizer::{Optimizer, OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::join_selection::JoinSelection;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;

use super::counted_rows::CountWindows;
use super::datafusion_error::to_datafusion;
use super::far_limits::FarLimits;
use super::folding::folding;
use super::narrowed_probes::NarrowedProbes;
use super::null_rejection::RejectNulls;
use super::parallel::ParallelReaders;
use super::pauses::PauseAboveJoins;
use super::query_threads::check_left;
use super::turned_joins::TurnedJoins;

/// The rules for logical plans, in their order.
pub(super) fn logical_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let rules = Optimizer::new().rules.into_iter();
    rules
        .flat_map(|rule| {
            let rule: Arc<dyn OptimizerRule + Send + Sync> = match rule.name() {
                name if name == PushDownFilter::new().name() => Arc::new(PushDownRowFilter::default()),
                name if name == EliminateOuterJoin::new().name() => Arc::new(RejectNulls::default()),
                name if name == SimplifyExpressions::new().name() => Arc::new(ShortConstants(rule)),
                _ => rule,
            };
            [rule, Arc::new(EndWhenLeft)]
        })
        .collect()
}

/// The rules for physical plans, in their order.
pub(super) fn physical_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules = PhysicalOptimizer::new().rules;
    rules.retain(|rule| !rule.name().starts_with(PHYSICAL_PUSHDOWN_NAME));
    let selected = rules
        .iter()
        .position(|rule| rule.name() == JoinSelection::new().name());
    rules.insert(selected.map_or(0, |at| at + 1), Arc::new(TurnedJoins));
    rules.push(Arc::new(FarLimits));
    rules.push(Arc::new(ParallelReaders));
    rules.push(Arc::new(NarrowedProbes));
    rules.push(Arc::new(CountWindows));
    rules.push(Arc::new(PauseAboveJoins));
    rules
}

/// DataFusion's rule that folds constants, kept from folding calls whose results are long: `is_folding` tells them.
#[derive(Debug)]
struct ShortConstants(Arc<dyn OptimizerRule + Send + Sync>);

impl OptimizerRule for ShortConstants {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> DataFusionResult<Transformed<LogicalPlan>> {
        folding(|| self.0.rewrite(plan, config))
    }
}

/// Changes nothing, but ends the planning of a statement that nobody waits for any more. Stands behind every rule.
#[derive(Debug)]
struct EndWhenLeft;

impl OptimizerRule for EndWhenLeft {
    fn name(&self) -> &str {
        "end_when_left"
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _: &dyn OptimizerConfig,
    ) -> DataFusionResult<Transformed<LogicalPlan>> {
        check_left().map_err(to_datafusion)?;
        Ok(Transformed::no(plan))
    }
}

/// How the names of both phases of `FilterPushdown` begin.
const PHYSICAL_PUSHDOWN_NAME: &str = "FilterPushdown";

/// DataFusion's `PushDownFilter`, kept from moving what must stay where it is.
#[derive(Debug, Default)]
pub(super) struct PushDownRowFilter {
    inner: PushDownFilter,
}

impl OptimizerRule for PushDownRowFilter {
    fn name(&self) -> &str {
        "push_down_row_filter"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> DataFusionResult<Transformed<LogicalPlan>> {
        if let LogicalPlan::Join(join) = &plan
            && join.filter.iter().flat_map(split_conjunction).any(is_of_each_row)
        {
            return Ok(Transformed::no(plan));
        }
        let LogicalPlan::Filter(filter) = &plan else {
            return self.inner.rewrite(plan, config);
        };
        let input = below_filters(&filter.input);
        let parts = split_conjunction(&filter.predicate);
        let (kept, moved): (Vec<&Expr>, Vec<&Expr>) =
            parts.into_iter().partition(|part| must_stay_above(part, input));
        let Some(kept) = conjunction(kept.into_iter().cloned()) else {
            return self.inner.rewrite(plan, config);
        };
        let Some(moved) = conjunction(moved.into_iter().cloned()) else {
            return Ok(Transformed::no(plan));
        };
        let below = Filter::try_new(moved, Arc::clone(&filter.input))?;
        let below = self.inner.rewrite(LogicalPlan::Filter(below), config)?.data;
        Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(
            kept,
            Arc::new(below),
        )?)))
    }
}

/// What the filters at the top of a plan filter.
fn below_filters(plan: &LogicalPlan) -> &LogicalPlan {
    match plan {
        LogicalPlan::Filter(filter) => below_filters(&filter.input),
        plan => plan,
    }
}

/// Whether the condition must stay above the plan.
fn must_stay_above(condition: &Expr, plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => {
            condition.is_volatile() || (has_no_columns(condition) && may_have_row_of_nothing(aggregate))
        }
        LogicalPlan::Window(_) | LogicalPlan::Distinct(_) => condition.is_volatile(),
        LogicalPlan::Join(_) | LogicalPlan::Extension(_) => is_of_each_row(condition),
        _ => false,
    }
}

fn has_no_columns(condition: &Expr) -> bool {
    condition.column_refs().is_empty()
}

/// Whether it is another at every row, whatever the row.
fn is_of_each_row(condition: &Expr) -> bool {
    condition.is_volatile() && has_no_columns(condition)
}

/// Whether it gives a row where its input has none: without groups, or with a grouping set that is empty.
fn may_have_row_of_nothing(aggregate: &Aggregate) -> bool {
    let is_set = |expr: &Expr| matches!(expr, Expr::GroupingSet(_));
    aggregate.group_expr.is_empty() || aggregate.group_expr.iter().any(is_set)
}
