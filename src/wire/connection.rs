//! `Connection`: one client from its first byte to its last: start-up, then message after message, then goodbye.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use pgwire::messages::PgWireBackendMessage;
use pgwire::messages::startup::{Authentication, BackendKeyData, NegotiateProtocolVersion, SecretKey};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::OwnedSemaphorePermit;

use super::authentication::authenticate;
use super::copy_messages::{CopySource, copy_messages};
use super::input::{Frame, Input};
use super::listening::Listening;
use super::message::{self, Message, is_extended, violation};
use super::output::Output;
use super::report::error_response;
use super::responder::Responder;
use super::startup::{self, Request, Startup};
use super::startups::Place;
use super::state::State;
use crate::session::{Cause, Identity, Session, TransactionStatus};
use crate::system::TcpEnds;
use crate::{Error, Result};

/// How long a client may take over start-up.
pub(super) const STARTUP_TIME_MAX: Duration = Duration::from_secs(60);
/// How long a connection that ends with an error is kept for the client to read it.
const FAREWELL_TIME_MAX: Duration = Duration::from_secs(2);
/// How long an Execute waits for what follows it: most clients send Sync with it, the others wait for no answer yet.
const FOLLOWER_TIME_MAX: Duration = Duration::from_millis(20);
/// How long a statement goes on whose client sends nothing any more. It may still read; if it does not, writing to it fails.
const HALF_CLOSED_TIME_MAX: Duration = Duration::from_secs(5);
/// Requests for encryption that a client may make before it takes no for an answer.
const ENCRYPTION_REQUESTS_MAX: usize = 2;

/// Serves a client until it goes, an error ends the connection, or the server ends. The halves of its stream are read and
/// written independently of each other; what is no socket is cut in two by `tokio::io::split`. `place`: where it stands in
/// line until it has a session.
pub(super) async fn serve(
    (reader, writer): (
        impl AsyncRead + Send + Unpin + 'static,
        impl AsyncWrite + Send + Unpin + 'static,
    ),
    client: Option<TcpEnds>,
    listening: Arc<Listening>,
    place: Place,
) {
    let (input, output) = (Input::new(reader), Output::new(writer));
    let begun = tokio::select! {
        begun = begin(input, output, client, &listening) => begun,
        () = place.lost() => None,
    };
    drop(place);
    if let Some(begun) = begun {
        Box::pin(Connection::run(begun, listening)).await;
    }
}

/// A connection whose start-up is done.
struct Begun {
    input: Input,
    output: Output,
    startup: Startup,
    session: Session,
    /// Its place among the sessions.
    _place: OwnedSemaphorePermit,
}

/// From the first byte to a session; `None` when there is none to serve, and the client has been told why.
async fn begin(
    mut input: Input,
    mut output: Output,
    client: Option<TcpEnds>,
    listening: &Listening,
) -> Option<Begun> {
    let started = tokio::time::timeout(STARTUP_TIME_MAX, start(&mut input, &mut output, listening));
    let opened = match started.await {
        Ok(Ok(Some(_))) if is_readable(client, listening) => Err(Error::InvalidAuthorization {
            message: "connections from other machines are encrypted here, and this one is not".to_string(),
        }),
        Ok(Ok(Some(startup))) => match authenticated(&mut input, &mut output, listening, &startup).await {
            Ok(place) => {
                let opened = open_session(&startup, client, listening).await;
                opened.map(|session| (startup, session, place))
            }
            Err(error) => Err(error),
        },
        Ok(Ok(None)) | Err(_) => return None,
        Ok(Err(error)) => Err(error),
    };
    match opened {
        Ok((startup, session, place)) => Some(Begun {
            input,
            output,
            startup,
            session,
            _place: place,
        }),
        Err(error) => {
            say_farewell(input, output, &error).await;
            None
        }
    }
}

/// Whether others may read what is said, though the server could encrypt it.
fn is_readable(client: Option<TcpEnds>, listening: &Listening) -> bool {
    let is_open = |ends: TcpEnds| !ends.is_encrypted && !ends.client.ip().is_loopback();
    listening.tls.is_some() && client.is_some_and(is_open)
}

