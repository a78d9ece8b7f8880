//! `keyspan check` over data directories made by SQL: what is sound passes, each kind of damage planted on disk is named,
//! and the exit code tells a script which it was.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

use keyspan::StoreKind;
use keyspan::check_data_dir;
use keyspan::layers::{Batch, StoreOptions, Write, open_store};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tempfile::TempDir;

use crate::data_format::{NEWEST_FORMAT, copy, fixture};
use crate::server::{ServerProcess, TestServer, connect, run};

const SOUND: i32 = 0;
const DAMAGED: i32 = 1;
const NOT_CHECKED: i32 = 2;

fn check(data_dir: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keyspan"))
        .arg("check")
        .arg(data_dir)
        .output()
        .expect("the binary starts")
}

/// Runs the binary; it must end with the code, and say the texts.
#[track_caller]
fn assert_checked(data_dir: &Path, code: i32, expected: &[&str]) {
    let output = check(data_dir);
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    let said = String::from_utf8_lossy(&said);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for text in expected {
        assert!(said.contains(text), "{text} is not in:\n{said}");
    }
}

/// A copy of the directory of the first release: every type, hidden keys, counters, views, comments, dynamic columns.
fn everything() -> TempDir {
    let folder = TempDir::new().unwrap();
    copy(&fixture(1).join("data"), &folder.path().join("data"));
    folder
}

