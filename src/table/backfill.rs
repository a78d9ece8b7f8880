//! `Backfill`: columns that are computed of a table's others, given to the rows that were there before them, under the keys that these have.
//! Called by `sql::ddl::backfill`, which says when and in which transactions. To be given what it is computed to have is no write of a row: its
//! times stay, and what its entries in other indexes hold.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};

use super::carried_times::with_times;
use super::partial_rows::PartialRows;
use super::{Limits, RowEncoder};
use crate::catalog::{GeneratedColumns, TableDef, computed_column};
use crate::codec::row::{RowReader, RowWriter};
use crate::store::{Page, Write};
use crate::{Error, Result};

/// Gives rows the values of columns that they lack.
pub struct Backfill<'a> {
    table: &'a TableDef,
    generated: &'a dyn GeneratedColumns,
    /// For each column of the table whether it is one that is given.
    given: Vec<bool>,
    rows: PartialRows,
    encoder: RowEncoder<'a>,
    writer: RowWriter,
}

impl<'a> Backfill<'a> {
    /// Of the columns at these positions in `TableDef::columns`, which are generated.
    pub fn new(
        table: &'a TableDef,
        generated: &'a dyn GeneratedColumns,
        positions: &[usize],
        limits: Limits,
    ) -> Backfill<'a> {
        let mut given = vec![false; table.columns.len()];
        positions.iter().for_each(|at| given[*at] = true);
        let generations = table.generations().filter(|(at, _)| given[*at]);
        let inputs = generations.flat_map(|(_, generation)| &generation.inputs);
        let inputs = inputs.filter_map(|id| table.column_index_by_id(*id)).collect();
        Backfill {
            rows: PartialRows::new(table, inputs),
            encoder: RowEncoder::new(table, limits),
            writer: RowWriter::default(),
            table,
            generated,
            given,
        }
    }

    /// What gives the rows of a page their values, for those that have others. Errors: the expressions', `Corrupt`, 54000.
    pub fn writes(&mut self, page: &Page) -> Result<Vec<Write>> {
        let rows = self.rows.batch(page)?;
        let rows = self.with_computed(&rows)?;
        let mut writes = Vec::new();
        for (row, (key, old)) in page.iter().enumerate() {
            let mut value = self.encoder.merged_value(old, Some(&self.given), &rows, row)?;
            let reader = RowReader::new(old)?;
            if reader.write_time().or(reader.expiry()).is_some() {
                value = with_times(&mut self.writer, reader, &value)?;
            }
            if value != old {
                let key = key.to_vec();
                writes.push(Write::Put { key, value });
            }
        }
        Ok(writes)
    }

    fn with_computed(&self, rows: &RecordBatch) -> Result<RecordBatch> {
        let column = |at: usize| match self.given[at] {
            true => computed_column(self.table, self.generated, at, rows),
            false => Ok(Arc::clone(rows.column(at))),
        };
        let columns: Vec<ArrayRef> = (0..self.given.len()).map(column).collect::<Result<_>>()?;
        RecordBatch::try_new(rows.schema(), columns).map_err(Error::arrow)
    }
}
