//! What faults leave of a store: random commits over an engine and a disk that fail, lose power and are restarted, by seed.
//! After every end the rows must be those after some number of the commits, in order, and not before the last that was
//! acknowledged as durable. `KEYSPAN_FAULT_SEEDS` runs more seeds; `KEYSPAN_FAULT_SEED` only one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::MvccStore;
use super::limits::LARGE_WRITES;
use super::tests::{blind, log_on, rows, rows_now};
use crate::store::disk::simulated::{Fault, SimulatedDisk};
use crate::store::engine::{Engine, EngineBatch, Visit};
use crate::store::memory::MemoryEngine;
use crate::store::mirror::mirror_of;
use crate::store::{Batch, Store, StoreOptions, Write};
use crate::{Error, Result};

const SEEDS: u64 = 150;
const GENERATIONS: usize = 4;
/// Seeds of those that the mirror takes: its runs are longer.
const MIRROR_SEEDS: usize = 20;

type Rows = BTreeMap<Vec<u8>, Vec<u8>>;
/// Keys and their new values; `None`: deleted.
type Writes = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// An engine that comes back with the first so many of its batches, as `Engine` allows, and fails when told to.
#[derive(Debug, Default)]
struct SimulatedEngine {
    map: MemoryEngine,
    state: Mutex<EngineState>,
}

#[derive(Debug, Default)]
struct EngineState {
    durable: Rows,
    /// Applied since, in order.
    batches: Vec<Writes>,
    /// Calls of `apply` and `make_durable` until one fails.
    fails_in: Option<u64>,
    has_failed: bool,
}

impl SimulatedEngine {
    fn holding(rows: Rows) -> SimulatedEngine {
        let engine = SimulatedEngine::default();
        let mut batch = EngineBatch::default();
        rows.iter().for_each(|(key, value)| batch.put(key, &[value]));
        engine.map.apply(&batch).unwrap();
        engine.state.lock().unwrap().durable = rows;
        engine
    }

    /// As it comes back with what was durable and `batches` more.
    fn with_batches(&self, batches: usize) -> SimulatedEngine {
        let state = self.state.lock().unwrap();
        let mut rows = state.durable.clone();
        for (key, value) in state.batches.iter().take(batches).flatten() {
            match value {
                Some(value) => rows.insert(key.clone(), value.clone()),
                None => rows.remove(key),
            };
        }
        SimulatedEngine::holding(rows)
    }

    fn batches(&self) -> usize {
        self.state.lock().unwrap().batches.len()
    }

    fn fail_in(&self, calls: u64) {
        self.state.lock().unwrap().fails_in = Some(calls);
    }

    fn check(&self) -> Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let left = state.fails_in.map(|calls| calls.saturating_sub(1));
        state.fails_in = left;
        state.has_failed |= left == Some(0);
        match state.has_failed {
            true => Err(Error::Io {
                action: "write".to_string(),
                reason: "the engine failed".to_string(),
            }),
            false => Ok(()),
        }
    }
}

impl Engine for SimulatedEngine {
    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.map.get(key, visit)
    }

    fn scan(&self, start: &[u8], end: Option<&[u8]>, reverse: bool, visit: Visit<'_>) -> Result<()> {
        self.map.scan(start, end, reverse, visit)
    }

    fn apply(&self, batch: &EngineBatch) -> Result<()> {
        if let Err(error) = self.check() {
            // The worst a failing engine may do: readers see a part of the batch.
            let mut part = EngineBatch::default();
            for (key, value) in batch.iter().take(batch.len() / 2) {
                match value {
                    Some(value) => part.put(key, &[value]),
                    None => part.delete(key),
                }
            }
            self.map.apply(&part)?;
            return Err(error);
        }
        let writes = batch
            .iter()
            .map(|(key, value)| (key.to_vec(), value.map(<[u8]>::to_vec)));
        self.state.lock().unwrap().batches.push(writes.collect());
        self.map.apply(batch)
    }

    fn make_durable(&self) -> Result<()> {
        let before = self.batches();
        self.check()?;
        let durable = self.with_batches(before);
        let mut state = self.state.lock().unwrap();
        state.durable = durable.state.into_inner().unwrap().durable;
        state.batches.drain(..before);
        Ok(())
    }

    fn size_bytes(&self) -> Result<u64> {
        self.map.size_bytes()
    }

    fn close(&self) -> Result<()> {
        self.make_durable()
    }
}

