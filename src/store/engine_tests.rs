//! The suite that every engine passes beside the memory engine: what the doc comments of `Engine` promise. Engines call
//! its functions from their tests.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::engine::{Engine, EngineBatch, ScannedInMemory};
use super::memory::MemoryEngine;

/// Entries of a scan.
type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// A small number as an index holds it: up to seven bytes of FF or 00 in a row.
pub(crate) fn number_key(number: i64) -> Vec<u8> {
    [&[0x20][..], &(number ^ i64::MIN).to_be_bytes()].concat()
}

/// A key with runs of 00 and FF of any length and few other bytes, or a small number.
pub(crate) fn random_key(random: &mut StdRng) -> Vec<u8> {
    if random.random_bool(0.5) {
        return number_key(random.random_range(-300..200));
    }
    let mut key = Vec::new();
    for _ in 0..random.random_range(1..5) {
        let byte = [0, 0xFF, 0xFF, 1, 0x7F, 0xFE][random.random_range(0..6)];
        let length = match byte {
            0 | 0xFF => random.random_range(1..10),
            _ => 1,
        };
        key.extend(std::iter::repeat_n(byte, length));
    }
    key
}

pub(crate) fn entries(engine: &dyn Engine, start: &[u8], end: Option<&[u8]>, reverse: bool) -> Entries {
    let mut found = Vec::new();
    engine
        .scan(start, end, reverse, &mut |key, value| {
            found.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        })
        .expect("a scan");
    found
}

/// What a scan finds in memory.
pub(crate) fn in_memory(
    engine: &dyn Engine,
    start: &[u8],
    end: Option<&[u8]>,
    reverse: bool,
) -> (ScannedInMemory, Entries) {
    let mut found = Vec::new();
    let scanned = engine.scan_in_memory(start, end, reverse, None, &mut |key, value| {
        found.push((key.to_vec(), value.to_vec()));
        ControlFlow::Continue(())
    });
    (scanned, found)
}

pub(crate) fn value(engine: &dyn Engine, key: &[u8]) -> Option<Vec<u8>> {
    let mut found = None;
    engine
        .get(key, &mut |value| found = Some(value.to_vec()))
        .expect("a get");
    found
}

/// Compares everything that can be read, with scans between any two of these keys.
pub(crate) fn compare(engine: &dyn Engine, model: &dyn Engine, bounds: &[Vec<u8>]) {
    for reverse in [false, true] {
        assert!(
            entries(engine, b"", None, reverse) == entries(model, b"", None, reverse),
            "everything, reverse {reverse}"
        );
        for start in bounds {
            assert!(
                entries(engine, start, None, reverse) == entries(model, start, None, reverse),
                "from {start:X?}, reverse {reverse}"
            );
            for end in bounds {
                let expected = entries(model, start, Some(end), reverse);
                assert!(
                    entries(engine, start, Some(end), reverse) == expected,
                    "{start:X?} to {end:X?}, reverse {reverse}"
                );
                let (scanned, found) = in_memory(engine, start, Some(end), reverse);
                assert!(
                    expected.starts_with(&found) && (!scanned.is_done || found == expected),
                    "in memory {start:X?} to {end:X?}, reverse {reverse}"
                );
            }
        }
    }
    // Gets bring into memory what they read.
    for keys in bounds.chunks(50) {
        for key in keys {
            assert_eq!(value(engine, key), value(model, key), "{key:X?}");
        }
        let keys: Vec<&[u8]> = keys.iter().map(Vec::as_slice).collect();
        let mut found = Vec::new();
        let count = engine.get_in_memory(&keys, &mut |value| found.push(value.map(<[u8]>::to_vec)));
        assert_eq!(found.len(), count);
        for (key, found) in keys.iter().zip(found) {
            assert_eq!(found, value(model, key), "{key:X?}");
        }
    }
}

