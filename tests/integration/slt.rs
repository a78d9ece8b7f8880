//! Runs `sql-tests/**/*.slt` over the wire: on every store, in both protocols, and on PostgreSQL when `PG_URI` is set.
//!
//! A script is in sqllogictest's form. Beyond it:
//! - line 1 is a comment that says what the script proves; `# keyspan only: why` keeps it from PostgreSQL;
//! - `statement error (42P01)` requires the SQLSTATE; `statement error <regex>` matches `SQLSTATE: message`, then
//!   `DETAIL:`, `HINT:` and `POSITION:` lines (start the regex with `(?s)` to match over lines);
//! - a `query` over a statement without a result shows the notices that it raised, one a row;
//! - `skipif keyspan` under a comment `# gap in Keyspan: …` keeps PostgreSQL's answer to what Keyspan does not do yet;
//! - labels for `onlyif` and `skipif`: `keyspan`, `postgres`, `simple`, `extended`, `memory`, `sled`, `fjall`.
//!
//! `SLT=part-of-a-path` runs some scripts only. Every script has a server (on PostgreSQL: a database) of its own.
//! `SLT_WRITE=part-of-a-path` with the filter `answers_written_anew` puts what Keyspan answers into scripts that are for
//! Keyspan only (the plans): whoever does so reads the difference, for a wrong plan is a finding.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use futures::{StreamExt, stream};
use sqllogictest::{AsyncDB, DBOutput, DefaultColumnType, Record, Runner};

use crate::client::{CONNECTION_FAILURE, Protocol, ServerError, Target, TextClient};
use crate::database_copies;
use crate::databases;
use crate::made_again;
use crate::postgresql::{self, Database};
use crate::server::{TestServer, ok};

/// Scripts that run at the same time.
const SCRIPTS_AT_ONCE: usize = 4;

/// A connection as sqllogictest sees it. One that breaks is made again for the next record.
struct Driver {
    client: Option<TextClient>,
    target: Target,
    protocol: Protocol,
    /// Statements run first on every connection.
    setup: &'static [&'static str],
}

impl Driver {
    /// The connection, made when there is none.
    async fn client(&mut self) -> Result<&mut TextClient, ServerError> {
        if self.client.is_none() {
            let mut client = TextClient::connect(&self.target).await?;
            for statement in self.setup {
                client.run(statement, Protocol::Simple).await?;
            }
            self.client = Some(client);
        }
        self.client.as_mut().ok_or_else(ServerError::default)
    }
}

#[async_trait]
impl AsyncDB for Driver {
    type Error = ServerError;
    type ColumnType = DefaultColumnType;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, ServerError> {
        let protocol = self.protocol;
        let result = self.client().await?.run(sql, protocol).await;
        if result
            .as_ref()
            .is_err_and(|error| error.sqlstate == CONNECTION_FAILURE)
        {
            self.client = None;
        }
        let reply = result?;
        let (width, rows) = match &reply.columns {
            None if reply.notices.is_empty() => return Ok(DBOutput::StatementComplete(reply.count())),
            None => (1, reply.notices.into_iter().map(|notice| vec![notice]).collect()),
            Some(columns) => {
                let width = columns.len();
                let rows = reply
                    .rows
                    .into_iter()
                    .map(|row| row.into_iter().map(cell).collect())
                    .collect();
                (width, rows)
            }
        };
        Ok(DBOutput::Rows {
            types: vec![DefaultColumnType::Any; width],
            rows,
        })
    }

    async fn shutdown(&mut self) {}

    fn error_sql_state(error: &ServerError) -> Option<String> {
        Some(error.sqlstate.clone())
    }
}

/// A value as scripts write it.
fn cell(value: Option<String>) -> String {
    match value {
        None => "NULL".to_string(),
        Some(text) if text.is_empty() => "(empty)".to_string(),
        Some(text) => text,
    }
}

/// What a script gave.
#[derive(Default)]
struct Outcome {
    passed: usize,
    failures: Vec<String>,
}

