//! Aggregates and windows as nodes.

use std::sync::Arc;

use datafusion_physical_expr::window::WindowExpr;
use datafusion_physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion_physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion_physical_plan::{ExecutionPlan, InputOrderMode};
use serde_json::json;

use super::node::PlanNode;
use super::physical::{Described, Describer, named_columns};
use crate::logical::expr_text::expr_text;
use crate::operators::logical_expr::as_text;
use crate::tree::{Aggregate, Expr};

/// The column by which DataFusion tells the grouping sets apart.
const GROUPING_ID: &str = Aggregate::INTERNAL_GROUPING_ID;

impl Describer {
    pub(super) fn grouping(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Option<Described> {
        if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
            return Some(self.aggregate(plan, aggregate));
        }
        let (input, calls) = if let Some(window) = plan.downcast_ref::<WindowAggExec>() {
            (window.input(), window.window_expr())
        } else {
            let window = plan.downcast_ref::<BoundedWindowAggExec>()?;
            (window.input(), window.window_expr())
        };
        let below = self.describe(input);
        let calls: Vec<Expr> = calls
            .iter()
            .map(|call| self.window_call(call, &below.columns))
            .collect();
        let node = PlanNode::named("WindowAgg").over(below.node);
        Some(Described::new(
            node,
            below.columns.into_iter().chain(calls).collect(),
        ))
    }

    /// `rank() OVER (?)`, as PostgreSQL writes it.
    fn window_call(&self, call: &Arc<dyn WindowExpr>, columns: &[Expr]) -> Expr {
        let name = call.name().split('(').next().unwrap_or_default();
        let arguments = call.expressions();
        let arguments: Vec<String> = arguments
            .iter()
            .map(|argument| self.text(argument, columns))
            .collect();
        as_text(format!("{name}({}) OVER (?)", arguments.join(", ")))
    }

    fn aggregate(&mut self, plan: &Arc<dyn ExecutionPlan>, aggregate: &AggregateExec) -> Described {
        let below = self.describe(aggregate.input());
        let groups = aggregate.group_expr();
        let keys: Vec<Expr> = groups
            .expr()
            .iter()
            .map(|(expr, _)| self.inputs(&below.columns).written(expr))
            .collect();
        let (part, mode) = match aggregate.mode() {
            AggregateMode::Partial => ("Partial ", "Partial"),
            AggregateMode::Final | AggregateMode::FinalPartitioned => ("Finalize ", "Finalize"),
            _ => ("", "Simple"),
        };
        let (name, strategy) = strategy(aggregate);
        let node = PlanNode::new("Aggregate", format!("{part}{name}"))
            .with_property("Strategy", strategy)
            .with_property("Partial Mode", mode);
        let is_written = |key: &&Expr| !matches!(key, Expr::Column(column) if column.name == GROUPING_ID);
        let written = keys.iter().filter(is_written);
        let texts: Vec<String> = written.map(|key| expr_text(key, self.names)).collect();
        let node = match groups.has_grouping_set() {
            true => with_grouping_sets(node, groups, &texts),
            false => node.with_list("Group Key", texts),
        };
        let columns = self.aggregate_columns(plan, aggregate, keys, &below.columns);
        Described::new(node.over(below.node), columns).taking_filter()
    }

    /// The groups' columns, then those of the aggregates: of partial ones several each.
    fn aggregate_columns(
        &self,
        plan: &Arc<dyn ExecutionPlan>,
        aggregate: &AggregateExec,
        keys: Vec<Expr>,
        below: &[Expr],
    ) -> Vec<Expr> {
        let calls = aggregate.aggr_expr();
        let is_partial = *aggregate.mode() == AggregateMode::Partial;
        let states = |call: usize| calls[call].state_fields().map_or(1, |fields| fields.len());
        let widths: Vec<usize> = match is_partial {
            true => (0..calls.len()).map(states).collect(),
            false => vec![1; calls.len()],
        };
        let mut columns = named_columns(plan, None);
        let first_call = columns.len().saturating_sub(widths.iter().sum());
        columns.truncate(first_call);
        for (column, key) in columns.iter_mut().zip(keys) {
            *column = key;
        }
        let is_final = matches!(
            aggregate.mode(),
            AggregateMode::Final | AggregateMode::FinalPartitioned
        );
        let mut state = first_call;
        for (at, width) in widths.into_iter().enumerate() {
            let call = match (is_final, below.get(state)) {
                // What the partial aggregate below computes.
                (true, Some(partial)) => partial.clone(),
                _ => {
                    let filter = aggregate.filter_expr().get(at).and_then(Option::as_ref);
                    self.inputs(below).written_aggregate(&calls[at], filter)
                }
            };
            columns.extend(std::iter::repeat_n(call, width));
            state += states(at);
        }
        columns
    }
}

/// PostgreSQL's names for how groups are found.
fn strategy(aggregate: &AggregateExec) -> (&'static str, &'static str) {
    let groups = aggregate.group_expr();
    if groups.has_grouping_set() {
        let is_whole = |set: &Vec<bool>| set.iter().all(|is_null| *is_null);
        return match groups.groups().iter().any(is_whole) {
            true => ("MixedAggregate", "Mixed"),
            false => ("HashAggregate", "Hashed"),
        };
    }
    match (groups.is_empty(), aggregate.input_order_mode()) {
        (true, _) => ("Aggregate", "Plain"),
        (false, InputOrderMode::Sorted) => ("GroupAggregate", "Sorted"),
        (false, _) => ("HashAggregate", "Hashed"),
    }
}

/// A line for each set; the set without columns is all rows.
fn with_grouping_sets(node: PlanNode, groups: &PhysicalGroupBy, keys: &[String]) -> PlanNode {
    let sets = groups.groups().iter().map(|nulls| {
        let set = keys.iter().zip(nulls).filter(|(_, is_null)| !**is_null);
        set.map(|(key, _)| key.clone()).collect::<Vec<String>>()
    });
    let mut sets: Vec<Vec<String>> = sets.collect();
    sets.sort_by_key(|set| std::cmp::Reverse(set.len()));
    let line = |set: &Vec<String>| match set.is_empty() {
        true => "Group Key: ()".to_string(),
        false => format!("Hash Key: {}", set.join(", ")),
    };
    node.with_lines(sets.iter().map(line).collect())
        .with_property("Grouping Sets", json!(sets))
}
