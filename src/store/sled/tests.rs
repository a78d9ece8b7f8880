//! Tests of the sled engine: the store's suite over it, damaged directories, and what its docs promise.

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::*;
use crate::Error;
use crate::store::memory::MemoryEngine;
use crate::store::{
    Batch, KeyRange, Page, ScanRequest, Store, StoreKind, StoreOptions, Write, conformance, engine_tests,
    open_store,
};

/// Rows of `fill_store`, committed a hundred at a time.
const ROWS: u32 = 3000;

fn open(path: &Path) -> Result<Arc<dyn Store>> {
    open_with_cache(path, 16 << 20)
}

fn open_with_cache(path: &Path, cache_bytes: u64) -> Result<Arc<dyn Store>> {
    let options = StoreOptions {
        cache_bytes,
        ..StoreOptions::default()
    };
    open_store(StoreKind::Sled, path, &options)
}

fn open_engine(directory: &Path) -> SledEngine {
    try_open_engine(directory).unwrap()
}

fn try_open_engine(directory: &Path) -> Result<SledEngine> {
    let lock = File::create(directory.join("LOCK")).unwrap();
    SledEngine::open(directory, 1 << 20, lock)
}

#[test]
fn scans_agree_with_memory() {
    let directory = tempfile::tempdir().unwrap();
    engine_tests::scans_agree_with_memory(&open_engine(directory.path()));
}

#[test]
fn readers_miss_nothing_while_another_writes() {
    let directory = tempfile::tempdir().unwrap();
    engine_tests::readers_miss_nothing_while_another_writes(&open_engine(directory.path()), 150);
}

#[test]
fn negative_numbers_are_scanned() {
    let directory = tempfile::tempdir().unwrap();
    engine_tests::negative_numbers_are_scanned(&open_engine(directory.path()));
}

/// What was deleted is room that later writes take before the file grows.
#[test]
fn what_was_deleted_can_be_used_again() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open_engine(directory.path());
    let write = |value: Option<&[u8]>| {
        for start in (0..40_000_u32).step_by(1000) {
            let mut batch = EngineBatch::default();
            for key in start..start + 1000 {
                match value {
                    Some(value) => batch.put(&key.to_be_bytes(), &[value]),
                    None => batch.delete(&key.to_be_bytes()),
                }
            }
            engine.apply(&batch).unwrap();
        }
        engine.make_durable().unwrap();
    };
    write(Some(&[7; 1000]));
    let full = engine.size_bytes().unwrap();
    assert!(engine.reusable_bytes().unwrap() < full / 2);
    write(None);
    assert!(engine.reusable_bytes().unwrap() > full / 2);
    write(Some(&[8; 500]));
    assert!(engine.size_bytes().unwrap() <= full + (4 * folder::SEGMENT_BYTES) as u64);
}

async fn fill_store(store: &dyn Store, value_bytes: usize) {
    for start in (0..ROWS).step_by(100) {
        let put = |n: u32| Write::Put {
            key: n.to_be_bytes().to_vec(),
            value: vec![n as u8; value_bytes],
        };
        let writes = (start..start + 100).map(put).collect();
        let batch = Batch {
            writes,
            relaxed: start % 1000 != 0,
            ..Batch::default()
        };
        store.commit(batch).await.unwrap();
    }
}

/// How many rows the store holds; checks their values.
async fn count_rows(store: &dyn Store) -> Result<u32> {
    let everything = KeyRange {
        start: Vec::new(),
        end: None,
    };
    let mut scan = store.snapshot().await?.scan(ScanRequest {
        read_ahead: false,
        ranges: vec![everything],
        reverse: false,
        keys_only: false,
        page_rows_max: 1000,
        page_bytes_max: 1 << 20,
    });
    let mut page = Page::new();
    let mut count = 0u32;
    loop {
        scan.next_page(&mut page).await?;
        if page.is_empty() {
            return Ok(count);
        }
        for (key, value) in page.iter() {
            assert_eq!(key, count.to_be_bytes());
            assert!(value.iter().all(|byte| *byte == count as u8));
            count += 1;
        }
    }
}

