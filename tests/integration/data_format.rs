//! Data directories of every format that was ever released, kept under `fixtures/data-format-N`: a copy of each is
//! opened and read back, and goes on to be written to. A change of any byte on disk shows here before it reaches users.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::client::TextClient;
use crate::server::{TestServer, run};

/// The newest format, and thus the number of directories that are kept.
pub(crate) const NEWEST_FORMAT: u32 = 3;

/// The directory of a format.
pub(crate) fn fixture(format: u32) -> PathBuf {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    fixtures.join(format!("data-format-{format}"))
}

/// Copies a folder and what is in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// A query's rows, columns parted by `|`.
async fn rows(client: &mut TextClient, query: &str) -> Vec<String> {
    let reply = run(client, query)
        .await
        .unwrap_or_else(|error| panic!("{query}: {error}"));
    let cell = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "NULL".to_string());
    let row = |row: &Vec<Option<String>>| row.iter().map(cell).collect::<Vec<_>>().join("|");
    reply.rows.iter().map(row).collect()
}

/// Reads all that `expected.txt` holds: `== query` and the rows below it.
async fn read_back(client: &mut TextClient, format: u32) {
    let expected = std::fs::read_to_string(fixture(format).join("expected.txt")).unwrap();
    let mut queries = 0;
    for block in expected.split("== ").skip(1) {
        let (query, wanted) = block.split_once('\n').unwrap();
        assert_eq!(
            rows(client, query).await,
            wanted.lines().collect::<Vec<_>>(),
            "format {format}: {query}"
        );
        queries += 1;
    }
    assert!(queries >= 10, "expected.txt holds {queries} queries");
}

/// What is there is kept whole when more is written: counters go on, unique keys hold, columns come and go.
async fn write_on(client: &mut TextClient) {
    for statement in [
        "INSERT INTO counted (name) VALUES ('three')",
        "INSERT INTO no_key VALUES (3, 'third')",
        "UPSERT INTO orders (channel, id, ts, later) VALUES ('alipay', 'a0001', 1705786502000, true)",
        "ALTER TABLE altered ADD COLUMN gone int",
        "CREATE TABLE dropped (k int PRIMARY KEY)",
    ] {
        run(client, statement)
            .await
            .unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    for (query, wanted) in [
        ("SELECT name FROM counted WHERE id > 2", vec!["three"]),
        ("SELECT a FROM no_key", vec!["2", "1", "3"]),
        (
            "SELECT status, coupon, amount, later FROM orders WHERE channel = 'alipay'",
            vec!["paid|NULL|NULL|t"],
        ),
        ("SELECT * FROM altered WHERE k = 1", vec!["1|kept|7|NULL"]),
        ("SELECT * FROM dropped", vec![]),
    ] {
        assert_eq!(rows(client, query).await, wanted, "{query}");
    }
    let duplicate = run(client, "INSERT INTO counted (name) VALUES ('one')").await;
    assert_eq!(duplicate.unwrap_err().sqlstate, "23505");
}

#[tokio::test(flavor = "multi_thread")]
async fn data_of_every_released_format_is_read_and_written_on() {
    for format in 1..=NEWEST_FORMAT {
        let folder = TempDir::new().unwrap();
        copy(&fixture(format).join("data"), &folder.path().join("data"));
        let server = TestServer::start_at("sled", folder).await;
        let mut client = server.connect_text().await;
        read_back(&mut client, format).await;
        write_on(&mut client).await;
        client.close().await;
        let folder = server.stop().await;
        let server = TestServer::start_at("sled", folder).await;
        let mut client = server.connect_text().await;
        assert_eq!(rows(&mut client, "SELECT count(*) FROM counted").await, ["3"]);
    }
}

/// The newest directory is what today's server makes of its script; a new format needs a new directory.
#[tokio::test(flavor = "multi_thread")]
async fn the_newest_directory_is_what_its_script_makes() {
    let server = TestServer::start("sled").await;
    let mut client = server.connect_text().await;
    let script = std::fs::read_to_string(fixture(NEWEST_FORMAT).join("made_by.sql")).unwrap();
    run(&mut client, &script)
        .await
        .unwrap_or_else(|error| panic!("made_by.sql: {error}"));
    read_back(&mut client, NEWEST_FORMAT).await;
    client.close().await;
    let folder = server.stop().await;
    assert_eq!(
        std::fs::read_to_string(folder.path().join("data/FORMAT")).unwrap(),
        std::fs::read_to_string(fixture(NEWEST_FORMAT).join("data/FORMAT")).unwrap(),
        "a new format needs fixtures/data-format-N beside the others"
    );
}