/// A place among the sessions for a client that is who it says. Errors: as [`authenticate`]; 53300.
async fn authenticated(
    input: &mut Input,
    output: &mut Output,
    listening: &Listening,
    startup: &Startup,
) -> Result<OwnedSemaphorePermit> {
    let asked = authenticate(input, output, &listening.databases, startup);
    match tokio::time::timeout(STARTUP_TIME_MAX, asked).await {
        Ok(known) => known?,
        Err(_) => return Err(Error::ClientGone),
    }
    let place = listening.places.clone().try_acquire_owned();
    place.map_err(|_| Error::TooManyClients)
}

/// Reads requests until one is for a session; `None` when there is none to serve.
async fn start(input: &mut Input, output: &mut Output, listening: &Listening) -> Result<Option<Startup>> {
    for _ in 0..=ENCRYPTION_REQUESTS_MAX {
        let request = tokio::select! {
            request = startup::read_request(input) => request?,
            () = listening.ending.cancelled() => return Err(Error::Shutdown),
        };
        match request {
            Some(Request::Encryption) => {
                output.buffer().push(b'N');
                output.drain().await?;
            }
            Some(Request::Cancel { process_id, secret }) => {
                listening.sessions.cancel(process_id, &secret);
                return Ok(None);
            }
            Some(Request::Session(startup)) => return Ok(Some(startup)),
            None => return Ok(None),
        }
    }
    Err(violation("encryption is not supported"))
}

async fn open_session(startup: &Startup, client: Option<TcpEnds>, listening: &Listening) -> Result<Session> {
    let identity = Identity {
        user: startup.user.clone(),
        database: startup.database.clone(),
        process_id: listening.next_process_id(),
        client,
    };
    listening
        .databases
        .open_session(identity, &startup.settings)
        .await
}

/// Sends the error that ends a connection, and waits a little for the client to read it: a socket closed with unread
/// bytes in it would take the error along.
async fn say_farewell(mut input: Input, mut output: Output, error: &Error) {
    if *error == Error::ClientGone {
        return;
    }
    let farewell = async {
        output.message(&error_response(error, true))?;
        output.drain().await?;
        output.close().await;
        input.discard().await;
        Ok::<(), Error>(())
    };
    // Whether the client reads it or not, the connection is over.
    let _ = tokio::time::timeout(FAREWELL_TIME_MAX, farewell).await;
}

/// One client whose session has begun.
struct Connection {
    input: Input,
    responder: Responder,
    /// Gives a COPY the client's messages.
    copy_source: CopySource,
    listening: Arc<Listening>,
}

impl Connection {
    async fn run(begun: Begun, listening: Arc<Listening>) {
        let Begun {
            input,
            output,
            startup,
            session,
            _place,
        } = begun;
        // Protocol 3.0 has room for four bytes, 3.2 for more.
        let secret_bytes = if startup.minor >= 2 { 32 } else { 4 };
        let secret: Bytes = (0..secret_bytes).map(|_| rand::random::<u8>()).collect();
        let process_id = session.process_id();
        let interrupt = session.interrupt().clone();
        tracing::debug!(
            process_id,
            user = &*startup.user,
            database = &*startup.database,
            "a connection begins"
        );
        let _registration = listening.sessions.register(process_id, secret.clone(), interrupt);
        let mut state = State::StartUp;
        state.enter(State::Authentication);
        let (messages, copy_source) = copy_messages();
        let mut connection = Connection {
            input,
            responder: Responder::new(session, output, state, messages),
            copy_source,
            listening,
        };
        let ended = match connection.greet(&startup, process_id, secret).await {
            Ok(()) => Box::pin(connection.serve_messages()).await,
            Err(error) => Err(error),
        };
        // A transaction that is open is forgotten with the session, and its snapshot with it.
        connection.responder.state.enter(State::Closing);
        let Connection { input, responder, .. } = connection;
        let Responder { session, output, .. } = responder;
        drop(session);
        match ended {
            Ok(()) => tracing::debug!(process_id, "a connection ends"),
            Err(error) => {
                tracing::debug!(process_id, sqlstate = error.sqlstate(), %error, "a connection ends");
                say_farewell(input, output, &error).await;
            }
        }
    }