fn is_corrupt(error: &Error, directory: &Path) -> bool {
    matches!(error, Error::Corrupt { .. }) && error.to_string().contains(&directory.display().to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sled_store_conforms() {
    let directory = tempfile::tempdir().unwrap();
    let opened = std::cell::Cell::new(0);
    conformance::check_all(|| {
        opened.set(opened.get() + 1);
        open(&directory.path().join(opened.get().to_string())).unwrap()
    })
    .await;
}

#[tokio::test]
async fn a_directory_is_opened_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path()).unwrap();
    let path = directory.path().display().to_string();
    assert_eq!(open(directory.path()).err(), Some(Error::DataDirInUse { path }));
    fill_store(&*store, 10).await;
    drop(store);
    // Sled's own lock may still be held by a thread of its own; opening waits for it.
    let store = open(directory.path()).unwrap();
    assert_eq!(count_rows(&*store).await, Ok(ROWS));
    // A closed store gives the directory free once nothing holds it any more, snapshots included.
    let snapshot = store.snapshot().await.unwrap();
    store.close().await.unwrap();
    drop((store, snapshot));
    assert_eq!(count_rows(&*open(directory.path()).unwrap()).await, Ok(ROWS));
}

#[tokio::test]
async fn a_damaged_log_is_refused_or_still_whole() {
    let whole = tempfile::tempdir().unwrap();
    fill_store(&*open(whole.path()).unwrap(), 100).await;
    let log = std::fs::read(whole.path().join("sled-2/db")).unwrap();
    let mut random = StdRng::seed_from_u64(1);
    let mut refused = 0;
    for round in 0..16 {
        let directory = tempfile::tempdir().unwrap();
        for folder in ["sled-2", "log"] {
            std::fs::create_dir_all(directory.path().join(folder)).unwrap();
        }
        let segments = std::fs::read_dir(whole.path().join("log")).unwrap();
        let segments = segments.map(|entry| format!("log/{}", entry.unwrap().file_name().display()));
        for file in ["FORMAT", "LOG_END", "sled-2/conf"]
            .map(str::to_string)
            .into_iter()
            .chain(segments)
        {
            std::fs::copy(whole.path().join(&file), directory.path().join(&file)).unwrap();
        }
        let mut damaged = log.clone();
        let at = random.random_range(0..log.len());
        match round % 4 {
            0 => damaged.truncate(at),
            1 => damaged[at] ^= 0x55,
            2 => random.fill(&mut damaged[at..log.len().min(at + 5000)]),
            _ => (0..20).for_each(|_| damaged[random.random_range(0..log.len())] ^= 0xFF),
        }
        std::fs::write(directory.path().join("sled-2/db"), damaged).unwrap();
        let count = match open(directory.path()) {
            Ok(store) => count_rows(&*store).await,
            Err(error) => Err(error),
        };
        match count {
            Ok(count) => assert_eq!(count, ROWS, "round {round}: rows were lost without a word"),
            Err(error) => {
                assert!(matches!(error, Error::Corrupt { .. }), "round {round}: {error:?}");
                refused += 1;
            }
        }
    }
    assert!(
        refused >= 4,
        "truncation at least is always found, {refused} were"
    );
}

#[tokio::test]
async fn other_damaged_files_are_refused() {
    let damages: [(&str, Option<&[u8]>); 6] = [
        ("FORMAT", Some(b"keyspan format one engine sled")),
        ("FORMAT", Some(b"")),
        ("FORMAT", None),
        (
            "sled-2/conf",
            Some(b"segment_size: 1\nuse_compression: false\nversion: 0.34\n...."),
        ),
        ("sled-2/conf", Some(b"\xff\xfe nothing that sled would write")),
        ("sled-2/db", None),
    ];
    for (file, damage) in damages {
        let directory = tempfile::tempdir().unwrap();
        fill_store(&*open(directory.path()).unwrap(), 10).await;
        let path = directory.path().join(file);
        match damage {
            Some(bytes) => std::fs::write(&path, bytes).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        let error = open(directory.path()).expect_err(file);
        assert!(
            matches!(error, Error::Corrupt { .. }),
            "{file} with {damage:?}: {error:?}"
        );
    }
}

#[tokio::test]
async fn a_newer_format_or_another_engine_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    drop(open(directory.path()).unwrap());
    std::fs::write(directory.path().join("FORMAT"), "keyspan format 4 engine sled\n").unwrap();
    let path = directory.path().display().to_string();
    assert_eq!(
        open(directory.path()).err(),
        Some(Error::DataDirFormat {
            path,
            found: 4,
            supported: 3
        })
    );
    std::fs::write(directory.path().join("FORMAT"), "keyspan format 1 engine other\n").unwrap();
    assert_eq!(open(directory.path()).unwrap_err().sqlstate(), "22023");
}

