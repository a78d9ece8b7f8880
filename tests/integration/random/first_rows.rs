//! Random statements that want the first rows in some order, or the ends of keys, anywhere in a statement: beside joins, under outer joins,
//! subqueries of the select list, lateral ones, in derived tables and WITH, of groups, and where conditions leave few rows of many. Keys and indexes have NULLs, equal values, partitions and
//! conditions. Each is asked on sled, too, and of PostgreSQL when `PG_URI` is set.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::{answer_of, number, run};
use crate::postgresql::Database;
use crate::server::TestServer;

/// Statements, unless KEYSPAN_RANDOM_STATEMENTS asks for more.
const STATEMENTS: u64 = 150;

const TABLES: [&str; 21] = [
    "CREATE TABLE fa (id int PRIMARY KEY, b int, t timestamp, v int, s text)",
    "CREATE TABLE fb (id int PRIMARY KEY, n text, g int)",
    "CREATE TABLE fc (k int, a int, x int, y text, PRIMARY KEY (k, a))",
    "CREATE TABLE fp (id int, p int, v int, PRIMARY KEY (p, id)) PARTITION BY RANGE (p)",
    "CREATE TABLE fp1 PARTITION OF fp FOR VALUES FROM (0) TO (5)",
    "CREATE TABLE fp2 PARTITION OF fp FOR VALUES FROM (5) TO (20)",
    "CREATE TABLE fw (id int PRIMARY KEY, b int, t int, v int, s text)",
    "CREATE INDEX ON fw (t)",
    "CREATE INDEX ON fw (v DESC, b)",
    "CREATE INDEX ON fa (t)",
    "CREATE INDEX ON fa (v DESC, b)",
    "CREATE INDEX ON fa (b) WHERE b > 3",
    "CREATE INDEX ON fb (g)",
    "CREATE INDEX ON fc (a)",
    "CREATE INDEX ON fc (x DESC)",
    "CREATE INDEX ON fp (v)",
    "INSERT INTO fa SELECT g, NULLIF(g * 7 % 23, 0), \
     CASE WHEN g % 5 <> 0 THEN timestamp '2024-01-01' + g * 37 % 211 * interval '1 hour' END, \
     CASE WHEN g % 7 <> 0 THEN g * 13 % 17 END, 's' || g * 11 % 29 FROM generate_series(1, 400) g",
    "INSERT INTO fb SELECT g, 'n' || g, NULLIF(g % 6, 0) FROM generate_series(1, 25) g",
    "INSERT INTO fc SELECT g % 50, g, CASE WHEN g % 4 <> 0 THEN g * 17 % 31 END, 'y' || g % 9 FROM generate_series(1, 600) g",
    "INSERT INTO fw SELECT g, NULLIF(g * 7 % 29, 0), CASE WHEN g % 5 <> 0 THEN g * 37 % 2111 END, \
     CASE WHEN g % 7 <> 0 THEN g * 13 % 170 END, 's' || g * 11 % 31 FROM generate_series(1, 9000) g",
    "INSERT INTO fp SELECT g, g % 20, CASE WHEN g % 3 <> 0 THEN g * 7 % 40 END FROM generate_series(1, 300) g",
];

/// Makes statements.
struct Firsts(StdRng);

