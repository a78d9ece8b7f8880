//! `Output`: the writing half of a connection. Messages gather in one buffer that goes to the socket when it is full or
//! when the client waits for an answer; nothing is added while it goes, which is the back-pressure.

use bytes::BytesMut;
use pgwire::messages::PgWireBackendMessage;
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;

use crate::{Error, Result};

/// Memory above this is given back once the buffer is empty: one huge row must not be kept for ever.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// The writing half of a connection. Its buffer always holds whole messages, or what is left of them.
#[derive(Debug)]
pub(super) struct Output {
    writer: OwnedWriteHalf,
    buffer: Vec<u8>,
    /// Bytes of the buffer that have gone to the socket.
    sent: usize,
    scratch: BytesMut,
}

impl Output {
    /// Bytes from which the buffer counts as full.
    pub(super) const FULL_BYTES: usize = 16 << 10;

    pub(super) fn new(writer: OwnedWriteHalf) -> Output {
        Output {
            writer,
            buffer: Vec::with_capacity(Output::FULL_BYTES * 2),
            sent: 0,
            scratch: BytesMut::new(),
        }
    }

    /// Adds a message.
    pub(super) fn message(&mut self, message: &PgWireBackendMessage) -> Result<()> {
        self.scratch.clear();
        let encoded = message.encode(&mut self.scratch);
        encoded.map_err(|error| Error::internal(format!("a message could not be encoded: {error}")))?;
        self.buffer.extend_from_slice(&self.scratch);
        Ok(())
    }

    /// The buffer, to add whole messages to.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Whether it is time to `drain`.
    pub(super) fn is_full(&self) -> bool {
        self.buffer.len() >= Output::FULL_BYTES
    }

    /// Whether everything has gone.
    pub(super) fn is_empty(&self) -> bool {
        self.buffer.is_empty()
    }

    /// Sends everything. May be dropped and called again: it goes on where it was. Errors: 08006.
    pub(super) async fn drain(&mut self) -> Result<()> {
        while self.sent < self.buffer.len() {
            match self.writer.write(&self.buffer[self.sent..]).await {
                Ok(bytes) if bytes > 0 => self.sent += bytes,
                _ => return Err(Error::ClientGone),
            }
        }
        self.sent = 0;
        self.buffer.clear();
        if self.buffer.capacity() > KEPT_BYTES_MAX {
            self.buffer.shrink_to(Output::FULL_BYTES * 2);
        }
        Ok(())
    }

    /// Tells the client that nothing more will come.
    pub(super) async fn close(&mut self) {
        // The client may have gone already; then there is nobody to tell.
        let _ = self.writer.shutdown().await;
    }
}
