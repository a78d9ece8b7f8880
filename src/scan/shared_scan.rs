//! `SharedScan`: one access path read by several readers, each row by one of them, in no order.
//!
//! The first reader begins with the whole path; the others wait. Whoever has read much and sees others wait cuts what it
//! has before it into pieces and gives them away. So a short scan costs nothing more, and no piece has to be cut well: a
//! large one is cut again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::array::RecordBatch;
use futures::stream::{self, BoxStream, StreamExt};
use tokio::sync::Notify;

use super::layouts::ScannedColumns;
use super::scan_metrics::ScanMetrics;
use crate::Result;
use crate::catalog::TableRegions;
use crate::plan::{AccessClass, AccessPath};
use crate::scan::executor::{BatchScan, Demand};
use crate::store::KeyRange;
use crate::txn::Transaction;

/// Rows that a reader reads of a piece before it looks whether others wait.
const ROWS_BEFORE_SHARING: usize = 2048;
/// Pieces cut for each reader: they are of different size, and whoever is done early takes another.
const PIECES_PER_READER: usize = 4;
/// A scan of more ranges begins in pieces of so many: there may be much behind few rows, where each is looked up.
const RANGES_OF_A_PIECE: usize = 64;

/// What all readers of one scan know.
pub(crate) struct SharedScan {
    txn: Arc<Transaction>,
    /// Without its ranges: each piece has its own.
    path: AccessPath,
    columns: ScannedColumns,
    metrics: Arc<ScanMetrics>,
    pieces: Mutex<Pieces>,
    /// Told when there are new pieces, or will be no more.
    changed: Notify,
}

/// Sorted, disjoint ranges of stored keys.
type Piece = Vec<KeyRange>;

struct Pieces {
    /// Not yet taken.
    left: Vec<Piece>,
    /// Readers that have one.
    reading: usize,
    /// Readers that wait for one.
    waiting: usize,
}

impl SharedScan {
    /// `None` for a path that is no walk over ranges, or one over versions.
    pub(crate) fn new(
        txn: Arc<Transaction>,
        path: &AccessPath,
        columns: ScannedColumns,
        metrics: Arc<ScanMetrics>,
    ) -> Option<Arc<SharedScan>> {
        // The versions of a row are counted by one reader.
        if path.merge.is_some() || path.table.is_of_versions() {
            return None;
        }
        let pieces = Pieces {
            left: path
                .ranges()?
                .chunks(RANGES_OF_A_PIECE)
                .map(<[KeyRange]>::to_vec)
                .rev()
                .collect(),
            reading: 0,
            waiting: 0,
        };
        Some(Arc::new(SharedScan {
            txn,
            path: path.without_ranges(),
            columns,
            metrics,
            pieces: Mutex::new(pieces),
            changed: Notify::new(),
        }))
    }

    /// The rows of one reader. All readers together give every row once; dropping one loses what it had before it.
    pub(crate) fn reader(self: &Arc<SharedScan>) -> BoxStream<'static, Result<RecordBatch>> {
        let reader = Reader {
            shared: Arc::clone(self),
            reading: None,
        };
        stream::try_unfold(reader, |mut reader| async move {
            Ok(reader.next_batch().await?.map(|batch| (batch, reader)))
        })
        .boxed()
    }

    /// A piece that nobody reads; waits while there may be one later. `None`: there will be none.
    async fn take(self: &Arc<SharedScan>) -> Option<Reading> {
        let mut waiting = None;
        loop {
            let changed = self.changed.notified();
            {
                let mut pieces = self.lock();
                if let Some(piece) = pieces.left.pop() {
                    pieces.reading += 1;
                    drop(pieces);
                    return Some(Reading {
                        scan: self.open(piece),
                        rows: 0,
                        shared: Arc::clone(self),
                    });
                }
                if pieces.reading == 0 {
                    return None;
                }
                if waiting.is_none() {
                    pieces.waiting += 1;
                    waiting = Some(Waiting(Arc::clone(self)));
                }
            }
            changed.await;
        }
    }

    fn open(&self, piece: Piece) -> BatchScan {
        let path = AccessPath {
            class: AccessClass::RangeScan {
                ranges: piece,
                whole: false,
            },
            ..self.path.clone()
        };
        BatchScan::new(
            Arc::clone(&self.txn),
            Arc::new(path),
            &self.columns,
            Demand::All,
            Arc::clone(&self.metrics),
        )
    }

    /// The ranges, cut where one region of the table ends and the next begins.
    async fn by_region(&self, ranges: Vec<KeyRange>) -> Result<Vec<KeyRange>> {
        if self.path.index != 0 {
            return Ok(ranges);
        }
        let table = &self.path.table;
        let cuts = TableRegions::read_committed(&self.txn, table).await?.cuts(table);
        let cut = ranges.into_iter().flat_map(|range| {
            let inside = |cut: &&Vec<u8>| **cut > range.start && range.contains(cut);
            let inside: Vec<Vec<u8>> = cuts.iter().filter(inside).cloned().collect();
            range.split(&inside)
        });
        Ok(cut.collect())
    }

    /// How many readers wait for pieces that nobody has made yet.
    fn in_want(&self) -> usize {
        let pieces = self.lock();
        match pieces.left.is_empty() {
            true => pieces.waiting,
            false => 0,
        }
    }

    fn give(&self, pieces: impl IntoIterator<Item = Piece>) {
        self.lock().left.extend(pieces);
        self.changed.notify_waiters();
    }

    /// Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, Pieces> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The parts of a plan's scan: each run of the plan shares one scan.
