//! Messages that clients send, decoded with every length checked: a damaged one is an error, never a panic.

use bytes::{Buf, Bytes};

use crate::error::utf8;
use crate::types::CharacterEncoding;
use crate::{Error, Result};

/// A message of a client whose session has begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message {
    Query {
        text: String,
    },
    Parse {
        name: String,
        text: String,
        types: Vec<u32>,
    },
    Bind(Bind),
    Describe {
        target: Target,
        name: String,
    },
    Execute {
        name: String,
        rows_max: i32,
    },
    Close {
        target: Target,
        name: String,
    },
    Flush,
    Sync,
    Terminate,
    FunctionCall(FunctionCall),
    /// CopyData, CopyDone, CopyFail.
    Copy,
    /// An answer to a password request that was never made.
    Password,
}

/// What Bind says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bind {
    pub(super) portal: String,
    pub(super) statement: String,
    pub(super) formats: Vec<i16>,
    /// `None` is NULL.
    pub(super) parameters: Vec<Option<Bytes>>,
    pub(super) result_formats: Vec<i16>,
}

impl Bind {
    /// The length of its values, in bytes.
    pub(super) fn parameter_bytes(&self) -> usize {
        self.parameters.iter().flatten().map(Bytes::len).sum()
    }
}

/// What a function call says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FunctionCall {
    /// Its oid.
    pub(super) function: u32,
    pub(super) formats: Vec<i16>,
    /// `None` is NULL.
    pub(super) arguments: Vec<Option<Bytes>>,
    pub(super) result_format: i16,
}

/// What Describe and Close are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    Statement,
    Portal,
}

/// Whether a client may send a message of this kind.
pub(super) fn is_known(kind: u8) -> bool {
    b"QPBDECHSXFdcfp".contains(&kind)
}

/// Whether an error in a message of this kind is followed by a wait for Sync.
pub(super) fn is_extended(kind: u8) -> bool {
    b"PBDECH".contains(&kind)
}

/// Decodes the body of a message of a client that speaks this encoding. Errors: 08P01 for a damaged message; 22021 and 22P05 for text that
/// is not of the encoding, which leaves the connection usable.
pub(super) fn decode(kind: u8, body: Bytes, encoding: CharacterEncoding) -> Result<Message> {
    let mut body = Body(body, encoding);
    let message = match kind {
        b'Q' => Message::Query { text: body.text()? },
        b'P' => Message::Parse {
            name: body.text()?,
            text: body.text()?,
            types: body.list(Body::u32)?,
        },
        b'B' => Message::Bind(Bind {
            portal: body.text()?,
            statement: body.text()?,
            formats: body.list(Body::i16)?,
            parameters: body.list(Body::parameter)?,
            result_formats: body.list(Body::i16)?,
        }),
        b'D' => Message::Describe {
            target: body.target()?,
            name: body.text()?,
        },
        b'E' => Message::Execute {
            name: body.text()?,
            rows_max: body.i32()?,
        },
        b'C' => Message::Close {
            target: body.target()?,
            name: body.text()?,
        },
        b'H' => Message::Flush,
        b'S' => Message::Sync,
        b'X' => Message::Terminate,
        b'F' => Message::FunctionCall(FunctionCall {
            function: body.u32()?,
            formats: body.list(Body::i16)?,
            arguments: body.list(Body::parameter)?,
            result_format: body.i16()?,
        }),
        b'd' | b'c' | b'f' => return Ok(Message::Copy),
        b'p' => return Ok(Message::Password),
        _ => return Err(violation(format!("invalid frontend message type {kind}"))),
    };
    if body.0.has_remaining() {
        return Err(violation("invalid message format"));
    }
    Ok(message)
}

/// What CopyFail of a client that speaks this encoding says. Errors: 08P01, 22021, 22P05.
pub(super) fn reason(body: Bytes, encoding: CharacterEncoding) -> Result<String> {
    Body(body, encoding).text()
}

