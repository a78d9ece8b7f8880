//! The loop that accepts connections, until the server ends.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::OwnedSemaphorePermit;

use super::connection::{self, STARTUP_TIME_MAX};
use super::listening::Listening;
use super::startups::Place;
use super::tls::{self, Negotiated};
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
        let is_encrypted = false;
        Ok(TcpEnds {
            client,
            server,
            is_encrypted,
        })
    });
    let client = ends.ok();
    let (shared, place) = (Arc::clone(listening), listening.startups.enter());
    listening.threads.serve(&listening.connections, async move {
        match TcpStream::from_std(stream) {
            Ok(stream) => Box::pin(serve_stream(stream, client, shared, place)).await,
            Err(error) => tracing::warn!(%error, "could not wait for a connection"),
        }
        drop(socket);
    })
}

/// Serves a client, encrypted if it asks for that and the server can.
async fn serve_stream(stream: TcpStream, client: Option<TcpEnds>, shared: Arc<Listening>, place: Place) {
    let Some(tls) = shared.tls.clone() else {
        return connection::serve(stream.into_split(), client, shared, place).await;
    };
    let negotiated = tokio::select! {
        negotiated = tokio::time::timeout(STARTUP_TIME_MAX, tls::negotiate(stream, &tls)) => negotiated,
        () = place.lost() => return,
        () = shared.ending.cancelled() => return,
    };
    match negotiated {
        Ok(Ok(Negotiated::Plain(read, stream))) => {
            let (reader, writer) = stream.into_split();
            connection::serve((read.chain(reader), writer), client, shared, place).await;
        }
        Ok(Ok(Negotiated::Encrypted(stream))) => {
            let is_encrypted = true;
            let client = client.map(|ends| TcpEnds { is_encrypted, ..ends });
            connection::serve(tokio::io::split(*stream), client, shared, place).await;
        }
        Ok(Err(error)) => tracing::debug!(%error, "no connection came of a request for encryption"),
        Err(_) => {}
    }
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
