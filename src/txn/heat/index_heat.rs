//! `IndexHeat`: the slices of one key of a table. Who reads or writes it finds it once and counts by it then.

use std::sync::Arc;

use super::ends::{EndCounts, Ends, Known};
use super::slice::HeatSlice;
use crate::codec::keyspace::{ENTRY_PREFIX_BYTES, IndexId, TableId};
use crate::store::Page;

/// Which key of which table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HeatId {
    /// The table's id.
    pub table: TableId,
    /// 0: its rows.
    pub index: IndexId,
}

impl HeatId {
    /// Of a stored key; `None`: one of the system's own.
    pub(super) fn of(key: &[u8]) -> Option<HeatId> {
        let ([a, b, c, d, e, f], _) = key.split_first_chunk::<ENTRY_PREFIX_BYTES>()?;
        let table = TableId::from_be_bytes([*a, *b, *c, *d]);
        let index = IndexId::from_be_bytes([*e, *f]);
        (table != 0).then_some(HeatId { table, index })
    }

    /// In the order of ids.
    pub(super) fn number(self) -> u64 {
        u64::from(self.table) << 16 | u64::from(self.index)
    }
}

/// The slices of a key, in its order: the first begins with all of it.
#[derive(Debug)]
pub struct IndexHeat {
    /// Which key it is.
    pub id: HeatId,
    /// Microseconds since 1970 when counting began.
    pub began: i64,
    /// Its slices, one at least.
    pub slices: Vec<Arc<HeatSlice>>,
    /// What each begins with behind the key's prefix: found without looking at the slices themselves.
    heads: Vec<u64>,
    pub(super) ends: Arc<Ends>,
}

/// The first bytes behind a key's prefix as a number.
fn head(key: &[u8]) -> u64 {
    let mut bytes = [0; 8];
    for (byte, of_key) in bytes
        .iter_mut()
        .zip(key.get(ENTRY_PREFIX_BYTES..).unwrap_or_default())
    {
        *byte = *of_key;
    }
    u64::from_be_bytes(bytes)
}

impl IndexHeat {
    /// Counted since `began`, in slices that are sorted.
    pub(super) fn new(id: HeatId, began: i64, slices: Vec<Arc<HeatSlice>>, ends: Arc<Ends>) -> IndexHeat {
        IndexHeat {
            id,
            began,
            heads: slices.iter().map(|slice| head(&slice.start)).collect(),
            slices,
            ends,
        }
    }

    /// Rows of a page were read, which is in order, be it forward or back.
    pub(super) fn count_page(&self, page: &Page) {
        let rows = page.len();
        if rows == 0 {
            return;
        }
        let key = |at: usize| page.row(at).0;
        let is_forward = key(0) <= key(rows - 1);
        let rising = |at: usize| if is_forward { key(at) } else { key(rows - 1 - at) };
        let mut at = 0;
        let mut place = self.place(rising(0));
        while at < rows {
            let end = match self.slices.get(place + 1) {
                Some(next) if *rising(rows - 1) >= *next.start => {
                    partition(at, rows, |row| *rising(row) < *next.start)
                }
                _ => rows,
            };
            if end > at {
                self.slices[place].count_reads((end - at) as u64, rising(at));
            }
            at = end;
            place += 1;
        }
    }

    pub(super) fn count_get(&self, key: &[u8]) {
        self.slices[self.place(key)].count_reads(1, key);
    }

    pub(super) fn count_write(&self, key: &[u8]) {
        self.slices[self.place(key)].count_writes(1, key);
    }

    pub(super) fn lock_ends(&self) -> std::sync::MutexGuard<'_, Known> {
        self.ends.lock()
    }

    /// What was added to it in the last minutes.
    pub fn ends(&self) -> EndCounts {
        self.ends.counts()
    }

    /// The slice that a key stands in.
    fn place(&self, key: &[u8]) -> usize {
        if self.slices.len() == 1 {
            return 0;
        }
        let of_key = head(key);
        let mut above = self.heads.partition_point(|head| *head < of_key);
        // Of those that begin alike the rest tells.
        while above < self.slices.len() && *self.slices[above].start <= *key {
            above += 1;
        }
        above.saturating_sub(1)
    }
}

/// The first place from `from` up to `to` of which it does not hold.
fn partition(mut from: usize, mut to: usize, holds: impl Fn(usize) -> bool) -> usize {
    while from < to {
        let middle = from + (to - from) / 2;
        match holds(middle) {
            true => from = middle + 1,
            false => to = middle,
        }
    }
    from
}
