//! `OwnKeys`: what a transaction has written to each key (a `T`), in the order of keys. Whoever loads rows mostly writes each key behind all
//! others: such keys go to the end of a list, and nothing is searched for their place. Used by `Buffer`.
//!
//! Invariants:
//!
//! 1. The keys of the list are sorted, and each comes behind all of the tree.
//! 2. They stand in the list in the order in which they were first written: so a rollback takes them from its end.

use std::collections::BTreeMap;
use std::collections::btree_map;
use std::ops::{Bound, Range};

use bytes::Bytes;

/// Keys of one piece of the list: it grows without being copied.
const PIECE_KEYS: usize = if cfg!(test) { 4 } else { 1024 };

/// Keys that were written.
#[derive(Debug)]
pub(super) struct OwnKeys<T> {
    tree: BTreeMap<Bytes, T>,
    list: List<T>,
}

/// Sorted keys in pieces of [`PIECE_KEYS`].
#[derive(Debug)]
pub(super) struct List<T> {
    pieces: Vec<Vec<(Bytes, T)>>,
    len: usize,
}

impl<T> Default for OwnKeys<T> {
    fn default() -> OwnKeys<T> {
        OwnKeys {
            tree: BTreeMap::new(),
            list: List::default(),
        }
    }
}

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List {
            pieces: Vec::new(),
            len: 0,
        }
    }
}

/// Where a key stands, or would.
pub(super) enum OwnEntry<'a, T> {
    Occupied(Occupied<'a, T>),
    Vacant(Vacant<'a, T>),
}

/// Where a key stands.
pub(super) enum Occupied<'a, T> {
    Tree(btree_map::OccupiedEntry<'a, Bytes, T>),
    List(&'a mut (Bytes, T)),
}

/// Where a key would stand.
pub(super) enum Vacant<'a, T> {
    Tree(btree_map::VacantEntry<'a, Bytes, T>),
    End(&'a mut List<T>, Bytes),
}

impl<T> OwnEntry<'_, T> {
    pub(super) fn key(&self) -> &Bytes {
        match self {
            OwnEntry::Occupied(own) => own.key(),
            OwnEntry::Vacant(place) => place.key(),
        }
    }
}

impl<T> Occupied<'_, T> {
    pub(super) fn key(&self) -> &Bytes {
        match self {
            Occupied::Tree(own) => own.key(),
            Occupied::List((key, _)) => key,
        }
    }

    pub(super) fn get(&self) -> &T {
        match self {
            Occupied::Tree(own) => own.get(),
            Occupied::List((_, own)) => own,
        }
    }

    pub(super) fn get_mut(&mut self) -> &mut T {
        match self {
            Occupied::Tree(own) => own.get_mut(),
            Occupied::List((_, own)) => own,
        }
    }
}

impl<T> Vacant<'_, T> {
    pub(super) fn key(&self) -> &Bytes {
        match self {
            Vacant::Tree(place) => place.key(),
            Vacant::End(_, key) => key,
        }
    }

    pub(super) fn insert(self, own: T) {
        match self {
            Vacant::Tree(place) => {
                place.insert(own);
            }
            Vacant::End(list, key) => list.push(key, own),
        }
    }
}

impl<T> OwnKeys<T> {
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn len(&self) -> usize {
        self.tree.len() + self.list.len
    }

    pub(super) fn get(&self, key: &[u8]) -> Option<&T> {
        match self.list.reaches(key) {
            true => self.list.find(key).ok().map(|at| &self.list.at(at).1),
            false => self.tree.get(key),
        }
    }

    pub(super) fn get_mut(&mut self, key: &[u8]) -> Option<&mut T> {
        match self.list.reaches(key) {
            true => self.list.find(key).ok().map(|at| &mut self.list.at_mut(at).1),
            false => self.tree.get_mut(key),
        }
    }

    pub(super) fn contains_key(&self, key: &[u8]) -> bool {
        self.get(key).is_some()
    }

