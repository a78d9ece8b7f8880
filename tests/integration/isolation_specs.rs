//! PostgreSQL's own isolation specs, run by PostgreSQL's isolation tester (`ISOLATION_TESTER`, or where Debian's
//! postgresql-client-15 puts it). What it prints is to be what it prints of PostgreSQL, letter by letter; where transactions are
//! refused at SERIALIZABLE, Keyspan, which looks at the commit and after each statement, may refuse more, but never fewer.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use futures::stream::{self, StreamExt};

use crate::server::TestServer;

/// So many at a time: they mostly wait.
const AT_ONCE: usize = 4;

/// Where Keyspan refuses other transactions than PostgreSQL does, or more.
const MAY_REFUSE_MORE: [&str; 6] = [
    "two-ids",
    "multiple-row-versions",
    "read-only-anomaly-2",
    "read-only-anomaly-3",
    "read-write-unique-4",
    "receipt-report",
];

const REFUSED: &str = "could not serialize access";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sql-tests/postgresql_isolation")
}

fn tester() -> Option<PathBuf> {
    let named = std::env::var_os("ISOLATION_TESTER").map(PathBuf::from);
    let installed = "/usr/lib/postgresql/15/lib/pgxs/src/test/isolation/isolationtester";
    Some(named.unwrap_or_else(|| installed.into())).filter(|path| path.exists())
}

/// The names of the specs, but for those that `STEPS` does not name.
fn specs() -> Vec<String> {
    let wanted = std::env::var("STEPS").unwrap_or_default();
    let entries = std::fs::read_dir(folder().join("specs")).expect("the folder of the specs");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let names = paths.filter_map(|path| Some(path.file_stem()?.to_str()?.to_string()));
    let mut names: Vec<String> = names.filter(|name| name.contains(&wanted)).collect();
    names.sort();
    names
}

/// What the tester prints of a spec against a server of its own.
async fn print(tester: PathBuf, name: String) -> String {
    let server = TestServer::start("memory").await;
    let addr = server.addr();
    let connection = format!(
        "host={} port={} user=test dbname=test options='-c keyspan.full_scan=allow -c client_min_messages=warning'",
        addr.ip(),
        addr.port()
    );
    let spec = File::open(folder().join(format!("specs/{name}.spec"))).expect("the spec can be read");
    let run = tokio::task::spawn_blocking(move || {
        let mut command = Command::new(tester);
        command.arg(connection).env("PGDATESTYLE", "Postgres, MDY");
        command.stdin(spec).stderr(Stdio::inherit()).output()
    });
    let output = run.await.expect("the tester ends").expect("the tester runs");
    server.stop().await;
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What PostgreSQL may print of it.
fn expected(name: &str) -> Vec<String> {
    let files = ["", "_1", "_2", "_3"].map(|other| folder().join(format!("expected/{name}{other}.out")));
    let found = files
        .into_iter()
        .filter_map(|path| std::fs::read_to_string(path).ok());
    found.collect()
}

/// What is wrong with what was printed.
fn fault(name: &str, printed: &str) -> Option<String> {
    let expected = expected(name);
    if expected.iter().any(|expected| expected == printed) {
        return None;
    }
    let first = expected.first()?;
    if !MAY_REFUSE_MORE.contains(&name) {
        let mut lines = first.lines().zip(printed.lines());
        let differs = lines.find(|(expected, printed)| expected != printed);
        return Some(format!("{name}: expected and printed: {differs:?}"));
    }
    let (wanted, printed) = (permutations(first), permutations(printed));
    if wanted.len() != printed.len() {
        let (wanted, printed) = (wanted.len(), printed.len());
        return Some(format!("{name}: {printed} permutations of {wanted}"));
    }
    let mut both = wanted.iter().zip(&printed);
    let accepted = both.find(|(wanted, printed)| wanted.contains(REFUSED) && !printed.contains(REFUSED));
    accepted.map(|(_, printed)| format!("{name}: nobody is refused in {printed}"))
}

/// What was printed of each order of steps.
fn permutations(printed: &str) -> Vec<&str> {
    printed.split("starting permutation: ").skip(1).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn specs_print_what_postgresql_prints() {
    let Some(tester) = tester() else {
        eprintln!("skipped: PostgreSQL's isolation tester is not installed");
        return;
    };
    let faults = stream::iter(specs()).map(|name| {
        let printed = print(tester.clone(), name.clone());
        async move { fault(&name, &printed.await) }
    });
    let faults: Vec<String> = faults
        .buffer_unordered(AT_ONCE)
        .filter_map(std::future::ready)
        .collect()
        .await;
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