/// Damage while the store runs: reads of what is not cached fail with an error, and nothing panics or hangs.
#[tokio::test]
async fn damage_under_a_running_store_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    fill_store(&*open(directory.path()).unwrap(), 3000).await;
    let store = open_with_cache(directory.path(), 1 << 10).unwrap();
    assert_eq!(count_rows(&*store).await, Ok(ROWS));
    let log = directory.path().join("sled-2/db");
    let length = std::fs::metadata(&log).unwrap().len();
    let mut garbage = vec![0; length as usize];
    StdRng::seed_from_u64(1).fill(&mut garbage[..]);
    let file = File::options().write(true).open(&log).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &garbage, 0).unwrap();
    let error = count_rows(&*store).await.expect_err("reading garbage");
    assert!(is_corrupt(&error, directory.path()), "{error:?}");
}

/// Asserts that sled wrote no file of its own for an item.
fn assert_no_blobs(directory: &Path) {
    let blobs = std::fs::read_dir(directory.join("sled-2/blobs")).unwrap();
    assert_eq!(blobs.count(), 0, "sled wrote an item into a file of its own");
}

/// Keys that share long beginnings, some longer than a part, or several; bounds of parts are hit.
fn long_key(random: &mut StdRng) -> Vec<u8> {
    let byte = [7, 0xFF, 0][random.random_range(0..3)];
    let length = [4, 3070, 3072, 3075, 4090, 4096, 4097, 8192, 8200, 30_000][random.random_range(0..10)];
    let mut key = vec![byte; length];
    key.extend((0..random.random_range(0..3)).map(|_| [0, 0xFF, 5][random.random_range(0..3)]));
    key
}

fn any_value(random: &mut StdRng) -> Vec<u8> {
    let length = match random.random_range(0..10) {
        0..5 => random.random_range(0..100),
        5 => entry::PIECE_BYTES + random.random_range(0..2),
        6 => entry::PIECE_BYTES * 2 + random.random_range(0..2),
        _ => random.random_range(0..200_000),
    };
    vec![random.random(); length]
}

/// Long keys and large values, written, replaced and deleted (twice in a batch, too) as in the memory engine; in the
/// end nothing is left of them.
#[test]
fn long_keys_and_large_values_mirror_memory() {
    let directory = tempfile::tempdir().unwrap();
    let mut random = StdRng::seed_from_u64(3);
    let model = MemoryEngine::new();
    let mut keys = vec![Vec::new()];
    let mut engine = open_engine(directory.path());
    for round in 0..60 {
        let mut batch = EngineBatch::default();
        for _ in 0..random.random_range(1..8) {
            let key = match random.random_bool(0.5) {
                true => keys[random.random_range(0..keys.len())].clone(),
                false => long_key(&mut random),
            };
            match random.random_bool(0.7) {
                true => batch.put(&key, &[&any_value(&mut random)]),
                false => batch.delete(&key),
            }
            keys.push(key);
        }
        engine.apply(&batch).unwrap();
        model.apply(&batch).unwrap();
        if round % 20 == 19 {
            let bounds: Vec<Vec<u8>> = keys.iter().rev().step_by(11).cloned().collect();
            engine_tests::compare(&engine, &model, &bounds);
            drop(engine);
            engine = open_engine(directory.path());
        }
    }
    engine_tests::compare(&engine, &model, &keys[keys.len() - 9..]);
    let mut batch = EngineBatch::default();
    keys.iter().for_each(|key| batch.delete(key));
    engine.apply(&batch).unwrap();
    assert_eq!(engine.db.iter().count(), 1, "only the counter stays");
    assert_no_blobs(directory.path());
}

#[test]
fn no_item_becomes_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open_engine(directory.path());
    let mut random = StdRng::seed_from_u64(4);
    // Separators in index pages as long as they can be: keys that differ at the end of a part.
    for start in 0..20u16 {
        let mut batch = EngineBatch::default();
        for n in 0..100u16 {
            let mut key = vec![7; entry::PART_BYTES - 2];
            key.extend((start * 100 + n).reverse_bits().to_be_bytes());
            batch.put(&key, &[b"value"]);
            key.splice(0..0, [8; 30_000 - entry::PART_BYTES]);
            batch.put(&key, &[b"value"]);
        }
        engine.apply(&batch).unwrap();
    }
    // Leaves as heavy as they can be.
    for size in (0..34).map(|n| n << 10).chain([50_000, 600_000, (2 << 20) + 7]) {
        let mut batch = EngineBatch::default();
        for _ in 0..8 {
            let mut key = vec![1; entry::PART_BYTES - 2];
            key.extend(random.random::<[u8; 2]>());
            batch.put(&key, &[&vec![1; size]]);
        }
        engine.apply(&batch).unwrap();
    }
    engine.make_durable().unwrap();
    drop(engine);
    assert_no_blobs(directory.path());
    let engine = open_engine(directory.path());
    assert!(engine_tests::entries(&engine, &[7], Some(&[8]), true).len() == 2000);
    assert!(engine_tests::entries(&engine, &[8], None, false).len() == 2000);
}

