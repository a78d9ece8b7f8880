//! CALL and DO outside a block: their bodies may end the transaction and go on in another, for which they ask the session while it runs
//! them. All of it is as in an implicit block, whose transaction the session ends with the statement.

use std::pin::pin;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::Instant;

use super::run::{Attempts, ends_alone};
use super::statement_run::Run;
use super::transaction::Block;
use super::{Reply, Session};
use crate::Result;
use crate::parse::command::Modes;
use crate::system::{
    AskedOfSession, StatementContext, TransactionAtHand, TransactionControl, TransactionRequest, now_us,
};

/// What came of a running body.
enum Step<T> {
    Done(T),
    Asked(AskedOfSession),
}

impl Session {
    /// As `open_implicit`, for statements of the extended protocol up to the next Sync.
    pub fn open_pipeline(&mut self) {
        if self.transaction.block == Block::None {
            self.open_implicit();
            self.transaction.is_pipeline = true;
        }
    }

    /// Runs it, and commits what is open behind it, unless it stands in a pipeline. It begins anew as other statements do, as long as it has
    /// not ended a transaction.
    pub(super) async fn run_code(&mut self, run: &Run<'_>) -> Result<Reply> {
        let mut attempts = Attempts::of(self);
        let is_alone = self.transaction.block == Block::None;
        loop {
            if is_alone {
                self.open_for_code(self.shared.message_us(), &Modes::default(), false)?;
            }
            let (control, mut requests) = TransactionControl::new();
            let (txn, catalog) = {
                let interrupt = self.interrupt.clone();
                interrupt.guard(run.deadline, self.block_transaction()).await?
            };
            self.note_query(true);
            let before = txn.savepoint();
            let ctx = StatementContext {
                transaction_control: Some(Arc::clone(&control)),
                ..self.context_of(run, &txn, catalog)
            };
            let error = match self.attempt_code(run, &ctx, &mut requests, is_alone).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            // What was dropped may still be writing.
            if ctx.jobs.ended().await {
                self.instance.wake_reclaim();
            }
            let fails = control.ended() > 0
                || ends_alone(&txn, &error)
                || (!is_alone && txn.keeps_snapshot())
                || !attempts.may_begin_again(self, &error);
            match (fails, is_alone) {
                (_, true) => self.rollback_transaction(),
                (true, false) => return Err(error),
                (false, false) => {
                    txn.undo_to(before);
                    self.forget_catalog();
                }
            }
            if fails {
                return Err(error);
            }
        }
    }

    async fn attempt_code(
        &mut self,
        run: &Run<'_>,
        ctx: &StatementContext,
        requests: &mut mpsc::Receiver<AskedOfSession>,
        is_alone: bool,
    ) -> Result<Reply> {
        let work = Box::pin(run.execute(ctx));
        let ran = Box::pin(self.drive(run.deadline, work, requests)).await;
        let ran = ran.map_err(|error| ctx.jobs.with_done(error))?;
        let reply = run.reply(ran, &ctx.memory)?;
        let interrupt = self.interrupt.clone();
        if let Some(active) = &self.transaction.active {
            let txn = Arc::clone(&active.txn);
            txn.note_statement(run.statement.parsed.kind.frees_space());
            // Whoever stops it now is still in time.
            interrupt.guard(run.deadline, txn.settle()).await?;
        }
        if is_alone {
            self.apply_requested_settings()?;
            self.commit_transaction().await?;
        }
        Ok(reply)
    }

    /// Runs a body, and answers what it asks meanwhile. What it asked for is ended as it ends, whoever wants to stop it.
    async fn drive<T>(
        &mut self,
        deadline: Option<Instant>,
        work: impl Future<Output = Result<T>>,
        requests: &mut mpsc::Receiver<AskedOfSession>,
    ) -> Result<T> {
        let mut work = pin!(work);
        let interrupt = self.interrupt.clone();
        loop {
            let step = async {
                tokio::select! {
                    biased;
                    done = &mut work => done.map(Step::Done),
                    Some(asked) = requests.recv() => Ok(Step::Asked(asked)),
                }
            };
            match interrupt.guard(deadline, step).await? {
                Step::Done(given) => return Ok(given),
                Step::Asked((request, sender)) => {
                    let answer = self.answer_body(&request).await;
                    // Who does not wait any more has been stopped.
                    let _ = sender.send(answer);
                }
            }
        }
    }

    async fn answer_body(&mut self, request: &TransactionRequest) -> Result<TransactionAtHand> {
        let mut begun = None;
        match request {
            TransactionRequest::End { commits, chain } => {
                let modes = match chain {
                    true => self.modes_in_force(),
                    false => Modes::default(),
                };
                let is_pipeline = self.transaction.is_pipeline;
                match commits {
                    true => {
                        self.apply_requested_settings()?;
                        self.commit_transaction().await?;
                    }
                    false => {
                        self.settings().take_requested();
                        self.rollback_transaction();
                    }
                }
                self.open_for_code(now_us(), &modes, is_pipeline)?;
            }
            TransactionRequest::SetModes(modes) => self.apply_modes(modes, false)?,
            TransactionRequest::Next { anew } => {
                if *anew {
                    self.forget_catalog();
                }
                let (txn, catalog) = self.block_transaction().await?;
                self.note_query(true);
                begun = Some((txn, catalog, self.transaction.started_us));
            }
        }
        Ok(TransactionAtHand {
            settings: Arc::clone(self.settings()),
            begun,
        })
    }

    /// The modes of the transaction, however they were set.
    pub(super) fn modes_in_force(&self) -> Modes {
        let settings = self.settings();
        let is_on = |name: &str| settings.get(name).map(|value| value == "on");
        Modes {
            isolation: Some(settings.isolation.name()),
            read_only: is_on("transaction_read_only"),
            deferrable: is_on("transaction_deferrable"),
        }
    }

    fn open_for_code(&mut self, started_us: i64, modes: &Modes, is_pipeline: bool) -> Result<()> {
        self.open_at(started_us, Block::Implicit, modes.clone());
        self.transaction.is_pipeline = is_pipeline;
        self.apply_modes(modes, true)
    }
}
