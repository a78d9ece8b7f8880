//! `Cursor`: where a scan stands in the ranges that it is of. Moved by `scan`.

use std::sync::Arc;

use crate::codec::successor;
use crate::store::KeyRange;

/// The least key of a store; below it stands only the clock.
const LEAST_KEY: &[u8] = &[0];

/// Where a scan stands: a place in sorted, disjoint ranges.
#[derive(Debug, Clone)]
pub(super) struct Cursor {
    ranges: Arc<[KeyRange]>,
    pub(super) reverse: bool,
    /// Ranges walked to their end, counted in the scan's direction.
    done: usize,
    /// The bound to go on from within the current range instead of its own: the start (inclusive), or in reverse the
    /// end (exclusive).
    resume: Option<Vec<u8>>,
}

impl Cursor {
    /// At the first key of the ranges, or at the last in reverse.
    pub(super) fn new(ranges: Vec<KeyRange>, reverse: bool) -> Cursor {
        Cursor {
            ranges: ranges.into(),
            reverse,
            done: 0,
            resume: None,
        }
    }

    /// Whether every range was walked to its end.
    pub(super) fn is_done(&self) -> bool {
        self.done >= self.ranges.len()
    }

    /// What is left of the current range: start (inclusive, at least the least key) and end (exclusive).
    pub(super) fn bounds(&self) -> Option<(&[u8], Option<&[u8]>)> {
        let range = self.range(self.done)?;
        let (mut start, mut end) = (range.start.as_slice(), range.end.as_deref());
        if let Some(resume) = &self.resume {
            if self.reverse {
                end = Some(resume)
            } else {
                start = resume
            }
        }
        Some((start.max(LEAST_KEY), end))
    }

    fn range(&self, done: usize) -> Option<&KeyRange> {
        let index = if self.reverse {
            self.ranges.len().checked_sub(done + 1)?
        } else {
            done
        };
        self.ranges.get(index)
    }

    /// Goes on after `key`.
    pub(super) fn resume_after(&mut self, key: &[u8]) {
        self.resume = Some(if self.reverse {
            key.to_vec()
        } else {
            successor(key)
        });
    }

    /// Goes on at a border within the current range or behind it: its start (inclusive), or in reverse its end (exclusive).
    pub(super) fn resume_at(&mut self, border: Vec<u8>) {
        self.resume = Some(border);
        let is_over = |(start, end): (&[u8], Option<&[u8]>)| end.is_some_and(|end| end <= start);
        if self.bounds().is_some_and(is_over) {
            self.next_range();
        }
    }

    /// Goes on with the next range.
    pub(super) fn next_range(&mut self) {
        self.done += 1;
        self.resume = None;
    }

    /// Goes on at `key`, unless it is behind it already.
    pub(super) fn skip_to(&mut self, key: &[u8]) {
        while let Some(range) = self.range(self.done) {
            let is_behind = match self.reverse {
                true => range.start.as_slice() > key,
                false => range.end.as_deref().is_some_and(|end| end <= key),
            };
            if !is_behind {
                break;
            }
            self.next_range();
        }
        let Some((start, end)) = self.bounds() else { return };
        if self.reverse {
            let bound = successor(key);
            if end.is_none_or(|end| bound.as_slice() < end) {
                self.resume = Some(bound);
            }
        } else if start < key {
            self.resume = Some(key.to_vec());
        }
    }
}
