//! `RowExpressions`: a select list and a condition over rows in memory, ready to be evaluated: what a write computes of its
//! rows (SET, RETURNING, ON CONFLICT, defaults).

use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;

use crate::functions::evaluate::{calls_that_act, project, truth};
use crate::logical::placeholder::Constants;
use crate::operators::computed::Computed;
use crate::tree::Plan;
use crate::{Error, Result};

/// A select list and a condition over rows whose columns stand one relation after the other.
#[derive(Debug)]
pub struct RowExpressions {
    condition: Option<Computed>,
    columns: Vec<Computed>,
    schema: SchemaRef,
}

impl RowExpressions {
    /// Those of a query over relations that are joined with each other in every way. `None`: it takes more than the rows.
    pub fn of(plan: &Plan) -> Option<RowExpressions> {
        let Plan::Projection(projection) = plan else {
            return None;
        };
        let (condition, rows) = match projection.input.as_ref() {
            Plan::Filter(filter) => {
                let rows = filter.input.as_ref();
                (Some(Computed::new(&filter.predicate, rows.schema())?), rows)
            }
            rows => (None, rows),
        };
        if !is_rows(rows) {
            return None;
        }
        let columns = projection
            .expr
            .iter()
            .map(|expr| Computed::new(expr, rows.schema()));
        Some(RowExpressions {
            condition,
            columns: columns.collect::<Option<_>>()?,
            schema: Arc::clone(projection.schema.inner()),
        })
    }

    /// Whether a call in the select list does more than answer, or tells what others have done.
    pub fn acts(&self) -> bool {
        let mut columns = self.columns.iter();
        columns.any(|column| calls_that_act(column.expr()) > 0)
    }

    /// Which rows satisfy the condition (`None`: all), and the select list of these. Errors: the expressions', 42P02.
    pub fn evaluate(
        &self,
        rows: &RecordBatch,
        constants: &Constants,
    ) -> Result<(Option<BooleanArray>, RecordBatch)> {
        let kept = match &self.condition {
            Some(condition) => Some(truth(&condition.bind(constants)?, rows)?),
            None => None,
        };
        let rows = match &kept {
            Some(kept) => filter_record_batch(rows, kept).map_err(Error::arrow)?,
            None => rows.clone(),
        };
        let columns = self.columns.iter().map(|column| column.bind(constants));
        let result = project(&columns.collect::<Result<Vec<_>>>()?, &self.schema, &rows)?;
        Ok((kept, result))
    }
}

/// Whether a plan gives the columns of relations as they are.
fn is_rows(plan: &Plan) -> bool {
    match plan {
        Plan::TableScan(scan) => scan.projection.is_none() && scan.filters.is_empty(),
        Plan::SubqueryAlias(alias) => is_rows(&alias.input),
        Plan::Join(join) => {
            join.on.is_empty() && join.filter.is_none() && is_rows(&join.left) && is_rows(&join.right)
        }
        _ => false,
    }
}