/// One seed's run: a store, and the rows after each commit that may be there.
struct Run {
    seed: u64,
    random: StdRng,
    disk: SimulatedDisk,
    engine: Arc<SimulatedEngine>,
    /// After each commit since the last start, the first after none.
    history: Vec<Rows>,
    /// The last commit of the history that must be there.
    durable: usize,
}

impl Run {
    fn new(seed: u64) -> Run {
        Run {
            seed,
            random: StdRng::seed_from_u64(seed),
            disk: SimulatedDisk::new(seed),
            engine: Arc::default(),
            history: vec![Rows::new()],
            durable: 0,
        }
    }

    fn options(&self) -> StoreOptions {
        StoreOptions {
            segment_bytes: 12 << 10,
            checkpoint_bytes: 20 << 10,
            checkpoint_interval: Duration::from_millis(1),
            memtable_bytes_max: 16 << 10,
            // In some runs large commits wait for one another.
            large_commits_bytes_max: if self.seed.is_multiple_of(3) { 0 } else { 256 << 10 },
            ..StoreOptions::default()
        }
    }

    fn batch(&mut self) -> Batch {
        let length = match self.random.random_range(0..30) {
            0 => LARGE_WRITES + self.random.random_range(1..200),
            _ => self.random.random_range(1..6),
        };
        let mut writes = BTreeMap::new();
        for _ in 0..length {
            let key = self.random.random_range(0..600u16).to_be_bytes().to_vec();
            let value = match self.random.random_range(0..10) {
                0..3 => None,
                3 => Some(vec![self.random.random(); self.random.random_range(0..5000)]),
                _ => Some(vec![self.random.random(); 8]),
            };
            writes.insert(key, value);
        }
        let writes = writes.into_iter().map(|(key, value)| match value {
            Some(value) => Write::Put { key, value },
            None => Write::Delete { key },
        });
        Batch {
            relaxed: self.random.random_bool(0.3),
            ..blind(writes.collect())
        }
    }

    /// Commits until something fails, or enough.
    async fn work(&mut self, store: &MvccStore) {
        for _ in 0..self.random.random_range(1..60) {
            let batch = self.batch();
            let mut after = self.history.last().unwrap().clone();
            for write in &batch.writes {
                match write.value() {
                    Some(value) => after.insert(write.key().to_vec(), value.to_vec()),
                    None => after.remove(write.key()),
                };
            }
            let is_relaxed = batch.relaxed && batch.writes.len() <= LARGE_WRITES;
            self.history.push(after);
            if let Err(error) = store.commit(batch).await {
                assert_eq!(error.sqlstate(), "58030", "seed {}: {error}", self.seed);
                let refused = store.commit(blind(Vec::new())).await;
                assert!(refused.is_err(), "seed {}: it goes on after {error}", self.seed);
                return;
            }
            if !is_relaxed {
                self.durable = self.history.len() - 1;
            }
            if self.random.random_range(0..20) == 0 {
                assert_eq!(
                    rows_now(store).await,
                    *self.history.last().unwrap(),
                    "seed {}",
                    self.seed
                );
            }
        }
    }

    /// Ends the store in one of the ways there are, and comes back with what that leaves.
    async fn end(&mut self, store: Option<MvccStore>) {
        match self.random.random_range(0..3) {
            0 => {
                if let Some(store) = store {
                    let closed = store.close().await;
                    if closed.is_ok() {
                        self.durable = self.history.len() - 1;
                    }
                }
            }
            _ => {
                self.disk.cut_power();
                self.engine.fail_in(1);
                drop(store);
            }
        }
        self.come_back();
    }

