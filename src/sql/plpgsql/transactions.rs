//! Transactions of a body: COMMIT and ROLLBACK, and the transaction that each of its statements runs in, which in a body that may not end
//! its transaction is that of the statement around it. Each statement sees what others have committed by then, and begins anew by itself where
//! that came between; but in functions that are not VOLATILE, whose statements see what the one around them does.

use std::sync::Arc;

use super::frame::Frame;
use super::program::end_transactions;
use crate::error::Raised;
use crate::parse::plpgsql::tree::Statement as BodyStatement;
use crate::sql::Statement;
use crate::sql::routine_run::statement_run::{Ran, run_statement};
use crate::system::{Counted, TransactionAtHand, TransactionControl, TransactionRequest};
use crate::{Error, Result};

impl Frame {
    /// COMMIT or ROLLBACK. Errors: 2D000 where the transaction is not its own; those of ending it.
    pub(super) async fn end_transaction(&mut self, commits: bool, chain: bool) -> Result<()> {
        let Some(control) = self.ctx.transaction_control.clone() else {
            return Err(Raised::new("2D000", "invalid transaction termination").into());
        };
        let at_hand = control.end(commits, chain).await?;
        self.ctx.settings = at_hand.settings;
        Ok(())
    }

    /// Enters the transaction at hand. `reads_anew`: also to see what others have committed since the last statement.
    pub(super) async fn enter(&mut self, reads_anew: bool) -> Result<()> {
        let Some(control) = self.ctx.transaction_control.clone() else {
            return self.see_now(reads_anew).await;
        };
        match reads_anew || control.ended() != self.transactions_seen {
            true => self.enter_next(&control, false).await,
            false => Ok(()),
        }
    }

    /// Has the next statement see what others have committed, where it may and `reads_anew`.
    async fn see_now(&mut self, reads_anew: bool) -> Result<()> {
        if reads_anew && !self.ctx.in_stable_function && !self.ctx.txn.keeps_snapshot() {
            self.ctx.txn = Arc::new(self.ctx.txn.next_within().await?);
        }
        Ok(())
    }

    /// Runs a statement in the transaction of the one around it. Errors: `Conflict`, too, where it has written already as it comes upon what
    /// others have: then the statement around it begins anew.
    async fn run_within(&mut self, statement: &Arc<Statement>, reads_anew: bool) -> Result<Ran> {
        self.see_now(reads_anew).await?;
        loop {
            let (before, mark) = (self.ctx.txn.progress(), self.ctx.session.mark());
            let notices = self.ctx.notices_count();
            let error = match run_statement(&mut self.ctx, statement).await {
                Err(error) if self.begins_by_itself(&error) && !self.ctx.in_stable_function => error,
                ran => return ran,
            };
            if self.ctx.txn.progress() != before {
                return Err(error);
            }
            tracing::debug!(%error, "a statement of a function begins anew");
            self.ctx.session.roll_back_to(mark);
            self.ctx.forget_notices(notices);
            self.pause().await?;
            self.see_now(true).await?;
        }
    }

    /// What the transaction did behind a savepoint is undone.
    pub(super) async fn undone(&mut self) -> Result<()> {
        match self.ctx.transaction_control.clone() {
            Some(control) => self.enter_next(&control, true).await,
            None => Ok(()),
        }
    }

    async fn enter_next(&mut self, control: &TransactionControl, anew: bool) -> Result<()> {
        let TransactionAtHand { settings, begun } = control.ask(TransactionRequest::Next { anew }).await?;
        if let Some((txn, catalog, started_us)) = begun {
            self.ctx.txn = txn;
            self.ctx.catalog = catalog;
            self.ctx.transaction_time_us = started_us;
        }
        if control.ended() != self.transactions_seen {
            // A procedure that was called may have ended it.
            self.ctx.settings = settings;
        }
        self.transactions_seen = control.ended();
        Ok(())
    }

    /// Runs a statement of the body. `may_end`: it may be a CALL that ends the transaction.
    pub(super) async fn run_entered(
        &mut self,
        statement: &Arc<Statement>,
        reads_anew: bool,
        may_end: bool,
    ) -> Result<Ran> {
        let parsed = &statement.parsed;
        let command = parsed.command.as_ref();
        if command.is_some_and(|command| command.transaction_tag().is_some()) {
            return Err(Raised::new("0A000", "unsupported transaction command in PL/pgSQL").into());
        }
        let Some(control) = self.ctx.transaction_control.clone() else {
            return self.run_within(statement, reads_anew).await;
        };
        // SET TRANSACTION comes before whatever takes a snapshot.
        if command.is_none_or(|command| command.is_of_sql()) {
            self.enter(reads_anew).await?;
        }
        if parsed.runs_code() {
            self.ctx.transaction_control = Some(control.clone()).filter(|_| may_end);
            let ran = run_statement(&mut self.ctx, statement).await;
            self.ctx.transaction_control = Some(control);
            return ran;
        }
        loop {
            let (before, mark) = (self.ctx.txn.savepoint(), self.ctx.session.mark());
            let notices = self.ctx.notices_count();
            let error = match run_statement(&mut self.ctx, statement).await {
                Err(error) if self.begins_by_itself(&error) => error,
                ran => return ran,
            };
            tracing::debug!(%error, "a statement of a body begins anew");
            self.ctx.txn.undo_to(before);
            self.ctx.session.roll_back_to(mark);
            self.ctx.forget_notices(notices);
            self.pause().await?;
            self.enter_next(&control, true).await?;
        }
    }

    /// Whether a statement that failed so is run again from a newer snapshot.
    fn begins_by_itself(&self, error: &Error) -> bool {
        let is_conflict = matches!(error.bare(), Error::Conflict { .. } | Error::ReadConflict);
        is_conflict && !self.ctx.txn.keeps_snapshot()
    }

    /// Has the rows of a loop read ahead whose rounds may end the transaction. The answer is dropped when the loop is over.
    pub(super) async fn held_for(
        &mut self,
        ran: &mut Ran,
        body: &[BodyStatement],
    ) -> Result<Option<Counted>> {
        let Some(control) = &self.ctx.transaction_control else {
            return Ok(None);
        };
        if !end_transactions(body) {
            return Ok(None);
        }
        if ran.written.is_some() {
            return Ok(Some(control.loop_over_writes()));
        }
        ran.rows.hold(&self.ctx).await?;
        Ok(None)
    }
}

/// Whether a text begins or ends a transaction or a part of one, which no body may by SQL.
pub(super) fn is_transaction_command(text: &str) -> bool {
    const WORDS: [&str; 8] = [
        "abort",
        "begin",
        "commit",
        "end",
        "release",
        "rollback",
        "savepoint",
        "start",
    ];
    let word = text.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next();
    word.is_some_and(|word| WORDS.iter().any(|known| word.eq_ignore_ascii_case(known)))
}
