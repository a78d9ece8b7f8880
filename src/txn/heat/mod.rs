//! `KeyHeat`: what is read and written of the keys of tables, by slices of them and by minutes. Transactions count; `system` shows it, and
//! the server's own task turns the minutes and cuts what is hot (`session`). Knows no tables but the prefixes of their keys.
//!
//! Who reads takes the [`SliceMap`] that is there when its statement begins, finds its key's [`IndexHeat`] in it once, and adds to
//! counters; no lock is taken and nothing looked up for a row. A commit goes over its keys, which are in order.
//!
//! Invariants
//!
//! 1. There are at most [`SLICES_MAX`] slices: keys for which none is left are counted by none.
//! 2. At most [`FIGURES_MAX`] minutes of all slices are kept, none longer than a day: the oldest go first.
//! 3. A slice that is cut keeps its past under its old beginning; the other part begins anew.

mod ends;
mod index_heat;
mod minutes;
mod slice;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use crate::codec::keyspace::entry_prefix;
use crate::store::{Batch, Page, Write};

pub use ends::END_MINUTES;
pub use index_heat::{HeatId, IndexHeat};
pub use minutes::MINUTES_MAX;
pub use slice::HeatSlice;

/// Slices of all keys, at most.
pub const SLICES_MAX: usize = 1000;
/// Minutes of all slices, at most.
pub const FIGURES_MAX: usize = 250_000;
/// Slices of one key that are cut because of heat alone, at most.
const SLICES_OF_KEY_MAX: usize = 32;
/// A slice that was accessed so often in a minute is cut.
const CUT_ABOVE: u64 = 2000;

/// Microseconds of a minute.
const MINUTE: i64 = 60_000_000;

/// The heat of all keys.
#[derive(Debug, Default)]
pub struct KeyHeat {
    map: RwLock<Arc<SliceMap>>,
    /// The time of the last turn, in microseconds since 1970.
    turned: Mutex<i64>,
}

/// The slices as they are at a moment.
#[derive(Debug, Default)]
pub struct SliceMap {
    /// By rising ids.
    indexes: Vec<Arc<IndexHeat>>,
    /// Their ids as numbers, side by side.
    numbers: Vec<u64>,
    /// How many slices they have.
    slices: usize,
}

/// What a transaction counts by.
#[derive(Debug, Clone)]
pub(super) struct HeatView {
    heat: Arc<KeyHeat>,
    map: Arc<SliceMap>,
}

impl SliceMap {
    fn new(indexes: Vec<Arc<IndexHeat>>) -> SliceMap {
        SliceMap {
            numbers: indexes.iter().map(|index| index.id.number()).collect(),
            slices: indexes.iter().map(|index| index.slices.len()).sum(),
            indexes,
        }
    }

    /// All keys that are counted.
    pub fn indexes(&self) -> &[Arc<IndexHeat>] {
        &self.indexes
    }

    /// That of one.
    pub fn get(&self, id: HeatId) -> Option<&Arc<IndexHeat>> {
        let at = self.numbers.binary_search(&id.number());
        self.indexes.get(at.ok()?)
    }
}

