//! Tests of large commits: beside small ones, beside each other, and of what nobody needs any more.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::MvccStore;
use super::limits::{LARGE_WRITES, PIECE_WRITES_MAX};
use super::tests::{applied, blind, large_commit, log_on, open, put, rows, rows_now};
use crate::store::disk::simulated::SimulatedDisk;
use crate::store::engine::{Engine, EngineBatch, Visit};
use crate::store::memory::MemoryEngine;
use crate::store::{Batch, KeyRange, Store, StoreOptions, Write};
use crate::{Error, Result};

/// An engine that takes so many batches, and then waits until it may take more.
#[derive(Debug, Default)]
struct GatedEngine {
    map: MemoryEngine,
    left: Mutex<usize>,
    changed: Condvar,
    panics: AtomicBool,
}

impl GatedEngine {
    fn let_through(&self, batches: usize) {
        *self.left.lock().unwrap() = batches;
        self.changed.notify_all();
    }

    /// Its keys that begin so.
    fn count(&self, first: u8) -> usize {
        let mut count = 0;
        let visit = &mut |_: &[u8], _: &[u8]| {
            count += 1;
            std::ops::ControlFlow::Continue(())
        };
        self.map.scan(&[first], Some(&[first + 1]), false, visit).unwrap();
        count
    }
}

impl Engine for GatedEngine {
    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.map.get(key, visit)
    }
    fn scan(&self, start: &[u8], end: Option<&[u8]>, reverse: bool, visit: Visit<'_>) -> Result<()> {
        self.map.scan(start, end, reverse, visit)
    }
    fn apply(&self, batch: &EngineBatch) -> Result<()> {
        let left = self.left.lock().unwrap();
        *self.changed.wait_while(left, |left| *left == 0).unwrap() -= 1;
        assert!(!self.panics.load(Ordering::Relaxed), "an engine that panics");
        self.map.apply(batch)
    }
    fn make_durable(&self) -> Result<()> {
        self.map.make_durable()
    }
    fn size_bytes(&self) -> Result<u64> {
        self.map.size_bytes()
    }
    fn close(&self) -> Result<()> {
        self.map.close()
    }
}

fn gated(large_commits_bytes_max: usize) -> (Arc<GatedEngine>, Arc<MvccStore>) {
    gated_on(None, large_commits_bytes_max)
}

fn gated_on(
    disk: Option<&SimulatedDisk>,
    large_commits_bytes_max: usize,
) -> (Arc<GatedEngine>, Arc<MvccStore>) {
    let engine = Arc::new(GatedEngine::default());
    let options = StoreOptions {
        large_commits_bytes_max,
        ..StoreOptions::default()
    };
    // A new store notes in the engine whose it is.
    engine.let_through(usize::MAX);
    let log = disk.map(|disk| log_on(disk).unwrap());
    let store = MvccStore::open(Arc::clone(&engine) as Arc<dyn Engine>, &options, log).unwrap();
    engine.let_through(0);
    (engine, Arc::new(store))
}

/// A store of all that the log has, when nothing came to the engine's disk; and how many rows it has by the first byte of their keys.
async fn reopened(store: Arc<MvccStore>, disk: &SimulatedDisk) -> (Arc<MvccStore>, BTreeMap<u8, usize>) {
    let counted = |rows: BTreeMap<Vec<u8>, Vec<u8>>| {
        let mut counts = BTreeMap::new();
        rows.keys()
            .for_each(|key| *counts.entry(key[0]).or_insert(0) += 1);
        counts
    };
    drop(store);
    let store = open(Arc::new(MemoryEngine::new()), Some(disk)).unwrap();
    let found = counted(rows_now(&*store).await);
    (store, found)
}

/// More writes than a small commit may have, whose keys begin so.
fn load(first: u8, value: u8) -> Batch {
    let keys = (0..=LARGE_WRITES as u16).map(|n| [&[first][..], &n.to_be_bytes()].concat());
    blind(keys.map(|key| put(key, [value])).collect())
}

