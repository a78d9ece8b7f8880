//! The loop that accepts connections, until the server ends.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;

use super::connection;
use super::listening::Listening;
use crate::system::TcpEnds;

/// How long to wait when no connection could be accepted (too many open files).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Accepts connections until the server ends.
pub(super) async fn accept(listening: Arc<Listening>, listener: TcpListener) {
    let mut failing = false;
    loop {
        // A socket for each permit and no more: the store's descriptors are never taken, however many clients come.
        // A start-up that has just been dropped gives its permit back at once.
        let accepted = tokio::select! {
            () = listening.ending.cancelled() => return,
            accepted = accept_one(&listening, &listener) => accepted,
        };
        match accepted {
            Ok((stream, socket)) => {
                failing = false;
                if let Err(error) = serve(&listening, stream, socket) {
                    tracing::warn!(%error, "could not serve a connection");
                }
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

/// Serves a connection on a thread of those that are for it. Errors: the system's, when it cannot be waited for there.
fn serve(listening: &Arc<Listening>, stream: TcpStream, socket: OwnedSemaphorePermit) -> std::io::Result<()> {
    // A socket is waited for where it was made known: this one is to be waited for on its own thread.
    let stream = stream.into_std()?;
    // Answers are written whole: waiting for more to send would only delay them.
    let _ = stream.set_nodelay(true);
    let ends = stream.peer_addr().and_then(|client| {
        let server = stream.local_addr()?;
        Ok(TcpEnds { client, server })
    });
    let client = ends.ok();
    let (shared, place) = (Arc::clone(listening), listening.startups.enter());
    listening.threads.serve(&listening.connections, async move {
        match TcpStream::from_std(stream) {
            Ok(stream) => Box::pin(connection::serve(stream.into_split(), client, shared, place)).await,
            Err(error) => tracing::warn!(%error, "could not wait for a connection"),
        }
        drop(socket);
    })
}

/// The next connection, and the permit for its socket.
async fn accept_one(
    listening: &Listening,
    listener: &TcpListener,
) -> std::io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let socket = listening.sockets.clone().acquire_owned().await;
    let socket = socket.map_err(std::io::Error::other)?;
    let (stream, _) = listener.accept().await?;
    Ok((stream, socket))
}
