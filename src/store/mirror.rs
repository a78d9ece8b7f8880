//! Mirror tests: random operations on a store against a plain map with its history, and transfers between accounts
//! that must keep their sum under every snapshot. Run over each embedded engine; deterministic in their seeds.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::engine_tests::random_key;
use super::{
    Batch, KeyRange, Page, Scan, ScanRequest, Snapshot, Store, StoreKind, StoreOptions, Write, open_store,
};
use crate::Error;

/// A store's rows: for each key the number of the commit that wrote it, and the value.
type Rows = BTreeMap<Vec<u8>, (u64, Vec<u8>)>;

/// What an open scan must still give.
type Expected = std::collections::VecDeque<(Vec<u8>, Vec<u8>)>;

/// A store under test and its model.
struct Mirror<'a> {
    random: StdRng,
    /// Opens the store, again when the one before has ended.
    open: &'a mut dyn FnMut() -> Arc<dyn Store>,
    /// Whether what it holds outlives it.
    persists: bool,
    store: Arc<dyn Store>,
    rows: Rows,
    commits: u64,
    snapshots: Vec<(Arc<dyn Snapshot>, Rows)>,
    scans: Vec<(Box<dyn Scan>, Expected, ScanRequest)>,
}

fn open(kind: StoreKind, directory: &Path) -> Arc<dyn Store> {
    let options = StoreOptions {
        cache_bytes: 1 << 20,
        ..StoreOptions::default()
    };
    open_store(kind, directory, &options).expect("the store opens")
}

