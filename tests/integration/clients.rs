//! Keyspan as other programs see it: psql pastes the session of the README, pgjdbc runs a small Java program. A test
//! whose client is absent says so and passes (`.ci/run` installs them).

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::server::ServerProcess;

/// Where Debian puts the driver (package libpostgresql-jdbc-java); `PGJDBC_JAR` names another place.
const PGJDBC_JAR: &str = "/usr/share/java/postgresql.jar";

/// Whether a program can be started.
fn is_installed(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

/// A psql command that reads no files of the user, or `None` with a message.
fn psql(server: &ServerProcess) -> Option<Command> {
    if !is_installed("psql") {
        eprintln!("skipped: psql is not installed");
        return None;
    }
    let mut command = Command::new("psql");
    command
        .args([
            "-X",
            "-h",
            "127.0.0.1",
            "-p",
            &server.addr().port().to_string(),
            "-U",
            "reader",
            "-d",
            "orders",
        ])
        .env("PGCONNECT_TIMEOUT", "10")
        .env("PAGER", "cat");
    Some(command)
}

/// What a program printed, errors first.
fn printed(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout)
}

/// One statement of the README's session and the lines below it.
struct Exchange {
    statement: String,
    expected: Vec<String>,
}

/// The statements after the prompt `orders=# ` (continued after `orders-# `) in the README, each with its output.
fn readme_session() -> Vec<Exchange> {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let readme = std::fs::read_to_string(readme).expect("README.md is readable");
    let mut session: Vec<Exchange> = Vec::new();
    let mut in_session = false;
    for line in readme.lines() {
        if let Some(statement) = line.strip_prefix("orders=# ") {
            in_session = true;
            session.push(Exchange {
                statement: statement.to_string(),
                expected: Vec::new(),
            });
        } else if line.starts_with("```") {
            in_session = false;
        } else if in_session && let Some(exchange) = session.last_mut() {
            match line.strip_prefix("orders-# ") {
                Some(more) => exchange.statement += &format!("\n{more}"),
                None => exchange.expected.push(line.trim_end().to_string()),
            }
        }
    }
    session
}

/// Whether the lines are as expected; a line `…` stands for any lines.
fn matches(expected: &[String], actual: &[String]) -> bool {
    match expected.split_first() {
        None => actual.is_empty(),
        Some((line, rest)) if line.trim() == "…" => {
            (0..=actual.len()).any(|skip| matches(rest, &actual[skip..]))
        }
        Some((line, rest)) => actual.first() == Some(line) && matches(rest, &actual[1..]),
    }
}

/// Lines without trailing blanks, and without empty lines at the end.
fn trimmed(text: &str) -> Vec<String> {
    text.trim_end()
        .lines()
        .map(|line| line.trim_end().to_string())
        .collect()
}

