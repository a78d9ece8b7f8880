//! `Shim`: `ioshim.c`, compiled once and preloaded into a server, and the words that steer it.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use tempfile::TempDir;

/// The words of the control file, as in `ioshim.c`.
#[derive(Debug, Clone, Copy)]
enum Word {
    Calls,
    Armed,
    FailAt,
    Errno,
    Mode,
    Mask,
    Fired,
    Traced,
}

const WORDS: usize = 8;

/// What a fault does at its call, as in `ioshim.c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// Fails.
    Once,
    /// Fails, and every call after it.
    Always,
    /// Writes half; the next call fails.
    ShortThenFail,
    /// Writes half, as POSIX allows at any time.
    Short,
    /// From now on the disk is full: what needs space fails.
    Full,
    /// Never returns.
    Hang,
    /// Waits, and every call after it, until the shim is disarmed.
    Hold,
}

/// Kinds of calls, bits of a mask, as in `ioshim.c`.
pub(super) const WRITE: u64 = 1;
pub(super) const SYNC: u64 = 2;
pub(super) const RESIZE: u64 = 4;
pub(super) const OPEN: u64 = 8;
pub(super) const MKDIR: u64 = 128;
/// Every kind.
pub(super) const ALL: u64 = 255;

pub(super) const EIO: u64 = 5;
pub(super) const ENOSPC: u64 = 28;

/// What is to fail.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    /// Which of the calls in `mask`, from 1.
    pub(super) at: u64,
    pub(super) errno: u64,
    pub(super) mode: Mode,
    pub(super) mask: u64,
}

/// The shim of one server.
#[derive(Debug)]
pub(super) struct Shim {
    directory: PathBuf,
    control: PathBuf,
    words: File,
    trace: Option<PathBuf>,
}

impl Shim {
    /// For a server over `directory`; its own files lie beside it. `None` where there is no C compiler, said on stderr.
    pub(super) fn new(directory: &Path, traced: bool) -> Option<Shim> {
        Shim::with_files_beside(directory, directory, traced)
    }

    /// For a server whose files below `part`, a folder in its data directory, are looked at, and no others.
    pub(super) fn of_part(data_dir: &Path, part: &str) -> Option<Shim> {
        Shim::with_files_beside(&data_dir.join(part), data_dir, false)
    }

    fn with_files_beside(directory: &Path, beside: &Path, traced: bool) -> Option<Shim> {
        library()?;
        let control = beside.with_extension("control");
        let words = File::options()
            .create(true)
            .truncate(true)
            .read(true)
            .write(true)
            .open(&control)
            .expect("the control file can be made");
        words.set_len(8 * WORDS as u64).expect("it has its words");
        let trace = traced.then(|| beside.with_extension("trace"));
        if let Some(trace) = &trace {
            let _ = std::fs::remove_file(trace);
        }
        Some(Shim {
            directory: directory.to_path_buf(),
            control,
            words,
            trace,
        })
    }

    /// What a server's environment needs.
    pub(super) fn environment(&self) -> Vec<(&'static str, PathBuf)> {
        let library = library().expect("a shim has a library").to_path_buf();
        let mut environment = vec![
            ("LD_PRELOAD", library),
            ("SHIM_DIRECTORY", self.directory.clone()),
            ("SHIM_CONTROL", self.control.clone()),
        ];
        if let Some(trace) = &self.trace {
            environment.push(("SHIM_TRACE", trace.clone()));
        }
        environment
    }

    /// Arms a fault; calls are counted from here.
    pub(super) fn arm(&self, fault: Fault) {
        self.set(Word::Armed, 0);
        self.set(Word::Calls, 0);
        self.set(Word::Fired, 0);
        self.set(Word::FailAt, fault.at);
        self.set(Word::Errno, fault.errno);
        self.set(Word::Mode, fault.mode as u64);
        self.set(Word::Mask, fault.mask);
        self.set(Word::Armed, 1);
    }

    /// Lets what is held go on, and everything after it.
    pub(super) fn disarm(&self) {
        self.set(Word::Armed, 0);
    }

    /// Counts calls, and fails none.
    pub(super) fn count(&self) {
        self.arm(Fault {
            at: 0,
            errno: 0,
            mode: Mode::Once,
            mask: ALL,
        });
    }

    /// Calls since the shim was armed.
    pub(super) fn calls(&self) -> u64 {
        self.get(Word::Calls)
    }

    /// Faults since the shim was armed.
    pub(super) fn fired(&self) -> u64 {
        self.get(Word::Fired)
    }

    /// Bytes of the trace: what has happened so far stands before.
    pub(super) fn traced(&self) -> u64 {
        self.get(Word::Traced)
    }

