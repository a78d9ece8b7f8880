//! The one executor of access paths: what both the direct path and DataFusion's plans read through.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use futures::stream::{self, BoxStream, StreamExt};

use super::residual;
use crate::Result;
use crate::plan::{AccessClass, AccessPath, Predicate};
use crate::store::{KeyRange, Page, ScanRequest};
use crate::table::{RowDecoder, row_schema};
use crate::txn::{Transaction, TransactionScan};

/// Rows of a page, and so of a batch, at most. Pages start smaller, so that the first row leaves at once.
const PAGE_ROWS_MAX: usize = 4096;
/// Bytes of a page: a batch is about as large in memory.
const PAGE_BYTES_MAX: usize = 1 << 20;
/// Keys fetched by one multi-get call.
const GET_KEYS_MAX: usize = 512;

/// What a scan read, for EXPLAIN ANALYZE.
#[derive(Debug, Default)]
pub struct ScanMetrics {
    /// Pages of ranges read.
    pub pages: AtomicU64,
    /// Keys fetched by multi-get.
    pub gets: AtomicU64,
    /// Rows read, before the residual filter.
    pub rows_read: AtomicU64,
    /// Rows that satisfied the residual filter.
    pub rows: AtomicU64,
    /// Bytes of keys and values read.
    pub bytes: AtomicU64,
}

/// Streams the rows of an access path: columns at `projection` (positions in `TableDef::columns`; may be empty, then
/// batches have only a row count), residual applied (it must hold no `Predicate::Opaque`), at most `limit` rows, in key
/// order (reverse when the path says so). Nothing is read before the stream is polled; a batch a page; dropping the
/// stream stops the reading.
pub fn scan_batches(
    txn: Arc<Transaction>,
    path: Arc<AccessPath>,
    projection: Vec<usize>,
    limit: Option<usize>,
    metrics: Arc<ScanMetrics>,
) -> BoxStream<'static, Result<RecordBatch>> {
    let scan = AccessScan::new(txn, path, projection, limit, metrics);
    stream::try_unfold(scan, |mut scan| async move {
        Ok(scan.next_batch().await?.map(|batch| (batch, scan)))
    })
    .boxed()
}

/// An access path that is being read.
struct AccessScan {
    txn: Arc<Transaction>,
    path: Arc<AccessPath>,
    metrics: Arc<ScanMetrics>,
    /// Columns decoded: the projection, then those that only the residual needs.
    decoded: Vec<usize>,
    decoder: RowDecoder,
    /// The schema of the projection alone.
    schema: SchemaRef,
    /// Rows still wanted; `None`: all.
    wanted: Option<usize>,
    source: Source,
}

/// Where the rows come from.
enum Source {
    /// Nothing more to read.
    Done,
    /// Keys to fetch from `next` on, in the order of the answer.
    Keys { next: usize },
    /// Ranges not yet opened.
    Ranges(ScanRequest),
    /// An open scan and the page it fills again and again.
    Scan(Box<TransactionScan>, Page),
}

impl AccessScan {
    fn new(
        txn: Arc<Transaction>,
        path: Arc<AccessPath>,
        projection: Vec<usize>,
        limit: Option<usize>,
        metrics: Arc<ScanMetrics>,
    ) -> AccessScan {
        let schema = row_schema(&path.table, &projection);
        let mut decoded = projection;
        if let Some(residual) = &path.residual {
            residual.for_each_column(&mut |column| {
                if !decoded.contains(&column) {
                    decoded.push(column);
                }
            });
        }
        let source = match &path.class {
            AccessClass::Empty => Source::Done,
            _ if limit == Some(0) => Source::Done,
            AccessClass::MultiGet { .. } => Source::Keys { next: 0 },
            AccessClass::RangeScan { ranges, .. } => Source::Ranges(request(&path, ranges, &decoded, limit)),
            AccessClass::FullScan { range } => {
                Source::Ranges(request(&path, std::slice::from_ref(range), &decoded, limit))
            }
        };
        let decoder = RowDecoder::new(&path.table, &decoded);
        AccessScan {
            txn,
            path,
            metrics,
            decoded,
            decoder,
            schema,
            wanted: limit,
            source,
        }
    }

