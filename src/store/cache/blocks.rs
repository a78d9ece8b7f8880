//! `Blocks`: the blocks there are, by where they begin, in bounded memory. Those that were not read for a round are given up first.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::ops::Bound::{Excluded, Included, Unbounded};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use smallvec::SmallVec;

use super::block::{Block, Bound};
use super::{BLOCK_BYTES, BLOCK_BYTES_MAX, BLOCK_ENTRIES, JOINED_ENTRIES};
use crate::store::engine::{EngineBatch, Verify};

/// Where a block begins. Most keys stand in the map itself, so that a search of it follows no pointers.
pub(super) type Start = SmallVec<[u8; 32]>;

/// Keys whose blocks are read side by side: about as many as a processor waits for at the same time.
const KEYS_AT_ONCE: usize = 32;

/// Blocks whose ranges do not overlap.
#[derive(Debug)]
pub(super) struct Blocks {
    map: RwLock<Map>,
    bytes: AtomicU64,
    bytes_max: u64,
    /// What is asked of values that come into blocks.
    pub(super) verify: Verify,
}

#[derive(Debug, Default)]
struct Map {
    blocks: BTreeMap<Start, Arc<Block>>,
    /// From where on it is looked next for what to give up.
    hand: Start,
}

/// What stands at a place: a block, or nothing up to the next.
pub(super) enum Found<B, G> {
    Block(B),
    Gap(G),
}

