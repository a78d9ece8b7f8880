//! One bound on memory over all statements and transactions: each is answered rightly or told 53200 with the setting to raise,
//! and the server goes on; batches that would be too large are cut; what is stopped gives its memory back.

use std::process::Command;
use std::sync::Arc;

use tempfile::TempDir;
use tokio::sync::Barrier;

use crate::client::TextClient;
use crate::server::{ServerProcess, fails, ok, run, target};

fn one(value: &str) -> Vec<Vec<Option<String>>> {
    vec![vec![Some(value.to_string())]]
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_of_many_clients_share_one_bound() {
    let (_data_dir, server, mut client) = ServerProcess::start_new(&[
        "--store",
        "memory",
        "--memory-bytes-max",
        "24MB",
        "--query-memory-bytes-max",
        "16MB",
    ])
    .await;
    assert_eq!(
        ok(&mut client, "SHOW keyspan.memory_bytes_max").await,
        one("24MB")
    );
    ok(&mut client, "CREATE TABLE t (k int PRIMARY KEY, v text)").await;
    ok(
        &mut client,
        "INSERT INTO t SELECT g, repeat('x', 900) || g % 7000 FROM generate_series(1, 7000) g",
    )
    .await;
    let statements = [
        (
            "SELECT count(*) FROM (SELECT v, count(*) FROM t GROUP BY v) s",
            "7000",
        ),
        ("SELECT k FROM t ORDER BY v DESC, k LIMIT 1 OFFSET 6999", "7000"),
        ("SELECT count(*) FROM t a JOIN t b ON a.v = b.v", "7000"),
        (
            "SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY v) AS n FROM t) s",
            "7000",
        ),
    ];
    let begin = Arc::new(Barrier::new(12));
    let clients = (0..12).map(|number| {
        let (begin, addr) = (Arc::clone(&begin), server.addr());
        let (statement, expected) = statements[number % statements.len()];
        tokio::spawn(async move {
            let mut client = TextClient::connect(&target(addr)).await.expect("it connects");
            begin.wait().await;
            let mut refused = 0;
            for _ in 0..3 {
                match run(&mut client, statement).await {
                    Ok(reply) => assert_eq!(reply.rows, one(expected), "{statement}"),
                    Err(error) => {
                        assert_eq!(error.sqlstate, "53200", "{statement}: {error}");
                        assert!(error.hint.is_some_and(|hint| hint.contains("memory_bytes_max")));
                        refused += 1;
                    }
                }
            }
            refused
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.expect("every answer is right or 53200");
    }
    // What they held is there again, as soon as the last of them has stopped.
    for (statement, expected) in statements {
        let mut answer = Err("never answered".to_string());
        for _ in 0..100 {
            answer = run(&mut client, statement)
                .await
                .map_err(|error| error.to_string());
            if answer.is_ok() {
                break;
            }
        }
        assert_eq!(answer.map(|reply| reply.rows), Ok(one(expected)), "{statement}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_transactions_write_and_return_is_taken_from_the_same_bound() {
    let (_data_dir, server, mut client) =
        ServerProcess::start_new(&["--store", "memory", "--memory-bytes-max", "8MB"]).await;
    ok(&mut client, "CREATE TABLE t (k int PRIMARY KEY, v text)").await;
    let setting = "keyspan.memory_bytes_max";
    let insert = "INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, 60000) g";
    let error = fails(&mut client, insert).await;
    assert_eq!(error.sqlstate, "53200", "{error}");
    assert!(error.hint.is_some_and(|hint| hint.contains(setting)));
    // Of open transactions each holds what it wrote; what the first gives up the second has.
    let mut other = server.connect_text().await;
    let insert = |first: usize| {
        format!(
            "INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series({first}, {}) g",
            first + 5999
        )
    };
    ok(&mut client, "BEGIN").await;
    ok(&mut client, &insert(1)).await;
    ok(&mut other, "BEGIN").await;
    let error = fails(&mut other, &insert(100_000)).await;
    assert_eq!(error.sqlstate, "53200", "{error}");
    ok(&mut other, "ROLLBACK").await;
    ok(&mut client, "ROLLBACK").await;
    ok(&mut other, &insert(100_000)).await;
    assert_eq!(ok(&mut client, "SELECT count(*) FROM t").await, one("6000"));
    let error = fails(
        &mut client,
        "UPDATE t SET v = repeat('y', 100) RETURNING repeat(v, 10), repeat(v, 20)",
    )
    .await;
    assert_eq!(error.sqlstate, "53200", "{error}");
    assert_eq!(ok(&mut client, "SELECT max(v) < 'y' FROM t").await, one("t"));
    // A text of many constants is a tree, and a plan.
    let list = vec!["7"; 20_000].join(",");
    let error = fails(
        &mut client,
        &format!("SELECT count(*) FROM t WHERE k IN ({list})"),
    )
    .await;
    assert_eq!(error.sqlstate, "53200", "{error}");
    ok(&mut client, "SELECT 1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prepared_statements_of_a_session_are_bounded() {
    let (_data_dir, server, mut client) =
        ServerProcess::start_new(&["--store", "memory", "--prepared-bytes-max", "100kB"]).await;
    let mut prepared = 0;
    let error = loop {
        let statement = format!("PREPARE s{prepared} AS SELECT {prepared} + $1::int");
        match run(&mut client, &statement).await {
            Ok(_) => prepared += 1,
            Err(error) => break error,
        }
    };
    assert!((10..100).contains(&prepared), "{prepared}");
    assert_eq!(error.sqlstate, "53200", "{error}");
    assert!(
        error
            .hint
            .is_some_and(|hint| hint.contains("keyspan.prepared_bytes_max"))
    );
    let listed = "SELECT count(*) FROM pg_prepared_statements";
    assert_eq!(ok(&mut client, listed).await, one(&prepared.to_string()));
    ok(&mut client, "DEALLOCATE s0").await;
    ok(&mut client, "PREPARE again AS SELECT 1 + $1::int").await;
    assert_eq!(ok(&mut client, "EXECUTE again(1)").await, one("2"));
    ok(&mut client, "DEALLOCATE ALL").await;
    ok(&mut client, "PREPARE s0 AS SELECT 1").await;
    // Those of other sessions are theirs.
    let mut other = server.connect_text().await;
    ok(&mut other, "PREPARE s0 AS SELECT 1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sorts_run_and_spill_in_little_memory() {
    let (_data_dir, _server, mut client) =
        ServerProcess::start_new(&["--store", "memory", "--query-memory-bytes-max", "4MB"]).await;
    ok(&mut client, "SET keyspan.full_scan = allow").await;
    ok(&mut client, "CREATE TABLE t (k int PRIMARY KEY, g int, v text)").await;
    ok(
        &mut client,
        "INSERT INTO t SELECT i, i % 400, md5(i::text) FROM generate_series(1, 40000) i",
    )
    .await;
    for (statement, expected) in [
        (
            "SELECT count(*) FROM (SELECT g, count(*) FROM t GROUP BY g ORDER BY g) s",
            "400",
        ),
        ("SELECT k FROM t ORDER BY v DESC, k OFFSET 39999", "5329"),
        (
            "SELECT max(a + b) FROM (SELECT row_number() OVER (ORDER BY g, k) a, rank() OVER (ORDER BY k) b FROM t WHERE k <= 4000) s",
            "7999",
        ),
        (
            "SELECT count(*) FROM (SELECT DISTINCT ON (g) g, k FROM t ORDER BY g, k DESC) s",
            "400",
        ),
    ] {
        assert_eq!(ok(&mut client, statement).await, one(expected), "{statement}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_far_offset_spills() {
    let (_data_dir, _server, mut client) =
        ServerProcess::start_new(&["--query-memory-bytes-max", "16MB"]).await;
    ok(&mut client, "CREATE TABLE t (k int PRIMARY KEY, v text)").await;
    ok(
        &mut client,
        "INSERT INTO t SELECT g, repeat('x', 1000) || g % 10 FROM generate_series(1, 30000) g",
    )
    .await;
    for (query, expected) in [
        ("SELECT k FROM t ORDER BY v, k DESC LIMIT 1 OFFSET 29990", "99"),
        (
            "SELECT k FROM (SELECT k, v FROM t UNION ALL SELECT k, v FROM t WHERE k < 0) s ORDER BY v, k DESC LIMIT 1 OFFSET 29999",
            "9",
        ),
    ] {
        assert_eq!(ok(&mut client, query).await, one(expected), "{query}");
    }
    // A window over all rows at once keeps them.
    let last = "SELECT count(*) FROM (SELECT max(v) OVER (PARTITION BY k % 2 ORDER BY v ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS m FROM t) s WHERE m > 'x'";
    let error = fails(&mut client, last).await;
    assert_eq!(error.sqlstate, "53200", "{error}");
    assert!(
        error
            .hint
            .is_some_and(|hint| hint.contains("keyspan.query_memory_bytes_max"))
    );
    // As long as its files may be.
    ok(&mut client, "SET temp_file_limit = '1MB'").await;
    let error = fails(
        &mut client,
        "SELECT k FROM t ORDER BY v, k DESC LIMIT 1 OFFSET 29990",
    )
    .await;
    assert_eq!(error.sqlstate, "53100", "{error}");
    assert!(error.hint.is_some_and(|hint| hint.contains("temp_file_limit")));
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_of_more_than_two_gigabytes_are_cut() {
    let (_data_dir, _server, mut client) = ServerProcess::start_new(&["--store", "memory"]).await;
    ok(&mut client, "CREATE TABLE p (k int PRIMARY KEY, x int)").await;
    ok(
        &mut client,
        "INSERT INTO p SELECT g, 1 FROM generate_series(1, 1200) g",
    )
    .await;
    // A constant for each of 1,200 rows of one batch.
    ok(&mut client, "BEGIN").await;
    let cursor = "DECLARE c CURSOR FOR SELECT repeat('x', 2000000), k FROM p";
    ok(&mut client, cursor).await;
    for _ in 0..2 {
        let rows = ok(&mut client, "FETCH 1 FROM c").await;
        assert_eq!(rows[0][0].as_ref().map(String::len), Some(2_000_000));
    }
    ok(&mut client, "COMMIT").await;
    // What cannot be cut is refused.
    let union = "SELECT count(*) FROM (SELECT repeat('x', 2000000) AS v FROM p UNION ALL SELECT k::text FROM p) s WHERE v > random()::text";
    ok(&mut client, "SET keyspan.full_scan = allow").await;
    if let Err(error) = run(&mut client, union).await {
        assert_eq!(error.sqlstate, "53200", "{error}");
    }
    // 100 rows, each with 1,200 partners of 20 kB.
    ok(
        &mut client,
        "CREATE TABLE b (x int, k int, v text, PRIMARY KEY (x, k)); INSERT INTO b SELECT x, k, repeat('v', 20000) FROM p",
    )
    .await;
    let joined = "SELECT count(b.v) FROM p LEFT JOIN b ON b.x = p.x AND b.k <> p.k WHERE p.k <= 100";
    assert_eq!(ok(&mut client, joined).await, one("119900"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_serves_with_few_addresses() {
    let data_dir = TempDir::new().unwrap();
    let mut command = Command::new("sh");
    command.args([
        "-c",
        "ulimit -v 6291456; exec \"$0\" \"$@\"",
        env!("CARGO_BIN_EXE_keyspan"),
    ]);
    let server = ServerProcess::start_as(command, data_dir.path(), &[]);
    let mut client = server.connect_text().await;
    ok(&mut client, "CREATE TABLE t (k int PRIMARY KEY, v text)").await;
    ok(
        &mut client,
        "INSERT INTO t SELECT g, repeat('x', 100) || g FROM generate_series(1, 20000) g",
    )
    .await;
    let clients = (0..20).map(|_| {
        let addr = server.addr();
        tokio::spawn(async move {
            let mut client = TextClient::connect(&target(addr)).await.expect("it connects");
            let grouped = "SELECT count(*) FROM (SELECT v FROM t GROUP BY v ORDER BY v) s";
            assert_eq!(ok(&mut client, grouped).await, one("20000"));
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.expect("every client is answered");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_limit_ends_a_statement_in_every_phase() {
    let (_data_dir, _server, mut client) = ServerProcess::start_new(&["--store", "memory"]).await;
    ok(&mut client, "CREATE TABLE t (k int PRIMARY KEY, v text)").await;
    ok(
        &mut client,
        "INSERT INTO t SELECT g, repeat('ab', 500) FROM generate_series(1, 5000) g",
    )
    .await;
    let list = (1..=100_000)
        .map(|number| number.to_string())
        .collect::<Vec<_>>()
        .join(",");
    let rows = (1..=30_000)
        .map(|number| format!("({},'x')", number + 10_000))
        .collect::<Vec<_>>()
        .join(",");
    ok(&mut client, "SET keyspan.full_scan = allow").await;
    ok(&mut client, "SET statement_timeout = 20").await;
    for statement in [
        // Reading, binding and planning.
        format!("SELECT count(*) FROM t WHERE k IN ({list}) OR k + 1 IN ({list})"),
        format!("INSERT INTO t VALUES {rows}"),
        // Running.
        "SELECT count(*) FROM t a, t b, t c WHERE a.v || b.v LIKE '%c%'".to_string(),
        "SELECT count(regexp_replace(v, '(a|ab)(b|ba)*', 'x', 'g')) FROM t".to_string(),
        "UPDATE t SET v = regexp_replace(v, '(a|ab)(b|ba)*', 'x', 'g')".to_string(),
        "SELECT sum(length(repeat(v, 50))) FROM t a, generate_series(1, 100)".to_string(),
    ] {
        let error = fails(&mut client, &statement).await;
        assert_eq!(error.sqlstate, "57014", "{:.60}: {error}", statement);
    }
    ok(&mut client, "SET statement_timeout = 0").await;
    assert_eq!(
        ok(&mut client, "SELECT count(*) FROM t WHERE length(v) = 1000").await,
        one("5000")
    );
}
