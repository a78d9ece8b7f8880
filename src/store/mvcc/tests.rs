//! Tests of `mvcc` itself: the suite over the memory engine, an engine that fails, one that waits, the undo budget.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use super::{MvccStore, WAITING_BATCHES_MAX};
use crate::store::engine::{Engine, EngineBatch, Visit};
use crate::store::memory::MemoryEngine;
use crate::store::{Batch, KeyRange, Page, ScanRequest, Snapshot, Store, Write, conformance};
use crate::{Error, Result};

fn memory_store() -> Arc<dyn Store> {
    Arc::new(MvccStore::open(Arc::new(MemoryEngine::new()), 64 << 20, None).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_memory_store_conforms() {
    conformance::check_all(memory_store).await;
}

#[tokio::test]
async fn the_memory_store_conforms_on_one_thread() {
    conformance::check_all(memory_store).await;
}

/// A memory engine whose `apply` and `make_durable` fail, wait, and lose what was not durable, as tests ask.
#[derive(Debug, Default)]
struct TestEngine {
    map: MemoryEngine,
    /// What a power cut would leave.
    durable: Mutex<BTreeMap<Vec<u8>, Vec<u8>>>,
    /// Calls of `apply` and `make_durable` so far, and the one that fails.
    calls: AtomicU64,
    fails_at: u64,
    /// While set, `make_durable` waits.
    is_held: Mutex<bool>,
    released: Condvar,
    is_waiting: AtomicBool,
}

impl TestEngine {
    fn failing_at(fails_at: u64) -> TestEngine {
        TestEngine {
            fails_at,
            ..TestEngine::default()
        }
    }

    fn fails_now(&self) -> bool {
        self.calls.fetch_add(1, Ordering::SeqCst) + 1 == self.fails_at
    }

    fn hold(&self, hold: bool) {
        *self.is_held.lock().unwrap() = hold;
        self.released.notify_all();
    }

    /// The engine as a power cut would leave it.
    fn after_power_cut(&self) -> TestEngine {
        let engine = TestEngine::default();
        let mut batch = EngineBatch::default();
        for (key, value) in &*self.durable.lock().unwrap() {
            batch.put(key, &[value]);
        }
        engine.map.apply(&batch).unwrap();
        engine
    }
}

fn disk_full() -> Error {
    Error::Io {
        action: "write".to_string(),
        reason: "no space left on device".to_string(),
    }
}

impl Engine for TestEngine {
    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.map.get(key, visit)
    }

    fn scan(&self, start: &[u8], end: Option<&[u8]>, reverse: bool, visit: Visit<'_>) -> Result<()> {
        self.map.scan(start, end, reverse, visit)
    }

    fn apply(&self, batch: &EngineBatch) -> Result<()> {
        if !self.fails_now() {
            return self.map.apply(batch);
        }
        // The worst a failing engine may do: readers see a part of the batch.
        let mut part = EngineBatch::default();
        for (key, value) in batch.iter().take(batch.len() / 2) {
            match value {
                Some(value) => part.put(key, &[value]),
                None => part.delete(key),
            }
        }
        self.map.apply(&part)?;
        Err(disk_full())
    }

    fn make_durable(&self) -> Result<()> {
        let mut is_held = self.is_held.lock().unwrap();
        while *is_held {
            self.is_waiting.store(true, Ordering::SeqCst);
            is_held = self.released.wait(is_held).unwrap();
        }
        if self.fails_now() {
            return Err(disk_full());
        }
        let mut durable = BTreeMap::new();
        self.map.scan(b"", None, false, &mut |key, value| {
            durable.insert(key.to_vec(), value.to_vec());
            ControlFlow::Continue(())
        })?;
        *self.durable.lock().unwrap() = durable;
        Ok(())
    }

    fn size_bytes(&self) -> Result<u64> {
        self.map.size_bytes()
    }

    fn close(&self) -> Result<()> {
        self.make_durable()
    }
}

fn put(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Write {
    Write::Put {
        key: key.as_ref().to_vec(),
        value: value.as_ref().to_vec(),
    }
}

fn blind(writes: Vec<Write>) -> Batch {
    Batch {
        writes,
        ..Batch::default()
    }
}

async fn rows(snapshot: &dyn Snapshot) -> Result<BTreeMap<Vec<u8>, Vec<u8>>> {
    let everything = KeyRange {
        start: Vec::new(),
        end: None,
    };
    let mut scan = snapshot.scan(ScanRequest {
        read_ahead: false,
        ranges: vec![everything],
        reverse: false,
        keys_only: false,
        page_rows_max: 1000,
        page_bytes_max: 1 << 20,
    });
    let mut rows = BTreeMap::new();
    let mut page = Page::new();
    loop {
        scan.next_page(&mut page).await?;
        if page.is_empty() {
            return Ok(rows);
        }
        rows.extend(page.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
    }
}

async fn rows_now(store: &dyn Store) -> BTreeMap<Vec<u8>, Vec<u8>> {
    rows(&*store.snapshot().await.unwrap()).await.unwrap()
}

/// Three writers, each with rows of its own that it puts, overwrites and deletes in one batch; what was acknowledged.
async fn write_until_it_fails(store: &Arc<dyn Store>) -> (BTreeMap<Vec<u8>, Vec<u8>>, Vec<Error>) {
    let writers: Vec<_> = (0..3u8)
        .map(|writer| {
            let store = Arc::clone(store);
            tokio::spawn(async move {
                let mut acknowledged = BTreeMap::new();
                for number in 0u8..100 {
                    let mut writes: Vec<Write> = (0..3).map(|part| put([writer, part], [number])).collect();
                    let mut rows: BTreeMap<_, _> =
                        (0..3).map(|part| (vec![writer, part], vec![number])).collect();
                    let (born, dies) = (3 + number % 2, 3 + (number + 1) % 2);
                    writes.push(put([writer, born], [number]));
                    writes.push(Write::Delete {
                        key: vec![writer, dies],
                    });
                    rows.insert(vec![writer, born], vec![number]);
                    match store.commit(blind(writes)).await {
                        Ok(()) => acknowledged = rows,
                        Err(error) => return (acknowledged, Some(error)),
                    }
                }
                (acknowledged, None)
            })
        })
        .collect();
    let mut acknowledged = BTreeMap::new();
    let mut errors = Vec::new();
    for writer in writers {
        let (rows, error) = writer.await.unwrap();
        acknowledged.extend(rows);
        errors.extend(error);
    }
    (acknowledged, errors)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_the_engine_failed_nothing_false_is_acknowledged_or_seen() {
    for fails_at in 1..40 {
        let engine = Arc::new(TestEngine::failing_at(fails_at));
        let store: Arc<dyn Store> =
            Arc::new(MvccStore::open(Arc::clone(&engine) as Arc<dyn Engine>, 1 << 20, None).unwrap());
        let (acknowledged, errors) = write_until_it_fails(&store).await;
        assert_eq!(errors.len(), 3, "failure {fails_at}");
        assert!(
            errors.iter().all(|error| error.sqlstate() == "58030"),
            "{errors:?}"
        );
        // Reads go on, and show exactly what was acknowledged although the engine holds a part of more.
        assert_eq!(rows_now(&*store).await, acknowledged, "failure {fails_at}");
        for relaxed in [false, true] {
            let batch = Batch {
                relaxed,
                ..blind(vec![put(b"later", b"")])
            };
            let error = store.commit(batch).await.unwrap_err();
            assert!(error.to_string().contains("no space left"), "{error}");
        }
        assert!(store.close().await.is_err());
        let engine = Arc::new(engine.after_power_cut());
        let store = MvccStore::open(engine, 1 << 20, None).unwrap();
        assert_eq!(
            rows_now(&store).await,
            acknowledged,
            "failure {fails_at}, restarted"
        );
    }
}

/// A store over an engine whose `make_durable` waits, with one batch in it and `waiting` behind that.
async fn held_store(
    waiting: u8,
) -> (
    Arc<TestEngine>,
    Arc<MvccStore>,
    Vec<tokio::task::JoinHandle<Result<()>>>,
) {
    let engine = Arc::new(TestEngine::default());
    let store = Arc::new(MvccStore::open(Arc::clone(&engine) as Arc<dyn Engine>, 1 << 20, None).unwrap());
    store.commit(blind(vec![put(b"before", b"1")])).await.unwrap();
    engine.hold(true);
    let commit = |key: u8| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            store
                .commit(blind(vec![put([key], b"1"), put(b"before", b"2")]))
                .await
        })
    };
    let mut commits = vec![commit(0)];
    while !engine.is_waiting.load(Ordering::SeqCst) {
        tokio::task::yield_now().await;
    }
    commits.extend((1..=waiting).map(commit));
    while store.places.available_permits() > WAITING_BATCHES_MAX - 1 - usize::from(waiting) {
        tokio::task::yield_now().await;
    }
    (engine, store, commits)
}

#[tokio::test]
async fn commits_that_wait_together_share_one_sync() {
    let (engine, store, commits) = held_store(20).await;
    engine.hold(false);
    for commit in commits {
        commit.await.unwrap().unwrap();
    }
    let stats = store.stats();
    // The one before, the one that was held, and one group of twenty.
    assert_eq!((stats.commits, stats.commit_groups), (22, 3));
    assert_eq!(rows_now(&*store).await.len(), 22);
}

#[tokio::test]
async fn a_commit_is_seen_only_once_it_is_durable() {
    let (engine, store, commits) = held_store(1).await;
    let expected = BTreeMap::from([(b"before".to_vec(), b"1".to_vec())]);
    let snapshot = store.snapshot().await.unwrap();
    assert_eq!(rows(&*snapshot).await.unwrap(), expected);
    assert!(commits.iter().all(|commit| !commit.is_finished()));
    engine.hold(false);
    for commit in commits {
        commit.await.unwrap().unwrap();
    }
    assert_eq!(
        rows(&*snapshot).await.unwrap(),
        expected,
        "an open snapshot stays as it was"
    );
    assert_eq!(rows_now(&*store).await.len(), 3);
}

#[tokio::test]
async fn a_relaxed_commit_does_not_wait_for_the_disk_but_reaches_it() {
    let engine = Arc::new(TestEngine::default());
    let store = MvccStore::open(Arc::clone(&engine) as Arc<dyn Engine>, 1 << 20, None).unwrap();
    engine.hold(true);
    let relaxed = Batch {
        relaxed: true,
        ..blind(vec![put(b"relaxed", b"1")])
    };
    store.commit(relaxed).await.unwrap();
    assert_eq!(rows_now(&store).await.len(), 1);
    assert!(engine.durable.lock().unwrap().is_empty());
    // No further commit comes: the committer goes to the disk by itself, and a durable commit goes behind it.
    while !engine.is_waiting.load(Ordering::SeqCst) {
        tokio::task::yield_now().await;
    }
    engine.hold(false);
    store.commit(Batch::default()).await.unwrap();
    let restarted = MvccStore::open(Arc::new(engine.after_power_cut()), 1 << 20, None).unwrap();
    assert_eq!(rows_now(&restarted).await.len(), 1);
}

#[tokio::test]
async fn above_the_undo_budget_old_snapshots_end_and_new_ones_work() {
    let budget = 64 << 10;
    let store: Arc<dyn Store> =
        Arc::new(MvccStore::open(Arc::new(MemoryEngine::new()), budget, None).unwrap());
    let writes = |value: u8| (0..20u8).map(|n| put([n], vec![value; 1000])).collect::<Vec<_>>();
    store.commit(blind(writes(0))).await.unwrap();
    let old = store.snapshot().await.unwrap();
    let mut scan = old.scan(ScanRequest {
        read_ahead: false,
        ranges: vec![KeyRange {
            start: Vec::new(),
            end: None,
        }],
        reverse: false,
        keys_only: false,
        page_rows_max: 5,
        page_bytes_max: 1 << 20,
    });
    let mut page = Page::new();
    scan.next_page(&mut page).await.unwrap();
    let mut kept = Vec::new();
    for value in 1..20 {
        store.commit(blind(writes(value))).await.unwrap();
        kept.push(store.snapshot().await.unwrap());
        assert!(store.stats().undo_bytes <= budget);
    }
    assert_eq!(old.get_many(&[vec![1]]).await.err(), Some(Error::SnapshotTooOld));
    assert_eq!(scan.next_page(&mut page).await, Err(Error::SnapshotTooOld));
    let stale = Batch {
        snapshot: Some(old),
        unchanged: vec![b"never there".to_vec()],
        ..blind(vec![put(b"other", b"")])
    };
    assert_eq!(store.commit(stale).await, Err(Error::SnapshotTooOld));
    // The newest snapshots fit the budget and are as they were.
    let newest: Vec<_> = kept.iter().zip(1u8..20).rev().take(3).collect();
    for (snapshot, value) in newest {
        let values = snapshot.get_many(&[vec![1]]).await.unwrap();
        assert_eq!(values.get(0), Some(&vec![value; 1000][..]));
    }
    drop((kept, scan));
    assert_eq!((store.stats().snapshots, store.stats().undo_bytes), (0, 0));
}

#[tokio::test]
async fn an_engine_that_lost_commits_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let watermark = || Some(super::Watermark::open(&directory.path().join("WATERMARK")).unwrap());
    let engine = Arc::new(TestEngine::default());
    let store = MvccStore::open(Arc::clone(&engine) as Arc<dyn Engine>, 1 << 20, watermark()).unwrap();
    store.commit(blind(vec![put(b"a", b"1")])).await.unwrap();
    let early = engine.after_power_cut();
    store.commit(blind(vec![put(b"a", b"2")])).await.unwrap();
    store.close().await.unwrap();
    drop(store);
    let error = MvccStore::open(Arc::new(early), 1 << 20, watermark()).unwrap_err();
    assert_eq!(error.sqlstate(), "XX001");
    let whole = MvccStore::open(Arc::new(engine.after_power_cut()), 1 << 20, watermark()).unwrap();
    assert_eq!(rows_now(&whole).await.get(&b"a"[..]), Some(&b"2".to_vec()));
}