impl Blocks {
    pub(super) fn new(bytes_max: u64, verify: Verify) -> Blocks {
        Blocks {
            map: RwLock::default(),
            bytes: AtomicU64::new(0),
            bytes_max,
            verify,
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Map> {
        self.map.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Map> {
        self.map.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the memory for blocks is all but used up: what was given up for the last block leaves it a little below its end.
    pub(super) fn is_full(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) >= self.bytes_max / 8 * 7
    }

    /// Calls `visit` with the value of a key that is in a block's range, if it has one. Otherwise it answers where the next block begins,
    /// and there is none to be visited. `visit` must not come back here.
    pub(super) fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Found<(), Option<Start>> {
        let map = self.read();
        let Some((_, block)) = map.holding(key) else {
            return Found::Gap(map.next_start(key));
        };
        block.note_use();
        block.get(key).into_iter().for_each(visit);
        Found::Block(())
    }

    /// Calls `visit` with the value of one key after the other, as far as each is in a block's range; answers of how many. `visit` must
    /// not come back here.
    ///
    /// Such a read waits for memory and for little else. What each key needs is touched for all of them first, step by step, so that they
    /// wait at the same time.
    pub(super) fn get_many(&self, keys: &[&[u8]], visit: &mut dyn FnMut(Option<&[u8]>)) -> usize {
        let mut done = 0;
        for keys in keys.chunks(KEYS_AT_ONCE) {
            let map = self.read();
            let blocks = map.all_holding(keys);
            let found = || blocks.iter().zip(keys);
            black_box(
                blocks
                    .iter()
                    .fold(0, |touched, block| touched ^ block.touch_heads()),
            );
            let places: SmallVec<[usize; KEYS_AT_ONCE]> =
                found().map(|(block, key)| block.near(key)).collect();
            let entries = blocks.iter().zip(&places);
            black_box(entries.fold(0, |touched, (block, at)| touched ^ block.touch_entry(*at)));
            for (block, key) in found() {
                block.note_use();
                visit(block.get(key));
            }
            done += blocks.len();
            if blocks.len() < keys.len() {
                break;
            }
        }
        done
    }

    /// The block in whose range the key is, or where the next one begins.
    pub(super) fn find(&self, key: &[u8]) -> Found<Arc<Block>, Option<Start>> {
        let map = self.read();
        if let Some((_, block)) = map.holding(key) {
            block.note_use();
            return Found::Block(Arc::clone(block));
        }
        Found::Gap(map.next_start(key))
    }

    /// The block whose range holds what comes right before `end`, and where it begins; or where the one before that ends.
    pub(super) fn find_before(&self, end: Bound<'_>) -> Found<(Vec<u8>, Arc<Block>), Vec<u8>> {
        let map = self.read();
        let upper = end.map_or(Unbounded, Excluded);
        let Some((start, block)) = map.blocks.range::<[u8], _>((Unbounded, upper)).next_back() else {
            return Found::Gap(Vec::new());
        };
        match (block.end(), end) {
            (Some(own), None) => Found::Gap(own.to_vec()),
            (Some(own), Some(end)) if own < end => Found::Gap(own.to_vec()),
            _ => {
                block.note_use();
                Found::Block((start.to_vec(), Arc::clone(block)))
            }
        }
    }

    /// Puts a block in if it is still current by then, and no other is in its place.
    pub(super) fn insert(&self, start: &[u8], block: &Arc<Block>, is_current: impl Fn() -> bool) {
        let mut map = self.write();
        if !is_current() || map.overlaps(start, block) {
            return;
        }
        self.put(&mut map, Start::from_slice(start), Arc::clone(block));
        self.join_small(&mut map, Start::from_slice(start));
        self.give_up(&mut map);
    }

    /// Brings the blocks up to date with a batch that the engine has applied. Called by the one thread that writes, while no reader
    /// puts blocks in.
    pub(super) fn apply(&self, batch: &EngineBatch) {
        // Under the lock: whoever puts a block in at this moment has it there afterwards.
        if self.read().blocks.is_empty() {
            return;
        }
        // The later write of a key wins: sorting keeps their order, and of those of one key the first is kept here.
        let mut writes: Vec<(&[u8], Option<&[u8]>)> = batch.iter().collect();
        writes.reverse();
        writes.sort_by_key(|(key, _)| *key);
        writes.dedup_by_key(|(key, _)| *key);
        let mut left = writes.as_slice();
        while let Some((key, _)) = left.first() {
            let found = {
                let map = self.read();
                map.holding(key)
                    .map(|(start, block)| (start.clone(), Arc::clone(block)))
            };
            let Some((start, block)) = found else {
                left = &left[self.before_next_block(key, left)..];
                continue;
            };
            let here = left.partition_point(|(key, _)| block.reaches(key));
            let (own, rest) = left.split_at(here);
            left = rest;
            let parts = block.with_writes(&start, own, (BLOCK_ENTRIES, BLOCK_BYTES), self.verify);
            let mut map = self.write();
            self.remove(&mut map, &start);
            for (start, block) in parts {
                if block.size_bytes() <= BLOCK_BYTES_MAX {
                    self.put(&mut map, Start::from_slice(&start), Arc::new(block));
                }
            }
            self.join_small(&mut map, start);
            self.give_up(&mut map);
        }
    }

    /// How many of the sorted writes come before the next block behind a key that is in none.
    fn before_next_block(&self, key: &[u8], writes: &[(&[u8], Option<&[u8]>)]) -> usize {
        match self.read().next_start(key) {
            Some(next) => writes.partition_point(|(key, _)| **key < *next),
            None => writes.len(),
        }
    }

    /// Gives up those that may hold keys of a range, which is not empty.
    pub(super) fn forget(&self, start: &[u8], end: Bound<'_>) {
        let mut map = self.write();
        let reaching = map.holding(start).map(|(at, _)| at);
        let upper = end.map_or(Unbounded, Excluded);
        let inside = map.blocks.range::<[u8], _>((Included(start), upper));
        let starts: Vec<Start> = reaching
            .into_iter()
            .chain(inside.map(|(at, _)| at))
            .cloned()
            .collect();
        for start in starts {
            self.remove(&mut map, &start);
        }
    }

    /// Gives all of them up.
    pub(super) fn clear(&self) {
        let mut map = self.write();
        *map = Map::default();
        self.bytes.store(0, Ordering::Relaxed);
    }

    fn put(&self, map: &mut Map, start: Start, block: Arc<Block>) {
        self.bytes.fetch_add(block.size_bytes() as u64, Ordering::Relaxed);
        if let Some(before) = map.blocks.insert(start, block) {
            self.bytes
                .fetch_sub(before.size_bytes() as u64, Ordering::Relaxed);
        }
    }

    fn remove(&self, map: &mut Map, start: &[u8]) {
        if let Some(block) = map.blocks.remove(start) {
            self.bytes.fetch_sub(block.size_bytes() as u64, Ordering::Relaxed);
        }
    }

    /// Joins the block that begins here with those beside it, if it has few entries left: of blocks that writes emptied, each would
    /// be one more to go through on the way to the next entry.
    fn join_small(&self, map: &mut Map, mut start: Start) {
        while let Some(block) = map
            .blocks
            .get(&start)
            .filter(|block| block.len() <= JOINED_ENTRIES / 2)
        {
            let behind = block
                .end()
                .and_then(|end| map.blocks.get_key_value(end))
                .map(|(at, behind)| (start.clone(), Arc::clone(block), at.clone(), Arc::clone(behind)));
            let before = || {
                let mut before = map.blocks.range::<[u8], _>((Unbounded, Excluded(&*start)));
                let (at, before) = before.next_back()?;
                let is_adjacent = before.end() == Some(&*start);
                is_adjacent.then(|| (at.clone(), Arc::clone(before), start.clone(), Arc::clone(block)))
            };
            let is_small = |(_, one, _, other): &(Start, Arc<Block>, Start, Arc<Block>)| {
                let entries = one.len() + other.len();
                let is_one = entries == one.len().max(other.len());
                is_one || entries <= JOINED_ENTRIES && one.entry_bytes() + other.entry_bytes() <= BLOCK_BYTES
            };
            let pair = behind.filter(is_small).or_else(|| before().filter(is_small));
            let Some((first, one, second, other)) = pair else {
                return;
            };
            let joined = Arc::new(one.joined(&other, self.verify));
            self.remove(map, &second);
            self.remove(map, &first);
            self.put(map, first.clone(), joined);
            start = first;
        }
    }

    /// Gives up blocks until the others fit the memory: those that were not read since the hand passed them last.
    fn give_up(&self, map: &mut Map) {
        while self.bytes.load(Ordering::Relaxed) > self.bytes_max {
            let mut behind = map.blocks.range::<[u8], _>((Included(&*map.hand), Unbounded));
            let victim = behind.find(|(_, block)| !block.take_use());
            let victim = victim.map(|(start, _)| start.clone());
            match victim {
                Some(start) => {
                    self.remove(map, &start);
                    map.hand = start;
                }
                // Once round: by now all are marked as not read.
                None if map.blocks.is_empty() => return,
                None => map.hand = Start::new(),
            }
        }
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.read().blocks.len()
    }

    #[cfg(test)]
    pub(super) fn size_bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl Map {
    /// The block in whose range the key is, and where it begins.
    fn holding(&self, key: &[u8]) -> Option<(&Start, &Arc<Block>)> {
        let mut before = self.blocks.range::<[u8], _>((Unbounded, Included(key)));
        before.next_back().filter(|(_, block)| block.reaches(key))
    }

    /// The block of one key after the other, as far as each is in a block's range. Of sorted keys neighbours are found at once.
    fn all_holding(&self, keys: &[&[u8]]) -> SmallVec<[&Block; KEYS_AT_ONCE]> {
        let mut blocks: SmallVec<[&Block; KEYS_AT_ONCE]> = SmallVec::new();
        for (at, key) in keys.iter().enumerate() {
            let same = blocks
                .last()
                .filter(|block| keys[at - 1] <= *key && block.reaches(key));
            match same
                .copied()
                .or_else(|| self.holding(key).map(|(_, block)| &**block))
            {
                Some(block) => blocks.push(block),
                None => break,
            }
        }
        blocks
    }

    /// Where the first block behind the key begins.
    fn next_start(&self, key: &[u8]) -> Option<Start> {
        let mut behind = self.blocks.range::<[u8], _>((Excluded(key), Unbounded));
        behind.next().map(|(start, _)| start.clone())
    }

    /// Whether a block's range has keys in common with one that is there.
    fn overlaps(&self, start: &[u8], block: &Block) -> bool {
        let upper = block.end().map_or(Unbounded, Excluded);
        if block.end().is_some_and(|end| end <= start) {
            return true;
        }
        let mut before = self.blocks.range::<[u8], _>((Unbounded, upper));
        before.next_back().is_some_and(|(_, other)| other.reaches(start))
    }
}
