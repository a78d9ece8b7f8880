//! File operations that fail: the Nth of a running server and of a starting one, for many N. What was acknowledged stays,
//! nothing hangs, and the next start opens.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use super::process::{Launch, Refusal, Running, list_files};
use super::shim::{ALL, EIO, ENOSPC, Fault, Mode, Shim};
use super::workload::{Ending, Stop, Workload};
use super::{assert_none, copy_folder, keep, seed, stores, variable};

/// Commits of a server in which one operation fails.
const COMMITS: usize = 60;

/// What fails, in turn.
const FAULTS: [(Mode, u64); 5] = [
    (Mode::Once, EIO),
    (Mode::Always, EIO),
    (Mode::ShortThenFail, ENOSPC),
    (Mode::Once, ENOSPC),
    (Mode::Short, 0),
];

/// What clients may be told of a disk that fails: a broken connection, a full disk, an I/O error, a server that ends.
const TOLD: [&str; 6] = ["", "53100", "58030", "57P01", "57P02", "57P03"];

/// A data directory that was killed under load, and what it must hold.
pub(super) struct Base {
    pub(super) folder: TempDir,
    pub(super) launch: Launch,
    pub(super) workload: Workload,
}

impl Base {
    pub(super) async fn make(store: &'static str, large: bool) -> Base {
        let folder = TempDir::new().expect("a temporary folder");
        let launch = Launch::new(store, folder.path().join("base"));
        let workload = Workload::new(seed(), large);
        let server = launch.start(None).expect("a new directory opens");
        workload.make_tables(server.addr(), None).await;
        workload.run(server.addr(), &Stop::after(COMMITS), None).await;
        server.kill();
        Base {
            folder,
            launch,
            workload,
        }
    }

    /// A copy to break, with the same to hold.
    pub(super) fn copy(&self, name: &str) -> (Launch, Workload) {
        let data_dir: PathBuf = self.folder.path().join(name);
        let _ = std::fs::remove_dir_all(&data_dir);
        copy_folder(&self.launch.data_dir, &data_dir);
        let launch = Launch {
            data_dir,
            ..self.launch.clone()
        };
        (launch, self.workload.fork())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_server_survives_any_failing_file_operation() {
    sweep(Phase::Running).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_starting_server_survives_any_failing_file_operation() {
    sweep(Phase::Starting).await;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Starting,
    Running,
}

async fn sweep(phase: Phase) {
    let rounds: usize = variable("KEYSPAN_ERROR_ROUNDS", FAULTS.len());
    for store in stores() {
        let base = Base::make(store, true).await;
        let Some(calls) = count_calls(&base, phase).await else {
            return;
        };
        let mut findings = Vec::new();
        for round in 0..rounds {
            let (mode, errno) = FAULTS[round % FAULTS.len()];
            // Spread over all calls, elsewhere with another seed.
            let at = 1 + (round as u64 * calls / rounds as u64 + seed() * 7 + round as u64) % calls;
            let fault = Fault {
                at,
                errno,
                mode,
                mask: ALL,
            };
            let (launch, workload) = base.copy("copy");
            for finding in fail_once(&launch, &workload, phase, fault, round).await {
                findings.push(format!("{mode:?} {errno} at call {at} of {calls}: {finding}"));
                keep(
                    &launch.data_dir,
                    &format!("{store}-{phase:?}-{mode:?}-{errno}-{at}"),
                );
            }
        }
        assert_none(
            &findings,
            rounds,
            &format!("KEYSPAN_FAULTS_STORE={store} KEYSPAN_ERROR_ROUNDS={rounds} ({phase:?})"),
        );
    }
}

/// The file operations of a start or of a running server without faults; `None` without a shim.
async fn count_calls(base: &Base, phase: Phase) -> Option<u64> {
    let (launch, workload) = base.copy("counted");
    let shim = Arc::new(Shim::new(&launch.data_dir, false)?);
    shim.count();
    let server = launch.start(Some(&shim)).expect("the directory opens");
    if phase == Phase::Running {
        shim.count();
        workload.run(server.addr(), &Stop::after(COMMITS), None).await;
    }
    server.kill();
    Some(shim.calls().max(1))
}

/// One round: a server that meets the fault, its end, and a start without.
async fn fail_once(
    launch: &Launch,
    workload: &Workload,
    phase: Phase,
    fault: Fault,
    round: usize,
) -> Vec<String> {
    let shim = Arc::new(Shim::new(&launch.data_dir, false).expect("it was there before"));
    if phase == Phase::Starting {
        shim.arm(fault);
    }
    let mut findings = Vec::new();
    match launch.start(Some(&shim)) {
        Ok(server) => {
            if phase == Phase::Running {
                shim.arm(fault);
            }
            findings.extend(run_and_end(server, workload, round.is_multiple_of(2)).await);
        }
        Err(Refusal::Ended(said)) => {
            if shim.fired() == 0 || said.is_empty() {
                findings.push(format!("the start failed without a reason: {said}"));
            }
        }
        Err(Refusal::Hung(said)) => findings.push(format!("the start hangs: {said}")),
    }
    findings.extend(start_and_check(launch, workload).await);
    findings
}

/// Lets a server meet what may come, checks what it still answers, and ends it.
pub(super) async fn run_and_end(mut server: Running, workload: &Workload, terminate: bool) -> Vec<String> {
    let mut findings = Vec::new();
    let endings = workload.run(server.addr(), &Stop::after(COMMITS), None).await;
    for ending in &endings {
        match ending {
            Ending::Hung(how) => findings.push(format!("a session hangs: {how}")),
            Ending::Failed(sqlstate, message) if !TOLD.contains(&sqlstate.as_str()) => {
                findings.push(format!("a client was told {sqlstate}: {message}"));
            }
            Ending::Failed(..) | Ending::Stopped => {}
        }
    }
    if endings.iter().any(|ending| *ending != Ending::Stopped) && server.ended().is_none() {
        // It may refuse, or end meanwhile; what it answers must be right.
        let found = workload.check(server.addr(), u64::MAX, false).await;
        findings.extend(
            found
                .into_iter()
                .filter(|finding| !finding.starts_with("the check failed: Failed")),
        );
    }
    match server.ended() {
        Some(status) if status.success() || server.said().is_empty() => {
            findings.push(format!(
                "it ended by itself with {status} and said: {}",
                server.said()
            ));
        }
        Some(_) => {}
        None if terminate && server.terminate().is_none() => {
            findings.push(format!("SIGTERM does not end it: {}", server.said()));
        }
        None => {}
    }
    server.kill();
    findings
}

/// A start without faults: it opens, holds everything, and takes a commit.
pub(super) async fn start_and_check(launch: &Launch, workload: &Workload) -> Vec<String> {
    if let Some(finding) = launch.check_files() {
        return vec![finding];
    }
    match launch.start(None) {
        Ok(server) => workload.check(server.addr(), u64::MAX, true).await,
        Err(refusal) => vec![format!(
            "the next start failed: {refusal:?}; files: {}",
            list_files(Path::new(&launch.data_dir))
        )],
    }
}
