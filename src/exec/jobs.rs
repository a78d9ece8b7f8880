//! `Jobs`: work that outlives the statement which asked for it. A statement may be dropped at any await (cancel, time limit,
//! a client that has gone), but what takes several commits must then still be undone: so it runs as a task of the
//! server's, and the statement only waits for it. Used by `sql::ddl`; `session` waits for what a dropped statement left.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::{Error, Result};

/// The jobs that a statement began.
#[derive(Debug, Default)]
pub struct Jobs {
    running: Mutex<Vec<JoinHandle<()>>>,
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

impl Jobs {
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
        let running = tokio::spawn(async move {
            let result = work.await;
            if let Err(Err(error)) = answer.send(result)
                && error != Error::QueryCanceled
            {
                tracing::warn!(%error, "a definition whose statement was cancelled did not end cleanly");
            }
        });
        self.lock().push(running);
        let _waiter = Waiter(abandoned);
        answered
            .await
            .map_err(|_| Error::internal("a job of the server ended without an answer"))?
    }

    /// Waits until every job has ended; they have been abandoned, so that is soon. Answers whether there were any.
    pub async fn ended(&self) -> bool {
        let running = std::mem::take(&mut *self.lock());
        let any = !running.is_empty();
        for job in running {
            // What it met is logged.
            let _ = job.await;
        }
        any
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
}
