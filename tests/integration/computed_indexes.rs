//! CREATE INDEX over what is computed of rows, beside writers and across kills: every row has what the index computes of it, and every entry its
//! row.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keyspan::check_data_dir;
use tempfile::TempDir;

use crate::client::{Protocol, TextClient};
use crate::server::{ServerProcess, ok, target};

/// Indexes that come and go.
const INDEXES: [&str; 5] = [
    "(lower(s))",
    "(n) WHERE n % 3 = 0",
    "((n * 2), z)",
    "(s, n) WITH (BUCKETS = 4)",
    "(lower(s)) WHERE z > 2",
];

/// Each is 0 of every snapshot: what an index computes is what the query does, and by an index come as many rows as without.
const DIFFERENCES: [&str; 4] = [
    "SELECT count(*) FROM t WHERE lower(s) IS DISTINCT FROM lower(s || '')",
    "SELECT count(*) FROM t WHERE n * 2 IS DISTINCT FROM n + n",
    "SELECT (SELECT count(*) FROM t WHERE n > -1 AND n % 3 = 0) - (SELECT count(*) FROM t WHERE n % 3 + 0 = 0)",
    "SELECT (SELECT count(*) FROM t WHERE lower(s) >= '' AND z > 2) - (SELECT count(*) FROM t WHERE z + 0 > 2)",
];

async fn connect(server: &ServerProcess) -> TextClient {
    let mut client = TextClient::connect(&target(server.addr())).await.unwrap();
    ok(&mut client, "SET keyspan.full_scan = allow").await;
    client
}

async fn require_agreement(client: &mut TextClient) {
    for difference in DIFFERENCES {
        let rows = ok(client, difference).await;
        assert_eq!(rows[0][0].as_deref(), Some("0"), "{difference}");
    }
}

/// What a writer does of its own rows at a step.
fn change(writer: i32, step: i32) -> Vec<String> {
    let k = 1 + writer * 500 + step * 37 % 500;
    let in_block = |level: &str, change: String| {
        vec![
            format!("BEGIN ISOLATION LEVEL {level}"),
            format!("SELECT * FROM t WHERE k = {k} FOR UPDATE"),
            change,
            "COMMIT".to_string(),
        ]
    };
    match step % 7 {
        0 => vec![format!("UPDATE t SET s = 'Step' || {step} WHERE k = {k}")],
        1 => vec![format!("UPDATE t SET z = z + 1 WHERE k = {k}")],
        2 => in_block("READ COMMITTED", format!("UPDATE t SET z = z + 1 WHERE k = {k}")),
        3 => in_block("REPEATABLE READ", format!("UPDATE t SET n = n + 1 WHERE k = {k}")),
        4 => vec![format!("DELETE FROM t WHERE k = {k}")],
        5 => vec![format!(
            "INSERT INTO t VALUES ({k}, 'New{step}', {step}, 1) ON CONFLICT (k) DO UPDATE SET z = t.z + 1"
        )],
        _ => vec![format!("UPSERT INTO t (k, z) VALUES ({k}, {step})")],
    }
}

/// Writes until it is stopped; what fails because the table is altered meanwhile is undone.
async fn write(mut client: TextClient, writer: i32, stop: Arc<AtomicBool>) -> i32 {
    let mut step = 0;
    while !stop.load(Ordering::Relaxed) {
        for statement in change(writer, step) {
            if let Err(error) = client.run(&statement, Protocol::Simple).await {
                assert!(error.sqlstate.starts_with("40"), "{statement}: {error:?}");
                ok(&mut client, "ROLLBACK").await;
                break;
            }
        }
        step += 1;
    }
    step
}

async fn fill(client: &mut TextClient) {
    for statement in [
        "CREATE TABLE t (k int PRIMARY KEY, s text NOT NULL, n int DEFAULT 3, z int)",
        "INSERT INTO t SELECT x, 'Row' || x, x, x % 5 FROM generate_series(1, 6000) x",
        "ALTER TABLE t ALTER s SET DEFAULT 'Upserted'",
    ] {
        ok(client, statement).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_beside_it_lose_nothing() {
    let folder = TempDir::new().unwrap();
    let at = folder.path().join("data");
    let server = ServerProcess::start(&at, &[]);
    let mut client = connect(&server).await;
    fill(&mut client).await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut writers = Vec::new();
    for writer in 0..3 {
        let other = connect(&server).await;
        writers.push(tokio::spawn(write(other, writer, Arc::clone(&stop))));
    }
    for (number, index) in INDEXES.iter().chain(&INDEXES[..1]).enumerate() {
        ok(&mut client, &format!("CREATE INDEX i{number} ON t {index}")).await;
        require_agreement(&mut client).await;
        if number == 0 {
            ok(&mut client, "DROP INDEX i0").await;
        }
    }
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        assert!(writer.await.unwrap() > 5);
    }
    require_agreement(&mut client).await;
    server.kill();
    let report = check_data_dir(&at, &mut |_| ()).await.unwrap();
    assert!(report.is_sound(), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_in_the_middle_leaves_a_whole_table() {
    for (round, store) in ["sled", "fjall"].into_iter().enumerate() {
        let folder = TempDir::new().unwrap();
        let at = folder.path().join("data");
        let server = ServerProcess::start(&at, &["--store", store]);
        let mut client = connect(&server).await;
        fill(&mut client).await;
        let creating = tokio::spawn(async move {
            client
                .run("CREATE INDEX i ON t (lower(s)) WHERE z > 2", Protocol::Simple)
                .await
        });
        tokio::time::sleep(Duration::from_millis(30 + 60 * round as u64)).await;
        server.kill();
        let _ = creating.await.unwrap();
        let report = check_data_dir(&at, &mut |_| ()).await.unwrap();
        assert!(report.is_sound(), "{report}");
        let server = ServerProcess::start(&at, &["--store", store]);
        let mut client = connect(&server).await;
        for statement in change(0, 1).into_iter().chain(change(1, 0)) {
            ok(&mut client, &statement).await;
        }
        require_agreement(&mut client).await;
        ok(&mut client, "DROP INDEX IF EXISTS i").await;
        ok(&mut client, "CREATE INDEX i ON t (lower(s)) WHERE z > 2").await;
        require_agreement(&mut client).await;
        server.kill();
        let report = check_data_dir(&at, &mut |_| ()).await.unwrap();
        assert!(report.is_sound(), "{report}");
        assert_eq!(report.unfinished, 0);
    }
}
