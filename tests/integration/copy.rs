//! COPY over the wire: scripts of data in `sql-tests/copy/*.copy`, which state what PostgreSQL answers and are run there too when
//! `PG_URI` is set; then what scripts cannot say: cancel, clients that go, limits, drivers.
//!
//! ```text
//! # What the script proves.            `# Keyspan alone: …` when PostgreSQL 15 does not have it
//! setup: CREATE TABLE t (a int)        run before, in order
//!
//! copy t from stdin                    a message of statements
//! < 1{09}x                             its data, a line each; `{09}` is a byte, `{}` at the end leaves the line's end away
//! > 1{09}x                             what comes as data, a message each
//! N 1 row was skipped                  a notice
//! = COPY 1                             how a statement ends: a tag, or an error, `SQLSTATE: message` …
//! D DETAIL
//! W CONTEXT                            … with what PostgreSQL says beside it
//! ```
//!
//! Data goes in messages of a few bytes, in one message, and byte by byte. `COPY_SCRIPT=part-of-a-path` runs some scripts only.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use futures::{SinkExt, TryStreamExt};
use tempfile::TempDir;

use crate::client::Target;
use crate::place::Place;
use crate::protocol::{Message, Raw, kinds, sqlstate};
use crate::server::{ServerProcess, TestServer, connect};

/// A script, read.
#[derive(Debug, Default)]
struct Script {
    is_ours: bool,
    setup: Vec<String>,
    cases: Vec<Case>,
}

/// A message of statements.
#[derive(Debug, Default)]
struct Case {
    line: usize,
    statement: String,
    data: Vec<u8>,
    expected: Vec<String>,
}

fn read_script(text: &str) -> Script {
    let mut script = Script::default();
    let mut case: Option<Case> = None;
    for (at, line) in text.lines().chain([""]).enumerate() {
        match (&mut case, line) {
            (None, line) if line.starts_with("# Keyspan alone") => script.is_ours = true,
            (None, line) if line.is_empty() || line.starts_with('#') => {}
            (None, line) => match line.strip_prefix("setup: ") {
                Some(sql) => script.setup.push(sql.to_string()),
                None => {
                    case = Some(Case {
                        line: at + 1,
                        statement: line.to_string(),
                        ..Case::default()
                    })
                }
            },
            (Some(_), "") => script.cases.extend(case.take()),
            (Some(case), line) => match line.strip_prefix("< ").or((line == "<").then_some("")) {
                Some(data) => case.data.extend(bytes_of(data)),
                None => case.expected.push(line.to_string()),
            },
        }
    }
    script
}

/// The bytes of a line of data.
fn bytes_of(line: &str) -> Vec<u8> {
    let (line, end) = match line.strip_suffix("{}") {
        Some(line) => (line, ""),
        None => (line, "\n"),
    };
    let mut bytes = Vec::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('{') {
        bytes.extend_from_slice(before.as_bytes());
        let (number, after) = after.split_once('}').expect("a byte ends with }");
        bytes.push(u8::from_str_radix(number, 16).expect("a byte is two digits"));
        rest = after;
    }
    bytes.extend_from_slice(rest.as_bytes());
    bytes.extend_from_slice(end.as_bytes());
    bytes
}

/// The line that stands for these bytes.
fn line_of(bytes: &[u8]) -> String {
    let (bytes, end) = match bytes {
        [bytes @ .., b'\n'] => (bytes, ""),
        bytes => (bytes, "{}"),
    };
    let mut line = String::new();
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '{' => line.push_str("{7b}"),
                control if control.is_control() => line.push_str(&format!("{{{:02x}}}", control as u32)),
                other => line.push(other),
            }
        }
        chunk
            .invalid()
            .iter()
            .for_each(|byte| line.push_str(&format!("{{{byte:02x}}}")));
    }
    line + end
}

/// What a server answers to a message of statements, and to the data that it then asks for.
async fn answered(raw: &mut Raw, case: &Case, piece_bytes: usize) -> Vec<String> {
    raw.query(&case.statement).await;
    let mut answers = Vec::new();
    loop {
        let message = raw.next().await.expect("the connection stays open");
        match message.kind {
            'G' => {
                for piece in case.data.chunks(piece_bytes.max(1)) {
                    raw.send('d', piece).await;
                }
                raw.send('c', b"").await;
            }
            'd' => answers.push(format!("> {}", line_of(&message.body))),
            'N' => answers.push(format!("N {}", shown(&message, 'M'))),
            'C' => answers.push(format!("= {}", message.text())),
            'E' => {
                answers.push(format!("= {}: {}", message.field('C'), shown(&message, 'M')));
                for code in ['D', 'W'] {
                    let field = shown(&message, code);
                    answers.extend((!field.is_empty()).then(|| format!("{code} {field}")));
                }
            }
            'Z' => return answers,
            _ => {}
        }
    }
}