    /// Where the key stands, or would.
    pub(super) fn entry(&mut self, key: Bytes) -> OwnEntry<'_, T> {
        let is_behind_tree =
            |tree: &BTreeMap<Bytes, T>| tree.last_key_value().is_none_or(|(last, _)| *last < key);
        let found = match self.list.reaches(&key) {
            true => self.list.find(&key),
            false if self.list.len == 0 && is_behind_tree(&self.tree) => Err(0),
            false => return self.tree_entry(key),
        };
        match found {
            Ok(at) => OwnEntry::Occupied(Occupied::List(self.list.at_mut(at))),
            Err(at) if at == self.list.len => OwnEntry::Vacant(Vacant::End(&mut self.list, key)),
            Err(_) => {
                // It stands between others: those are in the tree from now on.
                self.tree.extend(std::mem::take(&mut self.list).into_keys());
                self.tree_entry(key)
            }
        }
    }

    fn tree_entry(&mut self, key: Bytes) -> OwnEntry<'_, T> {
        match self.tree.entry(key) {
            btree_map::Entry::Occupied(own) => OwnEntry::Occupied(Occupied::Tree(own)),
            btree_map::Entry::Vacant(place) => OwnEntry::Vacant(Vacant::Tree(place)),
        }
    }

    /// Takes a key out whose versions are all rolled back.
    pub(super) fn remove(&mut self, key: &[u8]) {
        match self.list.reaches(key) {
            true => self.list.remove(key),
            false => {
                self.tree.remove(key);
            }
        }
    }

    /// The keys between the bounds, in their order. The bounds must not cross.
    pub(super) fn range<'a>(
        &'a self,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
    ) -> impl DoubleEndedIterator<Item = (&'a Bytes, &'a T)> {
        let of_list = self.list.places(bounds).map(|at| self.list.at(at));
        let of_tree = self.tree.range::<[u8], _>(bounds);
        of_tree.chain(of_list.map(|(key, own)| (key, own)))
    }

    /// All of them, in their order.
    pub(super) fn into_keys(self) -> impl Iterator<Item = (Bytes, T)> {
        self.tree.into_iter().chain(self.list.into_keys())
    }
}

impl<T> List<T> {
    fn at(&self, at: usize) -> &(Bytes, T) {
        &self.pieces[at / PIECE_KEYS][at % PIECE_KEYS]
    }

    fn at_mut(&mut self, at: usize) -> &mut (Bytes, T) {
        &mut self.pieces[at / PIECE_KEYS][at % PIECE_KEYS]
    }

    fn first(&self) -> Option<&[u8]> {
        (self.len > 0).then(|| &*self.at(0).0)
    }

    fn last(&self) -> Option<&[u8]> {
        self.len.checked_sub(1).map(|last| &*self.at(last).0)
    }

    /// Whether the key is not before all of it.
    fn reaches(&self, key: &[u8]) -> bool {
        self.first().is_some_and(|first| first <= key)
    }

    /// Where a key stands, or would.
    fn find(&self, key: &[u8]) -> std::result::Result<usize, usize> {
        if self.last().is_none_or(|last| last < key) {
            return Err(self.len);
        }
        let at = self.first_not(|own| own < key);
        match *self.at(at).0 == *key {
            true => Ok(at),
            false => Err(at),
        }
    }

    /// The first place whose key is not so: first all are, then none is.
    fn first_not(&self, is_before: impl Fn(&[u8]) -> bool) -> usize {
        let (mut from, mut to) = (0, self.len);
        while from < to {
            let middle = from + (to - from) / 2;
            match is_before(&self.at(middle).0) {
                true => from = middle + 1,
                false => to = middle,
            }
        }
        from
    }

    fn places(&self, (start, end): (Bound<&[u8]>, Bound<&[u8]>)) -> Range<usize> {
        let from = match start {
            Bound::Included(start) => self.first_not(|key| key < start),
            Bound::Excluded(start) => self.first_not(|key| key <= start),
            Bound::Unbounded => 0,
        };
        let to = match end {
            Bound::Included(end) => self.first_not(|key| key <= end),
            Bound::Excluded(end) => self.first_not(|key| key < end),
            Bound::Unbounded => self.len,
        };
        from..to.max(from)
    }

