//! What the server's log says, of the real binary: start, recovery, the demo table, errors without values, slow and chosen
//! statements without constants, connections, the end.

use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStderr, Command, Stdio};

use tempfile::TempDir;

use crate::server::connect;

/// A server whose log is read.
struct Logged {
    child: Child,
    port: u16,
    lines: Lines<BufReader<ChildStderr>>,
    said: String,
}

impl Logged {
    fn start(data_dir: &TempDir, level: &str) -> Logged {
        let mut child = Command::new(env!("CARGO_BIN_EXE_keyspan"))
            .args([
                "--demo",
                "--log-segment-bytes",
                "1MB",
                "--listen",
                "127.0.0.1:0",
                "--data-dir",
            ])
            .arg(data_dir.path().join("data"))
            .env("RUST_LOG", level)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let mut said = String::new();
        let port = loop {
            let line = lines.next().expect("it listens").expect("text");
            said.push_str(&line);
            said.push('\n');
            if let Some((_, behind)) = line.split_once("listening on 127.0.0.1:") {
                let digits: String = behind.chars().take_while(char::is_ascii_digit).collect();
                break digits.parse().expect("a port");
            }
        };
        Logged {
            child,
            port,
            lines,
            said,
        }
    }

    /// Ends it with a signal; all that it said.
    fn end(mut self, signal: &str) -> String {
        let id = self.child.id().to_string();
        Command::new("kill")
            .args([signal, &id])
            .status()
            .expect("kill runs");
        for line in self.lines {
            self.said.push_str(&line.expect("text"));
            self.said.push('\n');
        }
        self.child.wait().unwrap();
        self.said
    }
}

#[track_caller]
fn assert_says(said: &str, expected: &[&str], never: &[&str]) {
    for text in expected {
        assert!(said.contains(text), "{text} is not in:\n{said}");
    }
    for text in never {
        assert!(!said.contains(text), "{text} is in:\n{said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_says_what_happens_without_values() {
    let data_dir = TempDir::new().unwrap();
    let server = Logged::start(&data_dir, "debug,sled=warn");
    let client = connect(([127, 0, 0, 1], server.port).into()).await;
    let failed = client
        .batch_execute("SELECT * FROM nowhere WHERE a = 'secret'")
        .await;
    assert!(failed.is_err());
    let failed = client.batch_execute("SELECT 'secret'::int").await;
    assert!(failed.is_err());
    client
        .batch_execute("SET log_statement = ddl; CREATE TABLE t (k int PRIMARY KEY, v text DEFAULT 'secret')")
        .await
        .unwrap();
    client
        .batch_execute("INSERT INTO t VALUES (1, 'secret')")
        .await
        .unwrap();
    client.batch_execute("SET log_statement = mod").await.unwrap();
    client
        .batch_execute("INSERT INTO t VALUES (2, 'secret')")
        .await
        .unwrap();
    client.batch_execute("SELECT 'quiet' FROM t").await.unwrap();
    client
        .batch_execute("SET log_statement = 'none'; SET log_min_duration_statement = 0")
        .await
        .unwrap();
    client
        .query(
            "SELECT v AS extended FROM t WHERE k = $1 AND v <> 'secret'",
            &[&1],
        )
        .await
        .unwrap();
    client
        .batch_execute("SET log_min_duration_statement = -1; SELECT 'over' AS never")
        .await
        .unwrap();
    let said = server.end("-KILL");
    assert_says(
        &said,
        &[
            concat!("keyspan ", env!("CARGO_PKG_VERSION"), " starts: store sled in \""),
            "the demo table \"orders\" is loaded",
            "listening on 127.0.0.1:",
            "a connection begins",
            "a statement failed: relation \"nowhere\" does not exist",
            "42P01",
            "22P02",
            "statement: CREATE TABLE t (k int PRIMARY KEY, v text DEFAULT ?)",
            "statement: INSERT INTO t VALUES (",
            "SELECT v AS extended FROM t WHERE k = $1 AND v <> ?",
            " ms  statement: ",
        ],
        &["secret", "AS never", "panicked"],
    );
    assert_eq!(said.matches("statement: INSERT").count(), 1, "{said}");
    let server = Logged::start(&data_dir, "info,sled=warn");
    let said = server.end("-TERM");
    assert_says(
        &said,
        &[
            "recovery: ",
            "commits were replayed from the log",
            "the demo table \"orders\" is there already",
            "ended; everything",
        ],
        &["a connection begins"],
    );
}
