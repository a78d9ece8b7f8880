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
    /// The OIDs of the result's types.
    pub(crate) types: Vec<u32>,
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

/// A row as it came.
type RawRow = Vec<Option<Vec<u8>>>;

/// How many parameters a statement may have.
const PARAMETERS_MAX: usize = 60_000;

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

    /// The rows of one statement by way of the binary format: each value is asked for in it, and sent back in it as a
    /// parameter of the same type, which is answered as text.
    pub(crate) async fn rows_by_binary(
        &mut self,
        sql: &str,
    ) -> Result<Vec<Vec<Option<String>>>, ServerError> {
        let none: [Option<Vec<u8>>; 0] = [];
        self.send_typed(sql, &[], none, 1).await?;
        let (reply, rows) = self.messages().await?;
        let mut texts = Vec::with_capacity(rows.len());
        for rows in rows.chunks(PARAMETERS_MAX / reply.types.len().max(1)) {
            let types = reply.types.repeat(rows.len());
            let items: Vec<String> = (1..=types.len()).map(|number| format!("${number}")).collect();
            let back = format!("SELECT {}", items.join(", "));
            self.send_typed(&back, &types, rows.concat(), 0).await?;
            let row = self.reply().await?.rows.concat();
            texts.extend(row.chunks(reply.types.len().max(1)).map(<[_]>::to_vec));
        }
        Ok(texts)
    }

    /// Sends a statement with parameters in the binary format.
    async fn send_typed(
        &mut self,
        sql: &str,
        types: &[u32],
        values: impl IntoIterator<Item = Option<Vec<u8>>>,
        result_format: i16,
    ) -> Result<(), ServerError> {
        let mut out = BytesMut::new();
        frontend::parse("", sql, types.iter().copied(), &mut out)?;
        let put = |value: Option<Vec<u8>>, out: &mut BytesMut| match value {
            None => Ok(IsNull::Yes),
            Some(value) => {
                out.extend_from_slice(&value);
                Ok(IsNull::No)
            }
        };
        frontend::bind("", "", [1], values, put, [result_format], &mut out)
            .map_err(|_| io::Error::other("the statement holds a zero byte"))?;
        frontend::describe(b'P', "", &mut out)?;
        frontend::execute("", 0, &mut out)?;
        frontend::sync(&mut out);
        Ok(self.stream.write_all(&out).await?)
    }

    /// Says good-bye, so that the server sees no broken connection.
    pub(crate) async fn close(mut self) {
        let mut out = BytesMut::new();
        frontend::terminate(&mut out);
        let _ = self.stream.write_all(&out).await;
    }

    /// Reads up to ReadyForQuery: rows as text.
    async fn reply(&mut self) -> Result<Reply, ServerError> {
        let (mut reply, rows) = self.messages().await?;
        let cell = |bytes: Option<Vec<u8>>| bytes.map(String::from_utf8).transpose();
        let rows = rows.into_iter().map(|row| row.into_iter().map(cell).collect());
        reply.rows = rows.collect::<Result<_, _>>().map_err(io::Error::other)?;
        Ok(reply)
    }

    /// Reads up to ReadyForQuery: what was replied but for its rows, and those as they came.
    async fn messages(&mut self) -> Result<(Reply, Vec<RawRow>), ServerError> {
        let mut reply = Reply::default();
        let mut rows: Vec<RawRow> = Vec::new();
        let mut columns = None;
        let mut error: Option<ServerError> = None;
        loop {
            let message = match self.message().await {
                Ok(message) => message,
                // What ends the connection is told before it ends.
                Err(broken) => return Err(error.unwrap_or_else(|| broken.into())),
            };
            match message {
                Message::RowDescription(body) => {
                    let fields: Vec<(String, u32)> = body
                        .fields()
                        .map(|field| Ok((field.name().to_string(), field.type_oid())))
                        .collect()?;
                    reply.types = fields.iter().map(|(_, oid)| *oid).collect();
                    columns = Some(fields.into_iter().map(|(name, _)| name).collect());
                    rows.clear();
                }
                Message::DataRow(body) => {
                    let bytes = body.buffer();
                    let cell = |at: Option<std::ops::Range<usize>>| Ok(at.map(|at| bytes[at].to_vec()));
                    rows.push(body.ranges().map(cell).collect()?);
                }
                Message::CommandComplete(body) => {
                    reply.tag = body.tag()?.to_string();
                    reply.columns = columns.take();
                }
                Message::NoticeResponse(body) => reply.notices.push(notice(body.fields())?),
                Message::ErrorResponse(body) => error = Some(server_error(body.fields())?),
                Message::ReadyForQuery(_) => return error.map_or(Ok((reply, rows)), Err),
                Message::AuthenticationOk
                | Message::BackendKeyData(_)
                | Message::ParameterStatus(_)
                | Message::ParseComplete
                | Message::BindComplete
                | Message::NoData
                | Message::EmptyQueryResponse => {}
                _ => return Err(io::Error::other("a message that this client does not expect").into()),
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
