//! The two threads behind a tree: one writes sealed memtables into tables, one merges tables. Started by the engine; they
//! end with it, or with the first error.

use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

use lsm_tree::compaction::Leveled;

use super::{Tree, io_error};
use crate::Result;

/// A batch waits while this many memtables are sealed and not yet written …
const SEALED_MAX: usize = 2;
/// … or while this many runs of tables wait to be merged: each is one more place to look for a key.
const UNMERGED_RUNS_MAX: usize = 20;

/// What a thread does.
type Work = fn(&Tree);

/// The threads of an engine; dropping it waits until they have ended, and so for a merge that is under way.
pub(super) struct Background {
    tree: Arc<Tree>,
    threads: Vec<JoinHandle<()>>,
}

impl Background {
    pub(super) fn start(tree: &Arc<Tree>) -> Result<Background> {
        let mut background = Background {
            tree: Arc::clone(tree),
            threads: Vec::new(),
        };
        let works: [(&str, Work); 2] = [
            ("fjall-write", Tree::keep_writing),
            ("fjall-merge", Tree::keep_merging),
        ];
        for (name, work) in works {
            let tree = Arc::clone(tree);
            let thread = std::thread::Builder::new()
                .name(name.to_string())
                .spawn(move || work(&tree))
                .map_err(|error| io_error("start a thread for", &background.tree.path, &error))?;
            background.threads.push(thread);
        }
        Ok(background)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        *self.tree.is_over.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.tree.changed.notify_all();
        for thread in self.threads.drain(..) {
            // Panics are caught inside.
            let _ = thread.join();
        }
    }
}

impl Tree {
    /// Waits while too much is left to the threads. Errors: the one that ended them.
    pub(super) fn wait_for_room(&self) -> Result<()> {
        self.wait(|| {
            let contents = self.contents();
            contents.sealed.len() < SEALED_MAX && contents.unmerged_runs < UNMERGED_RUNS_MAX
        });
        self.failure.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    fn keep_writing(&self) {
        while self.wait(|| !self.contents().sealed.is_empty()) && self.write_sealed().is_ok() {}
    }

    fn keep_merging(&self) {
        let strategy = Arc::new(Leveled::default());
        let mut merged = None;
        while self.wait(|| merged != Some(self.contents().version)) {
            merged = Some(self.contents().version);
            if self.merge(&strategy).is_err() {
                break;
            }
        }
    }

    /// Waits until this is so, and answers `true`; `false` when something failed or all is over.
    fn wait(&self, mut is_so: impl FnMut() -> bool) -> bool {
        let mut is_over = self.is_over.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if *is_over || self.failure.get().is_some() {
                return false;
            }
            if is_so() {
                return true;
            }
            is_over = self.changed.wait(is_over).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
