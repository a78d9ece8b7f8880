//! What sessions see and do to one another, step by step: runs `sql-tests/isolation/*.steps` over the stores, and on PostgreSQL when
//! `PG_URI` is set, whose outcomes the scripts state.
//!
//! ```text
//! # What the script proves.
//! only: keyspan                                         PostgreSQL has nothing of the kind
//! setup: CREATE TABLE t (k int PRIMARY KEY, v int)      run before each case, in order
//!
//! case: what one case shows
//! a: BEGIN                                              a session's statement, which succeeds
//! a: UPDATE t SET v = 11 WHERE k = 1 => UPDATE 1        and how it ends
//! b: UPDATE t SET v = 12 WHERE k = 1 => waits           it waits for another session
//! a: COMMIT
//! b: => UPDATE 1                                        what waited has ended (or `waits` still)
//! b: breaks                                             its connection goes without a word
//! a: SELECT pg_export_snapshot() => keeps id            its only value, as {id} in what follows
//! ```
//!
//! A statement ends with its rows (`1|10 2|NULL`, sorted; `none`), with its command tag, or with an error (`40001`, or
//! `40001: message`). Sessions begin where they are named first. A step that waits is found out by asking the server for it
//! (`pg_isolation_test_session_is_blocked`) again and again, no clock. `STEPS=part-of-a-path` runs some scripts only.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::task::JoinHandle;

use crate::client::{Reply, ServerError, TextClient};
use crate::place::Place;
use crate::server::{ok, run};

/// Longer than any step takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// What a script says of a statement that has not ended.
const WAITS: &str = "waits";

/// A script, read.
#[derive(Debug, Default, PartialEq, Eq)]
struct Script {
    /// PostgreSQL is not asked.
    is_keyspans_own: bool,
    setup: Vec<String>,
    cases: Vec<Case>,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Case {
    name: String,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    line: usize,
    session: String,
    action: Action,
    /// `None`: it succeeds, however.
    outcome: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    Run(String),
    /// Whatever the session has begun.
    Await,
    Break,
}

/// Reads a script. Errors: the line that cannot be read.
fn read_script(text: &str) -> Result<Script, String> {
    let mut script = Script::default();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let malformed = || format!("line {}: not `name: statement => outcome`: {line}", at + 1);
        let (name, rest) = line.split_once(':').ok_or_else(malformed)?;
        match (name, script.cases.last_mut()) {
            ("setup", None) => script.setup.push(rest.trim().to_string()),
            ("only", _) => script.is_keyspans_own = true,
            ("case", _) => script.cases.push(Case {
                name: rest.trim().to_string(),
                steps: Vec::new(),
            }),
            (session, Some(case)) => case.steps.push(read_step(at + 1, session, rest)),
            (_, None) => return Err(malformed()),
        }
    }
    Ok(script)
}

fn read_step(line: usize, session: &str, rest: &str) -> Step {
    let (action, outcome) = match rest.split_once("=>") {
        Some((action, outcome)) => (action.trim(), Some(outcome.trim().to_string())),
        None => (rest.trim(), None),
    };
    let action = match action {
        "" => Action::Await,
        "breaks" => Action::Break,
        sql => Action::Run(sql.to_string()),
    };
    Step {
        line,
        session: session.to_string(),
        action,
        outcome,
    }
}

type Ended = (TextClient, Result<Reply, ServerError>);

/// A session of a case.
enum Session {
    Idle(TextClient),
    Busy(JoinHandle<Ended>),
    /// Its connection is gone.
    Gone,
}

/// The sessions of a case, and one that watches them.
struct Sessions<'a> {
    place: &'a Place,
    watcher: TextClient,
    /// With their process ids, by name.
    sessions: BTreeMap<String, (String, Session)>,
    /// Values that steps gave, by name.
    kept: BTreeMap<String, String>,
}

