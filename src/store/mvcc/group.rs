//! A commit group: batches that go into the log as one record. Decides which of them conflict; called by the committer,
//! and by the large commit for its own keys.

use std::collections::HashSet;
use std::sync::Arc;

use super::snapshot::MvccSnapshot;
use super::state::Shared;
use super::stored::split_stored;
use super::view::View;
use crate::store::log::Timestamp;
use crate::store::{Batch, Write};
use crate::{Error, Result};

/// Batches admitted to one group.
pub(super) struct Group<'a> {
    shared: &'a Arc<Shared>,
    /// The keys that they write.
    written: HashSet<&'a [u8]>,
}

impl<'a> Group<'a> {
    pub(super) fn new(shared: &'a Arc<Shared>) -> Group<'a> {
        Group {
            shared,
            written: HashSet::new(),
        }
    }

    /// Adds a batch, if none of its `unchanged` keys has changed; an error leaves the group as it was.
    pub(super) fn admit(&mut self, batch: &'a Batch) -> Result<()> {
        self.shared.check_room(batch)?;
        if let Some(view) = view(self.shared, batch)? {
            for key in batch.guarded() {
                if self.written.contains(key) {
                    return Err(conflict(key));
                }
                check_unchanged(view, key)?;
            }
            // Only now is it sure that what the undo map did not have was not there.
            view.check()?;
        }
        if batch.writes.iter().any(|write| write.key().is_empty()) {
            return Err(Error::internal("a write of the empty key"));
        }
        self.written.extend(batch.writes.iter().map(Write::key));
        Ok(())
    }
}

/// The snapshot that `unchanged` counts from; `None` when there is nothing to check.
pub(super) fn view<'a>(shared: &Arc<Shared>, batch: &'a Batch) -> Result<Option<&'a View>> {
    if batch.guarded().next().is_none() {
        return Ok(None);
    }
    let snapshot = batch
        .snapshot
        .as_deref()
        .ok_or_else(|| Error::internal("unchanged keys without a snapshot"))?;
    let snapshot: &dyn std::any::Any = snapshot;
    snapshot
        .downcast_ref::<MvccSnapshot>()
        .filter(|snapshot| Arc::ptr_eq(&snapshot.view.shared, shared))
        .map(|snapshot| Some(&*snapshot.view))
        .ok_or_else(|| Error::internal("a batch over a snapshot of another store"))
}

/// Error `Conflict` when a commit behind the view put or deleted `key`. Check the view afterwards.
pub(super) fn check_unchanged(view: &View, key: &[u8]) -> Result<()> {
    let is_changed = match last_put(view, key)? {
        Some(timestamp) => timestamp > view.timestamp,
        None => view.sees(key)?,
    };
    if is_changed { Err(conflict(key)) } else { Ok(()) }
}

/// When the newest value of a key was committed, if it has one now.
fn last_put(view: &View, key: &[u8]) -> Result<Option<Timestamp>> {
    if let Some((timestamp, is_deleted)) = view.shared.memtable.last_write(key) {
        return Ok((!is_deleted).then_some(timestamp));
    }
    let mut found = Ok(None);
    view.shared.engine.get(key, &mut |stored| {
        found = split_stored(stored).map(|(timestamp, _)| Some(timestamp));
    })?;
    found
}

/// The writes, which come in the order of their batches, in the order of keys; of several writes of a key the last.
pub(super) fn merge(mut writes: Vec<Write>) -> Vec<Write> {
    if !writes.is_sorted_by(|a, b| a.key() < b.key()) {
        // The sort is stable: writes of a key stay in the order of their batches.
        writes.sort_by(|a, b| a.key().cmp(b.key()));
        writes.dedup_by(|later, kept| {
            let is_same = later.key() == kept.key();
            if is_same {
                std::mem::swap(later, kept);
            }
            is_same
        });
    }
    writes
}

pub(super) fn conflict(key: &[u8]) -> Error {
    Error::Conflict { key: key.to_vec() }
}
