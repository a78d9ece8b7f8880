//! The rules that plans are optimized by: DataFusion's, without what would change an answer. Called by `planner` (and by
//! `written_filters`, so that filters are judged where they go).
//!
//! 1. A condition without columns stays above what gives a row of nothing: `SELECT count(*) … HAVING false` has no row,
//!    and the count over no rows has one. DataFusion pushes it below.
//! 2. A volatile condition (`random() < 0.5`) stays above groups, windows and DISTINCT; without columns, above joins too:
//!    each row of the result asks it, as PostgreSQL has it, not each row below.
//! 3. Of conditions `column = constant` on one column DataFusion keeps one where all are the same expression, and else takes them
//!    for a contradiction; so `7 = i AND i = 7` would find nothing. Constants are on the left where a cast was folded late (of a
//!    parameter, of an outer column). They are put to the right, and what says the same of a column is said once.

use std::sync::{Arc, LazyLock};

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, ScalarValue};
use datafusion::error::Result as DataFusionResult;
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{Aggregate, BinaryExpr, Expr, Filter, LogicalPlan, Operator};
use datafusion::optimizer::analyzer::AnalyzerRule;
use datafusion::optimizer::analyzer::resolve_grouping_function::ResolveGroupingFunction;
use datafusion::optimizer::eliminate_outer_join::EliminateOuterJoin;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::simplify_expressions::SimplifyExpressions;
use datafusion::optimizer::{Optimizer, OptimizerConfig, OptimizerContext, OptimizerRule};

use crate::functions::folding::folding;
use crate::logical::null_rejection::RejectNulls;
use crate::system::datafusion_error::to_datafusion;
use crate::system::query_threads::check_left;

/// The plan by these rules. Errors: those of folding; 57014.
pub(super) fn optimize(plan: LogicalPlan, options: &Arc<ConfigOptions>) -> DataFusionResult<LogicalPlan> {
    static OPTIMIZER: LazyLock<Optimizer> = LazyLock::new(|| Optimizer::with_rules(logical_rules()));
    let context = OptimizerContext::new_with_config_options(Arc::clone(options));
    let plan = ResolveGroupingFunction::new().analyze(plan, options)?;
    OPTIMIZER.optimize(plan, &context, |_, _| {})
}

/// The rules for logical plans, in their order.
fn logical_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
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
        if let Some(merged) = with_plain_comparisons(filter)? {
            return self.rewrite(LogicalPlan::Filter(merged), config);
        }
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

/// The filter and those right below it as one, its comparisons with the column on the left, no two equalities of a column and
/// a value alike; `None` when it is so already.
fn with_plain_comparisons(filter: &Filter) -> DataFusionResult<Option<Filter>> {
    let mut filters = vec![filter];
    while let LogicalPlan::Filter(below) = filters[filters.len() - 1].input.as_ref() {
        filters.push(below);
    }
    let parts = || {
        filters
            .iter()
            .rev()
            .flat_map(|filter| split_conjunction(&filter.predicate))
    };
    let is_turned = |part: &&Expr| constant_first(part).is_some();
    let equal: Vec<_> = parts().filter_map(equality).collect();
    let repeats = |at: usize| equal[..at].contains(&equal[at]);
    if !parts().any(|part| is_turned(&part)) && !(1..equal.len()).any(repeats) {
        return Ok(None);
    }
    let mut plain: Vec<Expr> = Vec::new();
    for part in parts() {
        let part = constant_first(part).unwrap_or_else(|| part.clone());
        let is_said = equality(&part).is_some_and(|said| {
            let mut before = plain.iter().filter_map(equality);
            before.any(|other| other == said)
        });
        if !is_said {
            plain.push(part);
        }
    }
    let input = Arc::clone(&filters[filters.len() - 1].input);
    let merged = conjunction(plain).map(|predicate| Filter::try_new(predicate, input));
    merged.transpose()
}

/// `constant op column` as `column op constant`; `None`: it is none.
fn constant_first(part: &Expr) -> Option<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = part else {
        return None;
    };
    match (left.as_ref(), right.as_ref(), op.swap()) {
        (Expr::Literal(..), Expr::Column(_), Some(op)) => {
            Some(Expr::BinaryExpr(BinaryExpr::new(right.clone(), op, left.clone())))
        }
        _ => None,
    }
}

/// The column and the value of `column = constant`, whatever else the constant says of itself.
fn equality(part: &Expr) -> Option<(&Column, &ScalarValue)> {
    let Expr::BinaryExpr(BinaryExpr {
        left,
        op: Operator::Eq,
        right,
    }) = part
    else {
        return None;
    };
    match (left.as_ref(), right.as_ref()) {
        (Expr::Column(column), Expr::Literal(value, _)) => Some((column, value)),
        _ => None,
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
