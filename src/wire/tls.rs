//! TLS: what the server shows of itself, and how a client that asks for it gets it. The library is rustls.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;

use crate::{Error, Result};

/// What a request for encryption is: eight bytes, and one of these numbers in the last four.
const REQUEST_BYTES: usize = 8;
const SSL_REQUEST: u32 = 80_877_103;
const GSS_REQUEST: u32 = 80_877_104;

/// A stream as its client wants it.
pub(super) enum Negotiated {
    /// As it is; what has been read of it already comes first.
    Plain(Cursor<Vec<u8>>, TcpStream),
    /// Encrypted.
    Encrypted(Box<TlsStream<TcpStream>>),
}

/// Reads what the server shows. Errors: `CannotStart` for files that cannot be read, hold nothing, do not belong together, or that
/// others may read.
pub(super) fn server_config(certificates: &Path, key: &Path) -> Result<Arc<ServerConfig>> {
    let refused = |path: &Path, error: &dyn std::fmt::Display, hint: &str| Error::CannotStart {
        message: format!("could not use \"{}\" for TLS: {error}", path.display()),
        hint: hint.to_string(),
    };
    let give = "Give the server's certificate, and those that lead to its root, as PEM.";
    let chain: std::result::Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(certificates).and_then(Iterator::collect);
    let chain = chain.map_err(|error| refused(certificates, &error, give))?;
    require_private(key)?;
    let private = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| refused(key, &error, "Give the private key of the certificate, as PEM."))?;
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(|error| refused(certificates, &error, "Certificate and key must belong together."))?;
    Ok(Arc::new(config))
}

/// Errors: a key that others may read.
fn require_private(key: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let is_open = std::fs::metadata(key).is_ok_and(|found| found.permissions().mode() & 0o077 != 0);
    match is_open {
        false => Ok(()),
        true => Err(Error::CannotStart {
            message: format!("private key file \"{}\" has group or world access", key.display()),
            hint: "chmod 600 it: nobody else may know the key.".to_string(),
        }),
    }
}

/// Answers the client's requests for encryption. Errors: the system's, a handshake's; nobody is left to be told.
pub(super) async fn negotiate(
    mut stream: TcpStream,
    config: &Arc<ServerConfig>,
) -> std::io::Result<Negotiated> {
    loop {
        let mut request = [0; REQUEST_BYTES];
        stream.read_exact(&mut request).await?;
        let [a, b, c, d, e, f, g, h] = request;
        let (length, code) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
        match (length as usize, code) {
            // Nothing else is read before the handshake: what was sent with the request in the clear is part of it, and fails.
            (REQUEST_BYTES, SSL_REQUEST) => {
                stream.write_all(b"S").await?;
                let encrypted = TlsAcceptor::from(Arc::clone(config)).accept(stream).await?;
                return Ok(Negotiated::Encrypted(Box::new(encrypted)));
            }
            (REQUEST_BYTES, GSS_REQUEST) => stream.write_all(b"N").await?,
            _ => return Ok(Negotiated::Plain(Cursor::new(request.to_vec()), stream)),
        }
    }
}
