//! Physical plans as nodes. What only passes rows on (projections, pauses) is left out, a filter belongs to the node below
//! it, and columns are named by what they were computed of.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion_physical_expr::expressions::DynamicFilterPhysicalExpr;
use datafusion_physical_expr::{LexOrdering, PhysicalExpr, split_conjunction};
use datafusion_physical_plan::aggregates::AggregateExec;
use datafusion_physical_plan::async_func::AsyncFuncExec;
use datafusion_physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion_physical_plan::empty::EmptyExec;
use datafusion_physical_plan::filter::FilterExec;
use datafusion_physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion_physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion_physical_plan::projection::ProjectionExec;
use datafusion_physical_plan::recursive_query::RecursiveQueryExec;
use datafusion_physical_plan::sorts::sort::SortExec;
use datafusion_physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion_physical_plan::unnest::UnnestExec;
use datafusion_physical_plan::work_table::WorkTableExec;
use datafusion_physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::FutureExt;
use futures::future::BoxFuture;

use super::access::{TableRead, with_metrics};
use super::node::PlanNode;
use crate::catalog::TableDef;
use crate::logical::expr_text::{Names, all_text, expr_text, order_text};
use crate::logical::outer_values::outer_name;
use crate::operators::append::Append;
use crate::operators::build_keys::BuildKeys;
use crate::operators::catalog_table::CatalogScanExec;
use crate::operators::dependent_join_exec::DependentJoinExec;
use crate::operators::lock_rows_exec::LockRowsExec;
use crate::operators::logical_expr::Inputs;
use crate::operators::lookup_join_exec::LookupJoinExec;
use crate::operators::observer::unwrap;
use crate::operators::pauses::is_pause;
use crate::operators::rows_exec::RowsExec;
use crate::operators::scan_exec::KeyspanScanExec;
use crate::operators::scan_fallback::ScanFallback;
use crate::operators::top_rows_exec::TopRowsExec;
use crate::scan::figures::Seen;
use crate::system::StatementContext;
use crate::tree::{Column, Expr, TreeNode};
use crate::{Error, Result};

/// The tree of a plan, with what was counted of it if it is observed.
pub(crate) fn plan_node(plan: &Arc<dyn ExecutionPlan>) -> PlanNode {
    let names = match relations(plan) {
        0 | 1 => Names::Bare,
        _ => Names::Qualified,
    };
    let mut describer = Describer {
        names,
        sub_plans: 0,
        subqueries: Vec::new(),
        parameters: 0,
        aliases: HashMap::new(),
        varies: false,
        is_observed: unwrap(plan).1.is_some(),
    };
    describer.describe(plan).node
}

/// Plans the subqueries that run once for each outer row, to show how they would. Errors: those of planning the access.
pub(crate) fn plan_examples<'a>(
    ctx: &'a StatementContext,
    plan: &'a Arc<dyn ExecutionPlan>,
) -> BoxFuture<'a, Result<()>> {
    async move {
        if let Some(join) = plan.downcast_ref::<DependentJoinExec>() {
            // What else does not plan with made-up values is not shown.
            if let Err(refused @ (Error::FullScan { .. } | Error::TooManyKeys { .. })) =
                join.plan_examples(ctx).await
            {
                return Err(refused);
            }
            for (at, _) in join.sub_plans().enumerate() {
                if let Some(shown) = join.shown().get(at) {
                    plan_examples(ctx, &shown.plan).await?;
                }
            }
        }
        for child in plan.children() {
            plan_examples(ctx, child).await?;
        }
        Ok(())
    }
    .boxed()
}

/// Relations that a plan reads under a name. What a join looks up is one, and there are its outer rows.
fn relations(plan: &Arc<dyn ExecutionPlan>) -> usize {
    // Both of its inputs read the same ones.
    if let Some(top) = plan.downcast_ref::<TopRowsExec>() {
        return relations(top.whole());
    }
    let own = plan.is::<KeyspanScanExec>() || plan.is::<CatalogScanExec>() || plan.is::<WorkTableExec>();
    let mut found = usize::from(own) + 2 * usize::from(plan.is::<LookupJoinExec>());
    if let Some(join) = plan.downcast_ref::<DependentJoinExec>() {
        let shown = join
            .sub_plans()
            .enumerate()
            .filter_map(|(at, _)| join.shown().get(at));
        found += shown.map(|shown| relations(&shown.plan)).sum::<usize>();
    }
    found + plan.children().into_iter().map(relations).sum::<usize>()
}

