//! The fjall engine: the log-structured tree of fjall (the crate `lsm-tree`, 3.1), without fjall's own journal, since the
//! log above is the truth. The only folder that names it. Opened by `open_store`; knows nothing of snapshots.
//!
//! fjall itself would write every batch into a journal, and read it back after a crash. Unsynced, that journal may be
//! torn anywhere by a power cut, and fjall then refuses to open ("checksum mismatch"); synced, it costs each batch what
//! the log has already paid. So this engine has only the tree, and does by itself what is left:
//!
//! - A batch goes into the *active memtable*. Between two batches, when it is large enough or when everything shall be
//!   durable, it is *sealed*; sealed memtables are written into tables, which are merged later (`background`).
//! - Tables never change. Each is synced, then the folder, then a new version file that lists all tables, then, by an
//!   atomic rename that is synced too, `current` names that version. Until then the old version holds. Whatever a crash
//!   leaves beside the version is removed by the next start.
//!
//! So after a crash or a power cut the tree holds exactly the batches of the memtables that were written, which are the
//! first so many: memtables are sealed under the lock that batches take, and all sealed ones become tables in one step.
//!
//! - Reads take no lock of the library's, which a thread may hold while it syncs (`contents`).
//! - Each write has a sequence number of its own, so that the later of two writes of a key in a batch wins. Reads ask
//!   for the newest; a scan holds the tables that were there when it began. Old values are dropped whenever memtables
//!   are written or tables merged: a scan still holds its own.
//! - Keys have 1 to 65,535 bytes: `key` makes room for the empty one; longer ones are refused.
//! - At most 100 table files stay open for reads. Making memtables durable opens new ones, and so does merging: someone
//!   must see to it that descriptors are left.
//! - Memory: the block cache, up to three memtables (one is filled, two are written), which are taken off the cache, and
//!   the index and filter blocks of the first level. Measured: a cache of 64 MiB let the process grow by 75 to 81 MiB
//!   while 200 MB were read. Below the first level index and filter are cut into blocks that go through the cache: whole,
//!   a read that misses would fetch a filter of 600 kB for a row of 100 bytes.
//! - Damaged tables are found out by checksums, block by block; assertions are caught. A missing `current` would be
//!   taken for an empty tree: the folder gets its name only when it is whole, and is then never taken for a new one.

mod background;
mod contents;
mod key;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::ErrorKind;
use std::ops::{Bound, ControlFlow};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use lsm_tree::compaction::Leveled;
use lsm_tree::config::{BlockSizePolicy, PinningPolicy};
use lsm_tree::{
    AbstractTree, AnyTree, Cache, DescriptorTable, InternalValue, Memtable, SequenceNumberCounter, ValueType,
};

use super::engine::{Engine, EngineBatch, Visit};
use crate::{Error, Result};
use background::Background;
use contents::Contents;

/// The database.
const FOLDER: &str = "fjall";
/// A database that is being made; thrown away by the next start.
const UNFINISHED: &str = "fjall.new";
/// Where the tree keeps the name of its newest version.
const CURRENT: &str = "current";
/// Table files that stay open for reads.
const OPEN_FILES_MAX: usize = 100;
/// A block of a table: what a read that misses the cache reads. Its library's 4 kB make a first scan half as fast, for each
/// block costs a system call and a place in the cache.
const BLOCK_BYTES: u32 = 16 << 10;
/// Keys are no longer in the tree.
const KEY_BYTES_MAX: usize = 65_534;

/// An ordered map in a folder of fjall's. Public, so that a benchmark can measure it without the layers above.
pub struct FjallEngine {
    /// Ends first: its threads use the tree.
    _background: Background,
    tree: Arc<Tree>,
    /// Keeps the data directory locked; released after the tree has closed.
    _lock: File,
}

/// The tree, and what the threads that use it share.
struct Tree {
    lsm: lsm_tree::Tree,
    path: PathBuf,
    /// What reads see.
    contents: RwLock<Arc<Contents>>,
    /// The memtables that were sealed and may not be written yet, the newest last. Held while one is sealed, and while
    /// `contents` is made.
    sealed: Mutex<Vec<Arc<Memtable>>>,
    sequence: SequenceNumberCounter,
    memtable_bytes: u64,
    /// Held while a batch is applied or a memtable sealed.
    writing: Mutex<()>,
    /// The first error: every later call answers it.
    failure: OnceLock<Error>,
    /// Whether the engine ends.
    is_over: Mutex<bool>,
    /// Told with `is_over`: a memtable was sealed or written, tables were merged, something failed, or all is over.
    changed: Condvar,
}

