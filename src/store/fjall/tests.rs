//! Tests of the fjall engine: the store's suite over it, damaged directories, and what its docs promise.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::*;
use crate::store::engine_tests;
use crate::store::memory::MemoryEngine;
use crate::store::{Store, StoreKind, StoreOptions, conformance, open_store};

fn open(data_dir: &Path) -> Result<FjallEngine> {
    FjallEngine::open(data_dir, 8 << 20, File::create(data_dir.join("LOCK")).unwrap())
}

fn open_store_in(path: &Path) -> Result<Arc<dyn Store>> {
    let options = StoreOptions {
        cache_bytes: 8 << 20,
        ..StoreOptions::default()
    };
    open_store(StoreKind::Fjall, path, &options)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_fjall_store_conforms() {
    let directory = tempfile::tempdir().unwrap();
    let opened = std::cell::Cell::new(0);
    conformance::check_all(|| {
        opened.set(opened.get() + 1);
        open_store_in(&directory.path().join(opened.get().to_string())).unwrap()
    })
    .await;
}

#[test]
fn scans_agree_with_memory() {
    let directory = tempfile::tempdir().unwrap();
    engine_tests::scans_agree_with_memory(&open(directory.path()).unwrap());
}

#[test]
fn readers_miss_nothing_while_another_writes() {
    let directory = tempfile::tempdir().unwrap();
    engine_tests::readers_miss_nothing_while_another_writes(&open(directory.path()).unwrap(), 150);
}

#[test]
fn negative_numbers_are_scanned() {
    let directory = tempfile::tempdir().unwrap();
    engine_tests::negative_numbers_are_scanned(&open(directory.path()).unwrap());
}

/// Enough for many memtables and merges, with restarts: it stays what the memory engine is.
#[test]
fn writes_through_many_merges_mirror_memory() {
    let directory = tempfile::tempdir().unwrap();
    let model = MemoryEngine::new();
    let mut random = StdRng::seed_from_u64(1);
    let mut engine = open(directory.path()).unwrap();
    let mut bounds = vec![Vec::new()];
    for round in 0..120 {
        let mut batch = EngineBatch::default();
        for _ in 0..50 {
            let mut key = engine_tests::random_key(&mut random);
            if random.random_bool(0.05) {
                key.resize(30_000, 0xFF);
            }
            let length = [0, 10, 1000, 5000, 300_000][usize::min(random.random_range(0..20), 4)];
            match random.random_bool(0.8) {
                true => batch.put(&key, &[&vec![round; length / 8]]),
                false => batch.delete(&key),
            }
            bounds.push(key);
        }
        engine.apply(&batch).unwrap();
        model.apply(&batch).unwrap();
        if round % 40 == 39 {
            engine.make_durable().unwrap();
            drop(engine);
            engine = open(directory.path()).unwrap();
        }
    }
    bounds = bounds.into_iter().step_by(700).collect();
    engine_tests::compare(&engine, &model, &bounds);
}

/// Copies a tree as a crash would leave it: between two batches, whatever its threads do meanwhile.
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to.join("tables")).unwrap();
    // `current` first: what it names is on the disk, but a merge may remove it while the rest is copied.
    for name in ["current", "manifest"] {
        if from.join(name).exists() {
            std::fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
    for folder in ["", "tables"] {
        for entry in std::fs::read_dir(from.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() && !to.join(folder).join(path.file_name().unwrap()).exists() {
                let _ = std::fs::copy(&path, to.join(folder).join(path.file_name().unwrap()));
            }
        }
    }
}

/// Whenever it ends, the first so many batches are there, whole, and those made durable among them.
#[test]
fn a_crash_leaves_the_first_batches() {
    let whole = tempfile::tempdir().unwrap();
    let engine = open(whole.path()).unwrap();
    let (mut durable, mut ends) = (0, std::collections::BTreeSet::new());
    for number in 0..200u8 {
        let mut batch = EngineBatch::default();
        batch.put(b"", &[&[number]]);
        for row in 0..number % 7 {
            batch.put(&[1, row, number], &[&vec![number; 10_000]]);
        }
        engine.apply(&batch).unwrap();
        if number % 60 == 30 {
            engine.make_durable().unwrap();
            durable = number;
        }
        if number % 20 == 19 && number > 30 {
            let directory = tempfile::tempdir().unwrap();
            copy(&whole.path().join(FOLDER), &directory.path().join(FOLDER));
            let copy = open(directory.path()).unwrap();
            let last = engine_tests::value(&copy, b"").unwrap()[0];
            assert!(last >= durable && last <= number, "{durable} {last} {number}");
            let rows = engine_tests::entries(&copy, &[1], Some(&[2]), false);
            let expected = (0..=last).map(|number| usize::from(number % 7)).sum::<usize>();
            assert_eq!(rows.len(), expected);
            ends.insert(last);
        }
    }
    assert!(ends.len() > 2, "{ends:?}");
}

#[test]
fn a_database_that_was_not_finished_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join(UNFINISHED)).unwrap();
    std::fs::write(directory.path().join(UNFINISHED).join(CURRENT), b"half").unwrap();
    let engine = open(directory.path()).unwrap();
    assert_eq!(engine_tests::entries(&engine, b"", None, false), []);
    drop(engine);
    std::fs::remove_file(directory.path().join(FOLDER).join(CURRENT)).unwrap();
    assert!(matches!(open(directory.path()), Err(Error::Corrupt { .. })));
}

