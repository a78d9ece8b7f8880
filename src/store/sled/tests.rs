//! Tests of the sled engine: the store's suite over it, damaged directories, and what its docs promise.

use std::sync::Arc;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::*;
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
    let lock = File::create(directory.join("LOCK")).unwrap();
    SledEngine::open(&directory.join("sled"), 1 << 20, lock).unwrap()
}

#[test]
fn scans_agree_with_memory() {
    let directory = tempfile::tempdir().unwrap();
    engine_tests::scans_agree_with_memory(&open_engine(directory.path()));
}

#[test]
fn negative_numbers_are_scanned() {
    let directory = tempfile::tempdir().unwrap();
    engine_tests::negative_numbers_are_scanned(&open_engine(directory.path()));
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
    let log = std::fs::read(whole.path().join("sled/db")).unwrap();
    let mut random = StdRng::seed_from_u64(1);
    let mut refused = 0;
    for round in 0..16 {
        let directory = tempfile::tempdir().unwrap();
        for file in ["FORMAT", "WATERMARK", "sled/conf"] {
            std::fs::create_dir_all(directory.path().join("sled")).unwrap();
            std::fs::copy(whole.path().join(file), directory.path().join(file)).unwrap();
        }
        let mut damaged = log.clone();
        let at = random.random_range(0..log.len());
        match round % 4 {
            0 => damaged.truncate(at),
            1 => damaged[at] ^= 0x55,
            2 => random.fill(&mut damaged[at..log.len().min(at + 5000)]),
            _ => (0..20).for_each(|_| damaged[random.random_range(0..log.len())] ^= 0xFF),
        }
        std::fs::write(directory.path().join("sled/db"), damaged).unwrap();
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
    let damages: [(&str, Option<&[u8]>); 7] = [
        ("FORMAT", Some(b"keyspan format one engine sled")),
        ("FORMAT", Some(b"")),
        ("FORMAT", None),
        ("WATERMARK", Some(b"many")),
        (
            "sled/conf",
            Some(b"segment_size: 1\nuse_compression: false\nversion: 0.34\n...."),
        ),
        ("sled/conf", Some(b"\xff\xfe nothing that sled would write")),
        ("sled/db", None),
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
    std::fs::write(directory.path().join("FORMAT"), "keyspan format 2 engine sled\n").unwrap();
    let path = directory.path().display().to_string();
    assert_eq!(
        open(directory.path()).err(),
        Some(Error::DataDirFormat {
            path,
            found: 2,
            supported: 1
        })
    );
    std::fs::write(directory.path().join("FORMAT"), "keyspan format 1 engine other\n").unwrap();
    assert_eq!(open(directory.path()).unwrap_err().sqlstate(), "22023");
    let not_ours = tempfile::tempdir().unwrap();
    std::fs::write(not_ours.path().join("letter.txt"), "dear reader").unwrap();
    assert!(is_corrupt(&open(not_ours.path()).unwrap_err(), not_ours.path()));
}

/// Damage while the store runs: reads of what is not cached fail with an error, and nothing panics or hangs.
#[tokio::test]
async fn damage_under_a_running_store_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    fill_store(&*open(directory.path()).unwrap(), 3000).await;
    let store = open_with_cache(directory.path(), 1 << 10).unwrap();
    assert_eq!(count_rows(&*store).await, Ok(ROWS));
    let log = directory.path().join("sled/db");
    let length = std::fs::metadata(&log).unwrap().len();
    let mut garbage = vec![0; length as usize];
    StdRng::seed_from_u64(1).fill(&mut garbage[..]);
    let file = File::options().write(true).open(&log).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &garbage, 0).unwrap();
    let error = count_rows(&*store).await.expect_err("reading garbage");
    assert!(is_corrupt(&error, directory.path()), "{error:?}");
}

/// Values large enough for files of their own survive a restart.
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
    assert!(
        std::fs::read_dir(directory.path().join("sled/blobs"))
            .unwrap()
            .count()
            > 0
    );
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
