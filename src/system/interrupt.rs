//! `Interrupt`: how a running statement is stopped from outside, by a cancel request, a time limit, a client that has
//! gone, a server that shuts down or another session. Raised by `wire` and by `pg_cancel_backend` and kin; a session runs
//! everything that may be stopped under `guard`,
//! and commits outside it, so that a commit is never left half answered. What a statement commits on its way it leaves to a
//! job (`Jobs::commit`), for the same reason.

use std::future::Future;
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::{Error, Result};

/// Why a statement is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// CancelRequest: ends the statement that runs now, if one does.
    Cancel,
    /// The server ends: every statement from now on is stopped.
    Shutdown,
    /// The client has gone: as above.
    ClientGone,
}

/// One session's switch. Shared between the session and whoever may stop it.
#[derive(Debug, Default)]
pub struct Interrupt {
    state: Mutex<State>,
    /// Something counts: asked without the lock, for it seldom does.
    counts: AtomicBool,
    /// Work at hand of which a handler catches what stops it, within one another.
    handlers: AtomicUsize,
    raised: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// A message is being answered: cancel requests count.
    running: bool,
    cause: Option<Cause>,
    /// When the work under guard is to have ended.
    deadline: Option<Instant>,
    /// The last deadline of all work under guard since the message began: what guards a statement's work may be some, a little apart.
    latest: Option<Instant>,
    /// The last time limit that a handler caught: its statement has none any more.
    caught: Option<Instant>,
}

impl State {
    /// Whether a time limit has passed that nobody has caught.
    fn is_over(&self, deadline: Option<Instant>) -> bool {
        deadline.is_some_and(|deadline| {
            let is_caught = self.caught.is_some_and(|caught| caught >= deadline);
            !is_caught && Instant::now() >= deadline
        })
    }
}

/// As long as it is there, work that never pauses learns of its deadline from [`Interrupt::check`].
struct Limited<'a> {
    interrupt: &'a Interrupt,
    before: Option<Instant>,
}

impl Drop for Limited<'_> {
    fn drop(&mut self) {
        self.interrupt.with_state(|state| state.deadline = self.before);
    }
}

/// As long as it is there, a handler catches what stops the work at hand.
struct Handled<'a>(&'a Interrupt);

impl Handled<'_> {
    /// And how many there are now.
    fn of(interrupt: &Interrupt) -> (Handled<'_>, usize) {
        let around = interrupt.handlers.fetch_add(1, Ordering::AcqRel);
        (Handled(interrupt), around + 1)
    }
}

impl Drop for Handled<'_> {
    fn drop(&mut self) {
        self.0.handlers.fetch_sub(1, Ordering::AcqRel);
        // What it has not caught stops those around it.
        self.0.raised.notify_waiters();
    }
}

impl Interrupt {
    /// A message begins: cancel requests count from now on.
    pub fn begin(&self) {
        self.with_state(|state| {
            state.running = true;
            state.latest = None;
        });
    }

    /// The message is answered: a cancel request that came too late is forgotten.
    pub fn end(&self) {
        self.with_state(|state| {
            state.running = false;
            state.cause = state.cause.filter(|cause| *cause != Cause::Cancel);
        });
    }

    /// Stops what runs.
    pub fn raise(&self, cause: Cause) {
        self.with_state(|state| {
            let kept = matches!(state.cause, Some(Cause::Shutdown | Cause::ClientGone));
            if !kept && (state.running || cause != Cause::Cancel) {
                state.cause = Some(cause);
            }
        });
        self.raised.notify_waiters();
    }

    /// What was raised and still counts, as the error that the statement ends with. Errors: 57014, 57P01, 08006.
    pub fn check(&self) -> Result<()> {
        if !self.counts.load(Ordering::Acquire) {
            return Ok(());
        }
        let (cause, is_over) = self.with_state(|state| (state.cause, state.is_over(state.deadline)));
        match cause {
            None if is_over => Err(Error::StatementTimeout),
            None => Ok(()),
            Some(Cause::Cancel) => Err(Error::QueryCanceled),
            Some(Cause::Shutdown) => Err(Error::Shutdown),
            Some(Cause::ClientGone) => Err(Error::ClientGone),
        }
    }

    /// Runs `work` until it ends, something is raised or the deadline passes; then `work` is dropped.
    /// Errors: the work's, 57014, 57P01, 08006.
    pub async fn guard<T>(
        &self,
        deadline: Option<Instant>,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let _limited = deadline.map(|deadline| self.limit(deadline));
        self.guard_below(0, deadline, work).await
    }

