//! The watermark: a small file beside the engine that names a commit known to be durable, so that an engine whose
//! recovery silently drops the damaged end of its log is found out. Written by the committer now and then and when it
//! ends, read by `MvccStore::open`; knows nothing of the engine.

use std::fs::File;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{Timestamp, corrupt, sync_directory};
use crate::{Error, Result};

/// While commits go on, the file is written this often: what a loss of newer commits alone may go unnoticed.
const INTERVAL: Duration = Duration::from_secs(10);

/// The file, and what it says.
#[derive(Debug)]
pub struct Watermark {
    path: PathBuf,
    clock: Timestamp,
    written_at: Instant,
}

impl Watermark {
    /// Reads the file, if there is one. Errors: `Corrupt`, `Io`.
    pub fn open(path: &Path) -> Result<Watermark> {
        let clock = match std::fs::read_to_string(path) {
            Ok(line) => line
                .trim_end()
                .parse()
                .map_err(|_| corrupt(&path.display().to_string(), format!("{line:?}")))?,
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(error) => return Err(io_error("read", path, &error)),
        };
        Ok(Watermark {
            path: path.to_path_buf(),
            clock,
            written_at: Instant::now(),
        })
    }

    /// Whether the engine's clock reaches what was durable before. Error: `Corrupt`.
    pub(super) fn check(&self, engine_clock: Timestamp) -> Result<()> {
        if engine_clock >= self.clock {
            return Ok(());
        }
        let reason = format!(
            "it ends at commit {engine_clock}, but commit {} was durable",
            self.clock
        );
        Err(corrupt("the storage engine's log", reason))
    }

    /// Notes that `clock` is durable, if the last note is old enough.
    pub(super) fn note(&mut self, clock: Timestamp) -> Result<()> {
        if self.written_at.elapsed() < INTERVAL {
            Ok(())
        } else {
            self.write(clock)
        }
    }

    /// Notes that `clock` is durable.
    pub(super) fn write(&mut self, clock: Timestamp) -> Result<()> {
        if clock == self.clock {
            return Ok(());
        }
        replace_file(&self.path, &format!("{clock}\n"))
            .map_err(|error| io_error("write", &self.path, &error))?;
        self.clock = clock;
        self.written_at = Instant::now();
        Ok(())
    }
}

/// Written beside and renamed, so that no half of it is ever there.
fn replace_file(path: &Path, text: &str) -> std::io::Result<()> {
    let unfinished = path.with_extension("new");
    let mut file = File::create(&unfinished)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&unfinished, path)?;
    sync_directory(path)
}

fn io_error(action: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::Io {
        action: format!("could not {action} \"{}\"", path.display()),
        reason: error.to_string(),
    }
}