impl KeyHeat {
    /// The slices as they are now.
    pub fn slices(&self) -> Arc<SliceMap> {
        Arc::clone(&self.map.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts keys that are read without a transaction.
    pub fn count_gets(self: &Arc<KeyHeat>, keys: &[Vec<u8>]) {
        self.view().count_gets(keys);
    }

    pub(super) fn view(self: &Arc<KeyHeat>) -> HeatView {
        HeatView {
            heat: Arc::clone(self),
            map: self.slices(),
        }
    }

    /// That of a key, which is counted from now on. `None`: there is no slice left for it.
    fn begin(&self, id: HeatId) -> Option<Arc<IndexHeat>> {
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = map.get(id) {
            return Some(Arc::clone(known));
        }
        if map.slices >= SLICES_MAX {
            return None;
        }
        let began = *self.lock_turned();
        let whole = HeatSlice::new(entry_prefix(id.table, id.index).to_vec());
        let new = Arc::new(IndexHeat::new(id, began, vec![Arc::new(whole)], Arc::default()));
        let mut indexes = map.indexes.clone();
        let at = indexes.partition_point(|index| index.id < id);
        indexes.insert(at, Arc::clone(&new));
        *map = Arc::new(SliceMap::new(indexes));
        Some(new)
    }

    /// Cuts a key at stored keys, beside where it is cut already, as far as there are slices left. A key that nobody has accessed is
    /// counted from now on.
    pub fn cut(&self, id: HeatId, points: &[Vec<u8>]) {
        let known = self.slices().get(id).cloned();
        let Some(known) = known.or_else(|| self.begin(id)) else {
            return;
        };
        let is_cut = |point: &Vec<u8>| known.slices.iter().any(|slice| slice.start == *point);
        if points.iter().all(is_cut) {
            return;
        }
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        let Ok(at) = map.numbers.binary_search(&id.number()) else {
            return;
        };
        let known = Arc::clone(&map.indexes[at]);
        let mut slices = known.slices.clone();
        let mut left = SLICES_MAX.saturating_sub(map.slices);
        for point in points {
            let place = slices.partition_point(|slice| slice.start < *point);
            let is_cut = slices.get(place).is_some_and(|slice| slice.start == *point);
            if is_cut || place == 0 || left == 0 {
                continue;
            }
            slices[place - 1].forget_samples();
            slices.insert(place, Arc::new(HeatSlice::new(point.clone())));
            left -= 1;
        }
        let mut indexes = map.indexes.clone();
        indexes[at] = Arc::new(IndexHeat::new(id, known.began, slices, Arc::clone(&known.ends)));
        *map = Arc::new(SliceMap::new(indexes));
    }

    /// Forgets keys that are not there any more.
    pub fn keep(&self, is_there: impl Fn(HeatId) -> bool) {
        if self.slices().indexes.iter().all(|index| is_there(index.id)) {
            return;
        }
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        let kept = map.indexes.iter().filter(|index| is_there(index.id));
        let indexes: Vec<Arc<IndexHeat>> = kept.cloned().collect();
        *map = Arc::new(SliceMap::new(indexes));
    }

    /// It is so late, in microseconds since 1970: to be called about every second. What was counted before belongs to the minute that
    /// was then; what was accessed much in that is cut.
    pub fn turn(&self, now: i64) {
        let mut turned = self.lock_turned();
        let (before, minute) = (turned.div_euclid(MINUTE), now.div_euclid(MINUTE));
        if now <= *turned {
            return;
        }
        *turned = now;
        drop(turned);
        let map = self.slices();
        map.indexes.iter().for_each(|index| index.ends.settle());
        if minute <= before {
            return;
        }
        // The first turn of all: nobody knows when it was counted but just now.
        let before = if before == 0 { minute } else { before };
        let mut hot = Vec::new();
        let mut figures = 0;
        for index in &map.indexes {
            index.ends.turn(before, minute);
            for slice in &index.slices {
                let (kept, accesses) = slice.turn(before, minute - MINUTES_MAX);
                figures += kept;
                if accesses >= CUT_ABOVE && index.slices.len() < SLICES_OF_KEY_MAX {
                    hot.extend(slice.middle().map(|middle| (index.id, middle)));
                }
            }
        }
        forget_oldest(&map, figures, minute);
        for (id, point) in hot {
            self.cut(id, &[point]);
        }
    }

    /// The minute that it is, and how many seconds of it are over.
    pub fn minute(&self) -> (i64, f64) {
        let turned = *self.lock_turned();
        let into = turned.rem_euclid(MINUTE) as f64 / 1e6;
        (turned.div_euclid(MINUTE), into)
    }

    fn lock_turned(&self) -> MutexGuard<'_, i64> {
        self.turned.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets the oldest minutes of all until there are not too many.
fn forget_oldest(map: &SliceMap, mut figures: usize, minute: i64) {
    let mut oldest = minute - MINUTES_MAX;
    while figures > FIGURES_MAX && oldest < minute {
        oldest += 1 + (minute - oldest) / 16;
        let slices = map.indexes.iter().flat_map(|index| &index.slices);
        figures = slices.map(|slice| slice.turn(minute, oldest).0).sum();
    }
}

impl HeatView {
    /// That of the key that a stored key is of.
    pub(super) fn index(&self, key: &[u8]) -> Option<Arc<IndexHeat>> {
        let id = HeatId::of(key)?;
        match self.map.get(id) {
            Some(known) => Some(Arc::clone(known)),
            None => self.heat.begin(id),
        }
    }

    /// Keys were looked up.
    pub(super) fn count_gets(&self, keys: &[Vec<u8>]) {
        let mut found: Option<Arc<IndexHeat>> = None;
        for key in keys {
            let Some(id) = HeatId::of(key) else { return };
            match self.map.get(id) {
                Some(known) => known.count_get(key),
                None => {
                    if found.as_ref().is_none_or(|found| found.id != id) {
                        found = self.heat.begin(id);
                    }
                    if let Some(found) = &found {
                        found.count_get(key);
                    }
                }
            }
        }
    }

    /// A batch is committed.
    pub(super) fn count_writes(&self, batch: &Batch) {
        let mut known = batch.known.iter().peekable();
        let mut writes = batch.writes.iter().enumerate().peekable();
        while let Some((_, write)) = writes.peek() {
            let Some(id) = HeatId::of(write.key()) else {
                writes.next();
                continue;
            };
            let index = self.index(write.key());
            // Once for all keys that follow each other: of a commit they are in order.
            let mut ends = index.as_ref().map(|index| index.lock_ends());
            while let Some((at, write)) = writes.next_if(|(_, write)| HeatId::of(write.key()) == Some(id)) {
                while known.next_if(|(known, _)| *known < at).is_some() {}
                let is_there = known.next_if(|(known, _)| *known == at).map(|(_, there)| *there);
                let Some(index) = &index else { continue };
                index.count_write(write.key());
                // An entry of an index is put where there is none.
                let adds = is_there == Some(false) || id.index != 0 && is_there.is_none();
                if let (true, Write::Put { key, .. }, Some(ends)) = (adds, write, &mut ends) {
                    ends.add(key);
                }
            }
        }
    }
}

/// A scan's rows are counted.
#[derive(Debug)]
pub(super) struct ScanHeat(Option<Arc<IndexHeat>>);

impl ScanHeat {
    /// Of a scan that begins with this key.
    pub(super) fn of(view: Option<&HeatView>, first: Option<&[u8]>) -> ScanHeat {
        ScanHeat(view.zip(first).and_then(|(view, first)| view.index(first)))
    }

    pub(super) fn count(&self, page: &Page) {
        if let Some(index) = &self.0 {
            index.count_page(page);
        }
    }
}
