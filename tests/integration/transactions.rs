//! What several sessions see of one another: isolation, conflicts, retries, and what a broken connection leaves.
//! (What one session sees of itself stands in `sql-tests/transactions.slt` and `savepoints.slt`.)

use tokio_postgres::{Client, SimpleQueryMessage};

use crate::server::{TestServer, run};

/// Every store: the rules do not depend on the engine.
const STORES: [&str; 3] = ["memory", "sled", "fjall"];

/// The first column of the first row, as text.
async fn value(client: &Client, sql: &str) -> Option<String> {
    let messages = client.simple_query(sql).await.expect("the query runs");
    messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_string),
        _ => None,
    })
}

/// The SQLSTATE of a statement that must fail.
async fn sqlstate(client: &Client, sql: &str) -> String {
    let error = client.batch_execute(sql).await.expect_err("the statement fails");
    error
        .code()
        .expect("the server answers with an error")
        .code()
        .to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_reads_one_snapshot_and_shows_nothing_before_commit() {
    for store in STORES {
        let server = TestServer::start(store).await;
        let (reader, writer) = (server.connect().await, server.connect().await);
        writer
            .batch_execute("CREATE TABLE t (k int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 10)")
            .await
            .unwrap();

        reader.batch_execute("BEGIN").await.unwrap();
        assert_eq!(
            value(&reader, "SELECT v FROM t WHERE k = 1").await.as_deref(),
            Some("10")
        );
        writer
            .batch_execute("BEGIN; UPDATE t SET v = 11 WHERE k = 1; INSERT INTO t VALUES (2, 20)")
            .await
            .unwrap();
        assert_eq!(
            value(&writer, "SELECT sum(v) FROM t").await.as_deref(),
            Some("31")
        );
        let other = server.connect().await;
        assert_eq!(
            value(&other, "SELECT sum(v) FROM t").await.as_deref(),
            Some("10"),
            "uncommitted rows are unseen"
        );
        writer.batch_execute("COMMIT").await.unwrap();
        assert_eq!(value(&other, "SELECT sum(v) FROM t").await.as_deref(), Some("31"));
        assert_eq!(
            value(&reader, "SELECT sum(v) FROM t").await.as_deref(),
            Some("10"),
            "the block keeps its snapshot"
        );
        assert_eq!(
            value(&reader, "SELECT v FROM t WHERE k = 1").await.as_deref(),
            Some("10")
        );
        reader.batch_execute("COMMIT").await.unwrap();
        assert_eq!(
            value(&reader, "SELECT sum(v) FROM t").await.as_deref(),
            Some("31")
        );
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_of_two_blocks_that_write_one_row_fails_with_40001() {
    for store in STORES {
        let server = TestServer::start(store).await;
        let (first, second) = (server.connect().await, server.connect().await);
        first
            .batch_execute("CREATE TABLE t (k int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 10)")
            .await
            .unwrap();
        for client in [&first, &second] {
            client.batch_execute("BEGIN").await.unwrap();
            assert_eq!(
                value(client, "SELECT v FROM t WHERE k = 1").await.as_deref(),
                Some("10")
            );
        }
        first
            .batch_execute("UPDATE t SET v = v + 1 WHERE k = 1")
            .await
            .unwrap();
        first.batch_execute("COMMIT").await.unwrap();
        assert_eq!(
            sqlstate(&second, "UPDATE t SET v = v + 1 WHERE k = 1; COMMIT").await,
            "40001"
        );
        second.batch_execute("ROLLBACK").await.unwrap();
        assert_eq!(
            value(&second, "SELECT v FROM t WHERE k = 1").await.as_deref(),
            Some("11")
        );
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_that_write_different_rows_both_commit() {
    let server = TestServer::start("memory").await;
    let (first, second) = (server.connect().await, server.connect().await);
    first
        .batch_execute("CREATE TABLE t (k int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0), (2, 0)")
        .await
        .unwrap();
    first
        .batch_execute("BEGIN; UPDATE t SET v = 1 WHERE k = 1")
        .await
        .unwrap();
    second
        .batch_execute("BEGIN; UPDATE t SET v = 2 WHERE k = 2")
        .await
        .unwrap();
    first.batch_execute("COMMIT").await.unwrap();
    second.batch_execute("COMMIT").await.unwrap();
    assert_eq!(value(&first, "SELECT sum(v) FROM t").await.as_deref(), Some("3"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_outside_a_block_are_retried_and_lose_no_update() {
    const SESSIONS: usize = 8;
    const UPDATES: usize = 25;
    for store in STORES {
        let server = TestServer::start(store).await;
        let setup = server.connect().await;
        setup
            .batch_execute("CREATE TABLE counters (k int PRIMARY KEY, n int)")
            .await
            .unwrap();
        setup
            .batch_execute("INSERT INTO counters VALUES (1, 0)")
            .await
            .unwrap();
        let mut sessions = Vec::new();
        for _ in 0..SESSIONS {
            let client = server.connect().await;
            sessions.push(tokio::spawn(async move {
                for _ in 0..UPDATES {
                    client
                        .batch_execute("UPDATE counters SET n = n + 1 WHERE k = 1")
                        .await
                        .expect("never 40001");
                }
            }));
        }
        for session in sessions {
            session.await.expect("every update succeeds");
        }
        let total = (SESSIONS * UPDATES).to_string();
        assert_eq!(
            value(&setup, "SELECT n FROM counters WHERE k = 1").await,
            Some(total)
        );
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_inserts_of_one_key_exactly_one_succeeds() {
    for store in STORES {
        let server = TestServer::start(store).await;
        let setup = server.connect().await;
        setup
            .batch_execute("CREATE TABLE t (k int PRIMARY KEY, who int)")
            .await
            .unwrap();
        for key in 0..10 {
            let mut sessions = Vec::new();
            for who in 0..6 {
                let client = server.connect().await;
                sessions.push(tokio::spawn(async move {
                    client
                        .batch_execute(&format!("INSERT INTO t VALUES ({key}, {who})"))
                        .await
                }));
            }
            let mut won = 0;
            for session in sessions {
                match session.await.expect("the task ends") {
                    Ok(()) => won += 1,
                    Err(error) => assert_eq!(error.code().map(|code| code.code()), Some("23505")),
                }
            }
            assert_eq!(won, 1, "key {key} on {store}");
        }
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_leaves_nothing_of_its_block() {
    let server = TestServer::start("memory").await;
    let watcher = server.connect().await;
    watcher
        .batch_execute("CREATE TABLE t (k int PRIMARY KEY)")
        .await
        .unwrap();
    let mut broken = server.connect_text().await;
    run(&mut broken, "BEGIN").await.unwrap();
    run(&mut broken, "INSERT INTO t VALUES (1)").await.unwrap();
    drop(broken);
    watcher
        .batch_execute("INSERT INTO t VALUES (1)")
        .await
        .expect("the key is free");
    assert_eq!(
        value(&watcher, "SELECT count(*) FROM t").await.as_deref(),
        Some("1")
    );
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_change_beside_a_block_that_writes_the_table_is_never_lost() {
    let server = TestServer::start("memory").await;
    let (writer, altering) = (server.connect().await, server.connect().await);
    writer
        .batch_execute("CREATE TABLE t (k int PRIMARY KEY, v int)")
        .await
        .unwrap();
    writer
        .batch_execute("BEGIN; INSERT INTO t VALUES (1, 1)")
        .await
        .unwrap();
    altering
        .batch_execute("ALTER TABLE t ADD COLUMN w int DEFAULT 7")
        .await
        .unwrap();
    assert_eq!(
        sqlstate(&writer, "COMMIT").await,
        "40001",
        "nothing lands under a stale schema"
    );
    writer
        .batch_execute("INSERT INTO t (k, v) VALUES (1, 1)")
        .await
        .unwrap();
    assert_eq!(
        value(&writer, "SELECT w FROM t WHERE k = 1").await.as_deref(),
        Some("7")
    );
    server.stop().await;
}
