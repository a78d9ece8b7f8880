//! The binary: a command line and its environment into `ServerOptions`, a server, and a clean end on SIGINT or SIGTERM;
//! or a check of a data directory and its report; or files that are loaded into a table.

use std::io::{IsTerminal, Write as _};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::builder::FalseyValueParser;
use clap::{Args, Parser, Subcommand};
use keyspan::{
    CheckProgress, LoadArguments, LoadObserver, LoadProgress, Server, ServerOptions, StoreKind,
    check_data_dir, load_files,
};
use rustix::fs::Mode;
use rustix::process::umask;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// The table that `--demo` loads, a thousand rows of it.
const DEMO: &str = include_str!("../fixtures/orders.sql");

/// What `keyspan check` ends with when it found damage.
const DAMAGED: u8 = 1;
/// What `keyspan check` ends with when it could not look.
const NOT_CHECKED: u8 = 2;
/// How often progress is shown on a terminal, and elsewhere.
const TERMINAL_PAUSE: Duration = Duration::from_millis(200);
const LINES_PAUSE: Duration = Duration::from_secs(5);
/// Width of the bar that shows how much of the files is loaded.
const BAR_CHARS: usize = 30;

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
    Serve(Box<Serve>),
    /// Verify everything in a data directory that no server uses; changes nothing of it.
    ///
    /// Ends with 0 when all is sound, 1 when there is damage, 2 when it could not be checked.
    Check(Check),
    /// Load files into a table, through a running server or into a data directory that no server uses.
    ///
    /// Each file is a COPY of its own: all of its rows or none, but for --batch-rows.
    Load(Box<LoadArguments>),
}

#[derive(Debug, Args)]
struct Check {
    /// The data directory.
    #[arg(value_name = "FOLDER")]
    data_dir: PathBuf,
}

