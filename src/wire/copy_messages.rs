//! `CopyMessages`: how what runs a COPY FROM asks its connection for the client's messages. The connection watches its input while a
//! statement runs; it reads messages of it only when asked to.

use bytes::Bytes;
use tokio::sync::mpsc;

use crate::{Error, Result};

/// What a client sends while its COPY takes data.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CopyMessage {
    /// CopyData: what several messages hold that have come already.
    Data(Bytes),
    /// CopyDone.
    Done,
    /// CopyFail, whose body says why.
    Fail(Bytes),
}

/// Asks for messages.
#[derive(Debug)]
pub(super) struct CopyMessages {
    asks: mpsc::Sender<()>,
    answers: mpsc::Receiver<CopyMessage>,
}

/// Answers who asks.
#[derive(Debug)]
pub(super) struct CopySource {
    asks: mpsc::Receiver<()>,
    answers: mpsc::Sender<CopyMessage>,
}

/// The two ends.
pub(super) fn copy_messages() -> (CopyMessages, CopySource) {
    let (ask, asks) = mpsc::channel(1);
    let (answers, answered) = mpsc::channel(1);
    let messages = CopyMessages {
        asks: ask,
        answers: answered,
    };
    (messages, CopySource { asks, answers })
}

impl CopyMessages {
    /// Forgets a message that was asked for by what was stopped then.
    pub(super) fn clear(&mut self) {
        while self.answers.try_recv().is_ok() {}
    }

    /// The next message, when the client sends it. Errors: 08006 when none comes any more.
    pub(super) async fn next(&mut self) -> Result<CopyMessage> {
        self.asks.send(()).await.map_err(|_| Error::ClientGone)?;
        self.answers.recv().await.ok_or(Error::ClientGone)
    }
}

impl CopySource {
    /// Forgets who asked and was stopped then.
    pub(super) fn clear(&mut self) {
        while self.asks.try_recv().is_ok() {}
    }

    /// Ends when a message is asked for. May be dropped.
    pub(super) async fn asked(&mut self) {
        if self.asks.recv().await.is_none() {
            std::future::pending().await
        }
    }

    /// Gives the message that was asked for.
    pub(super) async fn answer(&mut self, message: CopyMessage) {
        // Nobody waits for it any more when the COPY was stopped: it counts for nothing then.
        let _ = self.answers.send(message).await;
    }
}
