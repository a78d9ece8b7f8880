//! `ConstantAnswer`: a server's side of the protocol without a server behind it: every statement has the same result. What
//! a statement costs beyond it is Keyspan's; the benchmark shows it as the floor.

use bytes::Bytes;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::data::ParameterDescription;
use pgwire::messages::extendedquery::{BindComplete, CloseComplete, ParseComplete};
use pgwire::messages::response::{CommandComplete, ReadyForQuery, TransactionStatus};
use pgwire::messages::startup::{Authentication, BackendKeyData, SecretKey};
use tokio::net::{TcpListener, TcpStream};

use super::input::Input;
use super::message::{self, Message, Target, violation};
use super::output::Output;
use super::rows::{RowsEncoder, put_row_description};
use super::startup::{self, Request};
use crate::Result;
use crate::scan::{OutputColumn, Rows};
use crate::types::FormatSettings;

/// The longest message that it reads.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// The result of every statement.
#[derive(Debug, Clone)]
pub struct ConstantAnswer {
    columns: Vec<OutputColumn>,
    rows: Rows,
}

impl ConstantAnswer {
    /// Rows of these columns, whose arrays carry the columns' types.
    pub fn new(columns: Vec<OutputColumn>, rows: Rows) -> ConstantAnswer {
        ConstantAnswer { columns, rows }
    }

    /// Gives it to every client of the listener, until the task is dropped.
    pub async fn serve(self, listener: TcpListener) {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = self.clone();
            tokio::spawn(async move {
                if let Err(error) = answer.serve_client(stream).await {
                    tracing::debug!(%error, "a client of the constant answer ends");
                }
            });
        }
    }

    async fn serve_client(&self, stream: TcpStream) -> Result<()> {
        let _ = stream.set_nodelay(true);
        let (reader, writer) = stream.into_split();
        let (mut input, mut output) = (Input::new(reader), Output::new(writer));
        while let Some(request) = startup::read_request(&mut input).await? {
            match request {
                Request::Encryption => output.buffer().push(b'N'),
                Request::Cancel { .. } => return Ok(()),
                Request::Session(_) => {
                    greet(&mut output)?;
                    break;
                }
            }
            output.drain().await?;
        }
        output.drain().await?;
        let mut parameters = Vec::new();
        while let Some(frame) = input.frame(MESSAGE_BYTES_MAX).await? {
            let ends_exchange = matches!(frame.kind, b'Q' | b'S' | b'H');
            match message::decode(frame.kind, frame.body, output.encoding())? {
                Message::Terminate => return Ok(()),
                Message::Parse { types, .. } => {
                    parameters = types;
                    output.message(&PgWireBackendMessage::ParseComplete(ParseComplete::new()))?;
                }
                other => self.answer(other, &parameters, &mut output).await?,
            }
            if ends_exchange || output.is_full() {
                output.drain().await?;
            }
        }
        Ok(())
    }

    /// Puts the answer to a message into the output.
    async fn answer(&self, message: Message, parameters: &[u32], output: &mut Output) -> Result<()> {
        match message {
            Message::Query { .. } => {
                self.put_columns(output);
                self.put_rows(output).await?;
                put_ready(output)
            }
            Message::Bind(_) => output.message(&PgWireBackendMessage::BindComplete(BindComplete::new())),
            Message::Describe { target, .. } => {
                if target == Target::Statement {
                    let types = ParameterDescription::new(parameters.to_vec());
                    output.message(&PgWireBackendMessage::ParameterDescription(types))?;
                }
                self.put_columns(output);
                Ok(())
            }
            Message::Execute { .. } => self.put_rows(output).await,
            Message::Close { .. } => {
                output.message(&PgWireBackendMessage::CloseComplete(CloseComplete::new()))
            }
            Message::Sync => put_ready(output),
            Message::Flush => Ok(()),
            other => Err(violation(format!("no answer to {other:?}"))),
        }
    }

    fn put_columns(&self, output: &mut Output) {
        put_row_description(&self.columns, &[], output);
    }

    /// All rows, in text.
    async fn put_rows(&self, output: &mut Output) -> Result<()> {
        let settings = FormatSettings::default();
        let mut encoder = RowsEncoder::new(
            &self.columns,
            self.rows.clone(),
            &[],
            &settings,
            output.encoding(),
        )?;
        while encoder.encode(output)? {
            output.drain().await?;
        }
        let tag = format!("SELECT {}", self.rows.num_rows());
        output.message(&PgWireBackendMessage::CommandComplete(CommandComplete::new(tag)))
    }
}

fn greet(output: &mut Output) -> Result<()> {
    output.message(&PgWireBackendMessage::Authentication(Authentication::Ok))?;
    let key = BackendKeyData::new(1, SecretKey::Bytes(Bytes::from_static(&[0; 4])));
    output.message(&PgWireBackendMessage::BackendKeyData(key))?;
    put_ready(output)
}

fn put_ready(output: &mut Output) -> Result<()> {
    let ready = ReadyForQuery::new(TransactionStatus::Idle);
    output.message(&PgWireBackendMessage::ReadyForQuery(ready))
}
