//! `Recheck`: what a statement over one table makes of rows that others have changed since it read them. Whoever waits for a row's lock
//! goes on with the row as it is then, if the conditions still hold, as PostgreSQL does at READ COMMITTED; what it makes of all
//! other rows stays as it was read. Asked by `row_locks`.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::compute::interleave_record_batch;

use super::row_expressions::RowExpressions;
use crate::catalog::TableDef;
use crate::logical::placeholder::Constants;
use crate::logical::stored_table::{ScannedTable, scanned_table};
use crate::store::Values;
use crate::table::RowDecoder;
use crate::tree::{Plan, TableScan};
use crate::{Error, Result};

/// The conditions on a table's rows, and what is made of each.
#[derive(Debug)]
pub(crate) struct Recheck {
    table: Arc<TableDef>,
    /// Positions in `TableDef::columns` of the columns that are read.
    positions: Vec<usize>,
    made: RowExpressions,
}

/// Rows as they are now: their keys, and what is committed under them.
#[derive(Debug)]
pub(crate) struct NewerRows<'a> {
    /// Their places in the page that was read, rising.
    pub(crate) places: &'a [usize],
    /// The keys of the page's rows.
    pub(crate) keys: &'a [Vec<u8>],
    /// One a place.
    pub(crate) values: &'a Values,
}

impl Recheck {
    /// Of a bound plan. `None`: it reads more than the rows of one table.
    pub(crate) fn of(plan: &Plan) -> Option<Recheck> {
        let ScannedTable { table, positions, .. } = scanned_table(only_scan(plan)?)?;
        let made = RowExpressions::of(plan)?;
        Some(Recheck {
            table,
            positions,
            made,
        })
    }

    /// The page with what is made now of rows that are newer; of the others those that are `kept`. `columns`: which of those that are made
    /// the page has (`None`: all). Errors: those of the expressions; a row that is gone is no row.
    pub(crate) fn renewed(
        &self,
        page: &RecordBatch,
        kept: impl Fn(usize) -> bool,
        newer: &NewerRows<'_>,
        columns: Option<&[usize]>,
        constants: &Constants,
    ) -> Result<RecordBatch> {
        let mut decoder = RowDecoder::new(&self.table, &self.positions);
        let mut there = Vec::with_capacity(newer.places.len());
        for (at, place) in newer.places.iter().enumerate() {
            if let Some(value) = newer.values.get(at) {
                decoder.push(&newer.keys[*place], value)?;
                there.push(*place);
            }
        }
        let (fits, mut made) = self.made.evaluate(&decoder.finish()?, constants)?;
        if let Some(columns) = columns {
            made = made.project(columns).map_err(Error::arrow)?;
        }
        if let Some(fits) = fits {
            let mut fits = fits.iter();
            there.retain(|_| fits.next() == Some(Some(true)));
        }
        let mut rows = Vec::with_capacity(page.num_rows());
        for place in 0..page.num_rows() {
            match (newer.places.binary_search(&place), there.binary_search(&place)) {
                (Ok(_), Ok(at)) => rows.push((1, at)),
                (Err(_), _) if kept(place) => rows.push((0, place)),
                _ => {}
            }
        }
        interleave_record_batch(&[page, &made], &rows).map_err(Error::arrow)
    }
}

/// The scan of a plan that has no other.
fn only_scan(plan: &Plan) -> Option<&TableScan> {
    match plan {
        Plan::TableScan(scan) => Some(scan),
        Plan::Projection(projection) => only_scan(&projection.input),
        Plan::Filter(filter) => only_scan(&filter.input),
        Plan::SubqueryAlias(alias) => only_scan(&alias.input),
        _ => None,
    }
}
