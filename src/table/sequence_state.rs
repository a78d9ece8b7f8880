//! What a sequence has given, and what it gives next: the arithmetic of its step, bounds and cycle. Knows nothing of who asks.

use crate::catalog::SequenceDef;
use crate::{Error, Result};

/// Bytes of a stored state: the last value, and whether it was given.
const STATE_BYTES: usize = 9;

/// What a sequence has given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceState {
    /// The last value; the first one before any is given.
    pub last: i64,
    /// Whether that value was given.
    pub is_called: bool,
}

/// Values that follow one another by a step: what a sequence gives at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SequenceRun {
    next: i64,
    left: u64,
    step: i64,
}

impl SequenceState {
    /// That of a sequence that begins, or begins again, at a value.
    pub fn starting_at(value: i64) -> SequenceState {
        SequenceState {
            last: value,
            is_called: false,
        }
    }

    /// As it is stored.
    pub(super) fn encode(self) -> Vec<u8> {
        let mut bytes = self.last.to_be_bytes().to_vec();
        bytes.push(u8::from(self.is_called));
        bytes
    }

    /// Reads [`SequenceState::encode`] back. Errors: `Corrupt`.
    pub(super) fn decode(bytes: &[u8]) -> Result<SequenceState> {
        match bytes.split_first_chunk::<8>() {
            Some((last, [is_called @ (0 | 1)])) => Ok(SequenceState {
                last: i64::from_be_bytes(*last),
                is_called: *is_called == 1,
            }),
            _ => Err(Error::Corrupt {
                what: "state of a sequence".to_string(),
                reason: format!("{} bytes instead of {STATE_BYTES}", bytes.len()),
            }),
        }
    }

    /// The values that follow it, at most `wanted`, at least one: those up to a bound. Errors: 2200H when a bound is reached.
    pub(crate) fn next_run(self, def: &SequenceDef, wanted: u64) -> Result<SequenceRun> {
        let step = i128::from(def.increment);
        let (min, max) = (i128::from(def.min), i128::from(def.max));
        let following = match self.is_called {
            true => i128::from(self.last) + step,
            false => i128::from(self.last),
        };
        let next = match (following > max, following < min, def.cycles) {
            (true, _, true) => min,
            (_, true, true) => max,
            (true, ..) if self.is_called => return Err(reached("maximum", def, def.max)),
            (_, true, _) if self.is_called => return Err(reached("minimum", def, def.min)),
            _ => following,
        };
        let room = match step > 0 {
            true => (max - next) / step,
            false => (next - min) / -step,
        };
        let left = u64::try_from(room.max(0) + 1)
            .unwrap_or(u64::MAX)
            .min(wanted.max(1));
        let next = i64::try_from(next).map_err(|_| Error::internal("a sequence beyond its bounds"))?;
        Ok(SequenceRun {
            next,
            left,
            step: def.increment,
        })
    }
}

impl SequenceRun {
    /// None at all.
    pub(super) fn empty() -> SequenceRun {
        SequenceRun {
            next: 0,
            left: 0,
            step: 1,
        }
    }

    /// How many there are.
    pub fn left(&self) -> u64 {
        self.left
    }

    /// Takes the first of them, at most so many.
    pub fn take_first(&mut self, count: u64) -> SequenceRun {
        let first = SequenceRun {
            left: self.left.min(count),
            ..*self
        };
        self.left -= first.left;
        self.next = first.value(first.left);
        first
    }

    /// Adds others that follow on these; whether they do.
    pub fn extend(&mut self, others: SequenceRun) -> bool {
        let follows = self.step == others.step && self.value(self.left) == others.next;
        if follows {
            self.left += others.left;
        }
        follows
    }

    /// The last of them.
    pub fn last(&self) -> Option<i64> {
        self.left.checked_sub(1).map(|at| self.value(at))
    }

    /// All of them.
    pub fn values(self) -> impl Iterator<Item = i64> {
        (0..self.left).map(move |at| self.value(at))
    }

    /// The value at a place. (That behind the last may lie beyond all numbers: it is never given.)
    fn value(&self, at: u64) -> i64 {
        self.next.wrapping_add(self.step.wrapping_mul(at as i64))
    }
}

fn reached(bound: &str, def: &SequenceDef, value: i64) -> Error {
    Error::DataException {
        state: "2200H",
        message: format!(
            "nextval: reached {bound} value of sequence \"{}\" ({value})",
            def.name
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::SequenceType;

    fn sequence(increment: i64, min: i64, max: i64, cycles: bool) -> SequenceDef {
        SequenceDef {
            increment,
            min,
            max,
            cycles,
            ..SequenceDef::rising(1, "public".to_string(), "s".to_string(), SequenceType::BigInt)
        }
    }

    fn called(last: i64) -> SequenceState {
        SequenceState {
            last,
            is_called: true,
        }
    }

    fn values(state: SequenceState, def: &SequenceDef, wanted: u64) -> Vec<i64> {
        state.next_run(def, wanted).unwrap().values().collect()
    }

    #[test]
    fn values_follow_by_the_step_up_to_a_bound() {
        let rising = sequence(3, 1, 10, false);
        assert_eq!(values(SequenceState::starting_at(1), &rising, 2), [1, 4]);
        assert_eq!(values(called(1), &rising, 100), [4, 7, 10]);
        let error = called(10).next_run(&rising, 1).unwrap_err();
        assert_eq!(error.sqlstate(), "2200H");
        assert_eq!(
            error.to_string(),
            "nextval: reached maximum value of sequence \"s\" (10)"
        );
        let falling = sequence(-2, -5, -1, false);
        assert_eq!(values(SequenceState::starting_at(-1), &falling, 9), [-1, -3, -5]);
        assert_eq!(
            called(-5).next_run(&falling, 1).unwrap_err().to_string(),
            "nextval: reached minimum value of sequence \"s\" (-5)"
        );
    }

    #[test]
    fn a_cycle_begins_at_the_other_bound() {
        assert_eq!(values(called(9), &sequence(3, 1, 10, true), 2), [1, 4]);
        assert_eq!(values(called(-4), &sequence(-2, -5, -1, true), 9), [-1, -3, -5]);
    }

    #[test]
    fn the_ends_of_all_numbers_are_bounds_like_others() {
        let whole = sequence(i64::MAX, i64::MIN, i64::MAX, false);
        assert_eq!(values(called(i64::MIN), &whole, 9), [-1, i64::MAX - 1]);
        let by_one = sequence(1, 1, i64::MAX, false);
        let mut run = called(i64::MAX - 2).next_run(&by_one, 9).unwrap();
        assert_eq!(run.take_first(1).last(), Some(i64::MAX - 1));
        assert_eq!(run.take_first(9).last(), Some(i64::MAX));
        assert_eq!((run.left(), run.last()), (0, None));
        let down = sequence(i64::MIN, i64::MIN, i64::MAX, false);
        assert_eq!(values(called(0), &down, 9), [i64::MIN]);
    }

    #[test]
    fn a_state_reads_back() {
        for state in [called(i64::MIN), SequenceState::starting_at(7), called(i64::MAX)] {
            let bytes = state.encode();
            assert_eq!(bytes.len(), STATE_BYTES);
            assert_eq!(SequenceState::decode(&bytes).unwrap(), state);
        }
        for bytes in [&[][..], &[0; 8], &[0, 0, 0, 0, 0, 0, 0, 0, 2], &[0; 10]] {
            assert_eq!(SequenceState::decode(bytes).unwrap_err().sqlstate(), "XX001");
        }
    }
}