/// Walks a plan from the top down.
pub(crate) struct Describer {
    pub(crate) names: Names,
    /// Subqueries named so far.
    pub(crate) sub_plans: usize,
    /// `$0` …: for each plan around that has subqueries, what they are called.
    pub(crate) subqueries: Vec<Vec<String>>,
    /// Subqueries called so.
    pub(crate) parameters: usize,
    /// Relations so far, by alias.
    aliases: HashMap<String, usize>,
    /// Whether the plan holds outer values, which are others the next time.
    pub(crate) varies: bool,
    /// Whether what it does is counted.
    pub(crate) is_observed: bool,
}

/// A node and what its columns stand for.
pub(crate) struct Described {
    pub(crate) node: PlanNode,
    pub(crate) columns: Vec<Expr>,
    /// Whether the node checks conditions on its rows itself.
    pub(crate) takes_filter: bool,
    /// The node reads one relation.
    pub(crate) is_scan: bool,
    /// The node is a Limit that the one below it applies.
    pub(super) is_limited: bool,
}

impl Described {
    pub(crate) fn new(node: PlanNode, columns: Vec<Expr>) -> Described {
        Described {
            node,
            columns,
            takes_filter: false,
            is_scan: false,
            is_limited: false,
        }
    }

    fn of_scan(node: PlanNode, columns: Vec<Expr>) -> Described {
        Described {
            takes_filter: true,
            is_scan: true,
            ..Described::new(node, columns)
        }
    }

    pub(crate) fn taking_filter(self) -> Described {
        Described {
            takes_filter: true,
            ..self
        }
    }

    /// The same below a Limit, which costs nothing more.
    fn limited(self) -> Described {
        if self.is_limited {
            return self;
        }
        let seen = self.node.actual();
        let node = PlanNode::named("Limit").over(self.node).counted(seen);
        Described {
            is_limited: true,
            ..Described::new(node, self.columns)
        }
    }

    /// The same for a node that limits by itself what comes from here.
    fn unlimited(self) -> Described {
        match self.is_limited {
            true => Described {
                node: self.node.into_child().unwrap_or_default(),
                is_limited: false,
                ..self
            },
            false => self,
        }
    }

    /// The same with conditions on its rows.
    fn filtered(self, conditions: Vec<String>) -> Described {
        let node = match self.takes_filter {
            true => self.node,
            false => {
                let seen = self.node.actual();
                PlanNode::named("Subquery Scan")
                    .over_as("Subquery", self.node)
                    .counted(seen)
            }
        };
        Described {
            node: node.with_filters(conditions),
            takes_filter: true,
            is_scan: self.is_scan && self.takes_filter,
            is_limited: false,
            columns: self.columns,
        }
    }

    /// Only these columns, if it says which.
    pub(crate) fn projected(self, projection: Option<&[usize]>) -> Described {
        let Some(projection) = projection else { return self };
        let columns = projection.iter().filter_map(|at| self.columns.get(*at).cloned());
        Described {
            columns: columns.collect(),
            ..self
        }
    }
}

