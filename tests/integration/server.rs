//! Servers for tests: `TestServer` in this process (fast, either store), `ServerProcess` the real binary (to be killed,
//! measured, or spoken to by other clients). Both listen on a port of the system's choice over a folder of their own.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use keyspan::{Server, ServerOptions, StoreKind, check_data_dir};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio_postgres::NoTls;

use crate::client::{Protocol, Reply, ServerError, Target, TextClient};

/// A server in this process.
pub(crate) struct TestServer {
    server: Server,
    data_dir: TempDir,
}

impl TestServer {
    /// Starts a server over an empty store: `memory` or `sled`.
    pub(crate) async fn start(store: &str) -> TestServer {
        TestServer::start_at(store, TempDir::new().expect("a temporary folder")).await
    }

    /// Starts a server over the folder of another.
    pub(crate) async fn start_at(store: &str, data_dir: TempDir) -> TestServer {
        TestServer::start_on(runtime(), store, data_dir).await
    }

    /// Starts a server on these threads.
    pub(crate) async fn start_on(runtime: &Runtime, store: &str, data_dir: TempDir) -> TestServer {
        let options = ServerOptions {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            data_dir: data_dir.path().join("data"),
            store: store.parse::<StoreKind>().expect("a store's name"),
            // Small, for many servers are started.
            log_segment_bytes: 1 << 20,
            ..ServerOptions::default()
        };
        let started = runtime.spawn(Server::start(options)).await;
        let server = started.expect("the start ends").expect("the server starts");
        TestServer { server, data_dir }
    }

    /// Where it listens.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.server.local_addr()
    }

    /// For `TextClient::connect`.
    pub(crate) fn target(&self) -> Target {
        target(self.addr())
    }

    /// A connection of the driver that Rust programs use.
    pub(crate) async fn connect(&self) -> tokio_postgres::Client {
        connect(self.addr()).await
    }

    /// A connection that sees what psql would.
    pub(crate) async fn connect_text(&self) -> TextClient {
        TextClient::connect(&self.target())
            .await
            .expect("the server accepts connections")
    }

    /// Ends it as SIGTERM would, and gives its folder back.
    pub(crate) async fn stop(self) -> TempDir {
        self.server.shutdown().await.expect("the server ends cleanly");
        self.data_dir
    }

    /// Ends it, and finds that nothing in its folder contradicts anything else, which it gives back. `what`: what was done to it.
    pub(crate) async fn stop_sound(self, what: &str) -> TempDir {
        let folder = self.stop().await;
        let checked = check_data_dir(&folder.path().join("data"), &mut |_| {}).await;
        let report = checked.expect("the folder can be read");
        assert!(report.is_sound(), "{what}: {report}");
        folder
    }
}

/// The threads that serve in this process, with the stack that the binary gives its own.
fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| build(&mut tokio::runtime::Builder::new_multi_thread()))
}

/// One thread that serves.
pub(crate) fn one_thread() -> Runtime {
    build(tokio::runtime::Builder::new_multi_thread().worker_threads(1))
}

fn build(builder: &mut tokio::runtime::Builder) -> Runtime {
    builder
        .thread_stack_size(keyspan::THREAD_STACK_BYTES)
        .enable_all();
    builder.build().expect("a runtime starts")
}

/// A connection of tokio-postgres.
pub(crate) async fn connect(addr: SocketAddr) -> tokio_postgres::Client {
    let options = format!("host={} port={} user=test dbname=test", addr.ip(), addr.port());
    let (client, connection) = tokio_postgres::connect(&options, NoTls)
        .await
        .expect("the server accepts connections");
    tokio::spawn(connection);
    client
}

/// Any user, any database.
pub(crate) fn target(addr: SocketAddr) -> Target {
    Target {
        addr: addr.to_string(),
        user: "test".to_string(),
        database: "test".to_string(),
    }
}

/// Runs one statement in the simple protocol.
pub(crate) async fn run(client: &mut TextClient, sql: &str) -> Result<Reply, ServerError> {
    client.run(sql, Protocol::Simple).await
}

