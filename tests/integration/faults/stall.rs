//! A sync that takes its time: until it has ended, clients connect, read and, if it is the storage engine's, commit as before.

use std::net::SocketAddr;
use std::time::Duration;

use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

use super::process::{Launch, Running};
use super::shim::{Fault, Mode, SYNC, Shim, WRITE};
use super::stores;

/// For an answer that waits for nothing; one that waits for the sync never comes.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);
/// Which sync since the last checkpoint is held: of a table or a buffer, of a list of tables, of a name.
const HELD_SYNCS: [u64; 7] = [1, 2, 3, 4, 5, 6, 9];
/// Rows of the table.
const ROWS: i64 = 400;

/// Rows of the other table, by even keys: what is read of them was not read before.
const COLD_ROWS: i64 = 4000;

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_that_syncs_holds_up_nobody() {
    for store in stores() {
        let part = if store == "sled" { "sled-2" } else { "fjall" };
        let Some((_folder, shim, mut server)) = start_held(store, part).await else {
            return;
        };
        let client = connect(server.addr()).await;
        for (round, at) in HELD_SYNCS.into_iter().enumerate() {
            let what = format!("{store}, sync {at}");
            shim.arm(hold(at, SYNC));
            write_until_held(&client, &shim, &what).await;
            let other = use_while_held(&client, server.addr(), round as i64, &what).await;
            commit_while_held(&client, &other, round as i64, &what).await;
            shim.disarm();
        }
        let status = server.terminate();
        assert!(status.is_some_and(|status| status.success()), "{}", server.said());
    }
}

/// A commit waits for the log, on whose thread ever; others read and connect meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_is_written_holds_up_commits_alone() {
    for store in stores() {
        let Some((_folder, shim, mut server)) = start_held(store, "log").await else {
            return;
        };
        let (client, writer) = (connect(server.addr()).await, connect(server.addr()).await);
        shim.arm(hold(1, WRITE));
        let insert = "INSERT INTO t VALUES (0, 'held')";
        let writing = tokio::spawn(async move { writer.batch_execute(insert).await });
        let held = async {
            while shim.fired() == 0 {
                tokio::task::yield_now().await;
            }
        };
        assert!(
            within(held).await.is_some(),
            "{store}: nothing is written to the log"
        );
        use_while_held(&client, server.addr(), 0, store).await;
        shim.disarm();
        let written = within(writing).await.expect("it is answered");
        assert!(matches!(written, Ok(Ok(()))), "{written:?}");
        let status = server.terminate();
        assert!(status.is_some_and(|status| status.success()), "{}", server.said());
    }
}

fn hold(at: u64, mask: u64) -> Fault {
    Fault {
        at,
        errno: 0,
        mode: Mode::Hold,
        mask,
    }
}

/// A server with tables that it has not read yet, under a shim over a part of its data directory.
async fn start_held(store: &'static str, part: &str) -> Option<(TempDir, Shim, Running)> {
    let folder = TempDir::new().expect("a temporary folder");
    let data_dir = folder.path().join("data");
    let cache_bytes = "256MB";
    let launch = Launch {
        cache_bytes,
        ..Launch::new(store, data_dir)
    };
    let shim = Shim::of_part(&launch.data_dir, part)?;
    // The engine's folder has another name while it is made.
    let mut server = launch.start(None).expect("a new directory opens");
    let client = connect(server.addr()).await;
    let make = format!(
        "CREATE TABLE t (k int PRIMARY KEY, v text); CREATE INDEX t_v ON t (v);
         CREATE TABLE cold (k int PRIMARY KEY, v text);
         INSERT INTO t SELECT g, repeat('x', 200) || g FROM generate_series(1, {ROWS}) g;
         INSERT INTO cold SELECT 2 * g, repeat('c', 100) FROM generate_series(1, {COLD_ROWS}) g"
    );
    client.batch_execute(&make).await.expect("tables are made");
    assert!(server.terminate().is_some(), "it ends");
    let server = launch.start(Some(&shim)).expect("it starts again");
    Some((folder, shim, server))
}

