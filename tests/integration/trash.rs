//! The trash across kills and starts: what is in it stays, comes back whole, and goes when its time is over; and batches of a DELETE.

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

#[tokio::test(flavor = "multi_thread")]
async fn what_is_in_the_trash_outlives_kills_and_comes_back_whole() {
    for store in ["sled", "fjall"] {
        let folder = TempDir::new().unwrap();
        let at = folder.path().join("data");
        let server = ServerProcess::start(&at, &["--store", store, "--set", "keyspan.trash_hours=1"]);
        let mut client = TextClient::connect(&target(server.addr())).await.unwrap();
        for statement in [
            "CREATE TABLE t (k serial PRIMARY KEY, u int UNIQUE, v text)",
            "CREATE INDEX t_v ON t (lower(v))",
            "INSERT INTO t (u, v) SELECT g, 'V' || g FROM generate_series(1, 500) g",
            "CREATE TABLE e (v int)",
            "INSERT INTO e SELECT g FROM generate_series(1, 40) g",
            "DROP TABLE t",
            "TRUNCATE e",
            "INSERT INTO e VALUES (0)",
            "CREATE TABLE gone (k int PRIMARY KEY)",
            "INSERT INTO gone VALUES (1)",
            "DROP TABLE gone",
            "PURGE TABLE gone",
        ] {
            ok(&mut client, statement).await;
        }
        server.kill();
        let report = check_data_dir(&at, &mut |_| ()).await.unwrap();
        assert!(report.is_sound(), "{report}");
        let server = ServerProcess::start(&at, &["--store", store]);
        let mut client = TextClient::connect(&target(server.addr())).await.unwrap();
        let names = value(
            &mut client,
            "SELECT string_agg(relname || ' ' || dropped_by, ', ' ORDER BY relname) FROM keyspan.trash",
        );
        assert_eq!(names.await, "e TRUNCATE, t DROP TABLE");
        ok(&mut client, "UNDROP TABLE t").await;
        ok(&mut client, "UNDROP TABLE e AS older").await;
        server.kill();
        let report = check_data_dir(&at, &mut |_| ()).await.unwrap();
        assert!(report.is_sound(), "{report}");
        let server = ServerProcess::start(&at, &["--store", store]);
        let mut client = TextClient::connect(&target(server.addr())).await.unwrap();
        for (query, expected) in [
            ("SELECT count(*) FROM t", "500"),
            ("SELECT u FROM t WHERE lower(v) = 'v77'", "77"),
            ("INSERT INTO t (u) VALUES (1000) RETURNING k > 500", "t"),
            ("SELECT count(*) FROM older", "40"),
            ("SELECT count(*) FROM e", "1"),
            ("SELECT count(*) FROM keyspan.trash", "0"),
        ] {
            assert_eq!(value(&mut client, query).await, expected, "{query}");
        }
        ok(&mut client, "INSERT INTO older VALUES (41)").await;
        server.kill();
        let report = check_data_dir(&at, &mut |_| ()).await.unwrap();
        assert!(report.is_sound(), "{report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batched_delete_that_is_cancelled_says_how_far_it_came() {
    let server = TestServer::start("sled").await;
    let mut client = server.connect_text().await;
    for statement in [
        "CREATE TABLE t (k int PRIMARY KEY, v int)",
        "INSERT INTO t SELECT g, 0 FROM generate_series(1, 2000) g",
    ] {
        ok(&mut client, statement).await;
    }
    // One row is another's: the statement waits for it, and its time is over.
    let mut other = server.connect_text().await;
    ok(&mut other, "BEGIN").await;
    ok(&mut other, "UPDATE t SET v = 1 WHERE k = 1500").await;
    ok(&mut client, "SET statement_timeout = '700ms'").await;
    let delete = "DELETE /*+ _l_batch_(100) */ FROM t WHERE k > 0";
    let began = Instant::now();
    let error = client
        .run(delete, crate::client::Protocol::Simple)
        .await
        .unwrap_err();
    assert!(began.elapsed() < Duration::from_secs(30));
    assert_eq!(error.sqlstate, "57014");
    let gone = 2000
        - value(&mut other, "SELECT count(*) FROM t")
            .await
            .parse::<u64>()
            .unwrap();
    let detail = error.detail.unwrap_or_default();
    assert_eq!(
        detail,
        format!("{gone} rows are deleted, in {} commits, and stay so.", gone / 100)
    );
    assert_eq!(gone, 1400);
    ok(&mut other, "COMMIT").await;
    ok(&mut client, "RESET statement_timeout").await;
    // Writers beside it lose nothing.
    let mut inserter = server.connect_text().await;
    let inserting = tokio::spawn(async move {
        for k in 10_000..10_200 {
            ok(&mut inserter, &format!("INSERT INTO t VALUES ({k}, 5)")).await;
        }
    });
    ok(&mut client, "DELETE /*+ _l_batch_(7) */ FROM t WHERE k <= 2000").await;
    inserting.await.unwrap();
    assert_eq!(value(&mut client, "SELECT count(*) FROM t").await, "200");
}
