//! Random joins over tables of so many rows that lookups, and ranges of an index, give way while they run. Each is asked where that may
//! happen and where it may not (`keyspan.full_scan = forbid`), and of PostgreSQL when `PG_URI` is set.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::{answer_of, number, run};
use crate::postgresql::Database;
use crate::server::TestServer;

/// Statements, unless KEYSPAN_RANDOM_STATEMENTS asks for more.
const STATEMENTS: u64 = 40;

const TABLES: [&str; 8] = [
    "CREATE TABLE picks (a int, n int, k int, t text, PRIMARY KEY (a, n))",
    "CREATE TABLE things (id int PRIMARY KEY, grp int, v int, name text)",
    "CREATE INDEX things_grp ON things (grp, v)",
    "CREATE TABLE days (id int PRIMARY KEY, day date, kind text, n int)",
    "CREATE INDEX days_day ON days (day)",
    "INSERT INTO picks SELECT g % 2, g, NULLIF(g * 7 % 2500, 17), 't' || g % 13 FROM generate_series(1, 6000) g",
    "INSERT INTO things SELECT g, NULLIF(g % 900, 5), g % 50, 'n' || g % 31 FROM generate_series(1, 2000) g",
    "INSERT INTO days SELECT g, CASE WHEN g % 11 <> 0 THEN date '2026-01-01' + g % 300 END, 'k' || g % 7, NULLIF(g % 100, 3) \
     FROM generate_series(1, 10000) g",
];

/// Makes statements.
struct Joins(StdRng);

impl Joins {
    fn one_of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts.choose(&mut self.0).expect("there is one")
    }

    /// A condition that bounds a key of `o`, rows of `picks` or of `days`, to few rows or to most.
    fn bound(&mut self, of_picks: bool) -> String {
        let most = self.0.random_bool(0.7);
        match (of_picks, most) {
            (true, true) => format!("o.a >= {}", self.0.random_range(0..2)),
            (true, false) => format!("o.a = 1 AND o.n < {}", self.0.random_range(0..900)),
            (false, true) => format!("o.day >= date '2026-01-01' + {}", self.0.random_range(0..150)),
            (false, false) => format!("o.day = date '2026-01-01' + {}", self.0.random_range(0..310)),
        }
    }

    /// A condition on a row of `things`, called `x`, or on it and one of `o`.
    fn partner(&mut self) -> String {
        let number = self.0.random_range(0..50);
        let condition = self.one_of(&[
            "true",
            "x.v > {}",
            "x.v <> o.n % 50",
            "x.name LIKE 'n1%'",
            "x.grp IS NULL",
            "x.id < 100 * {}",
            "(x.v + o.n) % 3 = 0",
        ]);
        condition.replace("{}", &number.to_string())
    }

    fn statement(&mut self) -> String {
        let of_picks = self.0.random_bool(0.6);
        let outer = if of_picks { "picks" } else { "days" };
        let (bound, partner) = (self.bound(of_picks), self.partner());
        let key = match of_picks {
            true => self.one_of(&[
                "x.id = o.k",
                "x.id = o.n",
                "x.grp = o.k",
                "x.grp = o.k AND x.v = o.n % 50",
            ]),
            false => self.one_of(&["x.id = o.n", "x.grp = o.n", "x.id = o.id - 900"]),
        };
        let sums = "count(*), sum(o.n), count(x.id), sum(x.v), min(x.name)";
        match self.0.random_range(0..7) {
            0 | 1 => {
                format!("SELECT {sums} FROM {outer} o JOIN things x ON {key} AND {partner} WHERE {bound}")
            }
            2 => format!(
                "SELECT {sums} FROM {outer} o LEFT JOIN things x ON {key} AND {partner} WHERE {bound}"
            ),
            3 => {
                let not = self.one_of(&["", "NOT "]);
                let exists = format!("EXISTS (SELECT 1 FROM things x WHERE {key} AND {partner})");
                format!("SELECT count(*), sum(o.n) FROM {outer} o WHERE {bound} AND {not}{exists}")
            }
            4 => format!(
                "SELECT x.v, count(*), sum(o.n) FROM {outer} o JOIN things x ON {key} JOIN things y ON y.id = x.grp \
                 WHERE {bound} AND {partner} GROUP BY x.v ORDER BY x.v"
            ),
            5 => format!(
                "SELECT o.n, x.id, x.v FROM {outer} o LEFT JOIN things x ON {key} AND {partner} WHERE {bound} \
                 ORDER BY o.n DESC, x.id, x.v LIMIT {} OFFSET {}",
                self.0.random_range(1..30),
                self.0.random_range(0..2000)
            ),
            _ => format!("SELECT count(*), sum(o.n), max(o.n) FROM {outer} o WHERE {bound} AND o.n % 7 <> 2"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn random_joins_of_many_rows_agree() {
    let seed = number("KEYSPAN_RANDOM_SEED").unwrap_or(1);
    let count = number("KEYSPAN_RANDOM_STATEMENTS").unwrap_or(STATEMENTS);
    let server = TestServer::start("memory").await;
    let (mut ours, mut bound) = (server.connect_text().await, server.connect_text().await);
    run(&mut bound, "SET keyspan.full_scan = forbid").await;
    let (database, mut theirs) = Database::with_client("many_rows").await.unzip();
    for table in TABLES {
        for client in std::iter::once(&mut ours).chain(&mut theirs) {
            run(client, table).await;
        }
    }
    for at in 0..count {
        let seed = seed * 1_000_000 + at;
        let sql = Joins(StdRng::seed_from_u64(seed)).statement();
        let found = answer_of(&mut ours, &sql).await;
        assert!(found.is_ok(), "seed {seed}: {sql}\n{found:?}");
        // What reads a whole table is refused there.
        let without = answer_of(&mut bound, &sql).await;
        if without.is_ok() {
            assert_eq!(found, without, "seed {seed}: {sql}");
        }
        if let Some(theirs) = &mut theirs {
            assert_eq!(
                found,
                answer_of(theirs, &sql).await,
                "seed {seed}, beside PostgreSQL: {sql}"
            );
        }
    }
    if let Some(database) = database {
        database.drop().await;
    }
    server.stop().await;
}
