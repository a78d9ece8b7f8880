//! The crash test: a child process commits to a store on disk and prints what was acknowledged; the parent kills it with
//! SIGKILL at a random moment, opens the directory, and finds every acknowledged commit and no half of any.
//!
//! The child is this test binary itself, asked for the same test, with the directory in an environment variable.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{
    Batch, KeyRange, Page, ScanRequest, Snapshot, Store, StoreKind, StoreOptions, Write, open_store,
};

/// Where the child finds its directory; its presence makes this process the child.
const DIRECTORY: &str = "KEYSPAN_CRASH_DIR";
/// Rounds to run instead of [`ROUNDS`].
const ROUNDS_VARIABLE: &str = "KEYSPAN_CRASH_ROUNDS";
const ROUNDS: u64 = 20;

/// Concurrent sessions of the child. The last one commits relaxed: whole or not at all, but acknowledged early.
const WRITERS: u8 = 5;
const RELAXED_WRITER: u8 = WRITERS - 1;
/// The commit `n` also deletes the rows of the commit `n - KEPT`.
const KEPT: u64 = 30;

fn open(kind: StoreKind, directory: &Path) -> Arc<dyn Store> {
    let options = StoreOptions {
        cache_bytes: 1 << 20,
        ..StoreOptions::default()
    };
    open_store(kind, directory, &options).expect("the store opens after a crash")
}

/// The key of the number of a writer's last commit.
fn counter_key(writer: u8) -> Vec<u8> {
    vec![b'c', writer]
}

fn part_key(writer: u8, number: u64, part: u8) -> Vec<u8> {
    [&[b'p', writer][..], &number.to_be_bytes(), &[part]].concat()
}

/// Rows that a commit puts. The first writer's commits are often so large that they do not fit the rest of a log
/// segment, or so large that they are written to the log in parts.
fn parts(writer: u8, number: u64) -> u8 {
    match (writer, number % 3) {
        (0, 0) => 250,
        (0, 1) => 60,
        _ => 6,
    }
}

/// Values of many sizes, now and then one that sled keeps in pieces.
fn part_value(number: u64, part: u8) -> Vec<u8> {
    let length = match (number % 40, part) {
        (0, 0) => 200_000,
        (_, 6..) => 1500,
        _ => number * 37 % 500,
    };
    vec![number as u8 ^ part; length as usize]
}

