//! What is measured: each `Workload` runs once a round on each system and gives its speed.

use std::future::Future;
use std::time::Instant;

use futures::TryStreamExt;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::system::System;

/// Rows of one INSERT while loading.
pub(crate) const LOADED_ROWS: usize = 1_000;
/// First key columns of the table; a row's is its number modulo this.
const CHANNELS: usize = 8;
/// Rows of one range read.
const RANGE_ROWS: usize = 1_000;

/// How much is measured.
pub(crate) struct Sizes {
    /// Rows of the table.
    pub(crate) rows: usize,
    /// Measurements a figure.
    pub(crate) rounds: usize,
}

impl Sizes {
    /// The sizes that the environment names.
    pub(crate) fn from_environment() -> Sizes {
        Sizes {
            rows: number("KEYSPAN_BENCH_ROWS", 1_000_000).max(20_000),
            rounds: number("KEYSPAN_BENCH_ROUNDS", 5).max(1),
        }
    }
}

/// A number that the environment may name.
pub(crate) fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| {
        text.parse().unwrap_or_else(|_| panic!("{name} is a number"))
    })
}

/// Whether the command line names what is called so, or names nothing.
pub(crate) fn is_wanted(name: &str) -> bool {
    let mut words = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with('-'))
        .peekable();
    words.peek().is_none() || words.any(|word| name.contains(word.as_str()))
}

/// The kinds of work.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Workload {
    PointPrepared,
    PointPrepared8,
    PointSimple,
    PointSimple8,
    MultiGet100,
    MultiGet2000,
    Range,
    Stream,
    Insert,
    Insert16,
}

impl Workload {
    /// In the order of the table.
    pub(crate) const ALL: [Workload; 10] = [
        Workload::PointPrepared,
        Workload::PointPrepared8,
        Workload::PointSimple,
        Workload::PointSimple8,
        Workload::MultiGet100,
        Workload::MultiGet2000,
        Workload::Range,
        Workload::Stream,
        Workload::Insert,
        Workload::Insert16,
    ];

    /// The line of the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Workload::PointPrepared => "point read, prepared, 1 connection",
            Workload::PointPrepared8 => "point read, prepared, 8 connections",
            Workload::PointSimple => "point read, simple protocol, 1 connection",
            Workload::PointSimple8 => "point read, simple protocol, 8 connections",
            Workload::MultiGet100 => "multi-get of 100 keys",
            Workload::MultiGet2000 => "multi-get of 2,000 keys",
            Workload::Range => "range of 1,000 rows",
            Workload::Stream => "stream the whole table",
            Workload::Insert => "insert of one row, durable, 1 connection",
            Workload::Insert16 => "insert of one row, durable, 16 connections",
        }
    }

    /// What its figure counts.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Workload::MultiGet100 | Workload::MultiGet2000 => "keys/s",
            Workload::Range | Workload::Stream => "rows/s",
            Workload::Insert | Workload::Insert16 => "rows/s",
            _ => "reads/s",
        }
    }

    /// Runs it once and gives its speed.
    pub(crate) async fn run(self, system: &System, sizes: &Sizes, round: usize) -> f64 {
        let rows = sizes.rows;
        match self {
            Workload::PointPrepared => {
                on_connections(system, 1, 3_000, |c, n, seed| points(c, n, seed, rows)).await
            }
            Workload::PointPrepared8 => {
                on_connections(system, 8, 1_500, |c, n, seed| points(c, n, seed, rows)).await
            }
            Workload::PointSimple => {
                on_connections(system, 1, 3_000, |c, n, seed| simple(c, n, seed, rows)).await
            }
            Workload::PointSimple8 => {
                on_connections(system, 8, 1_500, |c, n, seed| simple(c, n, seed, rows)).await
            }
            Workload::MultiGet100 => {
                100.0 * on_connections(system, 1, 200, |c, n, seed| multi_gets(c, n, seed, rows, 100)).await
            }
            Workload::MultiGet2000 => {
                2_000.0
                    * on_connections(system, 1, 20, |c, n, seed| multi_gets(c, n, seed, rows, 2_000)).await
            }
            Workload::Range => {
                RANGE_ROWS as f64
                    * on_connections(system, 1, 100, |c, n, seed| ranges(c, n, seed, rows)).await
            }
            Workload::Stream => on_connections(system, 1, rows, |c, n, _| stream(c, n)).await,
            Workload::Insert => on_connections(system, 1, 300, |c, n, seed| inserts(c, n, round, seed)).await,
            Workload::Insert16 => {
                on_connections(system, 16, 100, |c, n, seed| inserts(c, n, 1_000 + round, seed)).await
            }
        }
    }
}

