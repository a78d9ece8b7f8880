//! What several sessions see of one another: isolation, waits for who writes the same, and what a broken connection leaves.
//! (What one session sees of itself stands in `sql-tests/transactions.slt` and `savepoints.slt`.)

use std::time::Duration;

use tokio_postgres::{Client, SimpleQueryMessage};

use crate::server::{TestServer, run};

/// Every store: the rules do not depend on the engine.
pub(crate) const STORES: [&str; 3] = ["memory", "sled", "fjall"];

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// One row, written by nobody yet.
const ONE_ROW: &str = "CREATE TABLE t (k int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 10)";

/// The first column of the first row, as text.
pub(crate) async fn value(client: &Client, sql: &str) -> Option<String> {
    let messages = client.simple_query(sql).await.expect("the query runs");
    messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_string),
        _ => None,
    })
}

/// The SQLSTATE of a statement that must fail.
pub(crate) async fn sqlstate(client: &Client, sql: &str) -> String {
    let error = client.batch_execute(sql).await.expect_err("the statement fails");
    error
        .code()
        .expect("the server answers with an error")
        .code()
        .to_string()
}

/// The process id of a session, by which another sees it wait.
pub(crate) async fn process_id(client: &Client) -> String {
    value(client, "SELECT pg_backend_pid()")
        .await
        .expect("it has one")
}

/// Asks until the session waits for a lock.
pub(crate) async fn until_blocked(watcher: &Client, process_id: &str) {
    let is_blocked = format!("SELECT cardinality(pg_blocking_pids({process_id})) > 0");
    let asked = async { while value(watcher, &is_blocked).await.as_deref() != Some("t") {} };
    tokio::time::timeout(PATIENCE, asked).await.expect("it waits");
}

