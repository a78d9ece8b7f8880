//! COPY FROM: its data goes through a channel to the work that reads it, which runs on the query threads beside the connection that
//! receives more.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

use super::reading::{Copied, Reading};
use crate::parse::copy::{Copy, CopyPlace};
use crate::sql::{Outcome, Statement};
use crate::system::{Jobs, StatementContext};
use crate::{Error, Result};

/// Bytes of data that wait to be read, or one piece.
const BYTES_AHEAD: usize = 1 << 20;

/// How long no more has come until what there is is read, however little.
const PAUSE: Duration = Duration::from_millis(5);

/// Data that waits to be read.
struct Piece {
    data: Bytes,
    /// Its part of `BYTES_AHEAD`.
    _room: OwnedSemaphorePermit,
}

/// A COPY FROM that takes the client's data. Dropped before `finish` has answered, it stops, and its transaction is to be undone once
/// [`CopyIn::stopped`] has answered.
pub struct CopyIn {
    /// The columns of the data.
    pub columns: usize,
    /// Whether the data is binary.
    pub is_binary: bool,
    pieces: Option<mpsc::UnboundedSender<Piece>>,
    room: Arc<Semaphore>,
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
        if let Some(txn) = copied.txn {
            txn.note_statement(false);
            let relaxed = !ctx.settings.synchronous_commit;
            ctx.jobs.commit(txn, relaxed, None).await?;
        }
        return Ok(Outcome::Done {
            tag: format!("COPY {}", copied.rows),
        });
    }
    let (pieces, received) = mpsc::unbounded_channel();
    let jobs = Arc::clone(&ctx.jobs);
    Ok(Outcome::CopyIn(CopyIn {
        columns: reading.columns(),
        is_binary: reading.is_binary(),
        pieces: Some(pieces),
        room: Arc::new(Semaphore::new(BYTES_AHEAD)),
        work: Some(Box::pin(async move {
            jobs.run_on_query_threads(Box::pin(read_pieces(reading, received)))
                .await
        })),
        jobs: Arc::clone(&ctx.jobs),
    }))
}

async fn read_pieces(mut reading: Reading, mut pieces: mpsc::UnboundedReceiver<Piece>) -> Result<Copied> {
    loop {
        let piece = match timeout(PAUSE, pieces.recv()).await {
            Ok(piece) => piece,
            Err(_) => {
                reading.catch_up().await?;
                pieces.recv().await
            }
        };
        match piece {
            Some(piece) => reading.take(&piece.data).await?,
            None => return reading.end().await,
        }
    }
}

impl CopyIn {
    /// Hands on a piece of the data; waits while others wait to be read. May be dropped, and then the piece is lost.
    /// Errors: those of the rows before.
    pub async fn push(&mut self, piece: Bytes) -> Result<()> {
        let (Some(pieces), Some(work)) = (&self.pieces, &mut self.work) else {
            return Err(ended());
        };
        let bytes = piece.len().min(BYTES_AHEAD) as u32;
        let result = tokio::select! {
            biased;
            result = &mut *work => result,
            room = Arc::clone(&self.room).acquire_many_owned(bytes) => {
                let _room = room.map_err(|_| ended())?;
                match pieces.send(Piece { data: piece, _room }) {
                    Ok(()) => return Ok(()),
                    // It has ended, and says how.
                    Err(_) => work.await,
                }
            }
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
