//! The one executor of access paths: what both short statements and general plans read through.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::{RecordBatch, RecordBatchOptions};
use futures::stream::{self, BoxStream, StreamExt};

use super::figures::watch;
use super::layouts::{DecodedBy, ScanLayouts, ScannedColumns, layout_of};
use super::merged_scan::MergedScan;
use super::pieces::one_after_another;
use super::row_filter::{Kept, RowFilter};
use super::rows_of_entries::RowsOfEntries;
use super::scan_metrics::ScanMetrics;
use super::term_scan::TermScan;
use super::{Rows, RowsStream, StoredRows};
use crate::plan::{AccessClass, AccessPath};
use crate::store::{KeyRange, Page, ScanRequest};
use crate::system::small_scans::require_small;
use crate::table::{EntryReader, RowDecoder, RowLayout, VersionScan};
use crate::txn::{Transaction, TransactionScan};
use crate::{Error, Result};

/// Rows of a page, and so of a batch, at most. Pages start smaller, so that the first row leaves at once.
const PAGE_ROWS_MAX: usize = 2048;
/// Bytes of a page, which stays in the processor's own cache between being filled and being decoded. A batch is about as large in memory.
pub(crate) const PAGE_BYTES_MAX: usize = 128 << 10;
/// Entries at most whose rows are fetched together.
pub(crate) const ENTRIES_MAX: usize = 1024;
/// The same where all rows are wanted: sorted by their keys, more of them stand beside each other.
const ENTRIES_OF_ALL_MAX: usize = 4096;
/// Entries at least, where the rows of some may be over.
const ENTRIES_MIN: usize = 64;
/// Keys fetched by one multi-get call.
const GET_KEYS_MAX: usize = 512;

/// How many rows of those that a path gives are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Demand {
    /// All.
    All,
    /// So many at most.
    Rows(usize),
    /// Perhaps few: whoever asks stops when it has enough.
    Few,
}

impl Demand {
    /// LIMIT, if there is one.
    pub fn of_limit(limit: Option<usize>) -> Demand {
        limit.map_or(Demand::All, Demand::Rows)
    }

    fn limit(self) -> Option<usize> {
        match self {
            Demand::Rows(limit) => Some(limit),
            Demand::All | Demand::Few => None,
        }
    }
}

/// Streams the rows of an access path: these columns of them, residual applied (it must hold no `Predicate::Opaque`), as many as wanted, in key
/// order (reverse when the path says so). Nothing is read before the stream is polled; a batch a page; dropping the
/// stream stops the reading.
pub fn scan_batches(
    txn: Arc<Transaction>,
    path: Arc<AccessPath>,
    columns: ScannedColumns,
    demand: Demand,
    metrics: Arc<ScanMetrics>,
) -> BoxStream<'static, Result<RecordBatch>> {
    let figures = metrics.figures.clone();
    let parts = parts_of(path).map(move |part| {
        let scan = BatchScan::new(Arc::clone(&txn), part, &columns, demand, Arc::clone(&metrics));
        stream::try_unfold(scan, |mut scan| async move {
            Ok(scan.next_batch().await?.map(|batch| (batch, scan)))
        })
        .boxed()
    });
    let batches = one_after_another(parts, demand.limit());
    match figures {
        Some(figures) => watch(batches, &figures, RecordBatch::num_rows).boxed(),
        None => batches,
    }
}

/// The same rows as they are stored, for a path that leaves nothing to check (`residual` is `None`); a piece a page.
pub fn scan_stored(
    txn: Arc<Transaction>,
    path: Arc<AccessPath>,
    layout: Arc<RowLayout>,
    limit: Option<usize>,
    metrics: Arc<ScanMetrics>,
) -> RowsStream {
    let figures = metrics.figures.clone();
    let parts = parts_of(path).map(move |part| {
        let (columns, demand) = (layout.projection(), Demand::of_limit(limit));
        let is_covered = part.covers(columns);
        let layout = match part.index != 0 && is_covered {
            true => Arc::new(layout_of(&part, columns, true)),
            false => Arc::clone(&layout),
        };
        let scan = StoredScan {
            pages: PageScan::new(
                Arc::clone(&txn),
                Arc::clone(&part),
                ReadOf {
                    is_covered,
                    values: layout.reads_values(),
                },
                demand,
                Arc::clone(&metrics),
            ),
            page: Arc::default(),
            layout,
            wanted: limit,
        };
        stream::try_unfold(scan, |mut scan| async move {
            Ok(scan.next_rows().await?.map(|rows| (rows, scan)))
        })
        .boxed()
    });
    let rows = one_after_another(parts, limit);
    match figures {
        Some(figures) => watch(rows, &figures, Rows::num_rows).boxed(),
        None => rows,
    }
}