/// Runs every record of a script, also after a failure. `setup` is run first on every connection.
async fn run_script(
    path: &Path,
    target: &Target,
    protocol: Protocol,
    labels: &[&str],
    setup: &'static [&'static str],
) -> Outcome {
    let mut runner = Runner::new(|| async move {
        Ok(Driver {
            client: None,
            target: target.clone(),
            protocol,
            setup,
        })
    });
    for label in labels {
        runner.add_label(label);
    }
    let mut outcome = Outcome::default();
    let records = match sqllogictest::parse_file::<DefaultColumnType>(path) {
        Ok(records) => records,
        Err(error) => {
            outcome.failures.push(format!("{}: {error}", path.display()));
            return outcome;
        }
    };
    for record in records {
        if matches!(record, Record::Halt { .. }) {
            break;
        }
        let counts = matches!(record, Record::Statement { .. } | Record::Query { .. });
        match runner.run_async(record).await {
            Ok(_) => outcome.passed += usize::from(counts),
            Err(error) => outcome.failures.push(error.to_string()),
        }
    }
    outcome
}

/// Runs scripts, each on a fresh server, and fails with all that went wrong.
async fn run_on_keyspan(
    paths: Vec<PathBuf>,
    store: &'static str,
    protocol: Protocol,
    setup: &'static [&'static str],
) {
    let labels = match protocol {
        Protocol::Simple => ["keyspan", "simple", store],
        Protocol::Extended => ["keyspan", "extended", store],
    };
    let outcomes = stream::iter(paths)
        .map(|path| async move {
            let server = TestServer::start(store).await;
            let outcome = run_script(&path, &server.target(), protocol, &labels, setup).await;
            server.stop().await;
            (path, outcome)
        })
        .buffer_unordered(SCRIPTS_AT_ONCE)
        .collect::<Vec<_>>()
        .await;
    report(outcomes);
}

