//! `Sessions`: every live session by process id, with the secret that a CancelRequest must know, and the switch that
//! stops what it runs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use crate::session::{Cause, Interrupt};

/// Every live session.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    live: Mutex<HashMap<i32, Entry>>,
}

#[derive(Debug)]
struct Entry {
    secret: Bytes,
    interrupt: Arc<Interrupt>,
}

/// Takes a session out of `Sessions` when it is dropped.
#[derive(Debug)]
pub(super) struct Registration {
    sessions: Arc<Sessions>,
    process_id: i32,
}

impl Sessions {
    /// Adds a session until the registration is dropped.
    pub(super) fn register(
        self: &Arc<Sessions>,
        process_id: i32,
        secret: Bytes,
        interrupt: Arc<Interrupt>,
    ) -> Registration {
        self.with_live(|live| live.insert(process_id, Entry { secret, interrupt }));
        Registration {
            sessions: self.clone(),
            process_id,
        }
    }

    /// Stops the statement that the session runs, if the secret is right.
    pub(super) fn cancel(&self, process_id: i32, secret: &[u8]) {
        let interrupt = self.with_live(|live| {
            let entry = live.get(&process_id)?;
            equal_in_constant_time(&entry.secret, secret).then(|| entry.interrupt.clone())
        });
        match interrupt {
            Some(interrupt) => interrupt.raise(Cause::Cancel),
            None => tracing::debug!(process_id, "a cancel request matches no session"),
        }
    }

    /// Stops what every session runs: the server ends.
    pub(super) fn shut_down(&self) {
        let all: Vec<_> = self.with_live(|live| live.values().map(|entry| entry.interrupt.clone()).collect());
        for interrupt in all {
            interrupt.raise(Cause::Shutdown);
        }
    }

    fn with_live<T>(&self, read: impl FnOnce(&mut HashMap<i32, Entry>) -> T) -> T {
        read(&mut self.live.lock().unwrap_or_else(|poisoned| poisoned.into_inner()))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.sessions.with_live(|live| live.remove(&self.process_id));
    }
}

/// Takes the same time wherever the first difference is, so that a secret cannot be found byte by byte.
fn equal_in_constant_time(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    #[test]
    fn only_the_right_secret_cancels() {
        let sessions = Arc::new(Sessions::default());
        let interrupt = Arc::new(Interrupt::default());
        let registration = sessions.register(7, Bytes::from_static(b"abcd"), interrupt.clone());
        interrupt.begin();
        sessions.cancel(7, b"abce");
        sessions.cancel(8, b"abcd");
        sessions.cancel(7, b"abcd0");
        assert_eq!(interrupt.check(), Ok(()));
        sessions.cancel(7, b"abcd");
        assert_eq!(interrupt.check(), Err(Error::QueryCanceled));
        interrupt.end();
        interrupt.begin();
        drop(registration);
        sessions.cancel(7, b"abcd");
        assert_eq!(interrupt.check(), Ok(()));
    }
}