impl Sessions<'_> {
    /// Does a step. Errors: what came instead of its outcome.
    async fn step(&mut self, step: &Step) -> Result<(), String> {
        self.begin_session(&step.session).await;
        match &step.action {
            Action::Run(sql) => self.start(&step.session, self.with_kept(sql))?,
            Action::Await => {}
            Action::Break => {
                self.break_connection(&step.session).await;
                return Ok(());
            }
        }
        let ended = match step.outcome.as_deref() {
            Some(WAITS) => self.ended_or_blocked(&step.session).await?,
            _ => Some(self.ended(&step.session).await?),
        };
        if let Some(name) = step
            .outcome
            .as_deref()
            .and_then(|outcome| outcome.strip_prefix("keeps "))
        {
            return self.keep(name, ended);
        }
        let found = ended.as_ref().map_or_else(|| WAITS.to_string(), outcome_text);
        let is_expected = match &step.outcome {
            None => ended.is_some_and(|ended| ended.is_ok()),
            Some(expected) => found == *expected || found.starts_with(&format!("{expected}: ")),
        };
        let expected = step.outcome.as_deref().unwrap_or("success");
        match is_expected {
            true => Ok(()),
            false => Err(format!("{expected} is expected, but: {found}")),
        }
    }

    /// A statement with the values that it names.
    fn with_kept(&self, sql: &str) -> String {
        let put = |sql: String, (name, value): (&String, &String)| sql.replace(&format!("{{{name}}}"), value);
        self.kept.iter().fold(sql.to_string(), put)
    }

    /// Keeps the only value that a statement gave. Errors: it gave another answer.
    fn keep(&mut self, name: &str, ended: Option<Result<Reply, ServerError>>) -> Result<(), String> {
        let value = match ended {
            Some(Ok(reply)) => reply.rows.into_iter().flatten().flatten().next(),
            _ => None,
        };
        let value = value.ok_or_else(|| format!("no value to keep as {name}"))?;
        self.kept.insert(name.to_string(), value);
        Ok(())
    }

    async fn begin_session(&mut self, name: &str) {
        if self.sessions.contains_key(name) {
            return;
        }
        let mut client = self.place.connect().await;
        let rows = ok(&mut client, "SELECT pg_backend_pid()").await;
        let process_id = rows[0][0].clone().expect("a session has a process id");
        self.sessions
            .insert(name.to_string(), (process_id, Session::Idle(client)));
    }

    fn session(&mut self, name: &str) -> &mut Session {
        &mut self.sessions.get_mut(name).expect("it has begun").1
    }

    fn start(&mut self, name: &str, sql: String) -> Result<(), String> {
        let session = self.session(name);
        match std::mem::replace(session, Session::Gone) {
            Session::Idle(mut client) => {
                *session = Session::Busy(tokio::spawn(async move {
                    let reply = run(&mut client, &sql).await;
                    (client, reply)
                }));
                Ok(())
            }
            busy @ Session::Busy(_) => {
                *session = busy;
                Err("its last statement has not been awaited".to_string())
            }
            Session::Gone => Err("its connection is gone".to_string()),
        }
    }

    /// How the session's statement ends. Errors: it does not.
    async fn ended(&mut self, name: &str) -> Result<Result<Reply, ServerError>, String> {
        let session = self.session(name);
        let Session::Busy(statement) = session else {
            return Err("it has begun nothing".to_string());
        };
        let ended = tokio::time::timeout(PATIENCE, statement)
            .await
            .map_err(|_| "it does not end".to_string())?;
        let (client, reply) = ended.expect("the task ends");
        *session = Session::Idle(client);
        Ok(reply)
    }

    /// How the session's statement has ended; `None`: another session keeps it waiting.
    async fn ended_or_blocked(&mut self, name: &str) -> Result<Option<Result<Reply, ServerError>>, String> {
        let ids: Vec<&str> = self.sessions.values().map(|(id, _)| id.as_str()).collect();
        let (id, ids) = (&self.sessions[name].0, ids.join(","));
        let is_blocked = format!("SELECT pg_isolation_test_session_is_blocked({id}, '{{{ids}}}')");
        let is_over =
            |session: &Session| !matches!(session, Session::Busy(statement) if !statement.is_finished());
        let asked = async {
            while !is_over(&self.sessions[name].1) {
                if ok(&mut self.watcher, &is_blocked).await == [[Some("t".to_string())]] {
                    return true;
                }
            }
            false
        };
        match tokio::time::timeout(PATIENCE, asked).await {
            Err(_) => Err("it neither ends nor waits".to_string()),
            Ok(true) => Ok(None),
            Ok(false) => self.ended(name).await.map(Some),
        }
    }

    async fn break_connection(&mut self, name: &str) {
        if let Session::Busy(statement) = std::mem::replace(self.session(name), Session::Gone) {
            statement.abort();
            let _ = statement.await;
        }
    }
}

/// As a script writes it.
fn outcome_text(ended: &Result<Reply, ServerError>) -> String {
    let reply = match ended {
        Err(error) => return format!("{}: {}", error.sqlstate, error.message),
        Ok(reply) if reply.columns.is_none() => return reply.tag.clone(),
        Ok(reply) => reply,
    };
    let cell = |cell: &Option<String>| match cell.as_deref() {
        None => "NULL".to_string(),
        Some("") => "(empty)".to_string(),
        Some(text) => text.to_string(),
    };
    let row = |row: &Vec<Option<String>>| row.iter().map(cell).collect::<Vec<_>>().join("|");
    let mut rows: Vec<String> = reply.rows.iter().map(row).collect();
    rows.sort();
    match rows.is_empty() {
        true => "none".to_string(),
        false => rows.join(" "),
    }
}

