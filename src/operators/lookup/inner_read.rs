//! `InnerRead`: what a join by lookup reads of its inner table, worked out once for all runs. Called by `table_lookup`.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::datatypes::SchemaRef;

use super::lookup_keys::{LookupKeys, RowKeys};
use super::partners::JoinedSchema;
use crate::plan::{AccessClass, AccessPath};
use crate::scan::ScannedColumns;
use crate::store::KeyRange;
use crate::table::row_schema;
use crate::{Error, Result};

/// See the module's description.
#[derive(Debug)]
pub(super) struct InnerRead {
    /// The columns it is looked up by first, then what the join gives or asks for: positions in `TableDef::columns`.
    pub(super) scanned: ScannedColumns,
    pub(super) schema: SchemaRef,
    /// Of what the join gives or asks for.
    joined_schema: SchemaRef,
    /// Whether what stands under the key that leads to rows is all that is read.
    pub(super) is_covered: bool,
    /// What is looked up is the primary key.
    pub(super) row_keys: Option<RowKeys>,
    /// What is looked up is the beginning of a key: ranges of it hold the rows, and nothing else.
    range_keys: Option<LookupKeys>,
    /// How one outer row's rows are reached.
    path: Arc<AccessPath>,
    pub(super) joined: JoinedSchema,
}

impl InnerRead {
    /// Of what is looked up by `columns`, as `path` does for one outer row, to give `positions`.
    pub(super) fn new(path: &Arc<AccessPath>, columns: &[usize], positions: &[usize]) -> InnerRead {
        let (table, read) = (&path.table, [columns, positions].concat());
        let is_of_ranges = matches!(path.class, AccessClass::RangeScan { .. })
            && path.residual.is_none()
            && path.derived.is_empty()
            && path.merge.is_none();
        let row_keys = || RowKeys::new(table, columns, positions);
        let range_keys = || LookupKeys::new(table, path.key(), columns);
        InnerRead {
            schema: row_schema(table, &read),
            joined_schema: row_schema(table, positions),
            is_covered: path.covers(&read),
            row_keys: path.is_of_row_gets().then(row_keys).flatten(),
            range_keys: is_of_ranges.then(range_keys).flatten(),
            path: Arc::clone(path),
            joined: JoinedSchema::default(),
            scanned: ScannedColumns::new(read),
        }
    }

    /// What the join gives or asks for of rows that were read.
    pub(super) fn joined_part(&self, read: &RecordBatch) -> Result<RecordBatch> {
        let first = self.scanned.positions().len() - self.joined_schema.fields().len();
        let options = RecordBatchOptions::new().with_row_count(Some(read.num_rows()));
        let (schema, columns) = (Arc::clone(&self.joined_schema), read.columns()[first..].to_vec());
        RecordBatch::try_new_with_options(schema, columns, &options).map_err(Error::arrow)
    }

    /// How many keys so many outer rows give, and the path to their rows; none where all are NULL. `None`: it takes planning.
    pub(super) fn path_to(&self, given: &[ArrayRef], rows: usize) -> Option<(usize, Option<AccessPath>)> {
        let keys = self.range_keys.as_ref().filter(|keys| keys.takes(given))?;
        let (keys, _) = keys.made(given, rows);
        let count = keys.len();
        let ranges: Vec<KeyRange> = keys.iter().map(|key| KeyRange::of_prefix(key)).collect();
        let path = (count > 0).then(|| AccessPath {
            class: AccessClass::RangeScan { ranges, whole: false },
            ..self.path.as_ref().clone()
        });
        Some((count, path))
    }
}
