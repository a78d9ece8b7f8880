//! `Recheck`: what a statement over one table makes of rows that others have changed since it read them. Whoever waits for a row's lock
//! goes on with the row as it is then, if the conditions still hold, as PostgreSQL does at READ COMMITTED; what it makes of all
//! other rows stays as it was read. Asked by `row_locks`.

use std::sync::{Arc, OnceLock};

use arrow::array::RecordBatch;

use super::row_expressions::RowExpressions;
use crate::catalog::TableDef;
use crate::logical::placeholder::Constants;
use crate::logical::stored_table::{ScannedTable, scanned_table};
use crate::table::RowDecoder;
use crate::tree::Plan;
use crate::txn::LockedRows;
use crate::types::interleave_rows;
use crate::{Error, Result};

/// The conditions on a table's rows, and what is made of each.
#[derive(Debug)]
pub(crate) struct Recheck {
    table: Arc<TableDef>,
    /// Positions in `TableDef::columns` of the columns that are read.
    positions: Vec<usize>,
    made: RowExpressions,
    /// Which of the columns that are made the pages have; `None`: all.
    columns: Option<Arc<[usize]>>,
}

/// That of a plan, made when the first row proves newer and kept with the plan: most runs meet none.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeptRecheck(Arc<OnceLock<Option<Recheck>>>);

impl KeptRecheck {
    /// Of a bound plan, the same each time. `columns`: see [`Recheck`]. `None`: it reads more than the rows of one table.
    pub(crate) fn of(&self, plan: &Plan, columns: Option<&Arc<[usize]>>) -> Option<&Recheck> {
        let made = self.0.get_or_init(|| Recheck::of(plan, columns.cloned()));
        made.as_ref()
    }
}

impl Recheck {
    /// Whether it can be made of a bound plan: that reads no more than the rows of one table.
    pub(crate) fn is_of(plan: &Plan) -> bool {
        plan.only_scan().and_then(scanned_table).is_some() && RowExpressions::of(plan).is_some()
    }

    fn of(plan: &Plan, columns: Option<Arc<[usize]>>) -> Option<Recheck> {
        let ScannedTable { table, positions, .. } = scanned_table(plan.only_scan()?)?;
        Some(Recheck {
            table,
            positions,
            made: RowExpressions::of(plan)?,
            columns,
        })
    }

    /// A page whose rows have these keys, those of them that are locked: with what is made now of rows that are newer than they were
    /// read; one that is gone is no row. Errors: those of the expressions.
    pub(crate) fn renewed(
        &self,
        page: &RecordBatch,
        keys: &[Vec<u8>],
        locked: &LockedRows,
        constants: &Constants,
    ) -> Result<RecordBatch> {
        let mut decoder = RowDecoder::new(&self.table, &self.positions);
        let mut fitting = Vec::with_capacity(locked.newer.len());
        for (at, place) in locked.newer.iter().enumerate() {
            if let Some(value) = locked.newest.get(at) {
                decoder.push(&keys[*place], value)?;
                fitting.push(*place);
            }
        }
        let (fits, mut made) = self.made.evaluate(&decoder.finish()?, constants)?;
        if let Some(columns) = &self.columns {
            made = made.project(columns).map_err(Error::arrow)?;
        }
        if let Some(fits) = fits {
            let mut fits = fits.iter();
            fitting.retain(|_| fits.next() == Some(Some(true)));
        }
        let row = |place: usize| match locked.newer.binary_search(&place) {
            Ok(_) => fitting.binary_search(&place).ok().map(|at| (1, at)),
            Err(_) => locked.unlocked.is_locked(place).then_some((0, place)),
        };
        let rows: Vec<(usize, usize)> = (0..page.num_rows()).filter_map(row).collect();
        interleave_rows(&[page, &made], &rows).map_err(Error::arrow)
    }
}