/// A field of an error as scripts write it: in one line.
fn shown(message: &Message, code: char) -> String {
    line_of(format!("{}\n", message.field(code)).as_bytes())
}

async fn open(target: &Target) -> Raw {
    let addr = tokio::net::lookup_host(&target.addr)
        .await
        .expect("an address")
        .next();
    let mut raw = Raw::open(addr.expect("an address")).await;
    let parameters = format!(
        "user\0{}\0database\0{}\0TimeZone\0UTC\0client_min_messages\0notice\0\0",
        target.user, target.database
    );
    raw.startup(0, parameters.as_bytes()).await;
    assert_eq!(raw.ready().await, 'I');
    raw
}

/// Runs a script; what comes instead of what it states.
async fn differences(place: &Place, path: &Path, script: &Script, piece_bytes: usize) -> Vec<String> {
    let mut raw = open(&place.target()).await;
    for sql in &script.setup {
        let messages = raw.run(sql).await;
        assert_eq!(sqlstate(&messages), "", "{}: {sql}", path.display());
    }
    let mut found = Vec::new();
    for case in &script.cases {
        let answers = answered(&mut raw, case, piece_bytes).await;
        if answers != case.expected {
            found.push(format!(
                "{}:{}: {}\n{}",
                path.display(),
                case.line,
                case.statement,
                answers.join("\n")
            ));
        }
    }
    raw.send('X', b"").await;
    found
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql-tests/copy");
    let wanted = std::env::var("COPY_SCRIPT").unwrap_or_default();
    let files = std::fs::read_dir(folder).expect("sql-tests/copy is there");
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.retain(|path| path.to_string_lossy().contains(&wanted));
    paths.sort();
    paths
}

