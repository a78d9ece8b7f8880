//! `IncrementalSort`: a sort of rows that come in the order of its first keys already: rows that are alike in these are sorted among
//! themselves as soon as the next come, so that a LIMIT ends the read.

use arrow::array::{ArrayRef, RecordBatch};
use arrow::compute::{concat, partition};

use super::top_rows::TopRows;
use crate::{Error, Result};

/// A sort by keys of which the rows' order has the first.
pub(super) struct IncrementalSort {
    /// Rows that are alike in the first keys, so far, and whole runs before them.
    held: TopRows,
    /// How many keys the order has.
    first_keys: usize,
    /// The first keys of the last row held.
    last: Option<Vec<ArrayRef>>,
}

impl IncrementalSort {
    /// `rows`: the sort, empty.
    pub(super) fn new(rows: TopRows, first_keys: usize) -> IncrementalSort {
        IncrementalSort {
            held: rows,
            first_keys,
            last: None,
        }
    }

    /// Takes rows; answers those whose place is known by now.
    pub(super) fn push(&mut self, batch: RecordBatch) -> Result<Option<RecordBatch>> {
        let Some(last_row) = batch.num_rows().checked_sub(1) else {
            return Ok(None);
        };
        let keys = self.held.values(&batch)?;
        let first = &keys[..self.first_keys];
        let runs = partition(first).map_err(Error::arrow)?.ranges();
        let open = runs.last().map_or(0, |run| run.start);
        let part = |of: &[ArrayRef], at: usize, rows: usize| -> Vec<ArrayRef> {
            of.iter().map(|key| key.slice(at, rows)).collect()
        };
        let row = |at: usize| part(first, at, 1);
        let goes_on = match &self.last {
            Some(last) => are_alike(last, &row(0))?,
            None => true,
        };
        self.last = Some(row(last_row));
        let mut done = None;
        if open > 0 {
            self.held.hold(batch.slice(0, open), part(&keys, 0, open));
            done = self.held.finish()?;
        } else if !goes_on {
            done = self.held.finish()?;
        }
        let rest = batch.num_rows() - open;
        self.held.hold(batch.slice(open, rest), part(&keys, open, rest));
        Ok(done)
    }

    /// The rows that are left.
    pub(super) fn finish(&mut self) -> Result<Option<RecordBatch>> {
        self.held.finish()
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        self.held.bytes()
    }
}

/// Whether two rows are alike.
fn are_alike(left: &[ArrayRef], right: &[ArrayRef]) -> Result<bool> {
    let pairs = left.iter().zip(right);
    let both = pairs.map(|(left, right)| concat(&[left.as_ref(), right.as_ref()]));
    let both = both
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(Error::arrow)?;
    Ok(partition(&both).map_err(Error::arrow)?.len() == 1)
}
