//! `Listening`: what every connection of a server shares, and their end. Knows nothing of how one is accepted or served.

use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio_rustls::rustls::ServerConfig;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::cancel::Sessions;
use super::connection_threads::ConnectionThreads;
use super::descriptors::ConnectionLimits;
use super::startups::Startups;
use crate::session::Databases;

/// How long statements in flight may go on when the server ends.
const GRACE_TIME: Duration = Duration::from_secs(2);
/// How long connections may take to end after that; commits in flight are waited for.
const END_TIME_MAX: Duration = Duration::from_secs(10);

/// What every connection of a server shares.
#[derive(Debug)]
pub(super) struct Listening {
    pub(super) databases: Arc<Databases>,
    /// How clients that ask for it are encrypted.
    pub(super) tls: Option<Arc<ServerConfig>>,
    pub(super) sessions: Arc<Sessions>,
    /// One for each session that may be.
    pub(super) places: Arc<Semaphore>,
    /// Cancelled when the server ends: no new statement begins.
    pub(super) ending: CancellationToken,
    /// One for each socket that may be open.
    pub(super) sockets: Arc<Semaphore>,
    pub(super) startups: Arc<Startups>,
    pub(super) connections: TaskTracker,
    pub(super) threads: ConnectionThreads,
    process_ids: AtomicI32,
}

impl Listening {
    pub(super) fn new(
        databases: Arc<Databases>,
        limits: ConnectionLimits,
        tls: Option<Arc<ServerConfig>>,
    ) -> Listening {
        Listening {
            databases,
            tls,
            sessions: Arc::default(),
            places: Arc::new(Semaphore::new(limits.sessions)),
            ending: CancellationToken::new(),
            // One more, which is accepted before a start-up is dropped for it.
            sockets: Arc::new(Semaphore::new(limits.sessions + limits.startups + 1)),
            startups: Arc::new(Startups::new(limits.startups)),
            connections: TaskTracker::new(),
            threads: ConnectionThreads::new(limits.threads),
            process_ids: AtomicI32::new(1),
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