impl FjallEngine {
    /// Opens the database of a data directory, or makes one; `lock` is held until it is closed. Errors: `Corrupt`, `Io`.
    pub fn open(data_dir: &Path, cache_bytes: u64, lock: File) -> Result<FjallEngine> {
        let path = data_dir.join(FOLDER);
        if !path.exists() {
            create(data_dir, &path)?;
        }
        if !path.join(CURRENT).exists() {
            return Err(corrupt(&path, format!("its file \"{CURRENT}\" is missing")));
        }
        let tree = Arc::new(Tree::open(&path, cache_bytes)?);
        Ok(FjallEngine {
            _background: Background::start(&tree)?,
            tree,
            _lock: lock,
        })
    }
}

impl std::fmt::Debug for FjallEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FjallEngine")
            .field("path", &self.tree.path)
            .finish_non_exhaustive()
    }
}

impl Engine for FjallEngine {
    fn key_bytes_max(&self) -> usize {
        KEY_BYTES_MAX
    }

    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<()> {
        let key = key::to_tree(key);
        if let Some(value) = self.tree.call(|_| self.tree.contents().get(&key))? {
            visit(&value);
        }
        Ok(())
    }

    fn scan(&self, start: &[u8], end: Option<&[u8]>, reverse: bool, visit: Visit<'_>) -> Result<()> {
        if end.is_some_and(|end| start >= end) {
            return Ok(());
        }
        let low = Bound::Included(key::to_tree(start));
        let high = end.map_or(Bound::Unbounded, |end| Bound::Excluded(key::to_tree(end)));
        self.tree.call(|_| {
            let mut entries = self.tree.contents().range(&(low, high));
            while let Some(entry) = if reverse {
                entries.next_back()
            } else {
                entries.next()
            } {
                let entry = entry?;
                if visit(key::from_tree(&entry.key.user_key), &entry.value) == ControlFlow::Break(()) {
                    break;
                }
            }
            Ok(())
        })
    }

    fn apply(&self, batch: &EngineBatch) -> Result<()> {
        if let Some((key, _)) = batch.iter().find(|(key, _)| key.len() > KEY_BYTES_MAX) {
            return Err(Error::InvalidParameter {
                message: format!("a key of {} bytes is too long for the store \"fjall\"", key.len()),
                hint: Some(format!("Keys have at most {KEY_BYTES_MAX} bytes.")),
            });
        }
        let _writing = self.tree.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let active = Arc::clone(&self.tree.contents().active);
        self.tree.call(|_| {
            for (key, value) in batch.iter() {
                let (key, sequence) = (key::to_tree(key), self.tree.sequence.next());
                active.insert(match value {
                    Some(value) => InternalValue::from_components(&*key, value, sequence, ValueType::Value),
                    None => InternalValue::new_tombstone(&*key, sequence),
                });
            }
            Ok(())
        })?;
        if active.size() >= self.tree.memtable_bytes {
            self.tree.seal()?;
            self.tree.notify();
        }
        self.tree.wait_for_room()
    }

    fn make_durable(&self) -> Result<()> {
        let writing = self.tree.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.tree.seal()?;
        drop(writing);
        self.tree.write_sealed()
    }

    fn size_bytes(&self) -> Result<u64> {
        Ok(self.tree.contents().table_bytes)
    }

    fn drop_files(&self, start: &[u8], end: Option<&[u8]>) -> Result<()> {
        let low = Bound::Included(key::to_tree(start));
        let high = end.map_or(Bound::Unbounded, |end| Bound::Excluded(key::to_tree(end)));
        self.tree.call(|lsm| lsm.drop_range((low, high)))?;
        self.tree.look_again(&self.tree.lock_sealed())?;
        self.tree.notify();
        Ok(())
    }

    fn close(&self) -> Result<()> {
        self.make_durable()
    }
}

impl Tree {
    fn open(path: &Path, cache_bytes: u64) -> Result<Tree> {
        let sequence = SequenceNumberCounter::default();
        let memtable_bytes = (cache_bytes / 8).clamp(1 << 20, 64 << 20);
        let block_bytes = cache_bytes
            .saturating_sub(3 * memtable_bytes)
            .max(cache_bytes / 2);
        let opened = caught(path, || {
            lsm_tree::Config::new(path, sequence.clone(), SequenceNumberCounter::default())
                .data_block_size_policy(BlockSizePolicy::all(BLOCK_BYTES))
                .index_block_partitioning_policy(PinningPolicy::new([false, true]))
                .filter_block_partitioning_policy(PinningPolicy::new([false, true]))
                .use_cache(Arc::new(Cache::with_capacity_bytes(block_bytes)))
                .use_descriptor_table(Some(Arc::new(DescriptorTable::new(OPEN_FILES_MAX))))
                .open()
        })?;
        let AnyTree::Standard(lsm) = opened else {
            return Err(corrupt(path, "fjall keeps values apart from keys".to_string()));
        };
        sequence.fetch_max(lsm.get_highest_seqno().map_or(0, |highest| highest + 1));
        Ok(Tree {
            contents: RwLock::new(Arc::new(Contents::of(&lsm, &[]))),
            sealed: Mutex::default(),
            lsm,
            path: path.to_path_buf(),
            sequence,
            memtable_bytes,
            writing: Mutex::default(),
            failure: OnceLock::new(),
            is_over: Mutex::new(false),
            changed: Condvar::new(),
        })
    }

