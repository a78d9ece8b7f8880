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

use tokio::sync::oneshot;

use super::commit::bytes_in_memory;
use super::counts::{Changed, Counts, count};
use super::group::{check_unchanged, conflict, is_newest, merge, require_untouched, view};
use super::limits::PART_BYTES_MAX;
use super::state::Shared;
use super::under_way::Place;
use super::view::View;
use crate::codec::keyspace::{CountRole, count_role};
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
    /// What it takes in the memtable.
    bytes: usize,
    /// For each of its writes whether its key has a value, as far as it is known by now and the write is of a row.
    was_there: Vec<Option<bool>>,
    /// So many of them are looked at.
    looked_at: usize,
    /// So many of its writes are in the log.
    logged: usize,
    /// Where its first part stands.
    first: Option<Position>,
    parts: u32,
    /// Another commit came first.
    conflict: Option<Error>,
    answer: oneshot::Sender<Result<()>>,
    place: Place,
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
        place: Place,
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
            batch.known = Vec::new();
            batch.writes = merge(batch.writes);
        }
        let mut was_there = vec![None; batch.writes.len()];
        for (at, is_there) in &batch.known {
            was_there[*at] = Some(*is_there);
        }
        LargeCommit {
            shared,
            guarded: batch.guarded().count(),
            bytes: bytes_in_memory(&batch.writes),
            was_there,
            looked_at: 0,
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
        let is_counted = self.looked_at == self.was_there.len();
        self.validated == self.guarded && is_counted && (!has_log || self.logged == self.batch.writes.len())
    }

    /// Another commit has written these keys.
    pub(super) fn note_commit(&mut self, written: &[Write]) {
        if self.conflict.is_none() {
            let mut keys = written.iter().map(Write::key);
            self.conflict = keys.find(|key| self.guards(key)).map(conflict);
        }
        for write in written {
            let own = self
                .batch
                .writes
                .binary_search_by(|own| own.key().cmp(write.key()));
            if let Ok(at) = own {
                self.was_there[at] = Some(write.value().is_some());
            }
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
        } else if self.looked_at < self.was_there.len() {
            self.look()?;
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

    /// Whether the memtable has room for it, once it is a commit.
    pub(super) fn has_room(&self) -> bool {
        let bytes_max = self.shared.options.large_commits_bytes_max;
        self.shared.memtable.has_room_for_large(self.bytes, bytes_max)
    }

    /// Errors: `ReadConflict`, now that nothing else commits before it.
    pub(super) fn require_untouched(&self) -> Result<()> {
        require_untouched(&self.shared, &self.batch)
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

    /// Ends it. The batch and what it holds go before the answer, so that whoever has that finds them gone.
    pub(super) fn answer(self, result: Result<()>) {
        let LargeCommit {
            answer, place, batch, ..
        } = self;
        drop(batch);
        // A session that has gone does not want its answer.
        let _ = answer.send(result);
        drop(place);
    }

    fn validate(&mut self) -> Result<()> {
        let until = self.guarded.min(self.validated + VALIDATED_KEYS_MAX);
        let Some(view) = view(&self.shared, &self.batch)? else {
            return Ok(());
        };
        if is_newest(view) {
            // Whatever is committed from now on is noted.
            self.validated = self.guarded;
            return Ok(());
        }
        let unchanged = self.batch.unchanged.len();
        for at in self.validated..until {
            let key = match at.checked_sub(unchanged) {
                None => self.batch.unchanged[at].as_slice(),
                Some(at) => self.batch.writes[self.batch.checked[at]].key(),
            };
            let is_there = check_unchanged(view, key)?;
            if let Some(at) = at.checked_sub(unchanged) {
                self.was_there[self.batch.checked[at]] = Some(is_there);
            }
        }
        self.validated = until;
        Ok(())
    }

    /// Looks for the keys of rows that nothing has asked for yet.
    fn look(&mut self) -> Result<()> {
        let mut asked = 0;
        while self.looked_at < self.was_there.len() && asked < VALIDATED_KEYS_MAX {
            let at = self.looked_at;
            let key = self.batch.writes[at].key();
            if self.was_there[at].is_none() && matches!(count_role(key), CountRole::Row(_)) {
                self.was_there[at] = Some(self.shared.last_put(key)?.is_some());
                asked += 1;
            }
            self.looked_at += 1;
        }
        Ok(())
    }

    /// Counts its rows, now that nothing else commits before it.
    pub(super) fn count(&mut self, counts: &mut Counts) -> Result<Changed> {
        let mut changed = counts.before(&self.batch, &Changed::new())?;
        for (write, was_there) in self.batch.writes.iter().zip(&self.was_there) {
            if let Some(was_there) = was_there {
                count(&mut changed, write, *was_there);
            }
        }
        Counts::fill(&mut self.batch.writes, &changed);
        Ok(changed)
    }

    /// Writes the part that has the counts, the last.
    pub(super) fn write_counts(&mut self, log: &mut Log, clock: Timestamp, body: &mut Body) -> Result<()> {
        let mut counts = self
            .batch
            .writes
            .iter()
            .filter(|write| is_count(write))
            .peekable();
        if counts.peek().is_none() {
            return Ok(());
        }
        body.part(self.first);
        counts.for_each(|write| body.push(write));
        self.end_part(log, clock, body)
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
            // Counts are known last.
            if !is_count(write) {
                body.push(write);
            }
            until += 1;
        }
        self.logged = until;
        self.end_part(log, clock, body)
    }

    fn end_part(&mut self, log: &mut Log, clock: Timestamp, body: &mut Body) -> Result<()> {
        let position = log.append(body, clock)?;
        if self.first.is_none() {
            log.files().keep_large(position);
            self.first = Some(position);
        }
        log.sync()?;
        self.parts += 1;
        Ok(())
    }
}

fn is_count(write: &Write) -> bool {
    matches!(count_role(write.key()), CountRole::Count(_))
}
