//! `Room`: whether what is free on the disk, and inside the engine's files, leaves the reserve. Asked by the checkpoint thread.
//!
//! An engine may keep what was deleted as room inside its files, which later writes take first. On a disk that such a file has filled,
//! nothing would ever become free, however much is deleted: so that room counts, too. The engine can only guess it, and a log
//! is written beside: when no more than a part of the reserve is free, nothing else counts.

use std::time::{Duration, Instant};

use crate::Result;
use crate::store::engine::Engine;
use crate::store::log::{Position, Timestamp};

/// Of the reserve this part must be free in any case.
const FREE_PART: u64 = 4;
/// For each byte of the log the engine may have taken so many since it was asked.
const TAKEN_TIMES: u64 = 2;
/// To guess, the engine may read all it holds: it rests so many times as many milliseconds before it is asked again.
const REST_TIMES: u128 = 10;

/// What the engine said when it was asked last.
#[derive(Debug, Default)]
pub(super) struct Room {
    reusable_bytes: u64,
    /// Where the log ended, and which commit was the engine's newest.
    log_end: Position,
    applied: Timestamp,
    asked: Option<(Instant, Duration)>,
}

impl Room {
    /// Whether there is less room than the reserve, with so much of the disk free. Error: the engine's.
    pub(super) fn is_low(
        &mut self,
        engine: &dyn Engine,
        (free, reserve): (u64, u64),
        log_end: Position,
        applied: Timestamp,
    ) -> Result<bool> {
        if free >= reserve || free < reserve / FREE_PART {
            return Ok(free < reserve);
        }
        if !self.is_enough(free, reserve, log_end) && applied > self.applied && self.has_rested() {
            let started = Instant::now();
            self.reusable_bytes = engine.reusable_bytes()?;
            (self.log_end, self.applied) = (log_end, applied);
            self.asked = Some((Instant::now(), started.elapsed()));
        }
        Ok(!self.is_enough(free, reserve, log_end))
    }

    fn is_enough(&self, free: u64, reserve: u64, log_end: Position) -> bool {
        let taken = (log_end - self.log_end).saturating_mul(TAKEN_TIMES);
        free + self.reusable_bytes.saturating_sub(taken) >= reserve
    }

    fn has_rested(&self) -> bool {
        self.asked
            .is_none_or(|(asked, took)| asked.elapsed().as_millis() >= took.as_millis() * REST_TIMES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::engine::{EngineBatch, Visit};

    /// Says that its files can take so much.
    #[derive(Debug)]
    struct Roomy(u64);

    impl Engine for Roomy {
        fn reusable_bytes(&self) -> Result<u64> {
            Ok(self.0)
        }
        fn get(&self, _: &[u8], _: &mut dyn FnMut(&[u8])) -> Result<()> {
            Ok(())
        }
        fn scan(&self, _: &[u8], _: Option<&[u8]>, _: bool, _: Visit<'_>) -> Result<()> {
            Ok(())
        }
        fn apply(&self, _: &EngineBatch) -> Result<()> {
            Ok(())
        }
        fn make_durable(&self) -> Result<()> {
            Ok(())
        }
        fn size_bytes(&self) -> Result<u64> {
            Ok(0)
        }
        fn close(&self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn room_inside_files_counts_until_it_is_taken_or_hardly_any_is_free() {
        let mut room = Room::default();
        let (full, emptied) = (Roomy(0), Roomy(500));
        let mut is_low =
            |engine, free, log_end, applied| room.is_low(engine, (free, 1000), log_end, applied).unwrap();
        assert!(!is_low(&full, 1000, 0, 1));
        assert!(is_low(&full, 999, 0, 1));
        // Nothing was applied since: it is not asked again.
        assert!(is_low(&emptied, 999, 0, 1));
        assert!(!is_low(&emptied, 500, 100, 2));
        // What is written takes it.
        assert!(!is_low(&full, 600, 150, 3));
        assert!(is_low(&full, 600, 151, 4));
        // Of the reserve a quarter stays.
        assert!(!is_low(&Roomy(5000), 250, 301, 5));
        assert!(is_low(&Roomy(5000), 249, 301, 6));
    }
}
