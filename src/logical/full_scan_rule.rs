//! The full-scan rule judges what the user wrote. Rewriting a plan infers filters (`a.x = b.y AND a.x = 5` gives
//! `b.y = 5`), and such a filter may narrow the scan of a table but must not get it refused. Called by `planner` when a
//! scan was refused: here the same query is looked at without the conditions between relations, so that only conditions
//! on one relation reach its scan.

use std::collections::HashSet;
use std::sync::Arc;

use super::rewrite::with_written_filters;
use crate::Result;
use crate::system::pg_catalog::CatalogContext;
use crate::tree::{
    Expr, Filter, Join, JoinType, Plan, RelationAlias, TableScan, Transformed, TreeNode, TreeNodeRecursion,
    conjunction, split_conjunction_owned,
};

/// Calls `judge` for every scan of the plan (also those of its subqueries) with the filters that the user wrote for its
/// table in its `filters`. `catalogs`: those that functions over constants may ask.
pub(crate) fn for_each_scan(
    catalogs: Option<&Arc<CatalogContext>>,
    plan: &Plan,
    judge: &mut dyn FnMut(&TableScan) -> Result<()>,
) -> Result<()> {
    let mut queries = vec![plan.clone()];
    plan.apply_with_subqueries(|node| {
        node.apply_subqueries(&mut |subquery| {
            queries.push(subquery.clone());
            Ok(TreeNodeRecursion::Jump)
        })?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    for query in queries {
        let alone = query.transform_down(without_conditions_between)?.data;
        with_written_filters(alone, catalogs)?.apply(|node| {
            if let Plan::TableScan(scan) = node {
                judge(scan)?;
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
    }
    Ok(())
}

/// The node without conditions that concern more than one relation.
fn without_conditions_between(node: Plan) -> Result<Transformed<Plan>> {
    Ok(match node {
        Plan::Filter(filter) => match on_one_relation(filter.predicate) {
            Some(predicate) => Transformed::yes(Plan::Filter(Filter::new(predicate, filter.input))),
            // The input has not been looked at yet: this node takes its place.
            None => without_conditions_between(filter.input.as_ref().clone())?,
        },
        Plan::Join(join) => {
            let filter = join.filter.and_then(on_one_relation);
            // Without a condition between its sides, only an inner join says what it said.
            let outer_condition = filter.is_some() && join.join_type != JoinType::Inner;
            Transformed::yes(Plan::Join(Join {
                on: if outer_condition { join.on } else { Vec::new() },
                filter,
                ..join
            }))
        }
        node => Transformed::no(node),
    })
}

/// The conjuncts over one relation.
fn on_one_relation(condition: Expr) -> Option<Expr> {
    conjunction(
        split_conjunction_owned(condition)
            .into_iter()
            .filter(concerns_one),
    )
}

fn concerns_one(condition: &Expr) -> bool {
    let mut relations: HashSet<Option<RelationAlias>> = HashSet::new();
    let mut plain = true;
    let walked = condition.apply(|expr| {
        match expr {
            Expr::Column(column) => {
                relations.insert(column.relation.clone());
            }
            Expr::OuterReferenceColumn(..) | Expr::InSubquery(_) | Expr::Exists(_) => plain = false,
            Expr::ScalarSubquery(subquery) if !subquery.outer_ref_columns.is_empty() => plain = false,
            _ => {}
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.is_ok() && plain && relations.len() <= 1
}
