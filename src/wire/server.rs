//! `Server`: a running Keyspan, as `main` and tests start and stop it.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::descriptors::ConnectionLimits;
use super::listener;
use super::listening::Listening;
use super::tls;
use crate::session::{Databases, Identity, Instance, Reply};
use crate::store::{
    Capabilities, ServerMemory, StoreKind, StoreOptions, default_statements_bytes, open_store,
};
use crate::system::{Parameters, Settings, SpillFiles};
use crate::{Error, Result};

/// What disks write as one.
const DISK_BLOCK_BYTES: u64 = 4096;

/// What stands before the columns of a row's key in the store, at most.
const KEY_FRAME_BYTES: usize = 64;

/// How to start a server.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// Address and port to listen on; port 0 takes any that is free.
    pub listen: SocketAddr,
    /// Where the data lies; made when it is not there. The memory store leaves it alone.
    pub data_dir: PathBuf,
    /// The storage engine.
    pub store: StoreKind,
    /// Clients connected at once; fewer when the system allows too few open files.
    pub connections_max: usize,
    /// Memory for the storage engine's cache, in bytes.
    pub cache_bytes: u64,
    /// Memory for old values that open snapshots still need, in bytes.
    pub undo_bytes_max: usize,
    /// Growth of the log after which the engine is made durable, in bytes.
    pub checkpoint_bytes: u64,
    /// Free disk space below which only what frees space is written, in bytes.
    pub disk_reserve_bytes: u64,
    /// Memory for commits that the storage engine does not have yet, in bytes.
    pub memtable_bytes_max: usize,
    /// The same for large commits, of which one may always come.
    pub large_commits_bytes_max: usize,
    /// Memory that all statements and transactions hold together, in bytes.
    pub memory_bytes_max: u64,
    /// Length of a segment of the log, in bytes; rounded up to whole blocks of the disk.
    pub log_segment_bytes: u64,
    /// The files, in PEM, of the certificate that clients are shown who ask for TLS, and of its key; both or none.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// Other settings, by name, as text: what sessions begin with. Those that have a field here go before it.
    pub settings: Vec<(String, String)>,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        let store = StoreOptions::default();
        ServerOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 5433)),
            data_dir: PathBuf::from("keyspan-data"),
            store: StoreKind::Sled,
            connections_max: 200,
            cache_bytes: store.cache_bytes,
            undo_bytes_max: store.undo_bytes_max,
            checkpoint_bytes: store.checkpoint_bytes,
            disk_reserve_bytes: store.disk_reserve_bytes,
            memtable_bytes_max: store.memtable_bytes_max,
            large_commits_bytes_max: store.large_commits_bytes_max,
            log_segment_bytes: store.segment_bytes,
            memory_bytes_max: default_statements_bytes(),
            tls: None,
            settings: Vec::new(),
        }
    }
}