impl Mirror<'_> {
    /// Few first bytes, so that keys repeat and extend one another; some end in FF; many have long runs of 00 or FF.
    fn key(&mut self) -> Vec<u8> {
        if self.random.random_bool(0.5) {
            return random_key(&mut self.random);
        }
        let length = self.random.random_range(1..4);
        (0..length)
            .map(|_| [0, 1, 2, 3, 4, 5, 6, 0xFE, 0xFF][self.random.random_range(0..9)])
            .collect()
    }

    fn value(&mut self) -> Vec<u8> {
        let length = match self.random.random_range(0..50) {
            0 => 0,
            1 => 30_000,
            _ => self.random.random_range(0..60),
        };
        vec![self.random.random(); length]
    }

    fn ranges(&mut self) -> Vec<KeyRange> {
        let mut bounds: Vec<Vec<u8>> = (0..self.random.random_range(1..5)).map(|_| self.key()).collect();
        bounds.sort();
        bounds.dedup();
        let mut ranges: Vec<KeyRange> = bounds
            .chunks(2)
            .map(|bounds| KeyRange {
                start: bounds[0].clone(),
                end: bounds.get(1).cloned(),
            })
            .collect();
        if self.random.random_bool(0.3) {
            ranges = vec![KeyRange {
                start: Vec::new(),
                end: None,
            }];
        }
        ranges
    }

    /// A session: writes computed from one of the open snapshots, or blind.
    async fn commit(&mut self) {
        let mut writes = BTreeMap::new();
        for _ in 0..self.random.random_range(1..12) {
            let key = self.key();
            let value = self.random.random_bool(0.65).then(|| self.value());
            writes.insert(key, value);
        }
        let over = (!self.snapshots.is_empty() && self.random.random_bool(0.5))
            .then(|| self.random.random_range(0..self.snapshots.len()));
        let mut unchanged: Vec<Vec<u8>> = Vec::new();
        if over.is_some() {
            unchanged.extend(writes.keys().filter(|_| self.random.random_bool(0.2)).cloned());
            if self.random.random_bool(0.3) {
                unchanged.push(self.key());
            }
        }
        let stamp = |rows: &Rows, key: &Vec<u8>| rows.get(key).map(|(stamp, _)| *stamp);
        let conflicts: Vec<&Vec<u8>> = match over {
            Some(at) => {
                let then = &self.snapshots[at].1;
                unchanged
                    .iter()
                    .filter(|key| stamp(then, key) != stamp(&self.rows, key))
                    .collect()
            }
            None => Vec::new(),
        };
        let batch = Batch {
            untouched: Vec::new(),
            known: Vec::new(),
            unseen: false,
            passes_on: None,
            locks: None,
            snapshot: over.map(|at| Arc::clone(&self.snapshots[at].0)),
            writes: writes
                .iter()
                .map(|(key, value)| match value.clone() {
                    Some(value) => Write::Put {
                        key: key.clone(),
                        value,
                    },
                    None => Write::Delete { key: key.clone() },
                })
                .collect(),
            unchanged: unchanged.clone(),
            checked: Vec::new(),
            relaxed: self.random.random_bool(0.7),
            reclaims: false,
        };
        match self.store.commit(batch).await {
            Ok(()) => {
                assert!(
                    conflicts.is_empty(),
                    "{conflicts:?} changed, but the commit went through"
                );
                self.commits += 1;
                for (key, value) in writes {
                    match value {
                        Some(value) => self.rows.insert(key, (self.commits, value)),
                        None => self.rows.remove(&key),
                    };
                }
            }
            Err(Error::Conflict { key }) => assert!(conflicts.contains(&&key), "{key:?} did not change"),
            Err(error) => unreachable!("{error:?}"),
        }
    }

    async fn open_snapshot(&mut self) {
        self.snapshots
            .push((self.store.snapshot().await.unwrap(), self.rows.clone()));
    }

    fn close_something(&mut self) {
        if !self.snapshots.is_empty() && self.random.random_bool(0.6) {
            self.snapshots
                .swap_remove(self.random.random_range(0..self.snapshots.len()));
        } else if !self.scans.is_empty() {
            self.scans
                .swap_remove(self.random.random_range(0..self.scans.len()));
        }
    }

    async fn get(&mut self) {
        if self.snapshots.is_empty() {
            return;
        }
        let keys: Vec<Vec<u8>> = (0..self.random.random_range(0..80)).map(|_| self.key()).collect();
        let (snapshot, rows) = &self.snapshots[self.random.random_range(0..self.snapshots.len())];
        let values = snapshot.get_many(&keys).await.unwrap();
        for (index, key) in keys.iter().enumerate() {
            let expected = rows.get(key).map(|(_, value)| value.as_slice());
            assert_eq!(values.get(index), expected, "key {key:?}");
        }
    }

    fn open_scan(&mut self) {
        if self.snapshots.is_empty() {
            return;
        }
        let request = ScanRequest {
            read_ahead: self.random.random(),
            ranges: self.ranges(),
            reverse: self.random.random(),
            keys_only: self.random.random_bool(0.2),
            page_rows_max: self.random.random_range(1..200),
            page_bytes_max: self.random.random_range(1..10_000),
        };
        let (snapshot, rows) = &self.snapshots[self.random.random_range(0..self.snapshots.len())];
        let contains = |range: &KeyRange, key: &Vec<u8>| {
            *key >= range.start && range.end.as_ref().is_none_or(|end| key < end)
        };
        let mut expected: Vec<_> = rows
            .iter()
            .filter(|(key, _)| request.ranges.iter().any(|range| contains(range, key)))
            .map(|(key, (_, value))| {
                (
                    key.clone(),
                    if request.keys_only {
                        Vec::new()
                    } else {
                        value.clone()
                    },
                )
            })
            .collect();
        if request.reverse {
            expected.reverse();
        }
        self.scans
            .push((snapshot.scan(request.clone()), expected.into(), request));
    }

    async fn step_scan(&mut self) {
        if self.scans.is_empty() {
            return;
        }
        let at = self.random.random_range(0..self.scans.len());
        let skip = if self.random.random_bool(0.2) {
            Some(self.key())
        } else {
            None
        };
        let (scan, expected, request) = &mut self.scans[at];
        if let Some(key) = skip {
            scan.skip_to(&key);
            expected.retain(|(row, _)| if request.reverse { *row <= key } else { *row >= key });
        }
        let mut page = Page::new();
        scan.next_page(&mut page).await.unwrap();
        assert!(page.len() <= request.page_rows_max);
        for row in page.iter() {
            let expected = expected.pop_front();
            assert_eq!(
                Some(row),
                expected.as_ref().map(|(key, value)| (&key[..], &value[..]))
            );
        }
        if page.is_empty() {
            assert!(
                expected.is_empty(),
                "the scan ended before {:?}",
                expected.front()
            );
            self.scans.swap_remove(at);
        }
    }

    async fn delete_range(&mut self) {
        let Some(range) = self.ranges().pop() else { return };
        // The commit that drops it.
        let key = b"dropped".to_vec();
        let dropping = Batch {
            writes: vec![Write::Delete { key }],
            ..Batch::default()
        };
        self.store.commit(dropping).await.unwrap();
        self.store.delete_range(range.clone()).await.unwrap();
        self.rows
            .retain(|key, _| *key < range.start || range.end.as_ref().is_some_and(|end| key >= end));
    }

    /// Ends the store and opens it again, when it outlives that.
    async fn restart(&mut self) {
        if !self.persists {
            return;
        }
        self.snapshots.clear();
        self.scans.clear();
        if self.random.random() {
            self.store.close().await.unwrap();
        }
        // Another store in its place first, so that the directory is free.
        self.store = open(StoreKind::Memory, Path::new(""));
        self.store = (self.open)();
    }

    async fn step(&mut self) {
        match self.random.random_range(0..1000) {
            0..350 => self.commit().await,
            350..450 => self.open_snapshot().await,
            450..520 => self.close_something(),
            520..650 => self.get().await,
            650..720 => self.open_scan(),
            720..990 => self.step_scan().await,
            990..997 => self.delete_range().await,
            _ => self.restart().await,
        }
    }
}

