//! `Startups`: connections that have no session yet. There is room for so many; one more, and the oldest is dropped, so
//! that silent sockets keep nobody out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// Connections that may be in start-up, or asking for a cancel, beyond those that have a session.
pub(super) const STARTUPS_MAX: usize = 100;

/// Connections in start-up, in the order they came.
#[derive(Debug)]
pub(super) struct Startups {
    startups_max: usize,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    by_age: BTreeMap<u64, CancellationToken>,
}

/// A place among the start-ups, given back when dropped.
#[derive(Debug)]
pub(super) struct Place {
    startups: Arc<Startups>,
    number: u64,
    lost: CancellationToken,
}

impl Startups {
    pub(super) fn new(startups_max: usize) -> Startups {
        Startups {
            startups_max,
            waiting: Mutex::default(),
        }
    }

    /// A place for a connection that has just come; the oldest loses its own when there is none left.
    pub(super) fn enter(self: &Arc<Startups>) -> Place {
        let mut waiting = self.lock();
        while waiting.by_age.len() >= self.startups_max {
            let Some((_, lost)) = waiting.by_age.pop_first() else {
                break;
            };
            lost.cancel();
        }
        let (number, lost) = (waiting.next, CancellationToken::new());
        waiting.next += 1;
        waiting.by_age.insert(number, lost.clone());
        drop(waiting);
        Place {
            startups: self.clone(),
            number,
            lost,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Resolves when a newer connection has taken the place: this one ends at once.
    pub(super) async fn lost(&self) {
        self.lost.cancelled().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.startups.lock().by_age.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Place, Startups};

    fn kept(places: &[Place]) -> Vec<bool> {
        places.iter().map(|place| !place.lost.is_cancelled()).collect()
    }

    #[test]
    fn the_oldest_start_up_makes_room() {
        let startups = Arc::new(Startups::new(2));
        let mut places: Vec<Place> = (0..3).map(|_| startups.enter()).collect();
        assert_eq!(kept(&places), [false, true, true]);
        // One that is through needs no place: nobody is dropped for the next.
        drop(places.remove(1));
        places.push(startups.enter());
        assert_eq!(kept(&places), [false, true, true]);
        places.push(startups.enter());
        assert_eq!(kept(&places), [false, false, true, true]);
    }
}