impl ServerOptions {
    /// Takes what `settings` says of the fields. Errors: 42704, 22023, 55P02; 0A000 for what has a flag alone.
    fn take_named(&mut self) -> Result<()> {
        let named = self.settings.iter();
        let named: Vec<_> = named
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        let given = Settings::with_server_values(&named)?;
        for (name, _) in named {
            let name = name.to_ascii_lowercase();
            let number = given.get_number(&name).unwrap_or_default();
            match name.as_str() {
                "keyspan.cache_bytes" => self.cache_bytes = number,
                "keyspan.undo_bytes_max" => self.undo_bytes_max = number as usize,
                "keyspan.checkpoint_bytes" => self.checkpoint_bytes = number,
                "keyspan.disk_reserve_bytes" => self.disk_reserve_bytes = number,
                "keyspan.memtable_bytes_max" => self.memtable_bytes_max = number as usize,
                "keyspan.large_commits_bytes_max" => self.large_commits_bytes_max = number as usize,
                "keyspan.log_segment_bytes" => self.log_segment_bytes = number,
                "keyspan.memory_bytes_max" => self.memory_bytes_max = number,
                "max_connections" => self.connections_max = number as usize,
                "port" => self.listen.set_port(number as u16),
                "listen_addresses" | "data_directory" => {
                    return Err(Error::unsupported(
                        format!("--set {name}"),
                        Some("Use --listen and --data-dir."),
                    ));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// A running server. Dropped without `shutdown` it runs on until its runtime ends, which then is like a crash: no
/// acknowledged write is lost.
///
/// Its futures are boxed here: a program that had them as they are would compile once more whatever they may run.
#[derive(Debug)]
pub struct Server {
    local_addr: SocketAddr,
    listening: Arc<Listening>,
    accepting: JoinHandle<()>,
    emptying: JoinHandle<()>,
}

impl Server {
    /// Opens the store and listens. Errors: the store's (data directory in use, of a newer format, damaged), 22023 for
    /// an address beyond this machine or a bad setting, 58030 when the address cannot be listened on.
    pub fn start(options: ServerOptions) -> BoxFuture<'static, Result<Server>> {
        Server::open(options).boxed()
    }

    async fn open(mut options: ServerOptions) -> Result<Server> {
        options.take_named()?;
        require_safe(&options)?;
        let files = options.tls.as_ref();
        let tls = files
            .map(|(certificates, key)| tls::server_config(certificates, key))
            .transpose()?;
        let refused = |error| cannot_listen(options.listen, &error);
        let listener = TcpListener::bind(options.listen).await.map_err(refused)?;
        let local_addr = listener.local_addr().map_err(refused)?;
        let limits = ConnectionLimits::from_system(options.connections_max);
        let mut settings = server_settings(&options, limits.sessions, local_addr)?;
        let store_options = StoreOptions {
            cache_bytes: options.cache_bytes,
            undo_bytes_max: options.undo_bytes_max,
            checkpoint_bytes: options.checkpoint_bytes,
            disk_reserve_bytes: options.disk_reserve_bytes,
            memtable_bytes_max: options.memtable_bytes_max,
            large_commits_bytes_max: options.large_commits_bytes_max,
            segment_bytes: options.log_segment_bytes.next_multiple_of(DISK_BLOCK_BYTES),
            ..StoreOptions::default()
        };
        let (kind, data_dir) = (options.store, options.data_dir.clone());
        let opened = tokio::task::spawn_blocking(move || open_store(kind, &data_dir, &store_options));
        let store = opened
            .await
            .map_err(|error| Error::internal(format!("opening the store failed: {error}")))??;
        settings.memory = ServerMemory::new(usize::try_from(options.memory_bytes_max).unwrap_or(usize::MAX));
        // The store holds the directory's lock by now: what lies there is no other server's.
        if options.store != StoreKind::Memory {
            settings.spill = Arc::new(SpillFiles::in_folder(options.data_dir.join("spill")));
        }
        let settings = Instance::with_altered_settings(&store, settings).await?;
        require_within(&settings, store.capabilities())?;
        let databases = Databases::begin(Arc::new(Instance::new(store, settings))).await?;
        let emptying = tokio::spawn(Arc::clone(&databases).empty_dropped());
        let listening = Arc::new(Listening::new(databases, limits, tls));
        let accepting = tokio::spawn(listener::accept(Arc::clone(&listening), listener));
        Ok(Server {
            local_addr,
            listening,
            accepting,
            emptying,
        })
    }

    /// Where it listens.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Resolves when the store has failed: nothing can be committed any more, and what is in memory may be ahead of what
    /// is on disk. The process is to end at once, without `shutdown`; the next start recovers.
    pub fn failed(&self) -> BoxFuture<'static, Error> {
        self.listening.databases.first().store().failed()
    }

    /// Runs a script when `table` does not exist, all of it in one transaction, and answers whether it did. Errors: the script's.
    pub fn run_script_unless<'a>(&'a self, table: &'a str, script: &'a str) -> BoxFuture<'a, Result<bool>> {
        self.run_unless(table, script).boxed()
    }

    async fn run_unless(&self, table: &str, script: &str) -> Result<bool> {
        let identity = Identity {
            user: "keyspan".into(),
            database: "keyspan".into(),
            process_id: 0,
            client: None,
        };
        let mut session = self.listening.databases.open_session(identity, &[]).await?;
        if session.has_relation(table).await? {
            return Ok(false);
        }
        session.open_implicit();
        for statement in session.parse(script).await? {
            match session.run(&statement, Parameters::default(), None).await? {
                Reply::Done { .. } => {}
                Reply::Rows(mut rows) => {
                    let interrupt = session.interrupt().clone();
                    while rows.next(&interrupt, usize::MAX).await?.is_some() {}
                    session.complete(rows).await?;
                }
                Reply::CopyFrom(_) | Reply::CopyTo(_) => {
                    return Err(Error::unsupported("COPY in a script", None));
                }
            }
        }
        session.close_implicit().await.map(|()| true)
    }

    /// Ends it: no new connections, idle ones told 57P01, statements in flight after a short grace, commits in flight
    /// waited for, the store closed. Errors: the store's.
    pub fn shutdown(self) -> BoxFuture<'static, Result<()>> {
        self.end().boxed()
    }