#[derive(Clone, Default)]
pub(crate) struct SharedParts(Arc<Mutex<Option<Run>>>);

/// A run that not all parts have joined yet.
struct Run {
    scan: Arc<SharedScan>,
    joined: usize,
}

impl SharedParts {
    /// The rows of the next of so many parts. `open` begins a run.
    pub(crate) fn join(
        &self,
        parts: usize,
        open: impl FnOnce() -> Option<Arc<SharedScan>>,
    ) -> Option<BoxStream<'static, Result<RecordBatch>>> {
        let mut current = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut run = match current.take() {
            Some(run) => run,
            None => Run {
                scan: open()?,
                joined: 0,
            },
        };
        let reader = run.scan.reader();
        run.joined += 1;
        *current = (run.joined < parts).then_some(run);
        Some(reader)
    }
}

impl std::fmt::Debug for SharedParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedParts").finish_non_exhaustive()
    }
}

/// One of the readers.
struct Reader {
    shared: Arc<SharedScan>,
    reading: Option<Reading>,
}

/// A piece that is being read.
struct Reading {
    scan: BatchScan,
    /// Rows read since it was last looked whether others wait.
    rows: usize,
    shared: Arc<SharedScan>,
}

impl Reader {
    /// The next batch that holds a row, or `None` at the end.
    async fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            let reading = match &mut self.reading {
                Some(reading) => reading,
                none => match self.shared.take().await {
                    Some(reading) => none.insert(reading),
                    None => return Ok(None),
                },
            };
            reading.share().await?;
            match reading.scan.next_page().await? {
                None => self.reading = None,
                Some(batch) => {
                    reading.rows += reading.scan.page_rows();
                    if batch.num_rows() > 0 {
                        return Ok(Some(batch));
                    }
                }
            }
        }
    }
}

impl Reading {
    /// Gives away most of what is left when others wait and there is much.
    async fn share(&mut self) -> Result<()> {
        let readers = match self.rows < ROWS_BEFORE_SHARING {
            true => 0,
            false => self.shared.in_want(),
        };
        // Rows that the transaction writes meanwhile would be in pieces opened later.
        if readers == 0 || self.shared.txn.has_writes() {
            return Ok(());
        }
        self.rows = 0;
        let Some(rest) = self.scan.rest() else {
            return Ok(());
        };
        let rest = self.shared.by_region(rest).await?;
        let pieces = cut(&self.shared.txn, rest, (readers + 1) * PIECES_PER_READER).await?;
        let mut pieces = pieces.into_iter();
        if let (Some(own), true) = (pieces.next(), pieces.len() > 0) {
            self.scan = self.shared.open(own);
            self.shared.give(pieces);
        }
        Ok(())
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        self.shared.lock().reading -= 1;
        self.shared.changed.notify_waiters();
    }
}

/// A reader is counted among those that wait.
struct Waiting(Arc<SharedScan>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.lock().waiting -= 1;
    }
}

