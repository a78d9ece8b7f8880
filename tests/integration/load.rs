//! `keyspan load`: files of each format through a running server and into a data directory, and what it says of those that are wrong.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::server::{ServerProcess, ok};

fn load(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_keyspan"))
        .arg("load")
        .args(arguments)
        .env_remove("PGHOST")
        .env_remove("PGPORT")
        .stdin(Stdio::null())
        .output()
        .expect("the binary starts")
}

/// What a load says that goes through.
#[track_caller]
fn loaded(arguments: &[&str]) -> String {
    let output = load(arguments);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What a load says that does not.
#[track_caller]
fn refused(arguments: &[&str]) -> String {
    let output = load(arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn with<'a>(target: &[&'a str], rest: &[&'a str]) -> Vec<&'a str> {
    [target, rest].concat()
}

fn file(folder: &TempDir, name: &str, text: &str) -> String {
    let path: PathBuf = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

async fn rows(client: &mut crate::client::TextClient, sql: &str) -> Vec<String> {
    let rows = ok(client, sql).await;
    let text = |value: Option<String>| value.unwrap_or("NULL".to_string());
    rows.into_iter()
        .map(|row| row.into_iter().map(text).collect::<Vec<_>>().join("|"))
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn files_of_each_format_come_through_a_server() {
    let (_data, server, mut client) = ServerProcess::start_new(&["--store", "memory"]).await;
    ok(
        &mut client,
        "CREATE TABLE t (id int PRIMARY KEY, name text DEFAULT 'none', tags text[], doc jsonb)",
    )
    .await;
    let folder = TempDir::new().unwrap();
    let url = format!("postgresql://postgres@{}/postgres", server.addr());
    let target = ["--url", url.as_str(), "--table", "t"];

    let csv = file(&folder, "a.csv", "id,name\n1,\"a, b\"\n2,\n");
    let said = loaded(&with(&target, &["--header", &csv]));
    assert!(said.starts_with("2 rows loaded into t in "), "{said}");
    let tsv = file(&folder, "b.tsv", "3\tc\\td\t{x,y}\t\\N\n");
    loaded(&with(&target, &[&tsv]));
    let json = file(
        &folder,
        "c.ndjson",
        "{\"id\": 4, \"tags\": [\"p q\", null], \"doc\": {\"k\": [1, 2.50]}}\n\n{\"doc\": [1], \"id\": 5, \"name\": null}\n",
    );
    loaded(&with(&target, &[&json]));
    // Two files, of columns that are named, with another delimiter.
    let one = file(&folder, "one", "six;6\n");
    let two = file(&folder, "two", "-;7\n");
    let named = [
        "--format",
        "csv",
        "--delimiter",
        ";",
        "--null",
        "-",
        "--columns",
        "name,id",
    ];
    loaded(&with(&target, &[&named[..], &[&one, &two]].concat()));
    assert_eq!(
        rows(&mut client, "SELECT * FROM t ORDER BY id").await,
        [
            "1|a, b|NULL|NULL",
            "2|NULL|NULL|NULL",
            "3|c\td|{x,y}|NULL",
            "4|none|{\"p q\",NULL}|{\"k\": [1, 2.50]}",
            "5|NULL|NULL|[1]",
            "6|six|NULL|NULL",
            "7|NULL|NULL|NULL",
        ]
    );
    server.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_name_file_and_line() {
    let (_data, server, mut client) = ServerProcess::start_new(&["--store", "memory"]).await;
    ok(&mut client, "CREATE TABLE t (id int PRIMARY KEY, n int)").await;
    let folder = TempDir::new().unwrap();
    let (host, port) = (server.addr().ip().to_string(), server.addr().port().to_string());
    let target = ["--host", host.as_str(), "--port", &port, "--table", "t"];
    let good = file(&folder, "good.csv", "1,1\n2,2\n");
    let many: String = (10..3000).map(|n| format!("{n},{n}\n")).collect();
    let bad = file(&folder, "bad.csv", &format!("{many}x,1\n"));
    let said = refused(&with(&target, &[&good, &bad]));
    let expected = "bad.csv, line 2991: invalid input syntax for type integer: \"x\" (22P02)";
    assert!(said.contains(expected), "{said}");
    assert_eq!(rows(&mut client, "SELECT count(*) FROM t").await, ["2"]);
    let again = refused(&with(&target, &["--single-transaction", &good]));
    assert!(again.contains("DETAIL:  Key (id)=(1) already exists."), "{again}");
    // A file is a transaction, unless all are one.
    ok(&mut client, "TRUNCATE t").await;
    refused(&with(&target, &["--single-transaction", &good, &bad]));
    assert_eq!(rows(&mut client, "SELECT count(*) FROM t").await, ["0"]);
    loaded(&with(&target, &["--ignore-errors", "--batch-rows", "1000", &bad]));
    assert_eq!(rows(&mut client, "SELECT count(*) FROM t").await, ["2990"]);
    let limited = refused(&with(
        &target,
        &[
            "--ignore-errors",
            "--reject-limit",
            "1",
            &file(&folder, "worse.csv", "x,1\ny,1\n"),
        ],
    ));
    assert!(
        limited.contains("skipped more than REJECT_LIMIT (1) rows"),
        "{limited}"
    );
    let json = file(&folder, "bad.ndjson", "\n{\"id\": 9001}\n\n{\"id\": \"x\"}\n");
    let said = refused(&with(&target, &[&json]));
    assert!(
        said.contains("bad.ndjson, line 4: invalid input syntax"),
        "{said}"
    );
    for (text, expected) in [
        ("{\"id\": 1", "odd.ndjson, line 1: invalid JSON"),
        ("{\"id\": 9}\n[]", "odd.ndjson, line 2: a line is a JSON object"),
        (
            "{\"id\": 9, \"zz\": 1}",
            "column \"zz\" of relation \"t\" does not exist",
        ),
    ] {
        let said = refused(&with(&target, &[&file(&folder, "odd.ndjson", text)]));
        assert!(said.contains(expected), "{text}: {said}");
    }
    for (arguments, expected) in [
        (
            vec!["--batch-rows", "5", "--single-transaction", &good],
            "give one of them",
        ),
        (
            vec![file(&folder, "unknown", "").leak() as &str],
            "nothing says the format",
        ),
        (
            vec!["/nowhere/file.csv"],
            "/nowhere/file.csv: could not open the file",
        ),
    ] {
        let said = refused(&with(&target, &arguments));
        assert!(said.contains(expected), "{arguments:?}: {said}");
    }
    let nobody = refused(&["--port", "1", "--table", "t", &good]);
    assert!(
        nobody.contains("could not connect to 127.0.0.1, port 1"),
        "{nobody}"
    );
    server.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_directory_takes_files_and_new_dynamic_columns() {
    let (data, server, mut client) = ServerProcess::start_new(&[]).await;
    ok(
        &mut client,
        "CREATE TABLE wide (id int PRIMARY KEY) WITH (DYNAMIC_COLUMNS)",
    )
    .await;
    let folder = TempDir::new().unwrap();
    let csv = file(&folder, "w.csv", "id,colour,\"Size of\"\n1,red,9\n");
    let json = file(
        &folder,
        "w.ndjson",
        "{\"id\": 2, \"weight\": 1.5}\n{\"id\": 3, \"taste\": \"sour\"}\n",
    );
    let directory = data.path().to_path_buf();
    let path = directory.display().to_string();
    let target = ["--data-dir", path.as_str(), "--table", "wide"];
    // Not beside a server.
    let said = refused(&with(&target, &["--header", &csv]));
    assert!(said.contains("in use"), "{said}");
    assert!(server.terminate());
    loaded(&with(&target, &["--header", &csv]));
    loaded(&with(&target, &[&json]));
    let server = ServerProcess::start(&directory, &[]);
    let mut client = server.connect_text().await;
    assert_eq!(
        rows(
            &mut client,
            "SELECT id, colour, \"Size of\", weight, taste FROM wide ORDER BY id"
        )
        .await,
        [
            "1|red|9|NULL|NULL",
            "2|NULL|NULL|1.5|NULL",
            "3|NULL|NULL|NULL|sour"
        ]
    );
    server.kill();
    let nowhere = refused(&["--data-dir", "/nowhere", "--table", "t", &csv]);
    assert!(nowhere.contains("is no data directory"), "{nowhere}");
    assert!(!Path::new("/nowhere").exists());
}
