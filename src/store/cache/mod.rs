//! `CachedEngine`: an engine with its entries in memory, in blocks of neighbours as they stand: a get is a search in sorted bytes,
//! a step of a scan is the next of them, whatever the library below does for either. Made by `open_store` around engines on
//! disk; knows nothing of snapshots.
//!
//! # Why a block is never out of date
//!
//! `blocks` holds, for ranges of keys that do not overlap, all entries of the engine in them. One thread writes. It says so before the
//! engine's call (`writes` becomes odd), brings the blocks up to date behind it, and only then answers (`writes` becomes even).
//!
//! 1. A block that a reader makes of what it read is taken only if `writes` was even before the first entry was read, and
//!    is the same when the block is put in, under the lock. Then no write had begun by that moment: the block is what the engine holds,
//!    and any later write finds it there, for it takes the lock after its engine's call, whatever blocks there are.
//! 2. When `apply` has answered, each block shows the batch. That is all the promise of `Engine` asks: a reader that comes in
//!    between may see some of a batch, as it may in the engine.
//! 3. Whether values need no more checks (`Verify`) is asked when they come into a block, and said of the whole block: so of all that
//!    a scan of nothing but such blocks visits. From when on the first of a block's rows is over is worked out once for each rule
//!    that a scan comes with, and said of the whole block likewise.
//! 4. Blocks become fewer with their entries: one that writes leave small or empty is joined with a neighbour. So on the way from
//!    one entry to the next there are never many, wherever rows are deleted and not written again, as in a queue.
//! 5. After an error of the engine every call goes to it, and it answers an error.

mod block;
mod blocks;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::engine::{Engine, EngineBatch, ScannedInMemory, Verify, Visit};
use super::page::KnownOfAll;
use crate::Result;
use crate::codec::expiry::ExpiryRule;
use crate::codec::successor;
use block::{Block, BlockDraft, Bound};
use blocks::{Blocks, Found, Start};

/// Entries of a block that a reader makes …
const BLOCK_ENTRIES: usize = 64;
/// … unless they are as many bytes before.
const BLOCK_BYTES: usize = 16 << 10;
/// Neighbours that have no more entries than this between them are joined, and so are those of which one has none.
const JOINED_ENTRIES: usize = BLOCK_ENTRIES / 2;
/// What is larger is not kept.
const BLOCK_BYTES_MAX: usize = 128 << 10;
/// When the memory is used up, one of so many blocks that readers could make is made: a walk through everything replaces little of what
/// others need.
const ADMITTED_WHEN_FULL: u64 = 64;
/// Entries that are read without being kept until it is asked again whether the next are there.
const PASSED_ENTRIES: usize = 1024;

/// The part of a store's cache that blocks take; the rest is the engine's own.
const BLOCKS_DIVISOR: u64 = 2;

/// An engine whose reads are served from memory where they can be.
#[derive(Debug)]
pub(super) struct CachedEngine {
    engine: Arc<dyn Engine>,
    blocks: Blocks,
    /// Held by the one who writes.
    writing: Mutex<()>,
    /// Odd while something is being written.
    writes: AtomicU64,
    has_failed: AtomicBool,
    /// Blocks that could have been made while the memory was used up.
    refused: AtomicU64,
}

/// The memory for the engine and for blocks, of what a store has for both.
pub(super) fn divide(cache_bytes: u64) -> (u64, u64) {
    let blocks = cache_bytes / BLOCKS_DIVISOR;
    (cache_bytes - blocks, blocks)
}

impl CachedEngine {
    /// `bytes_max`: memory for blocks.
    pub(super) fn new(engine: Arc<dyn Engine>, bytes_max: u64, verify: Verify) -> CachedEngine {
        CachedEngine {
            engine,
            blocks: Blocks::new(bytes_max, verify),
            writing: Mutex::default(),
            writes: AtomicU64::new(0),
            has_failed: AtomicBool::new(false),
            refused: AtomicU64::new(0),
        }
    }