/// What a statement that must succeed gives, in the simple protocol.
pub(crate) async fn ok(client: &mut TextClient, statement: &str) -> Vec<Vec<Option<String>>> {
    let reply = run(client, statement).await;
    reply.unwrap_or_else(|error| panic!("{statement}: {error}")).rows
}

/// The error of a statement that must fail, in the simple protocol.
pub(crate) async fn fails(client: &mut TextClient, statement: &str) -> ServerError {
    match run(client, statement).await {
        Ok(_) => panic!("{statement} succeeds"),
        Err(error) => error,
    }
}

/// The real binary; killed (SIGKILL) when dropped.
pub(crate) struct ServerProcess {
    child: Child,
    addr: SocketAddr,
}

impl ServerProcess {
    /// Starts one with these arguments over a new folder, and connects to it.
    pub(crate) async fn start_new(arguments: &[&str]) -> (TempDir, ServerProcess, TextClient) {
        let data_dir = TempDir::new().expect("a folder can be made");
        let server = ServerProcess::start(data_dir.path(), arguments);
        let client = server.connect_text().await;
        (data_dir, server, client)
    }

    /// A connection that sees what psql would.
    pub(crate) async fn connect_text(&self) -> TextClient {
        TextClient::connect(&target(self.addr()))
            .await
            .expect("the server accepts connections")
    }

    /// Starts `keyspan serve` on sled over the folder and waits for the line that says where it listens.
    pub(crate) fn start(data_dir: &Path, arguments: &[&str]) -> ServerProcess {
        ServerProcess::start_as(Command::new(env!("CARGO_BIN_EXE_keyspan")), data_dir, arguments)
    }

    /// As `start`, by a command that runs the binary with the arguments it is given.
    pub(crate) fn start_as(mut command: Command, data_dir: &Path, arguments: &[&str]) -> ServerProcess {
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(data_dir)
            .args(arguments)
            .env("RUST_LOG", "info")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut lines = BufReader::new(child.stderr.take().expect("stderr is piped")).lines();
        let mut seen = Vec::new();
        let addr = loop {
            let Some(Ok(line)) = lines.next() else {
                let _ = child.kill();
                panic!("the server ended before it listened:\n{}", seen.join("\n"));
            };
            if let Some(addr) = listening_at(&line) {
                break addr;
            }
            seen.push(line);
        };
        // The pipe must not fill up.
        std::thread::spawn(move || lines.for_each(drop));
        ServerProcess { child, addr }
    }

    /// Where it listens.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The most memory it has had resident, in bytes.
    pub(crate) fn resident_bytes_max(&self) -> u64 {
        let status = std::fs::read_to_string(PathBuf::from(format!("/proc/{}/status", self.child.id())))
            .expect("the process runs, on Linux");
        let line = status
            .lines()
            .find(|line| line.starts_with("VmHWM:"))
            .expect("Linux counts the high-water mark");
        let kilobytes: u64 = line
            .split_whitespace()
            .nth(1)
            .and_then(|n| n.parse().ok())
            .expect("VmHWM: n kB");
        kilobytes * 1024
    }

    /// SIGKILL: nothing of it runs any more when this returns.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("the process can be killed");
        self.child.wait().expect("the process can be waited for");
    }

    /// SIGTERM, and whether it ended with success.
    pub(crate) fn terminate(mut self) -> bool {
        let id = self.child.id().to_string();
        Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .expect("kill runs");
        self.child
            .wait()
            .expect("the process can be waited for")
            .success()
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address in a log line such as `listening on 127.0.0.1:5433 …`; the line names the psql command to paste.
fn listening_at(line: &str) -> Option<SocketAddr> {
    if !line.contains("psql") {
        return None;
    }
    let words = line.split(|c: char| !(c.is_ascii_digit() || c == '.' || c == ':'));
    words
        .filter_map(|word| word.parse::<SocketAddr>().ok())
        .next()
        .or_else(|| {
            let port = line
                .split("-p ")
                .nth(1)?
                .split_whitespace()
                .next()?
                .parse()
                .ok()?;
            Some(SocketAddr::from(([127, 0, 0, 1], port)))
        })
}