/// So many random steps on a store of this kind.
async fn mirror(kind: StoreKind, seed: u64, steps: usize) {
    let directory = tempfile::tempdir().unwrap();
    let mut open = || open(kind, directory.path());
    mirror_of(&mut open, kind != StoreKind::Memory, seed, steps).await;
}

/// So many random steps on the store that `open` opens; `persists`: what it holds outlives it.
pub(super) async fn mirror_of(
    open: &mut dyn FnMut() -> Arc<dyn Store>,
    persists: bool,
    seed: u64,
    steps: usize,
) {
    let mut mirror = Mirror {
        random: StdRng::seed_from_u64(seed),
        store: open(),
        open,
        persists,
        rows: Rows::new(),
        commits: 0,
        snapshots: Vec::new(),
        scans: Vec::new(),
    };
    for _ in 0..steps {
        mirror.step().await;
    }
    mirror.restart().await;
    mirror.snapshots.clear();
    mirror.scans.clear();
    let stats = mirror.store.stats();
    assert_eq!(
        (stats.snapshots, stats.undo_bytes),
        (0, 0),
        "nothing is kept for nobody"
    );
    mirror.open_snapshot().await;
    for _ in 0..50 {
        mirror.get().await;
    }
}

#[tokio::test]
async fn the_memory_store_mirrors_a_plain_map() {
    for seed in 0..10 {
        mirror(StoreKind::Memory, seed, 1000).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sled_store_mirrors_a_plain_map() {
    for seed in 0..5 {
        mirror(StoreKind::Sled, seed, 1000).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_fjall_store_mirrors_a_plain_map() {
    for seed in 0..5 {
        mirror(StoreKind::Fjall, seed, 1000).await;
    }
}

const ACCOUNTS: u8 = 40;
const BALANCE: u64 = 100;

/// The accounts as a snapshot sees them, read in one of the ways there are; their sum never changes.
async fn balances(snapshot: &dyn Snapshot, way: u32) -> Vec<u64> {
    let mut balances = Vec::new();
    if way == 0 {
        let values = snapshot
            .get_many(&(0..ACCOUNTS).map(|n| vec![n]).collect::<Vec<_>>())
            .await
            .unwrap();
        balances.extend((0..values.len()).map(|index| number(values.get(index).unwrap_or_default())));
    } else {
        let mut scan = snapshot.scan(ScanRequest {
            read_ahead: false,
            ranges: vec![KeyRange {
                start: vec![0],
                end: Some(vec![ACCOUNTS]),
            }],
            reverse: way == 2,
            keys_only: false,
            page_rows_max: 7,
            page_bytes_max: 1 << 20,
        });
        let mut page = Page::new();
        loop {
            scan.next_page(&mut page).await.unwrap();
            if page.is_empty() {
                break;
            }
            balances.extend(page.iter().map(|(_, value)| number(value)));
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(
        balances.iter().sum::<u64>(),
        u64::from(ACCOUNTS) * BALANCE,
        "read in way {way}"
    );
    balances
}

/// A missing account is an empty one.
fn number(value: &[u8]) -> u64 {
    value.try_into().map_or(0, u64::from_be_bytes)
}

/// Moves money between two accounts; an account without money is deleted. Answers whether no one was faster.
async fn transfer(store: &dyn Store, random: &mut StdRng) -> bool {
    let snapshot = store.snapshot().await.unwrap();
    let (from, to) = (random.random_range(0..ACCOUNTS), random.random_range(0..ACCOUNTS));
    let values = snapshot.get_many(&[vec![from], vec![to]]).await.unwrap();
    let [source, target] = [0, 1].map(|index| number(values.get(index).unwrap_or_default()));
    if from == to || source == 0 {
        return true;
    }
    let amount = random.random_range(1..=source);
    let write = |account: u8, balance: u64| match balance {
        0 => Write::Delete { key: vec![account] },
        _ => Write::Put {
            key: vec![account],
            value: balance.to_be_bytes().to_vec(),
        },
    };
    let batch = Batch {
        untouched: Vec::new(),
        known: Vec::new(),
        unseen: false,
        passes_on: None,
        locks: None,
        snapshot: Some(snapshot),
        writes: vec![write(from, source - amount), write(to, target + amount)],
        checked: vec![0, 1],
        unchanged: Vec::new(),
        relaxed: random.random_bool(0.5),
        reclaims: false,
    };
    match store.commit(batch).await {
        Ok(()) => true,
        Err(Error::Conflict { .. }) => false,
        Err(error) => unreachable!("{error:?}"),
    }
}

async fn transfers_keep_the_sum(store: Arc<dyn Store>, transfers: usize) {
    let writes = (0..ACCOUNTS)
        .map(|n| Write::Put {
            key: vec![n],
            value: BALANCE.to_be_bytes().to_vec(),
        })
        .collect();
    store
        .commit(Batch {
            writes,
            ..Batch::default()
        })
        .await
        .unwrap();
    let writers: Vec<_> = (0..4)
        .map(|seed| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let mut random = StdRng::seed_from_u64(seed);
                let mut won = 0;
                while won < transfers {
                    won += usize::from(transfer(&*store, &mut random).await);
                }
            })
        })
        .collect();
    let is_over = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|way| {
            let (store, is_over) = (Arc::clone(&store), Arc::clone(&is_over));
            tokio::spawn(async move {
                let mut older: Option<(Arc<dyn Snapshot>, Vec<u64>)> = None;
                while !is_over.load(Ordering::Relaxed) {
                    let snapshot = store.snapshot().await.unwrap();
                    let found = balances(&*snapshot, way).await;
                    if let Some((older, before)) = &older {
                        assert_eq!(balances(&**older, way).await, *before, "a snapshot changed");
                    }
                    older = Some((snapshot, found));
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    is_over.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.await.unwrap();
    }
    assert_eq!(store.stats().undo_bytes, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn transfers_keep_the_sum_in_memory() {
    transfers_keep_the_sum(open(StoreKind::Memory, Path::new("")), 500).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn transfers_keep_the_sum_in_sled() {
    let directory = tempfile::tempdir().unwrap();
    transfers_keep_the_sum(open(StoreKind::Sled, directory.path()), 200).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn transfers_keep_the_sum_in_fjall() {
    let directory = tempfile::tempdir().unwrap();
    transfers_keep_the_sum(open(StoreKind::Fjall, directory.path()), 200).await;
}
