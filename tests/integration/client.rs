//! `TextClient`: a PostgreSQL client that asks for text in both protocols, so that scripts see the same characters
//! either way. Used by `slt` (drivers that hide the text format cannot serve there) and by tests of the protocol.

use std::fmt;
use std::io;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::IsNull;
use postgres_protocol::message::backend::{ErrorFields, Message};
use postgres_protocol::message::frontend;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How a statement is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// One Query message.
    Simple,
    /// Parse, Bind, Describe, Execute, Sync.
    Extended,
}

/// Where a server is and as whom to speak to it.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// `host:port`.
    pub(crate) addr: String,
    pub(crate) user: String,
    pub(crate) database: String,
}

/// What the last statement of a message gave.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    /// Names of the result's columns; `None` when the statement has no result.
    pub(crate) columns: Option<Vec<String>>,
    /// Rows as text; `None` is NULL.
    pub(crate) rows: Vec<Vec<Option<String>>>,
    /// The command tag (`INSERT 0 1`).
    pub(crate) tag: String,
    /// `NOTICE: …` and `WARNING: …` lines that came before it.
    pub(crate) notices: Vec<String>,
}

impl Reply {
    /// The number at the end of the command tag.
    pub(crate) fn count(&self) -> u64 {
        self.tag
            .rsplit(' ')
            .next()
            .and_then(|count| count.parse().ok())
            .unwrap_or(0)
    }
}

/// PostgreSQL's SQLSTATE of a connection that broke.
pub(crate) const CONNECTION_FAILURE: &str = "08006";

/// An error as the server reports it, or a broken connection (`CONNECTION_FAILURE`).
#[derive(Debug, Clone, Default)]
pub(crate) struct ServerError {
    pub(crate) sqlstate: String,
    pub(crate) message: String,
    pub(crate) detail: Option<String>,
    pub(crate) hint: Option<String>,
    pub(crate) position: Option<String>,
}

impl std::error::Error for ServerError {}

/// `SQLSTATE: message`, then DETAIL, HINT and POSITION lines: what `statement error <regex>` matches.
impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.sqlstate, self.message)?;
        for (name, text) in [
            ("DETAIL", &self.detail),
            ("HINT", &self.hint),
            ("POSITION", &self.position),
        ] {
            if let Some(text) = text {
                write!(f, "\n{name}: {text}")?;
            }
        }
        Ok(())
    }
}

impl From<io::Error> for ServerError {
    fn from(error: io::Error) -> ServerError {
        ServerError {
            sqlstate: CONNECTION_FAILURE.to_string(),
            message: error.to_string(),
            ..ServerError::default()
        }
    }
}

/// One connection.
pub(crate) struct TextClient {
    stream: TcpStream,
    received: BytesMut,
}

impl TextClient {
    /// Connects without a password.
    pub(crate) async fn connect(target: &Target) -> Result<TextClient, ServerError> {
        let mut client = TextClient {
            stream: TcpStream::connect(&target.addr).await?,
            received: BytesMut::new(),
        };
        let mut out = BytesMut::new();
        let parameters = [
            ("user", target.user.as_str()),
            ("database", target.database.as_str()),
        ];
        frontend::startup_message(parameters, &mut out)?;
        client.stream.write_all(&out).await?;
        client.reply().await?;
        Ok(client)
    }

    /// Runs the text; in the extended protocol it must hold one statement.
    pub(crate) async fn run(&mut self, sql: &str, protocol: Protocol) -> Result<Reply, ServerError> {
        let mut out = BytesMut::new();
        match protocol {
            Protocol::Simple => frontend::query(sql, &mut out)?,
            Protocol::Extended => {
                frontend::parse("", sql, [], &mut out)?;
                let values: [(); 0] = [];
                frontend::bind("", "", [], values, |(), _| Ok(IsNull::Yes), [], &mut out)
                    .map_err(|_| io::Error::other("the statement holds a zero byte"))?;
                frontend::describe(b'P', "", &mut out)?;
                frontend::execute("", 0, &mut out)?;
                frontend::sync(&mut out);
            }
        }
        self.stream.write_all(&out).await?;
        self.reply().await
    }

    /// Says good-bye, so that the server sees no broken connection.
    pub(crate) async fn close(mut self) {
        let mut out = BytesMut::new();
        frontend::terminate(&mut out);
        let _ = self.stream.write_all(&out).await;
    }

    /// Reads up to ReadyForQuery.
    async fn reply(&mut self) -> Result<Reply, ServerError> {
        let mut reply = Reply::default();
        let mut columns = None;
        let mut error: Option<ServerError> = None;
        loop {
            match self.message().await? {
                Message::RowDescription(body) => {
                    columns = Some(
                        body.fields()
                            .map(|field| Ok(field.name().to_string()))
                            .collect()?,
                    );
                    reply.rows.clear();
                }
                Message::DataRow(body) => {
                    let bytes = body.buffer();
                    let cell = |at: Option<std::ops::Range<usize>>| {
                        at.map(|at| String::from_utf8(bytes[at].to_vec()))
                            .transpose()
                            .map_err(io::Error::other)
                    };
                    reply.rows.push(body.ranges().map(cell).collect()?);
                }
                Message::CommandComplete(body) => {
                    reply.tag = body.tag()?.to_string();
                    reply.columns = columns.take();
                }
                Message::NoticeResponse(body) => reply.notices.push(notice(body.fields())?),
                Message::ErrorResponse(body) => error = Some(server_error(body.fields())?),
                Message::ReadyForQuery(_) => return error.map_or(Ok(reply), Err),
                Message::AuthenticationOk
                | Message::BackendKeyData(_)
                | Message::ParameterStatus(_)
                | Message::ParseComplete
                | Message::BindComplete
                | Message::NoData
                | Message::EmptyQueryResponse => {}
                _ => return Err(io::Error::other("a message that this client does not expect").into()),
            }
            // The server ends a connection it refuses after the error, without ReadyForQuery.
            if let Some(fatal) =
                error.take_if(|error| error.sqlstate.starts_with("28") || error.sqlstate == "3D000")
            {
                return Err(fatal);
            }
        }
    }

    /// The next message.
    async fn message(&mut self) -> io::Result<Message> {
        loop {
            if let Some(message) = Message::parse(&mut self.received)? {
                return Ok(message);
            }
            if self.stream.read_buf(&mut self.received).await? == 0 {
                return Err(io::Error::other("the server closed the connection"));
            }
        }
    }
}

/// The fields of an ErrorResponse.
fn server_error(mut fields: ErrorFields<'_>) -> io::Result<ServerError> {
    let mut error = ServerError::default();
    while let Some(field) = fields.next()? {
        let text = String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'C' => error.sqlstate = text,
            b'M' => error.message = text,
            b'D' => error.detail = Some(text),
            b'H' => error.hint = Some(text),
            b'P' => error.position = Some(text),
            _ => {}
        }
    }
    Ok(error)
}

/// A notice as psql prints its first line, and its HINT.
fn notice(mut fields: ErrorFields<'_>) -> io::Result<String> {
    let (mut severity, mut message, mut hint) = (String::new(), String::new(), String::new());
    while let Some(field) = fields.next()? {
        let text = String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'S' => severity = text,
            b'M' => message = text,
            b'H' => hint = format!(" HINT: {text}"),
            _ => {}
        }
    }
    Ok(format!("{severity}: {message}{hint}"))
}