    /// The next batch that holds a row, or `None` at the end.
    async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let more = match std::mem::replace(&mut self.source, Source::Done) {
                Source::Done => false,
                Source::Keys { next } => self.fetch_keys(next).await?,
                Source::Ranges(request) => {
                    let scan = Box::new(self.txn.scan(request));
                    self.read_page(scan, Page::new()).await?
                }
                Source::Scan(scan, page) => {
                    // A long scan over data in memory would otherwise never let its task be cancelled.
                    tokio::task::yield_now().await;
                    self.read_page(scan, page).await?
                }
            };
            if !more {
                return Ok(None);
            }
            let batch = self.finish_batch()?;
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
    }

    /// Fetches the next keys of a multi-get into the decoder; `false` when there are none.
    async fn fetch_keys(&mut self, next: usize) -> Result<bool> {
        let AccessClass::MultiGet { keys } = &self.path.class else {
            return Ok(false);
        };
        let end = keys.len().min(next + GET_KEYS_MAX);
        if next == end {
            return Ok(false);
        }
        // In reverse the window slides down from the last key.
        let window = if self.path.reverse {
            &keys[keys.len() - end..keys.len() - next]
        } else {
            &keys[next..end]
        };
        let values = self.txn.get_many(window).await?;
        let mut bytes = 0;
        for at in 0..window.len() {
            let at = if self.path.reverse {
                window.len() - 1 - at
            } else {
                at
            };
            if let Some(value) = values.get(at) {
                bytes += window[at].len() + value.len();
                self.decoder.push(&window[at], value)?;
            }
        }
        self.metrics
            .gets
            .fetch_add(window.len() as u64, Ordering::Relaxed);
        self.metrics.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        self.source = Source::Keys { next: end };
        Ok(true)
    }

    /// Reads the next page of a range scan into the decoder; `false` at the end.
    async fn read_page(&mut self, mut scan: Box<TransactionScan>, mut page: Page) -> Result<bool> {
        scan.next_page(&mut page).await?;
        if page.is_empty() {
            return Ok(false);
        }
        for (key, value) in page.iter() {
            self.decoder.push(key, value)?;
        }
        self.metrics.pages.fetch_add(1, Ordering::Relaxed);
        self.metrics
            .bytes
            .fetch_add(page.size_bytes() as u64, Ordering::Relaxed);
        self.source = Source::Scan(scan, page);
        Ok(true)
    }

    /// The rows decoded so far: filtered, cut to the rows wanted, projected.
    fn finish_batch(&mut self) -> Result<RecordBatch> {
        let mut batch = self.decoder.finish()?;
        self.metrics
            .rows_read
            .fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
        if let Some(residual) = &self.path.residual {
            batch = self.filter(&batch, residual)?;
        }
        if let Some(wanted) = &mut self.wanted {
            batch = batch.slice(0, batch.num_rows().min(*wanted));
            *wanted -= batch.num_rows();
            if *wanted == 0 {
                self.source = Source::Done;
            }
        }
        self.metrics
            .rows
            .fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
        let columns = batch.columns()[..self.schema.fields().len()].to_vec();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options).map_err(arrow_fault)
    }

    fn filter(&self, batch: &RecordBatch, residual: &Predicate) -> Result<RecordBatch> {
        let position = |column| self.decoded.iter().position(|&decoded| decoded == column);
        let keep = residual::evaluate(residual, batch, &|column| {
            position(column).expect("every column of the residual is decoded")
        })?;
        filter_record_batch(batch, &keep).map_err(arrow_fault)
    }
}

/// The store request for ranges of one key.
fn request(path: &AccessPath, ranges: &[KeyRange], decoded: &[usize], limit: Option<usize>) -> ScanRequest {
    let key_columns = path.table.key_columns();
    let exact_limit = if path.residual.is_none() { limit } else { None };
    ScanRequest {
        ranges: ranges.to_vec(),
        reverse: path.reverse,
        keys_only: decoded.iter().all(|column| key_columns.contains(column)),
        page_rows_max: exact_limit.unwrap_or(PAGE_ROWS_MAX).min(PAGE_ROWS_MAX),
        page_bytes_max: PAGE_BYTES_MAX,
    }
}

/// Arrow refused a batch we built ourselves: a bug in us.
fn arrow_fault(error: arrow::error::ArrowError) -> crate::Error {
    crate::Error::internal(format!("arrow: {error}"))
}
