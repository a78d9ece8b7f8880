//! A commit group: batches that go into the log as one record. Decides which of them conflict; called by the committer,
//! and by the large commit for its own keys.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::counts::{Changed, Counts, count, counts_row};
use super::snapshot::MvccSnapshot;
use super::state::{LastWrite, Shared};
use super::view::View;
use crate::store::{Batch, Snapshot, Write};
use crate::{Error, Result};

/// Batches admitted to one group.
pub(super) struct Group<'a> {
    shared: &'a Arc<Shared>,
    counts: &'a mut Counts,
    /// The keys that they write, and whether they leave a value there.
    written: HashMap<&'a [u8], bool>,
    /// Those of them that nobody reads: [`Batch::unseen`].
    unseen: HashSet<&'a [u8]>,
    /// The counts that they change.
    changed: Changed,
}

impl<'a> Group<'a> {
    pub(super) fn new(shared: &'a Arc<Shared>, counts: &'a mut Counts) -> Group<'a> {
        Group {
            shared,
            counts,
            written: HashMap::new(),
            unseen: HashSet::new(),
            changed: Changed::new(),
        }
    }

    /// Adds a batch, if none of its `unchanged` keys has changed; an error leaves the group as it was.
    pub(super) fn admit(&mut self, batch: &'a Batch) -> Result<()> {
        self.shared.check_room(batch)?;
        // Whether the keys of its checked writes are there.
        let mut checked = Vec::with_capacity(batch.checked.len());
        if let Some(view) = view(self.shared, batch)? {
            let is_newest = is_newest(view);
            for (at, key) in batch.guarded().enumerate() {
                if self.written.contains_key(key) {
                    return Err(conflict(key));
                }
                if is_newest {
                    continue;
                }
                let is_there = check_unchanged(view, key)?;
                if at >= batch.unchanged.len() {
                    checked.push(is_there);
                }
            }
            // Only now is it sure that what the undo map did not have was not there.
            view.check()?;
        }
        self.require_untouched(batch)?;
        if batch.writes.iter().any(|write| write.key().is_empty()) {
            return Err(Error::internal("a write of the empty key"));
        }
        let changed = self.count(batch, &checked)?;
        self.changed.extend(changed);
        if batch.unseen {
            self.unseen.extend(batch.writes.iter().map(Write::key));
        }
        let written = batch.writes.iter();
        self.written
            .extend(written.map(|write| (write.key(), write.value().is_some())));
        Ok(())
    }

    /// Errors: `ReadConflict` when something was written in a range that is to be untouched, also by a batch of the group.
    fn require_untouched(&self, batch: &Batch) -> Result<()> {
        require_untouched(self.shared, batch)?;
        let contains = |key: &[u8]| batch.untouched.iter().any(|range| range.contains(key));
        let mut seen = self.written.keys().filter(|key| !self.unseen.contains(*key));
        match !batch.untouched.is_empty() && seen.any(|key| contains(key)) {
            true => Err(Error::ReadConflict),
            false => Ok(()),
        }
    }

    /// The counts that the admitted batches change.
    pub(super) fn into_changed(self) -> Changed {
        self.changed
    }

    /// The counts that a batch changes. `checked`: whether the keys of its checked writes are there.
    fn count(&mut self, batch: &Batch, checked: &[bool]) -> Result<Changed> {
        let mut changed = self.counts.before(batch, &self.changed)?;
        if changed.values().all(Option::is_none) {
            return Ok(changed);
        }
        let checked = batch.checked.iter().copied().zip(checked.iter().copied());
        let mut checked = checked.peekable();
        let mut known = batch.known.iter().copied().peekable();
        for (at, write) in batch.writes.iter().enumerate() {
            let checked = checked.next_if(|(place, _)| *place == at);
            let known = known.next_if(|(place, _)| *place == at);
            if !counts_row(&changed, write) {
                continue;
            }
            let was_there = match (self.written.get(write.key()), checked.or(known)) {
                (Some(was_there), _) => *was_there,
                (None, Some((_, was_there))) => {
                    debug_assert_eq!(
                        was_there,
                        self.shared.last_put(write.key())?.is_some(),
                        "{write:?}"
                    );
                    was_there
                }
                (None, None) => self.shared.last_put(write.key())?.is_some(),
            };
            count(&mut changed, write, was_there);
        }
        Ok(changed)
    }
}

/// The snapshot that `unchanged` counts from; `None` when there is nothing to check.
pub(super) fn view<'a>(shared: &Arc<Shared>, batch: &'a Batch) -> Result<Option<&'a View>> {
    if batch.guarded().next().is_none() {
        return Ok(None);
    }
    let snapshot = batch
        .snapshot
        .as_ref()
        .ok_or_else(|| Error::internal("unchanged keys without a snapshot"))?;
    view_of(shared, snapshot).map(|view| Some(&**view))
}

/// Errors: `ReadConflict` when a commit behind its snapshot wrote in a range that is to be untouched.
pub(super) fn require_untouched(shared: &Arc<Shared>, batch: &Batch) -> Result<()> {
    if batch.untouched.is_empty() {
        return Ok(());
    }
    let snapshot = batch.snapshot.as_ref();
    let snapshot = snapshot.ok_or_else(|| Error::internal("untouched ranges without a snapshot"))?;
    let since = view_of(shared, snapshot)?.timestamp;
    shared.recent.require_untouched(since, &batch.untouched)
}

/// What a snapshot of this store sees.
pub(super) fn view_of<'a>(shared: &Arc<Shared>, snapshot: &'a Arc<dyn Snapshot>) -> Result<&'a Arc<View>> {
    let snapshot: &dyn std::any::Any = &**snapshot;
    snapshot
        .downcast_ref::<MvccSnapshot>()
        .filter(|snapshot| Arc::ptr_eq(&snapshot.view.shared, shared))
        .map(|snapshot| &snapshot.view)
        .ok_or_else(|| Error::internal("a snapshot of another store"))
}

/// Whether the view sees the newest commit: then no key has changed since, and none need be looked for. Only the committer can
/// tell, for it makes the next.
pub(super) fn is_newest(view: &View) -> bool {
    view.shared.undo.visible() <= view.timestamp
}

/// Whether `key` has a value. Error `Conflict` when a commit behind the view put or deleted it. Check the view afterwards.
pub(super) fn check_unchanged(view: &View, key: &[u8]) -> Result<bool> {
    match state_of(view, key)? {
        KeyState { is_changed: true, .. } => Err(conflict(key)),
        KeyState { is_there, .. } => Ok(is_there),
    }
}

/// What the newest commits left of a key.
pub(super) struct KeyState {
    pub(super) is_there: bool,
    /// Whether it was put or deleted behind the view.
    pub(super) is_changed: bool,
}

/// Check the view afterwards.
pub(super) fn state_of(view: &View, key: &[u8]) -> Result<KeyState> {
    Ok(match view.shared.last_write(key)? {
        LastWrite::Put(timestamp) => KeyState {
            is_there: true,
            is_changed: timestamp > view.timestamp,
        },
        LastWrite::Deleted(timestamp) => KeyState {
            is_there: false,
            is_changed: timestamp > view.timestamp && view.sees(key)?,
        },
        LastWrite::None => KeyState {
            is_there: false,
            is_changed: view.shared.undo.find(key, view.timestamp).is_some(),
        },
    })
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
