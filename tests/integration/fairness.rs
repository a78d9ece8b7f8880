//! One statement never stops the others: over a server that has a single thread for its clients, each statement here runs
//! for long, and another client, a new connection and a cancel are answered meanwhile. That the statement ends by the
//! cancel says that they were: a thread that computes would have answered them only after it.

use tempfile::TempDir;
use tokio_postgres::NoTls;
use tokio_postgres::error::SqlState;

use crate::server::{TestServer, connect, one_thread};

/// A list of so many numbers.
fn numbers(count: usize) -> String {
    let numbers: Vec<String> = (0..count).map(|number| number.to_string()).collect();
    numbers.join(",")
}

/// Each query over the one before it, twice: as many joins as there are powers of two.
fn doubled(queries: usize) -> String {
    let more: Vec<String> = (1..queries)
        .map(|at| {
            format!(
                "q{at} AS (SELECT a.x FROM q{0} a JOIN q{0} b ON a.x = b.x)",
                at - 1
            )
        })
        .collect();
    format!(
        "WITH q0 AS (SELECT 1 AS x), {} SELECT * FROM q{}",
        more.join(", "),
        queries - 1
    )
}

/// Statements that take seconds at least, in whatever part of the work.
fn long_statements() -> Vec<String> {
    vec![
        "SELECT count(*) FROM generate_series(1, 15000000)".to_string(),
        "SELECT count(*) FROM generate_series(1, 3000000) a JOIN generate_series(1, 3000000) b ON a = b".to_string(),
        "SELECT count(*) FROM generate_series(1, 100000) a JOIN generate_series(1, 100000) b ON a <> b".to_string(),
        doubled(12),
        format!("{}SELECT 1", "SELECT 1;".repeat(40_000)),
        format!("SELECT 1 WHERE 3 + length('a') IN ({})", numbers(150_000)),
        "SELECT length(regexp_replace(repeat('ab', 20000000), 'a(b)', 'c\\1', 'g'))".to_string(),
        "SELECT count(*) FROM generate_series(1, 3) WHERE length(replace(repeat('a', 9000000), 'a', 'bc')) > 1 \
         AND length(regexp_replace(repeat('ab', 20000000), 'a(b)', 'c\\1', 'g')) > 1"
            .to_string(),
        "CREATE TABLE made AS SELECT a FROM generate_series(1, 20000000) a".to_string(),
        "INSERT INTO t SELECT a, 'x' FROM generate_series(1, 3000000) a".to_string(),
        "EXPLAIN ANALYZE SELECT count(*) FROM generate_series(1, 15000000)".to_string(),
    ]
}

/// Has others answered, and `client`'s statement cancelled, until `work` ends, as it must by a cancel. The first may come
/// before the statement has begun.
async fn others_are_answered(
    server: &TestServer,
    other: &tokio_postgres::Client,
    client: &tokio_postgres::Client,
    work: impl Future<Output = Result<(), tokio_postgres::Error>>,
) -> Result<(), tokio_postgres::Error> {
    let answers = async || {
        other.simple_query("SELECT 1").await.unwrap();
        other.query_one("SELECT v FROM t WHERE k = 1", &[]).await.unwrap();
        let newcomer = connect(server.addr()).await;
        newcomer.simple_query("SELECT 1").await.unwrap();
        client.cancel_token().cancel_query(NoTls).await.unwrap();
    };
    let mut work = std::pin::pin!(work);
    loop {
        tokio::select! {
            biased;
            ended = &mut work => return ended,
            () = answers() => {}
        }
    }
}

fn is_cancelled(ended: &Result<(), tokio_postgres::Error>) -> bool {
    ended.as_ref().err().and_then(|error| error.code()) == Some(&SqlState::QUERY_CANCELED)
}

#[tokio::test(flavor = "multi_thread")]
async fn long_statements_leave_the_thread_to_others() {
    let runtime = one_thread();
    let server = TestServer::start_on(&runtime, "memory", TempDir::new().unwrap()).await;
    let (client, other) = (server.connect().await, server.connect().await);
    let setup = "CREATE TABLE t (k int PRIMARY KEY, v text); INSERT INTO t VALUES (-1, 'x'), (1, 'y')";
    client.batch_execute(setup).await.unwrap();
    for statement in long_statements() {
        let shown: String = statement.chars().take(100).collect();
        let simple = async { client.batch_execute(&statement).await };
        let ended = others_are_answered(&server, &other, &client, simple).await;
        assert!(is_cancelled(&ended), "{shown}: {ended:?}");
        if statement.starts_with("SELECT 1;") {
            continue;
        }
        let extended = async {
            let prepared = client.prepare(&statement).await?;
            client.execute(&prepared, &[]).await.map(|_| ())
        };
        let ended = others_are_answered(&server, &other, &client, extended).await;
        assert!(is_cancelled(&ended), "{shown}, prepared: {ended:?}");
    }
    // Nothing of them is left, and their client goes on.
    let rows = client.query("SELECT k FROM t", &[]).await.unwrap();
    assert_eq!(rows.len(), 2);
    server.stop().await;
    runtime.shutdown_background();
}
