//! Random windows and ordered aggregates over tables whose keys and indexes give rows in this order and in that: what a function says of a
//! row, and the order of the result, must be PostgreSQL's.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::{number, run};
use crate::client::Protocol;
use crate::postgresql::Database;
use crate::server::TestServer;

/// Statements, unless `KEYSPAN_RANDOM_STATEMENTS` says how many.
const STATEMENTS: u64 = 200;

const COLUMNS: &str = "g int NOT NULL, h int, n numeric, s text, d date, b bool";

/// Tables with keys of several orders. `{spread}` and `{descending}` are what PostgreSQL does not have.
const TABLES: [&str; 8] = [
    "CREATE TABLE w1 (id int PRIMARY KEY, {columns})",
    "CREATE INDEX ON w1 (g, id DESC)",
    "CREATE INDEX ON w1 (d DESC, s)",
    "CREATE TABLE w2 (id int, {columns}, PRIMARY KEY (g, id))",
    "CREATE TABLE w3 (id int PRIMARY KEY, {columns}){spread}",
    "CREATE INDEX ON w3 (s DESC, id)",
    "CREATE TABLE w4 (id int, {columns}, PRIMARY KEY (g, id{descending}))",
    "CREATE INDEX ON w4 (n)",
];

const ROWS: &str = "INSERT INTO {table} SELECT i, i * 7 % 5, nullif(i * 3 % 6, 4) - 2, nullif(i * 5 % 9, 2) / 2.0, \
    (ARRAY['a', 'b', NULL, '', 'B', 'ab', 'z'])[1 + i * 11 % 7], date '2024-01-01' + nullif(i * 13 % 8, 3), i % 3 = 1 \
    FROM generate_series(1, 36) i";

const KEYS: [&str; 10] = [
    "id",
    "g",
    "h",
    "n",
    "s",
    "d",
    "b",
    "-g",
    "id % 3",
    "coalesce(h, 9)",
];

const FUNCTIONS: [&str; 28] = [
    "row_number()",
    "rank()",
    "dense_rank()",
    "percent_rank()",
    "cume_dist()",
    "ntile(3)",
    "lag(s)",
    "lead(id, 2, -1)",
    "first_value(s)",
    "last_value(id)",
    "nth_value(n, 2)",
    "count(*)",
    "count(h)",
    "sum(n)",
    "sum(id)",
    "avg(n)",
    "min(s)",
    "max(d)",
    "array_agg(id)",
    "string_agg(s, '-')",
    "json_agg(g)",
    "bool_or(b)",
    "bit_or(g)",
    "every(b)",
    "stddev_pop(n)",
    "array_agg(s) FILTER (WHERE g > 1)",
    "sum(id) FILTER (WHERE b)",
    "count(10 / g) FILTER (WHERE g <> 0)",
];

const BOUNDS: [&str; 7] = [
    "UNBOUNDED PRECEDING",
    "2 PRECEDING",
    "1 PRECEDING",
    "CURRENT ROW",
    "1 FOLLOWING",
    "3 FOLLOWING",
    "UNBOUNDED FOLLOWING",
];

/// Makes statements.
struct Windows(StdRng);