/// While a value in pieces is replaced and deleted again and again, readers see one that was there, whole.
#[test]
fn readers_of_a_value_in_pieces_see_it_whole() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open_engine(directory.path());
    let write = |number: u8| {
        let mut batch = EngineBatch::default();
        match number % 5 {
            0 => batch.delete(b"key"),
            _ => batch.put(b"key", &[&vec![number; 100_000 + usize::from(number)]]),
        }
        batch.put(b"z", &[b"always"]);
        engine.apply(&batch).unwrap();
    };
    write(1);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let is_whole =
        |value: &[u8]| value.len() == 100_000 + usize::from(value[0]) && value.iter().all(|b| *b == value[0]);
    std::thread::scope(|scope| {
        for way in 0..3 {
            let (engine, is_over) = (&engine, &is_over);
            scope.spawn(move || {
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    if way == 0 {
                        assert!(engine_tests::value(engine, b"key").is_none_or(|value| is_whole(&value)));
                    } else {
                        let mut found = engine_tests::entries(engine, b"", None, way == 2);
                        found.retain(|(key, _)| key != b"z");
                        assert!(found.iter().all(|(_, value)| is_whole(value)));
                    }
                }
            });
        }
        (0..=250).for_each(write);
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[tokio::test]
async fn a_snapshot_file_that_was_not_finished_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    fill_store(&*open(directory.path()).unwrap(), 10).await;
    let left = directory.path().join("sled-2/snap.7FFFFFFFFFFFFFFF.generating");
    std::fs::write(&left, b"half of what it should be").unwrap();
    let store = open(directory.path()).unwrap();
    assert_eq!(count_rows(&*store).await, Ok(ROWS));
    assert!(!left.exists());
}

/// What a start left that ended while it made the database is thrown away.
#[test]
fn a_database_that_was_not_finished_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let left = directory.path().join("sled-2.new");
    std::fs::create_dir_all(left.join("blobs")).unwrap();
    std::fs::write(left.join("conf"), b"segm").unwrap();
    std::fs::write(left.join("db"), b"something").unwrap();
    assert_eq!(
        engine_tests::entries(&open_engine(directory.path()), b"", None, false),
        []
    );
    assert!(!left.exists());
}

/// Out of descriptors a commit goes on: nothing is opened by its name once the engine runs.
#[test]
fn writing_opens_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open_engine(directory.path());
    std::fs::rename(
        directory.path().join("sled-2"),
        directory.path().join("elsewhere"),
    )
    .unwrap();
    for number in 0..40u8 {
        let mut batch = EngineBatch::default();
        batch.put(&[number], &[&vec![number; 400_000]]);
        engine.apply(&batch).unwrap();
        engine.make_durable().unwrap();
    }
    assert_eq!(engine_tests::entries(&engine, b"", None, true).len(), 40);
}

/// After the first error every call answers it, at once.
#[test]
fn an_error_ends_every_later_call() {
    let directory = tempfile::tempdir().unwrap();
    let engine = open_engine(directory.path());
    engine.db.insert(b"key", b"none of ours").unwrap();
    let error = engine.get(b"key", &mut |_| ()).unwrap_err();
    assert!(is_corrupt(&error, directory.path()), "{error:?}");
    assert_eq!(engine.get(b"another", &mut |_| ()), Err(error.clone()));
    assert_eq!(engine.apply(&EngineBatch::default()), Err(error.clone()));
    assert_eq!(engine.make_durable(), Err(error.clone()));
    assert_eq!(engine.close(), Err(error));
}

/// Bytes of a log of one segment that were written: the rest is filled with one byte.
fn written(log: &[u8]) -> usize {
    log.iter().rposition(|byte| Some(byte) != log.last()).unwrap() + 1
}

