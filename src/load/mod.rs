//! Loading files into a table, `keyspan load`: a client that sends each file by a COPY, to a running server or to one of its own over
//! a data directory that nobody uses. So what is read of data is what the server's COPY reads; of NDJSON, rows of COPY's text are made
//! here. Called by `main`, which shows how far it is; knows no tables but by their names.
//!
//! ```text
//!   file ─► Source: bytes as they are, or NDJSON as rows of text ─► CopyData ─► server
//!                        which columns: --columns, the header, or the members ─► COPY t (columns) FROM STDIN
//! ```

mod arguments;
mod connection;
mod fault;
mod member_text;
mod ndjson;
mod source;
mod statement;

use std::net::SocketAddr;
use std::path::PathBuf;

pub use arguments::LoadArguments;
use connection::Connection;
pub use fault::LoadFault;
use futures::FutureExt;
use futures::future::LocalBoxFuture;
use source::Source;
pub use statement::{LoadFormat, OnError};

use crate::wire::{Server, ServerOptions};

/// What is loaded, and how.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// The table's name, as SQL writes it.
    pub table: String,
    /// What the files are; `None`: what their names say.
    pub format: Option<LoadFormat>,
    /// The columns of the data, in its order.
    pub columns: Vec<String>,
    /// The first line names the columns.
    pub header: bool,
    /// What stands between two fields, if not what the format has.
    pub delimiter: Option<String>,
    /// What stands for NULL, if not what the format has.
    pub null: Option<String>,
    /// What becomes of a row that holds what is no value of its column.
    pub on_error: OnError,
    /// Commits after so many rows.
    pub batch_rows: Option<u64>,
    /// All files in one transaction.
    pub single_transaction: bool,
    /// The files, `-` for the standard input; none: that alone.
    pub files: Vec<PathBuf>,
}

/// Where to.
#[derive(Debug, Clone)]
pub enum LoadTarget {
    /// A server.
    Server(ServerAddress),
    /// A data directory that no server uses.
    Folder(Box<ServerOptions>),
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerAddress {
    /// A name or an address.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Who asks.
    pub user: String,
    /// The database.
    pub database: String,
}

/// How far a load is.
#[derive(Debug, Clone, Copy)]
pub struct LoadProgress<'a> {
    /// The file that is being sent.
    pub file: &'a str,
    /// Bytes of all files that were sent.
    pub bytes: u64,
    /// Bytes of all files, if they have an end that is known.
    pub bytes_total: Option<u64>,
}

/// What a load is told of while it goes on.
pub trait LoadObserver {
    /// How far it is; called often.
    fn progress(&mut self, at: LoadProgress<'_>);
    /// The server says something beside.
    fn notice(&mut self, notice: &str);
}

impl ServerAddress {
    /// Takes what a URL says, `postgresql://user@host:port/database`. Errors: what is wrong with it.
    pub fn take_url(&mut self, url: &str) -> Result<(), String> {
        let schemes = ["postgresql://", "postgres://"];
        let rest = schemes.iter().find_map(|scheme| url.strip_prefix(scheme));
        let rest = rest.ok_or("a URL begins with postgresql://")?;
        let (rest, options) = rest.split_once('?').unwrap_or((rest, ""));
        if !options.is_empty() {
            return Err(format!("options of a URL are not read: \"{options}\""));
        }
        let (place, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, place) = place.rsplit_once('@').unwrap_or(("", place));
        if user.contains(':') {
            return Err("passwords are not sent: leave it out of the URL".to_string());
        }
        let has_port = place.rsplit_once(':').filter(|(host, _)| !host.ends_with(':'));
        let (host, port) = match has_port.filter(|(_, port)| !port.contains(']')) {
            Some((host, port)) => (host, Some(port)),
            None => (place, None),
        };
        if let Some(port) = port {
            self.port = port.parse().map_err(|_| format!("\"{port}\" is no port"))?;
        }
        let host = host.trim_start_matches('[').trim_end_matches(']');
        for (part, value) in [
            (&mut self.host, host),
            (&mut self.user, user),
            (&mut self.database, database),
        ] {
            if !value.is_empty() {
                *part = value.to_string();
            }
        }
        Ok(())
    }
}

/// Sends the files, each by a COPY of its own; answers how many rows there were. Errors say which file, and which line where it is one;
/// the files before stay loaded, unless all are one transaction.
pub fn load_files<'a>(
    options: &'a LoadOptions,
    target: LoadTarget,
    observer: &'a mut dyn LoadObserver,
) -> LocalBoxFuture<'a, Result<u64, LoadFault>> {
    load(options, target, observer).boxed_local()
}

