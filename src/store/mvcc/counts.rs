//! How many rows tables have: the one thing that the store knows of what its keys mean ([`count_role`]). A commit that writes
//! rows puts the key of their table's count; the committer, to whom commits come one after the other, fills in its value.
//! So a count is a value like any other: durable, replayed and seen at a snapshot as the rows are that it counts.
//!
//! Where the count was unknown before (a table of an earlier release) it stays so, an empty value. A batch that knows it,
//! because it makes the table or has counted its rows and guards them, gives it as the value.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::state::Shared;
use super::stored::split_stored;
use crate::Result;
use crate::codec::keyspace::{CountRole, TableId, count_role};
use crate::store::log::Timestamp;
use crate::store::{Batch, Write};

/// Tables whose counts are kept at hand.
const KNOWN_MAX: usize = 4096;

/// The newest counts.
#[derive(Debug)]
pub(super) struct Counts {
    shared: Arc<Shared>,
    /// Of tables asked for by now; `None`: nobody knows.
    known: HashMap<TableId, Option<u64>>,
}

/// Counts as they are to be: of the tables that some batches write to.
pub(super) type Changed = BTreeMap<TableId, Option<u64>>;

impl Counts {
    pub(super) fn new(shared: Arc<Shared>) -> Counts {
        Counts {
            shared,
            known: HashMap::new(),
        }
    }

    /// The tables whose counts a batch puts, and what they are before its rows count. `changed`: by batches before it.
    pub(super) fn before(&mut self, batch: &Batch, changed: &Changed) -> Result<Changed> {
        let mut counts = Changed::new();
        for write in &batch.writes {
            let CountRole::Count(table) = count_role(write.key()) else {
                continue;
            };
            let count = match write.value() {
                None => None,
                Some(value) => match (read_count(value), changed.get(&table)) {
                    (Some(given), _) => Some(given),
                    (None, Some(count)) => *count,
                    (None, None) => self.newest(table, write.key())?,
                },
            };
            counts.insert(table, count);
        }
        Ok(counts)
    }

    /// Writes the counts into the writes that put them.
    pub(super) fn fill(writes: &mut [Write], counts: &Changed) {
        for write in writes {
            if let (CountRole::Count(table), Write::Put { value, .. }) =
                (count_role(write.key()), &mut *write)
                && let Some(count) = counts.get(&table)
            {
                *value = count.map_or_else(Vec::new, |count| count.to_be_bytes().to_vec());
            }
        }
    }

    /// The counts are committed.
    pub(super) fn note(&mut self, counts: Changed) {
        if self.known.len() + counts.len() > KNOWN_MAX {
            self.known.clear();
        }
        self.known.extend(counts);
    }

    /// The count that was committed last.
    fn newest(&mut self, table: TableId, key: &[u8]) -> Result<Option<u64>> {
        if let Some(count) = self.known.get(&table) {
            return Ok(*count);
        }
        let mut count = None;
        let is_in_memtable = self.shared.memtable.get(key, Timestamp::MAX, |value| {
            count = value.and_then(read_count);
        });
        if !is_in_memtable {
            let mut found = Ok(None);
            self.shared.engine.get(key, &mut |stored| {
                found = split_stored(stored).map(|(_, value)| read_count(value));
            })?;
            count = found?;
        }
        Ok(count)
    }
}

/// Counts a write of a row whose key was there, or was not, before it.
pub(super) fn count(counts: &mut Changed, write: &Write, was_there: bool) {
    let CountRole::Row(table) = count_role(write.key()) else {
        return;
    };
    let Some(Some(count)) = counts.get(&table).copied() else {
        return;
    };
    let changed = match (was_there, write.value().is_some()) {
        (false, true) => count.checked_add(1),
        (true, false) => count.checked_sub(1),
        _ => Some(count),
    };
    if changed.is_none() {
        tracing::error!(
            table,
            "the count of a table's rows was wrong; it is unknown from now on"
        );
    }
    counts.insert(table, changed);
}

/// Whether the write is of a row that counts.
pub(super) fn counts_row(counts: &Changed, write: &Write) -> bool {
    match count_role(write.key()) {
        CountRole::Row(table) => matches!(counts.get(&table), Some(Some(_))),
        _ => false,
    }
}

/// A count as it is stored; `None`: unknown.
fn read_count(value: &[u8]) -> Option<u64> {
    value.try_into().ok().map(u64::from_be_bytes)
}
