//! What goes wrong inside sled, and what becomes of it: the first error ends every later call. Called by the engine
//! around each of its calls; knows nothing of keys and values.
//!
//! sled asserts what it expects of its files, so a panic is an error like any other. After a failed write it keeps an
//! error of its own, which some of its threads wait for without being woken: a call that comes later may hang for ever.
//! So nothing enters sled any more once a call has failed, and a thread of ours asks for sled's error now and then and
//! wakes the calls that already wait (see [`Watch`]).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::{Error, Result};

/// How long a call may wait for an error that sled's own threads met.
const WATCH_PERIOD: Duration = Duration::from_millis(200);

/// A tree that is never made: the attempt fails at once when sled has failed, and wakes those who wait.
const NO_TREE: &[u8] = b"none";

/// An error inside a call: sled's own, or entries that are none of ours.
pub(super) enum Fault {
    Sled(sled::Error),
    Damage(String),
}

impl From<sled::Error> for Fault {
    fn from(error: sled::Error) -> Fault {
        Fault::Sled(error)
    }
}

/// The first error that a database met.
#[derive(Debug)]
pub(super) struct Failure {
    path: PathBuf,
    first: OnceLock<Error>,
}

impl Failure {
    /// None so far, of the database in this folder.
    pub(super) fn new(path: &Path) -> Failure {
        Failure {
            path: path.to_path_buf(),
            first: OnceLock::new(),
        }
    }

    /// Makes the call unless one has failed before, and remembers its error or panic.
    pub(super) fn call<T>(&self, call: impl FnOnce() -> Result<T, Fault>) -> Result<T> {
        if let Some(error) = self.first.get() {
            return Err(error.clone());
        }
        let result = caught(&self.path, call).and_then(|result| result.map_err(|fault| self.explain(fault)));
        if let Err(error) = &result {
            let _ = self.first.set(error.clone());
        }
        result
    }

    fn explain(&self, fault: Fault) -> Error {
        match fault {
            Fault::Sled(error) => sled_error(&self.path, error),
            Fault::Damage(reason) => corrupt(&self.path, reason),
        }
    }
}

/// The thread that looks for errors of sled's own threads, until it is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    /// Dropped first: the thread then ends.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// `config` is the one that `db` was opened with: they share the place of the error.
    pub(super) fn start(config: sled::Config, db: sled::Db, failure: Arc<Failure>) -> Result<Watch> {
        let (stop, stopped) = channel();
        let path = failure.path.clone();
        let watch = move || {
            while stopped.recv_timeout(WATCH_PERIOD) == Err(RecvTimeoutError::Timeout) {
                if let Err(error) = config.global_error() {
                    let _ = failure.first.set(sled_error(&failure.path, error));
                    // It answers the same error; that it wakes the others is all we want of it.
                    let _ = caught(&failure.path, || db.open_tree(NO_TREE));
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("sled-watch".to_string())
            .spawn(watch)
            .map_err(|error| io_error("start a thread for", &path, &error))?;
        Ok(Watch {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It does not panic, and if it did there would be nothing to do.
            let _ = thread.join();
        }
    }
}

/// Runs a call of sled's, which asserts what it expects of its files; a panic is our `Corrupt`.
pub(super) fn caught<T>(path: &Path, call: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| {
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or(panic.downcast_ref::<&str>().copied());
        corrupt(
            path,
            format!("sled gave up: {}", text.unwrap_or("no reason given")),
        )
    })
}

/// An error of sled's in our words.
pub(super) fn sled_error(path: &Path, error: sled::Error) -> Error {
    match error {
        sled::Error::Io(error) => match error.kind() {
            std::io::ErrorKind::UnexpectedEof
            | std::io::ErrorKind::InvalidData
            | std::io::ErrorKind::NotFound => corrupt(
                path,
                format!("sled met a missing or short piece of a file: {error}"),
            ),
            _ => io_error("read or write", path, &error),
        },
        sled::Error::Corruption { at, .. } => {
            let place = at.map_or_else(String::new, |at| format!(" at {at:?}"));
            corrupt(path, format!("sled found a wrong checksum{place}"))
        }
        sled::Error::Unsupported(reason) | sled::Error::ReportableBug(reason) => corrupt(path, reason),
        sled::Error::CollectionNotFound(_) => corrupt(path, "sled misses its tree".to_string()),
    }
}

pub(super) fn corrupt(path: &Path, reason: String) -> Error {
    Error::Corrupt {
        what: format!("data directory \"{}\"", path.display()),
        reason,
    }
}

pub(super) fn io_error(action: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::Io {
        action: format!("could not {action} \"{}\"", path.display()),
        reason: error.to_string(),
    }
}