/// Runs a case. Errors: the first step that ends otherwise.
async fn run_case(place: &Place, setup: &[String], case: &Case) -> Result<(), String> {
    let mut watcher = place.connect().await;
    for statement in setup {
        ok(&mut watcher, statement).await;
    }
    let mut sessions = Sessions {
        place,
        watcher,
        sessions: BTreeMap::new(),
        kept: BTreeMap::new(),
    };
    let mut found = Ok(());
    for step in &case.steps {
        found = sessions.step(step).await;
        if let Err(error) = &mut found {
            *error = format!("line {}, {}: {}: {error}", step.line, case.name, step.session);
            break;
        }
    }
    let names: Vec<String> = sessions.sessions.keys().cloned().collect();
    for name in names {
        if found.is_ok() && matches!(sessions.session(&name), Session::Busy(_)) {
            found = Err(format!("{}: {name}: its end is not awaited", case.name));
        }
        sessions.break_connection(&name).await;
    }
    found
}

/// The scripts, but for those that `STEPS` does not name.
fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql-tests/isolation");
    let wanted = std::env::var("STEPS").unwrap_or_default();
    let entries = std::fs::read_dir(folder).expect("the folder of the scripts");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.to_string_lossy().contains(&wanted));
    paths.sort();
    paths
}

/// Runs every case of every script, also after one that fails.
async fn run_scripts(place: &str) {
    let is_postgresql = place == "postgresql";
    let Some(place) = Place::start(place).await else {
        return;
    };
    let (mut cases, mut failures) = (0, Vec::new());
    for path in scripts() {
        let text = std::fs::read_to_string(&path).expect("the script can be read");
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        let script = read_script(&text).unwrap_or_else(|error| panic!("{file}, {error}"));
        if is_postgresql && script.is_keyspans_own {
            continue;
        }
        for case in &script.cases {
            cases += 1;
            if let Err(error) = run_case(&place, &script.setup, case).await {
                failures.push(format!("{file}, {error}"));
            }
        }
    }
    place.end().await;
    assert!(
        failures.is_empty(),
        "{} of {cases} cases:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(cases > 0 || std::env::var_os("STEPS").is_some(), "no case ran");
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_in_memory() {
    run_scripts("memory").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_on_sled() {
    run_scripts("sled").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn steps_on_postgresql() {
    run_scripts("postgresql").await;
}

#[test]
fn a_script_is_read_as_it_is_written() {
    let text =
        "# Proof.\nsetup: CREATE TABLE t (k int)\n\ncase: one\na: SELECT 1 => 1\nb: => waits\na: breaks\n";
    let step = |line, session: &str, action, outcome: Option<&str>| Step {
        line,
        session: session.to_string(),
        action,
        outcome: outcome.map(str::to_string),
    };
    let expected = Script {
        is_keyspans_own: false,
        setup: vec!["CREATE TABLE t (k int)".to_string()],
        cases: vec![Case {
            name: "one".to_string(),
            steps: vec![
                step(5, "a", Action::Run("SELECT 1".to_string()), Some("1")),
                step(6, "b", Action::Await, Some(WAITS)),
                step(7, "a", Action::Break, None),
            ],
        }],
    };
    assert_eq!(read_script(text), Ok(expected));
    assert!(read_script("a: SELECT 1").is_err(), "a step stands in a case");
    assert!(
        read_script("case: one\nSELECT 1").is_err(),
        "a step has a session"
    );
}

/// A harness that finds every outcome right would show nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_ends_otherwise_is_told() {
    let place = Place::start("memory").await.expect("a store");
    let setup = ["CREATE TABLE IF NOT EXISTS t (k int PRIMARY KEY)".to_string()];
    for (steps, told) in [
        ("a: SELECT 1 => 2", "2 is expected, but: 1"),
        ("a: SELECT 1 => waits", "waits is expected, but: 1"),
        ("a: SELEKT 1", "success is expected, but: 42601: "),
        ("a: SELECT 1 / 0 => 40001", "40001 is expected, but: 22012: "),
        ("a: => waits", "it has begun nothing"),
        (
            "a: BEGIN\na: INSERT INTO t VALUES (1)\nb: INSERT INTO t VALUES (1) => waits",
            "its end is not awaited",
        ),
    ] {
        let script = read_script(&format!("case: one\n{steps}")).expect("it can be read");
        let found = run_case(&place, &setup, &script.cases[0]).await;
        let error = found.expect_err(steps);
        assert!(error.contains(told), "{steps}: {error}");
    }
    place.end().await;
}
