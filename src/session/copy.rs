//! COPY as a session runs it: data that comes from the client, statement and transaction being held open until it has all come; and
//! rows that leave as data.

use std::sync::Arc;

use bytes::Bytes;
use tokio::time::Instant;

use super::counted_run::CountedRun;
use super::{RowStream, Session};
use crate::copy::RowEncoder;
use crate::sql::CopyIn;
use crate::system::{Copying, StatementMemory};
use crate::txn::Transaction;
use crate::{Error, Result};

/// A COPY FROM that takes the client's data. Whoever has one hands it to `Session::complete_copy` or to `Session::abandon_copy`.
pub struct CopyFrom {
    input: CopyIn,
    /// The statement's, to commit at the end outside a block.
    pub(super) txn: Option<Arc<Transaction>>,
    deadline: Option<Instant>,
    _memory: Arc<StatementMemory>,
    /// Is counted when it is done.
    pub(super) counted: Option<Box<CountedRun>>,
}

/// A COPY TO the client: rows, and what makes data of them. Then `Session::complete`.
#[derive(Debug)]
pub struct CopyTo {
    /// The rows.
    pub rows: RowStream,
    /// Makes data of them.
    pub encoder: RowEncoder,
    /// Is told how far it is.
    pub copying: Copying,
}

impl CopyFrom {
    pub(super) fn new(input: CopyIn, deadline: Option<Instant>, memory: Arc<StatementMemory>) -> CopyFrom {
        CopyFrom {
            input,
            txn: None,
            deadline,
            _memory: memory,
            counted: None,
        }
    }

    /// The columns of the data.
    pub fn columns(&self) -> usize {
        self.input.columns
    }

    /// Whether the data is binary.
    pub fn is_binary(&self) -> bool {
        self.input.is_binary
    }

    /// When the statement times out.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Takes a piece of the data, once there is room for it. Errors: those of the data before.
    pub async fn push(&mut self, piece: Bytes) -> Result<()> {
        self.input.push(piece).await
    }

    /// Ends with its error when the COPY has failed before all data has come. May be dropped.
    pub async fn failed(&mut self) -> Error {
        self.input.failed().await
    }
}

impl std::fmt::Debug for CopyFrom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopyFrom")
            .field("columns", &self.columns())
            .finish()
    }
}

impl Session {
    /// All data has come: writes what is left of it, commits it outside a block; answers the command tag. On an error nothing of it
    /// stays.
    pub async fn complete_copy(&mut self, mut copy: CopyFrom) -> Result<String> {
        let interrupt = Arc::clone(&self.interrupt);
        let finished = interrupt.guard(copy.deadline, copy.input.finish()).await;
        let copied = match finished {
            Ok(copied) => copied,
            Err(error) => return Err(self.abandon_copy(copy, error).await),
        };
        self.stop_clock();
        match copied.txn.or(copy.txn.take()) {
            Some(txn) => {
                txn.note_statement(false);
                interrupt.guard(copy.deadline, txn.settle()).await?;
                self.commit_alone(Some(txn)).await?;
            }
            None => {
                let (txn, _) = self.block_transaction().await?;
                interrupt.guard(copy.deadline, txn.settle()).await?;
                if txn.may_be_refused() {
                    txn.require_unread()?;
                }
                txn.note_statement(false);
            }
        }
        self.apply_requested_settings()?;
        self.end_statement();
        let tag = format!("COPY {}", copied.rows);
        self.count(copy.counted, &tag);
        Ok(tag)
    }

    /// The COPY comes to nothing, because it has failed or the client does not go on with it; answers the error to report.
    pub async fn abandon_copy(&mut self, copy: CopyFrom, error: Error) -> Error {
        copy.input.stopped().await;
        match (copy.txn, error.bare()) {
            (Some(txn), _) => txn.roll_back(),
            // As for every statement of a block: what was read of the key is as old as everything else.
            (None, Error::UniqueViolation { .. }) => {
                if let Ok((txn, _)) = self.block_transaction().await
                    && let Err(older) = txn.require_unread()
                {
                    return older;
                }
            }
            (None, _) => {}
        }
        error
    }
}
