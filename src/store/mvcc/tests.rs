//! Tests of `mvcc` itself: the suite over the memory engine, with a log and without; commits that wait; the undo budget;
//! misuse. Large commits are in `large_tests`, what faults do in `faults`.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::limits::{LARGE_WRITES, WAITING_BATCHES_MAX};
use super::{MvccStore, is_sound_row};
use crate::codec::expiry::{ExpiryBase, ExpiryRule};
use crate::codec::keyspace::entry_prefix;
use crate::codec::row::{RowReader, RowWriter};
use crate::store::cache::CachedEngine;
use crate::store::disk::simulated::SimulatedDisk;
use crate::store::engine::{Engine, EngineBatch};
use crate::store::log::LogPlace;
use crate::store::memory::MemoryEngine;
use crate::store::{Batch, KeyRange, Page, ScanRequest, Snapshot, Store, StoreOptions, Write, conformance};
use crate::{Error, Result};

/// The log on a disk.
pub(super) fn log_on(disk: &SimulatedDisk) -> Result<LogPlace> {
    LogPlace::look(Arc::new(disk.clone()), Path::new("log"), Path::new("log_end"))
}

pub(super) fn open(engine: Arc<dyn Engine>, disk: Option<&SimulatedDisk>) -> Result<Arc<MvccStore>> {
    let log = disk.map(log_on).transpose()?;
    MvccStore::open(engine, &StoreOptions::default(), log).map(Arc::new)
}

/// An empty store whose log is on the disk.
pub(crate) fn store_on(disk: &SimulatedDisk) -> Arc<dyn Store> {
    open(Arc::new(MemoryEngine::new()), Some(disk)).expect("it opens")
}

fn memory_store() -> Arc<dyn Store> {
    open(Arc::new(MemoryEngine::new()), None).unwrap()
}

