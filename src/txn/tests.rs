//! Tests of transactions: random steps against a plain model, and what the doc comments promise one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::*;
use crate::store::{Page, StoreKind, StoreOptions, open_store};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;
type Rows = Vec<(Vec<u8>, Vec<u8>)>;

async fn store_with(rows: &Map) -> Arc<dyn Store> {
    let store = open_store(
        StoreKind::Memory,
        std::path::Path::new(""),
        &StoreOptions::default(),
    )
    .unwrap();
    let writes = rows.iter().map(|(key, value)| put(key, value)).collect();
    store
        .commit(Batch {
            writes,
            ..Batch::default()
        })
        .await
        .unwrap();
    store
}

fn put(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Write {
    Write::Put {
        key: key.as_ref().to_vec(),
        value: value.as_ref().to_vec(),
    }
}

fn delete(key: impl AsRef<[u8]>) -> Write {
    Write::Delete {
        key: key.as_ref().to_vec(),
    }
}

fn everything() -> ScanRequest {
    let ranges = vec![KeyRange {
        start: Vec::new(),
        end: None,
    }];
    ScanRequest {
        read_ahead: false,
        ranges,
        reverse: false,
        keys_only: false,
        page_rows_max: 100,
        page_bytes_max: 1 << 20,
    }
}

async fn rest(scan: &mut TransactionScan) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut rows = Vec::new();
    let mut page = Page::new();
    loop {
        scan.next_page(&mut page).await.unwrap();
        if page.is_empty() {
            return rows;
        }
        rows.extend(page.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
    }
}

async fn stored(store: &Arc<dyn Store>) -> Map {
    let transaction = Transaction::begin(Arc::clone(store), usize::MAX).await.unwrap();
    rest(&mut transaction.scan(everything()))
        .await
        .into_iter()
        .collect()
}

/// A key out of few, some of which extend others.
fn random_key(random: &mut StdRng) -> Vec<u8> {
    (0..random.random_range(1..4))
        .map(|_| random.random_range(0..6))
        .collect()
}

fn random_ranges(random: &mut StdRng) -> Vec<KeyRange> {
    let mut bounds: Vec<Vec<u8>> = (0..random.random_range(0..4) * 2)
        .map(|_| random_key(random))
        .collect();
    bounds.sort();
    bounds.dedup();
    let mut ranges: Vec<KeyRange> = bounds
        .chunks_exact(2)
        .map(|bounds| KeyRange {
            start: bounds[0].clone(),
            end: Some(bounds[1].clone()),
        })
        .collect();
    if ranges.is_empty() {
        ranges.push(KeyRange {
            start: Vec::new(),
            end: None,
        });
    }
    ranges
}

/// What a scan of the model gives.
fn expected_rows(map: &Map, request: &ScanRequest) -> Vec<(Vec<u8>, Vec<u8>)> {
    let contains = |range: &KeyRange, key: &Vec<u8>| {
        *key >= range.start && range.end.as_ref().is_none_or(|end| key < end)
    };
    let mut rows: Vec<_> = map
        .iter()
        .filter(|(key, _)| request.ranges.iter().any(|range| contains(range, key)))
        .map(|(key, value)| {
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
        rows.reverse();
    }
    rows
}

/// A transaction under test and its model.
struct Run {
    random: StdRng,
    transaction: Transaction,
    now: Map,
    savepoints: Vec<(Savepoint, Map)>,
    /// Open scans, what they must still give, and how many savepoints there were when they were opened.
    scans: Vec<(TransactionScan, Rows, bool, usize)>,
    /// Views, what they see, and the keys written since.
    views: Vec<(Transaction, Map, BTreeSet<Vec<u8>>)>,
}

impl Run {
    fn write(&mut self) {
        for _ in 0..self.random.random_range(1..8) {
            let key = random_key(&mut self.random);
            let lock = self.random.random_bool(0.3).then_some(LockMode::Update);
            for (_, _, written) in &mut self.views {
                written.insert(key.clone());
            }
            if self.random.random_bool(0.6) {
                let value = vec![self.random.random(); self.random.random_range(0..5)];
                self.transaction.write(put(&key, &value), lock).unwrap();
                self.now.insert(key, value);
            } else {
                self.transaction.write(delete(&key), lock).unwrap();
                self.now.remove(&key);
            }
        }
    }

    fn open_scan(&mut self) {
        let request = ScanRequest {
            read_ahead: false,
            ranges: random_ranges(&mut self.random),
            reverse: self.random.random(),
            keys_only: self.random.random_bool(0.2),
            page_rows_max: self.random.random_range(1..10),
            page_bytes_max: self.random.random_range(1..60),
        };
        let rows = expected_rows(&self.now, &request);
        let reverse = request.reverse;
        self.scans.push((
            self.transaction.scan(request),
            rows,
            reverse,
            self.savepoints.len(),
        ));
    }

    async fn step_scan(&mut self) {
        if self.scans.is_empty() {
            return;
        }
        let at = self.random.random_range(0..self.scans.len());
        let (scan, rows, reverse, _) = &mut self.scans[at];
        if self.random.random_bool(0.3) {
            let key = random_key(&mut self.random);
            scan.skip_to(&key);
            rows.retain(|(row, _)| if *reverse { *row <= key } else { *row >= key });
        }
        let mut page = Page::new();
        scan.next_page(&mut page).await.unwrap();
        let expected: Vec<_> = rows.drain(..page.len()).collect();
        let found: Vec<_> = page
            .iter()
            .map(|(key, value)| (key.to_vec(), value.to_vec()))
            .collect();
        assert_eq!(found, expected);
        if page.is_empty() {
            assert_eq!(*rows, []);
            self.scans.swap_remove(at);
        }
    }

    fn savepoint_or_rollback(&mut self) {
        if self.savepoints.is_empty() || self.random.random_bool(0.5) {
            self.savepoints
                .push((self.transaction.savepoint(), self.now.clone()));
            return;
        }
        let at = self.random.random_range(0..self.savepoints.len());
        self.savepoints.truncate(at + 1);
        let (savepoint, now) = &self.savepoints[at];
        self.transaction.rollback_to(*savepoint);
        self.now = now.clone();
        // Scans opened after the savepoint see what is no more; sessions close them.
        self.scans.retain(|(.., savepoints)| *savepoints <= at);
        self.views.clear();
    }

    fn make_view(&mut self) {
        let view = self.transaction.as_it_is();
        self.views.push((view, self.now.clone(), BTreeSet::new()));
        if self.views.len() > 3 {
            self.views.remove(0);
        }
    }

    /// A view sees what there was, by keys and by scans, and tells what was written since.
    async fn read_view(&mut self) {
        let Some((view, seen, written)) = self.views.first() else {
            return;
        };
        let keys: Vec<Vec<u8>> = (0..20).map(|_| random_key(&mut self.random)).collect();
        let values = view.get_many(&keys).await.unwrap();
        let since = self.transaction.are_written_since(view, &keys);
        for (index, key) in keys.iter().enumerate() {
            assert_eq!(values.get(index), seen.get(key).map(Vec::as_slice), "key {key:?}");
            assert_eq!(since[index], written.contains(key), "key {key:?}");
        }
        let rows: Map = rest(&mut view.scan(everything())).await.into_iter().collect();
        assert_eq!(rows, *seen);
    }

    async fn get(&mut self) {
        let keys: Vec<Vec<u8>> = (0..self.random.random_range(0..50))
            .map(|_| random_key(&mut self.random))
            .collect();
        let values = self.transaction.get_many(&keys).await.unwrap();
        assert_eq!(values.len(), keys.len());
        for (index, key) in keys.iter().enumerate() {
            assert_eq!(
                values.get(index),
                self.now.get(key).map(Vec::as_slice),
                "key {key:?}"
            );
        }
    }
}

#[tokio::test]
async fn random_steps_match_a_plain_map() {
    for seed in 0..60 {
        let mut random = StdRng::seed_from_u64(seed);
        let base: Map = (0..80).map(|n| (random_key(&mut random), vec![n])).collect();
        let store = store_with(&base).await;
        let transaction = Transaction::begin(Arc::clone(&store), 1 << 20).await.unwrap();
        let mut run = Run {
            random,
            transaction,
            now: base,
            savepoints: Vec::new(),
            scans: Vec::new(),
            views: Vec::new(),
        };
        for _ in 0..200 {
            match run.random.random_range(0..12) {
                10 => run.make_view(),
                11 => run.read_view().await,
                0..3 => run.write(),
                3 => run.open_scan(),
                4..7 => run.step_scan().await,
                7 => run.savepoint_or_rollback(),
                _ => run.get().await,
            }
        }
        run.transaction.commit(seed % 2 == 0).await.unwrap();
        assert_eq!(stored(&store).await, run.now, "seed {seed}");
    }
}

/// More buffered rows than one fetch takes, over fewer and over more stored rows, in both directions.
#[tokio::test]
async fn large_buffers_merge_in_order() {
    let row = |n: u32| (n.to_be_bytes().to_vec(), b"stored".to_vec());
    let base: Map = (0..2000).step_by(3).map(row).collect();
    let store = store_with(&base).await;
    let transaction = Transaction::begin(store, usize::MAX).await.unwrap();
    let mut expected = base;
    for n in 0..2000u32 {
        match n % 4 {
            0 => {
                transaction.write(put(n.to_be_bytes(), b"own"), None).unwrap();
                expected.insert(n.to_be_bytes().to_vec(), b"own".to_vec());
            }
            1 => {
                transaction.write(delete(n.to_be_bytes()), None).unwrap();
                expected.remove(n.to_be_bytes().as_slice());
            }
            _ => {}
        }
    }
    let expected: Vec<_> = expected.into_iter().collect();
    assert_eq!(rest(&mut transaction.scan(everything())).await, expected);
    let mut reversed = rest(&mut transaction.scan(ScanRequest {
        reverse: true,
        ..everything()
    }))
    .await;
    reversed.reverse();
    assert_eq!(reversed, expected);
}

#[tokio::test]
async fn only_checked_keys_and_guards_conflict() {
    let base: Map = ["guard", "checked", "blind"]
        .map(|key| (key.into(), b"0".to_vec()))
        .into();
    let changes = [
        ("guard", true),
        ("checked", true),
        ("blind", false),
        ("another", false),
    ];
    for (changed, conflicts) in changes {
        let store = store_with(&base).await;
        let transaction = Transaction::begin(Arc::clone(&store), usize::MAX).await.unwrap();
        transaction.guard(b"guard");
        transaction
            .write(put(b"checked", b"1"), Some(LockMode::Update))
            .unwrap();
        transaction.write(put(b"checked", b"2"), None).unwrap();
        transaction.write(put(b"blind", b"1"), None).unwrap();
        store
            .commit(Batch {
                writes: vec![put(changed, b"other")],
                ..Batch::default()
            })
            .await
            .unwrap();
        let result = transaction.commit(false).await;
        assert_eq!(result.is_err(), conflicts, "{changed} changed: {result:?}");
        if conflicts {
            assert_eq!(result, Err(Error::Conflict { key: changed.into() }));
        }
        assert_eq!(
            stored(&store).await.get(&b"blind"[..]).map(Vec::as_slice),
            Some(if conflicts { &b"0"[..] } else { &b"1"[..] })
        );
    }
}

#[tokio::test]
async fn without_writes_a_guard_never_conflicts() {
    let store = store_with(&Map::new()).await;
    let transaction = Transaction::begin(Arc::clone(&store), usize::MAX).await.unwrap();
    let savepoint = transaction.savepoint();
    transaction.guard(b"guard");
    transaction
        .write(put(b"key", b"1"), Some(LockMode::Update))
        .unwrap();
    assert!(transaction.has_writes());
    transaction.rollback_to(savepoint);
    assert!(!transaction.has_writes());
    transaction.guard(b"guard");
    let commits = store.stats().commits;
    store
        .commit(Batch {
            writes: vec![put(b"guard", b"1")],
            ..Batch::default()
        })
        .await
        .unwrap();
    transaction.commit(false).await.unwrap();
    assert_eq!(
        store.stats().commits,
        commits + 1,
        "a transaction without writes commits nothing"
    );
}

#[tokio::test]
async fn a_guard_that_was_made_stronger_is_made_so_again_behind_a_rollback() {
    let store = store_with(&Map::new()).await;
    let transaction = Transaction::begin(Arc::clone(&store), usize::MAX).await.unwrap();
    transaction.write(put(b"key", b"1"), None).unwrap();
    transaction.guard(b"guard");
    transaction.settle().await.unwrap();
    let savepoint = transaction.savepoint();
    transaction.guard_in(b"guard", LockMode::Update);
    transaction.rollback_to(savepoint);
    transaction.guard_in(b"guard", LockMode::Update);
    transaction.settle().await.unwrap();
    assert!(transaction.holds(b"guard", LockMode::Update));
}

#[tokio::test]
async fn a_rollback_takes_back_guards_and_checks() {
    let store = store_with(&Map::new()).await;
    let transaction = Transaction::begin(Arc::clone(&store), usize::MAX).await.unwrap();
    transaction.write(put(b"key", b"1"), None).unwrap();
    let savepoint = transaction.savepoint();
    transaction.guard(b"guard");
    transaction
        .write(put(b"key", b"2"), Some(LockMode::Update))
        .unwrap();
    transaction.rollback_to(savepoint);
    let writes = vec![put(b"guard", b"x"), put(b"key", b"x")];
    store
        .commit(Batch {
            writes,
            ..Batch::default()
        })
        .await
        .unwrap();
    transaction.commit(false).await.unwrap();
    assert_eq!(
        stored(&store).await.get(&b"key"[..]).map(Vec::as_slice),
        Some(&b"1"[..])
    );
}

#[tokio::test]
async fn the_buffer_has_a_limit() {
    let store = store_with(&Map::new()).await;
    let transaction = Transaction::begin(Arc::clone(&store), 10_000).await.unwrap();
    // Overwriting takes no more room, with scans and savepoints before it or not.
    for n in 0..200u8 {
        transaction.write(put(b"key", [n; 1000]), None).unwrap();
        drop(transaction.scan(everything()));
    }
    let savepoint = transaction.savepoint();
    for n in 0..200u8 {
        transaction.write(put(b"key", [n; 1000]), None).unwrap();
    }
    let mut written = 0u8;
    let error = loop {
        match transaction.write(put([written], [0; 1000]), None) {
            Ok(()) => written += 1,
            Err(error) => break error,
        }
    };
    assert!((5..9).contains(&written), "{written} rows of 1000 bytes");
    assert_eq!(error.sqlstate(), "54000");
    assert!(
        error
            .hint()
            .is_some_and(|hint| hint.contains("keyspan.transaction_bytes_max"))
    );
    // What was refused left nothing, and a rollback gives the room back.
    let keys: BTreeSet<Vec<u8>> = rest(&mut transaction.scan(everything()))
        .await
        .into_iter()
        .map(|row| row.0)
        .collect();
    assert_eq!(keys.len(), usize::from(written) + 1);
    transaction.rollback_to(savepoint);
    for n in 0..5u8 {
        transaction.write(put([n], [0; 1000]), None).unwrap();
    }
    transaction.commit(false).await.unwrap();
    assert_eq!(stored(&store).await.len(), 6);
    assert_eq!(
        transaction
            .write(delete(b"key"), None)
            .map_err(|error| error.sqlstate()),
        Err("XX000")
    );
    assert!(
        transaction.commit(false).await.is_err(),
        "a transaction ends once"
    );
}

#[test]
fn prefix_ranges_hold_exactly_the_extensions() {
    assert_eq!(
        KeyRange::of_prefix(&[1, 0xFF]),
        KeyRange {
            start: vec![1, 0xFF],
            end: Some(vec![2])
        }
    );
    assert_eq!(
        KeyRange::of_prefix(&[0xFF]),
        KeyRange {
            start: vec![0xFF],
            end: None
        }
    );
}