async fn load(
    options: &LoadOptions,
    target: LoadTarget,
    observer: &mut dyn LoadObserver,
) -> Result<u64, LoadFault> {
    options.check()?;
    match target {
        LoadTarget::Server(address) => send_files(options, &address, observer).await,
        LoadTarget::Folder(server) => {
            if !server.data_dir.join("FORMAT").is_file() {
                let folder = server.data_dir.display();
                return Err(LoadFault::new(format!("\"{folder}\" is no data directory")));
            }
            let started = Server::start(ServerOptions {
                listen: SocketAddr::from(([127, 0, 0, 1], 0)),
                ..*server
            });
            let server = started.await.map_err(|error| LoadFault::of_error(&error))?;
            let addr = server.local_addr();
            let address = ServerAddress {
                host: addr.ip().to_string(),
                port: addr.port(),
                user: "postgres".to_string(),
                database: "postgres".to_string(),
            };
            let sent = send_files(options, &address, observer).await;
            let ended = server.shutdown().await;
            let rows = sent?;
            ended.map_err(|error| LoadFault::of_error(&error))?;
            Ok(rows)
        }
    }
}

async fn send_files(
    options: &LoadOptions,
    address: &ServerAddress,
    observer: &mut dyn LoadObserver,
) -> Result<u64, LoadFault> {
    let mut sources = options.sources()?;
    let mut connection = Connection::open(address).await?;
    let sizes = sources.iter().map(Source::size_bytes);
    let bytes_total: Option<u64> = sizes.sum();
    if options.single_transaction {
        connection.run("BEGIN").await?;
    }
    let (mut rows, mut before) = (0, 0);
    for source in &mut sources {
        let mut tell = |file: &str, bytes| {
            observer.progress(LoadProgress {
                file,
                bytes: before + bytes,
                bytes_total,
            });
        };
        let sent = source.send(options, &mut connection, &mut tell).await;
        for notice in connection.take_notices() {
            observer.notice(&notice);
        }
        let name = source.name();
        rows += sent.map_err(|fault| fault.in_file(name))?;
        before += source.sent_bytes();
    }
    if options.single_transaction {
        connection.run("COMMIT").await?;
    }
    connection.close().await;
    Ok(rows)
}

impl LoadOptions {
    fn check(&self) -> Result<(), LoadFault> {
        if self.batch_rows.is_some() && self.single_transaction {
            return Err(LoadFault::new(
                "--batch-rows commits as it goes, --single-transaction at the end: give one of them"
                    .to_string(),
            ));
        }
        if self.batch_rows == Some(0) {
            return Err(LoadFault::new("--batch-rows must be greater than 0".to_string()));
        }
        Ok(())
    }

    /// The files, opened. Errors: those that are not there, and whose format nothing says.
    fn sources(&self) -> Result<Vec<Source>, LoadFault> {
        match self.files.is_empty() {
            true => Ok(vec![Source::standard_input(self.format)?]),
            false => {
                let files = self.files.iter();
                files.map(|file| Source::open(file, self.format)).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address() -> ServerAddress {
        ServerAddress {
            host: "127.0.0.1".to_string(),
            port: 5433,
            user: "me".to_string(),
            database: "mine".to_string(),
        }
    }

    #[test]
    fn a_url_says_what_it_says_and_no_more() {
        let read = |url: &str| {
            let mut read = address();
            let taken = read.take_url(url);
            taken.map(|()| format!("{} {} {} {}", read.user, read.host, read.port, read.database))
        };
        for (url, expected) in [
            ("postgresql://", "me 127.0.0.1 5433 mine"),
            ("postgres://db", "me db 5433 mine"),
            ("postgresql://you@db:5434/yours", "you db 5434 yours"),
            ("postgresql:///yours", "me 127.0.0.1 5433 yours"),
            ("postgresql://you@[::1]:5434", "you ::1 5434 mine"),
            ("postgresql://[::1]/x", "me ::1 5433 x"),
        ] {
            assert_eq!(read(url).as_deref(), Ok(expected), "{url}");
        }
        for url in [
            "http://db",
            "postgresql://db:x",
            "postgresql://a:b@db",
            "postgresql://db?a=b",
        ] {
            assert!(read(url).is_err(), "{url}");
        }
    }
}
