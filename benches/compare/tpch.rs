//! TPC-H: the 22 queries of the specification over its eight tables on both systems, answers compared, times side by side: first with
//! primary keys alone, then with indexes on foreign keys and dates, which must make no query much slower.
//!
//! The data are read from the folder that `KEYSPAN_BENCH_TPCH_DATA` names: `region.tbl` to `lineitem.tbl`, as `dbgen` of
//! the TPC writes them, or `tpchgen-cli` (`pip install tpchgen-cli && tpchgen-cli -s 0.1 --output-dir FOLDER`).

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio_postgres::{Client, SimpleQueryMessage};

use crate::report::Report;
use crate::system::System;

/// A query may take so long on either system.
const QUERY_TIME_MAX: Duration = Duration::from_secs(60);
/// Rows of one INSERT, and INSERTs of one transaction.
const LOADED_ROWS: usize = 500;
const LOADED_STATEMENTS: usize = 20;
/// Runs of each query, of which the fastest counts.
const RUNS: usize = 4;

/// The tables with the specification's types and primary keys.
const SCHEMA: &str = include_str!("tpch.schema.sql");
/// Eight indexes, on foreign keys and dates.
const INDEXES: &str = include_str!("tpch.indexes.sql");
/// The queries with the specification's validation parameters, each ended by a semicolon.
const QUERIES: &str = include_str!("tpch.queries.sql");
/// The tables, those that others refer to first.
const TABLES: [&str; 8] = [
    "region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem",
];

/// What a query gave: rows of texts, in order.
type Answer = Vec<Vec<Option<String>>>;

/// Loads both systems, runs each query on both, makes the indexes, and runs each again.
pub(crate) async fn measure() -> String {
    let folder = data_folder();
    let mut systems = vec![System::keyspan().await];
    systems.extend(System::postgresql().await);
    let mut loaded = report(&folder, "primary keys alone", &systems);
    for (at, system) in systems.iter_mut().enumerate() {
        let start = Instant::now();
        load(system, &folder).await;
        loaded.add("load", "ms", at, milliseconds(start));
        system.settle_table("").await;
    }
    let without = measure_queries(loaded, &systems).await;
    let mut indexed = report(&folder, "eight more indexes", &systems);
    for (at, system) in systems.iter_mut().enumerate() {
        let start = Instant::now();
        let made = system.connect().await.batch_execute(INDEXES).await;
        made.expect("the indexes are made");
        indexed.add("CREATE INDEX", "ms", at, milliseconds(start));
        system.settle_table("").await;
    }
    let with = measure_queries(indexed, &systems).await;
    for system in systems {
        system.stop();
    }
    format!("{without}\n\n{with}")
}

fn report(folder: &Path, keys: &str, systems: &[System]) -> Report {
    let names = systems.iter().map(|system| system.name().to_string()).collect();
    let heading = format!(
        "TPC-H over {}, {keys}, the fastest of {RUNS} runs",
        folder.display()
    );
    Report::of_part(&heading, names)
}

/// Runs each query on each system; what differs, or fails, stands behind the table.
async fn measure_queries(mut report: Report, systems: &[System]) -> String {
    let mut notes = String::new();
    for (number, sql) in (1..).zip(queries()) {
        let name = format!("q{number}");
        let mut answers = Vec::new();
        for (at, system) in systems.iter().enumerate() {
            let (fastest, answer) = fastest_run(system, sql).await;
            report.add(&name, "ms", at, fastest);
            if let Err(error) = &answer {
                let _ = write!(notes, "\n{name} on {}: {error}", system.name());
            }
            answers.push(answer);
        }
        if let [Ok(ours), Ok(theirs)] = answers.as_slice()
            && let Some(difference) = difference(ours, theirs)
        {
            let _ = write!(notes, "\n{name} differs: {difference}");
        }
        eprintln!("measured: {name}");
    }
    let notes = match notes.is_empty() {
        true => "\nall answers are equal".to_string(),
        false => notes,
    };
    format!("{}\n{notes}", report.table())
}