    async fn end(self) -> Result<()> {
        self.listening.end().await;
        self.emptying.abort();
        // The tasks end by themselves or by the abort; there is nothing to learn from how.
        let _ = self.accepting.await;
        let _ = self.emptying.await;
        self.listening.databases.end().await;
        self.listening.databases.first().store().close().await
    }
}

/// Errors: 22023 for an address beyond this machine where nobody is asked for a password.
fn require_safe(options: &ServerOptions) -> Result<()> {
    let is_asked = |(name, value): &(String, String)| {
        name.eq_ignore_ascii_case("keyspan.authentication") && !value.eq_ignore_ascii_case("trust")
    };
    match options.listen.ip().is_loopback() || options.settings.iter().any(is_asked) {
        true => Ok(()),
        false => Err(Error::InvalidParameter {
            message: format!(
                "refusing to listen on {}: whoever reaches the server is trusted",
                options.listen
            ),
            hint: Some(
                "Make roles with passwords, and give --set keyspan.authentication=scram-sha-256, --tls-cert and --tls-key. \
                 Or listen on a loopback address, such as 127.0.0.1."
                    .to_string(),
            ),
        }),
    }
}

/// Why an address cannot be listened on, and what helps.
fn cannot_listen(listen: SocketAddr, error: &std::io::Error) -> Error {
    let hint = match error.kind() {
        ErrorKind::AddrInUse => "Another server listens there: stop it, or give another port with --port.",
        ErrorKind::PermissionDenied => "Give a port above 1023 with --port.",
        ErrorKind::AddrNotAvailable => "Give an address of this machine with --listen.",
        _ => "Give another address with --listen.",
    };
    Error::CannotStart {
        message: format!("could not listen on {listen}: {error}"),
        hint: hint.to_string(),
    }
}

/// Errors: 22023 when the settings let statements write what the store does not take.
fn require_within(settings: &Settings, store: Capabilities) -> Result<()> {
    let bounds = [
        (
            "keyspan.key_bytes_max",
            store.key_bytes_max.saturating_sub(KEY_FRAME_BYTES),
        ),
        ("keyspan.value_bytes_max", store.value_bytes_max),
        ("keyspan.transaction_bytes_max", store.batch_bytes_max),
    ];
    for (name, bytes_max) in bounds {
        let bytes = settings.get_number(name).unwrap_or_default();
        if bytes > bytes_max as u64 {
            return Err(Error::InvalidParameter {
                message: format!("{name} is {bytes} bytes, and the store takes {bytes_max}"),
                hint: Some(format!("Set {name} to at most {bytes_max}.")),
            });
        }
    }
    Ok(())
}

/// The settings of the command line, for SHOW and for sessions.
fn server_settings(options: &ServerOptions, sessions_max: usize, listen: SocketAddr) -> Result<Settings> {
    let mut values = vec![
        ("keyspan.cache_bytes", options.cache_bytes.to_string()),
        ("keyspan.undo_bytes_max", options.undo_bytes_max.to_string()),
        (
            "keyspan.memtable_bytes_max",
            options.memtable_bytes_max.to_string(),
        ),
        (
            "keyspan.large_commits_bytes_max",
            options.large_commits_bytes_max.to_string(),
        ),
        ("keyspan.checkpoint_bytes", options.checkpoint_bytes.to_string()),
        (
            "keyspan.disk_reserve_bytes",
            options.disk_reserve_bytes.to_string(),
        ),
        ("keyspan.log_segment_bytes", options.log_segment_bytes.to_string()),
        ("keyspan.memory_bytes_max", options.memory_bytes_max.to_string()),
        ("max_connections", sessions_max.to_string()),
        ("listen_addresses", listen.ip().to_string()),
        ("port", listen.port().to_string()),
        ("data_directory", options.data_dir.display().to_string()),
    ];
    values.extend(
        options
            .settings
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone())),
    );
    Settings::with_server_values(&values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_keep_within_what_the_store_takes() {
        let settings =
            Settings::with_server_values(&[("keyspan.key_bytes_max", "65000".to_string())]).unwrap();
        assert_eq!(require_within(&settings, Capabilities::UNBOUNDED), Ok(()));
        let store = Capabilities {
            key_bytes_max: 65_000,
            ..Capabilities::UNBOUNDED
        };
        let refused = require_within(&settings, store).unwrap_err();
        assert_eq!(refused.sqlstate(), "22023");
        assert!(refused.hint().unwrap().contains("at most 64936"));
    }
}