/// Prints one line a script and fails when any record did.
fn report(mut outcomes: Vec<(PathBuf, Outcome)>) {
    outcomes.sort_by(|a, b| a.0.cmp(&b.0));
    let mut failures = Vec::new();
    let mut passed = 0;
    for (path, outcome) in &outcomes {
        eprintln!(
            "{}: {} passed, {} failed",
            path.display(),
            outcome.passed,
            outcome.failures.len()
        );
        passed += outcome.passed;
        failures.extend(outcome.failures.iter().map(String::as_str));
    }
    assert!(passed > 0 || std::env::var_os("SLT").is_some(), "no record ran");
    assert!(
        failures.is_empty(),
        "{passed} records passed, {} failed:\n\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Every script under a folder whose path holds what the environment variable `SLT` says, sorted.
fn scripts(folder: &Path) -> Vec<PathBuf> {
    scripts_named(folder, &std::env::var("SLT").unwrap_or_default())
}

/// Every script under a folder whose path holds this, sorted.
fn scripts_named(folder: &Path, wanted: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder can be listed") {
            let path = entry.expect("the folder can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "slt")
                && path.to_string_lossy().contains(wanted)
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Puts Keyspan's answers into the scripts for Keyspan only that `SLT_WRITE` names.
#[tokio::test(flavor = "multi_thread")]
async fn answers_written_anew() {
    let Ok(wanted) = std::env::var("SLT_WRITE") else {
        eprintln!("skipped: SLT_WRITE is not set");
        return;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql-tests");
    for path in scripts_named(&folder, &wanted) {
        if !first_line(&path).starts_with("# keyspan only:") {
            continue;
        }
        let server = TestServer::start("memory").await;
        let target = &server.target();
        let mut runner = Runner::new(|| async move {
            Ok(Driver {
                client: None,
                target: target.clone(),
                protocol: Protocol::Simple,
                setup: &[],
            })
        });
        for label in ["keyspan", "simple", "memory"] {
            runner.add_label(label);
        }
        runner
            .update_test_file(
                &path,
                "\t",
                sqllogictest::default_validator,
                sqllogictest::default_normalizer,
                sqllogictest::default_column_validator,
            )
            .await
            .expect("the script can be written");
        drop(runner);
        server.stop().await;
    }
}

/// Our own scripts.
fn own_scripts() -> Vec<PathBuf> {
    scripts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("sql-tests"))
}

/// Line 1 of a script.
fn first_line(path: &Path) -> String {
    let text = std::fs::read_to_string(path).expect("a script is readable UTF-8");
    text.lines().next().unwrap_or_default().to_string()
}

#[test]
fn every_script_says_what_it_proves() {
    for path in own_scripts() {
        let line = first_line(&path);
        assert!(
            line.starts_with("# ") && line.len() > 20,
            "{}:1: say what the script proves",
            path.display()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_on_memory_simple() {
    run_on_keyspan(own_scripts(), "memory", Protocol::Simple, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_on_memory_extended() {
    run_on_keyspan(own_scripts(), "memory", Protocol::Extended, &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_on_sled_simple() {
    // Every text at once as one that differs from others in its constants only.
    let setup = &["SET keyspan.known_texts_threshold = 1"];
    run_on_keyspan(own_scripts(), "sled", Protocol::Simple, setup).await;
}

/// In a database that is made for each, and leaves nothing when it is dropped.
#[tokio::test(flavor = "multi_thread")]
async fn scripts_on_sled_extended_in_a_database_of_their_own() {
    let outcomes = stream::iter(own_scripts())
        .map(|path| async move {
            let server = TestServer::start("sled").await;
            let target = server.target();
            databases::create(&server, &target.database).await;
            let labels = ["keyspan", "extended", "sled"];
            let outcome = run_script(&path, &target, Protocol::Extended, &labels, &[]).await;
            // What the script has left is copied with it.
            let copy = database_copies::copy_equal(&server, &target.database).await;
            let drop_copy = format!("DROP DATABASE {copy}");
            ok(&mut databases::connect(&server, "postgres").await, &drop_copy).await;
            databases::drop_without_trace(server, &target.database).await;
            (path, outcome)
        })
        .buffer_unordered(SCRIPTS_AT_ONCE)
        .collect::<Vec<_>>()
        .await;
    report(outcomes);
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_on_fjall_extended() {
    run_on_keyspan(own_scripts(), "fjall", Protocol::Extended, &[]).await;
}

/// What SHOW CREATE TABLE answers of every table that a script leaves makes it again.
#[tokio::test(flavor = "multi_thread")]
async fn tables_of_scripts_are_made_again() {
    let outcomes = stream::iter(own_scripts())
        .map(|path| async move {
            let server = TestServer::start("memory").await;
            run_script(
                &path,
                &server.target(),
                Protocol::Simple,
                &["keyspan", "simple", "memory"],
                &[],
            )
            .await;
            let (passed, failures) = made_again::differences(&server.target()).await;
            server.stop().await;
            (path, Outcome { passed, failures })
        })
        .buffer_unordered(SCRIPTS_AT_ONCE)
        .collect::<Vec<_>>()
        .await;
    report(outcomes);
}

/// What the scripts expect is PostgreSQL's answer: `PG_URI=postgresql://user@host:port/database cargo test slt`.
#[tokio::test(flavor = "multi_thread")]
async fn scripts_on_postgresql() {
    let Some(admin) = postgresql::admin() else {
        eprintln!("skipped: PG_URI is not set");
        return;
    };
    let mut outcomes = Vec::new();
    for protocol in [Protocol::Simple, Protocol::Extended] {
        for path in own_scripts() {
            if first_line(&path).starts_with("# keyspan only:") {
                continue;
            }
            let outcome = run_on_postgresql(&path, &admin, protocol).await;
            outcomes.push((path, outcome));
        }
    }
    report(outcomes);
}

/// Runs a script in a database made for it, with the settings that Keyspan has by default.
async fn run_on_postgresql(path: &Path, admin: &Target, protocol: Protocol) -> Outcome {
    let database = Database::create(admin, "slt").await;
    let label = if protocol == Protocol::Simple {
        "simple"
    } else {
        "extended"
    };
    let outcome = run_script(
        path,
        &database.target(),
        protocol,
        &["postgres", label],
        &["SET TimeZone = 'UTC'"],
    )
    .await;
    database.drop().await;
    outcome
}

/// Scripts of other projects that stand beside the repository: a short folder always, all with `SLT_CORPUS=all`.
#[tokio::test(flavor = "multi_thread")]
async fn scripts_of_other_projects() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/sqllogictest");
    let all = std::env::var("SLT_CORPUS").is_ok_and(|which| which == "all");
    let folder = if all {
        corpus
    } else {
        corpus.join("sqlite/evidence")
    };
    if !folder.is_dir() {
        eprintln!("skipped: {} is absent", folder.display());
        return;
    }
    run_on_keyspan(
        scripts(&folder),
        "memory",
        Protocol::Simple,
        &["SET keyspan.full_scan = allow"],
    )
    .await;
}
