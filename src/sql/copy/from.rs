//! COPY FROM: its data goes through a channel to the work that reads it, which runs on the query threads beside the connection that
//! receives more.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::reading::{Copied, Reading};
use crate::parse::copy::{Copy, CopyPlace};
use crate::sql::{Outcome, Statement};
use crate::system::{Jobs, StatementContext};
use crate::{Error, Result};

/// Pieces of data that wait to be read.
const PIECES_AHEAD: usize = 4;

/// A COPY FROM that takes the client's data. Dropped before `finish` has answered, it stops, and its transaction is to be undone once
/// [`CopyIn::stopped`] has answered.
pub struct CopyIn {
    /// The columns of the data.
    pub columns: usize,
    /// Whether the data is binary.
    pub is_binary: bool,
    pieces: Option<mpsc::Sender<Bytes>>,
    work: Option<Work>,
    jobs: Arc<Jobs>,
}

type Work = Pin<Box<dyn Future<Output = Result<Copied>> + Send>>;

/// Begins a COPY FROM; one of a file is done then.
pub(super) async fn begin(ctx: &StatementContext, statement: &Statement, copy: &Copy) -> Result<Outcome> {
    super::file::check_place(ctx, copy)?;
    let reading = Reading::begin(ctx, statement, copy).await?;
    if let CopyPlace::File(path) = &copy.place {
        let copied = Box::pin(super::file::read(ctx, path, reading)).await?;
        if let Some(txn) = &copied.txn {
            txn.note_statement(false);
            txn.commit(!ctx.settings.synchronous_commit).await?;
        }
        return Ok(Outcome::Done {
            tag: format!("COPY {}", copied.rows),
        });
    }
    let (pieces, received) = mpsc::channel(PIECES_AHEAD);
    let jobs = Arc::clone(&ctx.jobs);
    Ok(Outcome::CopyIn(CopyIn {
        columns: reading.columns(),
        is_binary: reading.is_binary(),
        pieces: Some(pieces),
        work: Some(Box::pin(async move {
            jobs.run_on_query_threads(Box::pin(read_pieces(reading, received)))
                .await
        })),
        jobs: Arc::clone(&ctx.jobs),
    }))
}

async fn read_pieces(mut reading: Reading, mut pieces: mpsc::Receiver<Bytes>) -> Result<Copied> {
    while let Some(piece) = pieces.recv().await {
        reading.take(&piece).await?;
    }
    reading.end().await
}

impl CopyIn {
    /// Hands on a piece of the data; waits while others wait to be read. May be dropped, and then the piece is lost.
    /// Errors: those of the rows before.
    pub async fn push(&mut self, piece: Bytes) -> Result<()> {
        let (Some(pieces), Some(work)) = (&self.pieces, &mut self.work) else {
            return Err(ended());
        };
        let result = tokio::select! {
            biased;
            result = work => result,
            sent = pieces.send(piece) => match sent {
                Ok(()) => return Ok(()),
                // It has ended, and says how.
                Err(_) => match &mut self.work {
                    Some(work) => work.await,
                    None => return Err(ended()),
                },
            },
        };
        self.work = None;
        Err(result.err().unwrap_or_else(ended))
    }

    /// Ends once the work has, before all data has come. May be dropped. Answers its error.
    pub async fn failed(&mut self) -> Error {
        let Some(work) = &mut self.work else {
            return std::future::pending().await;
        };
        let result = work.await;
        self.work = None;
        result.err().unwrap_or_else(ended)
    }

    /// All data has come: waits until its rows are written; answers how many, and where. Errors: theirs.
    pub async fn finish(&mut self) -> Result<Copied> {
        self.pieces = None;
        let Some(work) = &mut self.work else {
            return Err(ended());
        };
        let result = work.await;
        self.work = None;
        result
    }

    /// Stops the work, if it has not ended, and waits until it has.
    pub async fn stopped(self) {
        drop(self.work);
        self.jobs.ended().await;
    }
}

fn ended() -> Error {
    Error::internal("a COPY goes on that has ended")
}