/// Milliseconds that the fastest run of a query takes, and what the last gave.
async fn fastest_run(system: &System, sql: &str) -> (f64, Result<Answer, String>) {
    let client = system.connect().await;
    prepare(system, &client).await;
    let (mut fastest, mut answer) = (f64::INFINITY, Ok(Vec::new()));
    for _ in 0..RUNS {
        let start = Instant::now();
        answer = run(&client, sql).await;
        fastest = fastest.min(milliseconds(start));
        if answer.is_err() {
            break;
        }
    }
    (fastest, answer)
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

fn data_folder() -> PathBuf {
    let folder = std::env::var_os("KEYSPAN_BENCH_TPCH_DATA").map(PathBuf::from);
    folder
        .filter(|folder| folder.join("lineitem.tbl").is_file())
        .unwrap_or_else(|| {
            panic!(
                "KEYSPAN_BENCH_TPCH_DATA must name a folder with region.tbl … lineitem.tbl; to make one: \
                 pip install tpchgen-cli && tpchgen-cli -s 0.1 --output-dir FOLDER"
            )
        })
}

/// The statements of `QUERIES`.
fn queries() -> impl Iterator<Item = &'static str> {
    QUERIES
        .split(';')
        .map(str::trim)
        .filter(|query| !query.is_empty())
}

/// What every session is set to before it runs a query.
async fn prepare(system: &System, client: &Client) {
    let timeout = format!("SET statement_timeout = {}", QUERY_TIME_MAX.as_millis());
    client.batch_execute(&timeout).await.expect("a setting is taken");
    if system.is_keyspan() {
        let allowed = client.batch_execute("SET keyspan.full_scan = allow").await;
        allowed.expect("a setting is taken");
    }
}

/// Makes the tables and inserts the rows of their files.
async fn load(system: &System, folder: &Path) {
    let client = system.connect().await;
    client.batch_execute(SCHEMA).await.expect("the tables are made");
    for table in TABLES {
        let path = folder.join(format!("{table}.tbl"));
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let rows: Vec<&str> = text.lines().collect();
        for part in rows.chunks(LOADED_ROWS * LOADED_STATEMENTS) {
            let statements: Vec<String> = part.chunks(LOADED_ROWS).map(|rows| insert(table, rows)).collect();
            let loaded = client
                .batch_execute(&format!("BEGIN; {}; COMMIT", statements.join("; ")))
                .await;
            loaded.unwrap_or_else(|error| panic!("{table}: {error:?}"));
        }
    }
}

/// An INSERT of rows as the files have them: fields that end with `|`.
fn insert(table: &str, rows: &[&str]) -> String {
    let literals = |row: &&str| {
        let fields = row.strip_suffix('|').unwrap_or(row).split('|');
        let fields: Vec<String> = fields
            .map(|field| format!("'{}'", field.replace('\'', "''")))
            .collect();
        format!("({})", fields.join(","))
    };
    let rows: Vec<String> = rows.iter().map(literals).collect();
    format!("INSERT INTO {table} VALUES {}", rows.join(","))
}

async fn run(client: &Client, sql: &str) -> Result<Answer, String> {
    let messages = client.simple_query(sql).await.map_err(|error| {
        error
            .as_db_error()
            .map_or(error.to_string(), |error| error.message().to_string())
    })?;
    let row = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|at| row.get(at).map(str::to_string)).collect())
        }
        _ => None,
    };
    Ok(messages.iter().filter_map(row).collect())
}

/// Where two answers differ; rows of equal sort keys may come in any order. Numbers are compared by value, so that a
/// numeric of another scale is equal, but one of other digits is not.
fn difference(ours: &Answer, theirs: &Answer) -> Option<String> {
    if ours.len() != theirs.len() {
        return Some(format!("{} rows, not {}", ours.len(), theirs.len()));
    }
    let mut counts: HashMap<Vec<Option<String>>, i64> = HashMap::new();
    for row in theirs {
        *counts.entry(by_value(row)).or_default() += 1;
    }
    let strange = ours.iter().find(|row| {
        let count = counts.entry(by_value(row)).or_default();
        *count -= 1;
        *count < 0
    })?;
    let nearest = theirs
        .iter()
        .find(|row| row.first() == strange.first())
        .or(theirs.first());
    Some(format!("{strange:?}, not {nearest:?}"))
}

/// A row whose numbers have no zeros behind their last digit.
fn by_value(row: &[Option<String>]) -> Vec<Option<String>> {
    let is_fraction =
        |text: &str| text.contains('.') && text.bytes().all(|byte| b"-.0123456789".contains(&byte));
    row.iter()
        .map(|cell| match cell.as_deref() {
            Some(text) if is_fraction(text) => {
                Some(text.trim_end_matches('0').trim_end_matches('.').to_string())
            }
            cell => cell.map(str::to_string),
        })
        .collect()
}
