//! `RunningBeside`: leaves of a chain's rows those that another chain has too (INTERSECT), or has not (EXCEPT). The other's are held as
//! the bytes by which rows are told apart, in which NULLs are the same.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::DataType;
use arrow::row::{RowConverter, Rows, SortField};
use datafusion_physical_expr::PhysicalExpr;
use futures::TryStreamExt;

use crate::functions::evaluate::values;
use crate::scan::RowsStream;
use crate::system::statement_memory::HeldBytes;
use crate::{Error, Result};

/// More rows than these are not short: a join holds them better.
const ROWS_MAX: usize = 8192;
/// What a row takes in the set beside its bytes.
const ROW_BYTES: usize = 48;

/// What rows of the two chains are compared by.
type Keys = Vec<Arc<dyn PhysicalExpr>>;

/// See the module's description.
pub(super) struct RunningBeside {
    /// The other chain's rows, as long as they are not read.
    others: Option<RowsStream>,
    other_keys: Vec<Arc<dyn PhysicalExpr>>,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    converter: RowConverter,
    stays: bool,
    held: HashSet<Box<[u8]>>,
    is_long: bool,
    memory: HeldBytes,
}

impl RunningBeside {
    /// `others`: the other chain's rows; `None` where that is long before it begins. Errors: a type of key that bytes do not tell apart.
    pub(super) fn new(
        others: Option<RowsStream>,
        (other_keys, keys): (Keys, Keys),
        types: &[DataType],
        stays: bool,
        memory: HeldBytes,
    ) -> Result<RunningBeside> {
        let fields = types.iter().map(|ty| SortField::new(ty.clone()));
        Ok(RunningBeside {
            is_long: others.is_none(),
            others,
            other_keys,
            keys,
            converter: RowConverter::new(fields.collect()).map_err(Error::arrow)?,
            stays,
            held: HashSet::new(),
            memory,
        })
    }

    /// Whether the other chain has more rows than are held: then nothing that it answered counts.
    pub(super) fn is_long(&self) -> bool {
        self.is_long
    }

    /// The rows of the batch that stay. Errors: those of the other chain, which is read first; 53200.
    pub(super) async fn push(&mut self, batch: RecordBatch) -> Result<RecordBatch> {
        if let Some(others) = self.others.take() {
            self.hold(others).await?;
        }
        let rows = self.rows(&self.keys, &batch)?;
        let stay = rows
            .iter()
            .map(|row| self.held.contains(row.data()) == self.stays);
        let stay = BooleanArray::from(stay.collect::<Vec<bool>>());
        filter_record_batch(&batch, &stay).map_err(Error::arrow)
    }

    async fn hold(&mut self, mut others: RowsStream) -> Result<()> {
        let mut bytes = 0;
        while let Some(piece) = others.try_next().await? {
            let rows = self.rows(&self.other_keys, &piece.into_batch()?)?;
            bytes += rows.size() + ROW_BYTES * rows.num_rows();
            self.memory.resize(bytes)?;
            self.held.extend(rows.iter().map(|row| Box::from(row.data())));
            if self.held.len() > ROWS_MAX {
                self.is_long = true;
                return Ok(());
            }
        }
        Ok(())
    }

    fn rows(&self, keys: &[Arc<dyn PhysicalExpr>], batch: &RecordBatch) -> Result<Rows> {
        let columns = keys.iter().map(|key| values(key, batch));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        self.converter.convert_columns(&columns).map_err(Error::arrow)
    }
}
