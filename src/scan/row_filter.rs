//! `RowFilter`: which rows of a page the residual of an access path keeps. Decodes the columns that it reads and no others. Called by
//! `scan`.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BooleanArray};
use arrow::compute::filter;

use super::residual;
use crate::plan::Predicate;
use crate::store::Page;
use crate::table::{RowDecoder, RowLayout};
use crate::{Error, Result};

/// Applies one residual to page after page.
pub(crate) struct RowFilter {
    layout: Arc<RowLayout>,
    /// So many of its columns, the first ones, are wanted of the rows that are kept.
    wanted: usize,
    decoder: RowDecoder,
}

/// Rows that are kept.
pub(crate) struct Kept {
    /// Their places in the page.
    pub(crate) rows: Vec<usize>,
    /// The wanted columns of the layout, for these rows.
    pub(crate) columns: Vec<ArrayRef>,
}

impl RowFilter {
    /// `layout`: of the columns that the residual reads, of which the first `wanted` are given of rows that are kept.
    pub(crate) fn new(layout: Arc<RowLayout>, wanted: usize) -> RowFilter {
        RowFilter {
            decoder: RowDecoder::with_layout(Arc::clone(&layout)),
            layout,
            wanted,
        }
    }

    /// The rows of a page that the residual keeps, the first `rows_max` of them. Errors: `Corrupt`, and those of comparing.
    pub(crate) fn kept(&mut self, page: &Page, residual: &Predicate, rows_max: usize) -> Result<Kept> {
        self.decoder.reserve(page.len());
        (0..page.len()).try_for_each(|at| self.decoder.push_entry(page.entry(at)))?;
        let batch = self.decoder.finish()?;
        let columns = self.layout.projection();
        let keep = residual::evaluate(residual, &batch, &|column| {
            let place = columns.iter().position(|&decoded| decoded == column);
            place.expect("every column of the residual is decoded")
        })?;
        let rows: Vec<usize> = places(&keep).take(rows_max).collect();
        let of_kept = |column: &ArrayRef| match rows.len() == page.len() {
            true => Ok(Arc::clone(column)),
            false => Ok(filter(column, &keep).map_err(Error::arrow)?.slice(0, rows.len())),
        };
        let columns = batch.columns()[..self.wanted]
            .iter()
            .map(of_kept)
            .collect::<Result<_>>()?;
        Ok(Kept { rows, columns })
    }
}

/// Where it is true.
fn places(keep: &BooleanArray) -> impl Iterator<Item = usize> {
    let is_true = |at: &usize| keep.is_valid(*at);
    keep.values().set_indices().filter(is_true)
}
