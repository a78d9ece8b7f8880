//! Tests of opening a data directory: whose it is, who else has it open, what earlier formats become, and that a folder which is none
//! of ours stays as it was.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::{Batch, Store, StoreKind, StoreOptions, Write, open_store};
use crate::{Error, Result};

const ON_DISK: [StoreKind; 2] = [StoreKind::Sled, StoreKind::Fjall];

fn open(kind: StoreKind, path: &Path) -> Result<std::sync::Arc<dyn Store>> {
    let options = StoreOptions {
        cache_bytes: 1 << 20,
        ..StoreOptions::default()
    };
    open_store(kind, path, &options)
}

async fn put(store: &dyn Store, key: u8) {
    let batch = Batch {
        writes: vec![Write::Put {
            key: vec![key],
            value: vec![key; 100],
        }],
        ..Batch::default()
    };
    store.commit(batch).await.unwrap();
}

/// Every file and folder below, with its mode and what it holds.
fn everything(path: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let (path, metadata) = {
            let entry = entry.unwrap();
            (entry.path(), entry.metadata().unwrap())
        };
        let bytes = match metadata.is_dir() {
            true => {
                found.extend(everything(&path));
                Vec::new()
            }
            false => std::fs::read(&path).unwrap(),
        };
        found.insert(path, (metadata.permissions().mode(), bytes));
    }
    found
}

#[test]
fn a_folder_that_is_not_ours_stays_as_it_was() {
    let set_mode = |path: &Path, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    let cases: [(&str, &str, &str); 5] = [
        ("letter.txt", "dear reader", "is not a data directory: it holds"),
        ("src/main.rs", "fn main() {}", "is not a data directory: it holds"),
        ("LOCK", "somebody's", "is not a data directory: it holds"),
        ("FORMAT", "A4", "its FORMAT file is unreadable"),
        ("FORMAT", "keyspan format 99 engine sled", "has format 99"),
    ];
    for kind in ON_DISK {
        for (file, content, expected) in cases {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, content).unwrap();
            set_mode(&path, 0o644);
            set_mode(folder.path(), 0o755);
            let before = everything(folder.path());
            let error = open(kind, folder.path()).unwrap_err();
            assert!(error.to_string().contains(expected), "{file}: {error}");
            assert!(error.hint().is_some(), "{file}: {error}");
            assert_eq!(everything(folder.path()), before, "{file}");
            let mode = std::fs::metadata(folder.path()).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o755, "{file}");
        }
    }
}

#[test]
fn what_an_interrupted_first_start_left_is_ours() {
    for left in [&["LOCK"][..], &["FORMAT.new", "LOG_END.new"]] {
        let folder = tempfile::tempdir().unwrap();
        for file in left {
            std::fs::write(folder.path().join(file), "").unwrap();
        }
        drop(open(StoreKind::Fjall, folder.path()).unwrap());
        std::fs::remove_file(folder.path().join("FORMAT")).unwrap();
        let error = open(StoreKind::Fjall, folder.path()).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_is_removed_lets_a_second_server_in() {
    for kind in ON_DISK {
        let folder = tempfile::tempdir().unwrap();
        let store = open(kind, folder.path()).unwrap();
        put(&*store, 1).await;
        for file in ["LOCK", "LOG_END"] {
            let _ = std::fs::remove_file(folder.path().join(file));
            let error = open(kind, folder.path()).unwrap_err();
            assert!(matches!(error, Error::DataDirInUse { .. }), "{kind}: {error}");
        }
    }
}

/// A release of before locks the file LOCK, and no more.
#[test]
fn a_directory_that_an_earlier_release_has_open_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let lock = std::fs::File::create(folder.path().join("LOCK")).unwrap();
    lock.lock().unwrap();
    let error = open(StoreKind::Sled, folder.path()).unwrap_err();
    assert!(matches!(error, Error::DataDirInUse { .. }), "{error}");
}

#[test]
fn a_clock_before_1970_is_refused() {
    use std::time::{Duration, UNIX_EPOCH};
    assert_eq!(super::open::check_clock(UNIX_EPOCH), Ok(()));
    let error = super::open::check_clock(UNIX_EPOCH - Duration::from_secs(1)).unwrap_err();
    assert!(
        error.to_string().contains("before 1970") && error.hint().is_some(),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_vouches_for_the_log_must_be_there() {
    for kind in ON_DISK {
        let folder = tempfile::tempdir().unwrap();
        let store = open(kind, folder.path()).unwrap();
        put(&*store, 1).await;
        store.close().await.unwrap();
        drop(store);
        let path = folder.path().join("LOG_END");
        let whole = std::fs::read(&path).unwrap();
        for damage in [None, Some(vec![0; whole.len()]), Some(Vec::new())] {
            match damage {
                Some(bytes) => std::fs::write(&path, bytes).unwrap(),
                None => std::fs::remove_file(&path).unwrap(),
            }
            let error = open(kind, folder.path()).unwrap_err();
            assert!(matches!(error, Error::Corrupt { .. }), "{kind}: {error}");
        }
        std::fs::write(&path, whole).unwrap();
        open(kind, folder.path()).unwrap();
    }
}
