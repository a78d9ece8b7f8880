//! `Connection`: a client's side of the protocol, as far as COPY needs it: start-up without a password, simple queries, data in. Used
//! by `source`.

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use super::{LoadFault, ServerAddress};

/// Version 3.0 of the protocol.
const PROTOCOL: u32 = 196_608;
/// A server's message is no longer.
const MESSAGE_BYTES_MAX: usize = 64 << 20;
/// Length of the number before a message's body.
const LENGTH_BYTES: usize = 4;

/// A connection to a server.
#[derive(Debug)]
pub(super) struct Connection {
    messages: Messages,
    output: OwnedWriteHalf,
    notices: Vec<String>,
}

/// What the server says, message by message.
#[derive(Debug)]
struct Messages {
    input: OwnedReadHalf,
    buffer: BytesMut,
}

/// A message: its kind and its body.
struct Message(u8, Bytes);

impl Connection {
    /// Connects, and waits until the server is ready.
    pub(super) async fn open(address: &ServerAddress) -> Result<Connection, LoadFault> {
        let ServerAddress {
            host,
            port,
            user,
            database,
        } = address;
        let opened = TcpStream::connect((host.as_str(), *port)).await;
        let stream =
            opened.map_err(|error| LoadFault::of_io(&format!("connect to {host}, port {port}"), &error))?;
        let (input, output) = stream.into_split();
        let mut connection = Connection {
            messages: Messages {
                input,
                buffer: BytesMut::new(),
            },
            output,
            notices: Vec::new(),
        };
        let mut body = PROTOCOL.to_be_bytes().to_vec();
        for (name, value) in [
            ("user", user.as_str()),
            ("database", database),
            ("application_name", "keyspan load"),
            ("client_encoding", "UTF8"),
        ] {
            for text in [name, value] {
                body.extend_from_slice(text.as_bytes());
                body.push(0);
            }
        }
        body.push(0);
        let length = (body.len() + LENGTH_BYTES) as u32;
        connection
            .send(&[&length.to_be_bytes()[..], &body].concat())
            .await?;
        connection.until_ready().await?;
        Ok(connection)
    }

    /// Runs a statement; answers the first column of its rows.
    pub(super) async fn run(&mut self, sql: &str) -> Result<Vec<String>, LoadFault> {
        self.query(sql).await?;
        self.until_ready().await
    }

    /// Begins a COPY FROM STDIN.
    pub(super) async fn begin_copy(&mut self, sql: &str) -> Result<(), LoadFault> {
        self.query(sql).await?;
        loop {
            match self.next().await? {
                Message(b'G', _) => return Ok(()),
                Message(b'E', body) => return Err(self.refused(&body).await),
                Message(b'Z', _) => return Err(LoadFault::new("the server takes no data".to_string())),
                _ => {}
            }
        }
    }

    /// Sends a piece of data. Errors: the server's, about the data before.
    pub(super) async fn send_data(&mut self, data: &[u8]) -> Result<(), LoadFault> {
        let mut message = Vec::with_capacity(data.len() + 1 + LENGTH_BYTES);
        message.push(b'd');
        message.extend_from_slice(&((data.len() + LENGTH_BYTES) as u32).to_be_bytes());
        message.extend_from_slice(data);
        let Connection {
            messages,
            output,
            notices,
        } = self;
        let mut written = std::pin::pin!(output.write_all(&message));
        loop {
            tokio::select! {
                biased;
                said = messages.next() => match said? {
                    Message(b'E', body) => return Err(fault_of(&body)),
                    Message(b'N', body) => notices.push(fault_of(&body).message),
                    _ => {}
                },
                written = &mut written => return written.map_err(lost),
            }
        }
    }

    /// All data is sent: answers how many rows were written.
    pub(super) async fn end_copy(&mut self) -> Result<u64, LoadFault> {
        self.send(&[b'c', 0, 0, 0, LENGTH_BYTES as u8]).await?;
        let mut rows = 0;
        loop {
            match self.next().await? {
                Message(b'C', body) => {
                    let tag = text(&body);
                    rows = tag
                        .rsplit(' ')
                        .next()
                        .and_then(|rows| rows.parse().ok())
                        .unwrap_or(0);
                }
                Message(b'E', body) => return Err(self.refused(&body).await),
                Message(b'Z', _) => return Ok(rows),
                _ => {}
            }
        }
    }

