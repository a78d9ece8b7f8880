//! `Minutes`: what was read and written in each of the last minutes, those in which there was something. Bounded by who keeps it.

use std::collections::VecDeque;

/// A day of minutes: none is kept longer.
pub const MINUTES_MAX: i64 = 24 * 60;

/// What came in a minute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MinuteCounts {
    /// Minutes since 1970 UTC.
    pub minute: i64,
    /// Rows and entries read.
    pub reads: u64,
    /// Rows and entries put and deleted.
    pub writes: u64,
}

/// Minutes, rising.
#[derive(Debug, Default)]
pub(super) struct Minutes(VecDeque<Kept>);

/// As small as can be: there may be many.
#[derive(Debug, Clone, Copy)]
struct Kept {
    minute: u32,
    reads: u32,
    writes: u32,
}

impl Minutes {
    /// Adds to a minute that is not before the last one.
    pub(super) fn add(&mut self, minute: i64, reads: u64, writes: u64) {
        let narrow = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let (minute, reads, writes) = (
            u32::try_from(minute).unwrap_or(u32::MAX),
            narrow(reads),
            narrow(writes),
        );
        match self.0.back_mut().filter(|last| last.minute >= minute) {
            Some(last) => {
                last.reads = last.reads.saturating_add(reads);
                last.writes = last.writes.saturating_add(writes);
            }
            None => self.0.push_back(Kept {
                minute,
                reads,
                writes,
            }),
        }
    }

    /// Forgets what is older than a minute; answers how many are left.
    pub(super) fn forget_before(&mut self, minute: i64) -> usize {
        while self
            .0
            .front()
            .is_some_and(|first| i64::from(first.minute) < minute)
        {
            self.0.pop_front();
        }
        self.0.len()
    }

    /// Those from a minute on, rising.
    pub(super) fn since(&self, minute: i64) -> impl Iterator<Item = MinuteCounts> {
        let counts = self.0.iter().map(|kept| MinuteCounts {
            minute: i64::from(kept.minute),
            reads: u64::from(kept.reads),
            writes: u64::from(kept.writes),
        });
        counts.filter(move |counts| counts.minute >= minute)
    }
}
