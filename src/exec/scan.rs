//! The one executor of access paths: what both the direct path and DataFusion's plans read through.

use std::sync::Arc;

use arrow::array::RecordBatch;
use futures::stream::BoxStream;

use crate::Result;
use crate::plan::AccessPath;
use crate::txn::Transaction;

/// Streams the rows of an access path: columns at `projection` (positions in `TableDef::columns`; may be empty, then
/// batches have only a row count), residual applied (it must hold no `Predicate::Opaque`), at most `limit` rows, in key
/// order (reverse when the path says so). Nothing is read before the stream is polled; a batch a page.
pub fn scan_batches(_txn: Arc<Transaction>, _path: Arc<AccessPath>, _projection: Vec<usize>, _limit: Option<usize>) -> BoxStream<'static, Result<RecordBatch>> { unimplemented!() }
