//! What survives: a clean restart, SIGTERM, and SIGKILL of the real binary in the middle of commits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use keyspan::check_data_dir;
use rand::Rng;
use tempfile::TempDir;
use tokio::sync::Notify;

use crate::server::{ServerProcess, TestServer, connect};

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_tables_rows_and_schema_changes() {
    let server = TestServer::start("sled").await;
    let client = server.connect().await;
    client
        .batch_execute(
            "CREATE TABLE t (k int PRIMARY KEY, v text DEFAULT 'd') WITH (DYNAMIC_COLUMNS);
             INSERT INTO t VALUES (1, 'one'), (2, DEFAULT);
             INSERT INTO t (k, seen) VALUES (3, 30);
             ALTER TABLE t ADD COLUMN w int DEFAULT 7;
             CREATE TABLE gone (k int PRIMARY KEY);
             INSERT INTO gone VALUES (1);
             DROP TABLE gone;
             CREATE VIEW view_of_t AS SELECT k, v FROM t",
        )
        .await
        .unwrap();
    drop(client);
    let data_dir = server.stop().await;

    let server = TestServer::start_at("sled", data_dir).await;
    let client = server.connect().await;
    let rows = client.query("SELECT k, v, seen, w FROM t", &[]).await.unwrap();
    let found: Vec<_> = rows
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get(2), row.get(3)))
        .collect();
    let (one, default) = (Some("one"), Some("d"));
    assert_eq!(
        found,
        [
            (1, one, None, Some(7)),
            (2, default, None, Some(7)),
            (3, default, Some(30i64), Some(7))
        ]
    );
    let error = client
        .batch_execute("SELECT * FROM gone")
        .await
        .expect_err("the dropped table stays dropped");
    assert_eq!(error.code().map(|code| code.code()), Some("42P01"));
    client
        .batch_execute("CREATE TABLE gone (k int PRIMARY KEY)")
        .await
        .unwrap();
    assert!(
        client.query("SELECT * FROM gone", &[]).await.unwrap().is_empty(),
        "the new table starts empty"
    );
    assert_eq!(
        client
            .query("SELECT * FROM view_of_t WHERE k = 2", &[])
            .await
            .unwrap()
            .len(),
        1
    );
    drop(client);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_types() {
    let server = TestServer::start("sled").await;
    let client = server.connect().await;
    client
        .batch_execute(
            "CREATE TYPE mood AS ENUM ('sad', 'happy');
             CREATE DOMAIN small AS int DEFAULT 1 CHECK (value < 10);
             CREATE TABLE t (m mood PRIMARY KEY, n small, a mood[] DEFAULT '{sad}', d int[][]);
             INSERT INTO t VALUES ('happy', 2, DEFAULT, '{{1,2}}'), ('sad', DEFAULT, '{}', NULL);
             ALTER TYPE mood ADD VALUE 'fine' BEFORE 'happy';
             INSERT INTO t VALUES ('fine', 3, '{fine}');
             ALTER TYPE mood RENAME VALUE 'sad' TO 'blue'; ALTER TYPE mood RENAME TO feeling",
        )
        .await
        .unwrap();
    let told =
        "SELECT m::text, n::int, a::text, d::text, 'feeling'::regtype::oid::int8::text FROM t ORDER BY m";
    let before = client.simple_query(told).await.unwrap();
    drop(client);
    let data_dir = server.stop().await;
    let report = check_data_dir(&data_dir.path().join("data"), &mut |_| {})
        .await
        .unwrap();
    assert!(report.is_sound(), "{report}");

    let server = TestServer::start_at("sled", data_dir).await;
    let client = server.connect().await;
    let after = client.simple_query(told).await.unwrap();
    assert_eq!(format!("{before:?}"), format!("{after:?}"));
    let rows = client.query(told, &[]).await.unwrap();
    let labels: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(labels, ["blue", "fine", "happy"]);
    for (statement, state) in [
        ("UPDATE t SET n = 10 WHERE m = 'fine'", "23514"),
        ("INSERT INTO t VALUES ('sad')", "22P02"),
        ("DROP TYPE feeling", "2BP01"),
    ] {
        let error = client.batch_execute(statement).await.expect_err(statement);
        assert_eq!(error.code().map(|code| code.code()), Some(state), "{statement}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_functions_and_extensions() {
    let server = TestServer::start("sled").await;
    let client = server.connect().await;
    client
        .batch_execute(
            "CREATE TABLE t (k int PRIMARY KEY, v text);
             INSERT INTO t VALUES (1, 'one'), (2, 'two');
             CREATE FUNCTION v_of(k int, other text DEFAULT 'none') RETURNS text LANGUAGE sql STABLE
               AS 'SELECT coalesce((SELECT v FROM t WHERE t.k = v_of.k), other)';
             CREATE FUNCTION fixed(k int) RETURNS text BEGIN ATOMIC SELECT v FROM t WHERE t.k = fixed.k; END;
             CREATE PROCEDURE put(k int, v text) LANGUAGE plpgsql AS $$
               BEGIN INSERT INTO t VALUES (k, v); IF NOT FOUND THEN RAISE 'no row'; END IF; END $$;
             CREATE FUNCTION gone() RETURNS int LANGUAGE sql AS 'SELECT 1'; DROP FUNCTION gone();
             CREATE TABLE d (k int PRIMARY KEY, v text DEFAULT v_of(1));
             COMMENT ON PROCEDURE put IS 'puts a row';
             CREATE EXTENSION pgcrypto",
        )
        .await
        .unwrap();
    let told = "SELECT oid::int8::text, proname, pg_get_functiondef(oid), obj_description(oid, 'pg_proc'), (SELECT \
                string_agg(extname, ' ' ORDER BY extname) FROM pg_extension) FROM pg_proc WHERE pronamespace = \
                'public'::regnamespace ORDER BY 2";
    let before = client.simple_query(told).await.unwrap();
    drop(client);
    let data_dir = server.stop().await;
    let report = check_data_dir(&data_dir.path().join("data"), &mut |_| {})
        .await
        .unwrap();
    assert!(report.is_sound(), "{report}");

    let server = TestServer::start_at("sled", data_dir).await;
    let client = server.connect().await;
    let after = client.simple_query(told).await.unwrap();
    assert_eq!(format!("{before:?}"), format!("{after:?}"));
    client
        .batch_execute("CALL put(3, 'three'); INSERT INTO d (k) VALUES (1)")
        .await
        .unwrap();
    let row = client
        .query_one(
            "SELECT v_of(3), v_of(9), fixed(2), (SELECT v FROM d WHERE k = 1)",
            &[],
        )
        .await
        .unwrap();
    let found: Vec<&str> = (0..4).map(|at| row.get(at)).collect();
    assert_eq!(found, ["three", "none", "two", "one"]);
    for (statement, state) in [
        ("DROP TABLE t", "2BP01"),
        ("DROP FUNCTION v_of", "2BP01"),
        (
            "CREATE FUNCTION fixed(int) RETURNS text LANGUAGE sql AS ''",
            "42723",
        ),
    ] {
        let error = client.batch_execute(statement).await.expect_err(statement);
        assert_eq!(error.code().map(|code| code.code()), Some(state), "{statement}");
    }
}

/// A function that writes is undone with the statement that called it, whoever stops that.
#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_is_stopped_leaves_nothing() {
    let server = TestServer::start("sled").await;
    let client = server.connect().await;
    client
        .batch_execute(
            "CREATE TABLE t (k int PRIMARY KEY);
             CREATE FUNCTION fill() RETURNS int LANGUAGE plpgsql AS $$
               DECLARE n int := 0; BEGIN LOOP n := n + 1; INSERT INTO t VALUES (n); END LOOP; END $$;
             SET statement_timeout = 300",
        )
        .await
        .unwrap();
    for statement in [
        "SELECT fill()",
        "DO $$ BEGIN PERFORM fill(); END $$",
        "SELECT * FROM (SELECT fill()) s",
        "INSERT INTO t SELECT -fill()",
    ] {
        let error = client.batch_execute(statement).await.expect_err(statement);
        assert_eq!(error.code().map(|code| code.code()), Some("57014"), "{statement}");
    }
    client
        .batch_execute("BEGIN; INSERT INTO t VALUES (-1); SAVEPOINT s")
        .await
        .unwrap();
    client
        .batch_execute("SELECT fill()")
        .await
        .expect_err("it is stopped");
    client.batch_execute("ROLLBACK TO s; COMMIT").await.unwrap();
    let rows = client.query("SELECT k FROM t", &[]).await.unwrap();
    let keys: Vec<i32> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(keys, [-1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_ends_the_server_cleanly_while_a_client_is_connected() {
    let data_dir = TempDir::new().unwrap();
    let server = ServerProcess::start(data_dir.path(), &[]);
    let client = connect(server.addr()).await;
    client
        .batch_execute("CREATE TABLE t (k int PRIMARY KEY); INSERT INTO t VALUES (1)")
        .await
        .unwrap();
    assert!(
        tokio::task::spawn_blocking(|| server.terminate()).await.unwrap(),
        "the process ends with success"
    );
    let server = ServerProcess::start(data_dir.path(), &[]);
    let client = connect(server.addr()).await;
    assert_eq!(client.query("SELECT k FROM t", &[]).await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_server_over_one_folder_is_refused() {
    let data_dir = TempDir::new().unwrap();
    let server = ServerProcess::start(data_dir.path(), &[]);
    let second = std::process::Command::new(env!("CARGO_BIN_EXE_keyspan"))
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(data_dir.path())
        .output()
        .unwrap();
    assert!(!second.status.success());
    let message = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(
        message.contains("in use by another process") && !message.contains("panicked"),
        "{message}"
    );
    connect(server.addr())
        .await
        .batch_execute("SELECT 1")
        .await
        .unwrap();
}

/// Sessions that commit while the server is killed.
const WRITERS: i32 = 4;

/// Every acknowledged commit is there after SIGKILL, and no transaction is half there. `KEYSPAN_CRASH_ROUNDS` for more.
#[tokio::test(flavor = "multi_thread")]
async fn sigkill_loses_no_acknowledged_commit_and_halves_none() {
    let rounds: i32 =
        std::env::var("KEYSPAN_CRASH_ROUNDS").map_or(3, |rounds| rounds.parse().expect("a number"));
    let data_dir = TempDir::new().unwrap();
    let mut acknowledged: Vec<(i32, i32, i32)> = Vec::new();
    for round in 0..rounds {
        let server = ServerProcess::start(data_dir.path(), &[]);
        let client = connect(server.addr()).await;
        client
            .batch_execute(
                "CREATE TABLE IF NOT EXISTS commits (round int, writer int, n int, half int, twice int GENERATED ALWAYS AS (n * 2) STORED,
                     PRIMARY KEY (round, writer, n, half)) WITH (buckets = 4);
                 CREATE INDEX IF NOT EXISTS by_n ON commits (twice DESC, writer) INCLUDE (half);
                 CREATE UNIQUE INDEX IF NOT EXISTS by_half ON commits (half, n, writer, round)",
            )
            .await
            .unwrap();
        verify(&client, &acknowledged).await;
        acknowledged.extend(commit_until_killed(server, round).await);
    }
    let server = ServerProcess::start(data_dir.path(), &[]);
    verify(&connect(server.addr()).await, &acknowledged).await;
    tokio::task::spawn_blocking(|| server.kill()).await.unwrap();
    let report = check_data_dir(data_dir.path(), &mut |_| {}).await.unwrap();
    assert_eq!(report.faults.count(), 0, "{report:?}");
    assert!(
        acknowledged.len() as i32 >= rounds,
        "{} commits were acknowledged",
        acknowledged.len()
    );
}

/// Lets every writer commit transactions of two rows, kills the server at a random moment, and tells what it acknowledged.
async fn commit_until_killed(server: ServerProcess, round: i32) -> Vec<(i32, i32, i32)> {
    let (commits, enough) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let kill_after = rand::rng().random_range(1..120);
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let client = connect(server.addr()).await;
        let (commits, enough) = (commits.clone(), enough.clone());
        writers.push(tokio::spawn(async move {
            let mut acknowledged = Vec::new();
            for n in 0.. {
                let row = |half| format!("INSERT INTO commits VALUES ({round}, {writer}, {n}, {half})");
                if client
                    .batch_execute(&format!("BEGIN; {}; {}; COMMIT", row(0), row(1)))
                    .await
                    .is_err()
                {
                    break;
                }
                acknowledged.push((round, writer, n));
                if commits.fetch_add(1, Ordering::Relaxed) + 1 >= kill_after {
                    enough.notify_one();
                }
            }
            acknowledged
        }));
    }
    enough.notified().await;
    tokio::task::spawn_blocking(|| server.kill()).await.unwrap();
    let mut acknowledged = Vec::new();
    for writer in writers {
        acknowledged.extend(writer.await.unwrap());
    }
    acknowledged
}

/// Checks the table against what was acknowledged.
async fn verify(client: &tokio_postgres::Client, acknowledged: &[(i32, i32, i32)]) {
    let rows = client
        .query("SELECT round, writer, n, half FROM commits", &[])
        .await
        .unwrap();
    let mut halves = std::collections::HashMap::<(i32, i32, i32), Vec<i32>>::new();
    for row in rows {
        halves
            .entry((row.get(0), row.get(1), row.get(2)))
            .or_default()
            .push(row.get(3));
    }
    for commit in acknowledged {
        assert!(
            halves.contains_key(commit),
            "the acknowledged commit {commit:?} is lost"
        );
    }
    // The store's count, and the entries of each index, are those of the rows.
    for counted in [
        "SELECT count(*) FROM commits",
        "SELECT /*+ _l_force_index_('by_n') */ count(twice) FROM commits WHERE twice >= 0",
        "SELECT /*+ _l_force_index_('by_half') */ count(n) FROM commits WHERE half IN (0, 1)",
    ] {
        let count: i64 = client.query_one(counted, &[]).await.unwrap().get(0);
        assert_eq!(count as usize, halves.len() * 2, "{counted}");
    }
    for (commit, found) in &mut halves {
        found.sort_unstable();
        assert_eq!(found, &[0, 1], "the commit {commit:?} is half there");
    }
}
