//! Reads through secondary indexes, along keys and by lookups, prepared, on one connection.

use crate::report::Report;
use crate::statements::repeat_prepared;
use crate::system::System;
use crate::workload::{LOADED_ROWS, Sizes, counted_on_connections};

/// Rows of each kind, and events of each owner.
const ROWS_OF_A_KIND: usize = 1_000;

/// What `$1` is drawn from.
#[derive(Debug, Clone, Copy)]
enum Keys {
    Rows,
    Kinds,
}

/// What the table calls a statement, its keys, and the statement.
const STATEMENTS: [(&str, Keys, &str); 7] = [
    (
        "point read through a unique index",
        Keys::Rows,
        "SELECT * FROM event WHERE ref = $1",
    ),
    (
        "1,000 rows through an index that does not cover",
        Keys::Kinds,
        "SELECT id, note FROM event WHERE kind = $1",
    ),
    (
        "1,000 rows through an index that covers",
        Keys::Kinds,
        "SELECT id, amount FROM event WHERE kind = $1",
    ),
    (
        "keyset page of 100",
        Keys::Kinds,
        "SELECT kind, amount, id FROM event WHERE (kind, amount, id) > ($1, 500, 0) ORDER BY kind, amount, id LIMIT 100",
    ),
    (
        "ORDER BY key DESC LIMIT 20",
        Keys::Rows,
        "SELECT * FROM event ORDER BY id DESC LIMIT 20",
    ),
    (
        "lookup join of 1,000 outer rows",
        Keys::Kinds,
        "SELECT count(*), sum(e.amount) FROM owned o JOIN event e ON e.id = o.event WHERE o.owner = $1",
    ),
    ("count(*)", Keys::Rows, "SELECT count(*) FROM event"),
];

const TABLES: &str = "
    CREATE TABLE event (id bigint PRIMARY KEY, ref bigint, kind bigint, amount int, note text);
    CREATE TABLE owned (owner bigint, n int, event bigint, PRIMARY KEY (owner, n));
    CREATE UNIQUE INDEX ON event (ref);
    CREATE INDEX ON event (kind, amount, id);
";

/// Measures every statement on Keyspan and PostgreSQL in turns.
pub(crate) async fn measure(sizes: &Sizes) -> String {
    let mut systems = vec![System::keyspan().await];
    systems.extend(System::postgresql().await);
    let names = systems.iter().map(|system| system.name().to_string()).collect();
    let heading = format!("indexes: {} rows, medians of {} rounds", sizes.rows, sizes.rounds);
    let mut report = Report::of_part(&heading, names);
    for system in &mut systems {
        load(system, sizes.rows).await;
    }
    for (name, keys, sql) in STATEMENTS {
        let keys = match keys {
            Keys::Rows => sizes.rows,
            Keys::Kinds => sizes.rows / ROWS_OF_A_KIND,
        };
        // A round before those that count: caches fill.
        for round in 0..=sizes.rounds {
            for (at, system) in systems.iter().enumerate() {
                let speed = counted_on_connections(system, 1, |client, at| async move {
                    repeat_prepared(client, sql, keys, round as u64 * 100 + at).await
                });
                let speed = speed.await;
                if round > 0 {
                    report.add(name, "statements/s", at, speed);
                }
            }
        }
        eprintln!("measured: {name}");
    }
    for system in systems {
        system.stop();
    }
    report.table()
}

async fn load(system: &mut System, rows: usize) {
    let client = system.connect().await;
    client.batch_execute(TABLES).await.expect("the tables are made");
    let kinds = rows / ROWS_OF_A_KIND;
    for first in (0..rows).step_by(LOADED_ROWS) {
        let last = rows.min(first + LOADED_ROWS) - 1;
        // Neighbours have nothing in common but their keys.
        for statement in [
            format!(
                "INSERT INTO event SELECT g, (g * 7919) % {rows}, g % {kinds}, (g * 31) % 1000, repeat(md5(g::text), 3) \
                 FROM generate_series({first}::bigint, {last}) g"
            ),
            format!(
                "INSERT INTO owned SELECT g % {kinds}, g / {kinds}, (g * 104729) % {rows} \
                 FROM generate_series({first}::bigint, {last}) g"
            ),
        ] {
            client
                .batch_execute(&statement)
                .await
                .expect("the rows are inserted");
        }
    }
    system.settle_table("event").await;
    system.settle_table("owned").await;
}
