//! `Responder`: answers one client's messages: the session that runs statements and the output that carries what they
//! give. What both protocols share stands here; `simple` and `extended` add the rest.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::response::{
    CommandComplete, EmptyQueryResponse, NotificationResponse, ReadyForQuery, TransactionStatus as Status,
};
use pgwire::messages::startup::ParameterStatus;

use super::copy_messages::CopyMessages;
use super::output::Output;
use super::report::{error_response, notice_response};
use super::rows::{RowsEncoder, put_row_description};
use super::state::State;
use super::statement_log::log_failure;
use crate::scan::{OutputColumn, Rows};
use crate::session::{Cause, Interrupt, Reply, RowStream, Session, TransactionStatus};
use crate::sql::Statement;
use crate::system::{Notices, Parameters, Settings};
use crate::types::WireFormat;
use crate::{Error, Result};

/// Answers one client's messages. Every method's error is fatal: the connection ends with it.
pub(super) struct Responder {
    pub(super) session: Session,
    pub(super) output: Output,
    /// Where the connection stands.
    pub(super) state: State,
    /// What the client sends to a COPY.
    pub(super) copy_messages: CopyMessages,
    interrupt: Arc<Interrupt>,
    /// What the session's statements tell beside their results.
    notices: Arc<Notices>,
    /// The settings as the client was last told of them.
    told: Option<Arc<Settings>>,
}

/// Whether the connection ends with this error, rather than the statement.
pub(super) fn is_fatal(error: &Error) -> bool {
    matches!(
        error,
        Error::Shutdown | Error::ClientGone | Error::IdleTimeout { .. }
    )
}

impl Responder {
    pub(super) fn new(
        session: Session,
        output: Output,
        state: State,
        copy_messages: CopyMessages,
    ) -> Responder {
        let (interrupt, notices) = (session.interrupt().clone(), session.notices().clone());
        let mut output = output;
        output.wait_at(session.durability_barrier());
        Responder {
            session,
            output,
            state,
            copy_messages,
            interrupt,
            notices,
            told: None,
        }
    }

    /// Reports an error of a statement: its transaction fails with it. Errors: one that ends the connection.
    pub(super) fn report(&mut self, error: Error) -> Result<()> {
        self.session.fail();
        if is_fatal(&error) {
            return Err(error);
        }
        self.send_notices()?;
        log_failure(self.session.process_id(), &error);
        self.output.message(&error_response(&error, false))
    }

    /// Sends the notices raised since the last call.
    pub(super) fn send_notices(&mut self) -> Result<()> {
        self.output.speak(self.session.settings().client_encoding);
        put_notices(&mut self.output, &self.notices)
    }

    /// Runs a statement, as [`Session::run`]; what it raises is sent as it comes.
    pub(super) async fn run(
        &mut self,
        statement: &Arc<Statement>,
        parameters: Parameters,
        described: Option<&[OutputColumn]>,
    ) -> Result<Reply> {
        let work = pin!(self.session.run(statement, parameters, described));
        attended(&mut self.output, &self.notices, &self.interrupt, work).await
    }

    /// Ends a result, as [`Session::complete`].
    pub(super) async fn complete_rows(&mut self, rows: RowStream) -> Result<String> {
        let work = pin!(self.session.complete(rows));
        attended(&mut self.output, &self.notices, &self.interrupt, work).await
    }

    /// As [`Session::close_implicit`].
    pub(super) async fn close_implicit(&mut self) -> Result<()> {
        let work = pin!(self.session.close_implicit());
        attended(&mut self.output, &self.notices, &self.interrupt, work).await
    }

    /// ParameterStatus for what has changed, then ReadyForQuery.
    pub(super) fn send_ready(&mut self) -> Result<()> {
        self.send_notices()?;
        self.send_settings()?;
        let status = match self.session.status() {
            TransactionStatus::Idle => {
                self.send_notifications()?;
                Status::Idle
            }
            TransactionStatus::InBlock => Status::Transaction,
            TransactionStatus::Failed => Status::Error,
        };
        self.session.idles();
        self.output
            .message(&PgWireBackendMessage::ReadyForQuery(ReadyForQuery::new(status)))
    }

    /// NotificationResponse for what the session was told since the last call.
    pub(super) fn send_notifications(&mut self) -> Result<()> {
        let inbox = Arc::clone(self.session.shared().channels.inbox());
        if !inbox.is_filled() {
            return Ok(());
        }
        for told in inbox.take() {
            let response = NotificationResponse::new(
                told.process_id,
                told.channel.to_string(),
                told.payload.to_string(),
            );
            self.output
                .message(&PgWireBackendMessage::NotificationResponse(response))?;
        }
        Ok(())
    }

    /// Sends everything in the output, stopped by whatever stops the session. Errors: 57P01, 08006.
    pub(super) async fn drain(&mut self) -> Result<()> {
        self.interrupt.guard(None, self.output.drain()).await
    }

    pub(super) fn send_tag(&mut self, tag: String) -> Result<()> {
        self.output
            .message(&PgWireBackendMessage::CommandComplete(CommandComplete::new(tag)))
    }