/// Point reads by 8 connections, of other rows in every round; reads a second.
pub(crate) async fn uniform_points(system: &System, each: usize, rows: usize, round: usize) -> f64 {
    let first_seed = 1_000 * (round as u64 + 1);
    on_connections(system, 8, each, |c, n, seed| {
        points(c, n, first_seed + seed, rows)
    })
    .await
}

/// Makes the table.
pub(crate) async fn create_table(system: &System) {
    let create = "CREATE TABLE bench (channel varchar(16) NOT NULL, id bigint NOT NULL, ts timestamp, status varchar(16),
                  location varchar(32), amount bigint, note varchar(64), PRIMARY KEY (channel, id))";
    system
        .connect()
        .await
        .batch_execute(create)
        .await
        .expect("the table is made");
}

/// Inserts the rows `first .. end` in one statement; rows a second.
pub(crate) async fn load_rows(system: &System, first: usize, end: usize) -> f64 {
    let client = system.connect().await;
    let values: Vec<String> = (first..end).map(row_literal).collect();
    let insert = format!("INSERT INTO bench VALUES {}", values.join(", "));
    let start = Instant::now();
    client
        .batch_execute(&insert)
        .await
        .expect("the rows are inserted");
    (end - first) as f64 / start.elapsed().as_secs_f64()
}

/// The first key column of a row.
fn channel(row: usize) -> String {
    format!("channel{}", row % CHANNELS)
}

/// A row of about 130 bytes as SQL text.
fn row_literal(row: usize) -> String {
    const CITIES: [&str; 5] = ["shanghai", "beijing", "hangzhou", "shenzhen", "guangzhou"];
    format!(
        "('{}', {row}, '2024-01-20 21:35:02.{:03}', 'delivered', '{}', {}, 'order {row} left the warehouse in time')",
        channel(row),
        row % 1000,
        CITIES[row % CITIES.len()],
        row * 7,
    )
}

/// Runs `each` operations on every one of several connections at once; operations a second. `work` takes a connection,
/// a number of operations and a seed; what it prepares is part of the time, once a connection.
async fn on_connections<F, W>(system: &System, connections: usize, each: usize, work: W) -> f64
where
    W: Fn(Client, usize, u64) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    counted_on_connections(system, connections, |client, seed| {
        let work = work(client, each, seed);
        async move {
            work.await;
            each
        }
    })
    .await
}

/// The same for work that counts its operations itself.
pub(crate) async fn counted_on_connections<F, W>(system: &System, connections: usize, work: W) -> f64
where
    W: Fn(Client, u64) -> F,
    F: Future<Output = usize> + Send + 'static,
{
    let mut clients = Vec::new();
    for _ in 0..connections {
        clients.push(system.connect().await);
    }
    let start = Instant::now();
    let tasks: Vec<_> = clients
        .into_iter()
        .zip(0..)
        .map(|(client, seed)| tokio::spawn(work(client, seed)))
        .collect();
    let mut done = 0;
    for task in tasks {
        done += task.await.expect("the workload runs");
    }
    done as f64 / start.elapsed().as_secs_f64()
}

