//! Rows that are over, across kills and starts, and their removal beside clients: what is gone stays gone, what lives lives, and nobody waits.

use std::time::{Duration, Instant};

use keyspan::check_data_dir;
use tempfile::TempDir;

use crate::client::TextClient;
use crate::server::{ServerProcess, TestServer, ok, target};

/// The only value of the only row.
async fn value(client: &mut TextClient, query: &str) -> String {
    let rows = ok(client, query).await;
    rows[0][0].clone().unwrap_or_default()
}

/// Asks until the answer is this; gives up after a minute.
async fn until(client: &mut TextClient, query: &str, expected: &str) {
    let began = Instant::now();
    loop {
        let found = value(client, query).await;
        if found == expected {
            return;
        }
        assert!(
            began.elapsed() < Duration::from_secs(60),
            "{query} is {found}, not {expected}"
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_over_is_so_after_a_kill_and_what_lives_lives() {
    for store in ["sled", "fjall"] {
        let folder = TempDir::new().unwrap();
        let at = folder.path().join("data");
        let server = ServerProcess::start(&at, &["--store", store, "--set", "keyspan.ttl_rows_per_second=0"]);
        let mut client = TextClient::connect(&target(server.addr())).await.unwrap();
        for statement in [
            "CREATE TABLE t (k int PRIMARY KEY, u int UNIQUE, v text) WITH (ttl = '1 day')",
            "CREATE INDEX t_v ON t (v)",
            "INSERT INTO t SELECT g, g, 'v' FROM generate_series(1, 50) g",
            "INSERT /*+ _l_ttl_(1) */ INTO t SELECT g, g, 'v' FROM generate_series(51, 80) g",
            "INSERT /*+ _l_ttl_(86400000) */ INTO t VALUES (81, 81, 'v')",
            "SELECT pg_sleep(0.05)",
            "INSERT INTO t VALUES (100, 60, 'w')",
        ] {
            ok(&mut client, statement).await;
        }
        assert_eq!(value(&mut client, "SELECT count(*) FROM t").await, "52");
        server.kill();
        let report = check_data_dir(&at, &mut |_| ()).await.unwrap();
        assert!(report.is_sound(), "{report}");
        assert!(
            report
                .to_string()
                .contains("over and still to be removed: 29 rows"),
            "{report}"
        );
        let server = ServerProcess::start(&at, &["--store", store]);
        let mut client = TextClient::connect(&target(server.addr())).await.unwrap();
        assert_eq!(value(&mut client, "SELECT count(*) FROM t").await, "52");
        assert_eq!(
            value(&mut client, "SELECT count(*) FROM t WHERE v = 'v'").await,
            "51"
        );
        // Now they go.
        until(
            &mut client,
            "SELECT removed FROM keyspan.ttl WHERE relname = 't'",
            "29",
        )
        .await;
        until(
            &mut client,
            "SELECT waiting FROM keyspan.ttl WHERE relname = 't'",
            "0",
        )
        .await;
        // What has its own time keeps it, what has none lives as its table says.
        ok(&mut client, "ALTER TABLE t SET (ttl = '1 ms')").await;
        assert_eq!(value(&mut client, "SELECT k FROM t").await, "81");
        until(
            &mut client,
            "SELECT removed FROM keyspan.ttl WHERE relname = 't'",
            "80",
        )
        .await;
        ok(&mut client, "ALTER TABLE t RESET (ttl)").await;
        assert_eq!(value(&mut client, "SELECT count(*) FROM t").await, "1");
        server.kill();
        let report = check_data_dir(&at, &mut |_| ()).await.unwrap();
        assert!(report.is_sound(), "{report}");
        assert_eq!(report.relations[0].rows, 1);
        assert_eq!(report.relations[0].entries, 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_are_not_disturbed_by_the_removal() {
    let server = TestServer::start("sled").await;
    let mut client = server.connect_text().await;
    for statement in [
        "CREATE TABLE t (k int PRIMARY KEY, u int UNIQUE, v int) WITH (ttl = '1 day')",
        "INSERT /*+ _l_ttl_(1) */ INTO t SELECT g, g, 0 FROM generate_series(1, 4000) g",
    ] {
        ok(&mut client, statement).await;
    }
    let mut writers = Vec::new();
    for writer in 0..3 {
        let mut client = server.connect_text().await;
        writers.push(tokio::spawn(async move {
            ok(&mut client, "SET lock_timeout = '5s'").await;
            for step in 0..60 {
                let k = 1 + (step * 67 + writer * 1333) % 3000;
                match (step + writer) % 3 {
                    // Over rows that are over, and over its own of before.
                    0 => {
                        let insert = format!(
                            "INSERT INTO t VALUES ({k}, {k}, 1) ON CONFLICT (k) DO UPDATE SET v = t.v + 1"
                        );
                        ok(&mut client, &insert).await;
                    }
                    1 => {
                        ok(&mut client, "BEGIN ISOLATION LEVEL SERIALIZABLE").await;
                        // Nobody writes there but the removal.
                        ok(&mut client, "SELECT v FROM t WHERE k BETWEEN 3100 AND 4000").await;
                        ok(
                            &mut client,
                            &format!("INSERT INTO t VALUES ({}, NULL, 2)", 10_000 + 100 * writer + step),
                        )
                        .await;
                        ok(&mut client, "COMMIT").await;
                    }
                    _ => {
                        ok(&mut client, "BEGIN").await;
                        ok(&mut client, "LOCK TABLE t IN SHARE UPDATE EXCLUSIVE MODE").await;
                        ok(&mut client, "COMMIT").await;
                    }
                }
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    let done = "SELECT (removed > 0 AND waiting = 0)::text FROM keyspan.ttl WHERE relname = 't'";
    until(&mut client, done, "true").await;
    let folder = server.stop().await;
    let report = check_data_dir(&folder.path().join("data"), &mut |_| ())
        .await
        .unwrap();
    assert!(report.is_sound(), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_under_way_takes_another_rate_at_once() {
    let server = TestServer::start("memory").await;
    let mut client = server.connect_text().await;
    for statement in [
        "ALTER SYSTEM SET keyspan.ttl_rows_per_second = 1",
        "CREATE TABLE t (k int PRIMARY KEY, ends timestamptz) WITH (ttl_column = 'ends')",
        "INSERT INTO t SELECT g, '2000-01-01' FROM generate_series(1, 2000) g",
    ] {
        ok(&mut client, statement).await;
    }
    let begun = "SELECT (removed > 0)::text FROM keyspan.ttl WHERE relname = 't'";
    until(&mut client, begun, "true").await;
    // At the rate that it began with the pass would take half an hour.
    ok(
        &mut client,
        "ALTER SYSTEM SET keyspan.ttl_rows_per_second = 100000",
    )
    .await;
    let removed = "SELECT removed FROM keyspan.ttl WHERE relname = 't'";
    until(&mut client, removed, "2000").await;
}
