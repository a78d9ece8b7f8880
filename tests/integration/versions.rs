//! Older versions of rows across kills and starts, on every store that has files.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use keyspan::check_data_dir;
use tempfile::TempDir;

use crate::client::{Protocol, TextClient};
use crate::server::{ServerProcess, TestServer, ok, target};

/// The rows of a query, the columns of each joined by bars.
async fn rows(client: &mut TextClient, query: &str) -> Vec<String> {
    let rows = ok(client, query).await;
    let text = |row: &Vec<Option<String>>| {
        let columns = row.iter().map(|column| column.clone().unwrap_or_default());
        columns.collect::<Vec<_>>().join("|")
    };
    rows.iter().map(text).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn versions_are_there_after_a_kill() {
    for store in ["sled", "fjall"] {
        let folder = TempDir::new().unwrap();
        let at = folder.path().join("data");
        let server = ServerProcess::start(&at, &["--store", store]);
        let mut client = TextClient::connect(&target(server.addr())).await.unwrap();
        for statement in [
            "CREATE TABLE v (k int PRIMARY KEY, u int UNIQUE, c text) WITH (versions = 3)",
            "CREATE TABLE h (k int PRIMARY KEY, c text) WITH (history = '1 day')",
            "UPSERT /*+ _l_ts_(1000) */ INTO v VALUES (1, 1, 'a'), (2, 2, 'b')",
            "UPSERT /*+ _l_ts_(2000) */ INTO v (k, c) VALUES (1, 'aa')",
            "UPSERT /*+ _l_ts_(1500) */ INTO v (k, c) VALUES (1, 'past')",
            "INSERT INTO h VALUES (1, 'old'), (2, 'gone')",
        ] {
            ok(&mut client, statement).await;
        }
        let moment = rows(&mut client, "SELECT now()").await.remove(0);
        for statement in [
            "UPDATE h SET c = 'new' WHERE k = 1",
            "DELETE FROM h WHERE k = 2",
            "ALTER TABLE h ALTER PRIMARY KEY (k DESC) WITH (BUCKETS = 2)",
            "CREATE TABLE d (k int PRIMARY KEY, \"*_n\" bigint) WITH (dynamic_columns = true, wildcard_column = '*_n', versions = 2)",
        ] {
            ok(&mut client, statement).await;
        }
        // Columns that writes add, beside versions of the rows.
        for column in ["a", "b_n", "c"] {
            ok(&mut client, &format!("UPSERT INTO d (k, {column}) VALUES (1, 5)")).await;
        }
        server.kill();
        let report = check_data_dir(&at, &mut |_| ()).await.unwrap();
        assert!(report.is_sound(), "{report}");
        assert!(
            report.to_string().contains("older versions of rows: 6"),
            "{report}"
        );
        let server = ServerProcess::start(&at, &["--store", store]);
        let mut client = TextClient::connect(&target(server.addr())).await.unwrap();
        let versions = "SELECT /*+ _l_versions_(9) */ k, u, c, c_l_ts FROM v ORDER BY k, c_l_ts DESC";
        assert_eq!(
            rows(&mut client, versions).await,
            ["1|1|aa|2000", "1|1|past|1500", "1|1|a|1000", "2|2|b|1000"]
        );
        let past = format!("SELECT k, c FROM h FOR SYSTEM_TIME AS OF '{moment}' ORDER BY k");
        assert_eq!(rows(&mut client, &past).await, ["1|old", "2|gone"]);
        assert_eq!(rows(&mut client, "SELECT k, c FROM h").await, ["1|new"]);
        ok(&mut client, "UPSERT INTO d (k, later_n) VALUES (1, 6)").await;
        assert_eq!(
            rows(&mut client, "SELECT a, b_n, c, later_n FROM d WHERE k = 1").await,
            ["5|5|5|6"]
        );
        assert_eq!(
            rows(&mut client, "SELECT attnum, attname FROM pg_attribute WHERE attrelid = 'd'::regclass AND attnum > 0 ORDER BY 1").await,
            ["1|k", "2|a", "3|b_n", "4|c", "5|later_n"]
        );
        // Time goes on: what is written now is the newest.
        ok(&mut client, "UPDATE h SET c = 'newer' WHERE k = 1").await;
        assert_eq!(
            rows(&mut client, "SELECT /*+ _l_versions_(9) */ c FROM h").await,
            ["newer", "new", "old"]
        );
        ok(&mut client, "ALTER TABLE v RESET (versions)").await;
        server.kill();
        let report = check_data_dir(&at, &mut |_| ()).await.unwrap();
        assert!(report.is_sound(), "{report}");
    }
}

/// Tables with a history are stored anew again and again, while others read them by every key and the background looks for versions that no
/// history needs: no row is ever missing.
#[tokio::test(flavor = "multi_thread")]
async fn no_row_is_missed_while_tables_are_stored_anew() {
    const TABLES: usize = 8;
    const CHANGES: usize = 25;
    const READERS: usize = 2;
    let server = TestServer::start("sled").await;
    let mut client = server.connect_text().await;
    for at in 0..TABLES {
        ok(
            &mut client,
            &format!(
                "CREATE TABLE item{at} (id int PRIMARY KEY, price int, note varchar(20)) WITH (HISTORY = '1 s', FULL_SCAN = 'allow');
                 CREATE INDEX ON item{at} (price);
                 INSERT INTO item{at} SELECT g, g * 10, 'n' FROM generate_series(1, 5) g;
                 UPDATE item{at} SET price = price + 1"
            ),
        )
        .await;
    }
    let is_done = Arc::new(AtomicBool::new(false));
    let mut readers = Vec::new();
    for reader in 0..READERS {
        let (mut client, is_done) = (server.connect_text().await, Arc::clone(&is_done));
        readers.push(tokio::spawn(async move {
            let mut read = 0;
            while !is_done.load(Ordering::Relaxed) {
                let table = format!("item{}", (read + reader) % TABLES);
                for query in [
                    format!("SELECT id, price FROM {table} WHERE price >= 11 ORDER BY price"),
                    format!("SELECT id, price FROM {table} ORDER BY id"),
                    format!("SELECT id, price FROM {table} WHERE note IS NOT NULL ORDER BY price"),
                ] {
                    let reply = client.run(&query, Protocol::Extended).await;
                    let found: Vec<String> = reply
                        .unwrap_or_else(|error| panic!("{query}: {error:?}"))
                        .rows
                        .into_iter()
                        .map(|row| row.into_iter().flatten().collect::<Vec<_>>().join("|"))
                        .collect();
                    assert_eq!(found, ["1|11", "2|21", "3|31", "4|41", "5|51"], "{query}");
                }
                read += 1;
            }
            client.close().await;
        }));
    }
    let mut changers = Vec::new();
    for at in 0..TABLES {
        let mut client = server.connect_text().await;
        changers.push(tokio::spawn(async move {
            for change in 0..CHANGES {
                let ty = ["text", "varchar(30)"][change % 2];
                let sql = format!("ALTER TABLE item{at} ALTER COLUMN note TYPE {ty}");
                ok(&mut client, &sql).await;
                ok(&mut client, &format!("UPDATE item{at} SET note = 'n{change}'")).await;
            }
            client.close().await;
        }));
    }
    for changer in changers {
        changer.await.unwrap();
    }
    is_done.store(true, Ordering::Relaxed);
    for reader in readers {
        reader.await.unwrap();
    }
    client.close().await;
    let folder = server.stop().await;
    let report = check_data_dir(&folder.path().join("data"), &mut |_| ())
        .await
        .unwrap();
    assert!(report.is_sound(), "{report}");
}
