//! Regions across kills and starts, split by the running server, and what `keyspan check` says of their records; statements that are refused.

use std::time::{Duration, Instant};

use keyspan::StoreKind;
use keyspan::check_data_dir;
use keyspan::layers::{Batch, StoreOptions, Write, open_store};
use tempfile::TempDir;

use crate::client::TextClient;
use crate::server::{ServerProcess, TestServer, ok, run, target};

async fn column(client: &mut TextClient, query: &str) -> Vec<String> {
    let rows = ok(client, query).await;
    rows.iter()
        .map(|row| row[0].clone().unwrap_or_default())
        .collect()
}

const BOUNDS: &str =
    "SELECT region || coalesce(start_key, '') FROM keyspan.regions WHERE relname = 't' ORDER BY place";

#[tokio::test(flavor = "multi_thread")]
async fn regions_are_there_after_a_kill_and_the_check_knows_them() {
    for store in ["sled", "fjall"] {
        let folder = TempDir::new().unwrap();
        let at = folder.path().join("data");
        let server = ServerProcess::start(&at, &["--store", store]);
        let mut client = TextClient::connect(&target(server.addr())).await.unwrap();
        for statement in [
            "CREATE TABLE t (a text, b int, v int, PRIMARY KEY (a, b)) WITH (SPLITKEYS = 'h,p')",
            "INSERT INTO t SELECT chr(97 + g % 26), g, g FROM generate_series(1, 500) g",
            "ALTER TABLE t SPLIT AT VALUES ('k', 40)",
            "CREATE TABLE gone (k int PRIMARY KEY) WITH (NUMREGIONS = 3, STARTKEY = '1', ENDKEY = '9')",
            "DROP TABLE gone",
            "TRUNCATE t",
            "INSERT INTO t SELECT chr(97 + g % 26), g, g FROM generate_series(1, 500) g",
            "BEGIN",
            "ALTER TABLE t SPLIT AT VALUES ('z')",
        ] {
            ok(&mut client, statement).await;
        }
        server.kill();
        let report = check_data_dir(&at, &mut |_| ()).await.unwrap();
        assert!(report.is_sound(), "{report}");
        let server = ServerProcess::start(&at, &["--store", store]);
        let mut client = TextClient::connect(&target(server.addr())).await.unwrap();
        let bounds = column(&mut client, BOUNDS).await;
        assert_eq!(bounds, ["r1", "r2('h')", "r4('k', 40)", "r3('p')"]);
        assert_eq!(column(&mut client, "SELECT count(*) FROM t").await, ["500"]);
        server.kill();
    }
}

/// The key of a table's regions.
fn regions_key(oid: u32) -> Vec<u8> {
    [&[0, 0, 0, 0, 0, 24][..], &oid.to_be_bytes()].concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn damaged_regions_are_named() {
    let folder = TempDir::new().unwrap();
    let at = folder.path().join("data");
    let server = ServerProcess::start(&at, &["--store", "sled"]);
    let mut client = TextClient::connect(&target(server.addr())).await.unwrap();
    ok(&mut client, "CREATE TABLE t (k int PRIMARY KEY)").await;
    ok(&mut client, "ALTER TABLE t SPLIT AT VALUES (5)").await;
    let oid = column(&mut client, "SELECT 't'::regclass::oid::text").await;
    let oid: u32 = oid[0].parse().unwrap();
    server.kill();
    let store = open_store(StoreKind::Sled, &at, &StoreOptions::default()).unwrap();
    let snapshot = store.snapshot().await.unwrap();
    let record = snapshot.get_many(&[regions_key(oid)]).await.unwrap();
    let record = record.get(0).unwrap().to_vec();
    drop(snapshot);
    let put = |oid, value: &[u8]| Write::Put {
        key: regions_key(oid),
        value: value.to_vec(),
    };
    let batch = Batch {
        writes: vec![put(oid, &record[..record.len() - 1]), put(oid + 1, &record)],
        ..Batch::default()
    };
    store.commit(batch).await.unwrap();
    store.close().await.unwrap();
    drop(store);
    let report = check_data_dir(&at, &mut |_| ()).await.unwrap();
    let said = report.to_string();
    assert!(!report.is_sound());
    assert!(
        said.contains(&format!("regions of the table with oid {oid}")),
        "{said}"
    );
    assert!(said.contains(&format!("it is that of oid {oid}")), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_server_splits_what_is_large() {
    let folder = TempDir::new().unwrap();
    let at = folder.path().join("data");
    let server = ServerProcess::start(&at, &["--store", "sled", "--set", "keyspan.region_bytes=200000"]);
    let mut client = TextClient::connect(&target(server.addr())).await.unwrap();
    ok(&mut client, "CREATE TABLE t (k int PRIMARY KEY, v text)").await;
    ok(
        &mut client,
        "INSERT INTO t SELECT g, repeat('x', 100) FROM generate_series(1, 3000) g",
    )
    .await;
    let began = Instant::now();
    while column(&mut client, BOUNDS).await.len() < 2 {
        assert!(began.elapsed() < Duration::from_secs(60), "nothing was split");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(column(&mut client, "SELECT count(*) FROM t").await, ["3000"]);
    server.kill();
    let report = check_data_dir(&at, &mut |_| ()).await.unwrap();
    assert!(report.is_sound(), "{report}");
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_that_an_index_would_serve_are_listed() {
    let server = TestServer::start("memory").await;
    let mut client = server.connect_text().await;
    for statement in [
        "CREATE TABLE t (k int PRIMARY KEY, a int, b varchar(9))",
        "INSERT INTO t SELECT g, g, 'b' || g FROM generate_series(1, 5000) g",
    ] {
        ok(&mut client, statement).await;
    }
    for a in 1..=3 {
        let refused = run(&mut client, &format!("SELECT * FROM t WHERE a = {a}")).await;
        assert!(refused.is_err());
    }
    ok(
        &mut client,
        "SELECT /*+ _l_allow_filtering_ */ * FROM t WHERE b = 'b77'",
    )
    .await;
    ok(
        &mut client,
        "SELECT /*+ _l_allow_filtering_ */ count(*) FROM t WHERE b > ''",
    )
    .await;
    ok(
        &mut client,
        "UPDATE /*+ _l_allow_filtering_ */ t SET a = 0 WHERE b = 'b78'",
    )
    .await;
    let listed = ok(
        &mut client,
        "SELECT reason, count, rows_read, rows_given, statement, ddl FROM keyspan.refused_statements WHERE relname = 't' ORDER BY statement",
    )
    .await;
    let listed: Vec<String> = listed
        .iter()
        .map(|row| {
            let cells = row.iter().map(|cell| cell.clone().unwrap_or_default());
            cells.collect::<Vec<_>>().join("|")
        })
        .collect();
    assert_eq!(
        listed,
        [
            "refused|3|||SELECT * FROM t WHERE a = ?|CREATE INDEX ON t (a)",
            "reads much|1|5000|1|SELECT * FROM t WHERE b = ?|CREATE INDEX ON t (b)",
            "reads much|1|5000|1|UPDATE t SET a = ? WHERE b = ?|CREATE INDEX ON t (b)",
        ]
    );
}
