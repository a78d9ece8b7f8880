//! `Contents`: what a tree holds, as reads see it. The tree makes one whenever a memtable is sealed or written, or tables are
//! merged; every get and every scan reads one, and no lock of lsm-tree's.
//!
//! lsm-tree's own reads take a lock that a thread holds while it syncs a new list of tables. With a disk that takes seconds for
//! that, all of them would wait. What they look up under it never changes, though: memtables that only grow, and tables that
//! stay readable for as long as anybody has them. Writing a memtable into a table, or merging tables, moves entries and changes
//! none that is the newest of its key. So one made before is as good as one made after, but for one thing: entries that are
//! written to a *new* active memtable. Therefore it is made anew before the first of them is.

use std::borrow::Cow;
use std::ops::Bound;
use std::sync::Arc;

use lsm_tree::table::filter::standard_bloom::Builder as Filter;
use lsm_tree::{AbstractTree, InternalValue, Memtable, SeqNo, UserValue};

/// The two ends of a range of the tree's keys.
pub(super) type Bounds<'a> = (Bound<Cow<'a, [u8]>>, Bound<Cow<'a, [u8]>>);

/// The entries of a range.
pub(super) type Entries = Box<dyn DoubleEndedIterator<Item = lsm_tree::Result<InternalValue>>>;

/// Finds what the tables hold of a key, deletions included. (The library has no name for its list of tables.)
type FindInTables = Box<dyn Fn(&[u8]) -> lsm_tree::Result<Option<InternalValue>> + Send + Sync>;

/// Opens a scan of everything.
type OpenRange = Box<dyn Fn(&Bounds<'_>) -> Entries + Send + Sync>;

/// The memtables and tables of a tree.
pub(super) struct Contents {
    /// The memtable that takes writes.
    pub(super) active: Arc<Memtable>,
    /// Those that wait to be written, or were not long ago, the newest last.
    pub(super) sealed: Vec<Arc<Memtable>>,
    /// Runs of tables that were not merged yet.
    pub(super) unmerged_runs: usize,
    /// Which list of tables it is.
    pub(super) version: u64,
    /// Bytes of the tables.
    pub(super) table_bytes: u64,
    find_in_tables: FindInTables,
    open_range: OpenRange,
}

impl Contents {
    /// What the tree holds now. `sealed`: all memtables that were sealed and may not be written yet. Nothing may be sealed
    /// meanwhile.
    pub(super) fn of(lsm: &lsm_tree::Tree, sealed: &[Arc<Memtable>]) -> Contents {
        let all = lsm.get_version_history_lock().latest_version();
        let active = Arc::clone(&all.active_memtable);
        let open_range = Box::new(move |bounds: &Bounds<'_>| -> Entries {
            Box::new(lsm_tree::Tree::create_internal_range(
                all.clone(),
                bounds,
                SeqNo::MAX,
                None,
            ))
        });
        // Memtables that are written by now are in both: the tables may be newer, but not older.
        let tables = lsm.current_version();
        Contents {
            active,
            sealed: sealed.to_vec(),
            unmerged_runs: tables.level(0).map_or(0, |level| level.run_count()),
            version: tables.id(),
            table_bytes: tables.iter_levels().map(|level| level.size()).sum(),
            find_in_tables: Box::new(move |key| {
                let hash = Filter::get_hash(key);
                let runs = tables.iter_levels().flat_map(|level| level.iter());
                for table in runs.filter_map(|run| run.get_for_key(key)) {
                    if let Some(entry) = table.get(key, SeqNo::MAX, hash)? {
                        return Ok(Some(entry));
                    }
                }
                Ok(None)
            }),
            open_range,
        }
    }

    /// The value of a key, if it has one.
    pub(super) fn get(&self, key: &[u8]) -> lsm_tree::Result<Option<UserValue>> {
        let memtables = std::iter::once(&self.active).chain(self.sealed.iter().rev());
        let in_memory = memtables
            .map(|memtable| memtable.get(key, SeqNo::MAX))
            .find_map(|found| found);
        let found = match in_memory {
            Some(entry) => Some(entry),
            None => (self.find_in_tables)(key)?,
        };
        Ok(found
            .filter(|entry| !entry.is_tombstone())
            .map(|entry| entry.value))
    }

    /// The entries of a range, deletions left out.
    pub(super) fn range(&self, bounds: &Bounds<'_>) -> Entries {
        (self.open_range)(bounds)
    }
}
