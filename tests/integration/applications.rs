//! Applications that were written for PostgreSQL: each in a folder of `tests/applications`, migrated and tested on Keyspan by what its own
//! users would type. One whose language or libraries are absent says so and passes (`.ci/run` installs them).

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::client::Target;
use crate::postgresql::{self, Database};
use crate::server::ServerProcess;

/// Where a database is, as an application is told.
struct Place {
    host: String,
    port: u16,
    user: String,
    name: String,
}

fn folder(application: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/applications")
        .join(application)
}

/// Whether Python has these modules.
fn has_modules(modules: &str) -> bool {
    let import = Command::new("python3")
        .args(["-c", &format!("import {modules}")])
        .output();
    import.is_ok_and(|output| output.status.success())
}

/// Runs `manage.py` of the Django application, which must end well.
fn manage(place: &Place, arguments: &[&str]) {
    let mut command = Command::new("python3");
    command
        .arg("manage.py")
        .args(arguments)
        .current_dir(folder("django"));
    command
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("DATABASE_HOST", &place.host)
        .env("DATABASE_PORT", place.port.to_string())
        .env("DATABASE_USER", &place.user)
        .env("DATABASE_NAME", &place.name)
        .env("DATABASE_OPTIONS", "-c keyspan.full_scan=allow");
    let output = command.output().expect("python3 runs");
    let printed = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "manage.py {arguments:?}: {printed}");
}

/// Its migrations, one by one taken back and made again, and its tests.
fn run_django(place: &Place) {
    manage(place, &["migrate", "--verbosity", "0"]);
    manage(place, &["migrate", "polls", "zero", "--verbosity", "0"]);
    manage(place, &["migrate", "--verbosity", "0"]);
    manage(place, &["makemigrations", "--check", "--dry-run"]);
    // In a database that it makes, and drops.
    manage(place, &["test", "--noinput"]);
}

#[test]
fn django_migrates_and_passes_its_tests() {
    if !has_modules("django, psycopg2") {
        eprintln!("skipped: Python, Django or psycopg2 is not installed");
        return;
    }
    let data_dir = TempDir::new().unwrap();
    let server = ServerProcess::start(data_dir.path(), &[]);
    let addr = server.addr();
    run_django(&Place {
        host: addr.ip().to_string(),
        port: addr.port(),
        user: "app".to_string(),
        name: "app".to_string(),
    });
}

