//! `PartialRows`: rows of which some columns are decoded, as batches of the whole table. For what is made of a few columns of many rows.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, new_null_array};
use arrow::datatypes::{FieldRef, SchemaRef};

use super::RowDecoder;
use super::rows_request::PAGE_ROWS_MAX;
use crate::catalog::TableDef;
use crate::store::Page;
use crate::{Error, Result};

/// Decodes pages of rows, of at most [`PAGE_ROWS_MAX`] each.
#[derive(Debug)]
pub(super) struct PartialRows {
    decoder: RowDecoder,
    schema: SchemaRef,
    /// Each column of the table: where it is among those decoded, or NULLs in its place.
    columns: Vec<Result<usize, ArrayRef>>,
}

impl PartialRows {
    /// For the columns at these positions in `TableDef::columns`.
    pub(super) fn new(table: &TableDef, mut wanted: Vec<usize>) -> PartialRows {
        wanted.sort_unstable();
        wanted.dedup();
        let schema = table.write_schema();
        let column = |(position, field): (usize, &FieldRef)| {
            let wanted = wanted.binary_search(&position);
            wanted.map_err(|_| new_null_array(field.data_type(), PAGE_ROWS_MAX))
        };
        PartialRows {
            decoder: RowDecoder::new(table, &wanted),
            columns: schema.fields().iter().enumerate().map(column).collect(),
            schema,
        }
    }

    /// The rows of a page; the columns that are not wanted are NULL. Errors: `Corrupt`.
    pub(super) fn batch(&mut self, page: &Page) -> Result<RecordBatch> {
        self.decoder.reserve(page.len());
        for (key, value) in page.iter() {
            self.decoder.push(key, value)?;
        }
        let decoded = self.decoder.finish()?;
        let rows = decoded.num_rows();
        let column = |column: &Result<usize, ArrayRef>| match column {
            Ok(at) => Arc::clone(decoded.column(*at)),
            Err(nulls) => nulls.slice(0, rows),
        };
        let columns = self.columns.iter().map(column).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(Error::arrow)
    }
}
