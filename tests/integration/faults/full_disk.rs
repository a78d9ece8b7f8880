//! A disk that is full from some moment on: clients or the log are told so, a start on the full disk says so or serves,
//! and with room again everything is there.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

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

/// Bytes of the file system that is filled, and what of them the server leaves free.
const SMALL_DISK_BYTES: u64 = 96 << 20;
const RESERVE_BYTES: &str = "16MB";
/// Far more than fits.
const FILLING_BATCHES: usize = 400;

/// What fills the disk is taken away at once or row by row; then the next write is taken, and much fits again.
#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_was_full_is_usable_when_it_is_emptied() {
    for store in stores() {
        let folder = TempDir::new().expect("a temporary folder");
        let Some(disk) = SmallDisk::mount(folder.path()) else {
            return;
        };
        let launch = Launch {
            disk_reserve_bytes: RESERVE_BYTES,
            ..Launch::new(store, disk.0.join("data"))
        };
        let server = launch.start(None).expect("a new directory opens");
        let target = format!(
            "host={} port={} user=u dbname=d",
            server.addr().ip(),
            server.addr().port()
        );
        let (client, connection) = tokio_postgres::connect(&target, NoTls)
            .await
            .expect("it connects");
        tokio::spawn(connection);
        let make = "CREATE TABLE t (k int PRIMARY KEY, v text)";
        client.batch_execute(make).await.expect("a table is made");
        let first = fill_table(&client).await;
        assert!(first > 0, "{store}: something fits");
        for empty in ["TRUNCATE t", "DELETE FROM t"] {
            client
                .batch_execute(empty)
                .await
                .expect("room can be made on a full disk");
            let again = fill_table(&client).await;
            assert!(
                again >= first / 4,
                "{store}, {empty}: {again} batches fit, {first} at first"
            );
        }
    }
}

/// Inserts until the disk is full; how many batches fitted.
async fn fill_table(client: &Client) -> usize {
    for batch in 0..FILLING_BATCHES {
        let insert = format!(
            "INSERT INTO t SELECT {batch} * 100 + g, repeat(md5((g * {batch})::text), 312) FROM generate_series(0, 99) g"
        );
        match client.batch_execute(&insert).await {
            Ok(()) => {}
            Err(error) => {
                let error = error.as_db_error().expect("the server lives").clone();
                assert_eq!(error.code().code(), "53100", "{error}");
                assert!(
                    error.hint().is_some_and(|hint| hint.contains("TRUNCATE")),
                    "{error:?}"
                );
                return batch;
            }
        }
    }
    panic!("the disk is larger than it was made");
}

/// A file system of its own, unmounted when dropped.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts one in a folder; `None` where that is not allowed, said on stderr.
    fn mount(folder: &Path) -> Option<SmallDisk> {
        let place = folder.join("disk");
        std::fs::create_dir(&place).expect("a folder can be made");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={SMALL_DISK_BYTES}"), "none"])
            .arg(&place)
            .output();
        let is_mounted = mounted.is_ok_and(|output| output.status.success());
        if !is_mounted {
            eprintln!("skipped: a small disk can be mounted by root alone");
        }
        is_mounted.then_some(SmallDisk(place))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
