//! How long one small durable commit takes while something else goes on: a commit of a million rows, or checkpoints.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio_postgres::Client;

use crate::report::Report;
use crate::system::{System, stores};
use crate::workload::{Sizes, number};

/// Connections that commit one row at a time.
const CONNECTIONS: usize = 4;
/// How long they do so where nothing else ends it.
pub(crate) const SPAN: Duration = Duration::from_secs(5);
/// The command line's flag for how many bytes of log make a checkpoint.
pub(crate) const CHECKPOINT_FLAG: &str = "--checkpoint-bytes";
/// A size that one round of commits reaches many times, and one that it never reaches.
const TINY_CHECKPOINT: &str = "1MB";
pub(crate) const NO_CHECKPOINT: &str = "1TB";

/// Commits before and during `INSERT … SELECT` of a million rows.
pub(crate) async fn beside_large(sizes: &Sizes) -> String {
    let rows = number("KEYSPAN_BENCH_LARGE_ROWS", 1_000_000);
    let mut systems = System::keyspan_on_each().await;
    systems.extend(System::postgresql().await);
    let heading = format!(
        "commits of one row from {CONNECTIONS} connections beside a commit of {rows} rows, medians of {} rounds",
        sizes.rounds
    );
    let names = systems.iter().map(|system| system.name().to_string()).collect();
    let mut report = Report::of_part(&heading, names);
    for system in &systems {
        create_tables(system).await;
    }
    for round in 0..sizes.rounds {
        for (at, system) in systems.iter().enumerate() {
            let before = while_running(system, round * 2, tokio::time::sleep(SPAN)).await;
            add(
                &mut report,
                at,
                ["before: p50", "before: p99", "before: max"],
                before,
            );
            let client = system.connect().await;
            let start = Instant::now();
            let large = large_commit(&client, rows, round);
            let during = while_running(system, round * 2 + 1, large).await;
            report.add("the large commit", "s", at, start.elapsed().as_secs_f64());
            add(
                &mut report,
                at,
                ["during: p50", "during: p99", "during: max"],
                during,
            );
        }
        eprintln!("measured: commits beside a large one, round {round}");
    }
    report.table()
}

/// Commits with hardly a pause between checkpoints, and without any.
pub(crate) async fn with_checkpoints(sizes: &Sizes) -> String {
    let mut systems = Vec::new();
    for store in stores() {
        for size in [TINY_CHECKPOINT, NO_CHECKPOINT] {
            let name = format!("{store}, checkpoint at {size}");
            systems.push(System::keyspan_on(store, name, &[CHECKPOINT_FLAG, size]).await);
        }
    }
    let heading = format!(
        "commits of one row from {CONNECTIONS} connections, medians of {} rounds",
        sizes.rounds
    );
    let names = systems.iter().map(|system| system.name().to_string()).collect();
    let mut report = Report::of_part(&heading, names);
    for system in &systems {
        create_tables(system).await;
    }
    for round in 0..sizes.rounds {
        for (at, system) in systems.iter().enumerate() {
            for_a_while(&mut report, at, system, round).await;
        }
        eprintln!("measured: commits with checkpoints, round {round}");
    }
    report.table()
}

/// Commits for `SPAN`: how many, and how long they take.
pub(crate) async fn for_a_while(report: &mut Report, column: usize, system: &System, round: usize) {
    let latencies = while_running(system, round, tokio::time::sleep(SPAN)).await;
    let speed = latencies.len() as f64 / SPAN.as_secs_f64();
    report.add("commits", "commits/s", column, speed);
    add(report, column, ["p50", "p99", "max"], latencies);
}

pub(crate) async fn create_tables(system: &System) {
    let create =
        "CREATE TABLE small (connection bigint, id bigint, note varchar, PRIMARY KEY (connection, id));
                  CREATE TABLE large (id bigint PRIMARY KEY, note varchar)";
    let client = system.connect().await;
    client.batch_execute(create).await.expect("the tables are made");
}

/// One statement, and thus one commit, of many rows.
async fn large_commit(client: &Client, rows: usize, round: usize) {
    let first = round * rows;
    let insert = format!(
        "INSERT INTO large SELECT {first} + n, 'row of a large commit ' || n FROM generate_series(1, {rows}) n"
    );
    client
        .batch_execute(&insert)
        .await
        .expect("the rows are inserted");
}

/// The latencies of one-row commits from several connections until `work` ends, sorted.
async fn while_running(system: &System, round: usize, work: impl Future<Output = ()>) -> Vec<Duration> {
    let ended = Arc::new(AtomicBool::new(false));
    let mut tasks = Vec::new();
    for connection in 0..CONNECTIONS {
        let client = system.connect().await;
        let number = (round * CONNECTIONS + connection) as i64;
        tasks.push(tokio::spawn(commits(client, number, Arc::clone(&ended))));
    }
    work.await;
    ended.store(true, Ordering::Relaxed);
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await.expect("the commits run"));
    }
    latencies.sort();
    latencies
}

/// Commits one row after the other.
async fn commits(client: Client, connection: i64, ended: Arc<AtomicBool>) -> Vec<Duration> {
    let sql = "INSERT INTO small VALUES ($1, $2, 'inserted alone')";
    let statement = client.prepare(sql).await.expect("it prepares");
    let mut latencies = Vec::new();
    for id in 0i64.. {
        if ended.load(Ordering::Relaxed) {
            break;
        }
        let start = Instant::now();
        let inserted = client.execute(&statement, &[&connection, &id]).await;
        inserted.expect("the row is inserted");
        latencies.push(start.elapsed());
    }
    latencies
}

/// Adds the 50th and 99th percentile and the greatest of sorted latencies, which measure less when they are better.
fn add(report: &mut Report, column: usize, names: [&'static str; 3], sorted: Vec<Duration>) {
    let Some(last) = sorted.len().checked_sub(1) else {
        return;
    };
    for (name, at) in names.into_iter().zip([last / 2, last * 99 / 100, last]) {
        report.add(name, "ms", column, sorted[at].as_secs_f64() * 1_000.0);
    }
}
