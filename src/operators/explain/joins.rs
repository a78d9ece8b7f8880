//! Joins and subqueries as nodes. DataFusion builds from the left side and probes with the right; PostgreSQL's words
//! are those of the probing side, which stands first.

use std::sync::Arc;

use datafusion_common::{JoinSide, JoinType, NullEquality};
use datafusion_physical_expr::split_conjunction;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::joins::utils::{JoinFilter, JoinOnRef};
use datafusion_physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion_physical_plan::scalar_subquery::ScalarSubqueryExec;

use super::lookup::{lookup_node, with_lookups};
use super::node::PlanNode;
use super::physical::{Described, Describer, table_columns};
use crate::logical::expr_text::{Names, all_text, expr_text};
use crate::operators::dependent_join_exec::DependentJoinExec;
use crate::operators::logical_expr::as_text;
use crate::operators::lookup::LookupStory;
use crate::operators::lookup_join_exec::LookupJoinExec;
use crate::operators::scalar_answer::ScalarAnswer;
use crate::tree::{Expr, SubPlanKind};

impl Describer {
    pub(super) fn join(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Option<Described> {
        if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
            let (probe, build) = (self.describe(join.right()), self.describe(join.left()));
            let condition = self.equalities(join.on(), join.null_equality(), &probe, &build, true);
            let node = joined("Hash Join", "Hash", probing(*join.join_type()))
                .with("Hash Cond", condition.unwrap_or_default());
            let node = self.with_join_filter(node, join.filter(), &build, &probe);
            let columns = joined_columns(*join.join_type(), &build, &probe);
            let node = node.over(probe.node).over_as("Inner", above("Hash", build.node));
            let described = Described::new(node, columns).taking_filter();
            return Some(described.projected(join.projection.as_deref()));
        }
        if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
            let (probe, build) = (self.describe(join.right()), self.describe(join.left()));
            let node = joined("Nested Loop", "Nested Loop", probing(*join.join_type()));
            let node = self.with_join_filter(node, join.filter(), &build, &probe);
            let columns = joined_columns(*join.join_type(), &build, &probe);
            let node = node
                .over(probe.node)
                .over_as("Inner", above("Materialize", build.node));
            let described = Described::new(node, columns).taking_filter();
            return Some(described.projected(join.projection().as_deref()));
        }
        if let Some(join) = plan.downcast_ref::<CrossJoinExec>() {
            let (probe, build) = (self.describe(join.right()), self.describe(join.left()));
            let columns = joined_columns(JoinType::Inner, &build, &probe);
            let node = joined("Nested Loop", "Nested Loop", ("Inner", ""))
                .over(probe.node)
                .over_as("Inner", above("Materialize", build.node));
            return Some(Described::new(node, columns).taking_filter());
        }
        if let Some(join) = plan.downcast_ref::<LookupJoinExec>() {
            return Some(self.lookup_join(join));
        }
        let join = plan.downcast_ref::<SortMergeJoinExec>()?;
        let (left, right) = (self.describe(join.left()), self.describe(join.right()));
        let condition = self.equalities(join.on(), join.null_equality(), &right, &left, false);
        let node = joined("Merge Join", "Merge", probing(join.join_type().swap()))
            .with("Merge Cond", condition.unwrap_or_default());
        let node = self.with_join_filter(node, join.filter().as_ref(), &left, &right);
        let columns = joined_columns(join.join_type(), &left, &right);
        let node = node.over(left.node).over_as("Inner", right.node);
        Some(Described::new(node, columns).taking_filter())
    }

    fn lookup_join(&mut self, join: &LookupJoinExec) -> Described {
        let outer = self.describe(join.outer());
        let lookup = join.lookup();
        let alias = self.unique_alias(lookup.alias());
        let mut columns = outer.columns;
        columns.extend(table_columns(&alias, lookup.table(), lookup.positions()));
        let story = LookupStory::new(lookup, &alias, |computed| self.text(computed.expr(), &columns));
        let node = match self.is_observed {
            true => with_lookups(lookup_node(story), join.figures()),
            false => lookup_node(story),
        };
        let described = Described::new(node.over(outer.node), columns).taking_filter();
        described.projected(Some(join.columns()))
    }

    /// `(t.a = u.a)`. `probe_first`: the right side's columns stand first.
    fn equalities(
        &self,
        on: JoinOnRef<'_>,
        nulls: NullEquality,
        right: &Described,
        left: &Described,
        probe_first: bool,
    ) -> Option<String> {
        let operator = match nulls {
            NullEquality::NullEqualsNothing => "=",
            NullEquality::NullEqualsNull => "IS NOT DISTINCT FROM",
        };
        let equality = |(build, probe): &(_, _)| {
            let (build, probe) = (self.text(build, &left.columns), self.text(probe, &right.columns));
            match probe_first {
                true => format!("({probe} {operator} {build})"),
                false => format!("({build} {operator} {probe})"),
            }
        };
        all_text(&on.iter().map(equality).collect::<Vec<_>>())
    }

    fn with_join_filter(
        &self,
        node: PlanNode,
        filter: Option<&JoinFilter>,
        left: &Described,
        right: &Described,
    ) -> PlanNode {
        let Some(filter) = filter else { return node };
        let columns = filter.column_indices().iter().map(|column| {
            let side = match column.side {
                JoinSide::Right => right,
                JoinSide::Left | JoinSide::None => left,
            };
            side.columns
                .get(column.index)
                .cloned()
                .unwrap_or_else(|| as_text("?".to_string()))
        });
        let columns: Vec<Expr> = columns.collect();
        let conditions = split_conjunction(filter.expression()).into_iter();
        let conditions: Vec<String> = conditions
            .map(|condition| self.text(condition, &columns))
            .collect();
        node.with("Join Filter", all_text(&conditions).unwrap_or_default())
    }

    /// Subqueries belong to the node that reads them.
    pub(super) fn with_sub_plans(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Option<Described> {
        if let Some(around) = plan.downcast_ref::<ScalarSubqueryExec>() {
            let (mut nodes, mut names) = (Vec::new(), Vec::new());
            for subquery in around.subqueries() {
                let answer = subquery.plan.downcast_ref::<ScalarAnswer>();
                let node = self
                    .describe(answer.map_or(&subquery.plan, ScalarAnswer::input))
                    .node;
                self.sub_plans += 1;
                let name = format!("${}", self.parameters);
                self.parameters += 1;
                nodes.push(node.labelled(format!("InitPlan {} (returns {name})", self.sub_plans)));
                let at = subquery.index.as_usize();
                names.resize(names.len().max(at + 1), String::new());
                names[at] = name;
            }
            self.subqueries.push(names);
            let mut described = self.describe(around.input());
            self.subqueries.pop();
            for node in nodes {
                described.node = described.node.over_as("InitPlan", node);
            }
            return Some(described);
        }
        let join = plan.downcast_ref::<DependentJoinExec>()?;
        let mut described = self.describe(join.input());
        for (at, sub_plan) in join.sub_plans().enumerate() {
            let shown = join.shown().get(at).map(|shown| {
                let varied = std::mem::replace(&mut self.varies, shown.varies);
                let described = self.describe(&shown.plan);
                self.varies = varied;
                described
            });
            if let SubPlanKind::Rows { keep_left, .. } = &sub_plan.kind {
                let words = if *keep_left {
                    ("Left", " Left Join")
                } else {
                    ("Inner", "")
                };
                let mut node = joined("Nested Loop", "Nested Loop", words).over(described.node);
                let mut columns = described.columns;
                if let Some(shown) = shown {
                    node = node.over_as("Inner", shown.node);
                    columns.extend(shown.columns);
                }
                return Some(Described::new(node, columns).taking_filter());
            }
            self.sub_plans += 1;
            let label = format!("SubPlan {}", self.sub_plans);
            let column = self.sub_plan_column(&sub_plan.kind, &label, described.is_scan);
            described.columns.push(column);
            if let Some(shown) = shown {
                described.node = described.node.over_as("SubPlan", shown.node.labelled(label));
                // A Limit that shows them stays.
                described.is_limited = false;
            }
        }
        Some(described)
    }

    /// What a subquery's column says.
    fn sub_plan_column(&self, kind: &SubPlanKind, label: &str, of_scan: bool) -> Expr {
        let test = |negated: bool, text: String| match negated {
            true => as_text(format!("(NOT {text})")),
            false => as_text(text),
        };
        match kind {
            SubPlanKind::Scalar | SubPlanKind::Rows { .. } => as_text(format!("({label})")),
            SubPlanKind::Exists { negated } => test(*negated, format!("({label})")),
            SubPlanKind::In { operand, negated } => {
                let names = if of_scan { Names::Bare } else { self.names };
                let operand = expr_text(operand, names);
                test(*negated, format!("({operand} = ANY ({label}))"))
            }
        }
    }
}

