//! Statements of many shapes, as applications and tools send them: prepared, on one connection and on eight.
//!
//! `shapes.queries.sql` has them. Before each stands `-- keys: name`, where the keys say what `$1` is (`Keys`); a shape of
//! several statements counts once when all of them ran. `{N rows}` stands for so many rows of VALUES.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use crate::report::Report;
use crate::system::System;
use crate::workload::{Sizes, counted_on_connections, is_wanted, number};

/// How long a shape is repeated in a round.
const ROUND: Duration = Duration::from_millis(400);
/// Connections at once.
const CONNECTIONS: [usize; 2] = [1, 8];
/// Orders of each customer.
const ORDERS_OF_A_CUSTOMER: usize = 10;
/// Shapes read up to so many rows from their key on.
const ROWS_AHEAD: usize = 1_000;
/// From one new key to the next, so that a statement can write several rows.
const NEW_KEY_STEP: i64 = 1_000;
/// Rows that one round can delete; 8 connections delete fewer.
const DOOMED_ROWS: usize = 50_000;

const SCHEMA: &str = include_str!("shapes.schema.sql");
const QUERIES: &str = include_str!("shapes.queries.sql");

/// The next key that no row has yet, beyond all that are loaded.
static NEXT_KEY: AtomicI64 = AtomicI64::new(1 << 40);

/// What `$1` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// The key of some loaded row.
    Any,
    /// A key that no row has, nor the next `NEW_KEY_STEP`.
    New,
    /// The key of a row of `doomed` that is still there.
    Doomed,
}

/// What is repeated, and what the table calls it.
#[derive(Debug, Clone)]
struct Shape {
    name: String,
    keys: Keys,
    statements: Vec<String>,
}

impl Shape {
    /// Those of `shapes.queries.sql`.
    fn all() -> Vec<Shape> {
        let shapes = QUERIES.split("-- ").skip(1);
        shapes.map(Shape::parsed).collect()
    }

    fn parsed(text: &str) -> Shape {
        let (head, sql) = text.split_once('\n').expect("statements follow the name");
        let (keys, name) = head.split_once(": ").expect("keys stand before the name");
        let statements = sql.split(";\n").map(str::trim).filter(|sql| !sql.is_empty());
        Shape {
            name: name.to_string(),
            keys: match keys {
                "any" => Keys::Any,
                "new" => Keys::New,
                "doomed" => Keys::Doomed,
                other => panic!("shapes.queries.sql: there are no keys \"{other}\""),
            },
            statements: statements.map(with_rows).collect(),
        }
    }

    /// What the system says when it cannot prepare a statement of it.
    async fn refusal(&self, system: &System) -> Option<String> {
        let client = system.connect().await;
        for sql in &self.statements {
            if let Err(error) = client.prepare_typed(sql, types_of(sql)).await {
                let message = error.as_db_error().map(|error| error.message().to_string());
                let message = message.unwrap_or_else(|| error.to_string());
                return Some(format!("{} on {}: {message}", self.name, system.name()));
            }
        }
        None
    }

    /// Repetitions a second.
    async fn speed(&self, system: &System, connections: usize, rows: usize, round: usize) -> f64 {
        if self.keys == Keys::Doomed {
            refill(system).await;
        }
        counted_on_connections(system, connections, |client, at| {
            self.clone().repeat(client, rows, round as u64 * 100 + at)
        })
        .await
    }

    /// Repeats it for a round; answers how often.
    async fn repeat(self, client: Client, rows: usize, seed: u64) -> usize {
        let mut prepared = Vec::new();
        for sql in &self.statements {
            let statement = client.prepare_typed(sql, types_of(sql)).await;
            prepared.push(statement.unwrap_or_else(|error| panic!("{}: {error:?}", self.name)));
        }
        let mut random = StdRng::seed_from_u64(seed);
        let (start, mut done) = (Instant::now(), 0);
        while start.elapsed() < ROUND {
            let key = match self.keys {
                Keys::Any => random.random_range(0..rows - ROWS_AHEAD) as i64,
                Keys::New | Keys::Doomed => NEXT_KEY.fetch_add(NEW_KEY_STEP, Ordering::Relaxed),
            };
            for statement in &prepared {
                let parameters: &[&(dyn ToSql + Sync)] = if statement.params().is_empty() {
                    &[]
                } else {
                    &[&key]
                };
                let result = client.query(statement, parameters).await;
                result.unwrap_or_else(|error| panic!("{}: {error:?}", self.name));
            }
            done += 1;
        }
        done
    }
}