/// Two blocks at a level that have both read the row of `ONE_ROW`, of which the first has also written it.
async fn two_blocks(server: &TestServer, level: &str) -> (Client, Client) {
    let (first, second) = (server.connect().await, server.connect().await);
    first.batch_execute(ONE_ROW).await.unwrap();
    for client in [&first, &second] {
        client
            .batch_execute(&format!("BEGIN ISOLATION LEVEL {level}"))
            .await
            .unwrap();
        let read = value(client, "SELECT v FROM t WHERE k = 1").await;
        assert_eq!(read.as_deref(), Some("10"));
    }
    first
        .batch_execute("UPDATE t SET v = v + 1 WHERE k = 1")
        .await
        .unwrap();
    (first, second)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_shows_nothing_before_commit() {
    for store in STORES {
        let server = TestServer::start(store).await;
        let (writer, other) = (server.connect().await, server.connect().await);
        writer.batch_execute(ONE_ROW).await.unwrap();
        writer
            .batch_execute("BEGIN; UPDATE t SET v = 11 WHERE k = 1; INSERT INTO t VALUES (2, 20)")
            .await
            .unwrap();
        let sum = "SELECT sum(v) FROM t";
        assert_eq!(value(&writer, sum).await.as_deref(), Some("31"));
        assert_eq!(value(&other, sum).await.as_deref(), Some("10"));
        writer.batch_execute("COMMIT").await.unwrap();
        assert_eq!(value(&other, sum).await.as_deref(), Some("31"));
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_sees_what_others_commit_between_its_statements_unless_it_keeps_its_snapshot() {
    for store in STORES {
        for (begin, seen) in [
            ("BEGIN", "31"),
            ("BEGIN ISOLATION LEVEL READ COMMITTED", "31"),
            ("BEGIN ISOLATION LEVEL REPEATABLE READ", "10"),
        ] {
            let server = TestServer::start(store).await;
            let (reader, writer) = (server.connect().await, server.connect().await);
            writer.batch_execute(ONE_ROW).await.unwrap();
            reader.batch_execute(begin).await.unwrap();
            let sum = "SELECT sum(v) FROM t";
            assert_eq!(value(&reader, sum).await.as_deref(), Some("10"));
            writer
                .batch_execute("BEGIN; UPDATE t SET v = 11 WHERE k = 1; INSERT INTO t VALUES (2, 20); COMMIT")
                .await
                .unwrap();
            assert_eq!(
                value(&reader, sum).await.as_deref(),
                Some(seen),
                "{begin}, {store}"
            );
            let by_key = "SELECT sum(v) FROM t WHERE k IN (1, 2)";
            assert_eq!(
                value(&reader, by_key).await.as_deref(),
                Some(seen),
                "{begin}, {store}"
            );
            reader.batch_execute("COMMIT").await.unwrap();
            assert_eq!(
                value(&reader, sum).await.as_deref(),
                Some("31"),
                "{begin}, {store}"
            );
            server.stop().await;
        }
    }
}

/// Of two blocks at a level that write one row the second waits until the first ends in this way. `outcome`: the SQLSTATE of its statement,
/// if that fails; `left`: what the row holds once both have ended.
async fn second_writer(level: &str, end: &str, outcome: Option<&str>, left: &str) {
    for store in STORES {
        let server = TestServer::start(store).await;
        let (first, second) = two_blocks(&server, level).await;
        let second_id = process_id(&second).await;
        let writes = second.batch_execute("UPDATE t SET v = v + 1 WHERE k = 1");
        let ends = async {
            until_blocked(&first, &second_id).await;
            first.batch_execute(end).await
        };
        let (written, ended) = tokio::join!(writes, ends);
        ended.unwrap();
        assert_eq!(written.is_err(), outcome.is_some(), "{end} on {store}");
        let error = written.err();
        let sqlstate = error.as_ref().and_then(|error| error.code());
        assert_eq!(sqlstate.map(|code| code.code()), outcome, "{end} on {store}");
        second.batch_execute("COMMIT").await.unwrap();
        let read = value(&first, "SELECT v FROM t WHERE k = 1").await;
        assert_eq!(read.as_deref(), Some(left), "{end} on {store}");
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_of_two_writers_of_a_row_waits_and_goes_on_from_what_the_first_left() {
    for (end, left) in [("COMMIT", "12"), ("ROLLBACK", "11")] {
        second_writer("READ COMMITTED", end, None, left).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_repeatable_read_the_second_writer_goes_on_or_fails_as_the_first_ends() {
    for (end, outcome) in [("COMMIT", Some("40001")), ("ROLLBACK", None)] {
        second_writer("REPEATABLE READ", end, outcome, "11").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_repeatable_read_a_row_written_since_the_snapshot_is_refused_without_a_wait() {
    for store in STORES {
        let server = TestServer::start(store).await;
        let (first, second) = two_blocks(&server, "REPEATABLE READ").await;
        first.batch_execute("COMMIT").await.unwrap();
        let update = "UPDATE t SET v = v + 1 WHERE k = 1";
        let error = second
            .batch_execute(update)
            .await
            .expect_err("its snapshot is older");
        let error = error.as_db_error().expect("the server answers with an error");
        assert_eq!(error.code().code(), "40001");
        assert_eq!(
            error.message(),
            "could not serialize access due to concurrent update"
        );
        second.batch_execute("ROLLBACK").await.unwrap();
        second.batch_execute(update).await.unwrap();
        let read = value(&second, "SELECT v FROM t WHERE k = 1").await;
        assert_eq!(read.as_deref(), Some("12"));
        server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_second_writer_of_a_large_object_writes_what_the_first_left() {
    for store in STORES {
        let server = TestServer::start(store).await;
        let (first, second) = (server.connect().await, server.connect().await);
        first
            .batch_execute("SELECT lo_from_bytea(70000, repeat('a', 5000)::bytea)")
            .await
            .unwrap();
        let keeps = server.connect().await;
        keeps
            .batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT lo_get(70000)")
            .await
            .unwrap();
        first
            .batch_execute("BEGIN; SELECT lo_put(70000, 0, 'AB')")
            .await
            .unwrap();
        let waiter = process_id(&second).await;
        let written = tokio::spawn(async move {
            second
                .batch_execute("SELECT lo_put(70000, 9998, 'YZ')")
                .await
                .unwrap();
        });
        until_blocked(&first, &waiter).await;
        first.batch_execute("COMMIT").await.unwrap();
        written.await.unwrap();
        let now =
            "SELECT length(lo_get(70000)) || encode(lo_get(70000, 0, 3) || lo_get(70000, 9997, 9), 'escape')";
        assert_eq!(
            value(&first, now).await.as_deref(),
            Some("10000ABa\\000YZ"),
            "{store}"
        );
        assert_eq!(
            value(&keeps, "SELECT length(lo_get(70000))").await.as_deref(),
            Some("5000")
        );
        assert_eq!(sqlstate(&keeps, "SELECT lo_put(70000, 0, 'C')").await, "40001");
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
async fn statements_outside_a_block_lose_no_update() {
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
async fn a_connection_that_breaks_leaves_nothing_of_its_block_and_holds_nobody_up() {
    let server = TestServer::start("memory").await;
    let (watcher, waiter) = (server.connect().await, server.connect().await);
    watcher.batch_execute(ONE_ROW).await.unwrap();
    let mut broken = server.connect_text().await;
    run(&mut broken, "BEGIN").await.unwrap();
    run(&mut broken, "INSERT INTO t VALUES (2, 20)").await.unwrap();
    run(&mut broken, "UPDATE t SET v = 0 WHERE k = 1").await.unwrap();
    let waiter_id = process_id(&waiter).await;
    let writes = waiter.batch_execute("UPDATE t SET v = v + 1 WHERE k = 1; INSERT INTO t VALUES (2, 21)");
    let breaks = async {
        until_blocked(&watcher, &waiter_id).await;
        drop(broken);
    };
    let (written, ()) = tokio::join!(writes, breaks);
    written.expect("the row and the key are free");
    let left = value(&watcher, "SELECT string_agg(v::text, ',' ORDER BY k) FROM t").await;
    assert_eq!(left.as_deref(), Some("11,21"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_block_holds_nobody_up() {
    let server = TestServer::start("memory").await;
    let (failed, other) = (server.connect().await, server.connect().await);
    failed.batch_execute(ONE_ROW).await.unwrap();
    failed
        .batch_execute("BEGIN; UPDATE t SET v = 0 WHERE k = 1")
        .await
        .unwrap();
    assert_eq!(sqlstate(&failed, "SELECT 1 / 0").await, "22012");
    // Before the client has ended the block.
    other
        .batch_execute("SET lock_timeout = '60s'; UPDATE t SET v = v + 1 WHERE k = 1")
        .await
        .expect("the row is free");
    failed.batch_execute("ROLLBACK").await.unwrap();
    let left = value(&failed, "SELECT v FROM t WHERE k = 1").await;
    assert_eq!(left.as_deref(), Some("11"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_lock_table_the_level_is_what_the_block_began_with() {
    let server = TestServer::start("memory").await;
    let client = server.connect().await;
    client.batch_execute(ONE_ROW).await.unwrap();
    client
        .batch_execute("BEGIN; LOCK TABLE t; SET TRANSACTION READ ONLY; SET TRANSACTION READ WRITE")
        .await
        .unwrap();
    let late = "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE";
    assert_eq!(sqlstate(&client, late).await, "25001");
    client.batch_execute("ROLLBACK").await.unwrap();
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_change_waits_for_a_block_that_has_written_the_table() {
    for store in STORES {
        let server = TestServer::start(store).await;
        let (writer, altering) = (server.connect().await, server.connect().await);
        writer.batch_execute(ONE_ROW).await.unwrap();
        writer
            .batch_execute("BEGIN; INSERT INTO t VALUES (2, 20)")
            .await
            .unwrap();
        let altering_id = process_id(&altering).await;
        let alters = altering.batch_execute("ALTER TABLE t ADD COLUMN w int DEFAULT 7");
        let ends = async {
            until_blocked(&writer, &altering_id).await;
            writer.batch_execute("INSERT INTO t VALUES (3, 30); COMMIT").await
        };
        let (altered, ended) = tokio::join!(alters, ends);
        altered.expect("it waits");
        ended.expect("what was written stays");
        let rows = value(
            &writer,
            "SELECT string_agg(k || ' ' || w, ', ' ORDER BY k) FROM t",
        )
        .await;
        assert_eq!(rows.as_deref(), Some("1 7, 2 7, 3 7"), "{store}");
        server.stop().await;
    }
}
