//! A disk that never answers: SIGTERM ends the process all the same.

use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

use super::process::Launch;
use super::shim::{ALL, Fault, Mode, Shim};
use super::stores;
use super::workload::{Stop, Workload};

/// For the first commits to reach the disk.
const STUCK_TIME_MAX: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_ends_a_server_whose_disk_hangs() {
    for store in stores() {
        let folder = TempDir::new().expect("a temporary folder");
        let data_dir = folder.path().join("data");
        let launch = Launch::new(store, data_dir);
        let Some(shim) = Shim::new(&launch.data_dir, false) else {
            return;
        };
        let mut server = launch.start(Some(&shim)).expect("a new directory opens");
        let workload = Workload::new(1, false);
        workload.make_tables(server.addr(), None).await;
        shim.arm(Fault {
            at: 1,
            errno: 0,
            mode: Mode::Hang,
            mask: ALL,
        });
        let (addr, sessions) = (server.addr(), workload.clone());
        let running = tokio::spawn(async move { sessions.run(addr, &Stop::after(usize::MAX), None).await });
        let shim = Arc::new(shim);
        wait_for_hang(&shim).await;
        let ended = tokio::task::spawn_blocking(move || (server.terminate(), server.said()));
        let (status, said) = ended.await.expect("it is waited for");
        let status = status.unwrap_or_else(|| panic!("SIGTERM does not end it: {said}"));
        assert!(!status.success(), "an end that lost its store is no success");
        assert!(said.contains("did not end within"), "{said}");
        running.await.expect("sessions end with their server");
    }
}

/// Until a call hangs.
async fn wait_for_hang(shim: &Shim) {
    let hangs = async {
        while shim.fired() == 0 {
            tokio::task::yield_now().await;
        }
    };
    let waited = tokio::time::timeout(STUCK_TIME_MAX, hangs).await;
    assert!(waited.is_ok(), "no commit reaches the disk");
}