    /// The trace.
    pub(super) fn read_trace(&self) -> Vec<u8> {
        let trace = self.trace.as_ref().expect("this shim traces");
        std::fs::read(trace).expect("the trace can be read")
    }

    fn get(&self, word: Word) -> u64 {
        let mut bytes = [0; 8];
        self.words
            .read_exact_at(&mut bytes, 8 * word as u64)
            .expect("the control file has its words");
        u64::from_ne_bytes(bytes)
    }

    fn set(&self, word: Word, value: u64) {
        self.words
            .write_all_at(&value.to_ne_bytes(), 8 * word as u64)
            .expect("the control file can be written");
    }
}

/// The compiled shim; `None` where there is no C compiler.
fn library() -> Option<&'static Path> {
    static LIBRARY: OnceLock<Option<(TempDir, PathBuf)>> = OnceLock::new();
    let library = LIBRARY.get_or_init(|| {
        let folder = TempDir::new().expect("a temporary folder");
        let source = folder.path().join("ioshim.c");
        std::fs::write(&source, include_str!("ioshim.c")).expect("a file can be written");
        let library = folder.path().join("ioshim.so");
        let compiled = Command::new("cc")
            .args(["-O1", "-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(&source)
            .arg("-lpthread")
            .status();
        match compiled {
            Ok(status) => {
                assert!(status.success(), "ioshim.c compiles");
                Some((folder, library))
            }
            Err(error) => {
                eprintln!("skipped: faults need a C compiler as `cc` ({error})");
                None
            }
        }
    });
    library.as_ref().map(|(_, library)| library.as_path())
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use tempfile::TempDir;

    use super::{ENOSPC, Fault, Mode, Shim, WRITE};
    use crate::faults::trace::{self, What};

    /// Runs a script under a shim over the folder that it finds as `$0`; what it did there.
    fn recorded(script: &str, fault: Option<Fault>) -> Option<Vec<String>> {
        let folder = TempDir::new().expect("a temporary folder");
        let data = folder.path().join("data");
        let shim = Shim::new(&data, true)?;
        fault.inspect(|fault| shim.arm(*fault));
        Command::new("sh")
            .args(["-c", script])
            .arg(&data)
            .envs(shim.environment())
            .stderr(Stdio::null())
            .status()
            .expect("a shell runs");
        let trace = shim.read_trace();
        assert_eq!(
            shim.traced(),
            trace.len() as u64,
            "tests know where the trace stands"
        );
        let operations = trace::read(&trace);
        let described = operations.iter().map(|operation| {
            let name = operation
                .path
                .strip_prefix(data.to_str().expect("UTF-8"))
                .expect("below");
            match &operation.what {
                What::Write {
                    offset,
                    data,
                    durable,
                } => format!("{name} {offset}+{} {durable}", data.len()),
                what => format!("{name} {what:?}"),
            }
        });
        Some(described.collect())
    }

    #[test]
    fn every_operation_is_recorded() {
        let script = "mkdir $0 $0/spill
            dd if=/dev/zero of=$0/a bs=100 count=2 conv=fsync
            dd if=/dev/zero of=$0/a bs=100 count=1 seek=3 conv=notrunc oflag=dsync
            dd if=/dev/zero of=$0/spill/b bs=100 count=1
            rm $0/a";
        let Some(found) = recorded(script, None) else {
            return;
        };
        let expected = [
            " MakeFolder",
            "/a Create",
            "/a 0+100 false",
            "/a 100+100 false",
            "/a Sync",
            "/a 300+100 true",
            "/a Unlink",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn faults_come_when_they_are_asked_for() {
        let script =
            "mkdir $0; dd if=/dev/zero of=$0/a bs=100 count=4; dd if=/dev/zero of=$0/b bs=100 count=1";
        let fault = |mode| Fault {
            at: 2,
            errno: ENOSPC,
            mode,
            mask: WRITE,
        };
        for (mode, expected) in [
            (Mode::Once, vec!["/a 0+100 false", "/b 0+100 false"]),
            (Mode::Always, vec!["/a 0+100 false"]),
            (Mode::Full, vec!["/a 0+100 false"]),
            (
                Mode::ShortThenFail,
                vec!["/a 0+100 false", "/a 100+50 false", "/b 0+100 false"],
            ),
        ] {
            let Some(found) = recorded(script, Some(fault(mode))) else {
                return;
            };
            let writes: Vec<_> = found.iter().filter(|operation| operation.contains('+')).collect();
            assert_eq!(writes, expected.iter().collect::<Vec<_>>(), "{mode:?}");
        }
    }
}