#[derive(Debug, Args)]
struct Serve {
    /// Address and port to listen on; loopback only, unless keyspan.authentication asks for passwords.
    #[arg(
        long,
        env = "KEYSPAN_LISTEN",
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:5433",
        value_parser = parse_address
    )]
    listen: SocketAddr,
    /// Port to listen on, in place of the address's.
    #[arg(long, env = "KEYSPAN_PORT", value_name = "PORT")]
    port: Option<u16>,
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
    /// Folder below which COPY reads and writes files of the server; none without it.
    #[arg(long, env = "KEYSPAN_LOAD_DIR", value_name = "FOLDER")]
    load_dir: Option<PathBuf>,
    /// The server's certificate and those that lead to its root, in PEM: clients that ask for TLS get it.
    #[arg(long, env = "KEYSPAN_TLS_CERT", value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key, in PEM.
    #[arg(long, env = "KEYSPAN_TLS_KEY", value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Any setting that sessions begin with, as SET would have it; may be given often, or several separated by ";".
    #[arg(long = "set", env = "KEYSPAN_SET", value_name = "NAME=VALUE", value_delimiter = ';', value_parser = parse_setting)]
    settings: Vec<(String, String)>,
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
    /// Seconds that an end may take; then the process ends with failure. The next start recovers what is committed.
    #[arg(
        long,
        env = "KEYSPAN_SHUTDOWN_SECONDS_MAX",
        value_name = "SECONDS",
        default_value_t = 60
    )]
    shutdown_seconds_max: u64,
    /// Memory that the storage engine takes [default: a quarter of the machine's].
    #[arg(long, env = "KEYSPAN_CACHE_BYTES", value_name = "SIZE", value_parser = parse_size)]
    cache_bytes: Option<u64>,
    /// Memory for old values that open snapshots still need; above it the oldest snapshots end.
    #[arg(long, env = "KEYSPAN_UNDO_BYTES_MAX", value_name = "SIZE", default_value = "256MB", value_parser = parse_size)]
    undo_bytes_max: u64,
    /// Growth of the log after which the storage engine is made durable; a start after a crash reads so much again.
    #[arg(long, env = "KEYSPAN_CHECKPOINT_BYTES", value_name = "SIZE", default_value = "256MB", value_parser = parse_size)]
    checkpoint_bytes: u64,
    /// Free disk space below which only what frees space is written.
    #[arg(long, env = "KEYSPAN_DISK_RESERVE_BYTES", value_name = "SIZE", default_value = "256MB", value_parser = parse_size)]
    disk_reserve_bytes: u64,
    /// Memory for commits that the storage engine does not have yet; above it commits wait for the engine.
    #[arg(
        long,
        env = "KEYSPAN_MEMTABLE_BYTES_MAX",
        value_name = "SIZE",
        default_value = "64MB",
        value_parser = parse_size
    )]
    memtable_bytes_max: u64,
    /// The same for large commits, of which one may always come [default: a sixteenth of the machine's].
    #[arg(long, env = "KEYSPAN_LARGE_COMMITS_BYTES_MAX", value_name = "SIZE", value_parser = parse_size)]
    large_commits_bytes_max: Option<u64>,
    /// Length of a segment of the log.
    #[arg(long, env = "KEYSPAN_LOG_SEGMENT_BYTES", value_name = "SIZE", default_value = "16MB", value_parser = parse_size)]
    log_segment_bytes: u64,
    /// Most bytes that one transaction may write; they wait in memory for COMMIT.
    #[arg(
        long,
        env = "KEYSPAN_TRANSACTION_BYTES_MAX",
        value_name = "SIZE",
        default_value = "1GB",
        value_parser = parse_size
    )]
    transaction_bytes_max: u64,
    /// Memory that all statements and transactions hold together [default: three eighths of the machine's].
    #[arg(long, env = "KEYSPAN_MEMORY_BYTES_MAX", value_name = "SIZE", value_parser = parse_size)]
    memory_bytes_max: Option<u64>,
    /// Memory for sorts, joins and groups of one statement before they spill to disk.
    #[arg(
        long,
        env = "KEYSPAN_QUERY_MEMORY_BYTES_MAX",
        value_name = "SIZE",
        default_value = "512MB",
        value_parser = parse_size
    )]
    query_memory_bytes_max: u64,
    /// Longest value that a function makes.
    #[arg(
        long,
        env = "KEYSPAN_FUNCTION_VALUE_BYTES_MAX",
        value_name = "SIZE",
        default_value = "64MB",
        value_parser = parse_size
    )]
    function_value_bytes_max: u64,
    /// Most bytes of a function's results for one batch of rows.
    #[arg(
        long,
        env = "KEYSPAN_FUNCTION_BATCH_BYTES_MAX",
        value_name = "SIZE",
        default_value = "512MB",
        value_parser = parse_size
    )]
    function_batch_bytes_max: u64,
    /// Memory for the prepared statements of one session.
    #[arg(long, env = "KEYSPAN_PREPARED_BYTES_MAX", value_name = "SIZE", default_value = "64MB", value_parser = parse_size)]
    prepared_bytes_max: u64,
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
    // Whatever the server makes is for its owner alone.
    umask(Mode::RWXG | Mode::RWXO);
    let line = CommandLine::parse();
    log_to_stderr();
    let serve = match line.command {
        Some(Command::Check(check)) => return check_folder(&check.data_dir),
        Some(Command::Load(load)) => return load_into_table(*load),
        Some(Command::Serve(serve)) => *serve,
        None => line.serve,
    };
    match serve_until_signal(serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::FAILURE
        }
    }
}

fn log_to_stderr() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info,sled=warn"));
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_target(false)
        .with_ansi(colours)
        .init();
}

/// Runs `keyspan check`: the report to stdout, progress and errors to stderr.
fn check_folder(data_dir: &Path) -> ExitCode {
    let mut progress = Progress::new();
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(error) => {
            complain(&error);
            return ExitCode::from(NOT_CHECKED);
        }
    };
    let checked = runtime.block_on(check_data_dir(data_dir, &mut |at| progress.show(at)));
    progress.end();
    match checked {
        Ok(report) => {
            let _ = write!(std::io::stdout(), "{report}");
            ExitCode::from(if report.is_sound() { 0 } else { DAMAGED })
        }
        Err(error) => {
            let damaged = matches!(error, keyspan::Error::Corrupt { .. });
            complain(&explain(error));
            ExitCode::from(if damaged { DAMAGED } else { NOT_CHECKED })
        }
    }
}

/// Runs `keyspan load`: what was loaded to stdout, progress, notices and errors to stderr.
fn load_into_table(load: LoadArguments) -> ExitCode {
    let started = Instant::now();
    let table = load.table().to_string();
    let mut progress = Loading {
        line: Progress::new(),
        started,
    };
    let loaded = runtime().and_then(|runtime| {
        let (options, target) = load.into_options().map_err(anyhow::Error::msg)?;
        let loaded = runtime.block_on(load_files(&options, target, &mut progress));
        progress.line.end();
        Ok(loaded?)
    });
    let rows = match loaded {
        Ok(rows) => rows,
        Err(error) => {
            complain(&error);
            return ExitCode::FAILURE;
        }
    };
    let seconds = started.elapsed().as_secs_f64();
    let rate = rows as f64 / seconds.max(1e-3);
    let _ = writeln!(
        std::io::stdout(),
        "{rows} rows loaded into {table} in {seconds:.2} s, {rate:.0} a second"
    );
    ExitCode::SUCCESS
}

