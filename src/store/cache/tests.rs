//! The cache of blocks beside the engine under it: what is read, in any order of reads, writes and blocks that come and go. Run by cargo
//! test alone.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::CachedEngine;
use super::block::BlockDraft;
use super::blocks::{Blocks, Found};
use crate::store::engine::{Engine, EngineBatch, Visit};
use crate::store::engine_tests::{self, compare, entries, in_memory, number_key, random_key, value};
use crate::store::memory::MemoryEngine;
use crate::{Error, Result};

fn cached(bytes_max: u64) -> CachedEngine {
    CachedEngine::new(Arc::new(MemoryEngine::new()), bytes_max, is_sound)
}

/// What verified values are in these tests.
fn is_sound(value: &[u8]) -> bool {
    value.first().is_none_or(|byte| byte % 16 != 7)
}

#[test]
fn scans_agree_with_memory_with_much_memory_and_with_little() {
    for bytes_max in [0, 4 << 10, 1 << 20] {
        engine_tests::scans_agree_with_memory(&cached(bytes_max));
    }
}

#[test]
fn readers_miss_nothing_while_another_writes() {
    engine_tests::readers_miss_nothing_while_another_writes(&cached(64 << 10), 150);
}

#[test]
fn negative_numbers_are_scanned() {
    engine_tests::negative_numbers_are_scanned(&cached(64 << 10));
}

/// Reads that make blocks, writes that change them, values of every size, memory that is used up or not.
#[test]
fn blocks_follow_random_writes() {
    let mut verified = 0;
    for seed in 0..6 {
        let mut random = StdRng::seed_from_u64(seed);
        let bytes_max = [2 << 10, 40 << 10, 64 << 20][seed as usize % 3];
        let (engine, model) = (cached(bytes_max), MemoryEngine::new());
        let mut keys = vec![Vec::new()];
        for step in 0..400 {
            let mut batch = EngineBatch::default();
            for _ in 0..random.random_range(1..40) {
                let key = match random.random_bool(0.3) {
                    true => keys[random.random_range(0..keys.len())].clone(),
                    false => random_key(&mut random),
                };
                let size = match random.random_range(0..100) {
                    0 => random.random_range(0..300_000),
                    1..10 => random.random_range(0..5_000),
                    _ => random.random_range(0..40),
                };
                match random.random_bool(0.75) {
                    true => batch.put(&key, &[&vec![step as u8; size]]),
                    false => batch.delete(&key),
                }
                keys.push(key);
            }
            engine.apply(&batch).unwrap();
            model.apply(&batch).unwrap();
            for _ in 0..6 {
                let mut bound = || keys[random.random_range(0..keys.len())].clone();
                let (one, other) = (bound(), bound());
                assert_eq!(value(&engine, &one), value(&model, &one));
                let mut got = Vec::new();
                let visit = &mut |value: Option<&[u8]>| got.push(value.map(<[u8]>::to_vec));
                let count = engine.get_in_memory(&[&one, &other], visit);
                let expected = [&one, &other].map(|key| value(&model, key));
                assert_eq!(got, expected[..count]);
                let (start, end) = (one.clone().min(other.clone()), one.max(other));
                let (end, reverse) = (random.random_bool(0.8).then_some(&*end), random.random());
                let all = entries(&model, &start, end, reverse);
                let (scanned, found) = in_memory(&engine, &start, end, reverse);
                assert!(all.starts_with(&found), "seed {seed}, step {step}");
                assert!(!scanned.is_done || found == all, "seed {seed}, step {step}");
                assert!(!scanned.known.are_verified || found.iter().all(|(_, value)| is_sound(value)));
                verified += usize::from(scanned.known.are_verified && found.len() > 10);
                assert!(
                    entries(&engine, &start, end, reverse) == all,
                    "seed {seed}, step {step}: {start:X?} to {end:X?}, reverse {reverse}"
                );
            }
            assert!(engine.blocks.size_bytes() <= bytes_max);
        }
        let bounds: Vec<Vec<u8>> = keys.into_iter().step_by(250).collect();
        compare(&engine, &model, &bounds);
    }
    assert!(verified > 100, "{verified} scans of verified values");
}

