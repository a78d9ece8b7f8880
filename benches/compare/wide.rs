//! What the wide table's own features cost: the same rows in a table that uses none of them, in tables whose rows expire, and in one that
//! keeps a hundred versions of each; writes of three columns to a narrow and to a wide table; and small commits while rows are removed.

use std::time::Instant;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio_postgres::Client;

use crate::commits::{SPAN, create_tables, for_a_while};
use crate::report::Report;
use crate::system::System;
use crate::workload::{Sizes, number};

/// What is measured beside one another, and the options of its table.
const TABLES: [(&str, &str); 4] = [
    ("plain", ""),
    ("TTL", "WITH (TTL = '30 days')"),
    ("TTL_COLUMN", "WITH (TTL_COLUMN = 'ends')"),
    ("VERSIONS = 100", "WITH (VERSIONS = '100')"),
];
/// The column whose rows have as many versions as their table keeps.
const OF_VERSIONS: usize = 3;
/// Columns of the wide table, and of the narrow one.
const WIDTHS: [usize; 2] = [5, 1_500];
/// Point reads of one connection in a round.
const READS: usize = 5_000;
/// Durable commits of one row each in a round.
const WRITES: usize = 500;
/// Scans of the whole table in a round.
const SCANS: usize = 10;
/// The default of `keyspan.ttl_rows_per_second`.
const REMOVED_A_SECOND: usize = 10_000;

/// Two tables: reads and writes, and commits beside the removal of rows.
pub(crate) async fn measure(sizes: &Sizes) -> String {
    format!("{}\n\n{}", reads_and_writes(sizes).await, removal(sizes).await)
}

async fn reads_and_writes(sizes: &Sizes) -> String {
    let rows = number("KEYSPAN_BENCH_WIDE_ROWS", 20_000);
    let system = System::keyspan().await;
    let client = system.connect().await;
    for (table, (_, options)) in TABLES.iter().enumerate() {
        load(&client, table, options, rows).await;
    }
    for width in WIDTHS {
        create_wide(&client, width).await;
    }
    let heading = format!(
        "what a table's options cost: {rows} rows, one connection, medians of {} rounds",
        sizes.rounds
    );
    let names = TABLES.iter().map(|(name, _)| (*name).to_string()).collect();
    let mut report = Report::of_part(&heading, names);
    for round in 0..sizes.rounds {
        for table in 0..TABLES.len() {
            report.add(
                "point reads",
                "reads/s",
                table,
                points(&client, table, rows, round).await,
            );
            report.add("scans", "rows/s", table, scans(&client, table, rows).await);
            report.add(
                "inserts of one row",
                "commits/s",
                table,
                inserts(&client, table, round).await,
            );
        }
        for (at, width) in WIDTHS.into_iter().enumerate() {
            let names = [
                "UPSERT of 3 columns of 5 (first) and 1,500",
                "UPDATE of 3 columns of 5 (first) and 1,500",
            ];
            for (name, sql) in names.into_iter().zip([UPSERT, UPDATE]) {
                report.add(name, "commits/s", at, wide_writes(&client, width, sql).await);
            }
        }
        eprintln!("measured: what a table's options cost, round {round}");
    }
    system.stop();
    report.table()
}

/// Makes the table and fills it; where versions are kept, each row has as many.
async fn load(client: &Client, table: usize, options: &str, rows: usize) {
    let statements = format!(
        "CREATE TABLE wide{table} (id bigint PRIMARY KEY, a bigint, note varchar, ends timestamptz) {options};
         INSERT INTO wide{table} SELECT n, n, 'note of row ' || n, '2100-01-01' FROM generate_series(1, {rows}) n"
    );
    client
        .batch_execute(&statements)
        .await
        .expect("the table is filled");
    for _ in 0..if table == OF_VERSIONS { 99 } else { 0 } {
        let update = format!("UPDATE /*+ _l_allow_filtering_ */ wide{table} SET a = a + 1");
        client
            .batch_execute(&update)
            .await
            .expect("the rows get another version");
    }
}

async fn create_wide(client: &Client, width: usize) {
    let columns: Vec<String> = (1..width).map(|column| format!("c{column} bigint")).collect();
    let create = format!(
        "CREATE TABLE of{width} (id bigint PRIMARY KEY, {})",
        columns.join(", ")
    );
    client.batch_execute(&create).await.expect("the table is made");
    let insert = format!("INSERT INTO of{width} (id) SELECT n FROM generate_series(0, 999) n");
    client.batch_execute(&insert).await.expect("the table is filled");
}

