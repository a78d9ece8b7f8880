//! `Notices`: what a statement tells its client beside its result. Statements raise them, on whatever thread; the session's owner
//! takes them, while the statement runs if it attends to them, and sends them. Knows nothing of messages.
//!
//! - Notices are taken in the order in which they were raised.
//! - What was taken is told: a statement that begins anew tells it again.
//! - Who raises notices without end waits for room (`room`) as long as somebody takes them.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Bytes of notices that nobody has taken yet for which a body goes on. Beyond them it waits for its client.
const WAITING_BYTES_MAX: usize = 64 << 10;

/// A NOTICE or WARNING to the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// `NOTICE` or `WARNING`.
    pub severity: &'static str,
    /// SQLSTATE.
    pub sqlstate: Cow<'static, str>,
    /// One line.
    pub message: String,
    /// More of it.
    pub detail: Option<String>,
    /// What to do.
    pub hint: Option<String>,
    /// The place in the body of a function that raises it.
    pub context: Option<String>,
}

impl Notice {
    /// A NOTICE of a message alone.
    pub fn new(sqlstate: impl Into<Cow<'static, str>>, message: String) -> Notice {
        Notice {
            severity: "NOTICE",
            sqlstate: sqlstate.into(),
            message,
            detail: None,
            hint: None,
            context: None,
        }
    }

    /// That a name is cut where it is longer than names may be.
    pub fn of_cut_name(written: &str, kept: &str) -> Notice {
        Notice::new(
            "42622",
            format!("identifier \"{written}\" will be truncated to \"{kept}\""),
        )
    }

    /// A WARNING of a message alone.
    pub fn warning(sqlstate: impl Into<Cow<'static, str>>, message: String) -> Notice {
        Notice {
            severity: "WARNING",
            ..Notice::new(sqlstate, message)
        }
    }

    /// About what it takes in memory.
    fn bytes(&self) -> usize {
        let texts = [&self.detail, &self.hint, &self.context].into_iter().flatten();
        size_of::<Notice>() + self.message.len() + texts.map(String::len).sum::<usize>()
    }
}

/// See the module.
#[derive(Debug, Default)]
pub struct Notices {
    waiting: Mutex<Waiting>,
    /// Something waits to be taken.
    filled: Notify,
    /// Something was taken, or nobody takes anything any more.
    taken: Notify,
}

/// What nobody has taken yet.
#[derive(Debug, Default)]
struct Waiting {
    notices: VecDeque<Notice>,
    bytes: usize,
    /// How many were taken before.
    taken: usize,
    /// How many were ever raised.
    raised: usize,
    /// Somebody takes them as they come.
    is_attended: bool,
}

/// As long as it is there, somebody takes notices as they come.
#[derive(Debug)]
pub struct Attendance<'a>(&'a Notices);

impl Drop for Attendance<'_> {
    fn drop(&mut self) {
        self.0.waiting().is_attended = false;
        self.0.taken.notify_waiters();
    }
}

impl Notices {
    /// Adds one, if the client wants to hear of it.
    pub fn raise(&self, notice: Notice, is_wanted: bool) {
        let mut waiting = self.waiting();
        waiting.raised += 1;
        if is_wanted {
            waiting.bytes += notice.bytes();
            waiting.notices.push_back(notice);
            drop(waiting);
            self.filled.notify_one();
        }
    }

    /// How many were ever raised.
    pub fn raised(&self) -> usize {
        self.waiting().raised
    }

    /// Whether the same waits already.
    pub fn are_waiting(&self, notice: &Notice) -> bool {
        self.waiting().notices.contains(notice)
    }

    /// How many were taken, and wait.
    pub fn count(&self) -> usize {
        let waiting = self.waiting();
        waiting.taken + waiting.notices.len()
    }

    /// Forgets those behind so many, as far as nobody has taken them.
    pub fn forget_behind(&self, kept: usize) {
        let mut waiting = self.waiting();
        let kept = kept.saturating_sub(waiting.taken);
        while waiting.notices.len() > kept {
            if let Some(forgotten) = waiting.notices.pop_back() {
                waiting.bytes -= forgotten.bytes();
            }
        }
    }

    /// Whether some behind so many were taken.
    pub fn were_taken_behind(&self, count: usize) -> bool {
        self.waiting().taken > count
    }

    /// Takes what waits.
    pub fn take(&self) -> VecDeque<Notice> {
        let mut waiting = self.waiting();
        if waiting.notices.is_empty() {
            return VecDeque::new();
        }
        waiting.taken += waiting.notices.len();
        waiting.bytes = 0;
        let taken = std::mem::take(&mut waiting.notices);
        drop(waiting);
        self.taken.notify_waiters();
        taken
    }

    /// Says that somebody takes them as they come, until the answer is dropped.
    pub fn attend(&self) -> Attendance<'_> {
        self.waiting().is_attended = true;
        Attendance(self)
    }

    /// Ends when something waits to be taken. May be dropped. For one at a time.
    pub async fn filled(&self) {
        while self.waiting().notices.is_empty() {
            self.filled.notified().await;
        }
    }

    /// Ends when there is room for more, or nobody makes any. May be dropped.
    pub async fn room(&self) {
        loop {
            let taken = self.taken.notified();
            let mut taken = std::pin::pin!(taken);
            taken.as_mut().enable();
            let has_room = {
                let waiting = self.waiting();
                !waiting.is_attended || waiting.bytes <= WAITING_BYTES_MAX
            };
            if has_room {
                return;
            }
            taken.await;
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(message: &str) -> Notice {
        Notice::new("00000", message.to_string())
    }

    fn raise(notices: &Notices, message: &str) {
        notices.raise(notice(message), true);
    }

    #[test]
    fn what_was_taken_is_not_forgotten() {
        let notices = Notices::default();
        raise(&notices, "a");
        let before = notices.count();
        raise(&notices, "b");
        notices.forget_behind(before);
        assert_eq!(notices.take(), [notice("a")]);
        assert!(!notices.were_taken_behind(before));
        raise(&notices, "c");
        notices.take();
        raise(&notices, "d");
        notices.forget_behind(before);
        assert!(notices.were_taken_behind(before));
        assert_eq!((notices.count(), notices.take().len()), (2, 0));
    }

    #[tokio::test]
    async fn who_raises_too_many_waits_as_long_as_they_are_taken() {
        let notices = Notices::default();
        raise(&notices, &"x".repeat(WAITING_BYTES_MAX));
        // Nobody would make room.
        notices.room().await;
        let attendance = notices.attend();
        let mut room = std::pin::pin!(notices.room());
        assert!(futures::poll!(&mut room).is_pending());
        notices.filled().await;
        assert_eq!(notices.take().len(), 1);
        room.await;
        raise(&notices, &"x".repeat(WAITING_BYTES_MAX));
        let mut room = std::pin::pin!(notices.room());
        assert!(futures::poll!(&mut room).is_pending());
        drop(attendance);
        room.await;
    }
}