/// Shows how far a load is.
struct Loading {
    line: Progress,
    started: Instant,
}

impl LoadObserver for Loading {
    fn progress(&mut self, at: LoadProgress<'_>) {
        let seconds = self.started.elapsed().as_secs_f64();
        self.line.show_text(|| {
            let megabytes = |bytes: u64| bytes as f64 / 1e6;
            let rate = megabytes(at.bytes) / seconds.max(1e-3);
            let sent = format!("{:.1} MB sent, {rate:.1} MB a second", megabytes(at.bytes));
            match at.bytes_total.filter(|total| *total > 0) {
                None => format!("{}: {sent}", at.file),
                Some(total) => {
                    let part = (at.bytes as f64 / total as f64).min(1.0);
                    let filled = (part * BAR_CHARS as f64) as usize;
                    let bar = format!("{}{}", "=".repeat(filled), " ".repeat(BAR_CHARS - filled));
                    format!("{} [{bar}] {:.0} %, {sent}", at.file, part * 100.0)
                }
            }
        });
    }

    fn notice(&mut self, notice: &str) {
        self.line.end();
        let _ = writeln!(std::io::stderr(), "NOTICE:  {notice}");
    }
}

/// Shows how far something is: one line that changes on a terminal, else a line now and then.
struct Progress {
    is_terminal: bool,
    shown_at: Instant,
    shown: bool,
}

impl Progress {
    fn new() -> Progress {
        Progress {
            is_terminal: std::io::stderr().is_terminal(),
            shown_at: Instant::now(),
            shown: false,
        }
    }

    fn show(&mut self, at: CheckProgress<'_>) {
        let CheckProgress {
            relation,
            rows,
            entries,
        } = at;
        self.show_text(|| format!("checking {relation}: {rows} rows, {entries} index entries"));
    }

    fn show_text(&mut self, text: impl FnOnce() -> String) {
        let pause = if self.is_terminal {
            TERMINAL_PAUSE
        } else {
            LINES_PAUSE
        };
        if self.shown_at.elapsed() < pause {
            return;
        }
        (self.shown_at, self.shown) = (Instant::now(), true);
        let text = text();
        let _ = match self.is_terminal {
            true => write!(std::io::stderr(), "\r\x1b[K{text}"),
            false => writeln!(std::io::stderr(), "{text}"),
        };
    }

    /// Takes the line off the terminal.
    fn end(&self) {
        if self.is_terminal && self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}

/// Makes the runtime and serves in it.
fn serve_until_signal(serve: Serve) -> anyhow::Result<()> {
    let runtime = runtime()?;
    match runtime.block_on(run(serve)) {
        Ok(()) => Ok(()),
        // The runtime would wait for threads that may wait for a disk.
        Err(error) => end_at_once(&error),
    }
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .thread_stack_size(keyspan::THREAD_STACK_BYTES)
        .max_blocking_threads(keyspan::blocking_threads_max())
        .enable_all()
        .build()
        .context("no runtime")
}

/// Serves until a signal comes, or the store fails.
async fn run(serve: Serve) -> anyhow::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt()).context("SIGINT cannot be caught")?;
    let mut terminate = signal(SignalKind::terminate()).context("SIGTERM cannot be caught")?;
    let demo = serve.demo;
    let shutdown_time_max = Duration::from_secs(serve.limits.shutdown_seconds_max);
    let started_at = Instant::now();
    let options = serve.into_options();
    let in_folder = match options.store {
        StoreKind::Memory => String::new(),
        _ => format!(" in \"{}\"", options.data_dir.display()),
    };
    tracing::info!(
        "keyspan {} starts: store {}{in_folder}, cache of {} MB",
        env!("CARGO_PKG_VERSION"),
        options.store,
        options.cache_bytes >> 20
    );
    // A start may take long, when there is much to recover; ended at once, the next one begins anew.
    let starting = tokio::spawn(Server::start(options));
    let server = tokio::select! {
        started = starting => started.context("the start failed")?.map_err(explain)?,
        _ = interrupt.recv() => end_at_once(&anyhow::anyhow!("ended before it had started")),
        _ = terminate.recv() => end_at_once(&anyhow::anyhow!("ended before it had started")),
    };
    let mut failed = server.failed();
    if demo {
        match server.run_script_unless("orders", DEMO).await.map_err(explain)? {
            true => tracing::info!("the demo table \"orders\" is loaded"),
            false => tracing::info!("the demo table \"orders\" is there already"),
        }
    }
    let addr = server.local_addr();
    tracing::info!(
        "listening on {addr}; connect with: psql -h {} -p {} (the start took {} ms)",
        addr.ip(),
        addr.port(),
        started_at.elapsed().as_millis()
    );
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        error = &mut failed => end_at_once(&explain(error)),
    }
    tracing::info!("ending: statements in flight have a moment to finish; signal again to end at once");
    let late = anyhow::anyhow!(
        "the server did not end within {} seconds, and ends without waiting any longer; the next start recovers",
        shutdown_time_max.as_secs()
    );
    // A task of its own: where it is not waited for, it is not dropped either, which would wait for the store.
    let shutdown = tokio::spawn(server.shutdown());
    tokio::select! {
        ended = shutdown => {
            ended.context("the end failed")?.map_err(explain)?;
            tracing::info!("ended; everything committed is on the disk");
            Ok(())
        }
        error = &mut failed => end_at_once(&explain(error)),
        () = tokio::time::sleep(shutdown_time_max) => end_at_once(&late),
        _ = interrupt.recv() => end_at_once(&anyhow::anyhow!("ended at once")),
        _ = terminate.recv() => end_at_once(&anyhow::anyhow!("ended at once")),
    }
}