    /// What a power cut leaves: the disk without what was not synced, the engine with the first so many of its batches.
    fn come_back(&mut self) {
        let batches = self.engine.batches();
        let kept = match self.random.random() {
            true => batches,
            false => self.random.random_range(0..=batches),
        };
        self.engine = Arc::new(self.engine.with_batches(kept));
        self.disk = self.disk.after_power_cut();
    }

    fn plant_fault(&mut self) {
        match self.random.random_range(0..4) {
            0 => self
                .disk
                .fail_in(self.random.random_range(1..100), Fault::PowerCut),
            1 => self.disk.fail_in(self.random.random_range(1..100), Fault::Error),
            2 => self.engine.fail_in(self.random.random_range(1..60)),
            _ => {}
        }
    }

    fn open(&self) -> Result<MvccStore> {
        let engine = Arc::clone(&self.engine) as Arc<dyn Engine>;
        MvccStore::open(engine, &self.options(), Some(log_on(&self.disk)?))
    }

    /// The store must open now, with the rows after one of the commits that may be the last.
    async fn check(&mut self) {
        let store = self
            .open()
            .unwrap_or_else(|error| panic!("seed {}: does not open: {error}", self.seed));
        let found = rows(&*store.snapshot().await.unwrap()).await.unwrap();
        let at = self.history.iter().rposition(|rows| *rows == found);
        let at = at.unwrap_or_else(|| panic!("seed {}: a part of a commit, or none of them", self.seed));
        assert!(
            self.history[self.durable..].contains(&found),
            "seed {}: ends after commit {at}, commit {} was durable",
            self.seed,
            self.durable
        );
        self.history = vec![found];
        self.durable = 0;
        self.end(Some(store)).await;
    }
}

async fn run(seed: u64) {
    let mut run = Run::new(seed);
    for _ in 0..GENERATIONS {
        run.plant_fault();
        match run.open() {
            Ok(store) => {
                run.work(&store).await;
                run.end(Some(store)).await;
            }
            Err(error) => {
                assert!(
                    !matches!(error, Error::Corrupt { .. }),
                    "seed {seed}: a fault was taken for damage: {error}"
                );
                run.end(None).await;
            }
        }
        run.check().await;
    }
}

fn seeds() -> Vec<u64> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    match number("KEYSPAN_FAULT_SEED") {
        Some(seed) => vec![seed],
        None => (0..number("KEYSPAN_FAULT_SEEDS").unwrap_or(SEEDS)).collect(),
    }
}

#[tokio::test]
async fn whatever_fails_acknowledged_commits_are_there_and_all_are_whole() {
    for seed in seeds() {
        run(seed).await;
    }
}

/// Every end of the store is a power cut as well: what it holds was closed, so all of it is there, however far the engine
/// is behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_on_the_simulated_disk_mirrors_a_plain_map() {
    for seed in seeds().into_iter().take(MIRROR_SEEDS) {
        let mut run = Run::new(seed);
        let mut open = || -> Arc<dyn Store> {
            run.come_back();
            Arc::new(run.open().unwrap_or_else(|error| panic!("seed {seed}: {error}")))
        };
        mirror_of(&mut open, true, seed, 300).await;
    }
}

/// A flipped bit in the log is found, or harmless: nobody is shown less than what was acknowledged.
#[tokio::test]
async fn damage_of_the_log_is_said_or_harmless() {
    let mut refused = 0;
    let seeds = seeds();
    for &seed in &seeds {
        let mut run = Run::new(seed);
        let store = run.open().unwrap();
        run.work(&store).await;
        store.close().await.unwrap();
        drop(store);
        let expected = run.history.last().unwrap().clone();
        let files = run.disk.files();
        let (path, length) = files[run.random.random_range(0..files.len())].clone();
        let (at, bit) = (run.random.random_range(0..length), run.random.random_range(0..8));
        run.disk.damage(&path, at, 1 << bit);
        match run.open() {
            Ok(store) => assert_eq!(rows_now(&store).await, expected, "seed {seed}"),
            Err(Error::Corrupt { .. }) => refused += 1,
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    assert!(refused > 0 || seeds.len() < 50);
}