/// Writes blindly into a data directory, as no session would.
async fn plant(data_dir: &Path, writes: Vec<Write>) {
    let store = open_store(StoreKind::Sled, data_dir, &StoreOptions::default()).unwrap();
    let batch = Batch {
        writes,
        ..Batch::default()
    };
    store.commit(batch).await.unwrap();
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_with_everything_in_it_is_sound() {
    let folder = everything();
    let report = check_data_dir(&folder.path().join("data"), &mut |_| {})
        .await
        .unwrap();
    assert!(report.is_sound(), "{report}");
    let figures: Vec<_> = report
        .relations
        .iter()
        .map(|relation| (relation.name.as_str(), relation.rows, relation.entries))
        .collect();
    assert_eq!(
        figures,
        [
            ("public.every_type", 4, 0),
            ("public.every_key", 3, 0),
            ("public.orders", 2, 0),
            ("public.no_key", 2, 0),
            ("public.counted", 2, 2),
            ("public.altered", 2, 0),
            ("other.t", 1, 0),
        ]
    );
    assert_eq!((report.views, report.schemas), (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_statements_leave_behind_is_sound() {
    let server = TestServer::start("sled").await;
    let mut client = server.connect_text().await;
    for statement in [
        "CREATE TABLE t (a int, b text, c int UNIQUE, PRIMARY KEY (b DESC, a)) WITH (DYNAMIC_COLUMNS)",
        "INSERT INTO t SELECT n, 'b' || n % 7, nullif(n, 5) FROM generate_series(1, 3000) n",
        "CREATE UNIQUE INDEX ON t (a, b)",
        "CREATE INDEX plain ON t (c)",
        "CREATE INDEX with_more ON t (a DESC NULLS LAST) INCLUDE (c)",
        "CREATE INDEX dynamic ON t (b, a) INCLUDE (a)",
        "UPDATE t SET c = c + 10000 WHERE b = 'b3'",
        "DELETE FROM t WHERE b = 'b4'",
        "UPSERT INTO t (a, b, later) VALUES (1, 'b1', 'x')",
        "ALTER TABLE t ADD COLUMN d int NOT NULL DEFAULT 3",
        "ALTER TABLE t DROP COLUMN c",
        "CREATE TABLE counted (v text)",
        "INSERT INTO counted VALUES ('x'), ('y')",
        "CREATE TABLE emptied (id bigserial, v text)",
        "INSERT INTO emptied (v) VALUES ('x')",
        "TRUNCATE emptied",
        "CREATE VIEW v AS SELECT * FROM emptied",
        "COMMENT ON SCHEMA public IS 'ours'",
        "CREATE TABLE gone (a int PRIMARY KEY)",
        "INSERT INTO gone VALUES (1)",
        "DROP TABLE gone",
    ] {
        run(&mut client, statement)
            .await
            .unwrap_or_else(|error| panic!("{statement}: {error}"));
    }
    client.close().await;
    let folder = server.stop().await;
    assert_checked(
        &folder.path().join("data"),
        SOUND,
        &["public.t", "no damage found"],
    );
}

/// Statements of one writer, over the same few rows as the others'.
fn random_write(random: &mut StdRng) -> String {
    let (a, b) = (random.random_range(0..200), random.random_range(0..50));
    let value = match random.random_range(0..5) {
        0 => "NULL".to_string(),
        n => (b * n).to_string(),
    };
    match random.random_range(0..6) {
        0 => format!("INSERT INTO t VALUES ({a}, {value}, 'i{a}') ON CONFLICT DO NOTHING"),
        1 => format!("UPSERT INTO t (a, b) VALUES ({a}, {value})"),
        2 => format!("UPDATE t SET b = {value}, c = c || 'x' WHERE b = {b}"),
        3 => format!("UPDATE t SET a = a + 1000 WHERE a BETWEEN {a} AND {}", a + 3),
        4 => format!("DELETE FROM t WHERE b BETWEEN {b} AND {}", b + 1),
        _ => format!("INSERT INTO t VALUES ({a}, {value}, 'c') ON CONFLICT (a) DO UPDATE SET c = 'd{a}'"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn indexes_are_sound_after_concurrent_writes_and_builds() {
    let server = TestServer::start("sled").await;
    let client = server.connect().await;
    client
        .batch_execute(
            "CREATE TABLE t (a int PRIMARY KEY, b int, c text); CREATE INDEX first ON t (b) INCLUDE (c);
            INSERT INTO t SELECT g, g % 50, 'c' || g FROM generate_series(0, 199) g",
        )
        .await
        .unwrap();
    let mut writers = Vec::new();
    for seed in 0..4 {
        let client = server.connect().await;
        client
            .batch_execute("SET keyspan.full_scan = allow")
            .await
            .unwrap();
        writers.push(tokio::spawn(async move {
            let mut random = StdRng::seed_from_u64(seed);
            let (mut done, mut refused) = (0, 0);
            for _ in 0..150 {
                let statement = random_write(&mut random);
                match client
                    .batch_execute(&statement)
                    .await
                    .map_err(|error| error.code().cloned())
                {
                    Ok(()) => done += 1,
                    // Two rows of one key, a race that was lost too often, or two that wrote the same rows in other orders.
                    Err(Some(code)) if ["23505", "40001", "40P01"].contains(&code.code()) => refused += 1,
                    Err(other) => panic!("{statement}: {other:?}"),
                }
            }
            (done, refused)
        }));
    }
    for definition in [
        "CREATE INDEX second ON t (c, b DESC)",
        "CREATE INDEX CONCURRENTLY third ON t (b, c)",
        "DROP INDEX first",
        "CREATE INDEX fourth ON t (c DESC) INCLUDE (b)",
    ] {
        client.batch_execute(definition).await.unwrap();
    }
    for writer in writers {
        let (done, refused) = writer.await.unwrap();
        assert!(done > refused, "{done} done, {refused} refused");
    }
    // By each index the same rows as by the primary key.
    let all = "SELECT string_agg(a::text, ',' ORDER BY a) FROM";
    let query = |hint: &str| format!("{all} (SELECT /*+ {hint} */ a FROM t WHERE b >= 0 AND c >= '') found");
    let by_key = query("_l_ignore_index_, _l_allow_filtering_");
    let by_key: Option<String> = client.query_one(&by_key, &[]).await.unwrap().get(0);
    let unfinished = "SELECT 1 FROM pg_index WHERE NOT indisvalid";
    while !client.query(unfinished, &[]).await.unwrap().is_empty() {}
    for index in ["second", "third", "fourth"] {
        let by_index = query(&format!("_l_force_index_('{index}')"));
        let by_index: Option<String> = client.query_one(&by_index, &[]).await.unwrap().get(0);
        assert_eq!(by_index, by_key, "{index}");
    }
    drop(client);
    let folder = server.stop().await;
    assert_checked(
        &folder.path().join("data"),
        SOUND,
        &["public.t", "no damage found"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_demo_is_sound_and_not_checked_while_it_is_served() {
    let folder = TempDir::new().unwrap();
    let server = ServerProcess::start(folder.path(), &["--demo"]);
    let data_dir = folder.path().to_path_buf();
    let said = tokio::task::spawn_blocking(move || {
        assert_checked(&data_dir, NOT_CHECKED, &["is in use by another process", "HINT"]);
        server.terminate()
    });
    assert!(said.await.unwrap());
    assert_checked(
        folder.path(),
        SOUND,
        &[" public.orders |         1000 |            0 |"],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn each_kind_of_damage_is_named_and_ends_with_1() {
    let key = |bytes: &[u8]| bytes.to_vec();
    let put = |key: Vec<u8>, value: &[u8]| Write::Put {
        key,
        value: value.to_vec(),
    };
    let cases: [(Vec<Write>, &[&str]); 3] = [
        (
            vec![put(key(&[9, 9]), b"")],
            &["keys that do not decode: 1", "\\x0909", "damage found: 1 faults"],
        ),
        (
            vec![put(key(&[0, 1, 0, 0, 0, 0, 0x20]), b"row")],
            &["keys that belong to nothing: 1", "there is no table 65536"],
        ),
        (
            vec![
                put(key(&[0, 0, 0, 0, 0, 4, 0, 1, 0, 0]), b"record"),
                Write::Delete {
                    key: key(&[0, 0, 0, 0, 0, 2]),
                },
            ],
            &[
                "faults of catalog records: 2",
                "relation 65536",
                "next table id: it is missing",
            ],
        ),
    ];
    for (writes, expected) in cases {
        let folder = everything();
        let data_dir = folder.path().join("data");
        plant(&data_dir, writes).await;
        assert_checked(&data_dir, DAMAGED, expected);
        // It stays as it was: nothing is repaired.
        assert_checked(&data_dir, DAMAGED, expected);
    }
}

/// Every file and folder below, with when it was changed and what it holds.
fn everything_in(path: &Path) -> BTreeMap<PathBuf, (SystemTime, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        let bytes = match metadata.is_dir() {
            true => Vec::new(),
            false => std::fs::read(entry.path()).unwrap(),
        };
        if metadata.is_dir() {
            found.extend(everything_in(&entry.path()));
        }
        found.insert(entry.path(), (metadata.modified().unwrap(), bytes));
    }
    found
}

/// Whatever is to be replayed, and whichever release wrote it.
#[tokio::test(flavor = "multi_thread")]
async fn a_check_changes_nothing() {
    let folder = TempDir::new().unwrap();
    for format in 1..=NEWEST_FORMAT {
        let at = folder.path().join(format!("format-{format}"));
        copy(&fixture(format).join("data"), &at);
    }
    for store in ["sled", "fjall"] {
        let at = folder.path().join(store);
        let server = ServerProcess::start(&at, &["--store", store, "--log-segment-bytes", "1MB"]);
        let client = connect(server.addr()).await;
        client
            .batch_execute("CREATE TABLE t (k int PRIMARY KEY, v int); INSERT INTO t SELECT g, g FROM generate_series(1, 300) g")
            .await
            .unwrap();
        server.kill();
    }
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let data_dir = entry.unwrap().path();
        let before = everything_in(&data_dir);
        assert_checked(&data_dir, SOUND, &["no damage found"]);
        let after = everything_in(&data_dir);
        assert!(
            after.keys().eq(before.keys()),
            "{}: {:?}",
            data_dir.display(),
            after.keys()
        );
        for (path, then) in before {
            assert!(after[&path] == then, "{} has changed", path.display());
        }
    }
}

#[test]
fn what_is_no_data_directory_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let missing = folder.path().join("missing");
    assert_checked(&missing, NOT_CHECKED, &["is not a data directory", "HINT"]);
    assert!(!missing.exists());
    assert_checked(folder.path(), NOT_CHECKED, &["is not a data directory"]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let newer = everything();
    let format = newer.path().join("data/FORMAT");
    std::fs::write(&format, "keyspan format 999 engine other\n").unwrap();
    assert_checked(&newer.path().join("data"), NOT_CHECKED, &["has format 999"]);
    std::fs::write(&format, "nonsense").unwrap();
    assert_checked(
        &newer.path().join("data"),
        DAMAGED,
        &["its FORMAT file is unreadable"],
    );
    std::fs::remove_file(&format).unwrap();
    assert_checked(&newer.path().join("data"), DAMAGED, &["it has no FORMAT file"]);
}

#[test]
fn a_directory_too_damaged_to_be_opened_ends_with_1() {
    let folder = everything();
    let data_dir = folder.path().join("data");
    std::fs::write(data_dir.join("WATERMARK"), "nonsense").unwrap();
    assert_checked(&data_dir, DAMAGED, &["is damaged"]);
}

#[test]
fn a_folder_must_be_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_keyspan"))
        .arg("check")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(NOT_CHECKED));
    assert!(String::from_utf8_lossy(&output.stderr).contains("<FOLDER>"));
}