/// A scan that its visitor ends sees no entry more, whether blocks are there or not.
#[test]
fn a_visitor_ends_a_scan() {
    for (bytes_max, reverse) in [(0, false), (0, true), (1 << 20, false), (1 << 20, true)] {
        let engine = cached(bytes_max);
        let mut batch = EngineBatch::default();
        (0..5000).for_each(|n| batch.put(&number_key(n), &[b"value"]));
        engine.apply(&batch).unwrap();
        for wanted in [1, 63, 64, 65, 1024, 1025, 3000] {
            let mut seen = 0;
            let mut visit = |_: &[u8], _: &[u8]| {
                seen += 1;
                match seen == wanted {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            };
            engine.scan(&number_key(3), None, reverse, &mut visit).unwrap();
            assert_eq!(seen, wanted);
        }
    }
}

/// Whoever reads after a write was answered sees it or a later one, while blocks are made and given up.
#[test]
fn no_reader_sees_less_than_what_was_applied() {
    const KEYS: usize = 600;
    for bytes_max in [6 << 10, 1 << 20] {
        let engine = cached(bytes_max);
        let applied: Vec<AtomicU64> = (0..KEYS).map(|_| AtomicU64::new(0)).collect();
        let is_done = AtomicBool::new(false);
        let see = |key: &[u8], value: &[u8], before: &dyn Fn(usize) -> u64| {
            let at = u64::from_be_bytes(key[1..].try_into().unwrap()) ^ (1 << 63);
            let value = u64::from_be_bytes(value.try_into().unwrap());
            assert!(value >= before(at as usize), "key {at}");
        };
        std::thread::scope(|scope| {
            for reader in 0..3 {
                let (engine, applied, is_done, see) = (&engine, &applied, &is_done, &see);
                scope.spawn(move || {
                    let mut random = StdRng::seed_from_u64(reader);
                    while !is_done.load(Ordering::Relaxed) {
                        let at = random.random_range(0..KEYS);
                        let before = applied[at].load(Ordering::SeqCst);
                        let key = number_key(at as i64);
                        let found = value(engine, &key);
                        assert!(found.is_some() || before == 0);
                        found.iter().for_each(|found| see(&key, found, &|_| before));
                        let before: Vec<u64> = applied.iter().map(|one| one.load(Ordering::SeqCst)).collect();
                        let found = entries(engine, &key, None, random.random());
                        let written = before[at..].iter().filter(|one| **one > 0).count();
                        assert!(found.len() >= written, "{} of {written}", found.len());
                        found
                            .iter()
                            .for_each(|(key, found)| see(key, found, &|at| before[at]));
                    }
                });
            }
            let mut random = StdRng::seed_from_u64(9);
            for number in 1..3000u64 {
                let mut batch = EngineBatch::default();
                let written: Vec<usize> = (0..random.random_range(1..20))
                    .map(|_| random.random_range(0..KEYS))
                    .collect();
                for at in &written {
                    batch.put(&number_key(*at as i64), &[&number.to_be_bytes()]);
                }
                engine.apply(&batch).unwrap();
                written
                    .iter()
                    .for_each(|at| applied[*at].store(number, Ordering::SeqCst));
            }
            is_done.store(true, Ordering::Relaxed);
        });
    }
}

/// A queue: rows come at one end and go at the other. The first row is found in the block where the rows begin, or in the next.
#[test]
fn emptied_blocks_are_no_way_to_go() {
    const ROWS: i64 = 3000;
    for is_read_backward in [false, true] {
        let engine = cached(64 << 20);
        let mut batch = EngineBatch::default();
        (0..ROWS).for_each(|n| batch.put(&number_key(n), &[&[7; 100]]));
        batch.put(&[0x10], &[b"before"]);
        engine.apply(&batch).unwrap();
        assert_eq!(
            entries(&engine, b"", None, is_read_backward).len() as i64,
            ROWS + 1
        );
        let full = engine.blocks.count();
        assert!(full as i64 >= ROWS / 64, "{full} blocks");
        let mut random = StdRng::seed_from_u64(3);
        let (mut first, mut end) = (0, ROWS);
        while first < 20 * ROWS {
            let mut batch = EngineBatch::default();
            let count = random.random_range(1..300);
            (first..first + count).for_each(|n| batch.delete(&number_key(n)));
            (end..end + count).for_each(|n| batch.put(&number_key(n), &[&[7; 100]]));
            engine.apply(&batch).unwrap();
            (first, end) = (first + count, end + count);
            let passed = blocks_before(&engine, &[0x20], &number_key(first));
            assert!(passed <= 2, "{passed} blocks before row {first}");
        }
        assert!(
            engine.blocks.count() <= 2 * full,
            "{} blocks",
            engine.blocks.count()
        );
        // All go: no more than a block or two is left.
        let mut batch = EngineBatch::default();
        (first..end).for_each(|n| batch.delete(&number_key(n)));
        engine.apply(&batch).unwrap();
        assert!(engine.blocks.count() <= 2, "{} blocks", engine.blocks.count());
        assert_eq!(entries(&engine, b"", None, false).len(), 1);
    }
}

/// What is given up is read from the engine again; what stands beside it stays.
#[test]
fn blocks_of_a_dropped_range_are_forgotten() {
    let engine = cached(64 << 20);
    let mut batch = EngineBatch::default();
    (0..3000).for_each(|n| batch.put(&number_key(n), &[&[7; 100]]));
    engine.apply(&batch).unwrap();
    assert_eq!(entries(&engine, b"", None, false).len(), 3000);
    let full = engine.blocks.count();
    engine
        .drop_files(&number_key(1000), Some(&number_key(2000)))
        .unwrap();
    for n in 1000..2000 {
        assert!(matches!(engine.blocks.find(&number_key(n)), Found::Gap(_)));
    }
    assert!(engine.blocks.count() >= full / 2);
    engine
        .drop_files(&number_key(2000), Some(&number_key(1000)))
        .unwrap();
    engine.drop_files(b"", None).unwrap();
    assert_eq!(engine.blocks.count(), 0);
    assert_eq!(entries(&engine, b"", None, false).len(), 3000);
}

/// How many blocks are gone through from a key on to reach the next one that is there.
fn blocks_before(engine: &CachedEngine, from: &[u8], next: &[u8]) -> usize {
    let (mut at, mut blocks) = (from.to_vec(), 0);
    while let Found::Block(block) = engine.blocks.find(&at) {
        blocks += 1;
        match block.end() {
            Some(end) if !block.reaches(next) => at = end.to_vec(),
            _ => return blocks,
        }
    }
    panic!("a block is missing at {at:X?}");
}

/// The first block of all is put in at the moment at which a batch is brought to the blocks.
#[test]
fn a_write_finds_the_block_that_is_being_put_in() {
    let blocks = Blocks::new(1 << 20, is_sound);
    let mut draft = BlockDraft::default();
    draft.push(b"a", b"old");
    let block = Arc::new(draft.ended(None, is_sound, false));
    let mut batch = EngineBatch::default();
    batch.put(b"a", &[b"new"]);
    std::thread::scope(|scope| {
        let (begun, begins) = std::sync::mpsc::channel();
        let (blocks, batch) = (&blocks, &batch);
        blocks.insert(b"", &block, || {
            let begun = begun.clone();
            scope.spawn(move || {
                begun.send(()).unwrap();
                blocks.apply(batch);
            });
            begins.recv().unwrap();
            (0..100).for_each(|_| std::thread::yield_now());
            true
        });
    });
    let mut found = Vec::new();
    let Found::Block(()) = blocks.get(b"a", &mut |value| found = value.to_vec()) else {
        panic!("the block is there");
    };
    assert_eq!(found, b"new");
}

/// Once the memory is used up, of reads that find no block only one in many makes one: the engine is asked for one entry, not for all
/// of a block.
#[test]
fn a_full_cache_makes_few_blocks() {
    const KEYS: i64 = 20_000;
    let counting = Arc::new(Watched::default());
    let engine = CachedEngine::new(counting.clone(), 256 << 10, is_sound);
    let mut batch = EngineBatch::default();
    (0..KEYS).for_each(|n| batch.put(&number_key(n), &[&[7; 100]]));
    engine.apply(&batch).unwrap();
    let mut random = StdRng::seed_from_u64(1);
    let mut read = |times: u64| {
        let before = counting.scans.load(Ordering::Relaxed);
        for _ in 0..times {
            assert!(value(&engine, &number_key(random.random_range(0..KEYS))).is_some());
        }
        counting.scans.load(Ordering::Relaxed) - before
    };
    assert!(read(1000) > 20, "blocks are made while there is room");
    assert!(read(6400) <= 100, "one read in 64 makes a block");
    assert!(engine.blocks.size_bytes() > 128 << 10);
}

/// An engine that counts its scans, and fails when it is told to.
#[derive(Debug, Default)]
struct Watched {
    inner: MemoryEngine,
    scans: AtomicU64,
    fails: AtomicBool,
}

impl Watched {
    fn answer(&self) -> Result<()> {
        match self.fails.load(Ordering::Relaxed) {
            true => Err(Error::internal("the engine has failed")),
            false => Ok(()),
        }
    }
}

impl Engine for Watched {
    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.answer()?;
        self.inner.get(key, visit)
    }
    fn scan(&self, start: &[u8], end: Option<&[u8]>, reverse: bool, visit: Visit<'_>) -> Result<()> {
        self.answer()?;
        self.scans.fetch_add(1, Ordering::Relaxed);
        self.inner.scan(start, end, reverse, visit)
    }
    fn apply(&self, batch: &EngineBatch) -> Result<()> {
        self.answer()?;
        self.inner.apply(batch)
    }
    fn make_durable(&self) -> Result<()> {
        self.answer()
    }
    fn size_bytes(&self) -> Result<u64> {
        self.inner.size_bytes()
    }
    fn close(&self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn after_an_error_nothing_is_answered_from_memory() {
    let failing = Arc::new(Watched::default());
    let engine = CachedEngine::new(failing.clone(), 1 << 20, is_sound);
    let mut batch = EngineBatch::default();
    batch.put(b"a", &[b"1"]);
    engine.apply(&batch).unwrap();
    assert_eq!(value(&engine, b"a"), Some(b"1".to_vec()));
    failing.fails.store(true, Ordering::Relaxed);
    // What is in memory is answered until the first call that meets the error.
    assert_eq!(value(&engine, b"a"), Some(b"1".to_vec()));
    assert!(engine.apply(&batch).is_err());
    assert!(engine.get(b"a", &mut |_| {}).is_err());
    let mut visit = |_: &[u8], _: &[u8]| ControlFlow::Continue(());
    assert!(engine.scan(b"", None, false, &mut visit).is_err());
    assert_eq!(engine.blocks.size_bytes(), 0);
}

/// An engine that waits until it may give up files.
#[derive(Debug, Default)]
struct Merging {
    map: MemoryEngine,
    ends: Mutex<Option<Receiver<()>>>,
}

impl Engine for Merging {
    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<()> {
        self.map.get(key, visit)
    }
    fn scan(&self, start: &[u8], end: Option<&[u8]>, reverse: bool, visit: Visit<'_>) -> Result<()> {
        self.map.scan(start, end, reverse, visit)
    }
    fn apply(&self, batch: &EngineBatch) -> Result<()> {
        self.map.apply(batch)
    }
    fn make_durable(&self) -> Result<()> {
        self.map.make_durable()
    }
    fn size_bytes(&self) -> Result<u64> {
        self.map.size_bytes()
    }
    fn drop_files(&self, _start: &[u8], _end: Option<&[u8]>) -> Result<()> {
        let ends = self.ends.lock().unwrap().take();
        ends.into_iter().for_each(|ends| ends.recv().unwrap());
        Ok(())
    }
    fn close(&self) -> Result<()> {
        self.map.close()
    }
}

#[test]
fn files_are_given_up_beside_writes() {
    let (end, ends) = channel();
    let merging = Merging {
        ends: Mutex::new(Some(ends)),
        ..Merging::default()
    };
    let engine = CachedEngine::new(Arc::new(merging), 1 << 20, is_sound);
    let put = |key: &[u8]| {
        let mut batch = EngineBatch::default();
        batch.put(key, &[b"1"]);
        engine.apply(&batch).unwrap();
    };
    put(b"a");
    std::thread::scope(|threads| {
        let dropping = threads.spawn(|| engine.drop_files(b"a", Some(b"b")));
        put(b"c");
        assert_eq!(entries(&engine, b"", None, false).len(), 2);
        end.send(()).unwrap();
        dropping.join().unwrap().unwrap();
    });
    assert_eq!(entries(&engine, b"", None, false).len(), 2);
}
