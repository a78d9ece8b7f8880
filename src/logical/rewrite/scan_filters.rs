//! Where conditions come to rest: in a filter, or in the scan of the table that they ask, as far as that can ask them.

use std::sync::Arc;

use super::empty_relations::nothing;
use super::operands::said_once;
use crate::Result;
use crate::logical::condition_cost::cheapest_first;
use crate::logical::equality;
use crate::tree::{Column, Expr, Filter, FilterPushDown, Plan, ScalarValue, TableScan, conjunction};

/// The plan under conditions, as they are to be asked.
pub(super) fn filtered(plan: Plan, conditions: Vec<Expr>) -> Result<Plan> {
    match asked(conditions) {
        None => Ok(nothing(Arc::clone(plan.schema()))),
        Some(conditions) => filter(plan, conditions),
    }
}

/// The scan with the conditions that it can ask, under those that it cannot.
pub(super) fn scanned(mut scan: TableScan, conditions: Vec<Expr>) -> Result<Plan> {
    let Some(conditions) = asked(conditions) else {
        return Ok(nothing(scan.projected_schema));
    };
    let is_offered = |condition: &&Expr| {
        !condition.is_volatile() && !condition.has(|expr| matches!(expr, Expr::ScalarSubquery(_)))
    };
    let offered: Vec<&Expr> = conditions.iter().filter(is_offered).collect();
    let mut answers = scan.source.supports_filters_pushdown(&offered).into_iter();
    let (mut above, mut taken) = (Vec::new(), Vec::new());
    for condition in &conditions {
        let answer = match is_offered(&condition) {
            true => answers.next().unwrap_or(FilterPushDown::Unsupported),
            false => FilterPushDown::Unsupported,
        };
        if answer != FilterPushDown::Unsupported && !scan.filters.contains(condition) {
            taken.push(condition.clone());
        }
        if answer != FilterPushDown::Exact {
            above.push(condition.clone());
        }
    }
    scan.filters.extend(taken);
    filter(Plan::TableScan(scan), above)
}

fn filter(plan: Plan, conditions: Vec<Expr>) -> Result<Plan> {
    Ok(match conjunction(conditions) {
        Some(condition) => Plan::Filter(Filter::new(condition, Arc::new(plan))),
        None => plan,
    })
}

/// Each condition once, costly ones last. `None`: two of them are never true of one row.
fn asked(conditions: Vec<Expr>) -> Option<Vec<Expr>> {
    if conditions.len() < 2 {
        return Some(conditions);
    }
    let conditions = without_repeated_equalities(said_once(conditions))?;
    Some(cheapest_first(conditions))
}

/// `column = constant` once, whatever else the constant says of itself. `None`: a column would have to be two things.
fn without_repeated_equalities(conditions: Vec<Expr>) -> Option<Vec<Expr>> {
    let mut kept: Vec<Expr> = Vec::with_capacity(conditions.len());
    for condition in conditions {
        if let Some((column, value)) = column_value(&condition) {
            let mut known = kept.iter().filter_map(column_value);
            match known.find(|(other, _)| *other == column) {
                Some((_, other)) if other == value => continue,
                Some((_, other)) if other.data_type() == value.data_type() => return None,
                _ => {}
            }
        }
        kept.push(condition);
    }
    Some(kept)
}

/// The column and the value of `column = constant`.
fn column_value(condition: &Expr) -> Option<(&Column, &ScalarValue)> {
    let sides = equality(condition)?;
    sides.into_iter().find_map(|sides| match sides {
        (Expr::Column(column), Expr::Literal(value, _)) => Some((column, value)),
        _ => None,
    })
}
