//! `CommonRows`: what a part of a statement's WITH clause gives to the parts that name it, made once a run. The name is known when those
//! are bound, the rows when they run: plans, which may be kept, know them by their place among those of the statement.

use std::sync::{Arc, OnceLock};

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::datatypes::{Schema, SchemaRef};

use crate::types::SqlType;
use crate::{Error, Result};

/// A column of a part.
#[derive(Debug, Clone, PartialEq)]
pub struct CommonColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: SqlType,
    /// The table's oid and the attribute number, of what is a table's column unchanged.
    pub origin: Option<(u32, i16)>,
}

/// The rows of one part.
#[derive(Debug, Clone)]
pub struct CommonRows {
    /// Its name.
    pub name: String,
    /// Its columns, and the columns of tables that they are. `None`: a write that returns nothing, which nobody may read.
    pub columns: Option<Vec<CommonColumn>>,
    /// The rows of the run, once the part has run.
    rows: Arc<OnceLock<Arc<[RecordBatch]>>>,
}

impl CommonRows {
    /// Of a part that has not run.
    pub fn new(name: String, columns: Option<Vec<CommonColumn>>) -> CommonRows {
        CommonRows {
            name,
            columns,
            rows: Arc::default(),
        }
    }

    /// Whether a statement that was bound with the one may run with the other.
    pub fn is_like(&self, other: &CommonRows) -> bool {
        self.name == other.name && self.columns == other.columns
    }

    /// The same part in another run.
    pub fn anew(&self) -> CommonRows {
        CommonRows::new(self.name.clone(), self.columns.clone())
    }

    /// The schema of its rows. Names may repeat, so that fields are called by their places.
    pub fn schema(&self) -> SchemaRef {
        let columns = self.columns.iter().flatten().enumerate();
        let fields = columns.map(|(at, column)| column.ty.field(&CommonRows::field_name(at), true));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }

    /// What the schema calls a column.
    pub fn field_name(at: usize) -> String {
        format!("column{at}")
    }

    /// The rows, once they are there.
    pub(super) fn given(&self) -> Option<&Arc<[RecordBatch]>> {
        self.rows.get()
    }

    /// The rows are there: batches of columns of these types.
    pub fn fill(&self, batches: &[RecordBatch]) -> Result<()> {
        let schema = self.schema();
        let batches = batches.iter().map(|batch| {
            let columns = batch.columns().to_vec();
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options).map_err(Error::arrow)
        });
        let batches: Vec<RecordBatch> = batches.collect::<Result<_>>()?;
        match self.rows.set(batches.into()) {
            Ok(()) => Ok(()),
            Err(_) => Err(Error::internal("a part of a statement that runs twice")),
        }
    }
}