/// A join's node. `words`: its type in JSON, and in the head line.
fn joined(kind: &'static str, prefix: &str, words: (&'static str, &str)) -> PlanNode {
    let (join_type, title) = words;
    let title = match (prefix, title) {
        ("Nested Loop", title) => format!("{prefix}{title}"),
        (prefix, "") => format!("{prefix} Join"),
        (prefix, title) => format!("{prefix}{title}"),
    };
    PlanNode::new(kind, title).with_property("Join Type", join_type)
}

/// The type of a join as its right side, which probes, sees it.
fn probing(join_type: JoinType) -> (&'static str, &'static str) {
    match join_type {
        JoinType::Inner => ("Inner", ""),
        JoinType::Right => ("Left", " Left Join"),
        JoinType::Left => ("Right", " Right Join"),
        JoinType::Full => ("Full", " Full Join"),
        JoinType::RightSemi => ("Semi", " Semi Join"),
        JoinType::LeftSemi => ("Right Semi", " Right Semi Join"),
        JoinType::RightAnti => ("Anti", " Anti Join"),
        JoinType::LeftAnti => ("Right Anti", " Right Anti Join"),
        JoinType::RightMark => ("Mark", " Mark Join"),
        JoinType::LeftMark => ("Right Mark", " Right Mark Join"),
    }
}

/// What the columns of a join stand for, in DataFusion's order.
fn joined_columns(join_type: JoinType, left: &Described, right: &Described) -> Vec<Expr> {
    let mark = || as_text("mark".to_string());
    match join_type {
        JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => {
            left.columns.iter().chain(&right.columns).cloned().collect()
        }
        JoinType::LeftSemi | JoinType::LeftAnti => left.columns.clone(),
        JoinType::RightSemi | JoinType::RightAnti => right.columns.clone(),
        JoinType::LeftMark => left.columns.iter().cloned().chain([mark()]).collect(),
        JoinType::RightMark => right.columns.iter().cloned().chain([mark()]).collect(),
    }
}

/// What holds the rows of a side while the other passes by.
fn above(kind: &'static str, child: PlanNode) -> PlanNode {
    let seen = child.actual();
    PlanNode::named(kind).over(child).counted(seen)
}
