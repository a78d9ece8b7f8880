//! The rule `grouping`: `grouping(a, b)` is told by the number of the grouping set, a bit for each key that is left out of it, the last key
//! having the lowest. Without this rule it cannot run.

use std::sync::Arc;

use arrow::datatypes::DataType;

use super::Rewriting;
use crate::tree::{
    Aggregate, AggregateFunction, BinaryExpr, Column, Expr, Operator, Plan, Projection, Transformed,
    TransformedResult, TreeNode, cast, grouping_keys, lit,
};
use crate::{Error, Result};

/// The plan without `grouping`.
pub(super) fn grouping(plan: Plan, _: &Rewriting<'_>) -> Result<Plan> {
    plan.transform_up(|node| match node {
        Plan::Aggregate(aggregate) if aggregate.aggr_expr.iter().any(|expr| asked_keys(expr).is_some()) => {
            without_grouping(aggregate).map(Transformed::yes)
        }
        node => Ok(Transformed::no(node)),
    })
    .data()
}

/// The keys that an aggregate asks of whether they are left out; `None`: it is another.
fn asked_keys(expr: &Expr) -> Option<&[Expr]> {
    match expr.unnamed() {
        Expr::AggregateFunction(AggregateFunction { func, params }) if func.name() == "grouping" => {
            Some(&params.args)
        }
        _ => None,
    }
}

fn without_grouping(aggregate: Aggregate) -> Result<Plan> {
    let has_sets = matches!(aggregate.group_expr.as_slice(), [Expr::GroupingSets(_)]);
    let keys: Vec<Expr> = grouping_keys(&aggregate.group_expr)
        .into_iter()
        .cloned()
        .collect();
    let columns = aggregate.schema.columns();
    let first_call = aggregate.group_expr_len();
    // All that it gave, the number of the set among it: what stands above knows its columns by their places.
    let mut outputs: Vec<Expr> = columns
        .iter()
        .take(first_call)
        .cloned()
        .map(Expr::Column)
        .collect();
    let mut others = Vec::new();
    for (expr, column) in aggregate
        .aggr_expr
        .into_iter()
        .zip(columns.into_iter().skip(first_call))
    {
        let told = match asked_keys(&expr) {
            Some(asked) if has_sets => Some(left_out(asked, &keys)?),
            Some(_) => Some(lit(0_i32)),
            None => None,
        };
        match told {
            Some(told) => outputs.push(told.alias_qualified(column.relation, column.name)),
            None => {
                outputs.push(Expr::Column(column));
                others.push(expr);
            }
        }
    }
    let groups = Aggregate::try_new(aggregate.input, aggregate.group_expr, others)?;
    Projection::try_new(outputs, Arc::new(Plan::Aggregate(groups))).map(Plan::Projection)
}

/// A bit for each of the keys asked, set where the row's grouping set leaves it out.
fn left_out(asked: &[Expr], keys: &[Expr]) -> Result<Expr> {
    let set = cast(
        Expr::Column(Column::new_unqualified(Aggregate::INTERNAL_GROUPING_ID)),
        DataType::Int64,
    );
    let binary = |left, op, right| Expr::BinaryExpr(BinaryExpr::new(Box::new(left), op, Box::new(right)));
    let whole = asked == keys && keys.len() < 63;
    if whole {
        let bits = lit((1_i64 << keys.len()) - 1);
        return Ok(cast(binary(set, Operator::BitwiseAnd, bits), DataType::Int32));
    }
    let mut told: Option<Expr> = None;
    for (place, key) in asked.iter().rev().enumerate() {
        let no_key = || Error::internal("grouping of what is no key".to_string());
        let own = keys.iter().rev().position(|own| own == key).ok_or_else(no_key)?;
        let bit = binary(set.clone(), Operator::BitwiseAnd, lit(1_i64 << own));
        let moved = match i64::try_from(place).unwrap_or(0) - i64::try_from(own).unwrap_or(0) {
            0 => bit,
            left @ 1.. => binary(bit, Operator::BitwiseShiftLeft, lit(left)),
            right => binary(bit, Operator::BitwiseShiftRight, lit(-right)),
        };
        told = Some(match told {
            Some(told) => binary(told, Operator::BitwiseOr, moved),
            None => moved,
        });
    }
    Ok(cast(told.unwrap_or_else(|| lit(0_i64)), DataType::Int32))
}
