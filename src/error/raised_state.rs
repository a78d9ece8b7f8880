//! SQLSTATEs that functions raise, which no match names: each is kept once, so that all errors have theirs for as long as anybody asks.
//! Asked by `report`.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// How many there may be: more than anybody makes up who does not do it on purpose.
const STATES_MAX: usize = 10_000;

/// What stands for one more: raise_exception.
const OTHER: &str = "P0001";

static STATES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// The same state, for good.
pub(super) fn interned(state: &str) -> &'static str {
    let mut states = STATES.lock().unwrap_or_else(PoisonError::into_inner);
    match states.get(state) {
        Some(known) => known,
        None if states.len() >= STATES_MAX => OTHER,
        None => {
            let kept: &'static str = Box::leak(state.to_string().into_boxed_str());
            states.insert(kept);
            kept
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_kept_once() {
        assert_eq!(interned("AB123"), "AB123");
        assert!(std::ptr::eq(interned("AB123"), interned(&String::from("AB123"))));
    }
}