    /// What the server has said beside.
    pub(super) fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// Takes leave.
    pub(super) async fn close(mut self) {
        // Whether it is heard or not: everything is done.
        let _ = self.send(&[b'X', 0, 0, 0, LENGTH_BYTES as u8]).await;
    }

    async fn query(&mut self, sql: &str) -> Result<(), LoadFault> {
        let length = (sql.len() + 1 + LENGTH_BYTES) as u32;
        let message = [&b"Q"[..], &length.to_be_bytes(), sql.as_bytes(), b"\0"].concat();
        self.send(&message).await
    }

    async fn send(&mut self, bytes: &[u8]) -> Result<(), LoadFault> {
        self.output.write_all(bytes).await.map_err(lost)
    }

    /// The next message that is none of those that may come at any time.
    async fn next(&mut self) -> Result<Message, LoadFault> {
        loop {
            match self.messages.next().await? {
                Message(b'N', body) => self.notices.push(fault_of(&body).message),
                Message(b'S' | b'A', _) => {}
                message => return Ok(message),
            }
        }
    }

    async fn until_ready(&mut self) -> Result<Vec<String>, LoadFault> {
        let mut rows = Vec::new();
        loop {
            match self.next().await? {
                Message(b'Z', _) => return Ok(rows),
                Message(b'E', body) => return Err(self.refused(&body).await),
                Message(b'D', body) => rows.extend(first_field(&body)),
                Message(b'R', body) if !body.starts_with(&[0, 0, 0, 0]) => {
                    return Err(LoadFault::new(
                        "the server asks for a password, which keyspan load does not send".to_string(),
                    ));
                }
                _ => {}
            }
        }
    }

    /// The server's error; the connection is ready again, or lost.
    async fn refused(&mut self, body: &[u8]) -> LoadFault {
        while !matches!(self.next().await, Ok(Message(b'Z', _)) | Err(_)) {}
        fault_of(body)
    }
}

impl Messages {
    /// May be dropped, and nothing is lost.
    async fn next(&mut self) -> Result<Message, LoadFault> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(message);
            }
            let read = self.input.read_buf(&mut self.buffer).await.map_err(lost)?;
            if read == 0 {
                return Err(LoadFault::new("the server closed the connection".to_string()));
            }
        }
    }

    fn take(&mut self) -> Result<Option<Message>, LoadFault> {
        let Some(head) = self.buffer.get(..1 + LENGTH_BYTES) else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if !(LENGTH_BYTES..=MESSAGE_BYTES_MAX).contains(&length) {
            return Err(LoadFault::new("what answers is no server".to_string()));
        }
        if self.buffer.len() < 1 + length {
            return Ok(None);
        }
        let mut whole = self.buffer.split_to(1 + length).freeze();
        let kind = whole.get_u8();
        whole.advance(LENGTH_BYTES);
        Ok(Some(Message(kind, whole)))
    }
}

/// What an ErrorResponse or a NoticeResponse says.
fn fault_of(body: &[u8]) -> LoadFault {
    let mut fault = LoadFault::default();
    for field in body.split(|byte| *byte == 0) {
        let Some((kind, value)) = field.split_first() else {
            continue;
        };
        let value = text(value);
        match kind {
            b'M' => fault.message = value,
            b'C' => fault.told.sqlstate = Some(value),
            b'D' => fault.told.detail = Some(value),
            b'H' => fault.told.hint = Some(value),
            b'W' => fault.told.context = Some(value),
            _ => {}
        }
    }
    fault
}

/// Of a DataRow.
fn first_field(body: &[u8]) -> Option<String> {
    let mut rest = body.get(2..)?;
    let length = usize::try_from(i32::from_be_bytes(rest.get(..4)?.try_into().ok()?)).ok()?;
    rest = &rest[4..];
    rest.get(..length).map(text)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches('\0').to_string()
}

fn lost(error: std::io::Error) -> LoadFault {
    LoadFault::of_io("go on: the connection is lost", &error)
}
