//! `RangeMap`: ranges of keys that are locked, each with its mode and what is known of it. Ranges of one mode do not overlap.

use std::collections::BTreeMap;
use std::ops::Bound;

use smallvec::SmallVec;

use super::LockMode;
use crate::codec::KeyRange;

/// What is known of ranges by their first keys: the key after the last (`None`: there is none), and the rest.
type OfMode<V> = BTreeMap<Vec<u8>, (Option<Vec<u8>>, V)>;

/// The map.
#[derive(Debug)]
pub(super) struct RangeMap<V>(SmallVec<[(LockMode, OfMode<V>); 1]>);

impl<V> Default for RangeMap<V> {
    fn default() -> RangeMap<V> {
        RangeMap(SmallVec::new())
    }
}

impl<V> RangeMap<V> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|(_, ranges)| ranges.is_empty())
    }

    /// Adds a range that overlaps none of its mode.
    pub(super) fn insert(&mut self, mode: LockMode, range: KeyRange, value: V) {
        debug_assert!(!self.overlaps(&range, |other| other == mode));
        let at = self.0.iter().position(|(known, _)| *known == mode);
        let at = at.unwrap_or_else(|| {
            self.0.push((mode, BTreeMap::new()));
            self.0.len() - 1
        });
        self.0[at].1.insert(range.start, (range.end, value));
    }

    /// Takes away the range of the mode that begins with the key; answers its end and what was known of it.
    pub(super) fn remove(&mut self, mode: LockMode, start: &[u8]) -> Option<(Option<Vec<u8>>, V)> {
        let of_mode = self.0.iter_mut().find(|(known, _)| *known == mode);
        of_mode?.1.remove(start)
    }

    /// What is known of the range of the mode that begins with the key.
    pub(super) fn get_mut(&mut self, mode: LockMode, start: &[u8]) -> Option<&mut V> {
        let of_mode = self.0.iter_mut().find(|(known, _)| *known == mode);
        of_mode?.1.get_mut(start).map(|(_, value)| value)
    }

    /// The ranges that have the key: at most one of each mode.
    pub(super) fn having(&self, key: &[u8]) -> impl Iterator<Item = (LockMode, &V)> {
        self.0.iter().filter_map(move |(mode, ranges)| {
            let (_, (end, value)) = ranges.range::<[u8], _>(up_to(key)).next_back()?;
            is_before(key, end.as_deref()).then_some((*mode, value))
        })
    }

    /// The same, to be changed.
    pub(super) fn having_mut(&mut self, key: &[u8]) -> impl Iterator<Item = (LockMode, &mut V)> {
        self.0.iter_mut().filter_map(move |(mode, ranges)| {
            let (_, (end, value)) = ranges.range_mut::<[u8], _>(up_to(key)).next_back()?;
            is_before(key, end.as_deref()).then_some((*mode, value))
        })
    }

    /// Whether a range of such a mode has a key of this one.
    pub(super) fn overlaps(&self, range: &KeyRange, counts: impl Fn(LockMode) -> bool) -> bool {
        let before_end = match &range.end {
            Some(end) => Bound::Excluded(end.as_slice()),
            None => Bound::Unbounded,
        };
        let mut of_modes = self.0.iter().filter(|(mode, _)| counts(*mode));
        of_modes.any(|(_, ranges)| {
            let last = ranges
                .range::<[u8], _>((Bound::Unbounded, before_end))
                .next_back();
            last.is_some_and(|(_, (end, _))| is_before(&range.start, end.as_deref()))
        })
    }
}

fn up_to(key: &[u8]) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (Bound::Unbounded, Bound::Included(key))
}

fn is_before(key: &[u8], end: Option<&[u8]>) -> bool {
    end.is_none_or(|end| key < end)
}
