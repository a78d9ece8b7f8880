//! ALTER PRIMARY KEY beside writers and across kills: nobody's write is lost, and the table is whole, under the one key or the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keyspan::check_data_dir;
use tempfile::TempDir;

use crate::client::{Protocol, TextClient};
use crate::server::{ServerProcess, TestServer, ok, target};

/// The only value of the only row.
async fn value(client: &mut TextClient, query: &str) -> String {
    let rows = ok(client, query).await;
    rows[0][0].clone().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
#[allow(clippy::too_many_lines, reason = "one course of events, told in its order")]
async fn writers_beside_it_lose_nothing() {
    let server = TestServer::start("sled").await;
    let mut client = server.connect_text().await;
    for statement in [
        "CREATE TABLE t (k int PRIMARY KEY, g int NOT NULL, u int UNIQUE, v int DEFAULT 0)",
        "CREATE INDEX t_v ON t (v) INCLUDE (u)",
        "INSERT INTO t (k, g, u) SELECT x, x % 7, x FROM generate_series(1, 3000) x",
        "CREATE TABLE done (writer int, step int, k int, PRIMARY KEY (writer, step))",
    ] {
        ok(&mut client, statement).await;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for writer in 0..4 {
        let mut client = server.connect_text().await;
        let stop = Arc::clone(&stop);
        writers.push(tokio::spawn(async move {
            let mut step = 0;
            while step < 400 && !stop.load(Ordering::Relaxed) {
                // Of each writer's own rows, so that what they are is known: each is counted up, some move, go and come.
                let k = 1 + writer * 750 + step * 37 % 750;
                let change = match step % 5 {
                    0 | 1 => format!("UPDATE t SET v = v + 1 WHERE k = {k}"),
                    2 => format!("UPDATE t SET g = g + 1, v = v + 1 WHERE k = {k}"),
                    3 => format!("DELETE FROM t WHERE k = {k} RETURNING k"),
                    _ => format!(
                        "INSERT INTO t (k, g, u, v) VALUES ({k}, 1, {k}, 1) ON CONFLICT (k) DO UPDATE SET v = t.v + 1"
                    ),
                };
                let mut changes = vec!["BEGIN".to_string(), change];
                changes.push(format!("INSERT INTO done VALUES ({writer}, {step}, {k})"));
                changes.push("COMMIT".to_string());
                for change in changes {
                    ok(&mut client, &change).await;
                }
                step += 1;
            }
            step
        }));
    }
    let mut steps = Vec::new();
    for key in [
        "(g, k)",
        "USING COLUMNS (k DESC) WITH (BUCKETS = 4)",
        "(hash32(u), u, k)",
        "(k)",
    ] {
        tokio::time::sleep(Duration::from_millis(200)).await;
        if key.contains("hash32") {
            // u must never be NULL.
            ok(&mut client, "ALTER TABLE t ALTER COLUMN u SET NOT NULL").await;
        }
        ok(&mut client, &format!("ALTER TABLE t ALTER PRIMARY KEY {key}")).await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        steps.push(writer.await.unwrap());
    }
    // What the rows must be, by what was done.
    for statement in [
        "CREATE TABLE expected AS SELECT x AS k, 0 AS v FROM generate_series(1, 3000) x",
        "ALTER TABLE expected ADD PRIMARY KEY (k)",
    ] {
        ok(&mut client, statement).await;
    }
    for (writer, steps) in steps.iter().enumerate() {
        assert!(*steps > 5, "writer {writer} came to {steps} steps");
        for step in 0..*steps {
            let k = 1 + writer as i32 * 750 + step * 37 % 750;
            let change = match step % 5 {
                0..=2 => format!("UPDATE expected SET v = v + 1 WHERE k = {k}"),
                3 => format!("DELETE FROM expected WHERE k = {k}"),
                _ => format!(
                    "INSERT INTO expected VALUES ({k}, 1) ON CONFLICT (k) DO UPDATE SET v = expected.v + 1"
                ),
            };
            ok(&mut client, &change).await;
        }
    }
    for differing in [
        "SELECT count(*) FROM (SELECT k, v FROM t EXCEPT SELECT k, v FROM expected) d",
        "SELECT count(*) FROM (SELECT k, v FROM expected EXCEPT SELECT k, v FROM t) d",
        "SELECT (SELECT count(*) FROM t) - (SELECT count(*) FROM expected)",
    ] {
        assert_eq!(value(&mut client, differing).await, "0", "{differing}");
    }
    // Its indexes agree with it.
    assert_eq!(
        value(
            &mut client,
            "SELECT count(*) FROM t JOIN expected e ON e.k = t.k WHERE t.v = e.v AND t.u = e.k"
        )
        .await,
        value(&mut client, "SELECT count(*) FROM t").await
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_in_the_middle_leaves_the_old_table_whole() {
    for store in ["sled", "fjall"] {
        let folder = TempDir::new().unwrap();
        let at = folder.path().join("data");
        let server = ServerProcess::start(&at, &["--store", store]);
        let mut client = TextClient::connect(&target(server.addr())).await.unwrap();
        for statement in [
            "CREATE TABLE t (k int PRIMARY KEY, g int NOT NULL, v text)",
            "CREATE INDEX t_v ON t (v)",
            "INSERT INTO t SELECT x, x % 7, 'v' || x FROM generate_series(1, 8000) x",
        ] {
            ok(&mut client, statement).await;
        }
        let mut other = TextClient::connect(&target(server.addr())).await.unwrap();
        ok(&mut other, "BEGIN").await;
        ok(&mut other, "UPDATE t SET v = 'other' WHERE k = 8000").await;
        let altering = tokio::spawn(async move {
            client
                .run("ALTER TABLE t ALTER PRIMARY KEY (g, k)", Protocol::Simple)
                .await
        });
        // It waits for whoever is writing, before it begins.
        tokio::time::sleep(Duration::from_millis(300)).await;
        ok(&mut other, "COMMIT").await;
        tokio::time::sleep(Duration::from_millis(150)).await;
        server.kill();
        let _ = altering.await.unwrap();
        let report = check_data_dir(&at, &mut |_| ()).await.unwrap();
        assert!(report.is_sound(), "{report}");
        let server = ServerProcess::start(&at, &["--store", store]);
        let mut client = TextClient::connect(&target(server.addr())).await.unwrap();
        assert_eq!(value(&mut client, "SELECT count(*) FROM t").await, "8000");
        assert_eq!(
            value(&mut client, "SELECT v FROM t WHERE k = 8000").await,
            "other"
        );
        assert_eq!(value(&mut client, "SELECT k FROM t WHERE v = 'v77'").await, "77");
        ok(&mut client, "UPDATE t SET v = 'again' WHERE k = 5").await;
        // Whichever key it has now, it gets another.
        ok(&mut client, "ALTER TABLE t ALTER PRIMARY KEY (g DESC, k DESC)").await;
        assert_eq!(
            value(&mut client, "SELECT count(*) FROM t WHERE g = 3").await,
            "1143"
        );
        server.kill();
        let report = check_data_dir(&at, &mut |_| ()).await.unwrap();
        assert!(report.is_sound(), "{report}");
        assert_eq!(report.unfinished, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn duplicates_and_cancels_leave_the_old_key() {
    let server = TestServer::start("sled").await;
    let mut client = server.connect_text().await;
    for statement in [
        "CREATE TABLE t (k int PRIMARY KEY, g int, v int)",
        "INSERT INTO t SELECT x, x, 0 FROM generate_series(1, 3000) x",
        "UPDATE t SET g = 1 WHERE k = 2999",
    ] {
        ok(&mut client, statement).await;
    }
    let alter = "ALTER TABLE t ALTER PRIMARY KEY (g)";
    let error = client.run(alter, Protocol::Simple).await.unwrap_err();
    assert_eq!(
        (error.sqlstate.as_str(), error.detail.as_deref()),
        ("23505", Some("Key (g)=(1) is duplicated."))
    );
    ok(&mut client, "UPDATE t SET g = NULL WHERE k = 2999").await;
    let error = client.run(alter, Protocol::Simple).await.unwrap_err();
    assert_eq!(error.sqlstate, "23502");
    ok(&mut client, "UPDATE t SET g = 2999 WHERE k = 2999").await;
    // Somebody holds a row: the move waits, and its time is over.
    let mut other = server.connect_text().await;
    ok(&mut client, "SET statement_timeout = '600ms'").await;
    ok(&mut other, "BEGIN").await;
    ok(&mut other, "SELECT * FROM t WHERE k = 7 FOR UPDATE").await;
    let error = client.run(alter, Protocol::Simple).await.unwrap_err();
    assert_eq!(error.sqlstate, "57014");
    ok(&mut other, "COMMIT").await;
    ok(&mut client, "RESET statement_timeout").await;
    let key = "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 't'::regclass AND contype = 'p'";
    assert_eq!(value(&mut client, key).await, "PRIMARY KEY (k)");
    assert_eq!(value(&mut client, "SELECT count(*) FROM t").await, "3000");
    ok(&mut client, alter).await;
    assert_eq!(value(&mut client, key).await, "PRIMARY KEY (g)");
}