async fn counter(snapshot: &dyn Snapshot, writer: u8) -> u64 {
    let values = snapshot.get_many(&[counter_key(writer)]).await.expect("a get");
    values.get(0).map_or(0, |value| {
        u64::from_be_bytes(value.try_into().expect("eight bytes"))
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_commits_survive_sigkill_on_sled() {
    survive_sigkill(StoreKind::Sled).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_commits_survive_sigkill_on_fjall() {
    survive_sigkill(StoreKind::Fjall).await;
}

/// The parent, or the child of the same test.
async fn survive_sigkill(kind: StoreKind) {
    match std::env::var_os(DIRECTORY) {
        Some(directory) => write_until_killed(open(kind, Path::new(&directory))).await,
        None => {
            let rounds = std::env::var(ROUNDS_VARIABLE)
                .ok()
                .and_then(|rounds| rounds.parse().ok())
                .unwrap_or(ROUNDS);
            kill_and_check(kind, rounds).await;
        }
    }
}

/// The child: never ends by itself.
async fn write_until_killed(store: Arc<dyn Store>) {
    let mut tasks: Vec<_> = (0..WRITERS)
        .map(|writer| tokio::spawn(commit_forever(Arc::clone(&store), writer)))
        .collect();
    tasks.push(tokio::spawn(report_what_is_visible(store)));
    futures::future::join_all(tasks).await;
}

async fn commit_forever(store: Arc<dyn Store>, writer: u8) {
    for number in counter(&*store.snapshot().await.expect("a snapshot"), writer).await + 1.. {
        let mut writes = vec![Write::Put {
            key: counter_key(writer),
            value: number.to_be_bytes().to_vec(),
        }];
        writes.extend((0..parts(writer, number)).map(|part| Write::Put {
            key: part_key(writer, number, part),
            value: part_value(number, part),
        }));
        if let Some(old) = number.checked_sub(KEPT) {
            writes.extend((0..parts(writer, old)).map(|part| Write::Delete {
                key: part_key(writer, old, part),
            }));
        }
        let relaxed = writer == RELAXED_WRITER;
        store
            .commit(Batch {
                writes,
                relaxed,
                ..Batch::default()
            })
            .await
            .expect("a commit");
        if !relaxed {
            report(writer, number);
        }
    }
}

/// What a durable writer committed is durable as soon as anybody sees it.
async fn report_what_is_visible(store: Arc<dyn Store>) {
    loop {
        let snapshot = store.snapshot().await.expect("a snapshot");
        for writer in 0..RELAXED_WRITER {
            report(writer, counter(&*snapshot, writer).await);
        }
        tokio::task::yield_now().await;
    }
}

/// One line, written whole, so that the pipe never holds half a number at its end that reads like another.
fn report(writer: u8, number: u64) {
    let line = format!("\nack {writer} {number} .\n");
    std::io::stdout()
        .lock()
        .write_all(line.as_bytes())
        .expect("the parent reads until the end");
}

async fn kill_and_check(kind: StoreKind, rounds: u64) {
    let directory = tempfile::tempdir().expect("a directory");
    let mut random = StdRng::seed_from_u64(rounds);
    let mut acknowledged = BTreeMap::new();
    for round in 0..rounds {
        let child = start_child(kind, directory.path());
        let patience = Duration::from_micros(random.random_range(0..60_000));
        let read = tokio::task::spawn_blocking(move || kill_after(child, patience));
        for (writer, number) in read.await.expect("the reader of the pipe") {
            let last = acknowledged.entry(writer).or_insert(0);
            *last = number.max(*last);
        }
        let store = open(kind, directory.path());
        check(&*store, &acknowledged, round).await;
        // Every other round the parent ends the store in order, so that both ends are followed by a child.
        if round % 2 == 0 {
            store.close().await.expect("closes");
        }
    }
    let commits: u64 = acknowledged.values().sum();
    assert!(
        commits > rounds,
        "only {commits} commits were acknowledged in {rounds} rounds"
    );
}

fn start_child(kind: StoreKind, directory: &Path) -> Child {
    Command::new(std::env::current_exe().expect("the test binary"))
        .args([
            "--exact",
            &format!("store::crash::acknowledged_commits_survive_sigkill_on_{kind}"),
            "--nocapture",
        ])
        .env(DIRECTORY, directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the child starts")
}

/// Kills the child some time after its first commit, and answers all it reported. The pipe keeps what a killed process
/// has written.
fn kill_after(mut child: Child, patience: Duration) -> Vec<(u8, u64)> {
    let mut reported = Vec::new();
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut next = || lines.next().map(|line| parse_report(&line.expect("text")));
    while reported.is_empty() {
        reported.extend(next().expect("the child committed before it ended"));
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(patience);
            child.kill().expect("the child is killed");
        });
        while let Some(report) = next() {
            reported.extend(report);
        }
    });
    let status = child.wait().expect("the child has ended");
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(9),
        "it ended by itself: {status}"
    );
    reported
}

fn parse_report(line: &str) -> Option<(u8, u64)> {
    let (writer, number) = line.strip_prefix("ack ")?.strip_suffix(" .")?.split_once(' ')?;
    Some((writer.parse().ok()?, number.parse().ok()?))
}

/// Every acknowledged commit is there, and each commit that is there is whole.
async fn check(store: &dyn Store, acknowledged: &BTreeMap<u8, u64>, round: u64) {
    let snapshot = store.snapshot().await.expect("a snapshot");
    let mut expected = BTreeMap::new();
    for writer in 0..WRITERS {
        let last = counter(&*snapshot, writer).await;
        let acknowledged = acknowledged.get(&writer).copied().unwrap_or_default();
        assert!(
            last >= acknowledged,
            "round {round}: writer {writer} ends at {last}, {acknowledged} was acknowledged"
        );
        for number in last.saturating_sub(KEPT) + 1..=last {
            for part in 0..parts(writer, number) {
                expected.insert(part_key(writer, number, part), part_value(number, part));
            }
        }
    }
    let mut scan = snapshot.scan(ScanRequest {
        read_ahead: false,
        ranges: vec![KeyRange {
            start: b"p".to_vec(),
            end: Some(b"q".to_vec()),
        }],
        reverse: false,
        keys_only: false,
        page_rows_max: 1000,
        page_bytes_max: 1 << 20,
    });
    let mut found = BTreeMap::new();
    let mut page = Page::new();
    loop {
        scan.next_page(&mut page).await.expect("a page");
        if page.is_empty() {
            break;
        }
        found.extend(page.iter().map(|(key, value)| (key.to_vec(), value.to_vec())));
    }
    for (key, value) in &expected {
        assert_eq!(
            found.remove(key).as_ref(),
            Some(value),
            "round {round}: a part of a commit, {key:?}"
        );
    }
    let left: Vec<_> = found.keys().collect();
    assert!(
        left.is_empty(),
        "round {round}: parts of commits that are not there: {left:?}"
    );
}