/// Runs the script of SQLAlchemy by each driver that is there, in the database of this address.
fn run_sqlalchemy(authority: &str, database: &str) {
    for driver in ["psycopg2", "psycopg", "pg8000"] {
        if !has_modules(&format!("sqlalchemy, alembic, {driver}")) {
            eprintln!("skipped: Python, SQLAlchemy, alembic or {driver} is not installed");
            continue;
        }
        let url = format!("postgresql+{driver}://{authority}/{database}");
        let mut command = Command::new("python3");
        command
            .args(["-W", "ignore", "orm.py", &url])
            .current_dir(folder("sqlalchemy"));
        let output = command.output().expect("python3 runs");
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{driver}: {printed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlalchemy_writes_reads_and_migrates() {
    let arguments = ["--set", "keyspan.full_scan=allow"];
    let data_dir = TempDir::new().unwrap();
    let server = ServerProcess::start(data_dir.path(), &arguments);
    let authority = format!("app@{}", server.addr());
    tokio::task::spawn_blocking(move || run_sqlalchemy(&authority, "app"))
        .await
        .unwrap();
    let Some(admin) = postgresql::admin() else {
        return;
    };
    let database = Database::create(&admin, "sqlalchemy").await;
    let target = database.target();
    let authority = format!("{}@{}", target.user, target.addr);
    let name = target.database.clone();
    tokio::task::spawn_blocking(move || run_sqlalchemy(&authority, &name))
        .await
        .unwrap();
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn django_does_the_same_on_postgresql() {
    let Some(admin) = postgresql::admin() else {
        eprintln!("skipped: PG_URI is not set");
        return;
    };
    if !has_modules("django, psycopg2") {
        eprintln!("skipped: Python, Django or psycopg2 is not installed");
        return;
    }
    let database = Database::create(&admin, "django").await;
    let place = place_of(&database.target());
    tokio::task::spawn_blocking(move || run_django(&place))
        .await
        .unwrap();
    database.drop().await;
}

/// What scripts of Node print otherwise on Keyspan, by script and the step's name, and why.
const NODE_DIFFERENCES: &[(&str, &str)] = &[];

/// What a script of the folder prints, step by step; `None` where Node or its libraries are absent.
fn run_node(script: &str, place: &Place) -> Option<Vec<String>> {
    let mut command = Command::new("node");
    command.arg(format!("{script}.js")).current_dir(folder("node"));
    command.args([&place.host, &place.port.to_string(), &place.user, &place.name]);
    let Ok(output) = command.output() else {
        eprintln!("skipped: node is not installed");
        return None;
    };
    let printed = String::from_utf8_lossy(&output.stdout);
    let faults = String::from_utf8_lossy(&output.stderr);
    if faults.contains("MODULE_NOT_FOUND") {
        eprintln!("skipped: npm install in {}", folder("node").display());
        return None;
    }
    assert!(output.status.success(), "{script}: {faults}");
    Some(printed.lines().map(str::to_string).collect())
}

fn place_of(target: &Target) -> Place {
    let (host, port) = target.addr.rsplit_once(':').expect("an address has a port");
    Place {
        host: host.to_string(),
        port: port.parse().expect("a port is a number"),
        user: target.user.clone(),
        name: target.database.clone(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn libraries_of_node_do_as_on_postgresql() {
    for script in [
        "knex",
        "sequelize",
        "typeorm",
        "drizzle",
        "sessions",
        "others",
        "boss",
    ] {
        let data_dir = TempDir::new().unwrap();
        let server = ServerProcess::start(data_dir.path(), &["--set", "keyspan.full_scan=allow"]);
        let addr = server.addr();
        let own = Place {
            host: addr.ip().to_string(),
            port: addr.port(),
            user: "app".to_string(),
            name: "app".to_string(),
        };
        let ran = tokio::task::spawn_blocking(move || run_node(script, &own))
            .await
            .unwrap();
        let Some(ran) = ran else { return };
        assert!(ran.len() > 5, "{script}: {ran:?}");
        let differs =
            |line: &&String| NODE_DIFFERENCES.contains(&(script, line.split(' ').next().unwrap_or_default()));
        let failed: Vec<_> = ran
            .iter()
            .filter(|line| !differs(line) && line.contains(" FAIL "))
            .collect();
        assert!(failed.is_empty(), "{script}: {failed:#?}");
        let Some(admin) = postgresql::admin() else {
            continue;
        };
        let database = Database::create(&admin, script).await;
        let place = place_of(&database.target());
        let expected = tokio::task::spawn_blocking(move || run_node(script, &place))
            .await
            .unwrap();
        database.drop().await;
        let expected = expected.expect("it was there before");
        for (line, expected) in ran
            .iter()
            .filter(|line| !differs(line))
            .zip(expected.iter().filter(|line| !differs(line)))
        {
            assert_eq!(line, expected, "{script}");
        }
    }
}

/// The exit code of a script that misses what it needs.
const ABSENT: i32 = 77;

/// A script that prints its steps, given host, port, user and database.
struct Script {
    name: &'static str,
    folder: &'static str,
    command: &'static [&'static str],
    /// It takes a minute and more: only with KEYSPAN_SLOW_APPLICATIONS.
    is_slow: bool,
    /// What lines hold that differ, each with the reason.
    differs: &'static [(&'static str, &'static str)],
}

const SCRIPTS: &[Script] = &[
    Script {
        name: "activerecord",
        folder: "rails",
        command: &["ruby", "-W0", "records.rb"],
        is_slow: false,
        differs: &[],
    },
    Script {
        name: "pgjdbc",
        folder: "java",
        command: &["bash", "run.sh", "Drivers"],
        is_slow: false,
        differs: DRIVERS_DIFFER,
    },
    Script {
        name: "pgjdbc_modes",
        folder: "java",
        command: &["bash", "run.sh", "Drivers", "all"],
        is_slow: true,
        differs: DRIVERS_DIFFER,
    },
    Script {
        name: "spring",
        folder: "java",
        command: &["bash", "run.sh", "Spring"],
        is_slow: false,
        differs: &[],
    },
    Script {
        name: "liquibase",
        folder: "liquibase",
        command: &["bash", "run.sh"],
        is_slow: true,
        differs: &[],
    },
    Script {
        name: "asyncpg",
        folder: "python",
        command: &["python3", "-W", "ignore", "frames.py", "asyncpg"],
        is_slow: false,
        differs: &[("introspection", "ROW(…) as a value")],
    },
    Script {
        name: "psycopg",
        folder: "python",
        command: &["python3", "-W", "ignore", "frames.py", "psycopg"],
        is_slow: false,
        differs: &[],
    },
    Script {
        name: "pandas",
        folder: "python",
        command: &["python3", "-W", "ignore", "frames.py", "pandas"],
        is_slow: false,
        differs: &[],
    },
    Script {
        name: "polars",
        folder: "python",
        command: &["python3", "-W", "ignore", "frames.py", "polars"],
        is_slow: true,
        differs: &[],
    },
    Script {
        name: "duckdb",
        folder: "python",
        command: &["python3", "-W", "ignore", "frames.py", "duckdb"],
        is_slow: true,
        differs: &[],
    },
    Script {
        name: "dbt",
        folder: "dbt",
        command: &["bash", "run.sh"],
        is_slow: true,
        differs: &[],
    },
    Script {
        name: "pdo",
        folder: "php",
        command: &["php", "-d", "display_errors=0", "pdo.php"],
        is_slow: false,
        differs: &[],
    },
    Script {
        name: "psqlodbc",
        folder: "odbc",
        command: &["/usr/bin/python3", "odbc.py"],
        is_slow: false,
        differs: &[],
    },
    Script {
        name: "r",
        folder: "r",
        command: &["Rscript", "frames.R"],
        is_slow: false,
        differs: &[],
    },
    Script {
        name: "go",
        folder: "go",
        command: &["bash", "run.sh"],
        is_slow: true,
        differs: &[],
    },
    Script {
        name: "pooler",
        folder: "pooler",
        command: &["bash", "pooler.sh"],
        is_slow: true,
        differs: &[],
    },
    Script {
        name: "dumps",
        folder: "dumps",
        command: &["bash", "dumps.sh"],
        is_slow: false,
        differs: &[],
    },
    Script {
        name: "parallel_dumps",
        folder: "dumps",
        command: &["bash", "parallel.sh"],
        is_slow: true,
        differs: &[],
    },
    Script {
        name: "rust",
        folder: "rust",
        command: &["bash", "run.sh"],
        is_slow: true,
        differs: &[],
    },
];

const DRIVERS_DIFFER: &[(&str, &str)] = &[
    (
        "altered under",
        "a prepared SELECT * goes on with the columns that it had",
    ),
    ("ref cursor", "there is no type refcursor"),
    ("metadata functions", "the function of a refcursor is not there"),
    ("metadata procedures", "the function of a refcursor is not there"),
    ("metadata schemas", "the schema keyspan is one more"),
    ("large object", "there are no large objects"),
];

/// What a script prints. `None`: what it needs is absent.
fn run_script(script: &Script, place: &Place) -> Option<Vec<String>> {
    let (program, arguments) = script.command.split_first().expect("a command has a program");
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder(script.folder));
    command.args([&place.host, &place.port.to_string(), &place.user, &place.name]);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let Ok(output) = command.output() else {
        eprintln!("skipped: {}: {program} is not installed", script.name);
        return None;
    };
    let faults = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(ABSENT) {
        eprintln!("skipped: {}: {faults}", script.name);
        return None;
    }
    assert!(output.status.success(), "{}: {faults}", script.name);
    let printed = String::from_utf8_lossy(&output.stdout);
    Some(printed.lines().map(str::to_string).collect())
}

/// Every script prints on Keyspan what it prints on PostgreSQL; KEYSPAN_APPLICATION names one of them.
#[tokio::test(flavor = "multi_thread")]
async fn scripts_of_applications_do_as_on_postgresql() {
    let Some(admin) = postgresql::admin() else {
        eprintln!("skipped: PG_URI is not set");
        return;
    };
    let asked = std::env::var("KEYSPAN_APPLICATION").ok();
    let takes_slow = std::env::var_os("KEYSPAN_SLOW_APPLICATIONS").is_some();
    let is_run = |script: &&Script| match &asked {
        Some(asked) => script.name == asked,
        None => takes_slow || !script.is_slow,
    };
    for script in SCRIPTS.iter().filter(is_run) {
        let database = Database::create(&admin, script.name).await;
        let place = place_of(&database.target());
        let expected = tokio::task::spawn_blocking(move || run_script(script, &place))
            .await
            .unwrap();
        database.drop().await;
        let Some(expected) = expected else { continue };
        let data_dir = TempDir::new().unwrap();
        let server = ServerProcess::start(data_dir.path(), &["--set", "keyspan.full_scan=allow"]);
        let place = Place {
            host: server.addr().ip().to_string(),
            port: server.addr().port(),
            user: "app".to_string(),
            name: "app".to_string(),
        };
        let ran = tokio::task::spawn_blocking(move || run_script(script, &place))
            .await
            .unwrap();
        assert_same(script, &expected, &ran.expect("it was there before"));
    }
}

/// Lines that differ although none of the script's reasons says why.
fn assert_same(script: &Script, expected: &[String], ran: &[String]) {
    assert!(expected.len() > 4, "{}: {expected:?}", script.name);
    let is_told = |line: &&String| !script.differs.iter().any(|(part, _)| line.contains(part));
    let expected: Vec<_> = expected.iter().filter(is_told).collect();
    let ran: Vec<_> = ran.iter().filter(is_told).collect();
    let pairs = expected.iter().zip(&ran);
    let other: Vec<_> = pairs.filter(|(expected, ran)| expected != ran).collect();
    assert!(other.is_empty(), "{}: {other:#?}", script.name);
    assert_eq!(ran.len(), expected.len(), "{}: {ran:#?}", script.name);
}
