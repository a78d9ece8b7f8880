//! `TransactionControl`: how the body of a procedure, or of a DO, ends the transaction that it runs in and goes on in another. What it asks
//! for here the session does that runs the statement, and answers. A body without one runs in a transaction that others share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::{mpsc, oneshot};

use super::Settings;
use crate::catalog::Catalog;
use crate::error::Raised;
use crate::parse::command::Modes;
use crate::txn::Transaction;
use crate::{Error, Result};

/// What a body asks of its session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionRequest {
    /// COMMIT, or ROLLBACK. `chain`: the next transaction has the modes of this one.
    End {
        /// COMMIT.
        commits: bool,
        /// AND CHAIN.
        chain: bool,
    },
    /// SET TRANSACTION.
    SetModes(Modes),
    /// A statement begins. `anew`: what definitions its transaction knew by now is undone.
    Next {
        /// See above.
        anew: bool,
    },
}

/// Where a body stands once it was answered.
#[derive(Debug)]
pub struct TransactionAtHand {
    /// The session's settings.
    pub settings: Arc<Settings>,
    /// For the next statement: the transaction, the catalog as it sees it, and its start in microseconds since 1970 UTC.
    pub begun: Option<(Arc<Transaction>, Arc<Catalog>, i64)>,
}

/// What was asked, and where the answer goes.
pub type AskedOfSession = (TransactionRequest, oneshot::Sender<Result<TransactionAtHand>>);

/// See the module.
#[derive(Debug)]
pub struct TransactionControl {
    requests: mpsc::Sender<AskedOfSession>,
    /// Transactions that were ended.
    ended: AtomicU64,
    /// Blocks with handlers that bodies are in.
    guarded: AtomicUsize,
    /// Loops over rows of writes that bodies are in.
    writing_loops: AtomicUsize,
}

/// Counts as long as it lives.
#[derive(Debug)]
pub struct Counted(Arc<TransactionControl>, fn(&TransactionControl) -> &AtomicUsize);

impl TransactionControl {
    /// With where its session hears what it is asked.
    pub fn new() -> (Arc<TransactionControl>, mpsc::Receiver<AskedOfSession>) {
        let (requests, asked) = mpsc::channel(1);
        let control = TransactionControl {
            requests,
            ended: AtomicU64::new(0),
            guarded: AtomicUsize::new(0),
            writing_loops: AtomicUsize::new(0),
        };
        (Arc::new(control), asked)
    }

    /// How many transactions were ended.
    pub fn ended(&self) -> u64 {
        self.ended.load(Ordering::Relaxed)
    }

    /// In a block with handlers, until the answer is dropped: a transaction that ended in it could not be undone.
    pub fn guard(self: &Arc<Self>) -> Counted {
        Counted::new(Arc::clone(self), |control| &control.guarded)
    }

    /// In a loop over what a write gives, until the answer is dropped.
    pub fn loop_over_writes(self: &Arc<Self>) -> Counted {
        Counted::new(Arc::clone(self), |control| &control.writing_loops)
    }

    /// Ends the transaction. Errors: 2D000 in a block with handlers; 55000 in a loop over a write; the commit's.
    pub async fn end(&self, commits: bool, chain: bool) -> Result<TransactionAtHand> {
        if self.guarded.load(Ordering::Relaxed) > 0 {
            let verb = if commits { "commit" } else { "roll back" };
            let message = format!("cannot {verb} while a subtransaction is active");
            return Err(Raised::new("2D000", message).into());
        }
        if self.writing_loops.load(Ordering::Relaxed) > 0 {
            let message = "cannot perform transaction commands inside a cursor loop that is not read-only";
            return Err(Raised::new("55000", message).into());
        }
        self.ended.fetch_add(1, Ordering::Relaxed);
        self.ask(TransactionRequest::End { commits, chain }).await
    }

    /// Asks the session. Errors: what it does fails; 57014 where it has left the statement.
    pub async fn ask(&self, request: TransactionRequest) -> Result<TransactionAtHand> {
        let (sender, answer) = oneshot::channel();
        let sent = self.requests.send((request, sender)).await;
        sent.map_err(|_| Error::QueryCanceled)?;
        answer.await.map_err(|_| Error::QueryCanceled)?
    }
}

impl Counted {
    fn new(control: Arc<TransactionControl>, of: fn(&TransactionControl) -> &AtomicUsize) -> Counted {
        of(&control).fetch_add(1, Ordering::Relaxed);
        Counted(control, of)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1(&self.0).fetch_sub(1, Ordering::Relaxed);
    }
}
