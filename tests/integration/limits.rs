//! The limits of the command line, each seen to hold by a client of the real binary: what is above is refused with the
//! setting to raise, and the server goes on.

use tempfile::TempDir;

use crate::client::{ServerError, TextClient};
use crate::server::{ServerProcess, run, target};

async fn start(arguments: &[&str]) -> (TempDir, ServerProcess, TextClient) {
    let data_dir = TempDir::new().unwrap();
    let server = ServerProcess::start(data_dir.path(), arguments);
    let client = connect(&server).await;
    (data_dir, server, client)
}

async fn connect(server: &ServerProcess) -> TextClient {
    TextClient::connect(&target(server.addr()))
        .await
        .expect("the server accepts connections")
}

async fn ok(client: &mut TextClient, statement: &str) -> Vec<Vec<Option<String>>> {
    let reply = run(client, statement).await;
    reply.unwrap_or_else(|error| panic!("{statement}: {error}")).rows
}

async fn fails(client: &mut TextClient, statement: &str) -> ServerError {
    match run(client, statement).await {
        Ok(_) => panic!("{statement} succeeds"),
        Err(error) => error,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sizes_of_data_are_bounded() {
    let (_data_dir, _server, mut client) = start(&[
        "--key-column-bytes-max",
        "100",
        "--key-bytes-max",
        "150",
        "--value-bytes-max",
        "1kB",
        "--transaction-bytes-max",
        "64kB",
    ])
    .await;
    ok(
        &mut client,
        "CREATE TABLE t (a text, b text, v text, PRIMARY KEY (a, b))",
    )
    .await;
    for (statement, setting) in [
        (
            "INSERT INTO t VALUES (repeat('x', 100), '', '')",
            "keyspan.key_column_bytes_max",
        ),
        (
            "INSERT INTO t VALUES (repeat('x', 90), repeat('y', 90), '')",
            "keyspan.key_bytes_max",
        ),
        (
            "INSERT INTO t VALUES ('a', 'b', repeat('v', 1100))",
            "keyspan.value_bytes_max",
        ),
        (
            "INSERT INTO t SELECT g::text, '', repeat('v', 500) FROM generate_series(1, 200) g",
            "keyspan.transaction_bytes_max",
        ),
    ] {
        let error = fails(&mut client, statement).await;
        assert_eq!(error.sqlstate, "54000", "{statement}: {error}");
        assert!(
            error.hint.as_ref().is_some_and(|hint| hint.contains(setting)),
            "{statement}: {error}"
        );
    }
    ok(
        &mut client,
        "INSERT INTO t VALUES (repeat('x', 90), 'y', repeat('v', 900))",
    )
    .await;
    assert_eq!(
        ok(&mut client, "SELECT count(*) FROM t").await,
        [[Some("1".to_string())]]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_spills_or_ends_within_its_memory() {
    let (_data_dir, _server, mut client) = start(&["--query-memory-bytes-max", "16MB"]).await;
    ok(&mut client, "CREATE TABLE t (k int PRIMARY KEY, v text)").await;
    ok(
        &mut client,
        "INSERT INTO t SELECT g, repeat('x', 1000) FROM generate_series(1, 30000) g",
    )
    .await;
    // A sort of 30 MB spills to disk, twice as much as it may keep.
    let query = "SELECT k FROM (SELECT k, lag(v) OVER (ORDER BY v, k DESC) AS before FROM t) AS s WHERE before IS NULL";
    let sorted = ok(&mut client, query).await;
    assert_eq!(sorted, [[Some("30000".to_string())]]);
    let error = fails(&mut client, "SELECT length(string_agg(v, '')) FROM t").await;
    assert_eq!(error.sqlstate, "53200", "{error}");
    assert!(
        error
            .hint
            .is_some_and(|hint| hint.contains("keyspan.query_memory_bytes_max"))
    );
    ok(&mut client, "SELECT 1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn old_snapshots_end_when_their_memory_is_used_up() {
    let (_data_dir, server, mut client) = start(&["--undo-bytes-max", "64kB"]).await;
    ok(&mut client, "CREATE TABLE t (k int PRIMARY KEY, v text)").await;
    ok(
        &mut client,
        "INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, 2000) g",
    )
    .await;
    ok(&mut client, "BEGIN").await;
    ok(&mut client, "SELECT count(*) FROM t").await;
    let mut other = connect(&server).await;
    // Replaced values count once the commits that replace them are brought to the engine, which is soon after.
    let mut ended = None;
    for _ in 0..1000 {
        ok(&mut other, "UPDATE t SET v = 'new'").await;
        if let Err(error) = run(&mut client, "SELECT max(v) FROM t").await {
            ended = Some(error);
            break;
        }
    }
    let error = ended.expect("a thousand updates are more than 64 kB");
    assert_eq!(error.sqlstate, "72000", "{error}");
    assert!(
        error
            .hint
            .is_some_and(|hint| hint.contains("keyspan.undo_bytes_max"))
    );
    ok(&mut client, "ROLLBACK").await;
    assert_eq!(
        ok(&mut client, "SELECT max(v) FROM t").await,
        [[Some("new".to_string())]]
    );
}
