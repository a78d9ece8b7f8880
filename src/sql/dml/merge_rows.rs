//! The rows of the join of a MERGE.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, UInt32Array};
use arrow::datatypes::Schema;

use super::merge_kind::Kind;
use crate::catalog::TableDef;
use crate::types::take_rows;
use crate::{Error, Result};

/// The rows that were found.
pub(super) struct Found {
    /// Whole rows of the target; NULLs where there is none.
    pub(super) target: RecordBatch,
    /// The visible columns of the target, then those of the source.
    pub(super) both: RecordBatch,
    /// The columns of the source.
    pub(super) source: RecordBatch,
    /// One each.
    pub(super) kinds: Vec<Kind>,
}

impl Found {
    /// What the expressions of a clause see.
    pub(super) fn named_by(&self, kind: Kind) -> &RecordBatch {
        match kind {
            Kind::Matched | Kind::NotMatchedBySource => &self.both,
            Kind::NotMatched => &self.source,
        }
    }
}

/// Rows of the target whose columns may be NULL, as those of no row are.
pub(super) fn nullable_rows(table: &TableDef, columns: &[ArrayRef]) -> Result<RecordBatch> {
    let fields = table.write_schema();
    let fields = fields.fields().iter();
    let fields: Vec<_> = fields
        .map(|field| field.as_ref().clone().with_nullable(true))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    RecordBatch::try_new(schema, columns.to_vec()).map_err(Error::arrow)
}

/// The wanted ones of rows.
pub(super) fn take(rows: &RecordBatch, wanted: &[u32]) -> Result<RecordBatch> {
    take_rows(rows, &UInt32Array::from(wanted.to_vec())).map_err(Error::arrow)
}