/// Ends the process whatever its threads are doing, as a crash would: the next start recovers what is committed.
fn end_at_once(error: &anyhow::Error) -> ! {
    complain(error);
    std::process::exit(1);
}

/// The message alone: where in our code it arose tells nobody what to do.
fn complain(error: &anyhow::Error) {
    // There may be no one to tell.
    let _ = writeln!(std::io::stderr(), "Error: {error:#}");
}

impl Serve {
    fn into_options(self) -> ServerOptions {
        let mut listen = self.listen;
        self.port.into_iter().for_each(|port| listen.set_port(port));
        let limits = self.limits;
        let settings = [
            ("keyspan.transaction_bytes_max", limits.transaction_bytes_max),
            ("keyspan.query_memory_bytes_max", limits.query_memory_bytes_max),
            (
                "keyspan.function_value_bytes_max",
                limits.function_value_bytes_max,
            ),
            (
                "keyspan.function_batch_bytes_max",
                limits.function_batch_bytes_max,
            ),
            ("keyspan.prepared_bytes_max", limits.prepared_bytes_max),
            ("keyspan.message_bytes_max", limits.message_bytes_max),
            ("keyspan.key_column_bytes_max", limits.key_column_bytes_max),
            ("keyspan.key_bytes_max", limits.key_bytes_max),
            ("keyspan.value_bytes_max", limits.value_bytes_max),
        ];
        let load_dir = self.load_dir.map(|folder| {
            let folder = std::path::absolute(&folder).unwrap_or(folder);
            ("keyspan.load_dir".to_string(), folder.display().to_string())
        });
        ServerOptions {
            listen,
            data_dir: self.data_dir,
            store: self.store,
            tls: self.tls_cert.zip(self.tls_key),
            connections_max: limits.max_connections,
            cache_bytes: limits
                .cache_bytes
                .unwrap_or_else(|| ServerOptions::default().cache_bytes),
            memory_bytes_max: limits
                .memory_bytes_max
                .unwrap_or_else(|| ServerOptions::default().memory_bytes_max),
            undo_bytes_max: usize::try_from(limits.undo_bytes_max).unwrap_or(usize::MAX),
            checkpoint_bytes: limits.checkpoint_bytes,
            disk_reserve_bytes: limits.disk_reserve_bytes,
            memtable_bytes_max: usize::try_from(limits.memtable_bytes_max).unwrap_or(usize::MAX),
            large_commits_bytes_max: limits
                .large_commits_bytes_max
                .map_or(ServerOptions::default().large_commits_bytes_max, |bytes| {
                    usize::try_from(bytes).unwrap_or(usize::MAX)
                }),
            log_segment_bytes: limits.log_segment_bytes,
            settings: settings
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .into_iter()
                .chain(load_dir)
                .chain(self.settings)
                .collect(),
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

/// A setting's name and its value.
fn parse_setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("expected a name and a value, such as statement_timeout=5s")?;
    Ok((name.trim().to_string(), value.trim().to_string()))
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