    async fn greet(&mut self, startup: &Startup, process_id: i32, secret: Bytes) -> Result<()> {
        let output = &mut self.responder.output;
        if startup.negotiate {
            let version = (3 << 16) | i32::from(startup.minor);
            let negotiate = NegotiateProtocolVersion::new(version, startup.unknown_options.clone());
            output.message(&PgWireBackendMessage::NegotiateProtocolVersion(negotiate))?;
        }
        output.message(&PgWireBackendMessage::Authentication(Authentication::Ok))?;
        self.responder.send_settings()?;
        let key = BackendKeyData::new(process_id, SecretKey::Bytes(secret));
        self.responder
            .output
            .message(&PgWireBackendMessage::BackendKeyData(key))?;
        self.responder.send_ready()?;
        self.responder.state.enter(State::Idle);
        self.responder.drain().await
    }

    /// Answers messages until the client goes. Errors: what ends the connection.
    async fn serve_messages(&mut self) -> Result<()> {
        loop {
            let Some(frame) = self.next_frame().await? else {
                return Ok(());
            };
            let kind = frame.kind;
            let encoding = self.responder.session.settings().client_encoding;
            let message = match message::decode(kind, frame.body, encoding) {
                Ok(message) => message,
                Err(error) if matches!(error.sqlstate(), "22021" | "22P05") => {
                    self.refuse(kind, error).await?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            if message == Message::Terminate {
                return Ok(());
            }
            if !self.responder.state.takes(&message) {
                return Err(violation(format!("invalid frontend message type {kind}")));
            }
            self.answer(kind, message).await?;
        }
    }

    /// The next message, awaited as long as the server runs and the session's time limits allow.
    async fn next_frame(&mut self) -> Result<Option<Frame>> {
        let settings = self.responder.session.settings();
        let in_transaction = self.responder.session.status() != TransactionStatus::Idle;
        let limit_ms = match in_transaction {
            true => settings.idle_in_transaction_timeout_ms,
            false => settings.idle_session_timeout_ms,
        };
        let bytes_max = settings.message_bytes_max;
        let shared = Arc::clone(self.responder.session.shared());
        let mut idle_too_long = pin!(sleep_unless_zero(limit_ms));
        loop {
            tokio::select! {
                biased;
                // Often it has arrived already; a server that ends stops the statement instead.
                frame = self.input.frame(bytes_max) => return frame,
                () = self.listening.ending.cancelled() => return Err(Error::Shutdown),
                () = shared.interrupt.ended() => return Err(Error::Shutdown),
                () = &mut idle_too_long => return Err(Error::IdleTimeout { in_transaction }),
                () = shared.channels.inbox().filled(), if !in_transaction => {}
            }
            self.responder.send_notifications()?;
            self.responder.drain().await?;
        }
    }

    /// Answers a message; cancel requests count from its beginning to its end.
    async fn answer(&mut self, kind: u8, message: Message) -> Result<()> {
        if Responder::is_at_once(&message) {
            let answered = catch_unwind(AssertUnwindSafe(|| self.responder.extended_at_once(message)));
            answered.unwrap_or_else(|_| Err(bug()))?;
            return self.responder.drain_if_full().await;
        }
        // An Execute that Sync follows is a transaction of its own, which can be run again when it loses a race.
        let alone = match message {
            Message::Execute { .. } if self.responder.state == State::Idle => self.next_is_sync().await,
            _ => false,
        };
        let interrupt = self.responder.session.interrupt().clone();
        if self.responder.state == State::Idle {
            self.responder.state.enter(State::Executing);
        }
        interrupt.begin();
        let ends_exchange = matches!(kind, b'Q' | b'S' | b'F');
        self.copy_source.clear();
        self.responder.copy_messages.clear();
        let message_bytes_max = self.responder.session.settings().message_bytes_max;
        let answered = {
            let mut work = pin!(respond(&mut self.responder, message, alone));
            let client = Client {
                input: &mut self.input,
                copy_source: &mut self.copy_source,
                message_bytes_max,
            };
            AssertUnwindSafe(while_connected(client, &interrupt, work.as_mut()))
                .catch_unwind()
                .await
        };
        interrupt.end();
        if self.responder.state == State::Executing {
            self.responder.state.enter(State::Idle);
        }
        // A bug in us: this client hears of it and loses its connection; the others go on.
        answered.unwrap_or_else(|_| Err(bug()))?;
        if ends_exchange {
            self.responder.drain().await
        } else {
            self.responder.drain_if_full().await
        }
    }

    /// Whether Sync follows soon, or nothing any more. A client may well wait for what Execute does before it sends more.
    async fn next_is_sync(&mut self) -> bool {
        tokio::select! {
            biased;
            kind = self.input.peek_kind() => matches!(kind, Some(b'S') | None),
            () = tokio::time::sleep(FOLLOWER_TIME_MAX) => false,
        }
    }

    /// Reports a message that could be cut but not read.
    async fn refuse(&mut self, kind: u8, error: Error) -> Result<()> {
        if is_extended(kind) {
            if self.responder.state != State::Failed {
                self.responder.state.enter(State::Failed);
                self.responder.report(error)?;
            }
            return Ok(());
        }
        self.responder.report(error)?;
        self.responder.send_ready()?;
        self.responder.drain().await
    }
}

/// Answers a message. `alone`: as `Responder::extended`.
async fn respond(responder: &mut Responder, message: Message, alone: bool) -> Result<()> {
    match message {
        Message::Query { text } => responder.query(&text).await,
        Message::FunctionCall(call) => responder.function_call(call).await,
        // As PostgreSQL does: a client may not have heard yet that its COPY has failed.
        Message::Copy => Ok(()),
        message => responder.extended(message, alone).await,
    }
}

/// What a client is told of a panic, whose text the log has.
fn bug() -> Error {
    Error::internal("the statement met a bug in the server; see its log")
}

/// Waits this long; for ever when there is no limit.
async fn sleep_unless_zero(limit_ms: u64) {
    match limit_ms {
        0 => std::future::pending().await,
        _ => tokio::time::sleep(Duration::from_millis(limit_ms)).await,
    }
}

/// What comes from a client while a message of its is answered.
struct Client<'a> {
    input: &'a mut Input,
    copy_source: &'a mut CopySource,
    message_bytes_max: usize,
}

/// Ends when a client has gone, or has sent its last and had time enough to be answered.
async fn gone(input: &mut Input) {
    input.closed().await;
    if !input.is_broken() {
        tokio::time::sleep(HALF_CLOSED_TIME_MAX).await;
    }
}

/// Runs `work`, gives it the messages that it asks for, and stops what the session runs when the client goes meanwhile, or sends
/// what ends the connection.
async fn while_connected(
    client: Client<'_>,
    interrupt: &crate::session::Interrupt,
    mut work: Pin<&mut impl Future<Output = Result<()>>>,
) -> Result<()> {
    loop {
        tokio::select! {
            biased;
            result = &mut work => return result,
            () = client.copy_source.asked() => {}
            () = gone(client.input) => break,
        }
        let message = tokio::select! {
            biased;
            result = &mut work => return result,
            message = client.input.copy_message(client.message_bytes_max) => message,
        };
        match message {
            Ok(Some(message)) => client.copy_source.answer(message).await,
            Ok(None) => break,
            Err(error) => {
                interrupt.raise(Cause::ClientGone);
                let _ = work.await;
                return Err(error);
            }
        }
    }
    interrupt.raise(Cause::ClientGone);
    // Ends soon, unless it is committing: then it ends with the commit.
    work.await
}

#[cfg(test)]
mod tests {
    use bytes::{BufMut, BytesMut};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
    use tokio::task::JoinHandle;

