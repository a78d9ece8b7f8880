//! Who computes a subquery: DataFusion, where its decorrelation is known to give PostgreSQL's answer, or else a dependent
//! join of ours. Called by `subquery` when expressions get their place in the plan.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::Column;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::{Expr, LogicalPlan, Operator, Subquery};

use crate::exec::datafusion_error::from_datafusion;
use crate::exec::dependent_join::{SubPlan, SubPlanKind, for_each_node};
use crate::{Error, Result};

/// Whether a subquery stands anywhere in the expression.
pub(super) fn has_subquery(expr: &Expr) -> bool {
    let mut found = false;
    let walked = expr.apply(|expr| {
        if matches!(
            expr,
            Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_)
        ) {
            found = true;
            return Ok(TreeNodeRecursion::Stop);
        }
        Ok(TreeNodeRecursion::Continue)
    });
    walked.is_ok() && found
}

/// A whole condition that DataFusion turns into a semi or anti join: `[NOT] EXISTS` correlated by equalities, `IN`
/// uncorrelated or so.
pub(super) fn keep_as_join(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Exists(exists) if !exists.subquery.outer_ref_columns.is_empty() => {
            let subquery = as_decorrelatable(&exists.subquery)?;
            Some(Expr::Exists(Exists::new(subquery, exists.negated)))
        }
        Expr::InSubquery(test) if !test.negated && !has_subquery(&test.expr) => {
            let subquery = as_decorrelatable(&test.subquery)?;
            Some(Expr::InSubquery(InSubquery::new(
                test.expr.clone(),
                subquery,
                false,
            )))
        }
        _ => None,
    }
}

/// The marker as DataFusion's own subquery, when its decorrelation gives PostgreSQL's answer.
fn as_decorrelatable(marker: &Subquery) -> Option<Subquery> {
    let mut references = Vec::with_capacity(marker.outer_ref_columns.len());
    for reference in &marker.outer_ref_columns {
        let Expr::Alias(alias) = reference else {
            return None;
        };
        let Expr::Column(column) = alias.expr.as_ref() else {
            return None;
        };
        if column.relation != alias.relation || column.name != alias.name {
            return None;
        }
        let field = Arc::new(arrow::datatypes::Field::new(
            &column.name,
            arrow::datatypes::DataType::Null,
            true,
        ));
        references.push(Expr::OuterReferenceColumn(field, column.clone()));
    }
    if !references.is_empty() && !equalities_only(&marker.subquery) {
        return None;
    }
    Some(Subquery {
        outer_ref_columns: references,
        ..marker.clone()
    })
}

/// Whether outer columns appear only in equalities with inner columns, in one filter at the top of a plain query or right
/// below its select list. The inner columns must have names of their own: decorrelation drops their tables.
fn equalities_only(plan: &LogicalPlan) -> bool {
    let filter = match plan {
        LogicalPlan::Projection(projection) if !projection.expr.iter().any(has_outer_reference) => {
            projection.input.as_ref()
        }
        plan => plan,
    };
    let LogicalPlan::Filter(filter) = filter else {
        return false;
    };
    let mut named: Vec<&Column> = Vec::new();
    for condition in datafusion::logical_expr::utils::split_conjunction(&filter.predicate) {
        if !has_outer_reference(condition) {
            continue;
        }
        let Some(column) = equal_column(condition) else {
            return false;
        };
        if named
            .iter()
            .any(|other| other.name == column.name && *other != column)
        {
            return false;
        }
        named.push(column);
    }
    !plan_has_outer_reference(&filter.input)
}

/// The inner column of `inner = outer`.
pub(super) fn equal_column(condition: &Expr) -> Option<&Column> {
    let Expr::BinaryExpr(comparison) = condition else {
        return None;
    };
    match (comparison.left.as_ref(), comparison.right.as_ref()) {
        (Expr::Column(column), Expr::OuterReferenceColumn(..))
        | (Expr::OuterReferenceColumn(..), Expr::Column(column))
            if comparison.op == Operator::Eq =>
        {
            Some(column)
        }
        _ => None,
    }
}

pub(super) fn has_outer_reference(expr: &Expr) -> bool {
    expr.exists(|expr| {
        let inside = match expr {
            Expr::ScalarSubquery(subquery) => Some(subquery),
            Expr::Exists(exists) => Some(&exists.subquery),
            Expr::InSubquery(test) => Some(&test.subquery),
            _ => None,
        };
        Ok(matches!(expr, Expr::OuterReferenceColumn(..)) || inside.is_some())
    })
    .unwrap_or(true)
}

pub(super) fn plan_has_outer_reference(plan: &LogicalPlan) -> bool {
    plan.exists(|node| {
        Ok(matches!(node, LogicalPlan::Extension(_)) || node.expressions().iter().any(has_outer_reference))
    })
    .unwrap_or(true)
}

/// Whether the plan uses columns that are none of its own: those of a query around it.
pub(super) fn refers_out(plan: &LogicalPlan) -> Result<bool> {
    let (mut used, mut own) = (HashSet::new(), HashSet::new());
    for_each_node(plan, &mut |node| {
        own.extend(node.schema().columns());
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::OuterReferenceColumn(_, column) = expr {
                    used.insert(column.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })
    .map_err(from_datafusion)?;
    Ok(!used.is_subset(&own))
}

/// What a marker becomes of ours; `None`: it is no marker, or DataFusion computes it (an uncorrelated scalar, once; a
/// scalar aggregate correlated by equalities).
pub(super) fn sub_plan_of(expr: &Expr, filter: bool) -> Option<(SubPlanKind, Subquery)> {
    match expr {
        Expr::ScalarSubquery(subquery) if subquery.outer_ref_columns.is_empty() => None,
        Expr::ScalarSubquery(subquery) => {
            // DataFusion would keep a reference of ours as it is; only whole conditions are known to come out right.
            let _ = filter;
            Some((SubPlanKind::Scalar, subquery.clone()))
        }
        Expr::Exists(exists) => Some((
            SubPlanKind::Exists {
                negated: exists.negated,
            },
            exists.subquery.clone(),
        )),
        Expr::InSubquery(test) => Some((
            SubPlanKind::In {
                operand: *test.expr.clone(),
                negated: test.negated,
            },
            test.subquery.clone(),
        )),
        _ => None,
    }
}

pub(super) fn sub_plan(kind: SubPlanKind, subquery: Subquery, name: &str) -> Result<SubPlan> {
    let mut bindings = Vec::with_capacity(subquery.outer_ref_columns.len());
    for reference in subquery.outer_ref_columns {
        let Expr::Alias(alias) = reference else {
            return Err(Error::internal("an outer reference without its name"));
        };
        bindings.push((
            Column::new(alias.relation.clone(), alias.name.clone()),
            *alias.expr,
        ));
    }
    Ok(SubPlan {
        plan: subquery.subquery,
        kind,
        bindings,
        name: name.to_string(),
    })
}
