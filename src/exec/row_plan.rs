//! `RowPlan`: what a write computes of rows in memory, planned; `RowPlans`: those that a statement keeps.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};

use super::OutputColumn;
use super::placeholder::Constants;
use super::plan_cache::{PlanBasis, PlanCache};
use crate::types::SqlType;
use crate::{Error, Result};

/// Expressions over rows, one relation's columns after the other's.
pub trait RowEvaluator: fmt::Debug + Send + Sync {
    /// Which rows satisfy the condition (`None`: all), and the select list of these. Errors: the expressions', 42P02.
    fn evaluate(
        &self,
        rows: &RecordBatch,
        constants: &Constants,
    ) -> Result<(Option<BooleanArray>, RecordBatch)>;
}

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
    pub expressions: Box<dyn RowEvaluator>,
}

impl RowPlan {
    /// Which rows satisfy the condition (`None`: all), and the select list of these. Errors: the expressions'.
    pub fn evaluate(
        &self,
        constants: &Constants,
        relations: &[&RecordBatch],
    ) -> Result<(Option<BooleanArray>, RecordBatch)> {
        self.expressions.evaluate(&side_by_side(relations)?, constants)
    }

    /// Whether it was made for such relations and parameters.
    pub fn fits(&self, parameters: &[SqlType], relations: &[&RecordBatch]) -> bool {
        let schemas = relations.iter().map(|rows| rows.schema_ref());
        *parameters == *self.parameters && self.relations.iter().eq(schemas)
    }
}

/// The columns of several relations, whose rows belong together, as one.
fn side_by_side(relations: &[&RecordBatch]) -> Result<RecordBatch> {
    let fields: Vec<_> = relations
        .iter()
        .flat_map(|rows| rows.schema_ref().fields().iter().cloned())
        .collect();
    let columns = relations.iter().flat_map(|rows| rows.columns().iter().cloned());
    let count = relations.first().map(|rows| rows.num_rows());
    let options = RecordBatchOptions::new().with_row_count(count);
    let schema = Arc::new(Schema::new(fields));
    RecordBatch::try_new_with_options(schema, columns.collect(), &options).map_err(Error::arrow)
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
    /// The plan that was kept for this place.
    pub fn get(&self, basis: PlanBasis<'_>, site: RowSite) -> Option<Arc<RowPlan>> {
        let plans = self.0.get(basis)?;
        let plans = plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.get(&site).cloned()
    }

    /// Keeps a plan for this place.
    pub fn set(&self, basis: PlanBasis<'_>, site: RowSite, plan: &Arc<RowPlan>) {
        let plans = self.0.get(basis).unwrap_or_else(|| {
            let plans = Arc::default();
            self.0.set(basis, &plans);
            plans
        });
        let mut plans = plans.lock().unwrap_or_else(PoisonError::into_inner);
        plans.insert(site, Arc::clone(plan));
    }
}
