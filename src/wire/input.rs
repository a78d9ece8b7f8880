//! `Input`: the reading half of a connection, cut into messages. Reads ahead while a statement runs, but only so much,
//! to see in time that the client has gone.

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

use super::copy_messages::CopyMessage;
use super::message::{is_known, violation};
use crate::{Error, Result};

/// Bytes to have room for before each read.
const READ_BYTES: usize = 8 << 10;
/// Bytes that are read ahead while a statement runs.
const READ_AHEAD_BYTES: usize = 64 << 10;
/// Bytes and more that a buffer keeps no memory for once a message of that size is gone.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// The reading half of a connection: of a socket, or of any other stream.
pub(super) struct Input {
    reader: Box<dyn AsyncRead + Send + Unpin>,
    buffer: BytesMut,
    ended: bool,
    /// It has ended with an error.
    is_broken: bool,
}

/// One message, not decoded.
#[derive(Debug)]
pub(super) struct Frame {
    pub(super) kind: u8,
    pub(super) body: Bytes,
}

impl Input {
    pub(super) fn new(reader: impl AsyncRead + Send + Unpin + 'static) -> Input {
        Input {
            reader: Box::new(reader),
            buffer: BytesMut::new(),
            ended: false,
            is_broken: false,
        }
    }

    /// The next message; `None` when the client has closed the connection. May be dropped and called again.
    /// Errors: 08P01 for a kind or length that cannot be, 54000 for a message above `bytes_max`.
    pub(super) async fn frame(&mut self, bytes_max: usize) -> Result<Option<Frame>> {
        loop {
            if let Some(length) = self.check_header(bytes_max)?
                && self.buffer.len() > length
            {
                let kind = self.buffer.get_u8();
                self.buffer.advance(4);
                let body = self.buffer.split_to(length - 4).freeze();
                if self.buffer.is_empty() && body.len() > KEPT_BYTES_MAX {
                    self.buffer = BytesMut::new();
                }
                return Ok(Some(Frame { kind, body }));
            }
            if !self.read().await {
                return Ok(None);
            }
        }
    }

    /// The next message of a COPY that takes data; those of CopyData that have come already are one. `None` when the client has
    /// closed the connection. May be dropped and called again. Errors: as `frame`; 08P01 for a message of another kind.
    pub(super) async fn copy_message(&mut self, bytes_max: usize) -> Result<Option<CopyMessage>> {
        loop {
            let Some(frame) = self.frame(bytes_max).await? else {
                return Ok(None);
            };
            return Ok(Some(match frame.kind {
                b'd' => CopyMessage::Data(self.following_data(frame.body, bytes_max)?),
                b'c' => CopyMessage::Done,
                b'f' => CopyMessage::Fail(frame.body),
                // Clients may send these before they know that a COPY has begun.
                b'H' | b'S' => continue,
                kind => {
                    let message = format!("unexpected message type 0x{kind:02X} during COPY from stdin");
                    return Err(violation(message));
                }
            }));
        }
    }

    /// The data with that of messages behind it which are all there, as far as it is worth it.
    fn following_data(&mut self, first: Bytes, bytes_max: usize) -> Result<Bytes> {
        let mut all: Option<BytesMut> = None;
        while self.buffer.first() == Some(&b'd')
            && let Some(length) = self.check_header(bytes_max)?
            && self.buffer.len() > length
            && all.as_ref().map_or(first.len(), BytesMut::len) < READ_AHEAD_BYTES
        {
            let all = all.get_or_insert_with(|| BytesMut::from(&first[..]));
            all.extend_from_slice(&self.buffer[5..=length]);
            self.buffer.advance(length + 1);
        }
        Ok(all.map_or(first, BytesMut::freeze))
    }

    /// The kind of the next message, without taking it; `None` when there is none.
    pub(super) async fn peek_kind(&mut self) -> Option<u8> {
        while self.buffer.is_empty() {
            if !self.read().await {
                return None;
            }
        }
        Some(self.buffer[0])
    }

    /// The next packet of start-up, which has no kind: its body. Errors: 08P01 for a length that cannot be.
    pub(super) async fn startup_packet(&mut self, bytes_max: usize) -> Result<Option<Bytes>> {
        loop {
            if let Some(mut header) = self.buffer.get(..4) {
                let length = header.get_i32();
                let length = usize::try_from(length)
                    .ok()
                    .filter(|length| (8..=bytes_max).contains(length));
                let length = length.ok_or_else(|| violation("invalid length of startup packet"))?;
                if self.buffer.len() >= length {
                    self.buffer.advance(4);
                    return Ok(Some(self.buffer.split_to(length - 4).freeze()));
                }
            }
            if !self.read().await {
                return Ok(None);
            }
        }
    }

    /// Whether the connection is of no use any more, not even to write to.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Ends when the client sends nothing any more. Reads ahead a little; past that it waits for ever.
    pub(super) async fn closed(&mut self) {
        while self.buffer.len() < READ_AHEAD_BYTES {
            if !self.read().await {
                return;
            }
        }
        std::future::pending().await
    }

    /// Reads and forgets whatever the client still sends, until it closes the connection.
    pub(super) async fn discard(&mut self) {
        loop {
            self.buffer.clear();
            if !self.read().await {
                return;
            }
        }
    }

    /// Length of the next message, its own four bytes included, once its header is there.
    fn check_header(&self, bytes_max: usize) -> Result<Option<usize>> {
        let Some(kind) = self.buffer.first().copied() else {
            return Ok(None);
        };
        if !is_known(kind) {
            return Err(violation(format!("invalid frontend message type {kind}")));
        }
        let Some(mut header) = self.buffer.get(1..5) else {
            return Ok(None);
        };
        let length = header.get_i32();
        let length = usize::try_from(length).ok().filter(|length| *length >= 4);
        let length = length.ok_or_else(|| violation("invalid message length"))?;
        if length > bytes_max {
            return Err(Error::TooLarge {
                what: "message".to_string(),
                bytes: length,
                bytes_max,
                setting: "keyspan.message_bytes_max",
            });
        }
        Ok(Some(length))
    }

    /// Reads some bytes; `false` when there are no more to come. May be dropped.
    async fn read(&mut self) -> bool {
        if !self.ended {
            // A read that fills the buffer would be followed by another one, which most often finds nothing.
            self.buffer.reserve(READ_BYTES);
            let read = self.reader.read_buf(&mut self.buffer).await;
            self.is_broken = read.is_err();
            self.ended = !matches!(read, Ok(bytes) if bytes > 0);
        }
        !self.ended
    }
}
