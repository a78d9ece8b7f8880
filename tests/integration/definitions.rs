//! Definitions that take long and are stopped: by a cancel, a time limit, a client that goes away. Afterwards the index is
//! not there, and nothing is refused in its name. After a kill the next start finishes them.

use std::net::SocketAddr;

use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

use crate::server::{ServerProcess, TestServer, connect};

/// Enough rows for dozens of pages of a build.
const MANY: &str = "CREATE TABLE t (a int PRIMARY KEY, b int);
    INSERT INTO t SELECT g, g FROM generate_series(1, 40000) g";
const BUILD: &str = "CREATE UNIQUE INDEX i ON t (b)";

/// Waits until the index is listed, or is no longer; answers whether it was valid when it was last seen.
async fn wait_for_index(client: &Client, listed: bool) -> bool {
    let mut valid = false;
    loop {
        let query = "SELECT x.indisvalid FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid WHERE c.relname = 'i'";
        let found = client.query(query, &[]).await.unwrap();
        match found.first() {
            Some(row) => valid = row.get(0),
            None if !listed => return valid,
            None => continue,
        }
        if listed {
            return valid;
        }
        assert!(!valid, "the index was completed");
    }
}

async fn assert_no_index(client: &Client) {
    let listed = client
        .query("SELECT 1 FROM pg_class WHERE relname = 'i'", &[])
        .await
        .unwrap();
    assert!(listed.is_empty(), "the index is gone");
    let written = client
        .execute("INSERT INTO t VALUES (-1, 5), (-2, 40000)", &[])
        .await;
    assert_eq!(written.unwrap(), 2, "nothing enforces it");
    let error = client
        .batch_execute(BUILD)
        .await
        .expect_err("there are duplicates");
    assert_eq!(error.code().map(|code| code.code()), Some("23505"));
    client.batch_execute("DELETE FROM t WHERE a < 0").await.unwrap();
    client.batch_execute(BUILD).await.unwrap();
    assert!(wait_for_index(client, true).await);
}

fn state(error: &tokio_postgres::Error) -> Option<&str> {
    error.code().map(|code| code.code())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_build_is_removed_before_the_client_hears_of_it() {
    let server = TestServer::start("sled").await;
    let (client, watcher) = (server.connect().await, server.connect().await);
    client.batch_execute(MANY).await.unwrap();
    let cancel = client.cancel_token();
    let (built, ()) = tokio::join!(client.batch_execute(BUILD), async {
        assert!(
            !wait_for_index(&watcher, true).await,
            "it is invalid while it is built"
        );
        cancel.cancel_query(NoTls).await.unwrap();
    });
    assert_eq!(state(&built.unwrap_err()), Some("57014"));
    assert_no_index(&client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_that_times_out_is_removed() {
    let server = TestServer::start("memory").await;
    let client = server.connect().await;
    client.batch_execute(MANY).await.unwrap();
    client.batch_execute("SET statement_timeout = 20").await.unwrap();
    let error = client.batch_execute(BUILD).await.unwrap_err();
    assert_eq!(state(&error), Some("57014"));
    client.batch_execute("SET statement_timeout = 0").await.unwrap();
    assert_no_index(&client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_build_whose_client_goes_away_is_removed() {
    let server = TestServer::start("sled").await;
    let watcher = server.connect().await;
    watcher.batch_execute(MANY).await.unwrap();
    let going = going_client(server.addr()).await;
    wait_for_index(&watcher, true).await;
    going.abort();
    wait_for_index(&watcher, false).await;
    assert_no_index(&watcher).await;
}

/// A connection of its own that builds the index; aborted, it leaves without a word.
async fn going_client(addr: SocketAddr) -> tokio::task::JoinHandle<()> {
    let options = format!("host={} port={} user=test dbname=test", addr.ip(), addr.port());
    let (client, connection) = tokio_postgres::connect(&options, NoTls).await.unwrap();
    tokio::spawn(async move {
        let building = client.batch_execute(BUILD);
        let _ = tokio::join!(connection, building);
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_after_a_kill_finishes_a_build() {
    let data_dir = TempDir::new().unwrap();
    let server = ServerProcess::start(data_dir.path(), &[]);
    let (client, watcher) = (connect(server.addr()).await, connect(server.addr()).await);
    client.batch_execute(MANY).await.unwrap();
    let building = tokio::spawn(async move { client.batch_execute(BUILD).await });
    wait_for_index(&watcher, true).await;
    server.kill();
    assert!(
        building.await.unwrap().is_err(),
        "nobody was told that it is there"
    );

    let server = ServerProcess::start(data_dir.path(), &[]);
    let client = connect(server.addr()).await;
    while !wait_for_index(&client, true).await {}
    let twice = client.batch_execute("INSERT INTO t VALUES (-1, 40000)").await;
    assert_eq!(state(&twice.unwrap_err()), Some("23505"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_concurrent_build_goes_on_behind_its_statement() {
    let server = TestServer::start("sled").await;
    let client = server.connect().await;
    client.batch_execute(MANY).await.unwrap();
    client
        .batch_execute("CREATE INDEX CONCURRENTLY i ON t (b) INCLUDE (a)")
        .await
        .unwrap();
    let listed = "SELECT relid::regclass::text, command, tuples_done FROM pg_stat_progress_create_index";
    client.query(listed, &[]).await.unwrap();
    while !wait_for_index(&client, true).await {
        let refused = client.query("SELECT a FROM t WHERE b = 39999", &[]).await;
        if let Err(error) = refused {
            let hint = error
                .as_db_error()
                .and_then(|error| error.hint().map(str::to_string));
            let hint = hint.unwrap_or_default();
            assert!(
                hint.starts_with("Index \"i\" will serve it once it is built"),
                "{hint}"
            );
        }
    }
    assert!(
        client.query(listed, &[]).await.unwrap().is_empty(),
        "it has ended"
    );
    let found = client
        .query("SELECT a FROM t WHERE b = 39999", &[])
        .await
        .unwrap();
    assert_eq!(found[0].get::<_, i32>(0), 39999);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_concurrent_unique_build_over_duplicates_leaves_nothing() {
    let server = TestServer::start("memory").await;
    let client = server.connect().await;
    client
        .batch_execute("CREATE TABLE t (a int PRIMARY KEY, b int); INSERT INTO t VALUES (1, 5), (2, 5)")
        .await
        .unwrap();
    let create = "CREATE UNIQUE INDEX CONCURRENTLY i ON t (b)";
    client.batch_execute(create).await.unwrap();
    let listed = "SELECT 1 FROM pg_class WHERE relname = 'i'";
    while !client.query(listed, &[]).await.unwrap().is_empty() {}
    client.batch_execute("INSERT INTO t VALUES (3, 5)").await.unwrap();
}