    use super::super::descriptors::ConnectionLimits;
    use super::*;
    use crate::session::{Databases, Instance};
    use crate::store::StoreOptions;
    use crate::store::memory::MemoryEngine;
    use crate::store::mvcc::MvccStore;
    use crate::system::Settings;

    /// A client of a connection over a stream that is no socket.
    struct Client {
        stream: DuplexStream,
        served: JoinHandle<()>,
    }

    impl Client {
        /// The stream holds few bytes, so that messages come and go in pieces.
        async fn start() -> Client {
            let store =
                MvccStore::open(Arc::new(MemoryEngine::new()), &StoreOptions::default(), None).unwrap();
            let instance = Arc::new(Instance::new(Arc::new(store), Settings::default()));
            let listening = Arc::new(Listening::new(
                Databases::untended(instance),
                ConnectionLimits::from_system(2),
                None,
            ));
            let place = listening.startups.enter();
            let (stream, theirs) = tokio::io::duplex(16);
            let served = tokio::spawn(serve(tokio::io::split(theirs), None, listening, place));
            let mut client = Client { stream, served };
            let mut packet = BytesMut::new();
            packet.put_u32(196_608);
            packet.put_slice(b"user\0u\0\0");
            client.stream.write_u32(packet.len() as u32 + 4).await.unwrap();
            client.stream.write_all(&packet).await.unwrap();
            client
        }