/// The types of a statement's parameters.
fn types_of(sql: &str) -> &'static [Type] {
    match sql.contains("$1") {
        true => &[Type::INT8],
        false => &[],
    }
}

/// The statement with `{N rows}` written out.
fn with_rows(sql: &str) -> String {
    let Some((head, rest)) = sql.split_once('{') else {
        return sql.to_string();
    };
    let Some((count, tail)) = rest.split_once(" rows}") else {
        return sql.to_string();
    };
    let count: usize = count.parse().expect("a number of rows");
    let rows: Vec<String> = (0..count)
        .map(|at| format!("($1 + {at}, {at}, 'row {at} of {count}')"))
        .collect();
    format!("{head}{}{tail}", rows.join(", "))
}

/// Measures every shape on Keyspan and PostgreSQL in turns; those that the command line names, if it does. What one of
/// them refuses is a dash in the table and a line behind it.
pub(crate) async fn measure(sizes: &Sizes) -> String {
    let rows = number("KEYSPAN_BENCH_STATEMENT_ROWS", 100_000).max(10 * ROWS_AHEAD);
    let mut systems = vec![System::keyspan().await];
    systems.extend(System::postgresql().await);
    let names = systems.iter().map(|system| system.name().to_string()).collect();
    let heading = format!(
        "statements of many shapes: {rows} rows, medians of {} rounds",
        sizes.rounds
    );
    let mut report = Report::of_part(&heading, names);
    for system in &mut systems {
        load(system, rows).await;
    }
    let mut notes = String::new();
    for shape in Shape::all().iter().filter(|shape| is_wanted(&shape.name)) {
        let mut able = Vec::new();
        for (at, system) in systems.iter().enumerate() {
            match shape.refusal(system).await {
                Some(refusal) => notes.push_str(&format!("\n{refusal}")),
                None => able.push((at, system)),
            }
        }
        for connections in CONNECTIONS {
            let name = format!("{}, {connections}", shape.name);
            // A round before those that count: caches fill.
            for round in 0..=sizes.rounds {
                for (at, system) in &able {
                    let speed = shape.speed(system, connections, rows, round).await;
                    if round > 0 {
                        report.add(&name, "statements/s", *at, speed);
                    }
                }
            }
            eprintln!("measured: {name}");
        }
    }
    for system in systems {
        system.stop();
    }
    format!("{}\n{notes}", report.table())
}

/// Makes the tables and their rows. Neighbouring orders are of one customer and were placed far apart.
async fn load(system: &mut System, rows: usize) {
    let client = system.connect().await;
    client.batch_execute(SCHEMA).await.expect("the tables are made");
    let each = |rows: usize| format!("FROM generate_series(0::bigint, {}) g", rows - 1);
    for statement in [
        format!(
            "INSERT INTO customer SELECT g, 'customer ' || g, g % 100, jsonb_build_object('name', 'customer ' || g, \
             'tags', jsonb_build_array('a', g % 7), 'active', g % 2 = 0, \
             'address', jsonb_build_object('city', 'city ' || g % 100)) {}",
            each(rows / ORDERS_OF_A_CUSTOMER)
        ),
        format!(
            "INSERT INTO shop_order SELECT g, g / {ORDERS_OF_A_CUSTOMER}, (g * 31) % 1000, (g * 7919) % {rows}, \
             'order ' || g || ' left the warehouse in time' {}",
            each(rows)
        ),
        format!(
            "INSERT INTO item SELECT g / 2, g % 2 + 1, (g * 31) % 10 {}",
            each(2 * rows)
        ),
        format!("INSERT INTO counter SELECT g, 0 {}", each(rows)),
        format!("INSERT INTO change SELECT g, g % 10 {}", each(rows)),
    ] {
        client
            .batch_execute(&statement)
            .await
            .expect("the rows are inserted");
    }
    system.settle_table("").await;
}

/// Gives `doomed` a row for each of the next keys; some of an earlier round may still be there.
async fn refill(system: &System) {
    let insert = format!(
        "INSERT INTO doomed SELECT {} + g * {NEW_KEY_STEP}, g % 1000 FROM generate_series(0::bigint, {}) g \
         ON CONFLICT DO NOTHING",
        NEXT_KEY.load(Ordering::Relaxed),
        DOOMED_ROWS - 1
    );
    let client = system.connect().await;
    client
        .batch_execute(&insert)
        .await
        .expect("the rows are inserted");
}