    /// Makes a call unless one has failed before, and remembers its error or panic.
    fn call<T>(&self, call: impl FnOnce(&lsm_tree::Tree) -> lsm_tree::Result<T>) -> Result<T> {
        self.failure.get().map_or(Ok(()), |error| Err(error.clone()))?;
        let result = caught(&self.path, || call(&self.lsm));
        if let Err(error) = &result {
            let _ = self.failure.set(error.clone());
            self.notify();
        }
        result
    }

    /// What the tree holds.
    fn contents(&self) -> Arc<Contents> {
        Arc::clone(&self.contents.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn lock_sealed(&self) -> MutexGuard<'_, Vec<Arc<Memtable>>> {
        self.sealed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has reads see what the tree holds by now.
    fn look_again(&self, sealed: &[Arc<Memtable>]) -> Result<()> {
        let contents = Arc::new(self.call(|lsm| Ok(Contents::of(lsm, sealed)))?);
        let mut current = self.contents.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *current, contents);
        drop(current);
        // Files of tables that were merged go with the last who has them.
        drop(before);
        Ok(())
    }

    /// Seals the active memtable. Called under `writing`.
    fn seal(&self) -> Result<()> {
        let mut sealed = self.lock_sealed();
        sealed.extend(self.call(|lsm| Ok(lsm.rotate_memtable()))?);
        self.look_again(&sealed)
    }

    /// Writes the sealed memtables into tables, durably.
    fn write_sealed(&self) -> Result<()> {
        self.call(|lsm| {
            let lock = lsm.get_flush_lock();
            // Others may be sealed by the time it begins: they stay among those that may not be written.
            let written = self.lock_sealed().len();
            lsm.flush(&lock, self.sequence.get())?;
            self.lock_sealed().drain(..written);
            Ok(())
        })?;
        self.look_again(&self.lock_sealed())?;
        self.notify();
        Ok(())
    }

    /// Merges tables, if there are some to be merged.
    fn merge(&self, strategy: &Arc<Leveled>) -> Result<()> {
        self.call(|lsm| lsm.compact(Arc::clone(strategy) as _, self.sequence.get()))?;
        self.look_again(&self.lock_sealed())?;
        self.notify();
        Ok(())
    }

    /// Wakes whoever waits for a change.
    fn notify(&self) {
        drop(self.is_over.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }
}

/// Makes an empty tree in a folder of its own, which takes its name when all of it is on the disk.
fn create(data_dir: &Path, path: &Path) -> Result<()> {
    let unfinished = data_dir.join(UNFINISHED);
    match std::fs::remove_dir_all(&unfinished) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(io_error("remove", &unfinished, &error)),
        _ => Ok(()),
    }?;
    drop(Tree::open(&unfinished, 1 << 20)?);
    let sync = |path: &Path| File::open(path)?.sync_all();
    let finish = || -> std::io::Result<()> {
        for entry in std::fs::read_dir(&unfinished)? {
            sync(&entry?.path())?;
        }
        sync(&unfinished)?;
        std::fs::rename(&unfinished, path)?;
        sync(data_dir)
    };
    finish().map_err(|error| io_error("create", path, &error))
}

/// Runs a call of the tree's; a panic is our `Corrupt`.
fn caught<T>(path: &Path, call: impl FnOnce() -> lsm_tree::Result<T>) -> Result<T> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(|error| tree_error(path, &error)),
        Err(panic) => {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or(panic.downcast_ref::<&str>().copied());
            let reason = format!("fjall gave up: {}", text.unwrap_or("no reason given"));
            Err(corrupt(path, reason))
        }
    }
}

fn tree_error(path: &Path, error: &lsm_tree::Error) -> Error {
    match error {
        lsm_tree::Error::Io(error) => match error.kind() {
            ErrorKind::UnexpectedEof | ErrorKind::InvalidData | ErrorKind::NotFound => corrupt(
                path,
                format!("fjall met a missing or short piece of a file: {error}"),
            ),
            _ => io_error("read or write", path, error),
        },
        error => corrupt(path, format!("fjall found damage: {error:?}")),
    }
}

fn corrupt(path: &Path, reason: String) -> Error {
    Error::Corrupt {
        what: format!("data directory \"{}\"", path.display()),
        reason,
    }
}

fn io_error(action: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::Io {
        action: format!("could not {action} \"{}\"", path.display()),
        reason: error.to_string(),
    }
}
