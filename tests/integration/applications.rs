//! Applications that were written for PostgreSQL: each in a folder of `tests/applications`, migrated and tested on Keyspan by what its own
//! users would type. One whose language or libraries are absent says so and passes (`.ci/run` installs them).

use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::postgresql::{self, Database};
use crate::server::ServerProcess;

/// Where a database is, as an application is told.
struct Place {
    host: String,
    port: u16,
    user: String,
    name: String,
    /// The database that tests of the application use, and whether it is there.
    test_name: (String, bool),
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
        .env("DATABASE_TEST_NAME", &place.test_name.0)
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
    match place.test_name.1 {
        true => manage(place, &["test", "--keepdb"]),
        false => manage(place, &["test", "--noinput"]),
    }
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
        name: "postgres".to_string(),
        test_name: ("postgres".to_string(), true),
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
    let target = database.target();
    let (host, port) = target.addr.rsplit_once(':').expect("an address has a port");
    let place = Place {
        host: host.to_string(),
        port: port.parse().expect("a port is a number"),
        user: target.user.clone(),
        name: target.database.clone(),
        test_name: (format!("{}_tests", target.database), false),
    };
    tokio::task::spawn_blocking(move || run_django(&place))
        .await
        .unwrap();
    database.drop().await;
}