/// Point reads by a prepared statement.
async fn points(client: Client, reads: usize, seed: u64, rows: usize) {
    let statement = client
        .prepare("SELECT * FROM bench WHERE channel = $1 AND id = $2")
        .await
        .expect("it prepares");
    let mut random = StdRng::seed_from_u64(seed);
    for _ in 0..reads {
        let row = random.random_range(0..rows);
        let found = client
            .query_one(&statement, &[&channel(row), &(row as i64)])
            .await
            .expect("the row is there");
        assert_eq!(found.get::<_, i64>(1), row as i64);
    }
}

/// Point reads as text.
async fn simple(client: Client, reads: usize, seed: u64, rows: usize) {
    let mut random = StdRng::seed_from_u64(seed);
    for _ in 0..reads {
        let row = random.random_range(0..rows);
        let sql = format!(
            "SELECT * FROM bench WHERE channel = '{}' AND id = {row}",
            channel(row)
        );
        assert_eq!(simple_rows(&client, &sql).await, 1);
    }
}

/// Reads of many keys of one channel at once.
async fn multi_gets(client: Client, reads: usize, seed: u64, rows: usize, keys: usize) {
    let mut random = StdRng::seed_from_u64(seed);
    for _ in 0..reads {
        let first = random.random_range(0..CHANNELS);
        let ids: std::collections::BTreeSet<usize> =
            std::iter::repeat_with(|| random.random_range(0..rows / CHANNELS) * CHANNELS + first)
                .take(keys)
                .collect();
        let list: Vec<String> = ids.iter().map(usize::to_string).collect();
        let sql = format!(
            "SELECT * FROM bench WHERE channel = '{}' AND id IN ({})",
            channel(first),
            list.join(", ")
        );
        assert_eq!(simple_rows(&client, &sql).await, ids.len());
    }
}

/// Reads of neighbouring rows.
async fn ranges(client: Client, reads: usize, seed: u64, rows: usize) {
    let sql = "SELECT * FROM bench WHERE channel = $1 AND id >= $2 AND id < $3";
    let statement = client.prepare(sql).await.expect("it prepares");
    let mut random = StdRng::seed_from_u64(seed);
    let width = RANGE_ROWS * CHANNELS;
    for _ in 0..reads {
        let first = random.random_range(0..rows - width);
        let (from, to) = (first as i64, (first + width) as i64);
        let found = client
            .query(&statement, &[&channel(first), &from, &to])
            .await
            .expect("the range is read");
        assert_eq!(found.len(), RANGE_ROWS);
    }
}

/// Reads everything, a row at a time.
async fn stream(client: Client, rows: usize) {
    let parameters: [i64; 0] = [];
    let sql = "SELECT * FROM bench WHERE channel < 'd'";
    let mut stream = Box::pin(client.query_raw(sql, parameters).await.expect("the query runs"));
    let mut seen = 0;
    while stream.try_next().await.expect("the result streams").is_some() {
        seen += 1;
    }
    assert!(seen >= rows);
}

/// Commits of one row each, beyond the rows that were loaded.
async fn inserts(client: Client, inserts: usize, round: usize, seed: u64) {
    let sql = "INSERT INTO bench (channel, id, status, note) VALUES ($1, $2, 'new', 'inserted alone')";
    let statement = client.prepare(sql).await.expect("it prepares");
    for at in 0..inserts {
        // Apart from the channels that are read: the figures of one round do not change the next.
        let id = ((round as i64) << 40) + ((seed as i64) << 20) + at as i64;
        client
            .execute(&statement, &[&"inserted", &id])
            .await
            .expect("the row is inserted");
    }
}

/// Rows that a query gives in the simple protocol.
async fn simple_rows(client: &Client, sql: &str) -> usize {
    let messages = client.simple_query(sql).await.expect("the query runs");
    messages
        .iter()
        .filter(|message| matches!(message, SimpleQueryMessage::Row(_)))
        .count()
}
