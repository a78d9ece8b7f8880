//! Tests of `mvcc` itself: the suite over the memory engine, an engine that fails, one that waits, the undo budget.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use super::{BATCH_WRITES_MAX, Files, Journal, MvccStore, PIECE_WRITES_MAX, WAITING_BATCHES_MAX, Watermark};
use crate::store::engine::{Engine, EngineBatch, Visit};
use crate::store::memory::MemoryEngine;
use crate::store::{Batch, KeyRange, Page, ScanRequest, Snapshot, Store, Write, conformance};
use crate::{Error, Result};

fn files_in(directory: &Path) -> Option<Files> {
    Some(Files {
        watermark: Watermark::open(&directory.join("WATERMARK")).unwrap(),
        journal: Journal::new(directory.join("JOURNAL")),
    })
}

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
        TestEngine::holding(&self.durable.lock().unwrap())
    }

    /// The engine as the end of the process would leave it: with everything that was applied.
    fn after_crash(&self) -> TestEngine {
        TestEngine::holding(&self.entries())
    }

    fn holding(entries: &BTreeMap<Vec<u8>, Vec<u8>>) -> TestEngine {
        let engine = TestEngine::default();
        let mut batch = EngineBatch::default();
        for (key, value) in entries {
            batch.put(key, &[value]);
        }
        engine.map.apply(&batch).unwrap();
        engine
    }

    fn entries(&self) -> BTreeMap<Vec<u8>, Vec<u8>> {
        let mut entries = BTreeMap::new();
        let mut collect = |key: &[u8], value: &[u8]| {
            entries.insert(key.to_vec(), value.to_vec());
            ControlFlow::Continue(())
        };
        self.map.scan(b"", None, false, &mut collect).unwrap();
        entries
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
        *self.durable.lock().unwrap() = self.entries();
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
    let files = || files_in(directory.path());
    let engine = Arc::new(TestEngine::default());
    let store = MvccStore::open(Arc::clone(&engine) as Arc<dyn Engine>, 1 << 20, files()).unwrap();
    store.commit(blind(vec![put(b"a", b"1")])).await.unwrap();
    let early = engine.after_power_cut();
    store.commit(blind(vec![put(b"a", b"2")])).await.unwrap();
    store.close().await.unwrap();
    drop(store);
    let error = MvccStore::open(Arc::new(early), 1 << 20, files()).unwrap_err();
    assert_eq!(error.sqlstate(), "XX001");
    let whole = MvccStore::open(Arc::new(engine.after_power_cut()), 1 << 20, files()).unwrap();
    assert_eq!(rows_now(&whole).await.get(&b"a"[..]), Some(&b"2".to_vec()));
}

/// More writes than one batch of the engine's may hold: puts, and a delete of what was there.
fn large_commit() -> Batch {
    let puts = (0..=BATCH_WRITES_MAX as u16).map(|n| put(n.to_be_bytes(), n.to_le_bytes()));
    blind(
        puts.chain([Write::Delete {
            key: b"small".to_vec(),
        }])
        .collect(),
    )
}

