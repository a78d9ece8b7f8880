//! A large commit under way: validated, written to the log and made visible in steps, so that other commits go on in
//! between. The committer has at most one, and takes a step of it between two groups.
//!
//! ```text
//!   validate  …  validate   part  …  part   close, visible
//!         group    group  group   group   group
//! ```
//!
//! Nothing of it is visible before its close record is durable. A group that commits meanwhile and writes a key that this
//! one needs unchanged comes first: the large commit then ends with `Conflict`, and its parts in the log count for nothing.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, oneshot};

use super::group::{check_unchanged, conflict, merge, view_of};
use super::{PART_BYTES_MAX, Shared};
use crate::store::log::{Body, Log, Position, Timestamp, encoded_bytes};
use crate::store::{Batch, Snapshot, Write};
use crate::{Error, Result};

/// Keys that one step validates.
const VALIDATED_KEYS_MAX: usize = 512;

/// A commit too large for one step.
pub(super) struct LargeCommit {
    shared: Arc<Shared>,
    /// In the order of keys.
    writes: Vec<Write>,
    /// Sorted.
    unchanged: Vec<Vec<u8>>,
    snapshot: Option<Arc<dyn Snapshot>>,
    /// So many of `unchanged` are validated.
    validated: usize,
    /// So many of `writes` are in the log.
    logged: usize,
    /// Where its first part stands.
    first: Option<Position>,
    parts: u32,
    /// Another commit came first.
    conflict: Option<Error>,
    pub(super) answer: oneshot::Sender<Result<()>>,
    pub(super) place: OwnedSemaphorePermit,
}

/// What a step came to.
pub(super) enum Step {
    /// More steps are needed.
    Again,
    /// Everything is in the log but the close record.
    ReadyToClose,
}

impl LargeCommit {
    pub(super) fn new(
        shared: Arc<Shared>,
        batch: Batch,
        answer: oneshot::Sender<Result<()>>,
        place: OwnedSemaphorePermit,
    ) -> LargeCommit {
        let refused = shared.check_room(&batch).err();
        let mut unchanged = batch.unchanged;
        unchanged.sort_unstable();
        LargeCommit {
            shared,
            writes: merge(std::iter::once(batch.writes)),
            unchanged,
            snapshot: batch.snapshot,
            validated: 0,
            logged: 0,
            first: None,
            parts: 0,
            conflict: refused,
            answer,
            place,
        }
    }

    /// Whether nothing is left but the close record.
    pub(super) fn is_logged(&self, has_log: bool) -> bool {
        self.validated == self.unchanged.len() && (!has_log || self.logged == self.writes.len())
    }

    /// Another commit has written these keys.
    pub(super) fn note_commit<'a>(&mut self, mut written: impl Iterator<Item = &'a [u8]>) {
        if self.conflict.is_none() {
            self.conflict = written
                .find(|key| {
                    self.unchanged
                        .binary_search_by(|own| own.as_slice().cmp(key))
                        .is_ok()
                })
                .map(conflict);
        }
    }

    /// Takes the next step. Errors: why it cannot commit; `Io`, after which nothing can.
    pub(super) fn step(&mut self, log: Option<&mut Log>, clock: Timestamp, body: &mut Body) -> Result<Step> {
        if let Some(error) = self.conflict.take() {
            return Err(error);
        }
        if self.validated < self.unchanged.len() {
            self.validate()?;
        } else if let Some(log) = log
            && self.logged < self.writes.len()
        {
            self.write_part(log, clock, body)?;
        } else {
            // The snapshot must have been there for all of the validation.
            self.check_view()?;
            return Ok(Step::ReadyToClose);
        }
        Ok(Step::Again)
    }

    /// Makes `body` the record that makes it a commit, if it is in a log.
    pub(super) fn close(&self, timestamp: Timestamp, body: &mut Body) {
        body.close(self.first.unwrap_or_default(), timestamp, self.parts);
    }

    /// Its writes, which leave it; and where its first part stands.
    pub(super) fn take(&mut self) -> (Vec<Write>, Option<Position>) {
        (std::mem::take(&mut self.writes), self.first)
    }

    /// Where its first part stands.
    pub(super) fn first_part(&self) -> Option<Position> {
        self.first
    }

    fn validate(&mut self) -> Result<()> {
        let until = self.unchanged.len().min(self.validated + VALIDATED_KEYS_MAX);
        let snapshot = self
            .snapshot
            .as_deref()
            .ok_or_else(|| Error::internal("unchanged keys without a snapshot"))?;
        let view = view_of(&self.shared, snapshot)?;
        for key in &self.unchanged[self.validated..until] {
            check_unchanged(view, key)?;
        }
        self.validated = until;
        Ok(())
    }

    fn check_view(&self) -> Result<()> {
        if self.writes.iter().any(|write| write.key().is_empty()) {
            return Err(Error::internal("a write of the empty key"));
        }
        match self.snapshot.as_deref() {
            Some(snapshot) if !self.unchanged.is_empty() => view_of(&self.shared, snapshot)?.check(),
            _ => Ok(()),
        }
    }

    /// A part is durable at once, so that the log's buffer stays small.
    fn write_part(&mut self, log: &mut Log, clock: Timestamp, body: &mut Body) -> Result<()> {
        body.part(self.first);
        let mut until = self.logged;
        while let Some(write) = self.writes.get(until)
            && (until == self.logged || body.len() + encoded_bytes(write) <= PART_BYTES_MAX)
        {
            body.push(write);
            until += 1;
        }
        let position = log.append(body, clock)?;
        if self.first.is_none() {
            log.files().keep_large(position);
            self.first = Some(position);
        }
        log.sync()?;
        self.logged = until;
        self.parts += 1;
        Ok(())
    }
}