    /// The same below so many handlers.
    async fn guard_below<T>(
        &self,
        handlers: usize,
        deadline: Option<Instant>,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        self.check()?;
        let mut work = pin!(work);
        // Most work ends at once: then there is nothing to listen for.
        if let Poll::Ready(result) = futures::poll!(&mut work) {
            return result;
        }
        let mut raised = pin!(self.raised.notified());
        raised.as_mut().enable();
        // Who catches what stops the work within is asked first, and says when it is done.
        let is_innermost = || self.handlers.load(Ordering::Acquire) <= handlers;
        if is_innermost() {
            self.check()?;
        }
        let timeout = async {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        let (mut timeout, mut has_passed) = (pin!(timeout), false);
        loop {
            tokio::select! {
                biased;
                result = &mut work => return result,
                () = &mut raised => {
                    raised.set(self.raised.notified());
                    raised.as_mut().enable();
                }
                () = &mut timeout, if !has_passed => has_passed = true,
            }
            if is_innermost() {
                self.check()?;
                if has_passed && self.with_state(|state| state.is_over(deadline)) {
                    return Err(Error::StatementTimeout);
                }
            }
        }
    }

    /// Runs, under guard of the time limit at hand, work of which a handler catches what stops it: who guards what is around it goes on
    /// then, and a time limit that has passed is none any more. Errors: as [`Interrupt::guard`].
    pub async fn guard_caught<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let deadline = self.with_state(|state| state.deadline);
        let (handled, handlers) = Handled::of(self);
        let result = self.guard_below(handlers, deadline, work).await;
        match result.as_ref().map_err(Error::bare) {
            Err(Error::QueryCanceled) => self.with_state(|state| {
                state.cause = state.cause.filter(|cause| *cause != Cause::Cancel);
            }),
            Err(Error::StatementTimeout) => {
                self.with_state(|state| state.caught = state.latest.max(deadline));
            }
            _ => {}
        }
        drop(handled);
        result
    }

    fn limit(&self, deadline: Instant) -> Limited<'_> {
        Limited {
            interrupt: self,
            before: self.with_state(|state| {
                state.latest = state.latest.max(Some(deadline));
                state.deadline.replace(deadline)
            }),
        }
    }

    /// Resolves when the session is to end, whatever it does.
    pub async fn ended(&self) {
        loop {
            let mut raised = pin!(self.raised.notified());
            raised.as_mut().enable();
            let ends = |state: &mut State| matches!(state.cause, Some(Cause::Shutdown | Cause::ClientGone));
            if self.counts.load(Ordering::Acquire) && self.with_state(ends) {
                return;
            }
            raised.await;
        }
    }

    fn with_state<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let answer = change(&mut state);
        self.counts.store(
            state.cause.is_some() || state.deadline.is_some(),
            Ordering::Release,
        );
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn a_cancel_counts_only_while_a_message_is_answered() {
        let interrupt = Interrupt::default();
        interrupt.raise(Cause::Cancel);
        interrupt.begin();
        assert_eq!(interrupt.guard(None, async { Ok(1) }).await, Ok(1));
        interrupt.raise(Cause::Cancel);
        assert_eq!(
            interrupt.guard(None, async { Ok(1) }).await,
            Err(Error::QueryCanceled)
        );
        interrupt.end();
        interrupt.begin();
        assert_eq!(interrupt.check(), Ok(()));
    }

    #[tokio::test]
    async fn work_that_never_pauses_learns_of_its_deadline() {
        let interrupt = Interrupt::default();
        let soon = Instant::now() + Duration::from_millis(2);
        let work = async {
            loop {
                interrupt.check()?;
                std::hint::spin_loop();
            }
        };
        let ended: Result<()> = interrupt.guard(Some(soon), work).await;
        assert_eq!(ended, Err(Error::StatementTimeout));
        assert_eq!(interrupt.check(), Ok(()));
    }

    #[tokio::test]
    async fn who_catches_what_stops_it_goes_on() {
        let interrupt = Interrupt::default();
        interrupt.begin();
        let soon = Instant::now() + Duration::from_millis(2);
        let never = || interrupt.guard_caught(std::future::pending::<Result<()>>());
        let work = async {
            let timed_out = never().await;
            // There is no time limit any more, but whoever cancels it is heard.
            let later = interrupt.guard_caught(async {
                tokio::time::sleep(Duration::from_millis(2)).await;
                interrupt.raise(Cause::Cancel);
                std::future::pending::<Result<()>>().await
            });
            Ok((timed_out, later.await))
        };
        let ended = interrupt.guard(Some(soon), work).await;
        assert_eq!(
            ended,
            Ok((Err(Error::StatementTimeout), Err(Error::QueryCanceled)))
        );
        assert_eq!(interrupt.check(), Ok(()));
        // What no handler is around of any more stops all of it.
        let soon = Instant::now() + Duration::from_millis(2);
        let work = async {
            let _ = never().await;
            interrupt.raise(Cause::Cancel);
            std::future::pending::<Result<()>>().await
        };
        let ended = interrupt.guard(Some(soon), work).await;
        assert_eq!(ended, Err(Error::QueryCanceled));
    }

    #[tokio::test]
    async fn waiting_work_is_stopped() {
        let interrupt = Interrupt::default();
        interrupt.begin();
        let stopped = interrupt.guard(None, std::future::pending::<Result<()>>());
        let (result, ()) = tokio::join!(stopped, async { interrupt.raise(Cause::Cancel) });
        assert_eq!(result, Err(Error::QueryCanceled));
    }

    #[tokio::test]
    async fn a_deadline_ends_work_and_shutdown_lasts() {
        let interrupt = Interrupt::default();
        interrupt.begin();
        let deadline = Some(Instant::now() + Duration::from_millis(1));
        let waited = interrupt
            .guard(deadline, std::future::pending::<Result<()>>())
            .await;
        assert_eq!(waited, Err(Error::StatementTimeout));
        interrupt.raise(Cause::Shutdown);
        interrupt.raise(Cause::Cancel);
        interrupt.end();
        assert_eq!(interrupt.check(), Err(Error::Shutdown));
    }
}