/// The ranges in about so many pieces; fewer when there are few keys.
async fn cut(txn: &Transaction, ranges: Vec<KeyRange>, pieces: usize) -> Result<Vec<Piece>> {
    let mut ranges = ranges;
    if ranges.len() < pieces {
        let mut parts = Vec::new();
        for range in ranges {
            let points = txn.split_points(range.clone(), pieces).await?;
            parts.extend(range.split(&points));
        }
        ranges = parts;
    }
    let each = ranges.len().div_ceil(pieces).max(1);
    Ok(ranges.chunks(each).map(<[KeyRange]>::to_vec).collect())
}

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::Int64Type;
    use futures::TryStreamExt;

    use super::*;
    use crate::plan::tests::table_of;
    use crate::plan::{CompareOp, PlanRules, Predicate, plan_access};
    use crate::store::memory::MemoryEngine;
    use crate::store::mvcc::MvccStore;
    use crate::store::{Store, StoreOptions};
    use crate::table::{Limits, insert_rows};
    use crate::types::{SqlType, Value};

    const ROWS: i64 = 100_000;

    /// `t (n bigint PRIMARY KEY, half bigint)` with so many rows.
    async fn store() -> (Arc<dyn Store>, Arc<crate::catalog::TableDef>) {
        let engine = Arc::new(MemoryEngine::new());
        let store: Arc<dyn Store> =
            Arc::new(MvccStore::open(engine, &StoreOptions::default(), None).unwrap());
        let table = table_of("t", &[("n", SqlType::Int8), ("half", SqlType::Int8)], &[false]);
        let txn = Transaction::begin(Arc::clone(&store), 1 << 30).await.unwrap();
        let numbers = Arc::new(Int64Array::from_iter_values(0..ROWS));
        let halves = Arc::new(Int64Array::from_iter_values((0..ROWS).map(|n| n / 2)));
        let rows = RecordBatch::try_new(table.write_schema(), vec![numbers, halves]).unwrap();
        insert_rows(&txn, &table, &rows, Limits::default()).await.unwrap();
        txn.commit(false).await.unwrap();
        (store, table)
    }

    fn path(table: &Arc<crate::catalog::TableDef>, predicate: Option<&Predicate>) -> AccessPath {
        let rules = PlanRules {
            full_scan: crate::plan::FullScanPolicy::Allow,
            multi_get_keys_max: 10,
            ranges_max: 1000,
            index_hint: None,
            database: "test".into(),
        };
        plan_access(table, predicate, Default::default(), &rules).unwrap()
    }

    /// What each of so many readers reads of the first column, a batch of each in turn.
    async fn read(scan: &Arc<SharedScan>, readers: usize) -> Vec<Vec<i64>> {
        let mut streams: Vec<_> = (0..readers).map(|_| Some(scan.reader())).collect();
        let mut read = vec![Vec::new(); readers];
        while streams.iter().any(Option::is_some) {
            for (place, rows) in streams.iter_mut().zip(&mut read) {
                let Some(stream) = place else { continue };
                match futures::poll!(stream.next()) {
                    Poll::Ready(Some(batch)) => {
                        let batch = batch.unwrap();
                        rows.extend_from_slice(batch.column(0).as_primitive::<Int64Type>().values());
                    }
                    Poll::Ready(None) => *place = None,
                    Poll::Pending => tokio::task::yield_now().await,
                }
            }
        }
        read
    }

    #[tokio::test]
    async fn readers_share_a_long_scan_and_every_row_comes_once() {
        let (store, table) = store().await;
        let txn = Arc::new(Transaction::begin(store, 1 << 20).await.unwrap());
        let scan = SharedScan::new(
            txn,
            &path(&table, None),
            ScannedColumns::new(vec![0]),
            Arc::default(),
        )
        .unwrap();
        let read = read(&scan, 3).await;
        assert!(read.iter().all(|rows| !rows.is_empty()));
        let mut all = read.concat();
        all.sort_unstable();
        assert_eq!(all, (0..ROWS).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn a_filter_that_few_rows_pass_and_ranges_are_shared_too() {
        let (store, table) = store().await;
        let compare = |column, op, value| Predicate::Compare {
            column,
            op,
            value: Value::Int(value),
        };
        let low = compare(0, CompareOp::Less, 30_000);
        let high = compare(0, CompareOp::GreaterEq, 40_000);
        let few = Predicate::Or(vec![
            compare(1, CompareOp::Eq, 7),
            compare(1, CompareOp::Eq, 49_999),
        ]);
        let predicate = Predicate::And(vec![Predicate::Or(vec![low, high]), few]);
        let path = path(&table, Some(&predicate));
        assert_eq!(path.ranges().unwrap().len(), 2);
        let txn = Arc::new(Transaction::begin(store, 1 << 20).await.unwrap());
        let metrics = Arc::new(ScanMetrics::default());
        let scan = SharedScan::new(txn, &path, ScannedColumns::new(vec![0]), Arc::clone(&metrics)).unwrap();
        let mut all = read(&scan, 2).await.concat();
        all.sort_unstable();
        assert_eq!(all, [14, 15, 99_998, 99_999]);
        let rows_read = metrics.rows_read.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(rows_read, 90_000);
    }

    #[tokio::test]
    async fn a_transaction_that_has_written_reads_alone() {
        let (store, table) = store().await;
        let txn = Transaction::begin(store, 1 << 20).await.unwrap();
        txn.write(
            crate::store::Write::Put {
                key: b"elsewhere".to_vec(),
                value: Vec::new(),
            },
            None,
        )
        .unwrap();
        let scan = SharedScan::new(
            Arc::new(txn),
            &path(&table, None),
            ScannedColumns::new(vec![0]),
            Arc::default(),
        )
        .unwrap();
        let read = read(&scan, 2).await;
        assert_eq!(read[0], (0..ROWS).collect::<Vec<_>>());
        assert!(read[1].is_empty());
    }

    #[tokio::test]
    async fn a_reader_that_goes_leaves_the_others_no_wait() {
        let (store, table) = store().await;
        let txn = Arc::new(Transaction::begin(store, 1 << 20).await.unwrap());
        let scan = SharedScan::new(
            txn,
            &path(&table, None),
            ScannedColumns::new(vec![0]),
            Arc::default(),
        )
        .unwrap();
        let mut first = scan.reader();
        assert!(first.try_next().await.unwrap().is_some());
        let mut second = scan.reader();
        assert!(futures::poll!(second.next()).is_pending());
        drop(first);
        assert!(second.next().await.is_none());
    }
}