/// Scans and gets over thousands of keys with runs of 00 and FF, between every pair of some bounds.
pub(crate) fn scans_agree_with_memory(engine: &dyn Engine) {
    let model = MemoryEngine::new();
    let mut random = StdRng::seed_from_u64(1);
    let mut keys = Vec::new();
    for number in 0..30u8 {
        let mut batch = EngineBatch::default();
        for _ in 0..120 {
            let key = random_key(&mut random);
            match random.random_bool(0.9) {
                true => batch.put(&key, &[&[number; 3], &key]),
                false => batch.delete(&key),
            }
            keys.push(key);
        }
        engine.apply(&batch).expect("applies");
        model.apply(&batch).expect("applies");
    }
    let bounds: Vec<Vec<u8>> = keys.into_iter().step_by(90).chain([Vec::new()]).collect();
    compare(engine, &model, &bounds);
}

/// Every small negative number as an index holds it: between any two of them a scan in both directions.
pub(crate) fn negative_numbers_are_scanned(engine: &dyn Engine) {
    let model = MemoryEngine::new();
    let mut batch = EngineBatch::default();
    for n in -700..700 {
        batch.put(&number_key(n), &[b"value"]);
        batch.put(
            &number_key(n).iter().map(|byte| !byte).collect::<Vec<_>>(),
            &[b"value"],
        );
    }
    engine.apply(&batch).expect("applies");
    model.apply(&batch).expect("applies");
    let bounds: Vec<Vec<u8>> = (-700..700)
        .step_by(50)
        .chain([-2, -1, 0, 1])
        .map(number_key)
        .collect();
    compare(engine, &model, &bounds);
}

/// While runs of keys between them are written and deleted again, so that pages split and join, each of the keys that stay is
/// found by every get, and exactly once by every scan in both directions, in order.
pub(crate) fn readers_miss_nothing_while_another_writes(engine: &dyn Engine, batches: usize) {
    const STAYING: u32 = 2000;
    let key = |staying: u32, between: u32| [&staying.to_be_bytes()[..], &between.to_be_bytes()].concat();
    let mut first = EngineBatch::default();
    (0..STAYING).for_each(|n| first.put(&key(n, 0), &[b"stays"]));
    engine.apply(&first).expect("applies");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for reader in 0..3 {
            let is_over = &is_over;
            scope.spawn(move || {
                let mut random = StdRng::seed_from_u64(reader);
                while !is_over.load(Ordering::Relaxed) {
                    let (low, reverse) = (random.random_range(0..STAYING), random.random_bool(0.5));
                    let high = STAYING.min(low + random.random_range(1..300));
                    assert_eq!(value(engine, &key(low, 0)).as_deref(), Some(&b"stays"[..]));
                    let mut found = entries(engine, &key(low, 0), Some(&key(high, 0)), reverse);
                    if reverse {
                        found.reverse();
                    }
                    assert!(
                        found.is_sorted_by(|(a, _), (b, _)| a < b),
                        "{low} to {high}, reverse {reverse}"
                    );
                    found.retain(|(_, value)| value == b"stays");
                    let staying = (low..high).map(|n| (key(n, 0), b"stays".to_vec()));
                    assert!(
                        found.into_iter().eq(staying),
                        "{low} to {high}, reverse {reverse}"
                    );
                }
            });
        }
        let mut random = StdRng::seed_from_u64(7);
        let mut there: Vec<(u32, u32)> = Vec::new();
        for _ in 0..batches {
            let mut batch = EngineBatch::default();
            for _ in 0..random.random_range(1..6) {
                let run = (random.random_range(0..STAYING), random.random_range(1..200));
                (1..run.1).for_each(|n| batch.put(&key(run.0, n), &[b"goes"]));
                there.push(run);
            }
            while there.len() > 40 {
                let (at, run) = there.swap_remove(random.random_range(0..there.len()));
                (1..run).for_each(|n| batch.delete(&key(at, n)));
            }
            engine.apply(&batch).expect("applies");
        }
        is_over.store(true, Ordering::Relaxed);
    });
}
