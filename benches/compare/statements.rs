//! Short statements: by key or over a few rows, with something to compute, in both protocols, on one connection and on
//! eight, beside a server that has each answer ready (`floor`). The table is YCSB's: a key and ten fields of 100 bytes.

use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::floor;
use crate::report::Report;
use crate::system::System;
use crate::workload::{LOADED_ROWS, Sizes, counted_on_connections, number};

/// How long a statement is repeated in a round.
const ROUND: Duration = Duration::from_millis(400);
/// Connections at once.
const CONNECTIONS: [usize; 2] = [1, 8];
const FIELDS: usize = 10;

/// A statement with `$1` for a key, and what the table calls it.
const STATEMENTS: [(&str, &str); 11] = [
    ("SELECT 1", "SELECT 1"),
    ("whole row by key", "SELECT * FROM usertable WHERE ycsb_key = $1"),
    (
        "two functions by key",
        "SELECT upper(field0), length(field1) FROM usertable WHERE ycsb_key = $1",
    ),
    (
        "whole row by key, LIKE",
        "SELECT * FROM usertable WHERE ycsb_key = $1 AND field0 LIKE 'a%'",
    ),
    (
        "join by key",
        "SELECT a.field0, b.field1 FROM usertable a JOIN usertable b ON b.ycsb_key = a.ycsb_key \
         WHERE a.ycsb_key = $1",
    ),
    (
        "count and max of 100 rows",
        "SELECT count(*), max(field0) FROM usertable WHERE ycsb_key BETWEEN $1 AND $1 + 100",
    ),
    (
        "10 rows in key order, filtered by a function",
        "SELECT ycsb_key FROM usertable WHERE ycsb_key > $1 AND length(field0) > 5 ORDER BY ycsb_key LIMIT 10",
    ),
    (
        "5 of 50 rows by another order",
        "SELECT ycsb_key, field0 FROM usertable WHERE ycsb_key BETWEEN $1 AND $1 + 50 ORDER BY field0 LIMIT 5",
    ),
    (
        "whole rows, 100 of a range",
        "SELECT * FROM usertable WHERE ycsb_key >= $1 ORDER BY ycsb_key LIMIT 100",
    ),
    (
        "update by key",
        "UPDATE usertable SET field3 = 'another text' WHERE ycsb_key = $1",
    ),
    (
        "update by key, computed",
        "UPDATE usertable SET field0 = upper(field1) WHERE ycsb_key = $1",
    ),
];

/// How a statement is sent.
#[derive(Debug, Clone, Copy)]
enum Protocol {
    Prepared,
    Simple,
}

/// Measures every statement on Keyspan and PostgreSQL in turns.
pub(crate) async fn measure(sizes: &Sizes) -> String {
    let rows = number("KEYSPAN_BENCH_STATEMENT_ROWS", 100_000).max(LOADED_ROWS);
    let mut systems = vec![System::keyspan().await];
    systems.extend(System::postgresql().await);
    let names = systems.iter().map(|system| system.name().to_string()).collect();
    let heading = format!(
        "short statements: {rows} rows, medians of {} rounds",
        sizes.rounds
    );
    let mut report = Report::of_part(&heading, names).with_layers(&["floor"]);
    for system in &mut systems {
        load(system, rows).await;
    }
    for (name, sql) in STATEMENTS {
        let key = (rows / 2).to_string();
        let (floor, _folder) = floor::of(&systems[0], &sql.replace("$1", &key)).await;
        for (protocol, connections) in [Protocol::Prepared, Protocol::Simple]
            .into_iter()
            .flat_map(|protocol| CONNECTIONS.map(|connections| (protocol, connections)))
        {
            let name = match protocol {
                Protocol::Prepared => format!("{name}, prepared, {connections}"),
                Protocol::Simple => format!("{name}, simple, {connections}"),
            };
            for round in 0..sizes.rounds {
                for (at, system) in systems.iter().enumerate() {
                    let speed = speed(system, sql, protocol, connections, rows, round).await;
                    report.add(&name, "statements/s", at, speed);
                }
                let speed = speed(&floor, sql, protocol, connections, rows, round).await;
                report.add(&name, "statements/s", Report::layer("floor"), speed);
            }
            eprintln!("measured: {name}");
        }
    }
    for system in systems {
        system.stop();
    }
    report.table()
}

async fn load(system: &mut System, rows: usize) {
    let client = system.connect().await;
    let fields: Vec<String> = (0..FIELDS).map(|at| format!("field{at} text")).collect();
    let create = format!(
        "CREATE TABLE usertable (ycsb_key bigint PRIMARY KEY, {})",
        fields.join(", ")
    );
    client.batch_execute(&create).await.expect("the table is made");
    let mut random = StdRng::seed_from_u64(0);
    let mut text = || -> String {
        let letters = (0..100).map(|_| char::from(random.random_range(b'a'..=b'z')));
        letters.collect()
    };
    for first in (0..rows).step_by(LOADED_ROWS) {
        let row = |key: usize, text: &mut dyn FnMut() -> String| {
            let fields: Vec<String> = (0..FIELDS).map(|_| format!("'{}'", text())).collect();
            format!("({key}, {})", fields.join(", "))
        };
        let last = rows.min(first + LOADED_ROWS);
        let values: Vec<String> = (first..last).map(|key| row(key, &mut text)).collect();
        let insert = format!("INSERT INTO usertable VALUES {}", values.join(", "));
        client
            .batch_execute(&insert)
            .await
            .expect("the rows are inserted");
    }
    system.settle_table("usertable").await;
}

/// Statements a second.
async fn speed(
    system: &System,
    sql: &'static str,
    protocol: Protocol,
    connections: usize,
    rows: usize,
    round: usize,
) -> f64 {
    counted_on_connections(system, connections, |client, at| async move {
        let seed = round as u64 * 100 + at;
        match protocol {
            Protocol::Prepared => repeat_prepared(client, sql, rows, seed).await,
            Protocol::Simple => repeat_simple(client, sql, rows, seed).await,
        }
    })
    .await
}

/// Repeats a statement with keys below `rows` for a round; answers how often.
pub(crate) async fn repeat_prepared(client: Client, sql: &str, rows: usize, seed: u64) -> usize {
    let types: &[Type] = if sql.contains("$1") { &[Type::INT8] } else { &[] };
    let statement = client.prepare_typed(sql, types).await.expect("it prepares");
    let mut random = StdRng::seed_from_u64(seed);
    let (start, mut done) = (Instant::now(), 0);
    while start.elapsed() < ROUND {
        let key = random.random_range(0..rows) as i64;
        let result = match statement.params().len() {
            0 => client.query(&statement, &[]).await,
            _ => client.query(&statement, &[&key]).await,
        };
        result.expect("it runs");
        done += 1;
    }
    done
}

async fn repeat_simple(client: Client, sql: &str, rows: usize, seed: u64) -> usize {
    let mut random = StdRng::seed_from_u64(seed);
    let (start, mut done) = (Instant::now(), 0);
    while start.elapsed() < ROUND {
        let key = random.random_range(0..rows);
        client
            .simple_query(&sql.replace("$1", &key.to_string()))
            .await
            .expect("it runs");
        done += 1;
    }
    done
}
