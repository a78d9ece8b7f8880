//! `OpenCursors`: the cursors of a session by their names: those that DECLARE made, and those that bodies of functions opened, which become
//! the session's when their statement is over. What their rows are `sql` knows, and `session`; here they are kept.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A cursor as `pg_cursors` tells of it.
#[derive(Debug, Clone)]
pub struct CursorRow {
    /// Its name.
    pub name: String,
    /// The text of DECLARE.
    pub statement: Arc<str>,
    /// WITH HOLD.
    pub is_holdable: bool,
    /// BINARY.
    pub is_binary: bool,
    /// Whether it can go back.
    pub is_scrollable: bool,
    /// When it was made: microseconds since 1970 UTC.
    pub created_us: i64,
}

/// Rows of a cursor and its place among them.
pub type CursorRowsAtHand = Arc<dyn Any + Send + Sync>;

/// A cursor that is open.
#[derive(Debug, Clone)]
pub struct OpenCursor {
    /// What the catalog tells of it.
    pub row: Arc<CursorRow>,
    /// Its rows.
    pub rows: CursorRowsAtHand,
    /// Whether the session has it among its own.
    pub is_session: bool,
    /// Whether a loop goes over it, which goes on when the transaction has ended.
    pub is_pinned: bool,
    /// Counts cursors of the session.
    number: u64,
}

/// See the module.
#[derive(Debug, Default)]
pub struct OpenCursors {
    cursors: Mutex<HashMap<String, OpenCursor>>,
    made: AtomicU64,
    unnamed: AtomicU64,
}

impl OpenCursors {
    /// Adds one.
    pub fn insert(&self, row: Arc<CursorRow>, rows: CursorRowsAtHand, is_session: bool) {
        let name = row.name.clone();
        let cursor = OpenCursor {
            row,
            rows,
            is_session,
            is_pinned: false,
            number: self.made.fetch_add(1, Ordering::Relaxed),
        };
        self.lock().insert(name, cursor);
    }

    /// Whether there is one of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.lock().contains_key(name)
    }

    /// The rows of the one of this name.
    pub fn rows(&self, name: &str) -> Option<CursorRowsAtHand> {
        self.lock().get(name).map(|cursor| Arc::clone(&cursor.rows))
    }

    /// A loop goes over it.
    pub fn pin(&self, name: &str) {
        if let Some(cursor) = self.lock().get_mut(name) {
            cursor.is_pinned = true;
        }
    }

    /// Closes one; whether it was there.
    pub fn remove(&self, name: &str) -> bool {
        self.lock().remove(name).is_some()
    }

    /// Closes all others.
    pub fn retain(&self, keep: impl Fn(&OpenCursor) -> bool) {
        self.lock().retain(|_, cursor| keep(cursor));
    }

    /// Those that are not the session's yet, in the order they were opened; from now on they are.
    pub fn take_new(&self) -> Vec<OpenCursor> {
        let mut cursors = self.lock();
        let new = cursors.values_mut().filter(|cursor| !cursor.is_session);
        let mut new: Vec<OpenCursor> = new
            .map(|cursor| {
                cursor.is_session = true;
                cursor.clone()
            })
            .collect();
        new.sort_by_key(|cursor| cursor.number);
        new
    }

    /// A place to roll back to.
    pub fn mark(&self) -> u64 {
        self.made.load(Ordering::Relaxed)
    }

    /// Closes what was opened since.
    pub fn roll_back_to(&self, mark: u64) {
        self.retain(|cursor| cursor.number < mark);
    }

    /// The name of one that is given none.
    pub fn next_name(&self) -> String {
        format!(
            "<unnamed portal {}>",
            self.unnamed.fetch_add(1, Ordering::Relaxed) + 1
        )
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, OpenCursor>> {
        self.cursors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
