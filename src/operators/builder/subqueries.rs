//! Uncorrelated scalar subqueries: each is run once, before the plan whose expressions read its value. Called by `builder`.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion_common::Result as DataFusionResult;
use datafusion_expr::physical_planning_context::{ScalarSubqueryResults, SubqueryIndex};
use datafusion_physical_plan::scalar_subquery::{ScalarSubqueryExec, ScalarSubqueryLink};

use super::{Operator, build};
use crate::operators::physical_expr::SubqueryPlaces;
use crate::operators::planning::Planning;
use crate::operators::scalar_answer::{Failure, ScalarAnswer};
use crate::tree::{Expr, Plan, Subquery, TreeNode, TreeNodeRecursion};

/// The subqueries of one plan.
pub(super) struct ScalarSubqueries {
    plans: Vec<ScalarSubqueryLink>,
    places: Arc<SubqueryPlaces>,
}

/// The operators of those in the plan's own expressions; a subquery inside one belongs to that. Errors: those of building.
pub(super) async fn build_scalar(plan: &Plan, planning: &Planning) -> DataFusionResult<ScalarSubqueries> {
    let mut plans = Vec::new();
    let mut indexes = HashMap::new();
    for subquery in uncorrelated(plan)? {
        if indexes.contains_key(&subquery) {
            continue;
        }
        let index = SubqueryIndex::new(plans.len());
        let failure = Failure::default();
        let plan = build(&subquery.subquery, planning).await?;
        let plan = Arc::new(ScalarAnswer::of(plan, failure.clone()));
        plans.push(ScalarSubqueryLink { plan, index });
        indexes.insert(subquery, (index, failure));
    }
    let results = ScalarSubqueryResults::new(plans.len());
    Ok(ScalarSubqueries {
        plans,
        places: Arc::new(SubqueryPlaces { indexes, results }),
    })
}

impl ScalarSubqueries {
    /// Where expressions find their values.
    pub(super) fn places(&self) -> Arc<SubqueryPlaces> {
        Arc::clone(&self.places)
    }

    /// The plan, for which they are run.
    pub(super) fn around(self, plan: Operator) -> Operator {
        match self.plans.is_empty() {
            true => plan,
            false => Arc::new(ScalarSubqueryExec::new(
                plan,
                self.plans,
                self.places.results.clone(),
            )),
        }
    }
}

fn uncorrelated(plan: &Plan) -> DataFusionResult<Vec<Subquery>> {
    let mut subqueries = Vec::new();
    plan.apply(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if let Expr::ScalarSubquery(subquery) = expr
                    && subquery.outer_ref_columns.is_empty()
                {
                    subqueries.push(subquery.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(subqueries)
}
