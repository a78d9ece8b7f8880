//! A subquery's plan with constants in place of outer columns: the values of one outer row where it runs, or placeholders for those of
//! every row, examples where EXPLAIN shows it. A constant may carry the name of its column, by which EXPLAIN calls it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::dependent_join::transform_expressions;
use crate::Result;
use crate::functions::value_array::default_of;
use crate::tree::{Expr, FieldMetadata, Placeholder, Plan, ScalarValue, SubPlan, Transformed, TreeNode};

/// A constant for an outer column: the binding's place and the column.
pub(crate) type OuterValue<'a> = &'a dyn Fn(usize, &Expr) -> Option<(ScalarValue, Option<FieldMetadata>)>;

/// The subquery's plan with outer values in place of outer columns, also in the subqueries inside it.
pub(crate) fn bind(definition: &SubPlan, value: OuterValue<'_>) -> Result<Plan> {
    replace(definition, &|at, outer| {
        value(at, outer).map(|(value, metadata)| Expr::Literal(value, metadata))
    })
}

/// Names of placeholders for a subquery's outer columns, one a binding: no two subqueries share one, for they may stand in each other.
pub(crate) fn new_names(definition: &SubPlan) -> Vec<Arc<str>> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let name = |_: &_| {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Arc::from(format!("$outer{number}"))
    };
    definition.bindings.iter().map(name).collect()
}

/// The subquery's plan with placeholders of these names in place of outer columns.
pub(crate) fn leave_open(definition: &SubPlan, names: &[Arc<str>]) -> Result<Plan> {
    replace(definition, &|at, outer| match outer {
        Expr::OuterReferenceColumn(field, _) => Some(Expr::Placeholder(Placeholder {
            id: names.get(at)?.to_string(),
            field: Some(Arc::new(field.as_ref().clone().with_nullable(true))),
        })),
        _ => None,
    })
}

/// The subquery's plan with other expressions in place of outer columns.
fn replace(definition: &SubPlan, replacement: &dyn Fn(usize, &Expr) -> Option<Expr>) -> Result<Plan> {
    if definition.bindings.is_empty() {
        return Ok(definition.plan.as_ref().clone());
    }
    let replace = |expr: Expr| -> Result<Transformed<Expr>> {
        expr.transform_up(|expr| match &expr {
            Expr::OuterReferenceColumn(_, column) => {
                let at = definition.bindings.iter().position(|(name, _)| name == column);
                Ok(match at.and_then(|at| replacement(at, &expr)) {
                    Some(replaced) => Transformed::yes(replaced),
                    None => Transformed::no(expr),
                })
            }
            _ => Ok(Transformed::no(expr)),
        })
    };
    transform_expressions(definition.plan.as_ref().clone(), &replace)
}

/// The key of a constant's metadata under which it carries the name of its outer column, for EXPLAIN.
const OUTER_NAME: &str = "keyspan.outer";

/// Some value of an outer column's type, which says what it stands for.
pub(crate) fn example(_: usize, outer: &Expr) -> Option<(ScalarValue, Option<FieldMetadata>)> {
    let Expr::OuterReferenceColumn(field, _) = outer else {
        return None;
    };
    let value = default_of(field.data_type())?;
    Some((value, named_after(outer)))
}

/// What makes a constant known by the outer column that it stands for.
pub(crate) fn named_after(outer: &Expr) -> Option<FieldMetadata> {
    let Expr::OuterReferenceColumn(_, column) = outer else {
        return None;
    };
    let name = (OUTER_NAME.to_string(), column.flat_name());
    Some(FieldMetadata::from(BTreeMap::from([name])))
}

/// The outer column that an example value stands for.
pub fn outer_name(metadata: &FieldMetadata) -> Option<&str> {
    metadata.inner().get(OUTER_NAME).map(String::as_str)
}