impl Windows {
    fn one_of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts.choose(&mut self.0).expect("there is one")
    }

    /// Keys of an order that leaves no two rows alike.
    fn order(&mut self) -> String {
        let mut keys: Vec<String> = (0..self.0.random_range(0..3))
            .map(|_| {
                let (key, direction) = (
                    self.one_of(&KEYS),
                    self.one_of(&["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]),
                );
                format!("{key}{direction}")
            })
            .collect();
        keys.push(format!("id{}", self.one_of(&["", " DESC"])));
        keys.join(", ")
    }

    fn frame(&mut self) -> String {
        if self.0.random_bool(0.5) {
            return String::new();
        }
        let start = self.0.random_range(0..6);
        let end = self.0.random_range(start.max(1)..7);
        let units = self.one_of(&["ROWS", "GROUPS"]);
        let excluded = self.one_of(&[
            "",
            "",
            "",
            " EXCLUDE CURRENT ROW",
            " EXCLUDE TIES",
            " EXCLUDE GROUP",
        ]);
        format!(" {units} BETWEEN {} AND {}{excluded}", BOUNDS[start], BOUNDS[end])
    }

    fn call(&mut self) -> String {
        let function = self.one_of(&FUNCTIONS);
        let parted = self.one_of(&[
            "",
            "",
            "PARTITION BY g ",
            "PARTITION BY s ",
            "PARTITION BY id % 2 ",
        ]);
        format!(
            "{function} OVER ({parted}ORDER BY {}{})",
            self.order(),
            self.frame()
        )
    }

    fn condition(&mut self) -> &'static str {
        self.one_of(&[
            "true",
            "id > 9",
            "g = 2",
            "g IN (0, 3)",
            "s >= 'a'",
            "d < '2024-01-05'",
            "n IS NOT NULL",
            "g BETWEEN 1 AND 3",
        ])
    }

    fn limit(&mut self) -> String {
        match self.0.random_range(0..3) {
            0 => format!(
                " LIMIT {} OFFSET {}",
                self.0.random_range(1..9),
                self.0.random_range(0..4)
            ),
            _ => String::new(),
        }
    }

    fn statement(&mut self) -> String {
        let table = self.one_of(&["w1", "w2", "w3", "w4"]);
        let (condition, limit) = (self.condition(), self.limit());
        match self.0.random_range(0..8) {
            0..4 => {
                let calls: Vec<String> = (0..self.0.random_range(1..4)).map(|_| self.call()).collect();
                let order = self.order();
                format!(
                    "SELECT id, {} FROM {table} WHERE {condition} ORDER BY {order}{limit}",
                    calls.join(", ")
                )
            }
            4 => {
                let (call, outer) = (self.call(), self.condition());
                format!(
                    "SELECT id, v FROM (SELECT *, {call} AS v FROM {table} WHERE {condition}) q WHERE {outer} ORDER BY id{limit}"
                )
            }
            5 => {
                let key = self.one_of(&KEYS[1..]);
                let (order, direction) = (self.order(), self.one_of(&["", " DESC", " NULLS FIRST"]));
                format!(
                    "SELECT {key}, array_agg(id ORDER BY {order}), count(*) FROM {table} WHERE {condition} GROUP BY {key} \
                     ORDER BY {key}{direction}{limit}"
                )
            }
            6 => {
                let key = self.one_of(&KEYS[1..]);
                let (order, direction) = (self.order(), self.one_of(&["", " DESC", " NULLS FIRST"]));
                format!(
                    "SELECT DISTINCT ON ({key}) {key}, id FROM {table} WHERE {condition} ORDER BY {key}{direction}, {order}{limit}"
                )
            }
            _ => {
                let (key, order) = (self.one_of(&KEYS[1..]), self.order());
                let first = self.0.random_range(1..4);
                format!(
                    "SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY {key} ORDER BY {order}) AS nr FROM {table} \
                     WHERE {condition}) q WHERE nr <= {first} ORDER BY id"
                )
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn random_windows_agree() {
    let seed = number("KEYSPAN_RANDOM_SEED").unwrap_or(1);
    let count = number("KEYSPAN_RANDOM_STATEMENTS").unwrap_or(STATEMENTS);
    let Some((database, mut theirs)) = Database::with_client("windows").await else {
        return;
    };
    let server = TestServer::start("sled").await;
    let mut ours = server.connect_text().await;
    run(&mut ours, "SET keyspan.full_scan = allow").await;
    let rows = ["w1", "w2", "w3", "w4"].map(|table| ROWS.replace("{table}", table));
    for statement in TABLES.iter().copied().chain(rows.iter().map(String::as_str)) {
        let made = |spread, descending| {
            let text = statement.replace("{columns}", COLUMNS);
            text.replace("{spread}", spread)
                .replace("{descending}", descending)
        };
        run(&mut ours, &made(" WITH (BUCKETS = 4)", " DESC")).await;
        run(&mut theirs, &made("", "")).await;
    }
    for at in 0..count {
        let seed = seed * 1_000_000 + at;
        let sql = Windows(StdRng::seed_from_u64(seed)).statement();
        let own = ours.run(&sql, Protocol::Simple).await;
        let own = own.unwrap_or_else(|error| panic!("seed {seed}: {sql}\n{error}"));
        let other = theirs.run(&sql, Protocol::Simple).await;
        let other = other.unwrap_or_else(|error| panic!("PostgreSQL, seed {seed}: {sql}\n{error}"));
        assert_eq!(own.rows, other.rows, "seed {seed}, beside PostgreSQL: {sql}");
    }
    database.drop().await;
    server.stop().await;
}
