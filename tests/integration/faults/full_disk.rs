//! A disk that is full from some moment on: clients or the log are told so, a start on the full disk says so or serves,
//! and with room again everything is there.

use std::sync::Arc;

use super::errors::{Base, run_and_end, start_and_check};
use super::process::{Launch, Refusal};
use super::shim::{ENOSPC, Fault, MKDIR, Mode, OPEN, RESIZE, Shim, WRITE};
use super::workload::Workload;
use super::{assert_none, keep, seed, stores, variable};

/// What needs room.
const NEEDS_ROOM: u64 = WRITE | OPEN | RESIZE | MKDIR;

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_loses_nothing() {
    let rounds: u64 = variable("KEYSPAN_FULL_DISK_ROUNDS", 2);
    for store in stores() {
        let base = Base::make(store, true).await;
        let mut findings = Vec::new();
        for round in 0..rounds {
            // Overwriting what is there works on a full disk; then again some file systems need room even for that.
            let mode = [Mode::Full, Mode::Always][(round % 2) as usize];
            let at = 1 + (seed() * 11 + round * 13) % 60;
            let (launch, workload) = base.copy("copy");
            if Shim::new(&launch.data_dir, false).is_none() {
                return;
            }
            for finding in fill(&launch, &workload, mode, at).await {
                findings.push(format!("{mode:?} from call {at}: {finding}"));
                keep(&launch.data_dir, &format!("{store}-full-{mode:?}-{at}"));
            }
        }
        assert_none(
            &findings,
            rounds as usize,
            &format!("KEYSPAN_FAULTS_STORE={store} KEYSPAN_FULL_DISK_ROUNDS={rounds}"),
        );
    }
}

async fn fill(launch: &Launch, workload: &Workload, mode: Mode, at: u64) -> Vec<String> {
    let shim = Arc::new(Shim::new(&launch.data_dir, false).expect("it was there before"));
    let fault = |at| Fault {
        at,
        errno: ENOSPC,
        mode,
        mask: NEEDS_ROOM,
    };
    let mut findings = Vec::new();
    match launch.start(Some(&shim)) {
        Ok(server) => {
            shim.arm(fault(at));
            findings.extend(run_and_end(server, workload, true).await);
        }
        Err(refusal) => findings.push(format!("the start failed: {refusal:?}")),
    }
    // The disk is still full.
    shim.arm(fault(1));
    match launch.start(Some(&shim)) {
        Ok(server) => {
            let found = workload.check(server.addr(), u64::MAX, false).await;
            findings.extend(
                found
                    .into_iter()
                    .map(|finding| format!("started on the full disk: {finding}")),
            );
        }
        Err(Refusal::Ended(said)) if said.contains("No space left on device") => {}
        Err(refusal) => findings.push(format!("the start on the full disk: {refusal:?}")),
    }
    findings.extend(start_and_check(launch, workload).await);
    findings
}
