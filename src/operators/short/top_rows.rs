//! `TopRows`: the first rows in an order. It holds everything that comes, which the run bounds.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::compute::{SortColumn, SortOptions, concat, concat_batches, lexsort_to_indices};
use datafusion_physical_expr::PhysicalExpr;

use crate::functions::evaluate::values;
use crate::logical::placeholder::Constants;
use crate::operators::computed::Computed;
use crate::types::take_rows;
use crate::{Error, Result};

/// A key of a sort, of `Step::Sort` and of the rows that it keeps.
#[derive(Debug)]
pub(super) struct SortKey {
    pub(super) computed: Computed,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
}

/// The first `wanted` rows by `keys`; those that the keys do not tell apart stay in the order they came in.
pub(super) struct TopRows {
    keys: Vec<(Arc<dyn PhysicalExpr>, SortOptions)>,
    wanted: usize,
    batches: Vec<RecordBatch>,
    /// The keys' values of each batch.
    values: Vec<Vec<ArrayRef>>,
}

impl TopRows {
    /// Errors: 42P02.
    pub(super) fn new(keys: &[SortKey], wanted: usize, constants: &Constants) -> Result<TopRows> {
        let key = |key: &SortKey| {
            let options = SortOptions {
                descending: key.descending,
                nulls_first: key.nulls_first,
            };
            Ok((key.computed.bind(constants)?, options))
        };
        Ok(TopRows {
            keys: keys.iter().map(key).collect::<Result<_>>()?,
            wanted,
            batches: Vec::new(),
            values: Vec::new(),
        })
    }

    pub(super) fn push(&mut self, batch: RecordBatch) -> Result<()> {
        let values = self.values(&batch)?;
        self.hold(batch, values);
        Ok(())
    }

    /// What the keys are of these rows.
    pub(super) fn values(&self, batch: &RecordBatch) -> Result<Vec<ArrayRef>> {
        self.keys.iter().map(|(key, _)| values(key, batch)).collect()
    }

    /// Takes rows of which it is known what the keys are.
    pub(super) fn hold(&mut self, batch: RecordBatch, values: Vec<ArrayRef>) {
        self.values.push(values);
        self.batches.push(batch);
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        self.batches.iter().map(RecordBatch::get_array_memory_size).sum()
    }

    pub(super) fn finish(&mut self) -> Result<Option<RecordBatch>> {
        let (batches, values) = (
            std::mem::take(&mut self.batches),
            std::mem::take(&mut self.values),
        );
        let Some(first) = batches.first() else {
            return Ok(None);
        };
        let all = concat_batches(first.schema_ref(), &batches).map_err(Error::arrow)?;
        let mut columns = Vec::with_capacity(self.keys.len() + 1);
        for (at, (_, options)) in self.keys.iter().enumerate() {
            let parts: Vec<&dyn arrow::array::Array> =
                values.iter().map(|values| values[at].as_ref()).collect();
            columns.push(SortColumn {
                values: concat(&parts).map_err(Error::arrow)?,
                options: Some(*options),
            });
        }
        let rows = u32::try_from(all.num_rows()).map_err(|_| Error::internal("a short sort of many rows"))?;
        columns.push(SortColumn {
            values: Arc::new(UInt32Array::from_iter_values(0..rows)),
            options: None,
        });
        let order = lexsort_to_indices(&columns, Some(self.wanted)).map_err(Error::arrow)?;
        take_rows(&all, &order).map(Some).map_err(Error::arrow)
    }
}
