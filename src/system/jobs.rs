//! `Jobs`: work that outlives the statement which asked for it. A statement may be dropped at any await (cancel, time limit,
//! a client that has gone), but what takes several commits must then still be undone: so it runs as a task of the
//! server's, and the statement only waits for it. Used by `sql::ddl`; `session` waits for what a dropped statement left.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::query_threads;
use crate::txn::Transaction;
use crate::{Error, Result};

/// The jobs that a statement began.
#[derive(Debug)]
pub struct Jobs {
    running: Mutex<Vec<JoinHandle<()>>>,
    /// Writes on the query threads, which stop soon after they are dropped.
    stopping: Mutex<Vec<JoinHandle<()>>>,
    /// What the statement has committed on its way, in words.
    done: Mutex<Option<String>>,
    /// Where jobs run: with the server, wherever the statement does.
    server: Option<Handle>,
    /// Tests stop a job between two steps: each takes a permit.
    #[cfg(test)]
    pub(crate) steps: Option<Arc<tokio::sync::Semaphore>>,
}

/// How a job learns that nobody waits for it any more.
#[derive(Debug, Clone, Default)]
pub struct Abandoned {
    flag: Arc<AtomicBool>,
    #[cfg(test)]
    steps: Option<Arc<tokio::sync::Semaphore>>,
}

/// Dropped with the statement that waits.
struct Waiter(Abandoned);

impl Default for Jobs {
    fn default() -> Jobs {
        Jobs {
            running: Mutex::default(),
            stopping: Mutex::default(),
            done: Mutex::default(),
            server: Handle::try_current().ok(),
            #[cfg(test)]
            steps: None,
        }
    }
}

impl Jobs {
    /// Does what writes to the statement's transaction on the query threads, and waits for it. When the caller is dropped
    /// meanwhile the work stops at its next pause, and `ended` waits for that. Errors: the work's.
    pub async fn run_on_query_threads<T: Send + 'static>(
        &self,
        work: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        let (running, _stop) = query_threads::spawn(async move {
            // Nobody waits for it any more when the answer cannot be sent.
            let _ = answer.send(work.await);
        })?;
        lock(&self.stopping).push(running);
        answered.await.map_err(|_| query_threads::panicked())?
    }

    /// Commits what a statement commits itself, before its end: once it is on its way a commit ends as it ends, whoever stops the statement.
    /// `done`: what the statement says then. Errors: the commit's.
    pub async fn commit(
        self: &Arc<Self>,
        txn: Arc<Transaction>,
        relaxed: bool,
        done: Option<String>,
    ) -> Result<()> {
        let jobs = Arc::clone(self);
        let committed = self.run(move |_| async move {
            txn.commit(relaxed).await?;
            done.into_iter().for_each(|done| jobs.note_done(done));
            Ok(())
        });
        committed.await
    }

    /// The statement has committed this much by now, which stays whatever becomes of it.
    pub fn note_done(&self, done: String) {
        *lock(&self.done) = Some(done);
    }

    /// The error of the statement, which tells what of it is done.
    pub fn with_done(&self, error: Error) -> Error {
        match lock(&self.done).take() {
            None => error,
            Some(done) => Error::Partly {
                error: Box::new(error),
                done,
            },
        }
    }

    /// Begins a job and waits for its end. When the caller is dropped meanwhile the job goes on, and `Abandoned` tells it so:
    /// it is to undo what it did and end. Errors: the job's.
    pub async fn run<T, F>(&self, job: impl FnOnce(Abandoned) -> F) -> Result<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send + 'static,
    {
        let abandoned = Abandoned {
            flag: Arc::default(),
            #[cfg(test)]
            steps: self.steps.clone(),
        };
        let work = job(abandoned.clone());
        let (answer, answered) = oneshot::channel();
        let running = self.spawn(async move {
            let result = work.await;
            if let Err(Err(error)) = answer.send(result)
                && error != Error::QueryCanceled
            {
                tracing::warn!(%error, "a definition whose statement was cancelled did not end cleanly");
            }
        });
        self.keep(running);
        let _waiter = Waiter(abandoned);
        answered
            .await
            .map_err(|_| Error::internal("a job of the server ended without an answer"))?
    }

    /// Waits until every write has stopped and every job has ended; they have been abandoned, so that is soon. Answers
    /// whether there were jobs.
    pub async fn ended(&self) -> bool {
        let stopping = std::mem::take(&mut *lock(&self.stopping));
        for work in stopping {
            // It was stopped, or is done.
            let _ = work.await;
        }
        let running = std::mem::take(&mut *lock(&self.running));
        let any = !running.is_empty();
        for job in running {
            // What it met is logged.
            let _ = job.await;
        }
        any
    }

    /// Of those that have ended the newest is enough to say that there were some: a statement may have one for each of its commits.
    fn keep(&self, job: JoinHandle<()>) {
        let mut running = lock(&self.running);
        running.retain(|job| !job.is_finished());
        running.push(job);
    }

    fn spawn(&self, job: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        match &self.server {
            Some(server) => server.spawn(job),
            None => tokio::spawn(job),
        }
    }
}

/// Nothing is left half done under these locks, so a panic elsewhere does not spoil them.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Abandoned {
    /// Before each step of a long job: 57014 once nobody waits any more.
    pub async fn next_step(&self) -> Result<()> {
        #[cfg(test)]
        if let Some(steps) = &self.steps {
            let permit = steps.acquire().await;
            permit.map_err(|_| Error::QueryCanceled)?.forget();
        }
        self.check()
    }

    /// 57014 once nobody waits any more.
    pub fn check(&self) -> Result<()> {
        match self.flag.load(Ordering::Acquire) {
            true => Err(Error::QueryCanceled),
            false => Ok(()),
        }
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.0.flag.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_job_answers_who_waits() {
        let jobs = Jobs::default();
        assert_eq!(jobs.run(|_| async { Ok(7) }).await, Ok(7));
        let failed: Result<()> = jobs.run(|_| async { Err(Error::DivisionByZero) }).await;
        assert_eq!(failed, Err(Error::DivisionByZero));
        jobs.ended().await;
    }

    #[tokio::test]
    async fn a_job_outlives_who_waited_and_learns_of_it() {
        let jobs = Jobs::default();
        let undone = Arc::new(AtomicBool::new(false));
        {
            let undone = Arc::clone(&undone);
            let waiting = jobs.run(move |abandoned| async move {
                while abandoned.check().is_ok() {
                    tokio::task::yield_now().await;
                }
                undone.store(true, Ordering::Release);
                abandoned.check()
            });
            let mut waiting = std::pin::pin!(waiting);
            assert!(futures::poll!(&mut waiting).is_pending());
        }
        jobs.ended().await;
        assert!(undone.load(Ordering::Acquire));
    }

    #[tokio::test]
    async fn jobs_that_have_ended_take_no_memory() {
        let jobs = Jobs::default();
        for _ in 0..100 {
            jobs.run(|_| async { Ok(()) }).await.unwrap();
            // It answers before it is over.
            tokio::task::yield_now().await;
        }
        assert!(lock(&jobs.running).len() < 10);
        assert!(jobs.ended().await && !jobs.ended().await);
    }
}
