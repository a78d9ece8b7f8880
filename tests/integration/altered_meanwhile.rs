//! Statements of the extended protocol over a table that another session is altering: what their client is told of, their columns and the
//! types of their parameters, is what the table has when they run.

use crate::client::Protocol;
use crate::server::{TestServer, ok, run};

/// Waits until a session waits for another.
async fn wait_for_waiter(watching: &tokio_postgres::Client) {
    let query = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    while watching.query_one(query, &[]).await.unwrap().get::<_, i64>(0) == 0 {}
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_told_of_what_an_open_alter_leaves() {
    let server = TestServer::start("memory").await;
    let (altering, running, watching) = (
        server.connect().await,
        server.connect().await,
        server.connect().await,
    );
    let table = "CREATE TABLE t (k int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 10)";
    altering.batch_execute(table).await.unwrap();
    for (alter, statement, columns, last) in [
        (
            "ALTER v TYPE text USING 'was ' || v",
            "SELECT * FROM t WHERE k = 1",
            2,
            "was 10",
        ),
        ("RENAME v TO w", "SELECT w FROM t WHERE k = 1", 1, "was 10"),
        ("RENAME w TO v", "SELECT * FROM t WHERE k = 1", 2, "was 10"),
        (
            "ADD z text DEFAULT 'new'",
            "UPDATE t SET z = z || 'er' WHERE k = 1 RETURNING *",
            3,
            "newer",
        ),
        ("DROP z", "SELECT * FROM t WHERE k = 1", 2, "was 10"),
    ] {
        let alter = format!("BEGIN; ALTER TABLE t {alter}");
        altering.batch_execute(&alter).await.unwrap();
        let (rows, ()) = tokio::join!(running.query(statement, &[]), async {
            wait_for_waiter(&watching).await;
            altering.batch_execute("COMMIT").await.unwrap();
        });
        let row = &rows.unwrap_or_else(|error| panic!("{alter}: {error:?}"))[0];
        let found = row.get::<_, String>(row.len() - 1);
        assert_eq!((row.len(), &*found), (columns, last), "{alter}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_explained_ends_as_that() {
    let server = TestServer::start("memory").await;
    let mut client = server.connect_text().await;
    ok(&mut client, "CREATE TABLE t (k int PRIMARY KEY)").await;
    let explained = run(&mut client, "EXPLAIN SELECT * FROM t WHERE k = 1")
        .await
        .unwrap();
    assert_eq!(explained.tag, "EXPLAIN");
    let prepared = client
        .run("EXPLAIN ANALYZE INSERT INTO t VALUES (1)", Protocol::Extended)
        .await;
    assert_eq!(prepared.unwrap().tag, "EXPLAIN");
}