impl Firsts {
    fn one_of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts.choose(&mut self.0).expect("there is one")
    }

    /// ORDER BY one or two of the columns and then what makes rows differ, with LIMIT.
    fn first(&mut self, columns: &[&str], unique: &str) -> String {
        let ways = ["", " ASC", " DESC", " DESC NULLS LAST", " NULLS FIRST"];
        let mut order = format!("{}{}", self.one_of(columns), self.one_of(&ways));
        if self.0.random_bool(0.25) {
            order = format!("{order}, {}{}", self.one_of(columns), self.one_of(&ways));
        }
        let limit = self.one_of(&["1", "2", "3", "10", "50", "3 OFFSET 4"]);
        format!("ORDER BY {order}, {unique} LIMIT {limit}")
    }

    /// The same of rows of `fa` called `a`.
    fn first_of_a(&mut self, unique: &str) -> String {
        self.first(&["a.t", "a.v", "a.b", "a.id", "a.s", "lower(a.s)"], unique)
    }

    /// A condition on rows of `fa` called `a`.
    fn condition(&mut self) -> String {
        let number = self.0.random_range(0..22);
        let condition = self.one_of(&[
            "true",
            "true",
            "a.v > {}",
            "a.id > 15 * {}",
            "a.id < 15 * {}",
            "a.b = {}",
            "a.b > 3",
            "a.t IS NOT NULL",
            "a.v IS NULL",
            "a.t > '2024-01-03'",
            "(a.v = 3 OR a.b = {})",
        ]);
        condition.replace("{}", &number.to_string())
    }

    /// A condition on rows of `fw` called `w`, which no key of it bounds, or leaves much.
    fn condition_of_each(&mut self) -> String {
        let number = self.0.random_range(0..30);
        let condition = self.one_of(&[
            "true",
            "w.s = 's{}'",
            "w.b + w.v = {}",
            "(w.b = {} OR w.s LIKE 's{}%')",
            "w.id % 500 = {}",
            "w.id > 300 * {}",
            "w.v > 5 * {}",
            "EXISTS (SELECT 1 FROM fc c WHERE c.a = w.id AND c.x > {})",
            "NOT EXISTS (SELECT 1 FROM fc c WHERE c.a = w.id AND c.x < {})",
            "w.b IN (SELECT b.id FROM fb b WHERE b.g < {})",
            "(EXISTS (SELECT 1 FROM fc c WHERE c.a = w.id) OR w.b IN (SELECT b.id FROM fb b WHERE b.g = {}))",
        ]);
        condition.replace("{}", &number.to_string())
    }

    /// What may be read in the order of a key until there is enough of it.
    fn read_until(&mut self) -> String {
        let (one, other) = (self.condition_of_each(), self.condition_of_each());
        let columns = ["w.t", "w.v", "w.b", "w.id", "w.s"];
        let way = self.one_of(&["", " DESC"]);
        let limit = self.one_of(&["1", "3", "20", "150"]);
        match self.0.random_range(0..5) {
            0 | 1 => {
                let first = self.first(&columns, "w.id");
                format!("SELECT w.id FROM fw w WHERE {one} AND {other} {first}")
            }
            2 => {
                let join = self.one_of(&["JOIN", "LEFT JOIN", "RIGHT JOIN"]);
                let first = self.first(&["w.t", "w.v", "b.n"], "w.id, b.id");
                format!("SELECT w.id, b.n FROM fb b {join} fw w ON b.id = w.b WHERE {one} {first}")
            }
            3 => {
                let key = self.one_of(&columns);
                let call = self.one_of(&["max(w.id)", "sum(w.v)", "array_agg(w.id ORDER BY w.id)"]);
                format!(
                    "SELECT {key}, count(*), {call} FROM fw w WHERE {one} GROUP BY {key} ORDER BY {key}{way} LIMIT {limit}"
                )
            }
            _ => {
                let keys = self.one_of(&["w.v, w.b", "w.t, w.s", "w.b, w.v"]);
                format!("SELECT DISTINCT {keys} FROM fw w WHERE {one} ORDER BY 1{way}, 2{way} LIMIT {limit}")
            }
        }
    }

    fn end(&mut self) -> String {
        let function = self.one_of(&["min", "max"]);
        format!("{function}(a.{})", self.one_of(&["id", "t", "v", "b"]))
    }

    fn joined(&mut self) -> String {
        let (condition, left) = (self.condition(), self.one_of(&["JOIN", "LEFT JOIN"]));
        match self.0.random_range(0..5) {
            0 => {
                let join = self.one_of(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"]);
                let first = self.first_of_a("a.id, b.id");
                format!("SELECT a.id, b.n FROM fa a {join} fb b ON b.id = a.b WHERE {condition} {first}")
            }
            1 => {
                let first = self.first_of_a("a.id, c.k");
                format!("SELECT a.id, c.k FROM fa a {left} fc c ON c.a = a.id WHERE {condition} {first}")
            }
            2 => {
                let first = self.first(&["a.t", "a.v", "b.g"], "a.id, c.k");
                format!(
                    "SELECT a.id, b.n, c.k FROM fa a JOIN fb b ON b.id = a.b {left} fc c ON c.a = a.id WHERE {condition} {first}"
                )
            }
            3 => {
                let first = self.first(&["p.v", "p.p", "p.id"], "p.p, p.id");
                format!("SELECT p.p, p.id, b.n FROM fp p {left} fb b ON b.id = p.p {first}")
            }
            _ => {
                let (not, first) = (self.one_of(&["", "NOT "]), self.first_of_a("a.id"));
                format!(
                    "SELECT a.id FROM fa a WHERE {condition} AND {not}EXISTS (SELECT 1 FROM fc c WHERE c.a = a.id AND c.x > 9) {first}"
                )
            }
        }
    }

    fn asked_by_row(&mut self) -> String {
        let (condition, first) = (self.condition(), self.first_of_a("a.id"));
        let aggregate = self.one_of(&["count(*)", "max(c.x)", "min(c.k)", "sum(c.x)"]);
        match self.0.random_range(0..3) {
            0 => format!(
                "SELECT a.id, (SELECT {aggregate} FROM fc c WHERE c.a = a.id) FROM fa a WHERE {condition} {first}"
            ),
            1 => format!(
                "SELECT a.id, l.n FROM fa a CROSS JOIN LATERAL (SELECT {aggregate} AS n FROM fc c WHERE c.k = a.b) l \
                 WHERE {condition} {first}"
            ),
            _ => {
                let (join, first) = (self.one_of(&["LEFT", "INNER"]), self.first_of_a("a.id, l.k"));
                format!(
                    "SELECT a.id, l.k FROM fa a {join} JOIN LATERAL \
                     (SELECT c.k FROM fc c WHERE c.k = a.b ORDER BY c.x DESC, c.a LIMIT 2) l ON true WHERE {condition} {first}"
                )
            }
        }
    }

    fn derived(&mut self) -> String {
        let (condition, first) = (self.condition(), self.first_of_a("a.id"));
        let rows = format!("SELECT * FROM fa a WHERE {condition} {first}");
        match self.0.random_range(0..3) {
            0 => format!("SELECT x.id, b.n FROM ({rows}) x LEFT JOIN fb b ON b.id = x.b ORDER BY 1, 2"),
            1 => format!("SELECT sum(x.v), max(x.t), count(*), min(x.id) FROM ({rows}) x"),
            _ => format!(
                "WITH x AS ({rows}) SELECT x.id, row_number() OVER (ORDER BY x.t, x.id) FROM x ORDER BY x.id"
            ),
        }
    }

    fn ends(&mut self) -> String {
        let (condition, one, other) = (self.condition(), self.end(), self.end());
        match self.0.random_range(0..3) {
            0 => format!(
                "SELECT coalesce((SELECT {one} FROM fa a WHERE {condition})::text, 'none'), (SELECT max(v) FROM fp) + 1"
            ),
            1 => format!(
                "SELECT 1::text UNION ALL SELECT (SELECT {one} FROM fa a)::text UNION ALL \
                 SELECT {other}::text FROM fa a WHERE {condition} ORDER BY 1"
            ),
            _ => format!(
                "SELECT b.n, m.* FROM fb b, (SELECT {one} AS one, {other} AS other FROM fa a WHERE {condition}) m WHERE b.id < 3 ORDER BY 1"
            ),
        }
    }

    fn statement(&mut self) -> String {
        match self.0.random_range(0..5) {
            0 => self.joined(),
            1 => self.asked_by_row(),
            2 => self.derived(),
            3 => self.read_until(),
            _ => self.ends(),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn random_first_rows_agree() {
    let seed = number("KEYSPAN_RANDOM_SEED").unwrap_or(1);
    let count = number("KEYSPAN_RANDOM_STATEMENTS").unwrap_or(STATEMENTS);
    let (server, on_sled) = (TestServer::start("memory").await, TestServer::start("sled").await);
    let (mut ours, mut stored) = (server.connect_text().await, on_sled.connect_text().await);
    for client in [&mut ours, &mut stored] {
        run(client, "SET keyspan.full_scan = allow").await;
    }
    let (database, mut theirs) = Database::with_client("first_rows").await.unzip();
    for table in TABLES {
        for client in [&mut ours, &mut stored].into_iter().chain(&mut theirs) {
            run(client, table).await;
        }
    }
    for at in 0..count {
        let seed = seed * 1_000_000 + at;
        let sql = Firsts(StdRng::seed_from_u64(seed)).statement();
        let found = answer_of(&mut ours, &sql).await;
        assert!(found.is_ok(), "seed {seed}: {sql}\n{found:?}");
        let others = [Some(&mut stored), theirs.as_mut()];
        for other in others.into_iter().flatten() {
            assert_eq!(found, answer_of(other, &sql).await, "seed {seed}: {sql}");
        }
    }
    if let Some(database) = database {
        database.drop().await;
    }
    server.stop().await;
    on_sled.stop().await;
}
