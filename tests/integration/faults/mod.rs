//! Faults from outside: what the real binary keeps when it is killed, when its disk fails or is full, and when the power
//! is cut while it runs or starts. All of it through PostgreSQL's protocol and the files: nothing here knows how a store
//! works, and every store has to pass.
//!
//! ```text
//!   workload   sessions that commit, a ledger of what was acknowledged, and the check of what a server then holds
//!   process    the binary, started, ended and waited for in bounded time
//!   shim       ioshim.c, preloaded into the binary: counts, fails and records its file operations
//!   trace      the record
//!   disk       what of it a power cut leaves on the disk
//!   kill, errors, full_disk, hang, stall, power    the tests
//! ```
//!
//! Everything is drawn from a seed, and a failure says how to repeat it. Variables make the runs longer:
//!
//! | variable | default | what it counts |
//! |---|---|---|
//! | `KEYSPAN_FAULTS_SEED` | 1 | – |
//! | `KEYSPAN_FAULTS_STORE` | every store | the one store to test |
//! | `KEYSPAN_FAULTS_BINARY` | the one under test | the binary (a release build, say) |
//! | `KEYSPAN_KILL_ROUNDS` | 3 | kills under load |
//! | `KEYSPAN_ERROR_ROUNDS` | 5 | failing file operations, of a start and of a running server each |
//! | `KEYSPAN_FULL_DISK_ROUNDS` | 2 | disks that are full |
//! | `KEYSPAN_POWER_IMAGES` | 8 | images of a disk after a power cut, of a running server and of a starting one each |
//! | `KEYSPAN_POWER_COMMITS` | 150 | commits before the cuts |
//! | `KEYSPAN_POWER_CUTS` | `both` | `random` moments, the `worst` (most is unsynced), or both in turn |
//! | `KEYSPAN_POWER_MODELS` | all | models of a disk: `none,some,prefix,ext4` (see `disk`) |
//! | `KEYSPAN_FAULTS_KEEP` | – | a folder for the disks that a failure was found on |

mod disk;
mod errors;
mod full_disk;
mod hang;
mod kill;
mod power;
mod process;
mod shim;
mod stall;
mod trace;
mod workload;

use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The stores that must survive, by their names on the command line.
const STORES: [&str; 2] = ["sled", "fjall"];

/// The stores to test in this run.
fn stores() -> Vec<&'static str> {
    let chosen = std::env::var("KEYSPAN_FAULTS_STORE").ok();
    STORES
        .into_iter()
        .filter(|store| chosen.as_ref().is_none_or(|chosen| chosen == store))
        .collect()
}

/// The value of a variable, or its default.
fn variable<T: FromStr>(name: &str, default: T) -> T {
    match std::env::var(name) {
        Ok(value) => value
            .parse()
            .unwrap_or_else(|_| panic!("{name} cannot be {value}")),
        Err(_) => default,
    }
}

fn seed() -> u64 {
    variable("KEYSPAN_FAULTS_SEED", 1)
}

/// Fails with every finding, and how to see it again.
#[track_caller]
fn assert_none(findings: &[String], rounds: usize, repeat: &str) {
    assert!(
        findings.is_empty(),
        "{} findings in {rounds} rounds; again: KEYSPAN_FAULTS_SEED={} {repeat}\n{}",
        findings.len(),
        seed(),
        findings.join("\n")
    );
}

/// Copies a folder and all that is in it. `to` must not be there yet.
fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder can be made");
    for entry in std::fs::read_dir(from).expect("a folder can be listed") {
        let entry = entry.expect("a folder can be listed");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a file has a type").is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("a file can be copied");
        }
    }
}

/// Keeps a folder that a failure was found on, where `KEYSPAN_FAULTS_KEEP` says.
fn keep(folder: &Path, name: &str) {
    if let Some(kept) = std::env::var_os("KEYSPAN_FAULTS_KEEP") {
        let kept = PathBuf::from(kept).join(name);
        let _ = std::fs::remove_dir_all(&kept);
        copy_folder(folder, &kept);
    }
}