/// Random batches, each with its number as the last write: short values and some in pieces, short keys and some in rooms.
fn numbered_batches(random: &mut StdRng, batches: u32) -> Vec<EngineBatch> {
    let mut batch = |number: u32| {
        let mut batch = EngineBatch::default();
        for _ in 0..random.random_range(0..40) {
            let key = match random.random_range(0..8) {
                0 => long_key(random),
                _ => engine_tests::random_key(random),
            };
            match random.random_range(0..40) {
                0 => batch.put(&key, &[&vec![number as u8; random.random_range(30_000..80_000)]]),
                1..25 => batch.put(&key, &[&vec![number as u8; random.random_range(0..300)]]),
                _ => batch.delete(&key),
            }
        }
        batch.put(b"", &[&number.to_be_bytes()]);
        batch
    };
    (0..batches).map(&mut batch).collect()
}

/// What stands where after so many batches.
fn applied<'a>(batches: impl IntoIterator<Item = &'a EngineBatch>) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let mut model = BTreeMap::new();
    for (key, value) in batches.into_iter().flat_map(EngineBatch::iter) {
        match value {
            Some(value) => model.insert(key.to_vec(), value.to_vec()),
            None => model.remove(key),
        };
    }
    model
}

/// However much of the log's end is lost, the first so many batches are there, whole, and those made durable among them; of the
/// next one perhaps some writes, but not its last. What was lost can be applied again.
#[test]
fn a_torn_log_holds_the_first_batches() {
    let whole = tempfile::tempdir().unwrap();
    let engine = open_engine(whole.path());
    let log = whole.path().join("sled-2/db");
    let mut random = StdRng::seed_from_u64(5);
    let batches = numbered_batches(&mut random, 200);
    let mut durable = (0, 0);
    for (number, batch) in (0..).zip(&batches) {
        engine.apply(batch).unwrap();
        if number == 60 {
            engine.make_durable().unwrap();
            durable = (number, written(&std::fs::read(&log).unwrap()));
        }
    }
    engine.make_durable().unwrap();
    let log = std::fs::read(log).unwrap();
    let mut ends = std::collections::BTreeSet::new();
    for _ in 0..12 {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("sled-2/blobs")).unwrap();
        std::fs::copy(
            whole.path().join("sled-2/conf"),
            directory.path().join("sled-2/conf"),
        )
        .unwrap();
        let mut torn = log.clone();
        let cut = random.random_range(durable.1..written(&log));
        random.fill(&mut torn[cut..]);
        std::fs::write(directory.path().join("sled-2/db"), torn).unwrap();
        let engine = open_engine(directory.path());
        let last = engine_tests::value(&engine, b"").unwrap();
        let last = u32::from_be_bytes(last.try_into().unwrap()) as usize;
        assert!(last >= durable.0);
        ends.insert(last);
        let (now, next) = (applied(&batches[..=last]), applied(batches.iter().take(last + 2)));
        let found: BTreeMap<_, _> = engine_tests::entries(&engine, b"", None, false)
            .into_iter()
            .collect();
        for key in now.keys().chain(next.keys()).chain(found.keys()) {
            let found = found.get(key);
            assert!(
                found == now.get(key) || !key.is_empty() && found == next.get(key),
                "{key:X?} at {last}"
            );
        }
        batches[last + 1..]
            .iter()
            .for_each(|batch| engine.apply(batch).unwrap());
        assert!(
            engine_tests::entries(&engine, b"", None, false)
                .into_iter()
                .eq(applied(&batches))
        );
    }
    assert!(ends.len() > 3, "{ends:?}");
}

/// Large values survive a restart.
#[tokio::test]
async fn large_values_survive_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let large = |n: u8| vec![n; 300_000 + usize::from(n)];
    {
        let store = open(directory.path()).unwrap();
        for n in 0..5 {
            let writes = vec![Write::Put {
                key: vec![n],
                value: large(n),
            }];
            store
                .commit(Batch {
                    writes,
                    ..Batch::default()
                })
                .await
                .unwrap();
        }
    }
    assert_no_blobs(directory.path());
    let store = open(directory.path()).unwrap();
    let snapshot = store.snapshot().await.unwrap();
    let values = snapshot
        .get_many(&(0..5).map(|n| vec![n]).collect::<Vec<_>>())
        .await
        .unwrap();
    for n in 0..5 {
        assert_eq!(values.get(n.into()), Some(&large(n)[..]));
    }
}
