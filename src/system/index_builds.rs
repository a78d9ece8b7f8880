//! `IndexBuilds`: the indexes that the server is building, and how far each is. A statement builds the index that it waits
//! for; the server's own task (`session::Instance`) all others: those of CREATE INDEX … ASYNC, and those that an earlier
//! server was building when it ended.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// The builds of one server.
#[derive(Debug, Default)]
pub struct IndexBuilds {
    /// By the index's oid.
    running: Mutex<BTreeMap<u32, Arc<IndexBuild>>>,
    asked: Notify,
}

/// A build on its way.
#[derive(Debug)]
pub struct IndexBuild {
    /// The table's oid.
    pub table: u32,
    /// The index's oid.
    pub index: u32,
    /// The session that waits for it; 0: none.
    pub process_id: i32,
    /// CREATE INDEX CONCURRENTLY.
    pub concurrently: bool,
    rows_read: AtomicU64,
    is_read: AtomicBool,
    rows_done: AtomicU64,
}

/// Takes its build out of the list when dropped.
#[derive(Debug)]
pub struct Building {
    builds: Arc<IndexBuilds>,
    build: Arc<IndexBuild>,
}

impl IndexBuilds {
    /// Enters a build, which stays in the list as long as the guard lives. `None`: somebody builds this index already.
    pub fn begin(
        self: &Arc<Self>,
        table: u32,
        index: u32,
        process_id: i32,
        concurrently: bool,
    ) -> Option<Building> {
        let mut running = self.lock();
        if running.contains_key(&index) {
            return None;
        }
        let build = Arc::new(IndexBuild {
            table,
            index,
            process_id,
            concurrently,
            rows_read: AtomicU64::new(0),
            is_read: AtomicBool::new(false),
            rows_done: AtomicU64::new(0),
        });
        running.insert(index, Arc::clone(&build));
        Some(Building {
            builds: Arc::clone(self),
            build,
        })
    }

    /// Those on their way, by the index's oid.
    pub fn running(&self) -> Vec<Arc<IndexBuild>> {
        self.lock().values().cloned().collect()
    }

    /// Asks the server to build what nobody builds.
    pub fn ask(&self) {
        self.asked.notify_one();
    }

    /// Waits until somebody asks.
    pub async fn asked(&self) {
        self.asked.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u32, Arc<IndexBuild>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IndexBuild {
    /// How many rows there are, once all are read.
    pub fn rows_total(&self) -> Option<u64> {
        let is_read = self.is_read.load(Ordering::Acquire);
        is_read.then(|| self.rows_read.load(Ordering::Relaxed))
    }

    /// Rows that have their entries so far.
    pub fn rows_done(&self) -> u64 {
        self.rows_done.load(Ordering::Relaxed)
    }

    /// More rows are read.
    pub fn add_read(&self, rows: usize) {
        self.rows_read.fetch_add(rows as u64, Ordering::Relaxed);
    }
}

impl Building {
    /// The build, for those who work at it.
    pub fn build(&self) -> &Arc<IndexBuild> {
        &self.build
    }

    /// All rows are read.
    pub fn note_read(&self) {
        self.build.is_read.store(true, Ordering::Release);
    }

    /// More rows have their entries.
    pub fn advance(&self, rows: usize) {
        self.build.rows_done.fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// All rows come by again.
    pub fn restart(&self) {
        self.build.is_read.store(false, Ordering::Relaxed);
        self.build.rows_read.store(0, Ordering::Relaxed);
        self.build.rows_done.store(0, Ordering::Relaxed);
    }
}

impl Drop for Building {
    fn drop(&mut self) {
        self.builds.lock().remove(&self.build.index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_built_by_one_at_a_time() {
        let builds = Arc::new(IndexBuilds::default());
        let first = builds.begin(1, 2, 7, false).expect("nobody builds it");
        assert!(builds.begin(1, 2, 0, true).is_none());
        first.build().add_read(12);
        assert_eq!(builds.running()[0].rows_total(), None);
        first.note_read();
        first.advance(10);
        let build = &builds.running()[0];
        assert_eq!((build.rows_done(), build.rows_total()), (10, Some(12)));
        first.restart();
        assert_eq!((build.rows_done(), build.rows_total()), (0, None));
        drop(first);
        assert!(builds.running().is_empty());
        assert!(builds.begin(1, 2, 0, true).is_some());
    }
}
