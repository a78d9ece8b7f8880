//! EXCEPTION: what a block did is undone, and a handler goes on from there.

use std::sync::Arc;

use super::frame::{Flow, Frame};
use super::variable::{Holder, Variable};
use crate::parse::plpgsql::tree::{Block, Condition, Handler};
use crate::system::TransactionControl;
use crate::types::{SqlType, Value};
use crate::{Error, Result};

impl Frame {
    /// The statements of a block that has handlers.
    pub(super) async fn guarded(&mut self, block: &Block, _line: usize) -> Result<Flow> {
        // Its savepoint is one of the transaction at hand.
        self.enter(false).await?;
        let guard = self
            .ctx
            .transaction_control
            .as_ref()
            .map(TransactionControl::guard);
        let savepoint = self.ctx.txn.savepoint();
        let shared = self.ctx.session.mark();
        let cursors = self.ctx.session.open_cursors.mark();
        let catalog = Arc::clone(&self.ctx.catalog);
        let (settings, requested) = (Arc::clone(&self.ctx.settings), self.ctx.settings.requested_mark());
        let (names, variables) = (self.names.len(), self.variables.len());
        let handled = self.handled.len();
        let interrupt = Arc::clone(&self.ctx.session.interrupt);
        let ran = match block.handlers.iter().any(catches_cancel) {
            true => interrupt.guard_caught(self.statements(&block.statements)).await,
            false => self.statements(&block.statements).await,
        };
        drop(guard);
        let error = match ran {
            Ok(flow) => return Ok(flow),
            Err(error) => error,
        };
        if self.begins_anew(&error) {
            return Err(error);
        }
        let handler = block.handlers.iter().find(|handler| {
            handler
                .conditions
                .iter()
                .any(|condition| catches(condition, &error))
        });
        let Some(handler) = handler else {
            return Err(error);
        };
        self.ctx.txn.rollback_to(savepoint);
        self.ctx.session.roll_back_to(shared);
        self.ctx.session.open_cursors.roll_back_to(cursors);
        self.ctx.catalog = catalog;
        self.ctx.settings = settings;
        self.ctx.settings.forget_requested(requested);
        self.undone().await?;
        self.is_located = false;
        // A handler within may have been stopped.
        self.handled.truncate(handled);
        self.names.truncate(names);
        self.variables.truncate(variables);
        let text = |text: String| {
            Variable::of(Holder::Scalar {
                ty: SqlType::Text,
                value: Value::Text(text),
            })
        };
        self.declare("sqlstate", None, text(error.sqlstate().to_string()));
        self.declare("sqlerrm", None, text(error.to_string()));
        self.handled.push(error);
        let flow = Box::pin(self.statements(&handler.statements)).await;
        self.handled.pop();
        self.names.truncate(names);
        self.variables.truncate(variables);
        flow
    }

    /// Whether the statement around it is run again from a newer snapshot: no handler may keep it from that.
    fn begins_anew(&self, error: &Error) -> bool {
        match error.bare() {
            Error::Conflict { .. } | Error::ReadConflict => !self.ctx.txn.keeps_snapshot(),
            Error::SnapshotTooOld | Error::Shutdown | Error::ClientGone => true,
            _ => false,
        }
    }
}

/// Whether a handler is also there for what stops its block from outside: a cancel, a time limit.
fn catches_cancel(handler: &Handler) -> bool {
    let mut conditions = handler.conditions.iter();
    conditions.any(|condition| catches(condition, &Error::QueryCanceled))
}

/// Whether a condition is of the error.
fn catches(condition: &Condition, error: &Error) -> bool {
    let state = error.sqlstate();
    match condition {
        Condition::Others => !matches!(state, "57014" | "P0004"),
        // A class catches all of it.
        Condition::State(wanted) if wanted.ends_with("000") => state[..2] == wanted[..2],
        Condition::State(wanted) => state == wanted,
    }
}
