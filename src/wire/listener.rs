//! `Listening`: what every connection of a server shares; the loop that accepts them; their end.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::cancel::Sessions;
use super::connection;
use super::descriptors::ConnectionLimits;
use super::startups::Startups;
use crate::session::Instance;

/// How long statements in flight may go on when the server ends.
const GRACE_TIME: Duration = Duration::from_secs(2);
/// How long connections may take to end after that; commits in flight are waited for.
const END_TIME_MAX: Duration = Duration::from_secs(10);
/// How long to wait when no connection could be accepted (too many open files).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What every connection of a server shares.
#[derive(Debug)]
pub(super) struct Listening {
    pub(super) instance: Arc<Instance>,
    pub(super) sessions: Arc<Sessions>,
    /// One for each session that may be.
    pub(super) places: Arc<Semaphore>,
    /// Cancelled when the server ends: no new statement begins.
    pub(super) ending: CancellationToken,
    /// One for each socket that may be open.
    sockets: Arc<Semaphore>,
    startups: Arc<Startups>,
    connections: TaskTracker,
    process_ids: AtomicI32,
}

impl Listening {
    pub(super) fn new(instance: Arc<Instance>, limits: ConnectionLimits) -> Listening {
        Listening {
            instance,
            sessions: Arc::default(),
            places: Arc::new(Semaphore::new(limits.sessions)),
            ending: CancellationToken::new(),
            // One more, which is accepted before a start-up is dropped for it.
            sockets: Arc::new(Semaphore::new(limits.sessions + limits.startups + 1)),
            startups: Arc::new(Startups::new(limits.startups)),
            connections: TaskTracker::new(),
            process_ids: AtomicI32::new(1),
        }
    }

    /// Accepts connections until the server ends.
    pub(super) async fn accept(self: Arc<Listening>, listener: TcpListener) {
        let mut failing = false;
        loop {
            // A socket for each permit and no more: the store's descriptors are never taken, however many clients come.
            // A start-up that has just been dropped gives its permit back at once.
            let accepted = tokio::select! {
                () = self.ending.cancelled() => return,
                accepted = self.accept_one(&listener) => accepted,
            };
            match accepted {
                Ok((stream, socket)) => {
                    failing = false;
                    let (listening, place) = (self.clone(), self.startups.enter());
                    self.connections.spawn(async move {
                        connection::serve(stream, listening, place).await;
                        drop(socket);
                    });
                }
                Err(error) => {
                    if !std::mem::replace(&mut failing, true) {
                        tracing::warn!(%error, "could not accept a connection; trying on");
                    }
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// The next connection, and the permit for its socket.
    async fn accept_one(&self, listener: &TcpListener) -> std::io::Result<(TcpStream, OwnedSemaphorePermit)> {
        let socket = self.sockets.clone().acquire_owned().await;
        let socket = socket.map_err(std::io::Error::other)?;
        let (stream, _) = listener.accept().await?;
        Ok((stream, socket))
    }

    /// Ends every connection: those that idle at once, statements in flight after a grace, commits when they are done.
    pub(super) async fn end(&self) {
        self.ending.cancel();
        self.connections.close();
        if tokio::time::timeout(GRACE_TIME, self.connections.wait())
            .await
            .is_ok()
        {
            return;
        }
        self.sessions.shut_down();
        if tokio::time::timeout(END_TIME_MAX, self.connections.wait())
            .await
            .is_err()
        {
            tracing::warn!("some connections did not end in time");
        }
    }

    /// A number for a new session.
    pub(super) fn next_process_id(&self) -> i32 {
        self.process_ids.fetch_add(1, Ordering::Relaxed) & i32::MAX
    }
}
