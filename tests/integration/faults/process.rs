//! `Launch` and `Running`: the binary, started, ended and waited for, always in bounded time: one that hangs is a finding,
//! and no test waits for it.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::shim::Shim;

/// How long a start may take, until it listens or gives up.
const START_TIME_MAX: Duration = Duration::from_secs(60);
/// How long an end may take: the server's own bound …
const SHUTDOWN_SECONDS_MAX: &str = "5";
/// … and a margin for a busy machine.
const END_TIME_MAX: Duration = Duration::from_secs(30);

/// How to start a server.
#[derive(Debug, Clone)]
pub(super) struct Launch {
    pub(super) store: &'static str,
    pub(super) data_dir: PathBuf,
    /// Small, unless a test needs pages to stay in memory.
    pub(super) cache_bytes: &'static str,
}

/// A server that listens. Killed when dropped.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    addr: SocketAddr,
    said: Arc<Mutex<Vec<String>>>,
    events: Receiver<Event>,
}

/// Why there is no server.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It ended, with these words.
    Ended(String),
    /// It did neither listen nor end.
    Hung(String),
}

#[derive(Debug)]
enum Event {
    Listening(SocketAddr),
    /// Its standard error is closed: the process is gone.
    Ended,
}

/// The binary to test.
pub(super) fn binary() -> PathBuf {
    std::env::var_os("KEYSPAN_FAULTS_BINARY")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_keyspan")), PathBuf::from)
}

impl Launch {
    /// With a small cache.
    pub(super) fn new(store: &'static str, data_dir: PathBuf) -> Launch {
        Launch {
            store,
            data_dir,
            cache_bytes: "16MB",
        }
    }

    /// Starts a server and waits until it listens.
    pub(super) fn start(&self, shim: Option<&Shim>) -> Result<Running, Refusal> {
        self.start_within(shim, START_TIME_MAX)
    }

    /// As `start`, in less time: what is killed then is a server in the middle of its start.
    pub(super) fn start_within(&self, shim: Option<&Shim>, time: Duration) -> Result<Running, Refusal> {
        let mut child = Command::new(binary())
            .args(["serve", "--listen", "127.0.0.1:0", "--store", self.store])
            .args(["--shutdown-seconds-max", SHUTDOWN_SECONDS_MAX])
            // Small, so that a short run goes through checkpoints and uses segments again.
            .args([
                "--cache-bytes",
                self.cache_bytes,
                "--checkpoint-bytes",
                "2MB",
                "--log-segment-bytes",
                "512kB",
            ])
            .arg("--data-dir")
            .arg(&self.data_dir)
            .envs(shim.map(Shim::environment).unwrap_or_default())
            .env("RUST_LOG", "info")
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let said: Arc<Mutex<Vec<String>>> = Arc::default();
        let (sender, events) = channel();
        let (lines, heard) = (
            BufReader::new(child.stderr.take().expect("stderr is piped")).lines(),
            said.clone(),
        );
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let listening = listening_at(&line);
                heard.lock().expect("no thread panics with it").push(line);
                if let Some(addr) = listening {
                    // A server that is killed early is heard by nobody.
                    let _ = sender.send(Event::Listening(addr));
                }
            }
            let _ = sender.send(Event::Ended);
        });
        let mut running = Running {
            child,
            addr: SocketAddr::from(([127, 0, 0, 1], 0)),
            said,
            events,
        };
        match running.events.recv_timeout(time) {
            Ok(Event::Listening(addr)) => {
                running.addr = addr;
                Ok(running)
            }
            Ok(Event::Ended) | Err(RecvTimeoutError::Disconnected) => Err(Refusal::Ended(running.said())),
            Err(RecvTimeoutError::Timeout) => Err(Refusal::Hung(running.said())),
        }
    }

    /// Runs `keyspan check` over the data, where the binary has it: what it found.
    pub(super) fn check_files(&self) -> Option<String> {
        let knows = Command::new(binary()).args(["check", "--help"]).output();
        if !knows.is_ok_and(|output| output.status.success()) {
            return None;
        }
        let output = Command::new(binary())
            .arg("check")
            .arg(&self.data_dir)
            .output()
            .expect("the binary starts");
        let said = || {
            format!(
                "keyspan check: {}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            )
        };
        (!output.status.success()).then(said)
    }
}

impl Running {
    pub(super) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The last it said on standard error.
    pub(super) fn said(&self) -> String {
        let said = self.said.lock().expect("no thread panics with it");
        said[said.len().saturating_sub(6)..].join("\n")
    }

    /// SIGKILL: nothing of it runs any more when this returns.
    pub(super) fn kill(mut self) {
        self.end();
    }

    /// How it ended by itself; `None` while it runs.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("the process can be waited for")
    }

    /// How it ends by itself within a time; `None` when it does not.
    pub(super) fn ends_within(&mut self, time: Duration) -> Option<ExitStatus> {
        let until = Instant::now() + time;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left) {
                Ok(Event::Listening(_)) => {}
                Ok(Event::Ended) | Err(RecvTimeoutError::Disconnected) => {
                    return Some(self.child.wait().expect("the process can be waited for"));
                }
                Err(RecvTimeoutError::Timeout) => return None,
            }
        }
    }

    /// SIGTERM; how it ended, `None` when it did not in time.
    pub(super) fn terminate(&mut self) -> Option<ExitStatus> {
        let id = self.child.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &id]).status();
        self.ends_within(END_TIME_MAX)
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.end();
    }
}

/// The address in the line that says where the server listens.
fn listening_at(line: &str) -> Option<SocketAddr> {
    let (_, rest) = line.split_once("listening on ")?;
    rest.split([';', ' ']).next()?.parse().ok()
}

/// The names of the files of a data directory with their sizes, for a report.
pub(super) fn list_files(folder: &Path) -> String {
    let mut names = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(about) if about.is_dir() => folders.push(entry.path()),
                Ok(about) => {
                    let path = entry.path();
                    let name = path.strip_prefix(folder).unwrap_or(&path).display().to_string();
                    names.push(format!("{name} {}", about.len()));
                }
                Err(_) => {}
            }
        }
    }
    names.sort();
    names.join(", ")
}