/// The paths that a path is read by, one after the other.
fn parts_of(path: Arc<AccessPath>) -> impl ExactSizeIterator<Item = Arc<AccessPath>> + Send {
    let parts = match &path.class {
        AccessClass::Union { parts } => parts.iter().cloned().map(Arc::new).collect(),
        _ => vec![path],
    };
    parts.into_iter()
}

/// An access path whose rows leave as they are stored.
struct StoredScan {
    pages: PageScan,
    /// What the last piece came in: filled again unless somebody still holds that piece.
    page: Arc<Page>,
    layout: Arc<RowLayout>,
    /// Rows still wanted; `None`: all.
    wanted: Option<usize>,
}

impl StoredScan {
    /// The next rows, or `None` at the end.
    async fn next_rows(&mut self) -> Result<Option<Rows>> {
        let mut page = Arc::try_unwrap(std::mem::take(&mut self.page)).unwrap_or_default();
        if self.wanted == Some(0) || !self.pages.next_page(&mut page).await? {
            return Ok(None);
        }
        page.truncate(self.wanted.unwrap_or(usize::MAX));
        self.pages.metrics.count_rows(page.len(), page.len());
        self.wanted = self.wanted.map(|wanted| wanted - page.len());
        self.page = Arc::new(page);
        let rows = StoredRows::new(Arc::clone(&self.page), Arc::clone(&self.layout));
        Ok(Some(Rows::Stored(rows)))
    }
}

/// The pages of an access path: of rows, or of entries that cover what is read.
struct PageScan {
    txn: Arc<Transaction>,
    path: Arc<AccessPath>,
    metrics: Arc<ScanMetrics>,
    source: Source,
    /// What makes rows of entries, where entries are read and do not cover.
    rows: Option<Box<RowsOfEntries>>,
    /// Entries that came out of ranges so far.
    rows_read: u64,
}

/// Where the rows come from.
enum Source {
    /// Nothing more to read.
    Done,
    /// Keys to fetch from `next` on, in the order of the answer.
    Keys { next: usize },
    /// Ranges not yet opened.
    Ranges(ScanRequest),
    /// An open scan.
    Scan(Box<TransactionScan>),
    /// Ranges that are merged.
    Merged(Box<MergedScan>),
    /// Terms not yet looked up.
    Terms { page_rows_max: usize },
    /// Terms whose rows are being intersected.
    OpenTerms(Box<TermScan>),
    /// Versions of rows.
    Versions(Box<VersionScan>),
}

/// What is read of what stands under the key that is read.
#[derive(Clone, Copy)]
struct ReadOf {
    /// Whether the entries of the key hold all of it.
    is_covered: bool,
    values: bool,
}