/// Every byte that a scan reads is checked, and after the first error every call answers it.
#[test]
fn damage_is_an_error_that_ends_every_later_call() {
    let mut random = StdRng::seed_from_u64(1);
    let mut refused = 0;
    for _ in 0..12 {
        let directory = tempfile::tempdir().unwrap();
        let engine = open(directory.path()).unwrap();
        let mut batch = EngineBatch::default();
        (0..2000u32).for_each(|n| batch.put(&n.to_be_bytes(), &[&n.to_be_bytes().repeat(10)]));
        engine.apply(&batch).unwrap();
        engine.close().unwrap();
        let before = engine_tests::entries(&engine, b"", None, false);
        drop(engine);
        let tables = directory.path().join(FOLDER).join("tables");
        let table = std::fs::read_dir(tables).unwrap().next().unwrap().unwrap().path();
        let mut bytes = std::fs::read(&table).unwrap();
        let at = random.random_range(0..bytes.len());
        bytes[at] ^= 0x10;
        std::fs::write(&table, bytes).unwrap();
        let engine = match open(directory.path()) {
            Ok(engine) => engine,
            Err(error) => {
                assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
                refused += 1;
                continue;
            }
        };
        let mut found = Vec::new();
        let result = engine.scan(b"", None, false, &mut |key, value| {
            found.push((key.to_vec(), value.to_vec()));
            ControlFlow::Continue(())
        });
        match result {
            Ok(()) => assert!(found == before, "byte {at}: other rows without a word"),
            Err(error) => {
                assert!(matches!(error, Error::Corrupt { .. }), "{error:?}");
                assert_eq!(engine.get(b"x", &mut |_| ()), Err(error.clone()));
                assert_eq!(engine.apply(&EngineBatch::default()), Err(error.clone()));
                assert_eq!(engine.close(), Err(error));
                refused += 1;
            }
        }
    }
    assert!(refused > 4, "{refused} were found");
}

#[test]
fn a_key_too_long_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(directory.path()).unwrap();
    let mut batch = EngineBatch::default();
    batch.put(&vec![1; 65_535], &[b"value"]);
    assert_eq!(engine.apply(&batch).unwrap_err().sqlstate(), "22023");
    let mut batch = EngineBatch::default();
    batch.put(&vec![0; 65_534], &[b"value"]);
    engine.apply(&batch).unwrap();
    engine.make_durable().unwrap();
    assert_eq!(engine_tests::entries(&engine, b"", None, true).len(), 1);
}

/// What is dropped is gone from the disk at once, and nothing else.
#[test]
fn files_of_a_dropped_range_give_their_room_back() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open(directory.path()).unwrap();
    let value = [7_u8; 1000];
    for first in [b'a', b'b', b'c'] {
        for at in 0..3_u16 {
            let mut batch = EngineBatch::default();
            (at * 1000..(at + 1) * 1000)
                .for_each(|n| batch.put(&[&[first][..], &n.to_be_bytes()].concat(), &[&value]));
            engine.apply(&batch).unwrap();
            engine.make_durable().unwrap();
        }
    }
    let before = engine.size_bytes().unwrap();
    engine.drop_files(b"b", Some(b"c")).unwrap();
    let mut left = [0; 3];
    let count = &mut |key: &[u8], _: &[u8]| {
        left[usize::from(key[0] - b'a')] += 1;
        ControlFlow::Continue(())
    };
    engine.scan(b"", None, false, count).unwrap();
    assert_eq!((left[0], left[2]), (3000, 3000));
    assert!(left[1] < 3000 && engine.size_bytes().unwrap() < before);
}
