//! `Listening`: what every connection of a server shares; the loop that accepts them; their end.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::cancel::Sessions;
use super::connection;
use crate::session::Instance;

/// Connections that may be in start-up, or asking for a cancel, beyond those that have a session.
const STARTUPS_MAX: usize = 100;
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
    sockets: Arc<Semaphore>,
    connections: TaskTracker,
    process_ids: AtomicI32,
}

impl Listening {
    pub(super) fn new(instance: Arc<Instance>, connections_max: usize) -> Listening {
        Listening {
            instance,
            sessions: Arc::default(),
            places: Arc::new(Semaphore::new(connections_max)),
            ending: CancellationToken::new(),
            sockets: Arc::new(Semaphore::new(connections_max + STARTUPS_MAX)),
            connections: TaskTracker::new(),
            process_ids: AtomicI32::new(1),
        }
    }

    /// Accepts connections until the server ends.
    pub(super) async fn accept(self: Arc<Listening>, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                () = self.ending.cancelled() => return,
                accepted = listener.accept() => accepted,
            };
            let stream = match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "could not accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            };
            // Above this many sockets a connection is closed without a word: answering would need another.
            if let Ok(socket) = self.sockets.clone().try_acquire_owned() {
                let listening = self.clone();
                self.connections.spawn(async move {
                    connection::serve(stream, listening).await;
                    drop(socket);
                });
            }
        }
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