const UPSERT: &str = "UPSERT INTO of{width} (id, c1, c2, c3) VALUES ($1, 1, 2, 3)";
const UPDATE: &str = "UPDATE of{width} SET c1 = c1 + 1, c2 = 5, c3 = 7 WHERE id = $1";

async fn points(client: &Client, table: usize, rows: usize, round: usize) -> f64 {
    let sql = format!("SELECT a, note FROM wide{table} WHERE id = $1");
    let statement = client.prepare(&sql).await.expect("it prepares");
    let mut random = StdRng::seed_from_u64(round as u64);
    let start = Instant::now();
    for _ in 0..READS {
        let id = random.random_range(1..=rows) as i64;
        client
            .query_one(&statement, &[&id])
            .await
            .expect("the row is there");
    }
    READS as f64 / start.elapsed().as_secs_f64()
}

async fn scans(client: &Client, table: usize, rows: usize) -> f64 {
    let sql = format!("SELECT sum(a), count(note) FROM wide{table}");
    let statement = client.prepare(&sql).await.expect("it prepares");
    let start = Instant::now();
    for _ in 0..SCANS {
        client
            .query_one(&statement, &[])
            .await
            .expect("the rows are read");
    }
    (SCANS * rows) as f64 / start.elapsed().as_secs_f64()
}

/// Beyond the rows that are read, and removed again: the figures of one round do not change the next.
async fn inserts(client: &Client, table: usize, round: usize) -> f64 {
    let sql = format!("INSERT INTO wide{table} VALUES ($1, 1, 'inserted alone', '2100-01-01')");
    let statement = client.prepare(&sql).await.expect("it prepares");
    let first = (1 + round as i64) << 32;
    let start = Instant::now();
    for at in 0..WRITES as i64 {
        client
            .execute(&statement, &[&(first + at)])
            .await
            .expect("the row is inserted");
    }
    let speed = WRITES as f64 / start.elapsed().as_secs_f64();
    let delete = format!("DELETE FROM wide{table} WHERE id >= {first}");
    client.batch_execute(&delete).await.expect("the rows go");
    speed
}

async fn wide_writes(client: &Client, width: usize, sql: &str) -> f64 {
    let sql = sql.replace("{width}", &width.to_string());
    let statement = client.prepare(&sql).await.expect("it prepares");
    let start = Instant::now();
    for id in 0..WRITES as i64 {
        client
            .execute(&statement, &[&(id % 1_000)])
            .await
            .expect("the row is written");
    }
    WRITES as f64 / start.elapsed().as_secs_f64()
}

/// Small commits before and while a table's rows, all over, are removed.
async fn removal(sizes: &Sizes) -> String {
    let rows = number("KEYSPAN_BENCH_EXPIRED_ROWS", 1_000_000);
    let heading = format!(
        "commits of one row from 4 connections while {rows} rows that are over are removed, medians of {} rounds",
        sizes.rounds
    );
    let system = System::keyspan().await;
    let mut report = Report::of_part(&heading, vec!["before".to_string(), "during".to_string()]);
    create_tables(&system).await;
    let client = system.connect().await;
    let stop = "ALTER SYSTEM SET keyspan.ttl_rows_per_second = 0";
    client.batch_execute(stop).await.expect("no row is removed yet");
    let load = format!(
        "CREATE TABLE expired (id bigint PRIMARY KEY, note varchar, ends timestamptz) WITH (TTL_COLUMN = 'ends');
         CREATE INDEX expired_note ON expired (note);
         INSERT INTO expired SELECT n, 'note ' || n, '2000-01-01' FROM generate_series(1, {rows}) n"
    );
    client.batch_execute(&load).await.expect("the rows are there");
    for round in 0..sizes.rounds {
        for (at, rate) in [0, REMOVED_A_SECOND].into_iter().enumerate() {
            let set = format!("ALTER SYSTEM SET keyspan.ttl_rows_per_second = {rate}");
            client.batch_execute(&set).await.expect("the rate is set");
            let before = removed(&client).await;
            for_a_while(&mut report, at, &system, 2 * round + at).await;
            let speed = (removed(&client).await - before) / SPAN.as_secs_f64();
            report.add("rows removed", "rows/s", at, speed);
        }
        eprintln!("measured: commits beside the removal of rows, round {round}");
    }
    system.stop();
    report.table()
}

/// How many rows have been removed so far.
async fn removed(client: &Client) -> f64 {
    let sql = "SELECT coalesce(sum(removed), 0)::float8 FROM keyspan.ttl";
    let row = client.query_one(sql, &[]).await;
    row.expect("the figures are shown").get(0)
}
