//! Moments of the past that only a run tells: the expressions that stand with scans of versions (`Moment::Open`), and the plan once
//! they are known. Called by `query::plan`, which asks what they are before it runs the plan.

use std::sync::Arc;

use super::dependent_join::{for_each_node, map_inner};
use super::placeholder::with_time;
use super::stored_table::KeyspanTable;
use crate::Result;
use crate::catalog::Moment;
use crate::tree::{Expr, Plan, Transformed, TransformedResult, TreeNodeRecursion};

/// The open moments of a plan, each once.
pub(crate) fn open_moments(plan: &Plan) -> Result<Vec<Expr>> {
    let mut open: Vec<Expr> = Vec::new();
    for_each_node(plan, &mut |node| {
        if let Plan::TableScan(scan) = node
            && let Some(table) = scan.source.downcast_ref::<KeyspanTable>()
        {
            for moment in table.moments.iter() {
                if !open.contains(moment) {
                    open.push(moment.clone());
                }
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(open)
}

/// What asks for them: a row of all. `now`: the time of the statement, in microseconds since 1970.
pub(crate) fn moments_query(open: &[Expr], now: i64) -> Result<Plan> {
    let columns = open.iter().enumerate().map(|(at, moment)| {
        let moment = with_time(moment.clone(), now)?;
        Ok(moment.alias(format!("moment_{at}")))
    });
    Plan::one_row().project(columns.collect::<Result<Vec<_>>>()?)
}

/// The plan at the moments that were told.
pub(crate) fn with_moments(plan: Plan, told: &[(Expr, Moment)]) -> Result<Plan> {
    let settled = plan.transform_up_with_subqueries(|node| {
        let Plan::TableScan(mut scan) = node else {
            return map_inner(node, |plan| with_moments(plan.clone(), told));
        };
        let Some(table) = scan.source.downcast_ref::<KeyspanTable>() else {
            return Ok(Transformed::no(Plan::TableScan(scan)));
        };
        if table.moments.is_empty() {
            return Ok(Transformed::no(Plan::TableScan(scan)));
        }
        scan.source = Arc::new(settled_table(table, told));
        Ok(Transformed::yes(Plan::TableScan(scan)))
    });
    settled.data()
}

fn settled_table(table: &KeyspanTable, told: &[(Expr, Moment)]) -> KeyspanTable {
    let moment_of = |(at, open): (usize, &Expr)| {
        let known = told.iter().find(|(expr, _)| expr == open);
        known.map_or(Moment::Open(at), |(_, moment)| *moment)
    };
    let moments: Vec<Moment> = table.moments.iter().enumerate().map(moment_of).collect();
    KeyspanTable {
        table: table.table.at_moments(&moments),
        moments: Arc::default(),
        ..table.clone()
    }
}
