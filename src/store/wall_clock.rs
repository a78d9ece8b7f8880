//! `WallClock`: the time of day by which rows are over. It never goes back: when the machine's clock does, it goes on from where it was.
//! Every store has one; transactions read it, and what removes rows asks it for whom they must still be there.
//!
//! Invariants:
//!
//! 1. Of two readings the later is not below the earlier, whatever the machine's clock does.
//! 2. While a [`KeptMoment`] is held, [`WallClock::oldest_kept`] is not above it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// No test has set the machine's clock.
const UNSET: i64 = i64::MIN;

/// The time of day, in microseconds since 1970.
#[derive(Debug)]
pub struct WallClock {
    began: Instant,
    /// What is added to the time since it began, in microseconds: it only rises.
    offset: AtomicI64,
    /// Rows were found over by the time since this was asked last.
    is_judged: AtomicBool,
    /// The time of the last commit that has one.
    committed: AtomicI64,
    /// What the machine's clock says, in tests.
    machine: AtomicI64,
    /// Moments at which somebody reads, and how many do.
    kept: Mutex<BTreeMap<i64, usize>>,
}

/// A moment at which somebody reads: what is not over then stays.
#[derive(Debug)]
pub struct KeptMoment {
    clock: Arc<WallClock>,
    moment: i64,
}

impl Default for WallClock {
    fn default() -> WallClock {
        WallClock {
            began: Instant::now(),
            offset: AtomicI64::new(i64::MIN),
            is_judged: AtomicBool::new(false),
            committed: AtomicI64::new(i64::MIN),
            machine: AtomicI64::new(UNSET),
            kept: Mutex::default(),
        }
    }
}

impl WallClock {
    /// What time it is, in microseconds since 1970.
    pub fn now(&self) -> i64 {
        let machine = self.machine.load(Ordering::Relaxed);
        let (wall, elapsed) = match machine {
            UNSET => (wall_micros(), micros(self.began.elapsed().as_micros())),
            // It stands still until the test sets it again.
            set => (set, 0),
        };
        let offset = wall.saturating_sub(elapsed);
        let before = self.offset.fetch_max(offset, Ordering::AcqRel);
        before.max(offset).saturating_add(elapsed)
    }

    /// It is no earlier than that: an earlier run of the server had come so far.
    pub fn is_past(&self, moment: i64) {
        let elapsed = match self.machine.load(Ordering::Relaxed) {
            UNSET => micros(self.began.elapsed().as_micros()),
            _ => 0,
        };
        self.offset
            .fetch_max(moment.saturating_sub(elapsed), Ordering::AcqRel);
    }

    /// The time of a commit: later than that of every other commit, and no earlier than any moment that was read before, in microseconds since 1970.
    pub fn commit_time(&self) -> i64 {
        let now = self.now();
        let mut before = self.committed.load(Ordering::Acquire);
        let time = loop {
            let time = now.max(before.saturating_add(1));
            match self
                .committed
                .compare_exchange_weak(before, time, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => break time,
                Err(other) => before = other,
            }
        };
        if time > now {
            self.is_past(time);
        }
        self.note_judged();
        time
    }

    /// Somebody was told by the time that a row is over.
    pub fn note_judged(&self) {
        if !self.is_judged.load(Ordering::Relaxed) {
            self.is_judged.store(true, Ordering::Relaxed);
        }
    }

    /// The time, if rows were found over by it since this was asked last: it is to be recorded, so that no later start goes back behind it.
    pub fn take_judged(&self) -> Option<i64> {
        self.is_judged.swap(false, Ordering::Relaxed).then(|| self.now())
    }

    /// The moment it is, for somebody who reads at it for long.
    pub fn keep(self: &Arc<Self>) -> Arc<KeptMoment> {
        let mut kept = self.lock_kept();
        // Under the lock, so that who asks for the oldest one either finds it or has an earlier time himself.
        let moment = self.now();
        *kept.entry(moment).or_insert(0) += 1;
        Arc::new(KeptMoment {
            clock: Arc::clone(self),
            moment,
        })
    }

    /// What is over at this moment is over for everybody who reads at a moment that was kept, now or later.
    pub fn oldest_kept(&self) -> i64 {
        let kept = self.lock_kept();
        let now = self.now();
        kept.first_key_value().map_or(now, |(oldest, _)| now.min(*oldest))
    }

    /// From now on the machine's clock says this, in microseconds since 1970, until it is set again.
    #[cfg(test)]
    pub(crate) fn set(&self, micros: i64) {
        self.machine.store(micros, Ordering::Relaxed);
    }

    /// Nothing is left half done under this lock, so a panic elsewhere does not spoil it.
    fn lock_kept(&self) -> MutexGuard<'_, BTreeMap<i64, usize>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KeptMoment {
    /// In microseconds since 1970.
    pub fn micros(&self) -> i64 {
        self.moment
    }
}

impl Drop for KeptMoment {
    fn drop(&mut self) {
        let mut kept = self.clock.lock_kept();
        if let Some(readers) = kept.get_mut(&self.moment) {
            *readers -= 1;
            if *readers == 0 {
                kept.remove(&self.moment);
            }
        }
    }
}

fn wall_micros() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => micros(since.as_micros()),
        Err(before) => -micros(before.duration().as_micros()),
    }
}

fn micros(micros: u128) -> i64 {
    i64::try_from(micros).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_have_times_of_their_own_and_are_not_in_the_future() {
        let clock = WallClock::default();
        clock.set(5000);
        assert_eq!((clock.commit_time(), clock.commit_time()), (5000, 5001));
        assert_eq!(clock.now(), 5001);
        clock.set(100);
        assert_eq!(clock.commit_time(), 5002);
        clock.set(9000);
        assert_eq!(clock.commit_time(), 9000);
    }

    #[test]
    fn it_never_goes_back() {
        let clock = WallClock::default();
        clock.set(1000);
        assert_eq!(clock.now(), 1000);
        clock.set(5000);
        assert_eq!(clock.now(), 5000);
        clock.set(2000);
        assert_eq!(clock.now(), 5000);
        clock.is_past(7000);
        assert_eq!(clock.now(), 7000);
        clock.set(9000);
        assert_eq!(clock.now(), 9000);
    }

    #[test]
    fn it_goes_on_by_itself() {
        let clock = WallClock::default();
        clock.is_past(i64::MAX / 2);
        let before = clock.now();
        assert!(before >= i64::MAX / 2);
        while clock.now() == before {
            std::hint::spin_loop();
        }
        assert!(clock.now() > before);
    }

    #[test]
    fn what_somebody_reads_at_is_the_oldest() {
        let clock = Arc::new(WallClock::default());
        clock.set(10);
        assert_eq!(clock.oldest_kept(), 10);
        let (first, second) = (clock.keep(), clock.keep());
        clock.set(20);
        let third = clock.keep();
        assert_eq!((third.micros(), clock.oldest_kept()), (20, 10));
        drop(first);
        assert_eq!(clock.oldest_kept(), 10);
        drop(second);
        clock.set(30);
        assert_eq!(clock.oldest_kept(), 20);
        drop(third);
        assert_eq!(clock.oldest_kept(), 30);
    }
}
