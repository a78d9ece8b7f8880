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

use super::group::{check_unchanged, conflict, merge, view};
use super::limits::PART_BYTES_MAX;
use super::state::Shared;
use super::view::View;
use crate::store::log::{Body, Log, Position, Timestamp, encoded_bytes};
use crate::store::{Batch, Write};
use crate::{Error, Result};

/// Keys that one step validates.
const VALIDATED_KEYS_MAX: usize = 512;

/// A commit too large for one step.
#[derive(Debug)]
pub(super) struct LargeCommit {
    shared: Arc<Shared>,
    /// The batch; its writes in the order of keys, `unchanged` sorted.
    batch: Batch,
    /// So many of its guarded keys are validated.
    validated: usize,
    guarded: usize,
    /// So many of its writes are in the log.
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
        mut batch: Batch,
        answer: oneshot::Sender<Result<()>>,
        place: OwnedSemaphorePermit,
    ) -> LargeCommit {
        let refused = shared.check_room(&batch).err();
        batch.unchanged.sort_unstable();
        if !batch.writes.is_sorted_by(|a, b| a.key() < b.key()) {
            // The places of the checked writes change with the order: their keys go among the others.
            let checked = batch.checked.iter().filter_map(|at| batch.writes.get(*at));
            let keys: Vec<Vec<u8>> = checked.map(|write| write.key().to_vec()).collect();
            batch.unchanged.extend(keys);
            batch.unchanged.sort_unstable();
            batch.checked = Vec::new();
            batch.writes = merge(batch.writes);
        }
        LargeCommit {
            shared,
            guarded: batch.guarded().count(),
            batch,
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
        self.validated == self.guarded && (!has_log || self.logged == self.batch.writes.len())
    }

    /// Another commit has written these keys.
    pub(super) fn note_commit<'a>(&mut self, mut written: impl Iterator<Item = &'a [u8]>) {
        if self.conflict.is_none() {
            self.conflict = written.find(|key| self.guards(key)).map(conflict);
        }
    }

    /// Whether a key must not change.
    fn guards(&self, key: &[u8]) -> bool {
        let Batch {
            writes,
            unchanged,
            checked,
            ..
        } = &self.batch;
        let written = || checked.binary_search_by(|at| writes[*at].key().cmp(key));
        unchanged.binary_search_by(|own| own.as_slice().cmp(key)).is_ok() || written().is_ok()
    }

    /// Takes the next step. Errors: why it cannot commit; `Io`, after which nothing can.
    pub(super) fn step(&mut self, log: Option<&mut Log>, clock: Timestamp, body: &mut Body) -> Result<Step> {
        if let Some(error) = self.conflict.take() {
            return Err(error);
        }
        if self.validated < self.guarded {
            self.validate()?;
        } else if let Some(log) = log
            && self.logged < self.batch.writes.len()
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
        (std::mem::take(&mut self.batch.writes), self.first)
    }

    /// Where its first part stands.
    pub(super) fn first_part(&self) -> Option<Position> {
        self.first
    }

    fn validate(&mut self) -> Result<()> {
        let until = self.guarded.min(self.validated + VALIDATED_KEYS_MAX);
        let Some(view) = view(&self.shared, &self.batch)? else {
            return Ok(());
        };
        let unchanged = self.batch.unchanged.len();
        for at in self.validated..until {
            let key = match at.checked_sub(unchanged) {
                None => self.batch.unchanged[at].as_slice(),
                Some(at) => self.batch.writes[self.batch.checked[at]].key(),
            };
            check_unchanged(view, key)?;
        }
        self.validated = until;
        Ok(())
    }

    fn check_view(&self) -> Result<()> {
        if self.batch.writes.iter().any(|write| write.key().is_empty()) {
            return Err(Error::internal("a write of the empty key"));
        }
        view(&self.shared, &self.batch)?.map_or(Ok(()), View::check)
    }

    /// A part is durable at once, so that the log's buffer stays small.
    fn write_part(&mut self, log: &mut Log, clock: Timestamp, body: &mut Body) -> Result<()> {
        body.part(self.first);
        let mut until = self.logged;
        while let Some(write) = self.batch.writes.get(until)
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
