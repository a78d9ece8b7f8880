//! `CopyProgress`: how far a COPY is. Its session has it as long as it runs, for `pg_stat_progress_copy`.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A COPY on its way.
#[derive(Debug, Default)]
pub struct CopyProgress {
    /// The table's oid; 0: a query.
    pub relation: u32,
    /// FROM, not TO.
    pub is_from: bool,
    /// A file of the server, not the client.
    pub is_file: bool,
    bytes: AtomicU64,
    rows: AtomicU64,
    excluded: AtomicU64,
}

/// What a session copies, if it does.
#[derive(Debug, Default)]
pub struct CopyAtHand(Mutex<Option<Arc<CopyProgress>>>);

impl CopyProgress {
    /// Of a COPY that begins. `relation`: 0 for a query.
    pub fn new(relation: u32, is_from: bool, is_file: bool) -> CopyProgress {
        CopyProgress {
            relation,
            is_from,
            is_file,
            ..CopyProgress::default()
        }
    }

    /// So many bytes of data more were read, or written.
    pub fn add_bytes(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// So many rows more were copied, and so many left out by WHERE.
    pub fn add_rows(&self, rows: u64, excluded: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
        self.excluded.fetch_add(excluded, Ordering::Relaxed);
    }

    /// Bytes of data read, or written.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Rows copied.
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Rows left out by WHERE.
    pub fn excluded(&self) -> u64 {
        self.excluded.load(Ordering::Relaxed)
    }
}

/// The COPY at hand, as long as this lives.
#[derive(Debug)]
pub struct Copying {
    at_hand: Arc<CopyAtHand>,
    progress: Arc<CopyProgress>,
}

impl CopyAtHand {
    /// A COPY begins.
    pub fn begin(self: &Arc<Self>, progress: CopyProgress) -> Copying {
        let progress = Arc::new(progress);
        self.set(Some(Arc::clone(&progress)));
        Copying {
            at_hand: Arc::clone(self),
            progress,
        }
    }

    /// The COPY at hand.
    pub fn get(&self) -> Option<Arc<CopyProgress>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, copy: Option<Arc<CopyProgress>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = copy;
    }
}

impl Copying {
    /// How far it is.
    pub fn progress(&self) -> &CopyProgress {
        &self.progress
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        self.at_hand.set(None);
    }
}