    /// Makes a call that writes, then brings the blocks up to date.
    fn write(&self, call: impl FnOnce() -> Result<()>, follow: impl FnOnce()) -> Result<()> {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.writes.fetch_add(1, Ordering::SeqCst);
        self.watched(call())?;
        follow();
        self.writes.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    /// The number of writes, by which a block that is about to be read is told from later ones; `None`: no block is to be made.
    fn admits(&self) -> Option<u64> {
        let writes = self.writes.load(Ordering::SeqCst);
        if writes % 2 == 1 || self.has_failed.load(Ordering::Relaxed) {
            return None;
        }
        let is_admitted = !self.blocks.is_full()
            || self
                .refused
                .fetch_add(1, Ordering::Relaxed)
                .is_multiple_of(ADMITTED_WHEN_FULL);
        is_admitted.then_some(writes)
    }

    /// Keeps a block that was read when there were so many writes, unless there have been others.
    fn keep(&self, start: &[u8], block: &Arc<Block>, writes: u64) {
        if block.size_bytes() <= BLOCK_BYTES_MAX {
            let is_current = || self.writes.load(Ordering::SeqCst) == writes;
            self.blocks.insert(start, block, is_current);
        }
    }

    /// The entries from `start` on, in a block that ends at `end` at the latest.
    fn read_block(&self, start: &[u8], end: Bound<'_>) -> Result<Block> {
        let mut draft = BlockDraft::default();
        let mut cut = None;
        self.engine.scan(start, end, false, &mut |key, value| {
            let is_too_large = draft.size_bytes() + key.len() + value.len() > BLOCK_BYTES_MAX;
            if draft.len() > 0 && is_too_large {
                cut = Some(key.to_vec());
                return ControlFlow::Break(());
            }
            draft.push(key, value);
            if draft.len() >= BLOCK_ENTRIES || draft.size_bytes() >= BLOCK_BYTES {
                cut = Some(successor(key));
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        Ok(self.block_of(&draft, cut.as_deref().or(end)))
    }

    /// The entries before `end`, the last of them, in a block that begins at `start` at the earliest; and where it begins.
    fn read_block_backward(&self, start: &[u8], end: Bound<'_>) -> Result<(Vec<u8>, Block)> {
        let mut found: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        let (mut bytes, mut is_cut) = (0, false);
        self.engine.scan(start, end, true, &mut |key, value| {
            found.push((key.to_vec(), value.to_vec()));
            bytes += key.len() + value.len();
            is_cut = found.len() >= BLOCK_ENTRIES || bytes >= BLOCK_BYTES;
            match is_cut {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        let mut draft = BlockDraft::default();
        found.iter().rev().for_each(|(key, value)| draft.push(key, value));
        let first = found.pop().filter(|_| is_cut).map(|(key, _)| key);
        Ok((
            first.unwrap_or_else(|| start.to_vec()),
            self.block_of(&draft, end),
        ))
    }

    fn block_of(&self, draft: &BlockDraft, end: Bound<'_>) -> Block {
        draft.ended(end, self.blocks.verify, false)
    }

    /// Visits what blocks hold from `walk` on, up to `end`. Answers where the next block begins when there is a gap before the end.
    fn walk_forward(
        &self,
        walk: &mut Walk<Vec<u8>>,
        end: Bound<'_>,
        visit: Visit<'_>,
    ) -> ControlFlow<(), Option<Start>> {
        while end.is_none_or(|end| walk.at.as_slice() < end) {
            match self.blocks.find(&walk.at) {
                Found::Block(block) => walk.through(&block, end, visit)?,
                Found::Gap(next) => return ControlFlow::Continue(next),
            }
        }
        ControlFlow::Break(())
    }

    /// As [`CachedEngine::walk_forward`], back to `start`; answers where the block before a gap ends.
    fn walk_backward(
        &self,
        walk: &mut Walk<Option<Vec<u8>>>,
        start: &[u8],
        visit: Visit<'_>,
    ) -> ControlFlow<(), Vec<u8>> {
        while walk.at.as_deref().is_none_or(|at| at > start) {
            match self.blocks.find_before(walk.at.as_deref()) {
                Found::Block((first, block)) => walk.back_through(first, &block, start, visit)?,
                Found::Gap(previous) => return ControlFlow::Continue(previous),
            }
        }
        ControlFlow::Break(())
    }

    fn scan_forward(&self, start: &[u8], end: Bound<'_>, visit: Visit<'_>) -> Result<()> {
        let mut walk = Walk::from(start.to_vec());
        while let ControlFlow::Continue(next) = self.walk_forward(&mut walk, end, visit) {
            if let Some(writes) = self.admits() {
                let block = Arc::new(self.read_block(&walk.at, next.as_deref())?);
                self.keep(&walk.at, &block, writes);
                if walk.through(&block, end, visit).is_break() {
                    break;
                }
                continue;
            }
            let next = earlier(end, next.as_deref());
            match self.pass(&walk.at, next, false, visit)? {
                Passed::Some(last) => walk.at = successor(&last),
                Passed::All if next == end => break,
                Passed::All => walk.at = next.unwrap_or_default().to_vec(),
                Passed::Enough => break,
            }
        }
        Ok(())
    }

    fn scan_backward(&self, start: &[u8], end: Bound<'_>, visit: Visit<'_>) -> Result<()> {
        let mut walk = Walk::from(end.map(<[u8]>::to_vec));
        while let ControlFlow::Continue(previous) = self.walk_backward(&mut walk, start, visit) {
            if let Some(writes) = self.admits() {
                let (first, block) = self.read_block_backward(&previous, walk.at.as_deref())?;
                let block = Arc::new(block);
                self.keep(&first, &block, writes);
                if walk.back_through(first, &block, start, visit).is_break() {
                    break;
                }
                continue;
            }
            let low = previous.as_slice().max(start);
            match self.pass(low, walk.at.as_deref(), true, visit)? {
                Passed::Some(last) => walk.at = Some(last),
                Passed::All => walk.at = Some(low.to_vec()),
                Passed::Enough => break,
            }
        }
        Ok(())
    }

    /// Visits what the engine holds between two keys, without keeping it.
    fn pass(&self, start: &[u8], end: Bound<'_>, reverse: bool, visit: Visit<'_>) -> Result<Passed> {
        let mut passed = Passed::All;
        let mut left = PASSED_ENTRIES;
        self.engine.scan(start, end, reverse, &mut |key, value| {
            left -= 1;
            if visit(key, value).is_break() {
                passed = Passed::Enough;
            } else if left == 0 {
                passed = Passed::Some(key.to_vec());
            } else {
                return ControlFlow::Continue(());
            }
            ControlFlow::Break(())
        })?;
        Ok(passed)
    }

    /// After an error nothing is answered from memory.
    fn watched<T>(&self, answer: Result<T>) -> Result<T> {
        if answer.is_err() {
            self.has_failed.store(true, Ordering::SeqCst);
            self.blocks.clear();
        }
        answer
    }
}

/// A walk through keys, block by block.
struct Walk<A> {
    /// Where it goes on: with this key, or backward with the one before (`None`: with the last).
    at: A,
    /// By which rows may be over.
    rule: Option<Arc<ExpiryRule>>,
    /// What is known of all entries so far.
    known: KnownOfAll,
}

impl<A> Walk<A> {
    fn from(at: A) -> Walk<A> {
        Walk {
            at,
            rule: None,
            known: KnownOfAll::OF_NONE,
        }
    }

    fn judging(self, rule: Option<&Arc<ExpiryRule>>) -> Walk<A> {
        Walk {
            rule: rule.cloned(),
            ..self
        }
    }

    fn note(&mut self, block: &Block) {
        self.known = self.known.and(block.known(self.rule.as_ref()));
    }
}

impl Walk<Vec<u8>> {
    /// Visits what the block that holds the next key has before `end`. `Break` at the end of everything, or when the visitor has had
    /// enough.
    fn through(&mut self, block: &Block, end: Bound<'_>, visit: Visit<'_>) -> ControlFlow<()> {
        self.note(block);
        for (key, value) in block.entries(&self.at, end) {
            visit(key, value)?;
        }
        let Some(end) = block.end() else {
            return ControlFlow::Break(());
        };
        end.clone_into(&mut self.at);
        ControlFlow::Continue(())
    }
}

impl Walk<Option<Vec<u8>>> {
    /// Visits backward what the block that holds the key before has from `start` on. `Break` when the visitor has had enough.
    fn back_through(
        &mut self,
        first: Vec<u8>,
        block: &Block,
        start: &[u8],
        visit: Visit<'_>,
    ) -> ControlFlow<()> {
        self.note(block);
        for (key, value) in block.entries(start, self.at.as_deref()).rev() {
            visit(key, value)?;
        }
        self.at = Some(first);
        ControlFlow::Continue(())
    }
}

/// What came of reading past the blocks.
enum Passed {
    /// All there is was visited.
    All,
    /// Entries up to this key.
    Some(Vec<u8>),
    /// The visitor has had enough.
    Enough,
}

/// The earlier of two ends.
fn earlier<'a>(one: Bound<'a>, other: Bound<'a>) -> Bound<'a> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

impl Engine for CachedEngine {
    fn key_bytes_max(&self) -> usize {
        self.engine.key_bytes_max()
    }

    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<()> {
        if self.has_failed.load(Ordering::Relaxed) {
            return self.engine.get(key, visit);
        }
        let Found::Gap(next) = self.blocks.get(key, visit) else {
            return Ok(());
        };
        let Some(writes) = self.admits() else {
            return self.watched(self.engine.get(key, visit));
        };
        let block = Arc::new(self.watched(self.read_block(key, next.as_deref()))?);
        self.keep(key, &block, writes);
        block.get(key).into_iter().for_each(visit);
        Ok(())
    }

    fn get_in_memory(&self, keys: &[&[u8]], visit: &mut dyn FnMut(Option<&[u8]>)) -> usize {
        match self.has_failed.load(Ordering::Relaxed) {
            true => 0,
            false => self.blocks.get_many(keys, visit),
        }
    }

    fn scan_in_memory(
        &self,
        start: &[u8],
        end: Option<&[u8]>,
        reverse: bool,
        rule: Option<&Arc<ExpiryRule>>,
        visit: Visit<'_>,
    ) -> ScannedInMemory {
        if self.has_failed.load(Ordering::Relaxed) {
            return ScannedInMemory::default();
        }
        let (is_done, known) = match reverse {
            false => {
                let mut walk = Walk::from(start.to_vec()).judging(rule);
                let walked = self.walk_forward(&mut walk, end, visit);
                (walked.is_break(), walk.known)
            }
            true => {
                let mut walk = Walk::from(end.map(<[u8]>::to_vec)).judging(rule);
                let walked = self.walk_backward(&mut walk, start, visit);
                (walked.is_break(), walk.known)
            }
        };
        ScannedInMemory { is_done, known }
    }

    fn scan(&self, start: &[u8], end: Option<&[u8]>, reverse: bool, visit: Visit<'_>) -> Result<()> {
        if self.has_failed.load(Ordering::Relaxed) {
            return self.engine.scan(start, end, reverse, visit);
        }
        self.watched(match reverse {
            false => self.scan_forward(start, end, visit),
            true => self.scan_backward(start, end, visit),
        })
    }

    fn is_busy(&self) -> bool {
        self.engine.is_busy()
    }

    fn apply(&self, batch: &EngineBatch) -> Result<()> {
        self.write(|| self.engine.apply(batch), || self.blocks.apply(batch))
    }

    fn reusable_bytes(&self) -> Result<u64> {
        self.watched(self.engine.reusable_bytes())
    }

    fn drop_files(&self, start: &[u8], end: Option<&[u8]>) -> Result<()> {
        if end.is_some_and(|end| start >= end) {
            return Ok(());
        }
        // It may wait for a merge; writes go on meanwhile. Blocks that were read before are forgotten, or not kept any more.
        self.watched(self.engine.drop_files(start, end))?;
        self.write(|| Ok(()), || self.blocks.forget(start, end))
    }

    fn make_durable(&self) -> Result<()> {
        self.watched(self.engine.make_durable())
    }

    fn size_bytes(&self) -> Result<u64> {
        self.engine.size_bytes()
    }

    fn close(&self) -> Result<()> {
        self.blocks.clear();
        self.engine.close()
    }
}
