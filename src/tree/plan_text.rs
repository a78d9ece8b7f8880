//! A plan as text, for EXPLAIN (VERBOSE): a line a node, what it is made of below it.

use std::fmt::{self, Display};

use super::expr_name::{listed, sort_text};
use super::join::{Join, JoinType};
use super::plan::Plan;
use super::relations::{Limit, RowCount, TableScan};
use super::walk::TreeNodeRecursion;

/// Rows of VALUES that are shown.
const ROWS_MAX: usize = 5;

impl Plan {
    /// The text.
    pub fn text(&self) -> String {
        let mut lines = Vec::new();
        add(self, 0, &mut lines);
        lines.join("\n")
    }
}

fn add(plan: &Plan, depth: usize, lines: &mut Vec<String>) {
    lines.push(format!("{}{}", "  ".repeat(depth), Line(plan)));
    // No step of it fails.
    let _ = plan.apply_subqueries(&mut |subquery| {
        lines.push(format!("{}Subquery:", "  ".repeat(depth + 1)));
        add(subquery, depth + 2, lines);
        Ok(TreeNodeRecursion::Continue)
    });
    plan.inputs()
        .into_iter()
        .for_each(|input| add(input, depth + 1, lines));
}

/// The line of a node.
struct Line<'a>(&'a Plan);

impl Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Plan::TableScan(scan) => scan_line(scan, f),
            Plan::EmptyRelation(empty) => {
                write!(f, "EmptyRelation: rows={}", u8::from(empty.produce_one_row))
            }
            Plan::Values(values) => {
                let rows = values
                    .values
                    .iter()
                    .take(ROWS_MAX)
                    .map(|row| format!("({})", listed(row)));
                let more = if values.values.len() > ROWS_MAX { "..." } else { "" };
                write!(f, "Values: {}{more}", rows.collect::<Vec<_>>().join(", "))
            }
            Plan::Projection(projection) => write!(f, "Projection: {}", listed(&projection.expr)),
            Plan::Filter(filter) => write!(f, "Filter: {}", filter.predicate),
            Plan::Aggregate(aggregate) => {
                let (keys, calls) = (listed(&aggregate.group_expr), listed(&aggregate.aggr_expr));
                write!(f, "Aggregate: groupBy=[[{keys}]], aggr=[[{calls}]]")
            }
            Plan::Distinct(_) => f.write_str("Distinct:"),
            Plan::Window(window) => write!(f, "WindowAggr: windowExpr=[[{}]]", listed(&window.window_expr)),
            Plan::Sort(sort) => {
                write!(f, "Sort: {}", sort_text(&sort.expr))?;
                sort.fetch
                    .iter()
                    .try_for_each(|fetch| write!(f, ", fetch={fetch}"))
            }
            Plan::LockRows(locked) => {
                let relations = locked.locks.iter().map(|lock| lock.relation.as_str());
                write!(f, "LockRows: {}", relations.collect::<Vec<_>>().join(", "))
            }
            Plan::Limit(limit) => limit_line(limit, f),
            Plan::SubqueryAlias(alias) => write!(f, "SubqueryAlias: {}", alias.alias),
            Plan::Join(join) => join_line(join, f),
            Plan::Union(_) => f.write_str("Union"),
            Plan::Unnest(unnest) => {
                let columns = unnest.columns.iter().map(|column| format!("{column}|depth=1"));
                write!(
                    f,
                    "Unnest: lists[{}] structs[]",
                    columns.collect::<Vec<_>>().join(", ")
                )
            }
            Plan::RecursiveQuery(recursion) => {
                write!(
                    f,
                    "RecursiveQuery: is_distinct={}",
                    recursion.distinct_by.is_some()
                )
            }
            Plan::DependentJoin(join) => write!(f, "DependentJoin: {} subqueries", join.sub_plans.len()),
            Plan::LookupJoin(join) => write!(f, "LookupJoin: {}", join.inner.alias),
            Plan::SharedRows(_) => f.write_str("SharedRows"),
            Plan::TopRows(_) => f.write_str("TopRows"),
        }
    }
}

fn scan_line(scan: &TableScan, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    write!(f, "TableScan: {}", scan.table_name)?;
    if scan.projection.is_some() {
        let names = scan
            .projected_schema
            .fields()
            .iter()
            .map(|field| field.name().as_str());
        write!(f, " projection=[{}]", names.collect::<Vec<_>>().join(", "))?;
    }
    if !scan.filters.is_empty() {
        write!(f, ", filters=[{}]", listed(&scan.filters))?;
    }
    scan.fetch
        .iter()
        .try_for_each(|fetch| write!(f, ", fetch={fetch}"))
}

fn limit_line(limit: &Limit, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let text = |count: RowCount, expr: Option<&super::expr::Expr>| match (count, expr) {
        (RowCount::Known(rows), _) => rows.to_string(),
        (RowCount::Open, Some(expr)) => expr.to_string(),
        _ => "None".to_string(),
    };
    let skip = text(limit.skip_count(), limit.skip.as_deref());
    let fetch = text(limit.fetch_count(), limit.fetch.as_deref());
    write!(f, "Limit: skip={skip}, fetch={fetch}")
}

fn join_line(join: &Join, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let is_cross = join.filter.is_none() && join.on.is_empty() && join.join_type == JoinType::Inner;
    match is_cross {
        true => f.write_str("Cross Join:")?,
        false => write!(f, "{} Join:", join.join_type)?,
    }
    let keys = join.on.iter().map(|(left, right)| format!("{left} = {right}"));
    let keys = keys.collect::<Vec<_>>().join(", ");
    if !is_cross {
        write!(f, " {keys}")?;
    }
    join.filter
        .iter()
        .try_for_each(|filter| write!(f, " Filter: {filter}"))?;
    match join.null_aware {
        true => f.write_str(" null_aware"),
        false => Ok(()),
    }
}