        async fn send(&mut self, kind: u8, body: &[u8]) {
            self.stream.write_u8(kind).await.unwrap();
            self.stream.write_u32(body.len() as u32 + 4).await.unwrap();
            self.stream.write_all(body).await.unwrap();
        }

        /// The kinds of the messages up to ReadyForQuery, or to the end of the stream; settings left out.
        async fn kinds(&mut self) -> String {
            let mut kinds = String::new();
            while let Ok(kind) = self.stream.read_u8().await {
                let length = self.stream.read_u32().await.unwrap() as usize;
                let mut body = vec![0; length - 4];
                self.stream.read_exact(&mut body).await.unwrap();
                match kind {
                    b'S' => continue,
                    b'E' => kinds.push_str(&format!("E({})", field(&body, b'C'))),
                    kind => kinds.push(kind as char),
                }
                if kind == b'Z' {
                    break;
                }
            }
            kinds
        }
    }

    /// A field of an ErrorResponse.
    fn field(body: &[u8], wanted: u8) -> String {
        let fields = body.split(|byte| *byte == 0);
        let mut found = fields.filter_map(|field| field.split_first().filter(|(kind, _)| **kind == wanted));
        found
            .next()
            .map(|(_, text)| String::from_utf8_lossy(text).into_owned())
            .unwrap_or_default()
    }

    #[tokio::test]
    async fn a_connection_is_served_over_any_stream() {
        let mut client = Client::start().await;
        assert_eq!(client.kinds().await, "RKZ");
        client.send(b'Q', b"SELECT 1; SELECT no\0").await;
        assert_eq!(client.kinds().await, "TDCE(42703)Z");
        // What follows a failure is skipped up to Sync.
        client.send(b'P', b"\0SELEC\0\0\0").await;
        client.send(b'B', b"\0\0\0\0\0\0\0\0").await;
        client.send(b'E', b"\0\0\0\0\0").await;
        client.send(b'S', b"").await;
        assert_eq!(client.kinds().await, "E(42601)Z");
        client.send(b'P', b"\0SELECT 1\0\0\0").await;
        client.send(b'B', b"\0\0\0\0\0\0\0\0").await;
        client.send(b'E', b"\0\0\0\0\0").await;
        client.send(b'S', b"").await;
        assert_eq!(client.kinds().await, "12DCZ");
        // What is left of a COPY is ignored.
        client.send(b'c', b"").await;
        client.send(b'Q', b"\0").await;
        assert_eq!(client.kinds().await, "IZ");
        client.send(b'X', b"").await;
        assert_eq!(client.kinds().await, "");
        client.served.await.unwrap();
    }

    #[tokio::test]
    async fn a_message_out_of_place_ends_the_connection() {
        let mut client = Client::start().await;
        assert_eq!(client.kinds().await, "RKZ");
        client.send(b'p', b"secret\0").await;
        assert_eq!(client.kinds().await, "E(08P01)");
        drop(client.stream);
        client.served.await.unwrap();
    }
}