#[test]
fn the_session_of_the_readme_is_true_each_time_it_is_pasted() {
    let data_dir = TempDir::new().unwrap();
    let server = ServerProcess::start(data_dir.path(), &["--demo"]);
    let session = readme_session();
    assert!(
        session.len() >= 10,
        "README.md has a session of {} statements",
        session.len()
    );
    let mut wrong = Vec::new();
    for exchange in session.iter().chain(&session) {
        let Some(mut psql) = psql(&server) else { return };
        let output = psql
            .args(["-c", &exchange.statement])
            .output()
            .expect("psql runs");
        let actual = trimmed(&printed(&output));
        if !matches(&trimmed(&exchange.expected.join("\n")), &actual) {
            wrong.push(format!(
                "orders=# {}\n{}\n",
                exchange.statement,
                actual.join("\n")
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "psql prints something else for:\n\n{}",
        wrong.join("\n")
    );
}

#[test]
fn psql_lists_and_describes_tables() {
    let data_dir = TempDir::new().unwrap();
    let server = ServerProcess::start(data_dir.path(), &["--demo"]);
    for (command, expected) in [
        ("\\dt", " public | orders | table |"),
        (
            "\\d orders",
            "\"orders_pkey\" PRIMARY KEY, btree (channel, id, ts)",
        ),
        (
            "\\d orders",
            " ts       | timestamp without time zone |           | not null |",
        ),
        ("\\dn", " public "),
        ("\\l", " orders "),
        ("\\d missing", "Did not find any relation named \"missing\"."),
    ] {
        let Some(mut psql) = psql(&server) else { return };
        let output = psql.args(["-c", command]).output().expect("psql runs");
        assert!(
            printed(&output).contains(expected),
            "{command} printed:\n{}",
            printed(&output)
        );
    }
}

#[test]
fn psql_hears_notifications_and_lists_altered_settings() {
    let data_dir = TempDir::new().unwrap();
    let server = ServerProcess::start(data_dir.path(), &["--set", "keyspan.full_scan=small"]);
    let Some(mut psql) = psql(&server) else { return };
    let script = "LISTEN jobs; NOTIFY jobs, 'one';\nALTER DATABASE orders SET work_mem = '8MB';\n\\drds\n\
                  SHOW statement_timeout; SHOW keyspan.full_scan;\nSELECT pg_sleep(0.01);\n";
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("script.sql");
    std::fs::write(&file, script).unwrap();
    let output = psql
        .env("PGOPTIONS", "-c statement_timeout=5min --work-mem=16MB")
        .arg("-f")
        .arg(&file)
        .output()
        .expect("psql runs");
    for expected in [
        "Asynchronous notification \"jobs\" with payload \"one\" received from server process with PID",
        "      | orders   | work_mem=8MB",
        " 5min",
        " small",
    ] {
        assert!(printed(&output).contains(expected), "{}", printed(&output));
    }
}

#[test]
fn psql_loads_the_fixture_from_its_file() {
    let data_dir = TempDir::new().unwrap();
    let server = ServerProcess::start(data_dir.path(), &[]);
    let Some(mut psql) = psql(&server) else { return };
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/orders.sql");
    let count = "SELECT count(*), count(DISTINCT channel), count(location) FROM orders";
    let output = psql
        .args(["-q", "-At", "-v", "ON_ERROR_STOP=1", "-f"])
        .arg(fixture)
        .args(["-c", count])
        .output()
        .expect("psql runs");
    assert!(output.status.success(), "{}", printed(&output));
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("1000|5|978"),
        "{}",
        printed(&output)
    );
}

#[test]
fn psql_copies_its_files_and_scripts_with_data_in_them() {
    let data_dir = TempDir::new().unwrap();
    let server = ServerProcess::start(data_dir.path(), &[]);
    let Some(mut psql) = psql(&server) else { return };
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("in.csv"), "b,a\n\"x,y\",1\n,2\n").unwrap();
    // As pg_dump writes it.
    let script = format!(
        "SET client_encoding = 'UTF8';\nSELECT pg_catalog.set_config('search_path', '', false);\n\
         CREATE TABLE public.t (a integer NOT NULL, b text);\n\
         COPY public.t (a, b) FROM stdin;\n3\t\\N\n4\ta\\tb\n\\.\n\n\n\
         ALTER TABLE ONLY public.t ADD CONSTRAINT t_pkey PRIMARY KEY (a);\n\
         \\copy public.t (b, a) from '{}' csv header\n\
         \\copy (select * from public.t) to '{}' csv header\n\
         COPY public.t TO stdout;\n",
        path("in.csv"),
        path("out.csv")
    );
    std::fs::write(path("script.sql"), script).unwrap();
    let output = psql
        .args(["-q", "-At", "-v", "ON_ERROR_STOP=1", "-f"])
        .arg(path("script.sql"))
        .output()
        .expect("psql runs");
    assert!(output.status.success(), "{}", printed(&output));
    let expected = "1\tx,y\n2\t\\N\n3\t\\N\n4\ta\\tb\n";
    assert!(printed(&output).ends_with(expected), "{}", printed(&output));
    let written = std::fs::read_to_string(path("out.csv")).unwrap();
    assert_eq!(written, "a,b\n1,\"x,y\"\n2,\n3,\n4,a\tb\n");
}

#[test]
fn pgbench_makes_and_fills_its_tables() {
    if !is_installed("pgbench") {
        eprintln!("skipped: pgbench is not installed");
        return;
    }
    let data_dir = TempDir::new().unwrap();
    let server = ServerProcess::start(data_dir.path(), &[]);
    let port = server.addr().port().to_string();
    let output = Command::new("pgbench")
        .args([
            "-h",
            "127.0.0.1",
            "-p",
            &port,
            "-U",
            "reader",
            "-i",
            "-s",
            "1",
            "-q",
            "orders",
        ])
        .output()
        .expect("pgbench runs");
    assert!(output.status.success(), "{}", printed(&output));
    let Some(mut psql) = psql(&server) else { return };
    let count = "SELECT count(*), max(aid), sum(abalance) FROM pgbench_accounts";
    let output = psql.args(["-At", "-c", count]).output().expect("psql runs");
    assert_eq!(printed(&output), "100000|100000|0\n");
}

/// What pg_dump writes of a database, without comments and what differs each time.
fn dumped(server: &ServerProcess, database: &str) -> String {
    let port = server.addr().port().to_string();
    let output = Command::new("pg_dump")
        .args(["-h", "127.0.0.1", "-p", &port, "-U", "reader", "-d", database])
        .output()
        .expect("pg_dump runs");
    assert!(output.status.success(), "{}", printed(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text
        .lines()
        .filter(|line| !line.starts_with("--") && !line.contains("restrict "));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
fn wide_tables_come_back_from_a_dump() {
    if !is_installed("pg_dump") {
        eprintln!("skipped: pg_dump is not installed");
        return;
    }
    let data_dir = TempDir::new().unwrap();
    let server = ServerProcess::start(data_dir.path(), &[]);
    let Some(mut made) = psql(&server) else { return };
    let tables = "CREATE TABLE spread (ts bigint PRIMARY KEY, v int) WITH (BUCKETS = 4);
        INSERT INTO spread SELECT g, g FROM generate_series(1, 20) g;
        CREATE TABLE split (a varchar(9), b int, PRIMARY KEY (a, b)) WITH (SPLITKEYS = 'd,m');
        CREATE TABLE even (id bigint PRIMARY KEY) WITH (NUMREGIONS = 3, STARTKEY = '10', ENDKEY = '20');
        CREATE TABLE wide (k int PRIMARY KEY, \"c*\" int)
            WITH (DYNAMIC_COLUMNS = 'any', WILDCARD_COLUMN = 'c*', TTL = '1 day', VERSIONS = '3', HISTORY = '1 day');
        INSERT INTO wide (k, c1, other) VALUES (1, 2, 'x');
        CREATE DATABASE restored;";
    let output = made
        .args(["-q", "-v", "ON_ERROR_STOP=1"])
        .args(
            tables
                .split_inclusive(';')
                .flat_map(|statement| ["-c", statement]),
        )
        .output()
        .expect("psql runs");
    assert!(output.status.success(), "{}", printed(&output));
    let dump = dumped(&server, "orders");
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("dump.sql");
    std::fs::write(&file, &dump).unwrap();
    let Some(mut restoring) = psql(&server) else {
        return;
    };
    let output = restoring
        .args(["-q", "-v", "ON_ERROR_STOP=1", "-d", "restored", "-f"])
        .arg(&file)
        .output()
        .expect("psql runs");
    assert!(output.status.success(), "{}", printed(&output));
    assert_eq!(dumped(&server, "restored"), dump);
    let Some(mut asking) = psql(&server) else { return };
    let regions = "SELECT relname, count(*) FROM keyspan.regions GROUP BY relname ORDER BY relname";
    let output = asking
        .args(["-At", "-d", "restored", "-c", regions])
        .output()
        .expect("psql runs");
    assert_eq!(printed(&output), "even|3\nsplit|3\nspread|4\nwide|1\n");
}

#[test]
fn pgjdbc_runs_its_program() {
    let jar = PathBuf::from(std::env::var_os("PGJDBC_JAR").unwrap_or_else(|| PGJDBC_JAR.into()));
    if !jar.exists() || !is_installed("javac") {
        eprintln!("skipped: pgjdbc or the Java compiler is not installed");
        return;
    }
    let data_dir = TempDir::new().unwrap();
    let server = ServerProcess::start(data_dir.path(), &[]);
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/integration/PgJdbc.java");
    let url = format!(
        "jdbc:postgresql://127.0.0.1:{}/orders?user=reader",
        server.addr().port()
    );
    let output = Command::new("java")
        .arg("-cp")
        .arg(&jar)
        .arg(program)
        .arg(url)
        .output()
        .expect("java runs");
    assert!(output.status.success(), "{}", printed(&output));
    assert!(
        String::from_utf8_lossy(&output.stdout).ends_with("all done\n"),
        "{}",
        printed(&output)
    );
}
