//! Every operator, function and aggregate of PostgreSQL over edge values of its types (`values`), from columns and as
//! literals. `fixtures/edges.jsonl` keeps statements with PostgreSQL 15's answers; when `PG_URI` is set they are asked
//! there too, and more are drawn from its live catalogs, by a seed. What is known to differ is listed in `known` with the
//! reason, and nothing else may.
//!
//! `KEYSPAN_RANDOM_SEED=7` draws others, `KEYSPAN_EDGE_ROWS=40` more for each call. `EDGES_WRITE=1` with the filter
//! `edges_written_anew` writes the fixture from PostgreSQL.

mod calls;
mod known;
mod values;

use std::path::{Path, PathBuf};

use rand::SeedableRng;
use rand::rngs::StdRng;
use serde_json::{Value as Json, json};

use crate::client::{Protocol, TextClient};
use crate::postgresql::Database;
use crate::server::{TestServer, run};

/// Rows of arguments that each call of the fixture is given.
const FIXTURE_ROWS: usize = 6;
/// Rows of arguments that each call that is drawn is given.
const DRAWN_ROWS: usize = 3;

/// What a statement gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rows {
    /// The OIDs of the columns' types.
    types: Vec<u32>,
    /// The rows as text.
    rows: Vec<Vec<Option<String>>>,
}

/// What a statement fails with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    sqlstate: String,
    message: String,
}

type Answer = Result<Rows, Failure>;

async fn answer(client: &mut TextClient, sql: &str) -> Answer {
    match client.run(sql, Protocol::Simple).await {
        Ok(reply) => Ok(Rows {
            types: reply.types,
            rows: reply.rows,
        }),
        Err(error) => Err(Failure {
            sqlstate: error.sqlstate,
            message: error.message,
        }),
    }
}

/// Every setting that the answers depend on.
async fn prepare(client: &mut TextClient) {
    let setup = "SET timezone = 'America/New_York'; SET datestyle = 'ISO, MDY'; SET extra_float_digits = 1";
    run(client, setup).await.expect("the settings exist");
}

/// PostgreSQL, and a database in it; `None`, which is said, without `PG_URI`.
async fn postgresql() -> Option<(Database, TextClient)> {
    let Some((database, mut client)) = Database::with_client("edges").await else {
        eprintln!("skipped: PG_URI is not set");
        return None;
    };
    prepare(&mut client).await;
    Some((database, client))
}

/// What is wrong with an answer, unless it is known to differ.
fn disagreement(sql: &str, ours: &Answer, theirs: &Answer) -> Option<String> {
    if ours == theirs || known::reason(sql, ours, theirs).is_some() {
        return None;
    }
    Some(format!(
        "{sql}\n    keyspan: {ours:?}\n    postgresql: {theirs:?}"
    ))
}

#[track_caller]
fn assert_none_differs(seen: usize, wrong: &[String]) {
    assert!(
        wrong.is_empty(),
        "{} of {seen} differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Where the statements and their answers are kept: a line of JSON each.
fn fixture_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/edges.jsonl")
}

fn fixture() -> Vec<(String, Answer)> {
    let text = std::fs::read_to_string(fixture_path()).expect("the fixture can be read");
    text.lines()
        .map(|line| {
            let entry: Json = serde_json::from_str(line).expect("a line of JSON");
            let sql = entry["sql"].as_str().expect("a statement").to_string();
            let answer = match entry["error"].as_str() {
                Some(sqlstate) => Err(Failure {
                    sqlstate: sqlstate.to_string(),
                    message: entry["message"].as_str().expect("a message").to_string(),
                }),
                None => Ok(Rows {
                    types: serde_json::from_value(entry["types"].clone()).expect("oids"),
                    rows: serde_json::from_value(entry["rows"].clone()).expect("rows of texts"),
                }),
            };
            (sql, answer)
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn edge_values_give_postgresqls_answers() {
    let server = TestServer::start("memory").await;
    let mut client = server.connect_text().await;
    prepare(&mut client).await;
    let (entries, mut wrong) = (fixture(), Vec::new());
    for (sql, expected) in &entries {
        wrong.extend(disagreement(sql, &answer(&mut client, sql).await, expected));
    }
    assert_none_differs(entries.len(), &wrong);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answers_kept_are_postgresqls() {
    let Some((database, mut client)) = postgresql().await else {
        return;
    };
    let (entries, mut wrong) = (fixture(), Vec::new());
    for (sql, expected) in &entries {
        let found = answer(&mut client, sql).await;
        if found != *expected {
            wrong.push(format!("{sql}\n    kept: {expected:?}\n    found: {found:?}"));
        }
    }
    assert_none_differs(entries.len(), &wrong);
    client.close().await;
    database.drop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_drawn_from_the_catalogs_agree() {
    let Some((database, mut theirs)) = postgresql().await else {
        return;
    };
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seed = number("KEYSPAN_RANDOM_SEED").unwrap_or(1_u32);
    let rows = number("KEYSPAN_EDGE_ROWS").map_or(DRAWN_ROWS, |rows: u32| rows as usize);
    let mut rng = StdRng::seed_from_u64(seed.into());
    let server = TestServer::start("memory").await;
    let mut ours = server.connect_text().await;
    prepare(&mut ours).await;
    let (mut seen, mut wrong) = (0, Vec::new());
    for call in calls::calls(&mut theirs).await {
        let statements = call.statements(rows, &mut rng);
        for sql in statements.whole.iter().chain(&statements.single) {
            let expected = answer(&mut theirs, sql).await;
            wrong.extend(disagreement(sql, &answer(&mut ours, sql).await, &expected));
            seen += 1;
        }
    }
    eprintln!("seed {seed}");
    assert_none_differs(seen, &wrong);
    server.stop().await;
    theirs.close().await;
    database.drop().await;
}

/// Writes `fixtures/edges.jsonl` from PostgreSQL: of each call the statement of all rows, or where that fails those of
/// each row.
#[tokio::test(flavor = "multi_thread")]
async fn edges_written_anew() {
    if std::env::var_os("EDGES_WRITE").is_none() {
        eprintln!("skipped: EDGES_WRITE is not set");
        return;
    }
    let Some((database, mut client)) = postgresql().await else {
        return;
    };
    let mut rng = StdRng::seed_from_u64(1);
    let mut lines = String::new();
    for call in calls::calls(&mut client).await {
        let statements = call.statements(FIXTURE_ROWS, &mut rng);
        let mut kept = Vec::new();
        if let Some(whole) = statements.whole {
            kept.push((answer(&mut client, &whole).await, whole));
        }
        if kept.iter().all(|(answer, _)| answer.is_err()) {
            kept.clear();
            for sql in statements.single {
                kept.push((answer(&mut client, &sql).await, sql));
            }
        }
        for (answer, sql) in kept {
            let entry = match answer {
                Ok(Rows { types, rows }) => json!({"sql": sql, "types": types, "rows": rows}),
                Err(Failure { sqlstate, message }) => {
                    json!({"sql": sql, "error": sqlstate, "message": message})
                }
            };
            lines.push_str(&format!("{entry}\n"));
        }
    }
    std::fs::write(fixture_path(), lines).expect("the fixture can be written");
    client.close().await;
    database.drop().await;
}