    fn push(&mut self, key: Bytes, own: T) {
        if self.len.is_multiple_of(PIECE_KEYS) {
            // The first grows as it must: most transactions write few keys.
            let keys = if self.len == 0 { 0 } else { PIECE_KEYS };
            self.pieces.push(Vec::with_capacity(keys));
        }
        if let Some(piece) = self.pieces.last_mut() {
            piece.push((key, own));
            self.len += 1;
        }
    }

    /// A rollback takes keys from the end.
    fn remove(&mut self, key: &[u8]) {
        let Ok(at) = self.find(key) else { return };
        let behind: Vec<_> = self.take_from(at).skip(1).collect();
        for (key, own) in behind {
            self.push(key, own);
        }
    }

    /// Takes out all from this place on.
    fn take_from(&mut self, at: usize) -> impl Iterator<Item = (Bytes, T)> + use<T> {
        let kept = at.div_ceil(PIECE_KEYS);
        let whole = self.pieces.split_off(kept);
        let part = match at % PIECE_KEYS {
            0 => Vec::new(),
            rest => self.pieces[kept - 1].split_off(rest),
        };
        self.len = at;
        part.into_iter().chain(whole.into_iter().flatten())
    }

    fn into_keys(self) -> impl Iterator<Item = (Bytes, T)> {
        self.pieces.into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::StdRng;
    use rand::{Rng, SeedableRng};

    use super::*;

    fn put(keys: &mut OwnKeys<u64>, key: Bytes, value: u64) {
        match keys.entry(key) {
            OwnEntry::Occupied(mut own) => *own.get_mut() = value,
            OwnEntry::Vacant(place) => place.insert(value),
        }
    }

    /// Loads in the order of keys with others between them, and rollbacks of what came last.
    #[test]
    fn they_are_what_a_sorted_map_is() {
        for seed in 0..40 {
            let mut random = StdRng::seed_from_u64(seed);
            let (mut keys, mut model) = (OwnKeys::default(), BTreeMap::new());
            let (mut written, mut next) = (Vec::new(), 0u16);
            for step in 0..300 {
                let number = match random.random_range(0..20) {
                    0 => random.random_range(0..2_000),
                    1 => next.saturating_sub(random.random_range(0..6)),
                    _ => {
                        next += random.random_range(0..4);
                        next
                    }
                };
                let key = Bytes::from(number.to_be_bytes().to_vec());
                if !model.contains_key(&key) {
                    written.push(key.clone());
                }
                put(&mut keys, key.clone(), step);
                model.insert(key, step);
                if random.random_bool(0.05) {
                    for key in written
                        .drain(written.len() - written.len().min(random.random_range(0..9))..)
                        .rev()
                    {
                        keys.remove(&key);
                        model.remove(&key);
                    }
                }
                let mut bound = || (random.random_range(0..next + 3)).to_be_bytes();
                let (one, other) = (bound(), bound());
                assert_eq!(keys.get(&one), model.get(&one[..]));
                assert_eq!(keys.get_mut(&other), model.get_mut(&other[..]));
                let (one, other) = (one.min(other), one.max(other));
                for bounds in [
                    (Bound::Included(&one[..]), Bound::Excluded(&other[..])),
                    (Bound::Included(&one[..]), Bound::Included(&other[..])),
                    (Bound::Unbounded, Bound::Excluded(&other[..])),
                    (Bound::Excluded(&one[..]), Bound::Unbounded),
                ] {
                    assert!(
                        keys.range(bounds).eq(model.range::<[u8], _>(bounds)),
                        "seed {seed}"
                    );
                    let backward = model.range::<[u8], _>(bounds).rev();
                    assert!(keys.range(bounds).rev().eq(backward), "seed {seed}");
                }
                assert_eq!((keys.len(), keys.is_empty()), (model.len(), model.is_empty()));
            }
            assert!(keys.into_keys().eq(model), "seed {seed}");
        }
    }
}
