//! `RunningFilter`: the rows for which a condition is true, a batch at a time; one by one where somebody may want no more of them, and a
//! condition does something, or fails for one that comes later.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr_common::physical_expr::is_volatile;

use crate::functions::evaluate::{calls_that_act, filter};
use crate::{Error, Result};

/// A condition on its way through the rows.
pub(super) struct RunningFilter {
    condition: Arc<dyn PhysicalExpr>,
    /// What it leaves of the columns: those that only conditions read stand where steps put their own. `None`: all.
    columns: Option<Vec<usize>>,
    /// Somebody may want no row behind one that it lets through.
    may_end: bool,
    /// Rows that are asked one by one.
    rest: Option<RecordBatch>,
}

impl RunningFilter {
    /// Of all rows that come.
    pub(super) fn new(condition: Arc<dyn PhysicalExpr>, columns: Option<Vec<usize>>) -> RunningFilter {
        RunningFilter {
            condition,
            columns,
            may_end: false,
            rest: None,
        }
    }

    /// From now on somebody may want no row behind one that it lets through: they are asked one by one if asking does something.
    pub(super) fn note_end(&mut self) {
        self.may_end = calls_that_act(&self.condition) > 0;
    }

    /// Takes a batch. `None`: its rows come one by one. Errors: the condition's.
    pub(super) fn push(&mut self, batch: RecordBatch) -> Result<Option<RecordBatch>> {
        if batch.num_rows() > 1 && self.may_end {
            self.rest = Some(batch);
            return Ok(None);
        }
        match self.kept(&batch) {
            // Rows before the one that it fails for are given first.
            Err(_) if batch.num_rows() > 1 && !is_volatile(&self.condition) => {
                self.rest = Some(batch);
                Ok(None)
            }
            kept => kept.map(Some),
        }
    }

    /// Whether rows are left that are asked one by one.
    pub(super) fn has_more(&self) -> bool {
        self.rest.is_some()
    }

    /// Leaves these out.
    pub(super) fn forget(&mut self) {
        self.rest = None;
    }

    /// The next of them that it lets through, or what is left when it lets none.
    pub(super) fn next(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(batch) = self.rest.take() {
            let behind = batch.num_rows() - 1;
            self.rest = (behind > 0).then(|| batch.slice(1, behind));
            let kept = self.kept(&batch.slice(0, 1))?;
            if kept.num_rows() > 0 {
                return Ok(Some(kept));
            }
        }
        Ok(None)
    }

    fn kept(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let batch = filter(&self.condition, batch)?;
        match &self.columns {
            Some(columns) => batch.project(columns).map_err(Error::arrow),
            None => Ok(batch),
        }
    }
}