async fn connect(addr: SocketAddr) -> Client {
    let target = format!("host={} port={} user=u dbname=d", addr.ip(), addr.port());
    let (client, connection) = tokio_postgres::connect(&target, NoTls)
        .await
        .expect("it connects");
    tokio::spawn(connection);
    client
}

/// Writes to every row until a sync is held.
async fn write_until_held(client: &Client, shim: &Shim, what: &str) {
    let writing = async {
        let mut turn = 0;
        while shim.fired() == 0 {
            turn += 1;
            let update = format!("UPDATE t SET v = repeat('{}', 200) || k", turn % 10);
            client.batch_execute(&update).await.expect("it writes");
        }
    };
    assert!(
        within(writing).await.is_some(),
        "{what}: writing stops before it, or it never comes"
    );
}

/// Connects and reads; answers the new connection.
async fn use_while_held(client: &Client, addr: SocketAddr, round: i64, what: &str) -> Client {
    assert_eq!(
        count(client, "SELECT 1::bigint").await,
        Some(1),
        "{what}: SELECT 1"
    );
    let other = within(connect(addr)).await;
    let other = other.unwrap_or_else(|| panic!("{what}: a new connection"));
    let rows = count(&other, "SELECT count(length(v)) FROM t").await;
    assert_eq!(rows, Some(ROWS + round), "{what}: a scan");
    // Of what was not read before.
    let first = cold_key(round);
    for (key, found) in [(first, 1), (first + 101, 0)] {
        let read = format!("SELECT count(*) FROM cold WHERE k = {key}");
        assert_eq!(count(client, &read).await, Some(found), "{what}: a point read");
    }
    let read = format!(
        "SELECT count(v) FROM cold WHERE k BETWEEN {} AND {}",
        first + 200,
        first + 399
    );
    assert_eq!(count(client, &read).await, Some(100), "{what}: a range");
    other
}

/// Writes and reads it back.
async fn commit_while_held(client: &Client, other: &Client, round: i64, what: &str) {
    let key = ROWS + 1 + round;
    let insert = format!("INSERT INTO t VALUES ({key}, repeat('n', 200) || {key})");
    let inserted = within(other.batch_execute(&insert)).await;
    assert!(matches!(inserted, Some(Ok(()))), "{what}: a commit: {inserted:?}");
    let again = within(client.batch_execute(&insert)).await;
    assert!(
        matches!(again, Some(Err(_))),
        "{what}: a duplicate is found: {again:?}"
    );
    let by_index = format!("SELECT count(*) FROM t WHERE v = repeat('n', 200) || '{key}'");
    assert_eq!(
        count(client, &by_index).await,
        Some(1),
        "{what}: a read by the index"
    );
    let first = cold_key(round) + 401;
    let insert = format!("INSERT INTO cold VALUES ({first}, 'new')");
    let inserted = within(other.batch_execute(&insert)).await;
    assert!(matches!(inserted, Some(Ok(()))), "{what}: a commit: {inserted:?}");
    let update = format!(
        "UPDATE cold SET v = v || 'u' WHERE k BETWEEN {first} AND {}",
        first + 4
    );
    let changed = within(client.execute(&update, &[])).await;
    assert!(matches!(changed, Some(Ok(3))), "{what}: an update: {changed:?}");
}

/// The first of the keys that only this round reads.
fn cold_key(round: i64) -> i64 {
    2 * (1 + round * COLD_ROWS / HELD_SYNCS.len() as i64)
}

/// The number that a statement gives; `None` when no answer comes.
async fn count(client: &Client, sql: &str) -> Option<i64> {
    let row = within(client.query_one(sql, &[])).await?;
    Some(row.expect("it is answered").get(0))
}

async fn within<T>(work: impl Future<Output = T>) -> Option<T> {
    tokio::time::timeout(ANSWER_TIME_MAX, work).await.ok()
}
