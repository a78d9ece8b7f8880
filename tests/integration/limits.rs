//! The limits of the command line, each seen to hold by a client of the real binary: what is above is refused with the
//! setting to raise, and the server goes on.

use crate::server::{ServerProcess, fails, ok, run};

#[tokio::test(flavor = "multi_thread")]
async fn sizes_of_data_are_bounded() {
    let (_data_dir, _server, mut client) = ServerProcess::start_new(&[
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
            "INSERT INTO t VALUES (repeat('x', 101), '', '')",
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
async fn results_of_functions_are_bounded() {
    let (_data_dir, _server, mut client) = ServerProcess::start_new(&[
        "--function-value-bytes-max",
        "10kB",
        "--function-batch-bytes-max",
        "100kB",
    ])
    .await;
    let value = "keyspan.function_value_bytes_max";
    let batch = "keyspan.function_batch_bytes_max";
    // What a function copies of its arguments counts before it makes anything of them.
    let copied = format!(
        "SELECT length(concat({})) FROM (SELECT repeat('x', 6000) AS r) x",
        vec!["r"; 20].join(", ")
    );
    for (statement, sqlstate, setting) in [
        ("SELECT repeat('x', 11000)", "54000", value),
        ("SELECT lpad('x', 11000)", "54000", value),
        (
            "SELECT replace(repeat('x', 1000), 'x', repeat('y', 20))",
            "54000",
            value,
        ),
        (
            "SELECT regexp_replace(repeat('x', 1000), 'x', repeat('y', 20), 'g')",
            "54000",
            value,
        ),
        (
            "SELECT concat(repeat('x', 6000), repeat('y', 6000))",
            "54000",
            value,
        ),
        (
            "SELECT concat_ws('-', repeat('x', 6000), repeat('y', 6000))",
            "54000",
            value,
        ),
        ("SELECT repeat('x', 6000) || repeat('y', 6000)", "54000", value),
        (
            "SELECT format('%s%s', repeat('x', 6000), repeat('y', 6000))",
            "54000",
            value,
        ),
        (
            "SELECT array_to_string(ARRAY(SELECT 'xy' FROM generate_series(1, 6000)), '-')",
            "54000",
            value,
        ),
        (
            "SELECT repeat('x', 5000 + g) FROM generate_series(1, 100) g",
            "53200",
            batch,
        ),
        (copied.as_str(), "53200", batch),
    ] {
        let error = fails(&mut client, statement).await;
        assert_eq!(error.sqlstate, sqlstate, "{statement}: {error}");
        assert!(
            error.hint.as_ref().is_some_and(|hint| hint.contains(setting)),
            "{statement}: {error}"
        );
    }
    assert_eq!(
        ok(&mut client, "SELECT length(repeat('x', 9000))").await,
        [[Some("9000".to_string())]]
    );
    assert_eq!(
        ok(&mut client, "SHOW keyspan.function_value_bytes_max").await,
        [[Some("10kB".to_string())]]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_dependent_joins_keep_is_the_querys_memory() {
    let (_data_dir, _server, mut client) =
        ServerProcess::start_new(&["--query-memory-bytes-max", "4MB"]).await;
    ok(
        &mut client,
        "CREATE TABLE t (a int, b int, v text, PRIMARY KEY (a, b))",
    )
    .await;
    ok(
        &mut client,
        "INSERT INTO t SELECT g % 100, g, repeat('x', 1000) FROM generate_series(1, 10000) g",
    )
    .await;
    // Ten megabytes of answers, a hundred of 100 kB: those of rows before are given up.
    for (query, count) in [
        (
            "SELECT count(*) FROM generate_series(0, 99) g(i), LATERAL (SELECT v FROM t WHERE a = g.i OFFSET 0) s",
            "10000",
        ),
        (
            "SELECT count(*) FROM generate_series(0, 99) g(i) WHERE 'y' NOT IN (SELECT v || b FROM t WHERE a = g.i)",
            "100",
        ),
    ] {
        assert_eq!(
            ok(&mut client, query).await,
            [[Some(count.to_string())]],
            "{query}"
        );
    }
    // One answer of ten megabytes, and a hundred values of 100 kB in one batch.
    for query in [
        "SELECT count(*) FROM generate_series(0, 1) g(i), LATERAL (SELECT v FROM t WHERE a >= g.i OFFSET 0) s",
        "SELECT count(*) FROM generate_series(0, 1) g(i) WHERE 'y' NOT IN (SELECT v || b FROM t WHERE a >= g.i)",
        "SELECT i, (SELECT string_agg(v, '') FROM t WHERE a = g.i) FROM generate_series(0, 99) g(i)",
    ] {
        let error = fails(&mut client, query).await;
        assert_eq!(error.sqlstate, "53200", "{query}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_spills_or_ends_within_its_memory() {
    let (_data_dir, _server, mut client) =
        ServerProcess::start_new(&["--query-memory-bytes-max", "16MB"]).await;
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
async fn a_short_statement_counts_what_it_holds() {
    let (_data_dir, _server, mut client) =
        ServerProcess::start_new(&["--query-memory-bytes-max", "16MB"]).await;
    ok(&mut client, "CREATE TABLE t (k int PRIMARY KEY, v text)").await;
    ok(&mut client, "CREATE TABLE n (k int PRIMARY KEY)").await;
    ok(
        &mut client,
        "INSERT INTO t SELECT g, repeat('x', 100000) FROM generate_series(1, 400) g; INSERT INTO n SELECT g FROM generate_series(1, 400) g",
    )
    .await;
    // The sort goes on where it can spill.
    let sorted = ok(
        &mut client,
        "SELECT k FROM t WHERE k > 0 ORDER BY v, k DESC LIMIT 1",
    )
    .await;
    assert_eq!(sorted, [[Some("400".to_string())]]);
    // Rows that would be forty megabytes together are looked up in smaller batches.
    let joined = "SELECT count(t.v) FROM n JOIN t ON t.k = n.k WHERE n.k <=";
    for rows in ["50", "400"] {
        assert_eq!(
            ok(&mut client, &format!("{joined} {rows}")).await,
            [[Some(rows.to_string())]]
        );
    }
    // One row has more partners than fit.
    let all =
        "CREATE TABLE p (a int, k int, v text, PRIMARY KEY (a, k)); INSERT INTO p SELECT 1, k, v FROM t";
    ok(&mut client, all).await;
    let many = "SELECT n.k, p.v FROM n JOIN p ON p.a = n.k WHERE n.k <= 2";
    let error = fails(&mut client, many).await;
    assert_eq!(error.sqlstate, "53200", "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn old_snapshots_end_when_their_memory_is_used_up() {
    let (_data_dir, server, mut client) = ServerProcess::start_new(&["--undo-bytes-max", "64kB"]).await;
    ok(&mut client, "CREATE TABLE t (k int PRIMARY KEY, v text)").await;
    ok(
        &mut client,
        "INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, 2000) g",
    )
    .await;
    ok(&mut client, "BEGIN ISOLATION LEVEL REPEATABLE READ").await;
    ok(&mut client, "SELECT count(*) FROM t").await;
    let mut other = server.connect_text().await;
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

/// A statement of its own that waited until its snapshot was given up has answered nothing yet: it is run again.
#[tokio::test(flavor = "multi_thread")]
async fn a_lone_write_outlives_its_snapshot() {
    let (_data_dir, server, mut client) = ServerProcess::start_new(&["--undo-bytes-max", "64kB"]).await;
    let setup = "CREATE TABLE t (k int PRIMARY KEY, v text); CREATE TABLE u (k int PRIMARY KEY); \
                 INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, 2000) g";
    ok(&mut client, setup).await;
    let (mut other, mut younger) = (server.connect_text().await, server.connect_text().await);
    ok(&mut other, "SELECT pg_advisory_lock(7)").await;
    let waiting = "INSERT INTO u SELECT CASE WHEN pg_advisory_lock(7) IS NULL THEN 0 ELSE 1 END";
    let writes = async {
        let is_waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted";
        while ok(&mut other, is_waiting).await != [[Some("1".to_string())]] {}
        ok(
            &mut younger,
            "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t",
        )
        .await;
        while run(&mut younger, "SELECT max(v) FROM t").await.is_ok() {
            ok(&mut other, "UPDATE t SET v = v || 'x'").await;
        }
        ok(&mut other, "SELECT pg_advisory_unlock(7)").await;
    };
    tokio::join!(ok(&mut client, waiting), writes);
    assert_eq!(
        ok(&mut client, "SELECT k FROM u WHERE k = 1").await,
        [[Some("1".to_string())]]
    );
}