impl PageScan {
    /// `demand`: of those that the residual leaves.
    fn new(
        txn: Arc<Transaction>,
        path: Arc<AccessPath>,
        read: ReadOf,
        demand: Demand,
        metrics: Arc<ScanMetrics>,
    ) -> PageScan {
        let reader = || match &path.class {
            AccessClass::TermScan(_) => None,
            _ => Some(EntryReader::new(&path.table, path.key())),
        };
        let rows = (path.index != 0 && !read.is_covered).then(|| Box::new(RowsOfEntries::new(reader())));
        let keys_only = match rows {
            // The value of a unique index holds what leads to the row.
            Some(_) => !path.key().unique,
            None => !read.values,
        };
        let source = match &path.class {
            // Of a union only the parts are read.
            AccessClass::Empty | AccessClass::Union { .. } => Source::Done,
            _ if demand == Demand::Rows(0) => Source::Done,
            AccessClass::MultiGet { .. } => Source::Keys { next: 0 },
            AccessClass::TermScan(_) => Source::Terms {
                page_rows_max: demand
                    .limit()
                    .filter(|_| path.residual.is_none())
                    .unwrap_or(ENTRIES_MAX),
            },
            AccessClass::RangeScan { .. } | AccessClass::FullScan { .. } | AccessClass::SmallScan { .. } => {
                let ranges = path.ranges().unwrap_or_default();
                let mut request = request(&path, ranges, keys_only, demand);
                if rows.is_some() {
                    request.page_rows_max = match demand {
                        Demand::All => ENTRIES_OF_ALL_MAX,
                        _ => request.page_rows_max.min(ENTRIES_MAX),
                    };
                    if path.table.options.expiry.may_be_over() {
                        request.page_rows_max = request.page_rows_max.max(ENTRIES_MIN);
                    }
                }
                match &path.merge {
                    Some(merge) => Source::Merged(Box::new(MergedScan::new(&txn, &merge.parts, &request))),
                    None => Source::Ranges(request),
                }
            }
        };
        PageScan {
            txn,
            path,
            metrics,
            source,
            rows,
            rows_read: 0,
        }
    }

    /// Fills `page` with the next rows; `false` at the end.
    async fn next_page(&mut self, page: &mut Page) -> Result<bool> {
        let Some(mut rows) = self.rows.take() else {
            return self.next_entries(page).await;
        };
        let mut more = self.next_entries(&mut rows.entries).await?;
        while more {
            rows.fetch(&self.txn, page, &self.metrics).await?;
            if !page.is_empty() {
                break;
            }
            // Of all of them the rows are over.
            more = self.next_entries(&mut rows.entries).await?;
        }
        self.rows = Some(rows);
        Ok(more)
    }

    /// The last key read, which the last page ends with, or the entries that it was made of.
    fn last_key<'a>(&'a self, page: &'a Page) -> Option<&'a [u8]> {
        let read = self.rows.as_ref().map_or(page, |rows| &rows.entries);
        read.last().map(|(key, _)| key)
    }

    /// Fills `page` with what stands next under the key that is read; `false` at the end.
    async fn next_entries(&mut self, page: &mut Page) -> Result<bool> {
        match std::mem::replace(&mut self.source, Source::Done) {
            Source::Done => Ok(false),
            Source::Keys { next } => self.fetch_keys(next, page).await,
            Source::Ranges(request) if self.path.table.is_of_versions() => {
                require_small(&self.txn, &self.path).await?;
                let scan = Box::new(VersionScan::open(&self.txn, &self.path.table, &request)?);
                self.read_versions(scan, page).await
            }
            Source::Versions(scan) => self.read_versions(scan, page).await,
            Source::Ranges(request) => {
                require_small(&self.txn, &self.path).await?;
                let scan = Box::new(self.txn.scan(request));
                self.read_page(scan, page).await
            }
            Source::Scan(scan) => {
                // A long scan over data in memory would otherwise never let its task be cancelled.
                tokio::task::coop::consume_budget().await;
                self.read_page(scan, page).await
            }
            Source::Terms { page_rows_max } => {
                let AccessClass::TermScan(terms) = &self.path.class else {
                    return Ok(false);
                };
                let scan = TermScan::open(&self.txn, &self.path, terms, page_rows_max).await?;
                self.read_terms(Box::new(scan), page).await
            }
            Source::OpenTerms(scan) => {
                tokio::task::coop::consume_budget().await;
                self.read_terms(scan, page).await
            }
            Source::Merged(mut scan) => {
                tokio::task::coop::consume_budget().await;
                let more = scan.next_page(page).await?;
                if more {
                    self.count_page(page);
                    self.source = Source::Merged(scan);
                }
                Ok(more)
            }
        }
    }