#[tokio::test]
async fn a_large_commit_is_finished_after_a_crash_at_any_moment() {
    let pieces = (BATCH_WRITES_MAX + 2).div_ceil(PIECE_WRITES_MAX) as u64;
    // The small commit is one batch and one sync, the large one its pieces and one sync; then nothing fails.
    for fails_at in 1..=2 + pieces + 2 {
        let directory = tempfile::tempdir().unwrap();
        let engine = Arc::new(TestEngine::failing_at(fails_at));
        let dyn_engine = Arc::clone(&engine) as Arc<dyn Engine>;
        let store = MvccStore::open(dyn_engine, 1 << 20, files_in(directory.path())).unwrap();
        let small = store.commit(blind(vec![put(b"small", b"1")])).await.is_ok();
        let snapshot = store.snapshot().await.unwrap();
        let before = rows(&*snapshot).await.unwrap();
        let large = store.commit(large_commit()).await.is_ok();
        assert_eq!((small, large), (fails_at > 2, fails_at > 2 + pieces + 1));
        assert_eq!(rows(&*snapshot).await.unwrap(), before, "failure {fails_at}");
        drop((snapshot, store));
        let journal = std::fs::read(directory.path().join("JOURNAL")).ok();
        assert_eq!(journal.is_some(), small && !large, "failure {fails_at}");
        for left in [engine.after_power_cut(), engine.after_crash()] {
            let directory = tempfile::tempdir().unwrap();
            if let Some(journal) = &journal {
                std::fs::write(directory.path().join("JOURNAL"), journal).unwrap();
            }
            let store = MvccStore::open(Arc::new(left), 1 << 20, files_in(directory.path())).unwrap();
            let found = rows_now(&store).await;
            if small {
                assert_eq!(found.len(), BATCH_WRITES_MAX + 1, "failure {fails_at}");
                assert_eq!(found.get(&[0, 77][..]), Some(&vec![77, 0]));
            } else {
                assert!(!found.contains_key(&[0, 77][..]), "failure {fails_at}");
            }
            assert!(!directory.path().join("JOURNAL").exists());
            store.commit(blind(vec![put(b"later", b"")])).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_journal_without_its_end_was_never_begun() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("JOURNAL");
    let engine = Arc::new(TestEngine::failing_at(3));
    let store = MvccStore::open(
        Arc::clone(&engine) as Arc<dyn Engine>,
        1 << 20,
        files_in(directory.path()),
    )
    .unwrap();
    store.commit(blind(vec![put(b"small", b"1")])).await.unwrap();
    store.commit(large_commit()).await.unwrap_err();
    drop(store);
    let whole = std::fs::read(&path).unwrap();
    let mut damaged = whole.clone();
    damaged[whole.len() / 2] ^= 1;
    let mut endless = whole.clone();
    endless[8..16].fill(0xFF);
    let cut = (0..whole.len())
        .step_by(97)
        .map(|length| whole[..length].to_vec());
    for journal in cut.chain([whole[..whole.len() - 1].to_vec(), damaged, endless]) {
        std::fs::write(&path, &journal).unwrap();
        let left = Arc::new(engine.after_power_cut());
        let store = MvccStore::open(left, 1 << 20, files_in(directory.path())).unwrap();
        assert_eq!(rows_now(&store).await.len(), 1, "{} bytes", journal.len());
        assert!(!path.exists());
    }
    // One of a commit that the engine has already is old; one that skips a commit tells of a loss.
    let left = Arc::new(engine.after_power_cut());
    let store = MvccStore::open(Arc::clone(&left) as Arc<dyn Engine>, 1 << 20, None).unwrap();
    store.commit(blind(vec![put(b"other", b"1")])).await.unwrap();
    drop(store);
    std::fs::write(&path, &whole).unwrap();
    let store = MvccStore::open(left, 1 << 20, files_in(directory.path())).unwrap();
    assert_eq!(rows_now(&store).await.len(), 2);
    drop(store);
    std::fs::write(&path, &whole).unwrap();
    let lost = MvccStore::open(
        Arc::new(TestEngine::default()),
        1 << 20,
        files_in(directory.path()),
    );
    assert_eq!(lost.unwrap_err().sqlstate(), "XX001");
    assert!(path.exists(), "what could be saved is left alone");
}

#[tokio::test]
async fn a_large_commit_that_the_disk_has_no_room_for_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let nowhere = directory.path().join("gone");
    std::fs::create_dir(&nowhere).unwrap();
    let store = MvccStore::open(Arc::new(TestEngine::default()), 1 << 20, files_in(&nowhere)).unwrap();
    std::fs::remove_dir(&nowhere).unwrap();
    assert_eq!(
        store.commit(large_commit()).await.unwrap_err().sqlstate(),
        "58030"
    );
    store.commit(blind(vec![put(b"small", b"1")])).await.unwrap();
    assert_eq!(rows_now(&store).await.len(), 1);
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