    pub(super) fn send_empty_query(&mut self) -> Result<()> {
        self.output.message(&PgWireBackendMessage::EmptyQueryResponse(
            EmptyQueryResponse::new(),
        ))
    }

    /// RowDescription. `formats`: that of each column; text where it says nothing.
    pub(super) fn send_columns(&mut self, columns: &[OutputColumn], formats: &[WireFormat]) {
        put_row_description(columns, formats, &mut self.output);
    }

    /// Sends rows, at most `rows_max`; whether the result is at its end. A piece is asked for only when the rows of the
    /// last one have left; what is in the output goes while the next piece is waited for.
    pub(super) async fn send_rows(
        &mut self,
        rows: &mut RowStream,
        formats: &[WireFormat],
        rows_max: Option<usize>,
    ) -> Result<bool> {
        let mut left = rows_max.unwrap_or(usize::MAX);
        let settings = self.session.settings().format();
        while left > 0 {
            let Some(piece) = self.next_piece(rows, left).await? else {
                return Ok(true);
            };
            left -= piece.num_rows();
            let columns = rows.columns.clone();
            let mut encoder = RowsEncoder::new(&columns, piece, formats, &settings, self.output.encoding())?;
            loop {
                let more = encoder.encode(&mut self.output)?;
                if self.output.is_full() {
                    self.interrupt.guard(rows.deadline(), self.output.drain()).await?;
                }
                if !more {
                    break;
                }
            }
        }
        Ok(false)
    }

    /// The next rows, waiting for which what is in the output goes.
    pub(super) async fn next_piece(&mut self, rows: &mut RowStream, wanted: usize) -> Result<Option<Rows>> {
        let deadline = rows.deadline();
        let interrupt = self.interrupt.clone();
        let mut next = pin!(rows.next(&interrupt, wanted));
        // A scan yields between its pages: only one that still has nothing after a turn of the others really waits.
        for _ in 0..2 {
            if let Poll::Ready(piece) = futures::poll!(&mut next) {
                return with_notices(&mut self.output, &self.notices, piece);
            }
            tokio::task::yield_now().await;
        }
        if !self.output.is_empty() {
            interrupt.guard(deadline, self.output.drain()).await?;
        }
        let piece = attended(&mut self.output, &self.notices, &interrupt, next).await;
        with_notices(&mut self.output, &self.notices, piece)
    }

    /// Sends what is in the output if that is much: a client that asks for more before it waits for an answer has it on its way.
    pub(super) async fn drain_if_full(&mut self) -> Result<()> {
        match self.output.is_full() {
            true => self.drain().await,
            false => Ok(()),
        }
    }

    /// ParameterStatus for every reported setting that the client does not know as it is.
    pub(super) fn send_settings(&mut self) -> Result<()> {
        let now = self.session.settings().clone();
        let told = self.told.replace(now.clone());
        if told.as_ref().is_some_and(|told| Arc::ptr_eq(told, &now)) {
            return Ok(());
        }
        let application = now.get("application_name").unwrap_or_default();
        self.session.shared().set_application(&application);
        let known: Vec<_> = told.iter().flat_map(|told| told.reported()).collect();
        for (index, (name, value)) in now.reported().enumerate() {
            if known.get(index).is_none_or(|(_, known)| *known != value) {
                let status = ParameterStatus::new(name.to_string(), value.to_string());
                self.output
                    .message(&PgWireBackendMessage::ParameterStatus(status))?;
            }
        }
        Ok(())
    }
}

/// Awaits work of a session; what it raises meanwhile is sent as it comes, and who raises more than the client reads waits. The work goes
/// on while it is sent: only its own guard stops it, for it may be committing.
pub(super) async fn attended<T>(
    output: &mut Output,
    notices: &Notices,
    interrupt: &Interrupt,
    mut work: Pin<&mut impl Future<Output = Result<T>>>,
) -> Result<T> {
    // Most work ends at once.
    if let Poll::Ready(done) = futures::poll!(&mut work) {
        return done;
    }
    let attendance = notices.attend();
    let mut is_sending = false;
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            () = notices.filled(), if !is_sending => {
                put_notices(output, notices)?;
                is_sending = true;
            }
            sent = output.drain(), if is_sending => {
                if sent.is_err() {
                    interrupt.raise(Cause::ClientGone);
                    drop(attendance);
                    return work.await;
                }
                is_sending = false;
            }
        }
    }
}

/// Notices go before the rows of a piece. Those of work that has failed stay where they are: it may be done again in another form.
fn with_notices(output: &mut Output, notices: &Notices, piece: Result<Option<Rows>>) -> Result<Option<Rows>> {
    if piece.is_ok() {
        put_notices(output, notices)?;
    }
    piece
}

fn put_notices(output: &mut Output, notices: &Notices) -> Result<()> {
    let mut taken = notices.take().into_iter();
    taken.try_for_each(|notice| output.message(&notice_response(&notice)))
}