/// A damaged message, as PostgreSQL says it.
pub(super) fn violation(message: impl Into<String>) -> Error {
    Error::ProtocolViolation {
        message: message.into(),
    }
}

/// What is left of a message's body.
struct Body(Bytes, CharacterEncoding);

impl Body {
    /// Text up to a zero byte.
    fn text(&mut self) -> Result<String> {
        let end = self
            .0
            .iter()
            .position(|byte| *byte == 0)
            .ok_or_else(|| violation("invalid string in message"))?;
        let text = self.0.split_to(end);
        self.0.advance(1);
        match self.1.is_own() {
            true => utf8::text(&text).map(str::to_string),
            false => self.1.decode(&text),
        }
    }

    fn target(&mut self) -> Result<Target> {
        match self.take(1)?[0] {
            b'S' => Ok(Target::Statement),
            b'P' => Ok(Target::Portal),
            other => Err(violation(format!("invalid message subtype {other}"))),
        }
    }

    fn parameter(&mut self) -> Result<Option<Bytes>> {
        match self.i32()? {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length).map_err(|_| violation("invalid message format"))?;
                self.take(length).map(Some)
            }
        }
    }

    /// A count of 16 bits, then as many items.
    fn list<T>(&mut self, item: impl Fn(&mut Body) -> Result<T>) -> Result<Vec<T>> {
        let count = self.take(2)?.get_u16();
        (0..count).map(|_| item(self)).collect()
    }

    fn i16(&mut self) -> Result<i16> {
        Ok(self.take(2)?.get_i16())
    }

    fn i32(&mut self) -> Result<i32> {
        Ok(self.take(4)?.get_i32())
    }

    fn u32(&mut self) -> Result<u32> {
        Ok(self.take(4)?.get_u32())
    }

    fn take(&mut self, length: usize) -> Result<Bytes> {
        if self.0.len() < length {
            return Err(violation("insufficient data left in message"));
        }
        Ok(self.0.split_to(length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(kind: u8, body: Bytes) -> Result<Message> {
        super::decode(kind, body, CharacterEncoding::UTF8)
    }
    use proptest::prelude::*;

    #[test]
    fn bind_is_read_whole() {
        let body = b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x02ab\xff\xff\xff\xff\0\0";
        let bind = Bind {
            portal: "p".into(),
            statement: "s".into(),
            formats: vec![1],
            parameters: vec![Some(Bytes::from_static(b"ab")), None],
            result_formats: vec![],
        };
        assert_eq!(decode(b'B', Bytes::from_static(body)), Ok(Message::Bind(bind)));
    }

    #[test]
    fn damaged_messages_are_errors() {
        let fault = |kind, body: &'static [u8]| decode(kind, Bytes::from_static(body)).unwrap_err();
        assert_eq!(fault(b'Q', b"select 1").to_string(), "invalid string in message");
        assert_eq!(fault(b'Q', b"select 1\0x").to_string(), "invalid message format");
        assert_eq!(
            fault(b'P', b"\0\0\0\x02\0\0").to_string(),
            "insufficient data left in message"
        );
        assert_eq!(
            fault(b'B', b"\0\0\0\0\0\x01\0\0\0\x09ab").to_string(),
            "insufficient data left in message"
        );
        assert_eq!(fault(b'D', b"X\0").to_string(), "invalid message subtype 88");
        assert_eq!(fault(b'!', b"").to_string(), "invalid frontend message type 33");
        let error = fault(b'Q', b"select '\xc3\x28'\0");
        assert_eq!(
            (error.sqlstate(), error.to_string().as_str()),
            ("22021", "invalid byte sequence for encoding \"UTF8\": 0xc3 0x28")
        );
    }

    proptest! {
        #[test]
        fn no_bytes_panic(kind in any::<u8>(), body in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = decode(kind, Bytes::from(body));
        }
    }
}
