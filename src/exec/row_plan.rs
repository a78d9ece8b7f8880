//! `RowPlan`: what a write computes of rows in memory, planned; `RowPlans`: those that a statement keeps.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{BooleanArray, RecordBatch};
use arrow::datatypes::SchemaRef;

use super::placeholder::Constants;
use super::plan_cache::PlanCache;
use super::short::{RowExpressions, side_by_side};
use super::{OutputColumn, StatementContext};
use crate::Result;
use crate::types::SqlType;

/// Expressions over rows in memory with their types.
#[derive(Debug)]
pub struct RowPlan {
    /// The schemas of the relations that the rows are of.
    pub relations: Vec<SchemaRef>,
    /// The select list's columns.
    pub columns: Vec<OutputColumn>,
    /// The types of `$1` …
    pub parameters: Vec<SqlType>,
    /// What is evaluated.
    pub expressions: RowExpressions,
}

impl RowPlan {
    /// Which rows satisfy the condition (`None`: all), and the select list of these. Errors: the expressions'.
    pub fn evaluate(
        &self,
        ctx: &StatementContext,
        relations: &[&RecordBatch],
    ) -> Result<(Option<BooleanArray>, RecordBatch)> {
        let constants = Constants::new(ctx, &self.parameters)?;
        self.expressions.evaluate(&side_by_side(relations)?, &constants)
    }

    fn fits(&self, ctx: &StatementContext, relations: &[&RecordBatch]) -> bool {
        let schemas = relations.iter().map(|rows| rows.schema_ref());
        *ctx.parameter_types == *self.parameters && self.relations.iter().eq(schemas)
    }
}

/// Where in a statement the expressions stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowSite {
    /// SET.
    Assignments,
    /// RETURNING.
    Returning,
    /// The default of the column at this position.
    Default(usize),
}

/// The plans of a statement, kept as long as catalog and settings are the same.
#[derive(Debug, Default, Clone)]
pub struct RowPlans(PlanCache<Mutex<HashMap<RowSite, Arc<RowPlan>>>>);

impl RowPlans {
    /// The plan, if it was made for such relations and parameters.
    pub fn get(
        &self,
        ctx: &StatementContext,
        site: RowSite,
        relations: &[&RecordBatch],
    ) -> Option<Arc<RowPlan>> {
        let plans = self.0.get(ctx)?;
        let plan = plans
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&site)
            .cloned();
        plan.filter(|plan| plan.fits(ctx, relations))
    }

    /// Keeps a plan that was made in this context.
    pub fn set(&self, ctx: &StatementContext, site: RowSite, plan: &Arc<RowPlan>) {
        let plans = self.0.get(ctx).unwrap_or_else(|| {
            let plans = Arc::default();
            self.0.set(ctx, &plans);
            plans
        });
        let mut plans = plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.insert(site, Arc::clone(plan));
    }
}
