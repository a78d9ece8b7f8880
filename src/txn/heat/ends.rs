//! `Ends`: how many of the keys that are added to an index stand behind all others, or before them: what a key does that only grows.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// So many minutes are kept.
pub const END_MINUTES: i64 = 10;

/// What was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EndCounts {
    /// Keys.
    pub added: u64,
    /// Of them above the greatest key that was known a moment before.
    pub above: u64,
    /// Of them below the least.
    pub below: u64,
}

/// The ends of an index.
#[derive(Debug, Default)]
pub(super) struct Ends(Mutex<Known>);

/// What is known of them.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The least and the greatest key as of the last moment (see [`Ends::settle`]): those of one moment come in no order, for they are
    /// of many sessions.
    settled: Option<(Vec<u8>, Vec<u8>)>,
    /// Those of all.
    newest: Option<(Vec<u8>, Vec<u8>)>,
    present: EndCounts,
    minutes: VecDeque<(i64, EndCounts)>,
}

impl Known {
    /// A key is added.
    pub(super) fn add(&mut self, key: &[u8]) {
        self.present.added += 1;
        if let Some((least, greatest)) = &self.settled {
            self.present.above += u64::from(key > greatest.as_slice());
            self.present.below += u64::from(key < least.as_slice());
        }
        match &mut self.newest {
            None => self.newest = Some((key.to_vec(), key.to_vec())),
            Some((least, greatest)) => {
                if key > greatest.as_slice() {
                    greatest.clear();
                    greatest.extend_from_slice(key);
                } else if key < least.as_slice() {
                    least.clear();
                    least.extend_from_slice(key);
                }
            }
        }
    }
}

impl Ends {
    pub(super) fn lock(&self) -> MutexGuard<'_, Known> {
        // Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A moment is over: later keys are compared with those of until now.
    pub(super) fn settle(&self) {
        let mut known = self.lock();
        if known.newest != known.settled {
            let newest = known.newest.clone();
            known.settled = newest;
        }
    }

    /// A minute is over; `now`: which it is by now.
    pub(super) fn turn(&self, minute: i64, now: i64) {
        let mut known = self.lock();
        let present = std::mem::take(&mut known.present);
        if present.added > 0 {
            known.minutes.push_back((minute, present));
        }
        while known
            .minutes
            .front()
            .is_some_and(|(first, _)| *first <= now - END_MINUTES)
        {
            known.minutes.pop_front();
        }
    }

    /// What was added in the last minutes, the present one too.
    pub(super) fn counts(&self) -> EndCounts {
        let known = self.lock();
        let minutes = known.minutes.iter().map(|(_, counts)| counts);
        minutes
            .chain([&known.present])
            .fold(EndCounts::default(), |sum, counts| EndCounts {
                added: sum.added + counts.added,
                above: sum.above + counts.above,
                below: sum.below + counts.below,
            })
    }
}