fn commit(store: &Arc<MvccStore>, batch: Batch) -> tokio::task::JoinHandle<Result<()>> {
    let store = Arc::clone(store);
    tokio::spawn(async move { store.commit(batch).await })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_commits_wait_for_the_engine_together_while_there_is_room() {
    let (engine, store) = gated(usize::MAX);
    let mut model = BTreeMap::new();
    let mut seen = Vec::new();
    let batches = [
        load(1, 1),
        blind(vec![put([1, 0, 7], [2])]),
        load(1, 3),
        load(0, 4),
        blind(vec![Write::Delete { key: vec![1, 0, 9] }, put([1, 0, 8], [5])]),
    ];
    for batch in batches {
        for write in &batch.writes {
            match write.value() {
                Some(value) => model.insert(write.key().to_vec(), value.to_vec()),
                None => model.remove(write.key()),
            };
        }
        store.commit(batch).await.unwrap();
        seen.push((store.snapshot().await.unwrap(), model.clone()));
    }
    assert_eq!(engine.count(0) + engine.count(1), 0);
    for (snapshot, model) in &seen {
        assert_eq!(rows(&**snapshot).await.unwrap(), *model);
    }
    engine.let_through(usize::MAX);
    applied(&store).await;
    for (snapshot, model) in &seen {
        assert_eq!(rows(&**snapshot).await.unwrap(), *model);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn above_their_limit_large_commits_wait_for_each_other() {
    let (engine, store) = gated(1);
    store.commit(load(1, 1)).await.unwrap();
    let second = commit(&store, load(2, 2));
    // Small ones go on, and it has had time.
    for n in 0..50 {
        store.commit(blind(vec![put([9], [n])])).await.unwrap();
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(!second.is_finished());
    assert!(rows_now(&*store).await.keys().all(|key| key[0] != 2));
    engine.let_through(usize::MAX);
    second.await.unwrap().unwrap();
    applied(&store).await;
    assert_eq!(engine.count(2), LARGE_WRITES + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_taken_from_the_head_of_a_load_is_walked_once() {
    let (engine, store) = gated(usize::MAX);
    store.commit(load(1, 1)).await.unwrap();
    let key = |n: usize| [&[1][..], &(n as u16).to_be_bytes()].concat();
    let behind = || {
        let newest = store.newest_commit();
        store.shared.memtable.behind_emptied(&[1], false, newest)
    };
    for n in 0..100 {
        let snapshot = store.snapshot().await.unwrap();
        let first = rows(&*snapshot).await.unwrap().into_iter().next();
        assert_eq!(first, Some((key(n), vec![1])));
        store
            .commit(blind(vec![Write::Delete { key: key(n) }]))
            .await
            .unwrap();
        assert!(behind().is_none_or(|behind| behind <= key(n)), "{n}");
    }
    let passed = behind();
    engine.let_through(usize::MAX);
    assert!(passed.is_some_and(|behind| behind > key(90)));
    // What is given up may have come back, and is looked for.
    store.delete_range(KeyRange::of_prefix(&[9])).await.unwrap();
    assert!(behind().is_some());
    store.delete_range(KeyRange::of_prefix(&key(20))).await.unwrap();
    assert!(behind().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_dropped_before_the_engine_has_it_never_gets_there() {
    let disk = SimulatedDisk::new(1);
    let (engine, store) = gated_on(Some(&disk), usize::MAX);
    store.commit(load(1, 1)).await.unwrap();
    store.commit(load(2, 2)).await.unwrap();
    let deleting = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.delete_range(KeyRange::of_prefix(&[1])).await }
    });
    while store.shared.abandoned.is_empty() {
        tokio::task::yield_now().await;
    }
    let mut most = 0;
    engine.let_through(usize::MAX);
    while !deleting.is_finished() {
        most = most.max(engine.count(1));
        tokio::task::yield_now().await;
    }
    deleting.await.unwrap().unwrap();
    // The applier had one piece in hand before.
    assert!(most <= PIECE_WRITES_MAX, "{most} rows reached the engine");
    applied(&store).await;
    assert_eq!((engine.count(1), engine.count(2)), (0, LARGE_WRITES + 1));
    // Nor does it come back with the log.
    let (store, found) = reopened(store, &disk).await;
    assert_eq!(found, [(2, LARGE_WRITES + 1)].into());
    // The range is like any other again.
    store.commit(load(1, 3)).await.unwrap();
    applied(&store).await;
    assert_eq!(rows_now(&*store).await.len(), 2 * (LARGE_WRITES + 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_range_is_emptied_behind_commits_that_nobody_waits_for_any_more() {
    let (engine, store) = gated(1);
    store.commit(load(1, 1)).await.unwrap();
    // It is on its way when it was polled.
    let mut second = store.commit(load(2, 2));
    assert!(futures::poll!(&mut second).is_pending());
    drop(second);
    let deleting = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.delete_range(KeyRange::of_prefix(&[2])).await }
    });
    tokio::time::sleep(Duration::from_millis(10)).await;
    let waits = !deleting.is_finished();
    engine.let_through(usize::MAX);
    assert!(waits);
    deleting.await.unwrap().unwrap();
    applied(&store).await;
    assert_eq!((engine.count(1), engine.count(2)), (LARGE_WRITES + 1, 0));
    assert!(rows_now(&*store).await.keys().all(|key| key[0] == 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_of_the_applier_ends_writing_and_loses_nothing() {
    let disk = SimulatedDisk::new(1);
    let (engine, store) = gated_on(Some(&disk), usize::MAX);
    store.commit(load(1, 1)).await.unwrap();
    engine.panics.store(true, Ordering::Relaxed);
    engine.let_through(usize::MAX);
    store.checkpoint().await.unwrap_err();
    let refused = store.commit(blind(vec![put([2], [2])])).await.unwrap_err();
    assert!(matches!(refused, Error::Io { .. }), "{refused:?}");
    assert_eq!(rows_now(&*store).await.len(), LARGE_WRITES + 1);
    let (_, found) = reopened(store, &disk).await;
    assert_eq!(found, [(1, LARGE_WRITES + 1)].into());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_engine_has_of_a_dropped_range_is_deleted_there_and_not_passed_over() {
    let disk = SimulatedDisk::new(1);
    let (engine, store) = gated_on(Some(&disk), usize::MAX);
    engine.let_through(usize::MAX);
    // Of these the engine has some, and hears of their deletions and newer values only after the range was dropped.
    let puts = |keys: std::ops::Range<u8>, value: u8| blind(keys.map(|key| put([1, key], [value])).collect());
    store.commit(puts(10..30, 1)).await.unwrap();
    applied(&store).await;
    engine.let_through(0);
    let delete = |key| Write::Delete { key: vec![1, key] };
    store.commit(blind((10..20).map(delete).collect())).await.unwrap();
    store.commit(puts(0..40, 2)).await.unwrap();
    store.commit(blind((15..18).map(delete).collect())).await.unwrap();
    let passing = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.pass_over(&KeyRange::of_prefix(&[1])).await }
    });
    while store.shared.abandoned.is_empty() {
        tokio::task::yield_now().await;
    }
    engine.let_through(usize::MAX);
    passing.await.unwrap().unwrap();
    assert_eq!(engine.count(1), 0);
    let (_, found) = reopened(store, &disk).await;
    assert_eq!(found, BTreeMap::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_dropped_stays_for_snapshots_that_are_older() {
    let (engine, store) = gated(usize::MAX);
    store.commit(load(1, 1)).await.unwrap();
    let before = store.snapshot().await.unwrap();
    store.commit(blind(vec![put([9], [1])])).await.unwrap();
    engine.let_through(usize::MAX);
    store.delete_range(KeyRange::of_prefix(&[1])).await.unwrap();
    applied(&store).await;
    assert_eq!(engine.count(1), 0);
    assert_eq!(rows(&*before).await.unwrap().len(), LARGE_WRITES + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_commit_lets_others_through_and_appears_at_once() {
    for disk in [None, Some(SimulatedDisk::new(1))] {
        let store = open(Arc::new(MemoryEngine::new()), disk.as_ref()).unwrap();
        store.commit(blind(vec![put(b"small", b"1")])).await.unwrap();
        for round in 0..20u8 {
            let before = store.snapshot().await.unwrap();
            let large = tokio::spawn({
                let store = Arc::clone(&store);
                async move { store.commit(large_commit()).await }
            });
            let mut others = 0u8;
            while !large.is_finished() {
                store
                    .commit(blind(vec![put([b'o', others], [round])]))
                    .await
                    .unwrap();
                others = others.wrapping_add(1) % 100;
                let found = rows_now(&*store).await;
                let large_rows = found.keys().filter(|key| key.len() == 2 && key[0] < 9).count();
                let is_there = !found.contains_key(&b"small"[..]);
                assert_eq!(
                    large_rows,
                    if is_there || round > 0 {
                        LARGE_WRITES + 1
                    } else {
                        0
                    }
                );
            }
            large.await.unwrap().unwrap();
            let seen = rows(&*before).await.unwrap();
            assert_eq!(seen.contains_key(&b"small"[..]), round == 0);
        }
    }
}

#[tokio::test]
async fn a_large_commit_and_a_small_one_over_one_key_conflict() {
    let disk = SimulatedDisk::new(1);
    let store = open(Arc::new(MemoryEngine::new()), Some(&disk)).unwrap();
    let (mut large_won, mut small_won) = (0, 0);
    for round in 0..60u8 {
        let snapshot = store.snapshot().await.unwrap();
        let keys: Vec<Vec<u8>> = (0..200u8).map(|n| vec![1, n]).collect();
        let checked = |writes: Vec<Write>| Batch {
            unchanged: writes.iter().map(|write| write.key().to_vec()).collect(),
            snapshot: Some(Arc::clone(&snapshot)),
            ..blind(writes)
        };
        let large = store.commit(checked(keys.iter().map(|key| put(key, [round])).collect()));
        let small = async {
            for _ in 0..round {
                tokio::task::yield_now().await;
            }
            store.commit(checked(vec![put([1, 199], [round, 1])])).await
        };
        let (large, small) = futures::join!(large, small);
        let found = rows_now(&*store).await;
        match (large, small) {
            (Ok(()), Err(Error::Conflict { .. })) => {
                large_won += 1;
                assert!(keys.iter().all(|key| found[key] == [round]));
            }
            (Err(Error::Conflict { .. }), Ok(())) => {
                small_won += 1;
                assert_eq!(found[&vec![1, 199]], [round, 1]);
                assert_ne!(found.get(&vec![1, 0]), Some(&vec![round]));
            }
            both => panic!("{both:?}"),
        }
    }
    assert_eq!(large_won + small_won, 60);
    assert!(small_won > 0);
}
