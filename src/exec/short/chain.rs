//! Reads a logical plan as a chain: from the top down to the table, then back up step by step.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::logical_expr::utils::split_conjunction;
use datafusion::logical_expr::{Aggregate, Expr, Filter, Limit, LogicalPlan, Projection, Sort};

use super::computed::Computed;
use super::read::TableRead;
use super::totals::Total;
use super::{ShortPlan, SortKey, Source, Step};
use crate::exec::table_provider::{scanned_rows, scanned_table};

/// The plan as a chain; `None` when it is none.
pub(super) fn read(plan: &LogicalPlan) -> Option<ShortPlan> {
    match plan {
        LogicalPlan::EmptyRelation(empty) if empty.produce_one_row => {
            Some(ShortPlan::from_source(Source::OneRow))
        }
        LogicalPlan::TableScan(scan) => {
            let source = match scanned_table(scan) {
                Some((table, positions)) => Source::Table(TableRead::new(table, positions)),
                None => Source::Rows(scanned_rows(scan)?),
            };
            Some(ShortPlan::from_source(source))
        }
        LogicalPlan::SubqueryAlias(alias) => read(&alias.input),
        LogicalPlan::Filter(filter) => read_filter(filter),
        LogicalPlan::Projection(projection) => read_projection(projection),
        LogicalPlan::Aggregate(aggregate) => read_totals(aggregate),
        LogicalPlan::Sort(sort) => read_sort(sort),
        LogicalPlan::Limit(limit) => read_limit(limit),
        _ => None,
    }
}

fn read_filter(filter: &Filter) -> Option<ShortPlan> {
    let mut chain = read(&filter.input)?;
    for condition in split_conjunction(&filter.predicate) {
        let computed = Computed::new(condition, filter.input.schema())?;
        match &mut chain.source {
            Source::Table(table) if chain.steps.is_empty() => {
                table.add_condition(condition.clone(), computed)
            }
            _ => chain.steps.push(Step::Filter(computed)),
        }
    }
    Some(chain)
}

fn read_projection(projection: &Projection) -> Option<ShortPlan> {
    let mut chain = read(&projection.input)?;
    let input = projection.input.schema();
    let columns = projection.expr.iter().map(|expr| Computed::new(expr, input));
    chain.steps.push(Step::Project {
        columns: columns.collect::<Option<_>>()?,
        schema: arrow_schema(projection.schema.as_arrow()),
    });
    Some(chain)
}

fn read_totals(aggregate: &Aggregate) -> Option<ShortPlan> {
    if !aggregate.group_expr.is_empty() {
        return None;
    }
    let mut chain = read(&aggregate.input)?;
    let input = aggregate.input.schema();
    let totals = aggregate.aggr_expr.iter().map(|expr| Total::new(expr, input));
    chain.steps.push(Step::Totals {
        totals: totals.collect::<Option<_>>()?,
        schema: arrow_schema(aggregate.schema.as_arrow()),
    });
    Some(chain)
}

fn read_sort(sort: &Sort) -> Option<ShortPlan> {
    let mut chain = read(&sort.input)?;
    let input = sort.input.schema();
    if sort.fetch.is_some() {
        return None;
    }
    let key = |key: &datafusion::logical_expr::SortExpr| {
        Some(SortKey {
            computed: Computed::new(&key.expr, input)?,
            descending: !key.asc,
            nulls_first: key.nulls_first,
        })
    };
    let keys = sort.expr.iter().map(key).collect::<Option<_>>()?;
    chain.steps.push(Step::Sort(keys));
    Some(chain)
}

fn read_limit(limit: &Limit) -> Option<ShortPlan> {
    let mut chain = read(&limit.input)?;
    let count = |count: &Option<Box<Expr>>| count.as_deref().cloned();
    let known = |count: &Option<Expr>| matches!(count, None | Some(Expr::Literal(..) | Expr::Placeholder(_)));
    let (skip, fetch) = (count(&limit.skip), count(&limit.fetch));
    if !known(&skip) || !known(&fetch) {
        return None;
    }
    chain.steps.push(Step::Limit { skip, fetch });
    Some(chain)
}

fn arrow_schema(schema: &arrow::datatypes::Schema) -> SchemaRef {
    Arc::new(schema.clone())
}
