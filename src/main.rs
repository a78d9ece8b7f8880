//! The binary: a command line and its environment into `ServerOptions`, a server, and a clean end on SIGINT or SIGTERM.

use std::io::{IsTerminal, Write as _};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::builder::FalseyValueParser;
use clap::{Args, Parser, Subcommand};
use keyspan::{Server, ServerOptions, StoreKind};
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The table that `--demo` loads, a thousand rows of it.
const DEMO: &str = include_str!("../fixtures/orders.sql");

/// A PostgreSQL-wire SQL engine for wide tables over an ordered key-value store.
#[derive(Debug, Parser)]
#[command(version, about, args_conflicts_with_subcommands = true, next_line_help = true)]
struct CommandLine {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: Serve,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve clients (what `keyspan` does without a command).
    Serve(Serve),
}

#[derive(Debug, Args)]
struct Serve {
    /// Address and port to listen on; loopback only, as there is no authentication yet.
    #[arg(
        long,
        env = "KEYSPAN_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:5433",
        value_parser = parse_address
    )]
    listen: SocketAddr,
    /// Folder that holds the data; made when it is not there.
    #[arg(
        long,
        env = "KEYSPAN_DATA_DIR",
        value_name = "FOLDER",
        default_value = "./keyspan-data"
    )]
    data_dir: PathBuf,
    /// Storage engine: sled and fjall keep the data on disk, memory forgets it at the end.
    #[arg(long, env = "KEYSPAN_STORE", value_name = "ENGINE", default_value = "sled", value_parser = parse_store)]
    store: StoreKind,
    /// Load the table `orders` with a thousand rows, unless it exists.
    #[arg(long, env = "KEYSPAN_DEMO", value_parser = FalseyValueParser::new())]
    demo: bool,
    #[command(flatten)]
    limits: Limits,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Limits (sizes such as 64MB)")]
struct Limits {
    /// Clients connected at once.
    #[arg(
        long,
        env = "KEYSPAN_MAX_CONNECTIONS",
        value_name = "COUNT",
        default_value_t = 200
    )]
    max_connections: usize,
    /// Memory that the storage engine takes [default: a quarter of the machine's].
    #[arg(long, env = "KEYSPAN_CACHE_BYTES", value_name = "SIZE", value_parser = parse_size)]
    cache_bytes: Option<u64>,
    /// Memory for old values that open snapshots still need; above it the oldest snapshots end.
    #[arg(long, env = "KEYSPAN_UNDO_BYTES_MAX", value_name = "SIZE", default_value = "256MB", value_parser = parse_size)]
    undo_bytes_max: u64,
    /// Most bytes that one transaction may write; they wait in memory for COMMIT.
    #[arg(
        long,
        env = "KEYSPAN_TRANSACTION_BYTES_MAX",
        value_name = "SIZE",
        default_value = "1GB",
        value_parser = parse_size
    )]
    transaction_bytes_max: u64,
    /// Memory for sorts, joins and groups before they spill to disk.
    #[arg(
        long,
        env = "KEYSPAN_QUERY_MEMORY_BYTES_MAX",
        value_name = "SIZE",
        default_value = "512MB",
        value_parser = parse_size
    )]
    query_memory_bytes_max: u64,
    /// Longest message that a client may send.
    #[arg(long, env = "KEYSPAN_MESSAGE_BYTES_MAX", value_name = "SIZE", default_value = "64MB", value_parser = parse_size)]
    message_bytes_max: u64,
    /// Longest value of one key column.
    #[arg(long, env = "KEYSPAN_KEY_COLUMN_BYTES_MAX", value_name = "SIZE", default_value = "2kB", value_parser = parse_size)]
    key_column_bytes_max: u64,
    /// Longest key of a row.
    #[arg(long, env = "KEYSPAN_KEY_BYTES_MAX", value_name = "SIZE", default_value = "30kB", value_parser = parse_size)]
    key_bytes_max: u64,
    /// Longest row, without its key.
    #[arg(long, env = "KEYSPAN_VALUE_BYTES_MAX", value_name = "SIZE", default_value = "2MB", value_parser = parse_size)]
    value_bytes_max: u64,
}

