//! Filters. Called by `builder`.

use std::sync::Arc;

use datafusion_common::Result as DataFusionResult;
use datafusion_physical_plan::filter::FilterExecBuilder;

use super::exprs::waited_for;
use super::{Builder, Operator};
use crate::functions::evaluate::calls_that_act;
use crate::operators::row_by_row::RowByRow;
use crate::tree::Filter;

/// Of a hundred rows so many are thought to satisfy a condition.
const SELECTIVITY_PERCENT: u8 = 20;

impl Builder<'_> {
    /// The rows of the input for which the condition is true.
    pub(super) fn filter(&self, filter: &Filter, input: Operator) -> DataFusionResult<Operator> {
        let own = input.schema().fields().len();
        let condition = self.expr(&filter.predicate, filter.input.schema())?;
        // Of rows that nobody asks for it calls nothing.
        let goes_by_row = self.may_end && calls_that_act(&condition) > 0;
        let input = if goes_by_row { RowByRow::of(input) } else { input };
        let (mut conditions, input) = waited_for(vec![condition], input)?;
        let waits = input.schema().fields().len() > own;
        let mut builder = FilterExecBuilder::new(conditions.swap_remove(0), input);
        if waits {
            builder = builder.apply_projection(Some((0..own).collect()))?;
        }
        let batch_rows = match goes_by_row {
            true => 1,
            false => self.planning.options().execution.batch_size.get(),
        };
        let filter = builder.with_batch_size(batch_rows).build()?;
        Ok(Arc::new(filter.with_default_selectivity(SELECTIVITY_PERCENT)?))
    }
}
