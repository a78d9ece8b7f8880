//! `DependentJoin`: rows with the answers of subqueries whose plans refer to each row's columns. What cannot be decorrelated (or would
//! be answered otherwise than by PostgreSQL) is run once for every distinct set of outer values, with those values as constants, so
//! that keyed reads stay keyed.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};

use super::column::{Column, RelationAlias};
use super::expr::{Expr, bare_field};
use super::plan::Plan;
use super::row_schema::{RowSchema, RowSchemaRef, nullable};

/// What a subquery's rows become.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SubPlanKind {
    /// The one value of its one row; NULL when there is no row; 21000 when there are several.
    Scalar,
    /// Whether there is a row.
    Exists {
        /// NOT EXISTS.
        negated: bool,
    },
    /// Whether the operand is among the rows, with three-valued logic.
    In {
        /// What is looked for.
        operand: Expr,
        /// NOT IN.
        negated: bool,
    },
    /// The rows themselves, beside each row of the input: a lateral join.
    Rows {
        /// A row without matches stays, with NULLs (LEFT JOIN LATERAL).
        keep_left: bool,
        /// The columns of the rows.
        schema: RowSchemaRef,
    },
}

/// A subquery that depends on columns of the input.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SubPlan {
    /// Its plan: outer columns are `Expr::OuterReferenceColumn`.
    pub plan: Arc<Plan>,
    /// What becomes of its rows.
    pub kind: SubPlanKind,
    /// The outer columns as the plan names them, and their values over the input.
    pub bindings: Vec<(Column, Expr)>,
    /// Where its answer is looked at: it is asked for no other rows, and NULL there. `None`: everywhere. Not for `Rows`.
    pub asked_when: Option<Expr>,
    /// The output column's name (not for `Rows`).
    pub name: String,
}

/// Its columns are the input's, then one a subquery (or, for `Rows`, its columns).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DependentJoin {
    pub(crate) input: Arc<Plan>,
    pub(crate) sub_plans: Vec<SubPlan>,
    pub(crate) schema: RowSchemaRef,
}

impl DependentJoin {
    /// Over `input`.
    pub fn new(input: Arc<Plan>, sub_plans: Vec<SubPlan>) -> DependentJoin {
        DependentJoin {
            schema: schema_of(input.schema(), &sub_plans),
            input,
            sub_plans,
        }
    }

    /// The columns, of another input.
    pub(super) fn renew_schema(&mut self) {
        self.schema = schema_of(self.input.schema(), &self.sub_plans);
    }
}

fn schema_of(input: &RowSchema, sub_plans: &[SubPlan]) -> RowSchemaRef {
    let mut fields: Vec<(Option<RelationAlias>, FieldRef)> = input
        .iter()
        .map(|(relation, field)| (relation.cloned(), Arc::clone(field)))
        .collect();
    for sub_plan in sub_plans {
        let ty = match &sub_plan.kind {
            SubPlanKind::Rows { schema, .. } => {
                fields.extend(
                    schema
                        .iter()
                        .map(|(relation, field)| (relation.cloned(), nullable(field))),
                );
                continue;
            }
            SubPlanKind::Scalar => sub_plan.plan.schema().field(0).data_type().clone(),
            SubPlanKind::Exists { .. } | SubPlanKind::In { .. } => DataType::Boolean,
        };
        fields.push((None, bare_field(&sub_plan.name, ty, true)));
    }
    Arc::new(RowSchema::new(fields))
}