fn main() -> ExitCode {
    let line = CommandLine::parse();
    let serve = match line.command {
        Some(Command::Serve(serve)) => serve,
        None => line.serve,
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info,sled=warn"));
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(colours)
        .init();
    match serve_until_signal(serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The message alone: where in our code it arose tells nobody what to do. There may be no one to tell.
            let _ = writeln!(std::io::stderr(), "Error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Makes the runtime and serves in it.
fn serve_until_signal(serve: Serve) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(keyspan::THREAD_STACK_BYTES)
        .enable_all()
        .build()
        .context("no runtime")?;
    runtime.block_on(run(serve))
}

/// Serves until a signal comes.
async fn run(serve: Serve) -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt()).context("SIGINT cannot be caught")?;
    let mut terminate = signal(SignalKind::terminate()).context("SIGTERM cannot be caught")?;
    let demo = serve.demo;
    let server = Server::start(serve.into_options()).await.map_err(explain)?;
    if demo {
        server.run_script_unless("orders", DEMO).await.map_err(explain)?;
    }
    let addr = server.local_addr();
    tracing::info!(
        "listening on {addr}; connect with: psql -h {} -p {}",
        addr.ip(),
        addr.port()
    );
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    tracing::info!("ending: statements in flight have a moment to finish; signal again to end at once");
    tokio::select! {
        ended = server.shutdown() => ended.map_err(explain),
        _ = interrupt.recv() => anyhow::bail!("ended at once"),
        _ = terminate.recv() => anyhow::bail!("ended at once"),
    }
}

impl Serve {
    fn into_options(self) -> ServerOptions {
        let limits = self.limits;
        let settings = [
            ("keyspan.transaction_bytes_max", limits.transaction_bytes_max),
            ("keyspan.query_memory_bytes_max", limits.query_memory_bytes_max),
            ("keyspan.message_bytes_max", limits.message_bytes_max),
            ("keyspan.key_column_bytes_max", limits.key_column_bytes_max),
            ("keyspan.key_bytes_max", limits.key_bytes_max),
            ("keyspan.value_bytes_max", limits.value_bytes_max),
        ];
        ServerOptions {
            listen: self.listen,
            data_dir: self.data_dir,
            store: self.store,
            connections_max: limits.max_connections,
            cache_bytes: limits
                .cache_bytes
                .unwrap_or_else(|| ServerOptions::default().cache_bytes),
            undo_bytes_max: usize::try_from(limits.undo_bytes_max).unwrap_or(usize::MAX),
            settings: settings
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .to_vec(),
        }
    }
}

/// An error with its DETAIL and HINT, for the terminal.
fn explain(error: keyspan::Error) -> anyhow::Error {
    let mut text = error.to_string();
    for (title, line) in [("DETAIL", error.detail()), ("HINT", error.hint())] {
        if let Some(line) = line {
            text.push_str(&format!("\n{title}: {line}"));
        }
    }
    anyhow::anyhow!(text)
}

fn parse_store(name: &str) -> Result<StoreKind, String> {
    name.parse()
        .map_err(|error: keyspan::Error| format!("{error}. {}", error.hint().unwrap_or_default()))
}

/// An address, or the name of one, and a port.
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let found = text.to_socket_addrs().ok().and_then(|mut found| found.next());
    found.ok_or_else(|| "expected an address and a port, such as 127.0.0.1:5433".to_string())
}

/// A number of bytes, with or without a unit.
fn parse_size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let factor: u64 = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1 << 10,
        "mb" => 1 << 20,
        "gb" => 1 << 30,
        "tb" => 1 << 40,
        _ => return Err("valid units are B, kB, MB, GB, TB".to_string()),
    };
    let number: u64 = text[..digits]
        .parse()
        .map_err(|_| "a size begins with a whole number".to_string())?;
    number
        .checked_mul(factor)
        .filter(|bytes| *bytes > 0)
        .ok_or_else(|| "out of range".to_string())
}