async fn run_scripts(place: &str, piece_bytes: usize) {
    let mut found = Vec::new();
    for path in scripts() {
        let script = read_script(&std::fs::read_to_string(&path).expect("a script"));
        assert!(!script.cases.is_empty(), "{}", path.display());
        let Some(started) = Place::start(place).await else {
            return;
        };
        if !(script.is_ours && place == "postgresql") {
            found.extend(differences(&started, &path, &script, piece_bytes).await);
        }
        started.end().await;
    }
    assert!(found.is_empty(), "{}", found.join("\n\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_pass_in_memory_byte_by_byte() {
    run_scripts("memory", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_pass_on_sled() {
    run_scripts("sled", 7).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_pass_on_postgresql() {
    run_scripts("postgresql", usize::MAX).await;
}

#[test]
fn bytes_and_lines_are_inverse() {
    for bytes in [&b"1\tx\n"[..], b"{}", b"a{b\xff\x00\n\n", "é".as_bytes()] {
        assert_eq!(bytes_of(&line_of(bytes)), bytes);
    }
}

/// A server with an empty table `t`, and a connection.
async fn with_table() -> (TestServer, Raw) {
    let server = TestServer::start("memory").await;
    let mut raw = Raw::connect(server.addr()).await;
    let made = raw.run("CREATE TABLE t (a int PRIMARY KEY, b text)").await;
    assert_eq!(sqlstate(&made), "");
    (server, raw)
}

async fn count(raw: &mut Raw) -> String {
    let messages = raw.run("SELECT count(*) FROM t").await;
    let row = messages
        .iter()
        .find(|message| message.kind == 'D')
        .expect("a row");
    String::from_utf8_lossy(&row.body[6..]).into_owned()
}

fn tag(messages: &[Message]) -> String {
    let tag = messages.iter().rev().find(|message| message.kind == 'C');
    tag.map(Message::text).unwrap_or_default()
}

#[tokio::test]
async fn statements_around_a_copy_run_in_their_order() {
    let (server, mut raw) = with_table().await;
    raw.query("INSERT INTO t VALUES (1, 'x'); COPY t FROM STDIN; COPY t FROM STDIN CSV; SELECT 1")
        .await;
    raw.until('G').await;
    raw.send('d', b"2\ty\n").await;
    raw.send('c', b"").await;
    assert_eq!(tag(&raw.until('G').await), "COPY 1");
    raw.send('d', b"3,z").await;
    raw.send('c', b"").await;
    assert_eq!(kinds(&raw.until('Z').await), "CTDCZ");
    assert_eq!(count(&mut raw).await, "3");
    // All of them are one transaction.
    raw.query("INSERT INTO t VALUES (4, 'x'); COPY t FROM STDIN")
        .await;
    raw.until('G').await;
    raw.send('d', b"1\ty\n").await;
    raw.send('c', b"").await;
    let messages = raw.until('Z').await;
    assert_eq!(
        (kinds(&messages).as_str(), sqlstate(&messages).as_str()),
        ("EZ", "23505")
    );
    assert_eq!(count(&mut raw).await, "3");
    server.stop().await;
}

#[tokio::test]
async fn a_block_fails_with_its_copy_and_a_savepoint_heals_it() {
    let (server, mut raw) = with_table().await;
    raw.run("BEGIN").await;
    raw.run("SAVEPOINT s").await;
    raw.query("COPY t FROM STDIN").await;
    raw.until('G').await;
    raw.send('d', b"1\ty\n").await;
    raw.send('f', b"no more\0").await;
    let messages = raw.until('Z').await;
    let error = &messages[0];
    assert_eq!(
        (error.field('C').as_str(), error.field('M').as_str()),
        ("57014", "COPY from stdin failed: no more")
    );
    assert_eq!(
        messages.last().map(|ready| ready.body.clone()),
        Some(b"E".to_vec())
    );
    assert_eq!(sqlstate(&raw.run("COPY t FROM STDIN").await), "25P02");
    raw.run("ROLLBACK TO s").await;
    raw.query("COPY t FROM STDIN").await;
    raw.until('G').await;
    raw.send('d', b"1\ty\n2\tz\n").await;
    raw.send('c', b"").await;
    assert_eq!(tag(&raw.until('Z').await), "COPY 2");
    assert_eq!(count(&mut raw).await, "2");
    raw.run("ROLLBACK").await;
    assert_eq!(count(&mut raw).await, "0");
    server.stop().await;
}

#[tokio::test]
async fn the_extended_protocol_copies_and_passes_over_sync_and_flush() {
    let (server, mut raw) = with_table().await;
    raw.bind("COPY t FROM STDIN").await;
    raw.send('D', b"P\0").await;
    raw.execute(1).await;
    raw.send('S', b"").await;
    assert_eq!(kinds(&raw.until('G').await), "12nG");
    raw.send('d', b"1\tx\n2").await;
    raw.send('H', b"").await;
    raw.send('S', b"").await;
    raw.send('d', b"\ty\n").await;
    raw.send('c', b"").await;
    raw.send('S', b"").await;
    let messages = raw.until('Z').await;
    assert_eq!(
        (kinds(&messages).as_str(), tag(&messages).as_str()),
        ("CZ", "COPY 2")
    );
    raw.bind("COPY t TO STDOUT").await;
    raw.execute(1).await;
    raw.send('S', b"").await;
    assert_eq!(kinds(&raw.until('Z').await), "12HddcCZ");
    // After a failure everything is passed over up to Sync, data among it.
    raw.bind("COPY t FROM STDIN").await;
    raw.execute(0).await;
    raw.send('S', b"").await;
    raw.until('G').await;
    raw.send('d', b"x\tx\n").await;
    raw.send('c', b"").await;
    raw.send('d', b"5\tx\n").await;
    raw.send('S', b"").await;
    let messages = raw.until('Z').await;
    assert_eq!(
        (kinds(&messages).as_str(), sqlstate(&messages).as_str()),
        ("EZ", "22P02")
    );
    assert_eq!(count(&mut raw).await, "2");
    server.stop().await;
}

#[tokio::test]
async fn data_behind_a_failure_is_passed_over() {
    let (server, mut raw) = with_table().await;
    raw.query("COPY t FROM STDIN").await;
    raw.until('G').await;
    for row in 0..2_000 {
        raw.send(
            'd',
            format!("{}\tx\n", if row == 3 { "no" } else { "7" }).as_bytes(),
        )
        .await;
    }
    raw.send('c', b"").await;
    let messages = raw.until('Z').await;
    assert_eq!(
        (kinds(&messages).as_str(), sqlstate(&messages).as_str()),
        ("EZ", "22P02")
    );
    assert_eq!(messages[0].field('W'), "COPY t, line 4, column a: \"no\"");
    assert_eq!(kinds(&raw.run("SELECT 1").await), "TDCZ");
    server.stop().await;
}

#[tokio::test]
async fn another_message_within_the_data_ends_the_connection() {
    let (server, mut raw) = with_table().await;
    raw.query("COPY t FROM STDIN").await;
    raw.until('G').await;
    raw.send('d', b"1\tx\n").await;
    raw.query("SELECT 1").await;
    let error = raw.farewell().await;
    assert_eq!(error.field('C'), "08P01");
    assert_eq!(
        error.field('M'),
        "unexpected message type 0x51 during COPY from stdin"
    );
    let mut other = Raw::connect(server.addr()).await;
    assert_eq!(count(&mut other).await, "0");
    server.stop().await;
}

#[tokio::test]
async fn a_cancel_reaches_a_copy_that_waits_for_data() {
    let (server, mut raw) = with_table().await;
    raw.query("COPY t FROM STDIN").await;
    raw.until('G').await;
    raw.send('d', b"1\tx\n").await;
    let secret = raw.secret.clone();
    raw.cancel(&secret).await;
    let messages = raw.until('Z').await;
    assert_eq!(
        (kinds(&messages).as_str(), sqlstate(&messages).as_str()),
        ("EZ", "57014")
    );
    raw.send('c', b"").await;
    assert_eq!(count(&mut raw).await, "0");
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_goes_leaves_nothing_of_its_copy() {
    let (server, mut raw) = with_table().await;
    raw.query("COPY t FROM STDIN").await;
    raw.until('G').await;
    raw.send('d', &b"1\tx\n2\ty\n"[..]).await;
    drop(raw);
    let mut other = Raw::connect(server.addr()).await;
    // Its locks go with it: who waits for the row gets it.
    assert_eq!(
        tag(&other.run("INSERT INTO t VALUES (1, 'mine')").await),
        "INSERT 0 1"
    );
    assert_eq!(count(&mut other).await, "1");
    server.stop().await;
}

#[tokio::test]
async fn a_read_only_transaction_copies_nothing_in() {
    let (server, mut raw) = with_table().await;
    raw.run("BEGIN READ ONLY").await;
    let messages = raw.run("COPY t FROM STDIN").await;
    assert_eq!(
        messages[0].field('M'),
        "cannot execute COPY FROM in a read-only transaction"
    );
    raw.run("ROLLBACK").await;
    raw.run("BEGIN READ ONLY").await;
    assert_eq!(kinds(&raw.run("COPY t TO STDOUT").await), "HcCZ");
    server.stop().await;
}

#[tokio::test]
async fn the_full_scan_rule_holds_for_what_is_copied_out() {
    let (server, mut raw) = with_table().await;
    let refused = raw.run("COPY (SELECT * FROM t WHERE b = 'x') TO STDOUT").await;
    assert_eq!(sqlstate(&refused), "53400");
    for allowed in [
        "COPY (SELECT /*+ _l_allow_filtering_ */ * FROM t WHERE b = 'x') TO STDOUT",
        "COPY (SELECT * FROM t WHERE b = 'x' ALLOW FILTERING) TO STDOUT",
    ] {
        assert_eq!(kinds(&raw.run(allowed).await), "HcCZ");
    }
    raw.run("SET keyspan.full_scan = forbid").await;
    assert_eq!(sqlstate(&raw.run("COPY t TO STDOUT").await), "53400");
    server.stop().await;
}

#[tokio::test]
async fn a_driver_copies_both_ways() {
    for store in ["memory", "sled"] {
        let server = TestServer::start(store).await;
        let client = server.connect().await;
        client
            .batch_execute("CREATE TABLE t (a int PRIMARY KEY, b text)")
            .await
            .unwrap();
        let sink = client.copy_in("COPY t FROM STDIN").await.unwrap();
        let mut sink = Box::pin(sink);
        for row in 0..5_000 {
            let line = Bytes::from(format!("{row}\trow {row}\n"));
            sink.send(line).await.unwrap();
        }
        assert_eq!(sink.as_mut().finish().await.unwrap(), 5_000);
        let rows = client.copy_out("COPY t (b, a) TO STDOUT CSV").await.unwrap();
        let rows: Vec<Bytes> = rows.try_collect().await.unwrap();
        assert_eq!(rows.len(), 5_000);
        assert_eq!(rows[4_999], Bytes::from_static(b"row 4999,4999\n"));
        // A sink that is dropped gives up.
        let sink = client.copy_in::<_, Bytes>("COPY t FROM STDIN").await.unwrap();
        drop(sink);
        let counted = client.query_one("SELECT count(*) FROM t", &[]).await.unwrap();
        assert_eq!(counted.get::<_, i64>(0), 5_000);
        server.stop().await;
    }
}

/// Bytes of a line of the large data, and how many of them.
const LINE_BYTES: usize = 2_000;
const LINES: usize = 60_000;

/// Sends so many lines, few of which become rows.
async fn copy_in(client: &tokio_postgres::Client, first: usize, lines: usize) {
    let sink = client
        .copy_in("COPY t FROM STDIN WHERE a % 1000 = 0")
        .await
        .unwrap();
    let mut sink = Box::pin(sink);
    let filler = "x".repeat(LINE_BYTES);
    for row in first..first + lines {
        let line = format!("{row}\t{filler}\n");
        sink.send(Bytes::from(line)).await.unwrap();
    }
    assert_eq!(sink.as_mut().finish().await.unwrap(), lines as u64 / 1000);
}

async fn copy_out(client: &tokio_postgres::Client, lines: usize) {
    let query = format!("SELECT repeat('x', {LINE_BYTES}) FROM generate_series(1, {lines})");
    let rows = client
        .copy_out(&format!("COPY ({query}) TO STDOUT"))
        .await
        .unwrap();
    let mut rows = Box::pin(rows);
    let mut bytes = 0;
    while let Some(row) = rows.try_next().await.unwrap() {
        bytes += row.len();
    }
    assert_eq!(bytes, lines * (LINE_BYTES + 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn data_of_more_than_the_memory_streams_in_and_out() {
    let data_dir = TempDir::new().unwrap();
    let limits = ["--memory-bytes-max", "48MB", "--cache-bytes", "16MB"];
    let server = ServerProcess::start(data_dir.path(), &limits);
    let client = connect(server.addr()).await;
    client
        .batch_execute("CREATE TABLE t (a int PRIMARY KEY, b text)")
        .await
        .unwrap();
    // The allocator keeps what was once taken: from then on nothing may grow with the data that passes.
    copy_in(&client, 0, LINES / 4).await;
    copy_out(&client, LINES / 4).await;
    let before = server.resident_bytes_max();
    copy_in(&client, LINES, LINES).await;
    copy_out(&client, LINES).await;
    let growth = server.resident_bytes_max().saturating_sub(before);
    let bytes = LINES * LINE_BYTES;
    assert!(
        growth < 64 << 20,
        "{bytes} bytes each way grew the server by {growth}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_read_and_written_below_the_servers_folder_alone() {
    let (folder, outside) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    std::fs::write(folder.path().join("in.csv"), "a,b\n1,x\n2,y\n").unwrap();
    std::fs::write(outside.path().join("secret"), "3,z\n").unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret"), folder.path().join("link")).unwrap();
    let data_dir = TempDir::new().unwrap();
    let load_dir = folder.path().display().to_string();
    let server = ServerProcess::start(data_dir.path(), &["--load-dir", &load_dir]);
    let mut raw = Raw::connect(server.addr()).await;
    raw.run("CREATE TABLE t (a int PRIMARY KEY, b text)").await;
    assert_eq!(
        tag(&raw.run("COPY t FROM 'in.csv' (FORMAT csv, HEADER match)").await),
        "COPY 2"
    );
    assert_eq!(
        tag(&raw
            .run(&format!("COPY t TO '{load_dir}/out.csv' CSV HEADER"))
            .await),
        "COPY 2"
    );
    assert_eq!(
        std::fs::read_to_string(folder.path().join("out.csv")).unwrap(),
        "a,b\n1,x\n2,y\n"
    );
    let outside = outside.path().display();
    for (statement, state) in [
        ("COPY t FROM 'absent'".to_string(), "58P01"),
        ("COPY t FROM 'link' CSV".to_string(), "42501"),
        ("COPY t TO 'link' CSV".to_string(), "42501"),
        (format!("COPY t FROM '{outside}/secret' CSV"), "42501"),
        (format!("COPY t TO '{outside}/new' CSV"), "42501"),
        ("COPY t FROM '../secret'".to_string(), "42501"),
        ("COPY t FROM '.'".to_string(), "42501"),
        ("COPY t FROM PROGRAM 'cat'".to_string(), "0A000"),
    ] {
        let messages = raw.run(&statement).await;
        assert_eq!(sqlstate(&messages), state, "{statement}");
        assert!(messages[0].field('H').contains("\\copy"), "{statement}");
    }
    let (_server, mut raw) = with_table().await;
    let messages = raw.run("COPY t FROM 'in.csv'").await;
    assert_eq!(sqlstate(&messages), "0A000");
    assert!(messages[0].field('H').contains("--load-dir"));
}
