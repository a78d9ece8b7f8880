//! `Output`: the writing half of a connection. Messages gather in one buffer that goes to the socket when it is full or
//! when the client waits for an answer; nothing is added while it goes, which is the back-pressure.

use bytes::BytesMut;
use pgwire::messages::PgWireBackendMessage;
use tokio::io::{AsyncWrite, AsyncWriteExt};

use super::client_encoding::recode_message;
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
        }
    }

    /// Adds a message.
    pub(super) fn message(&mut self, message: &PgWireBackendMessage) -> Result<()> {
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