impl Describer {
    pub(crate) fn describe(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Described {
        let (plan, figures) = unwrap(plan);
        let mut described = self.describe_node(plan);
        let seen = figures.map(|figures| serial(figures.seen(), plan));
        described.node = described.node.counted(seen);
        let limits = plan.fetch().is_some()
            && !(plan.is::<GlobalLimitExec>() || plan.is::<LocalLimitExec>() || plan.is::<AggregateExec>());
        match limits {
            true => described.limited(),
            false => described,
        }
    }

    fn describe_node(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Described {
        self.passing_on(plan)
            .or_else(|| self.source(plan))
            .or_else(|| self.ordering(plan))
            .or_else(|| self.grouping(plan))
            .or_else(|| self.join(plan))
            .unwrap_or_else(|| self.other(plan))
    }

    /// What has no node of its own.
    fn passing_on(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Option<Described> {
        if is_pause(plan.as_ref()) {
            return plan.children().first().map(|child| self.describe(child));
        }
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            let below = self.describe(projection.input());
            let exprs = projection.expr().iter();
            let columns = exprs.map(|column| self.inputs(&below.columns).written(&column.expr));
            return Some(Described {
                columns: columns.collect(),
                ..below
            });
        }
        if let Some(filter) = plan.downcast_ref::<FilterExec>() {
            let below = self.describe(filter.input());
            let conditions = self.conditions(filter.predicate(), &below);
            let projection = filter.projection().as_ref();
            return Some(below.filtered(conditions).projected(projection.map(|it| &**it)));
        }
        self.with_sub_plans(plan)
    }

    /// Where rows come from.
    fn source(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Option<Described> {
        if let Some(scan) = plan.downcast_ref::<KeyspanScanExec>() {
            return Some(self.table(scan));
        }
        if let Some(scan) = plan.downcast_ref::<CatalogScanExec>() {
            let alias = self.unique_alias(scan.alias());
            let title = match alias == scan.relation() {
                true => format!("Seq Scan on {}", scan.relation()),
                false => format!("Seq Scan on {} {alias}", scan.relation()),
            };
            let node = PlanNode::new("Seq Scan", title)
                .with_property("Relation Name", scan.relation())
                .with_property("Alias", alias.as_str());
            return Some(Described::of_scan(node, named_columns(plan, Some(&alias))));
        }
        if let Some(table) = plan.downcast_ref::<WorkTableExec>() {
            let node = PlanNode::new("WorkTable Scan", format!("WorkTable Scan on {}", table.name()))
                .with_property("CTE Name", table.name());
            return Some(Described::of_scan(node, named_columns(plan, Some(table.name()))));
        }
        let node = if plan.is::<PlaceholderRowExec>() {
            PlanNode::named("Result")
        } else if plan.is::<EmptyExec>() {
            PlanNode::named("Result").with_filters(["false".to_string()])
        } else if plan.is::<RowsExec>() {
            PlanNode::new("Values Scan", "Values Scan on \"*VALUES*\"").with_property("Alias", "*VALUES*")
        } else {
            return None;
        };
        Some(Described::of_scan(node, named_columns(plan, None)))
    }

    fn table(&mut self, scan: &KeyspanScanExec) -> Described {
        let alias = self.unique_alias(scan.alias());
        let table = &scan.path().table;
        let conditions: Vec<String> = match self.varies && scan.conditions().iter().any(holds_outer_value) {
            true => scan
                .conditions()
                .iter()
                .map(|condition| expr_text(condition, Names::Bare))
                .collect(),
            false => Vec::new(),
        };
        let narrowed_by = scan.build_keys().map(BuildKeys::bounded).unwrap_or_default();
        let read = TableRead {
            is_shared: scan.is_shared(),
            is_ordered: scan.is_ordered(),
            narrowed_by: &narrowed_by,
            limit: scan.limit(),
            stated: all_text(&conditions),
            ..TableRead::new(scan.path(), &alias, scan.positions())
        };
        let mut node = read.node(Vec::new());
        if let Some(budget) = scan.budget() {
            node = node.with_noted_count("Rows Read At Most", budget.rows());
        }
        if self.is_observed {
            let taken = scan.build_keys().and_then(BuildKeys::taken);
            if taken.is_some() {
                node = node.with_note("Narrowed To", taken);
            }
            let walked = scan.walked().and_then(ScanFallback::taken);
            if walked.is_some() {
                node = node.with_note("Read Instead", walked);
            }
            node = with_metrics(node, scan.metrics_read());
        }
        Described::of_scan(node, table_columns(&alias, table, scan.positions()))
    }

    /// Sorts, limits, and what gathers the rows of several readers.
    fn ordering(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Option<Described> {
        if let Some(sort) = plan.downcast_ref::<SortExec>() {
            let below = self.describe(sort.input());
            let keys = self.sort_keys(sort.expr(), &below.columns);
            let node = PlanNode::named("Sort")
                .with_list("Sort Key", keys)
                .over(below.node);
            return Some(Described::new(node, below.columns));
        }
        if let Some(merge) = plan.downcast_ref::<SortPreservingMergeExec>() {
            let below = self.describe(merge.input()).unlimited();
            return Some(match has_shared_scan(merge.input()) {
                true => gathered("Gather Merge", merge.input(), below),
                false => self.merged(merge.expr(), below),
            });
        }
        if let Some(gather) = plan.downcast_ref::<CoalescePartitionsExec>() {
            let below = self.describe(gather.input());
            // The parts of an Append are read side by side without anybody's having asked for it.
            return Some(match has_shared_scan(gather.input()) {
                true => gathered("Gather", gather.input(), below.unlimited()),
                false => below,
            });
        }
        if let Some(top) = plan.downcast_ref::<TopRowsExec>() {
            return Some(self.top_rows(top));
        }
        if let Some(locked) = plan.downcast_ref::<LockRowsExec>() {
            let below = self.describe(locked.input());
            return Some(Described::new(
                PlanNode::named("LockRows").over(below.node),
                below.columns,
            ));
        }
        let input = match (
            plan.downcast_ref::<GlobalLimitExec>(),
            plan.downcast_ref::<LocalLimitExec>(),
        ) {
            (Some(limit), _) => limit.input(),
            (_, Some(limit)) => limit.input(),
            _ => return None,
        };
        let below = self.describe(input).unlimited();
        let node = PlanNode::named("Limit").over(below.node);
        Some(Described {
            is_limited: true,
            ..Described::new(node, below.columns)
        })
    }

    /// What is read until there is enough, and what is where that is too much.
    fn top_rows(&mut self, top: &TopRowsExec) -> Described {
        // Both read the same relations.
        let aliases = self.aliases.clone();
        let streamed = self.describe(top.streamed());
        self.aliases = aliases;
        let whole = self.describe(top.whole());
        let node = PlanNode::named("Top Rows")
            .over(streamed.node)
            .over_as("Otherwise", whole.node.labelled("Otherwise".to_string()));
        Described::new(node, streamed.columns)
    }

    /// The parts of an Append, each in order, put together in that order.
    fn merged(&self, order: &LexOrdering, below: Described) -> Described {
        let keys = self.sort_keys(order, &below.columns);
        let node = match below.node.is("Append") {
            true => below.node.become_kind("Merge Append").with_list("Sort Key", keys),
            false => PlanNode::named("Merge Append")
                .with_list("Sort Key", keys)
                .over(below.node),
        };
        Described::new(node, below.columns)
    }

    /// Whatever is left: by its children, and the words of its name.
    fn other(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Described {
        let children = plan.children();
        let below: Vec<Described> = children.into_iter().map(|child| self.describe(child)).collect();
        let name = plan
            .downcast_ref::<RecursiveQueryExec>()
            .map(|query| query.name().to_string());
        if plan.is::<Append>() {
            return appended(below);
        }
        let (node, relationship, columns) = if let Some(unnest) = plan.downcast_ref::<UnnestExec>() {
            let columns = unnested_columns(unnest, below.first());
            (PlanNode::named("ProjectSet"), "Outer", columns)
        } else if let Some(name) = name {
            let columns = named_columns(plan, Some(&name));
            (PlanNode::named("Recursive Union"), "Outer", columns)
        } else {
            // What waits computes a column behind those it is given.
            let node = match plan.is::<AsyncFuncExec>() {
                true => PlanNode::named("Result"),
                false => PlanNode::new("Custom Scan", words(plan.name())),
            };
            (node, "Outer", named_columns(plan, None))
        };
        let node = below
            .into_iter()
            .fold(node, |node, child| node.over_as(relationship, child.node));
        Described::new(node, columns)
    }

    pub(crate) fn inputs<'a>(&'a self, columns: &'a [Expr]) -> Inputs<'a> {
        Inputs {
            columns,
            subqueries: self.subqueries.last().map(Vec::as_slice).unwrap_or_default(),
        }
    }

    pub(crate) fn text(&self, expr: &Arc<dyn PhysicalExpr>, columns: &[Expr]) -> String {
        expr_text(&self.inputs(columns).written(expr), self.names)
    }

    /// The parts of a condition on a node's rows. Those of a scan name its own columns.
    fn conditions(&self, condition: &Arc<dyn PhysicalExpr>, below: &Described) -> Vec<String> {
        let names = if below.is_scan { Names::Bare } else { self.names };
        let inputs = self.inputs(&below.columns);
        split_conjunction(condition)
            .into_iter()
            // What joins find out while they run.
            .filter(|part| !part.is::<DynamicFilterPhysicalExpr>())
            .map(|part| expr_text(&inputs.written(part), names))
            .collect()
    }

    /// A name that no other relation of the plan has, as PostgreSQL makes them: `o_1`.
    pub(crate) fn unique_alias(&mut self, alias: &str) -> String {
        let uses = self.aliases.entry(alias.to_string()).or_insert(0);
        let unique = match *uses {
            0 => alias.to_string(),
            earlier => format!("{alias}_{earlier}"),
        };
        *uses += 1;
        unique
    }

    pub(crate) fn sort_keys(&self, keys: &LexOrdering, columns: &[Expr]) -> Vec<String> {
        let inputs = self.inputs(columns);
        let text = |key: &datafusion_physical_expr::PhysicalSortExpr| {
            let options = key.options;
            order_text(
                &inputs.written(&key.expr),
                self.names,
                options.descending,
                options.nulls_first,
            )
        };
        keys.iter().map(text).collect()
    }
}

/// An Append of its parts, but for those that give nothing, as far as others give something.
fn appended(parts: Vec<Described>) -> Described {
    let columns = parts.first().map(|first| first.columns.clone());
    let columns = columns.unwrap_or_default();
    let (mut nothing, mut nodes): (Vec<PlanNode>, Vec<PlanNode>) = parts
        .into_iter()
        .map(|part| part.node)
        .partition(PlanNode::gives_nothing);
    let node = match (nodes.len(), nothing.is_empty()) {
        (1, false) => nodes.remove(0),
        (0, false) => nothing.remove(0),
        _ => {
            let append = PlanNode::named("Append");
            nodes
                .into_iter()
                .fold(append, |node, part| node.over_as("Member", part))
        }
    };
    Described::new(node, columns)
}

/// Whether a condition holds the value of an outer column.
fn holds_outer_value(condition: &Expr) -> bool {
    let is_one =
        |expr: &Expr| matches!(expr, Expr::Literal(_, Some(metadata)) if outer_name(metadata).is_some());
    condition.exists(|expr| Ok(is_one(expr))).unwrap_or(false)
}

/// The rows of several readers at one place.
fn gathered(kind: &'static str, input: &Arc<dyn ExecutionPlan>, below: Described) -> Described {
    let readers = input.output_partitioning().partition_count();
    let node = PlanNode::named(kind)
        .with_count("Workers Planned", readers.saturating_sub(1) as u64)
        .over(below.node);
    Described::new(node, below.columns)
}

/// Parts that nobody shares are one loop: those of an Append.
fn serial(seen: Seen, plan: &Arc<dyn ExecutionPlan>) -> Seen {
    let parts = plan.output_partitioning().partition_count().max(1) as u64;
    match parts > 1 && !has_shared_scan(plan) {
        true => Seen {
            loops: seen.loops.div_ceil(parts),
            ..seen
        },
        false => seen,
    }
}

/// Whether a plan's parts come of a scan that several readers share.
fn has_shared_scan(plan: &Arc<dyn ExecutionPlan>) -> bool {
    match plan.downcast_ref::<KeyspanScanExec>() {
        Some(scan) => scan.is_shared(),
        None => !plan.is::<CoalescePartitionsExec>() && plan.children().into_iter().any(has_shared_scan),
    }
}

/// Columns of a table, at these positions in `TableDef::columns`.
pub(crate) fn table_columns(alias: &str, table: &TableDef, positions: &[usize]) -> Vec<Expr> {
    let column = |at: &usize| Expr::Column(Column::new(Some(alias), &table.columns[*at].name));
    positions.iter().map(column).collect()
}

/// The plan's own columns, of a relation of this name.
pub(crate) fn named_columns(plan: &Arc<dyn ExecutionPlan>, relation: Option<&str>) -> Vec<Expr> {
    let schema = plan.schema();
    let column = |name: &String| Expr::Column(Column::new(relation, name));
    schema.fields().iter().map(|field| column(field.name())).collect()
}

/// An array's items go by the function that gave the array, or by `unnest`.
fn unnested_columns(unnest: &UnnestExec, below: Option<&Described>) -> Vec<Expr> {
    let (fields, input) = (unnest.schema(), unnest.input().schema());
    let lists: Vec<usize> = unnest
        .list_column_indices()
        .iter()
        .map(|list| list.index_in_input_schema)
        .collect();
    let column = |field: &arrow::datatypes::FieldRef| {
        let at = input.index_of(field.name()).ok();
        let given = below.zip(at).and_then(|(below, at)| below.columns.get(at));
        match (given, at) {
            (Some(Expr::ScalarFunction(call)), Some(at)) if lists.contains(&at) => {
                Expr::Column(Column::new_unqualified(call.func.name()))
            }
            (Some(given), Some(at)) if !lists.contains(&at) => given.clone(),
            _ => Expr::Column(Column::new_unqualified("unnest")),
        }
    };
    fields.fields().iter().map(column).collect()
}

/// `PartialSortExec` as `Partial Sort`.
fn words(name: &str) -> String {
    let mut words = String::new();
    for letter in name.trim_end_matches("Exec").chars() {
        if letter.is_uppercase() && !words.is_empty() {
            words.push(' ');
        }
        words.push(letter);
    }
    words
}