    /// Fills `page` with the keys of the next rows that stand under terms; `false` at the end.
    async fn read_terms(&mut self, mut scan: Box<TermScan>, page: &mut Page) -> Result<bool> {
        let more = scan.next_page(page).await?;
        if more {
            self.count_page(page);
            self.source = Source::OpenTerms(scan);
        }
        Ok(more)
    }

    fn count_page(&self, page: &Page) {
        let bytes = page.size_bytes() as u64;
        self.metrics.pages.fetch_add(1, Ordering::Relaxed);
        self.metrics.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Fetches the next keys of a multi-get that have a row; `false` when there are none.
    async fn fetch_keys(&mut self, mut next: usize, page: &mut Page) -> Result<bool> {
        let AccessClass::MultiGet { keys } = &self.path.class else {
            return Ok(false);
        };
        page.clear();
        while page.is_empty() && next < keys.len() {
            let end = keys.len().min(next + GET_KEYS_MAX);
            // In reverse the window slides down from the last key.
            let window = if self.path.reverse {
                &keys[keys.len() - end..keys.len() - next]
            } else {
                &keys[next..end]
            };
            let values = self.txn.get_many(window).await?;
            for at in 0..window.len() {
                let at = if self.path.reverse {
                    window.len() - 1 - at
                } else {
                    at
                };
                if let Some(value) = values.get(at) {
                    page.push(&window[at], value);
                }
            }
            self.metrics
                .gets
                .fetch_add(window.len() as u64, Ordering::Relaxed);
            next = end;
        }
        self.metrics
            .bytes
            .fetch_add(page.size_bytes() as u64, Ordering::Relaxed);
        if next < keys.len() {
            self.source = Source::Keys { next };
        }
        Ok(!page.is_empty())
    }

    /// Reads the next page of versions; `false` at the end.
    async fn read_versions(&mut self, mut scan: Box<VersionScan>, page: &mut Page) -> Result<bool> {
        scan.next_page(page).await?;
        if page.is_empty() {
            return Ok(false);
        }
        self.note_rows(page)?;
        self.source = Source::Versions(scan);
        Ok(true)
    }

    /// Reads the next page of a range scan; `false` at the end.
    async fn read_page(&mut self, mut scan: Box<TransactionScan>, page: &mut Page) -> Result<bool> {
        scan.next_page(page).await?;
        if page.is_empty() {
            return Ok(false);
        }
        self.note_rows(page)?;
        self.source = Source::Scan(scan);
        Ok(true)
    }

    /// Counts a page of a scan. Errors: 53400 when a table that was to be small has more rows.
    fn note_rows(&mut self, page: &Page) -> Result<()> {
        self.count_page(page);
        // What the transaction has put itself is in no count.
        self.rows_read += page.len() as u64;
        self.path.require_small(self.rows_read)
    }
}

/// An access path that is being read into batches. Of rows that the residual drops only its own columns are decoded.
pub(crate) struct BatchScan {
    pages: PageScan,
    /// Filled again and again.
    page: Page,
    /// Decodes the projection, or of it what the filter does not.
    decoder: RowDecoder,
    /// What applies the residual, if there is one.
    filter: Option<Filtered>,
    /// Rows still wanted; `None`: all.
    wanted: Option<usize>,
}

/// A residual under way.
struct Filtered {
    filter: RowFilter,
    layouts: Arc<ScanLayouts>,
}

impl BatchScan {
    pub(crate) fn new(
        txn: Arc<Transaction>,
        path: Arc<AccessPath>,
        columns: &ScannedColumns,
        demand: Demand,
        metrics: Arc<ScanMetrics>,
    ) -> BatchScan {
        let layouts = columns.layouts(&path);
        let read = ReadOf {
            is_covered: layouts.is_covered,
            values: layouts.reads_values,
        };
        BatchScan {
            pages: PageScan::new(txn, path, read, demand, metrics),
            page: Page::new(),
            decoder: RowDecoder::with_layout(Arc::clone(&layouts.others)),
            filter: Filtered::new(&layouts),
            wanted: demand.limit(),
        }
    }