fn logged_store() -> Arc<dyn Store> {
    open(Arc::new(MemoryEngine::new()), Some(&SimulatedDisk::new(0))).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_memory_store_conforms() {
    conformance::check_all(memory_store).await;
}

#[tokio::test]
async fn the_memory_store_conforms_on_one_thread() {
    conformance::check_all(memory_store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_with_a_log_conforms() {
    conformance::check_all(logged_store).await;
}

pub(super) fn put(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Write {
    Write::Put {
        key: key.as_ref().to_vec(),
        value: value.as_ref().to_vec(),
    }
}

pub(super) fn blind(writes: Vec<Write>) -> Batch {
    Batch {
        writes,
        ..Batch::default()
    }
}

pub(super) async fn rows(snapshot: &dyn Snapshot) -> Result<BTreeMap<Vec<u8>, Vec<u8>>> {
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

pub(super) async fn rows_now(store: &dyn Store) -> BTreeMap<Vec<u8>, Vec<u8>> {
    rows(&*store.snapshot().await.unwrap()).await.unwrap()
}

/// More writes than a small commit may have: puts, and a delete of what was there.
pub(super) fn large_commit() -> Batch {
    let puts = (0..=LARGE_WRITES as u16).map(|n| put(n.to_be_bytes(), n.to_le_bytes()));
    let delete = Write::Delete {
        key: b"small".to_vec(),
    };
    blind(puts.chain([delete]).collect())
}

/// Waits until the engine has every commit.
pub(super) async fn applied(store: &MvccStore) {
    while !store.shared.memtable.is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relaxed_commit_is_made_durable_without_another() {
    let disk = SimulatedDisk::new(0);
    let store = open(Arc::new(MemoryEngine::new()), Some(&disk)).unwrap();
    let relaxed = Batch {
        relaxed: true,
        ..blind(vec![put(b"key", b"1")])
    };
    store.commit(relaxed).await.unwrap();
    // The engine gets only what the log has for sure.
    applied(&store).await;
    assert_eq!(store.shared.applied.load(Ordering::Acquire), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_rots_once_commits_have_paused_is_damage_and_not_a_torn_end() {
    let disk = SimulatedDisk::new(0);
    let store = open(Arc::new(MemoryEngine::new()), Some(&disk)).unwrap();
    store
        .commit(blind(vec![put(b"key", vec![7; 1000])]))
        .await
        .unwrap();
    while store.committer.lock().unwrap().due_at().is_some() {
        tokio::task::yield_now().await;
    }
    let (segment, _) = &disk.files()[0];
    disk.damage(segment, 4096 + 500, 1);
    assert!(matches!(log_on(&disk), Err(Error::Corrupt { .. })));
}

/// A store whose log waits for its disk, with one batch in it and `waiting` behind that.
async fn held_store(
    waiting: u8,
) -> (
    SimulatedDisk,
    Arc<MvccStore>,
    Vec<tokio::task::JoinHandle<Result<()>>>,
) {
    let disk = SimulatedDisk::new(0);
    let store = open(Arc::new(MemoryEngine::new()), Some(&disk)).unwrap();
    store.commit(blind(vec![put(b"before", b"1")])).await.unwrap();
    disk.hold(true);
    let commit = |key: u8| {
        let store = Arc::clone(&store);
        tokio::spawn(async move {
            store
                .commit(blind(vec![put([key], b"1"), put(b"before", b"2")]))
                .await
        })
    };
    let mut commits = vec![commit(0)];
    while !disk.is_waiting() {
        tokio::task::yield_now().await;
    }
    commits.extend((1..=waiting).map(commit));
    while store.places.available_permits() > WAITING_BATCHES_MAX - 1 - usize::from(waiting) {
        tokio::task::yield_now().await;
    }
    (disk, store, commits)
}

#[tokio::test]
async fn commits_that_wait_together_share_one_sync() {
    let (disk, store, commits) = held_store(20).await;
    disk.hold(false);
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
    let (disk, store, commits) = held_store(1).await;
    let expected = BTreeMap::from([(b"before".to_vec(), b"1".to_vec())]);
    let snapshot = store.snapshot().await.unwrap();
    assert_eq!(rows(&*snapshot).await.unwrap(), expected);
    assert!(commits.iter().all(|commit| !commit.is_finished()));
    disk.hold(false);
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
    let disk = SimulatedDisk::new(0);
    let engine = Arc::new(MemoryEngine::new());
    let store = open(Arc::clone(&engine) as Arc<dyn Engine>, Some(&disk)).unwrap();
    disk.hold(true);
    let relaxed = Batch {
        relaxed: true,
        ..blind(vec![put(b"relaxed", b"1")])
    };
    store.commit(relaxed).await.unwrap();
    assert_eq!(rows_now(&*store).await.len(), 1);
    assert_eq!(
        engine.size_bytes().unwrap(),
        0,
        "the engine must not be ahead of the log"
    );
    // No further commit comes: the committer goes to the disk by itself, and a durable commit goes behind it.
    while !disk.is_waiting() {
        tokio::task::yield_now().await;
    }
    disk.hold(false);
    store.commit(Batch::default()).await.unwrap();
    let left = disk.after_power_cut();
    let restarted = open(Arc::new(MemoryEngine::new()), Some(&left)).unwrap();
    assert_eq!(rows_now(&*restarted).await.len(), 1);
}

/// The row value of a table of no columns but those of its key.
fn row_value() -> Vec<u8> {
    RowWriter::default().finish()
}

/// What a scan of everything gives in pages of ten rows: the rows of each page, and whether they are verified.
async fn pages(snapshot: &dyn Snapshot, reverse: bool) -> Vec<(usize, bool)> {
    let mut scan = snapshot.scan(ScanRequest {
        read_ahead: false,
        ranges: vec![KeyRange {
            start: vec![1],
            end: None,
        }],
        reverse,
        keys_only: false,
        page_rows_max: 10,
        page_bytes_max: 1 << 20,
    });
    let (mut pages, mut page) = (Vec::new(), Page::new());
    loop {
        scan.next_page(&mut page).await.unwrap();
        if page.is_empty() {
            return pages;
        }
        pages.push((page.len(), page.known().are_verified));
    }
}

/// Sound rows are verified when they come into memory; what is no row is not, and neither is what the engine does not have yet.
#[tokio::test]
async fn rows_in_memory_are_verified() {
    let engine = CachedEngine::new(Arc::new(MemoryEngine::new()), 1 << 20, is_sound_row);
    let store = open(Arc::new(engine), Some(&SimulatedDisk::new(0))).unwrap();
    // The block that the clock stands in is split.
    let rows = (1..=200).map(|n| put([n], row_value())).collect();
    store.commit(blind(rows)).await.unwrap();
    applied(&store).await;
    for reverse in [false, true] {
        let before = store.snapshot().await.unwrap();
        let read = pages(&*before, reverse).await;
        let verified = read.iter().filter(|(_, is_verified)| *is_verified);
        assert!(read.len() == 20 && verified.count() >= 13, "{read:?}");
    }
    let mut damaged = row_value();
    damaged[2] ^= 1;
    store.commit(blind(vec![put([155], damaged)])).await.unwrap();
    applied(&store).await;
    let after = store.snapshot().await.unwrap();
    let read = pages(&*after, false).await;
    assert_eq!(read.iter().map(|(rows, _)| rows).sum::<usize>(), 200);
    assert!(read[10].1 && !read[15].1, "{read:?}");
}

/// Random rows of two tables and entries of an index beside them: what a page says of when the first of its rows is over is never later
/// than any of them is, whatever writes came since; and many pages say it.
#[tokio::test]
async fn pages_know_when_the_first_of_their_rows_is_over() {
    let engine = CachedEngine::new(Arc::new(MemoryEngine::new()), 1 << 20, is_sound_row);
    let store = open(Arc::new(engine), Some(&SimulatedDisk::new(0))).unwrap();
    let mut random = StdRng::seed_from_u64(11);
    let rule = |lifetime| {
        Arc::new(ExpiryRule {
            lifetime: Some((ExpiryBase::Write { untold: 50 }, lifetime)),
        })
    };
    let (mut told, mut all) = (0, 0);
    for _ in 0..60 {
        let writes = (0..40).map(|_| {
            let table = [(1, 0), (1, 1), (2, 0)][random.random_range(0..3)];
            let key = [
                &entry_prefix(table.0, table.1)[..],
                &[random.random_range(0..200)],
            ]
            .concat();
            let mut row = RowWriter::default();
            let mut time = || random.random_bool(0.7).then(|| random.random_range(0..1_000));
            row.set_times(time(), time());
            match random.random_bool(0.8) {
                true => (
                    key.clone(),
                    Write::Put {
                        key,
                        value: row.finish(),
                    },
                ),
                false => (key.clone(), Write::Delete { key }),
            }
        });
        let writes: BTreeMap<_, _> = writes.collect();
        store.commit(blind(writes.into_values().collect())).await.unwrap();
        if random.random_bool(0.7) {
            applied(&store).await;
        }
        let rule = rule(random.random_range(0..3) * 100);
        let snapshot = store.snapshot().await.unwrap();
        for reverse in [false, true] {
            let mut scan = snapshot.scan(ScanRequest {
                read_ahead: false,
                ranges: vec![KeyRange::of_prefix(&entry_prefix(1, 0))],
                reverse,
                keys_only: false,
                page_rows_max: 30,
                page_bytes_max: 1 << 20,
            });
            scan.tell_over(&rule);
            let mut page = Page::new();
            loop {
                scan.next_page(&mut page).await.unwrap();
                if page.is_empty() {
                    break;
                }
                let over = |(key, value)| rule.over_at(key, &RowReader::new(value).unwrap()).unwrap();
                let first = page.iter().map(over).min().unwrap();
                let from = page.known().over_from;
                assert!(from.is_none_or(|from| from <= first), "{from:?}, {first}");
                (told, all) = (told + usize::from(from.is_some()), all + 1);
            }
        }
    }
    assert!(told > 50, "{told} of {all} pages know it");
}

#[tokio::test]
async fn above_the_undo_budget_old_snapshots_end_and_new_ones_work() {
    let budget = 64 << 10;
    let options = StoreOptions {
        undo_bytes_max: budget,
        ..StoreOptions::default()
    };
    let store = MvccStore::open(Arc::new(MemoryEngine::new()), &options, None).unwrap();
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
        applied(&store).await;
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
async fn an_engine_that_lost_commits_is_refused_and_so_is_a_log() {
    let disk = SimulatedDisk::new(0);
    let options = StoreOptions {
        segment_bytes: 8 << 10,
        ..StoreOptions::default()
    };
    let engine = Arc::new(MemoryEngine::new());
    let store = MvccStore::open(
        Arc::clone(&engine) as Arc<dyn Engine>,
        &options,
        Some(log_on(&disk).unwrap()),
    )
    .unwrap();
    let early = disk.after_power_cut();
    for value in 0..50u8 {
        store
            .commit(blind(vec![put(b"a", vec![value; 900])]))
            .await
            .unwrap();
    }
    store.close().await.unwrap();
    // Closing recycled the segments whose commits the engine has.
    let error = open(Arc::new(MemoryEngine::new()), Some(&disk)).unwrap_err();
    assert!(error.to_string().contains("it ends at commit 0"), "{error}");
    let error = open(Arc::clone(&engine) as Arc<dyn Engine>, Some(&early)).unwrap_err();
    assert!(error.to_string().contains("the commit log is damaged"), "{error}");
    let whole = open(engine, Some(&disk)).unwrap();
    assert_eq!(rows_now(&*whole).await.get(&b"a"[..]), Some(&vec![49; 900]));
}

/// What fills the disk is the log: it is cut short when that is low, and commits go on.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_fills_the_disk_gives_way() {
    const RESERVE: u64 = 1 << 20;
    let disk = SimulatedDisk::new(0);
    let options = StoreOptions {
        disk_reserve_bytes: RESERVE,
        // A log that is recycled is kept whole as spares.
        checkpoint_bytes: 8 * RESERVE,
        ..StoreOptions::default()
    };
    let open = || {
        let log = log_on(&disk).unwrap();
        MvccStore::open(Arc::new(MemoryEngine::new()), &options, Some(log)).unwrap()
    };
    let (store, value) = (open(), vec![7; 20_000]);
    for key in 0..250u32 {
        store
            .commit(blind(vec![put(key.to_be_bytes(), &value)]))
            .await
            .unwrap();
    }
    // As if others had taken the rest.
    disk.resize(RESERVE * 6);
    for key in 0..1500u32 {
        store
            .commit(blind(vec![put(key.to_be_bytes(), &value)]))
            .await
            .unwrap_or_else(|error| panic!("commit {key}: {error:?}"));
    }
    // Nothing that a checkpoint could free.
    disk.resize(0);
    while !store
        .shared
        .disk_is_low
        .load(std::sync::atomic::Ordering::Relaxed)
    {
        tokio::task::yield_now().await;
    }
    let error = store.commit(blind(vec![put(b"a", b"1")])).await.unwrap_err();
    assert_eq!(error.sqlstate(), "53100");
    assert!(error.hint().unwrap().contains("TRUNCATE"));
}

#[tokio::test]
async fn below_the_reserve_only_what_frees_space_is_taken() {
    let options = StoreOptions {
        disk_reserve_bytes: u64::MAX,
        ..StoreOptions::default()
    };
    let disk = SimulatedDisk::new(0);
    let store = MvccStore::open(
        Arc::new(MemoryEngine::new()),
        &options,
        Some(log_on(&disk).unwrap()),
    )
    .unwrap();
    while !store
        .shared
        .disk_is_low
        .load(std::sync::atomic::Ordering::Relaxed)
    {
        tokio::task::yield_now().await;
    }
    for batch in [blind(vec![put(b"a", b"1")]), large_commit()] {
        let error = store.commit(batch).await.unwrap_err();
        assert_eq!(error.sqlstate(), "53100");
        assert!(error.hint().unwrap().contains("keyspan.disk_reserve_bytes"));
    }
    let reclaiming = Batch {
        reclaims: true,
        ..blind(vec![put(b"dropped", b"")])
    };
    store.commit(reclaiming).await.unwrap();
    let delete = Write::Delete {
        key: b"dropped".to_vec(),
    };
    store.commit(blind(vec![delete])).await.unwrap();
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
        let state = match open(Arc::new(engine), None) {
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