#[tokio::test]
async fn damaged_engine_values_are_errors() {
    for (key, value) in [
        (&b""[..], &b"clock"[..]),
        (b"", b"\0\0\0\0\0\0\0\x01\0\0\0\x09"),
        (b"key", b"short"),
    ] {
        let engine = MemoryEngine::new();
        let mut batch = EngineBatch::default();
        batch.put(key, &[value]);
        engine.apply(&batch).unwrap();
        let state = match MvccStore::open(Arc::new(engine), 1 << 20, None) {
            Err(error) => error.sqlstate(),
            Ok(store) => {
                let snapshot = store.snapshot().await.unwrap();
                assert_eq!(rows(&*snapshot).await.unwrap_err().sqlstate(), "XX001");
                snapshot.get_many(&[key.to_vec()]).await.unwrap_err().sqlstate()
            }
        };
        assert_eq!(state, "XX001");
    }
}

#[tokio::test]
async fn misuse_is_an_error_not_a_panic() {
    let (store, other) = (memory_store(), memory_store());
    assert_eq!(
        store
            .commit(blind(vec![put(b"", b"1")]))
            .await
            .unwrap_err()
            .sqlstate(),
        "XX000"
    );
    let snapshots = [None, Some(other.snapshot().await.unwrap())];
    for snapshot in snapshots {
        let batch = Batch {
            snapshot,
            unchanged: vec![b"a".to_vec()],
            ..Batch::default()
        };
        assert_eq!(store.commit(batch).await.unwrap_err().sqlstate(), "XX000");
    }
    store.commit(blind(vec![put(b"a", b"1")])).await.unwrap();
}
