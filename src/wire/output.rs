//! `Output`: the writing half of a connection. Messages gather in one buffer that goes to the socket when it is full or
//! when the client waits for an answer; nothing is added while it goes, which is the back-pressure.

use bytes::BytesMut;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::TransactionStatus;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::client_encoding::recode_message;
use crate::txn::DurabilityBarrier;
use crate::types::CharacterEncoding;
use crate::{Error, Result};

/// Memory above this is given back once the buffer is empty: one huge row must not be kept for ever.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// The buffer is first full at so many bytes: the client has something to do early …
const FULL_BYTES_MIN: usize = 8 << 10;
/// … and each time that it was, at twice as many, up to these: there is much to send, and each time costs.
const FULL_BYTES_MAX: usize = 32 << 10;

/// The writing half of a connection. Its buffer always holds whole messages, or what is left of them.
pub(super) struct Output {
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    buffer: Vec<u8>,
    /// Bytes from which the buffer counts as full.
    full_bytes: usize,
    /// Bytes of the buffer that have gone to the socket.
    sent: usize,
    scratch: BytesMut,
    /// What the client speaks.
    encoding: CharacterEncoding,
    /// What the buffer tells waits here.
    barrier: Option<DurabilityBarrier>,
    /// The buffer tells something that nothing can take back.
    is_final: bool,
}

impl Output {
    pub(super) fn new(writer: impl AsyncWrite + Send + Unpin + 'static) -> Output {
        Output {
            writer: Box::new(writer),
            buffer: Vec::with_capacity(FULL_BYTES_MAX * 2),
            full_bytes: FULL_BYTES_MIN,
            sent: 0,
            scratch: BytesMut::new(),
            encoding: CharacterEncoding::UTF8,
            barrier: None,
            is_final: false,
        }
    }

    /// From now on what tells of rows waits until what the session rests on is durable.
    pub(super) fn wait_at(&mut self, barrier: DurabilityBarrier) {
        self.barrier = Some(barrier);
    }

    /// Adds a message.
    pub(super) fn message(&mut self, message: &PgWireBackendMessage) -> Result<()> {
        self.is_final |= !is_provisional(message);
        self.scratch.clear();
        let encoded = message.encode(&mut self.scratch);
        encoded.map_err(|error| Error::internal(format!("a message could not be encoded: {error}")))?;
        match self.encoding.is_own() || self.scratch.is_ascii() {
            true => self.buffer.extend_from_slice(&self.scratch),
            false => self.buffer.extend(recode_message(&self.scratch, self.encoding)),
        }
        Ok(())
    }

    /// What the client speaks from now on.
    pub(super) fn speak(&mut self, encoding: CharacterEncoding) {
        self.encoding = encoding;
    }

    /// What the client speaks.
    pub(super) fn encoding(&self) -> CharacterEncoding {
        self.encoding
    }

    /// The buffer, to add whole messages to.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        self.is_final = true;
        &mut self.buffer
    }

    /// Whether it is time to `drain`.
    pub(super) fn is_full(&self) -> bool {
        self.buffer.len() >= self.full_bytes
    }

    /// Whether everything has gone.
    pub(super) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Sends everything. May be dropped and called again: it goes on where it was. Errors: 08006.
    pub(super) async fn drain(&mut self) -> Result<()> {
        if let Some(barrier) = self.barrier.as_ref().filter(|_| self.is_final) {
            barrier.pass().await?;
        }
        while self.sent < self.buffer.len() {
            match self.writer.write(&self.buffer[self.sent..]).await {
                Ok(bytes) if bytes > 0 => self.sent += bytes,
                _ => return Err(Error::ClientGone),
            }
        }
        // A stream may keep what it is given; a socket has nothing to flush.
        self.writer.flush().await.map_err(|_| Error::ClientGone)?;
        self.full_bytes = match self.is_full() {
            true => (self.full_bytes * 2).min(FULL_BYTES_MAX),
            false => FULL_BYTES_MIN,
        };
        self.sent = 0;
        self.is_final = false;
        self.buffer.clear();
        if self.buffer.capacity() > KEPT_BYTES_MAX {
            self.buffer.shrink_to(FULL_BYTES_MAX * 2);
        }
        Ok(())
    }

    /// Tells the client that nothing more will come.
    pub(super) async fn close(&mut self) {
        // The client may have gone already; then there is nobody to tell.
        let _ = self.writer.shutdown().await;
    }
}

/// Whether the message tells of no row, and its transaction is still open: who commits later waits for what it rests on, and who does
/// not is told so before anything else.
fn is_provisional(message: &PgWireBackendMessage) -> bool {
    match message {
        PgWireBackendMessage::ParseComplete(_)
        | PgWireBackendMessage::BindComplete(_)
        | PgWireBackendMessage::CloseComplete(_)
        | PgWireBackendMessage::NoData(_)
        | PgWireBackendMessage::ParameterDescription(_)
        | PgWireBackendMessage::ParameterStatus(_)
        | PgWireBackendMessage::CommandComplete(_) => true,
        PgWireBackendMessage::ReadyForQuery(ready) => ready.status == TransactionStatus::Transaction,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use pgwire::messages::response::{CommandComplete, ReadyForQuery};

    use super::*;

    #[test]
    fn a_tag_within_a_block_waits_for_nothing_and_the_end_of_a_transaction_does() {
        let message = |message: &PgWireBackendMessage| {
            let mut output = Output::new(tokio::io::sink());
            output.message(message).unwrap();
            output.is_final
        };
        let tag = CommandComplete::new("UPDATE 1".to_string());
        assert!(!message(&PgWireBackendMessage::CommandComplete(tag)));
        for (status, is_final) in [
            (TransactionStatus::Transaction, false),
            (TransactionStatus::Idle, true),
            (TransactionStatus::Error, true),
        ] {
            let ready = PgWireBackendMessage::ReadyForQuery(ReadyForQuery::new(status));
            assert_eq!(message(&ready), is_final);
        }
        let mut output = Output::new(tokio::io::sink());
        output.buffer().push(b'D');
        assert!(output.is_final, "a row");
    }
}
