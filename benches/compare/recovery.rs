//! How long a start takes that has to replay a full log: commits fill it without a checkpoint, the server is killed, the
//! engine's files are put back to what they were before, as a power cut may leave them, and the time counts from the next
//! start to its first answer. Keyspan alone: how much log PostgreSQL would read depends on its checkpoints.

use std::path::Path;
use std::time::Instant;

use keyspan::StoreKind;
use tempfile::TempDir;
use tokio_postgres::Client;

use crate::commits::{CHECKPOINT_FLAG, NO_CHECKPOINT};
use crate::report::Report;
use crate::system::{System, stores};
use crate::workload::{Sizes, number};

/// Rows of one commit while the log is filled, and the bytes of each.
const COMMIT_ROWS: usize = 5_000;
const ROW_BYTES: usize = 1_024;
const GIGABYTE: f64 = 1e9;

/// Measures every store.
pub(crate) async fn measure(sizes: &Sizes) -> String {
    let log_bytes = number("KEYSPAN_BENCH_LOG_BYTES", 1_000_000_000).max(COMMIT_ROWS * ROW_BYTES);
    let heading = format!(
        "the start that replays {} MB of commits, medians of {} rounds",
        log_bytes / 1_000_000,
        sizes.rounds
    );
    let names = stores()
        .iter()
        .map(|store| format!("Keyspan on {store}"))
        .collect();
    let mut report = Report::of_part(&heading, names);
    for (at, store) in stores().into_iter().enumerate() {
        for round in 0..sizes.rounds {
            measure_one(&mut report, at, store, log_bytes).await;
            eprintln!("measured: recovery of {store}, round {round}");
        }
    }
    report.table()
}

async fn measure_one(report: &mut Report, column: usize, store: StoreKind, log_bytes: usize) {
    let arguments = [CHECKPOINT_FLAG, NO_CHECKPOINT];
    let mut system = System::keyspan_on(store, format!("Keyspan on {store}"), &arguments).await;
    create_table(&system.connect().await).await;
    system.kill();
    let before = TempDir::new().expect("a temporary folder");
    copy_engine(&system.data_dir(), before.path());
    let mut system = system.start_again().await;
    let rows = fill(&system.connect().await, log_bytes).await;
    system.kill();
    copy_engine(before.path(), &system.data_dir());
    let log = folder_bytes(&system.data_dir().join("log"));
    let start = Instant::now();
    let mut system = system.start_again().await;
    let found = last_row(&system.connect().await).await;
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!(found, rows as i64, "the last acknowledged row is there");
    report.add("start to first answer", "s", column, seconds);
    report.add(
        "the same for a GB of rows",
        "s",
        column,
        seconds * GIGABYTE / log_bytes as f64,
    );
    report.add("log on disk", "MB", column, log as f64 / 1e6);
    system.sample_memory();
    let memory = system.memory_bytes_max() as f64 / f64::from(1 << 20);
    report.add("memory after the start", "MiB", column, memory);
    system.stop();
}

async fn create_table(client: &Client) {
    let create = "CREATE TABLE filled (id bigint PRIMARY KEY, payload text)";
    client.batch_execute(create).await.expect("the table is made");
}

/// Commits rows until they hold so many bytes; how many rows.
async fn fill(client: &Client, log_bytes: usize) -> usize {
    let rows = log_bytes / ROW_BYTES;
    for first in (0..rows).step_by(COMMIT_ROWS) {
        let last = rows.min(first + COMMIT_ROWS);
        let insert = format!(
            "INSERT INTO filled SELECT n, repeat(md5(n::text), {}) FROM generate_series({}, {last}) n",
            ROW_BYTES / 32,
            first + 1
        );
        client
            .batch_execute(&insert)
            .await
            .expect("the rows are inserted");
    }
    rows
}

/// The greatest key, which is the last row committed.
async fn last_row(client: &Client) -> i64 {
    let query = "SELECT id FROM filled ORDER BY id DESC LIMIT 1";
    let row = client.query_one(query, &[]).await;
    row.expect("a row is there").get(0)
}

/// Makes the folders of a data directory, all but the log's, in `to` what they are in `from`: those of the engine.
fn copy_engine(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).expect("the directory is read").flatten() {
        if entry.path().is_dir() && entry.file_name() != "log" {
            copy_folder(&entry.path(), &to.join(entry.file_name()));
        }
    }
}

fn copy_folder(from: &Path, to: &Path) {
    let _ = std::fs::remove_dir_all(to);
    std::fs::create_dir_all(to).expect("the folder is made");
    for entry in std::fs::read_dir(from).expect("the folder is read").flatten() {
        let copy = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy_folder(&entry.path(), &copy),
            false => drop(std::fs::copy(entry.path(), copy).expect("the file is copied")),
        }
    }
}

/// Bytes of the files of a folder; 0 where there is none.
fn folder_bytes(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let lengths = entries.flatten().filter_map(|entry| entry.metadata().ok());
    lengths.map(|metadata| metadata.len()).sum()
}