    /// The next batch that holds a row, or `None` at the end.
    async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(batch) = self.next_page().await? {
            if batch.num_rows() > 0 {
                return Ok(Some(batch));
            }
        }
        Ok(None)
    }

    /// What the next page leaves, which may be no row at all; `None` at the end.
    pub(crate) async fn next_page(&mut self) -> Result<Option<RecordBatch>> {
        if self.wanted == Some(0) || !self.pages.next_page(&mut self.page).await? {
            return Ok(None);
        }
        self.batch().map(Some)
    }

    /// Rows of the last page.
    pub(crate) fn page_rows(&self) -> usize {
        self.page.len()
    }

    /// What is behind the last page, in the order of the key; `None` when that cannot be told.
    pub(crate) fn rest(&self) -> Option<Vec<KeyRange>> {
        let last = self.pages.last_key(&self.page)?;
        let path = &self.pages.path;
        match path.reverse {
            true => None,
            false => Some(KeyRange::all_behind(path.ranges()?, last)),
        }
    }

    /// The rows of the page: filtered, cut to the rows wanted, projected.
    fn batch(&mut self) -> Result<RecordBatch> {
        let wanted = self.wanted.unwrap_or(usize::MAX);
        let batch = match (&mut self.filter, &self.pages.path.residual) {
            (Some(filtered), Some(residual)) => {
                let kept = filtered.filter.kept(&self.page, residual, wanted)?;
                let others = decode(&mut self.decoder, &self.page, kept.rows.iter().copied())?;
                filtered.put_together(&kept, &others)?
            }
            _ => decode(&mut self.decoder, &self.page, 0..self.page.len().min(wanted))?,
        };
        self.wanted = self.wanted.map(|wanted| wanted - batch.num_rows());
        self.pages.metrics.count_rows(self.page.len(), batch.num_rows());
        Ok(batch)
    }
}

impl Filtered {
    /// `None`: there is no residual.
    fn new(layouts: &Arc<ScanLayouts>) -> Option<Filtered> {
        let filtered = layouts.filtered.as_ref()?;
        Some(Filtered {
            filter: RowFilter::new(Arc::clone(&filtered.own), filtered.given),
            layouts: Arc::clone(layouts),
        })
    }

    fn put_together(&self, kept: &Kept, others: &RecordBatch) -> Result<RecordBatch> {
        let Some(filtered) = &self.layouts.filtered else {
            return Ok(others.clone());
        };
        let columns = filtered.columns.iter().map(|column| match column {
            DecodedBy::Filter(at) => Arc::clone(&kept.columns[*at]),
            DecodedBy::Others(at) => Arc::clone(others.column(*at)),
        });
        let options = RecordBatchOptions::new().with_row_count(Some(others.num_rows()));
        RecordBatch::try_new_with_options(Arc::clone(&filtered.schema), columns.collect(), &options)
            .map_err(Error::arrow)
    }
}

/// Rows of a page as a batch.
fn decode(
    decoder: &mut RowDecoder,
    page: &Page,
    mut rows: impl ExactSizeIterator<Item = usize>,
) -> Result<RecordBatch> {
    if decoder.schema().fields().is_empty() {
        // To be counted only: nothing of them is looked at.
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        return RecordBatch::try_new_with_options(Arc::clone(decoder.schema()), Vec::new(), &options)
            .map_err(Error::arrow);
    }
    decoder.reserve(rows.len());
    rows.try_for_each(|at| decoder.push_entry(page.entry(at)))?;
    decoder.finish()
}

/// The store request for ranges of one key.
fn request(path: &AccessPath, ranges: &[KeyRange], keys_only: bool, demand: Demand) -> ScanRequest {
    let exact_limit = if path.residual.is_none() {
        demand.limit()
    } else {
        None
    };
    ScanRequest {
        ranges: ranges.to_vec(),
        reverse: path.reverse,
        keys_only,
        read_ahead: demand == Demand::All,
        page_rows_max: exact_limit.unwrap_or(PAGE_ROWS_MAX).min(PAGE_ROWS_MAX),
        page_bytes_max: PAGE_BYTES_MAX,
    }
}
