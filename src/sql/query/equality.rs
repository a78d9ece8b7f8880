//! Which rows are the same: GROUP BY, DISTINCT and the set operations over types whose values can differ and yet be equal
//! (jsonb `1` and `1.0`, `1 month` and `30 days`). Arrow tells such values apart, so rows are grouped by the key that
//! they compare by, and each group shows the first of its values.

use datafusion::common::{Column, NullEquality};
use datafusion::functions_aggregate::expr_fn::first_value;
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan, LogicalPlanBuilder};

use super::binder::{Binder, Bound};
use crate::exec::datafusion_error::from_datafusion;
use crate::types::SqlType;
use crate::{Error, Result};

/// Whether equal values of the type may differ.
fn has_unlike_equals(ty: &SqlType) -> bool {
    match ty {
        SqlType::Jsonb | SqlType::Interval => true,
        SqlType::Array(item) => has_unlike_equals(item),
        _ => false,
    }
}

/// Whether rows of these types can be told apart by Arrow's own equality.
fn is_plain(types: &[SqlType]) -> bool {
    !types.iter().any(has_unlike_equals)
}

impl Binder<'_> {
    /// What the values of an expression are told apart by, when it is not the values themselves.
    pub(super) fn grouping_key(&mut self, bound: &Bound) -> Result<Option<Expr>> {
        if has_unlike_equals(&bound.ty) {
            self.order_key(bound.clone()).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Every row of a plan once. Its columns keep their names.
    pub(super) fn distinct_rows(&mut self, plan: LogicalPlan, types: &[SqlType]) -> Result<LogicalPlan> {
        if is_plain(types) {
            return LogicalPlanBuilder::new(plan)
                .distinct()
                .and_then(LogicalPlanBuilder::build)
                .map_err(from_datafusion);
        }
        let mut keys = Vec::new();
        let mut values = Vec::new();
        let mut outputs = Vec::new();
        for (column, ty) in columns_of(&plan).into_iter().zip(types) {
            let value = Expr::Column(column.clone());
            match self.grouping_key(&Bound::new(value.clone(), ty.clone()))? {
                None => {
                    outputs.push(value.clone());
                    keys.push(value);
                }
                Some(key) => {
                    let name = self.unique_name("?first");
                    keys.push(key);
                    values.push(first_value(value, Vec::new()).alias(&name));
                    let first = Expr::Column(Column::new_unqualified(name));
                    outputs.push(first.alias_qualified(column.relation.clone(), column.name));
                }
            }
        }
        LogicalPlanBuilder::new(plan)
            .aggregate(keys, values)
            .and_then(|grouped| grouped.project(outputs))
            .and_then(LogicalPlanBuilder::build)
            .map_err(from_datafusion)
    }

    /// INTERSECT (`common`) or EXCEPT of rows of these types, each row once.
    pub(super) fn set_difference(
        &mut self,
        left: LogicalPlan,
        right: LogicalPlan,
        types: &[SqlType],
        common: bool,
    ) -> Result<LogicalPlan> {
        if is_plain(types) {
            let plan = if common {
                LogicalPlanBuilder::intersect(left, right, false)
            } else {
                LogicalPlanBuilder::except(left, right, false)
            };
            return plan.map_err(from_datafusion);
        }
        let columns = columns_of(&left);
        let values: Vec<Expr> = columns.iter().cloned().map(Expr::Column).collect();
        let (left_keys, left_names) = self.named_keys(&left, types)?;
        let (right_keys, right_names) = self.named_keys(&right, types)?;
        let join = if common {
            JoinType::LeftSemi
        } else {
            JoinType::LeftAnti
        };
        let joined = (|| {
            let right = LogicalPlanBuilder::new(right).project(right_keys)?.build()?;
            LogicalPlanBuilder::new(left)
                .project(values.iter().cloned().chain(left_keys))?
                .join_detailed(
                    right,
                    join,
                    (left_names, right_names),
                    None,
                    NullEquality::NullEqualsNull,
                )?
                .project(values)?
                .build()
        })();
        self.distinct_rows(joined.map_err(from_datafusion)?, types)
    }

    /// What each column of a plan is told apart by, and the names given to that.
    fn named_keys(&mut self, plan: &LogicalPlan, types: &[SqlType]) -> Result<(Vec<Expr>, Vec<Column>)> {
        let mut keys = Vec::with_capacity(types.len());
        let mut names = Vec::with_capacity(types.len());
        for (column, ty) in columns_of(plan).into_iter().zip(types) {
            let bound = Bound::new(Expr::Column(column), ty.clone());
            let key = self.grouping_key(&bound)?.unwrap_or(bound.expr);
            let name = self.unique_name("?key");
            keys.push(key.alias(&name));
            names.push(Column::new_unqualified(name));
        }
        Ok((keys, names))
    }
}

/// Refuses to sort by a type without an order. Errors: 42883.
pub(super) fn refuse_unsortable(ty: &SqlType) -> Result<()> {
    match ty {
        SqlType::Json => Err(Error::UndefinedFunction {
            signature: "json_ordering(json)".to_string(),
            hint: Some("Could not identify an ordering operator for type json; use jsonb.".to_string()),
        }),
        _ => Ok(()),
    }
}

fn columns_of(plan: &LogicalPlan) -> Vec<Column> {
    let schema = plan.schema();
    (0..schema.fields().len())
        .map(|index| Column::from(schema.qualified_field(index)))
        .collect()
}
