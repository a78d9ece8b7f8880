//! Random statements whose parameters have the types that clients give them, over columns of many types: correlated subqueries that
//! widen one side, counts of LIMIT, WITH queries that are volatile, values of different lengths side by side. Each is answered with
//! constants and with parameters, which must agree, and by PostgreSQL when `PG_URI` is set. A failure prints its seed.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::client::{Protocol, TextClient};
use crate::postgresql::Database;
use crate::server::TestServer;

const STATEMENTS: usize = 250;

const COLUMNS: &str = "k int PRIMARY KEY, i2 smallint, i4 int, i8 bigint, n1 numeric(6,1), n2 numeric(8,2), f4 real, f8 float8, \
    c3 char(3), c5 char(5), v4 varchar(4), t text, d date, ts timestamp, tz timestamptz";

/// Types that compare with one another: columns, literals, and the types of parameters that clients give for them.
struct Family {
    columns: &'static [&'static str],
    literals: &'static [&'static str],
    types: &'static [&'static str],
}

const FAMILIES: [Family; 3] = [
    Family {
        columns: &["k", "i2", "i4", "i8", "n1", "n2", "f4", "f8"],
        literals: &["1", "2", "5", "7", "8"],
        types: &["smallint", "int", "bigint", "numeric", "unknown", "float8"],
    },
    Family {
        columns: &["c3", "c5", "v4", "t"],
        literals: &["'a1'", "'a2'", "'a2 '", "'abc'", "'abcd'", "'abcde'", "''"],
        types: &["text", "varchar", "bpchar", "unknown"],
    },
    Family {
        columns: &["d", "ts", "tz"],
        literals: &["'2024-01-02'", "'2024-01-05'", "'2024-01-03 12:00'"],
        types: &["date", "timestamp", "timestamptz", "unknown"],
    },
];

/// Types in which clients give a count.
const COUNT_TYPES: [&str; 6] = ["smallint", "int", "bigint", "numeric", "unknown", "float8"];

/// A statement with `$n` in it, and what each stands for: a literal and a type.
#[derive(Debug, Default)]
struct Sql {
    text: String,
    parameters: Vec<(&'static str, &'static str)>,
}

impl Sql {
    fn add(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn parameter(&mut self, literal: &'static str, ty: &'static str) -> String {
        self.parameters.push((literal, ty));
        format!("${}", self.parameters.len())
    }

    /// With constants in place of parameters.
    fn plain(&self) -> String {
        let numbered = self.parameters.iter().enumerate().rev();
        numbered.fold(self.text.clone(), |text, (at, (literal, ty))| {
            let constant = match *ty {
                "unknown" => format!("'{}'", literal.trim_matches('\'')),
                ty => format!("'{}'::{ty}", literal.trim_matches('\'')),
            };
            text.replace(&format!("${}", at + 1), &constant)
        })
    }

    /// Run more than once if it may: by a plan of its own, and by the one that is kept.
    fn prepared(&self) -> Vec<String> {
        let types: Vec<&str> = self.parameters.iter().map(|(_, ty)| *ty).collect();
        let values: Vec<String> = self
            .parameters
            .iter()
            .map(|(literal, _)| format!("'{}'", literal.trim_matches('\'')))
            .collect();
        let listed = |items: &[String]| match items.is_empty() {
            true => String::new(),
            false => format!(" ({})", items.join(", ")),
        };
        let types: Vec<String> = types.into_iter().map(str::to_string).collect();
        let runs = if self.text.starts_with("DELETE") { 1 } else { 3 };
        let mut statements = vec![format!("PREPARE typed{} AS {}", listed(&types), self.text)];
        statements.extend(vec![format!("EXECUTE typed{}", listed(&values)); runs]);
        statements
    }
}

struct Generator(StdRng);

impl Generator {
    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        *items.choose(&mut self.0).expect("there are some")
    }

    fn constant(&mut self, sql: &mut Sql, family: &Family) -> String {
        let (literal, ty) = (self.pick(family.literals), self.pick(family.types));
        sql.parameter(literal, ty)
    }

    fn count(&mut self, sql: &mut Sql) -> String {
        let (count, ty) = (self.pick(&["0", "1", "2", "3", "7"]), self.pick(&COUNT_TYPES));
        match self.0.random_range(0..5) {
            0 => format!("(SELECT {count})"),
            1 => format!("greatest(1, {count})"),
            2 => format!("({}::int)", sql.parameter(count, "unknown")),
            _ => sql.parameter(count, ty),
        }
    }

    /// A condition on one column.
    fn condition(&mut self, sql: &mut Sql, column: &str, family: &Family) -> String {
        let (one, other) = (self.constant(sql, family), self.constant(sql, family));
        match self.0.random_range(0..6) {
            0 | 1 => format!("{column} = {one} AND {other} >= {column}"),
            2 => format!("{one} = {column} AND {column} = {other}"),
            3 => format!("{column} IN ({one}, {other}) AND {column} >= {one}"),
            4 => format!("{column} >= {one} AND {other} < {column}"),
            _ => format!("{column} BETWEEN {one} AND {other}"),
        }
    }

    /// A condition that compares the tables, and one on the inner column.
    fn correlation(&mut self, sql: &mut Sql) -> String {
        let family = self.pick(&[&FAMILIES[0], &FAMILIES[0], &FAMILIES[1], &FAMILIES[2]]);
        let (outer, inner) = (self.pick(family.columns), self.pick(family.columns));
        let op = self.pick(&["=", "=", "=", "<=", ">"]);
        let link = match self.0.random_bool(0.5) {
            true => format!("o.{outer} {op} p.{inner}"),
            false => format!("p.{inner} {op} o.{outer}"),
        };
        let condition = self.condition(sql, &format!("p.{inner}"), family);
        format!("{link} AND {condition}")
    }

    fn statement(&mut self) -> Sql {
        let mut sql = Sql::default();
        match self.0.random_range(0..9) {
            0 => {
                let not = self.pick(&["", "NOT "]);
                let inner = self.correlation(&mut sql);
                sql.add(&format!(
                    "SELECT o.k FROM o WHERE {not}EXISTS (SELECT 1 FROM p WHERE {inner})"
                ));
            }
            1 => {
                let inner = self.correlation(&mut sql);
                sql.add(&format!(
                    "SELECT o.k, (SELECT count(*) FROM p WHERE {inner}) FROM o"
                ));
            }
            2 => {
                let inner = self.correlation(&mut sql);
                let count = self.count(&mut sql);
                sql.add(&format!(
                    "SELECT o.k FROM o WHERE o.k IN (SELECT p.k + 0 FROM p WHERE {inner} ORDER BY p.k DESC LIMIT {count})"
                ));
            }
            3 => {
                let inner = self.correlation(&mut sql);
                sql.add(&format!(
                    "SELECT o.k, l.x FROM o LEFT JOIN LATERAL (SELECT max(p.k) AS x FROM p WHERE {inner}) l ON true"
                ));
            }
            4 => {
                let column = self.pick(&["i2", "f8", "t", "c3", "ts", "n2"]);
                let (count, skip) = (self.count(&mut sql), self.count(&mut sql));
                sql.add(&format!(
                    "SELECT sum(k), count(*) FROM (SELECT k FROM o ORDER BY {column} DESC NULLS LAST, k LIMIT {count} OFFSET {skip}) x"
                ));
            }
            5 => {
                let family = &FAMILIES[self.0.random_range(0..3)];
                let column = self.pick(family.columns);
                let condition = self.condition(&mut sql, column, family);
                sql.add(&format!(
                    "WITH q AS (SELECT k, random() AS r FROM o WHERE {condition} UNION ALL SELECT 100 + k, random() FROM p) \
                     SELECT count(*), min(a.k), max(b.k), count(DISTINCT a.k) FROM q a JOIN q b ON a.r = b.r"
                ));
            }
            6 => {
                let family = &FAMILIES[1];
                let (one, other) = (self.pick(family.columns), self.pick(family.columns));
                let constant = self.constant(&mut sql, family);
                sql.add(&format!(
                    "SELECT k, coalesce({one}, {other}), coalesce({one}, {constant}) || '|', CASE WHEN k % 2 = 0 THEN {one} ELSE {other} END, \
                     octet_length(greatest({one}, {other})), coalesce({one}, {constant}) = {other} FROM o"
                ));
            }
            7 => {
                let family = &FAMILIES[1];
                let (one, other) = (self.pick(family.columns), self.pick(family.columns));
                sql.add(&format!(
                    "SELECT x, count(*) FROM (SELECT {one} FROM o UNION ALL SELECT {other} FROM p) u (x) GROUP BY x"
                ));
            }
            _ => {
                let inner = self.correlation(&mut sql);
                let not = self.pick(&["", "NOT "]);
                sql.add(&format!(
                    "DELETE FROM o WHERE {not}EXISTS (SELECT 1 FROM p WHERE {inner}) RETURNING k"
                ));
            }
        }
        sql
    }
}

/// Rows, sorted, or the SQLSTATE.
type Answer = Result<Vec<Vec<Option<String>>>, String>;

/// What the last of these statements gives, in a transaction that is rolled back.
async fn answer(client: &mut TextClient, statements: &[String]) -> Answer {
    client
        .run("BEGIN", Protocol::Simple)
        .await
        .map_err(|error| error.sqlstate)?;
    let mut answer = Ok(Vec::new());
    for statement in statements {
        answer = match client.run(statement, Protocol::Simple).await {
            Ok(reply) => Ok(reply.rows),
            Err(error) => Err(error.sqlstate),
        };
        if answer.is_err() {
            break;
        }
    }
    client
        .run("ROLLBACK", Protocol::Simple)
        .await
        .map_err(|error| error.sqlstate)?;
    let _ = client.run("DEALLOCATE ALL", Protocol::Simple).await;
    // Which of several equal char(n) stands for their group is anybody's choice, and they differ in blanks.
    let groups = statements.iter().any(|statement| statement.contains("GROUP BY"));
    answer.map(|mut rows| {
        for cell in rows.iter_mut().flatten().flatten().filter(|_| groups) {
            cell.truncate(cell.trim_end_matches(' ').len());
        }
        rows.sort();
        rows
    })
}

fn setup() -> Vec<String> {
    let rows = |table: &str, step: u32| {
        format!(
            "INSERT INTO {table} SELECT g, nullif(g % {step}, 4), g, g * 2 % 9, g % 6, (g % 8) + 0.25 * (g % 2), g, nullif(g, 5), \
             'a' || g % 4, 'a' || g % 5, left('abcde', g % 5), nullif(left('abcdef', g % 6), ''), \
             date '2024-01-01' + g % 6, timestamp '2024-01-01' + g * interval '12 hours', timestamptz '2024-01-01' + g % 5 * interval '1 day' \
             FROM generate_series(1, 20) g"
        )
    };
    vec![
        "SET keyspan.full_scan = allow".to_string(),
        "SET timezone = 'Europe/Berlin'".to_string(),
        format!("CREATE TABLE o ({COLUMNS})"),
        format!("CREATE TABLE p ({COLUMNS})"),
        "CREATE INDEX ON p (i8)".to_string(),
        "CREATE INDEX ON p (t, k)".to_string(),
        rows("o", 7),
        rows("p", 5),
    ]
}

async fn typed_statements(store: &str) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("KEYSPAN_RANDOM_SEED").unwrap_or(1);
    let count = number("KEYSPAN_RANDOM_STATEMENTS").map_or(STATEMENTS, |count| count as usize);
    let server = TestServer::start(store).await;
    let mut keyspan = server.connect_text().await;
    let (database, mut theirs) = Database::with_client("typed").await.unzip();
    for client in std::iter::once(&mut keyspan).chain(&mut theirs) {
        for statement in setup() {
            let done = client.run(&statement, Protocol::Simple).await;
            done.unwrap_or_else(|error| panic!("{statement}\n{error}"));
        }
    }
    for at in 0..count {
        let seed = seed * 1_000_000 + at as u64;
        let sql = Generator(StdRng::seed_from_u64(seed)).statement();
        let (plain, prepared) = (sql.plain(), sql.prepared());
        let constants = answer(&mut keyspan, std::slice::from_ref(&plain)).await;
        let again = answer(&mut keyspan, std::slice::from_ref(&plain)).await;
        assert_eq!(constants, again, "seed {seed}, when it came before: {plain}");
        let parameters = answer(&mut keyspan, &prepared).await;
        assert_eq!(
            parameters, constants,
            "seed {seed}, with parameters: {prepared:?}"
        );
        if let Some(theirs) = &mut theirs {
            let expected = answer(theirs, std::slice::from_ref(&plain)).await;
            assert_eq!(constants, expected, "seed {seed}, beside PostgreSQL: {plain}");
            let expected = answer(theirs, &prepared).await;
            assert_eq!(
                parameters, expected,
                "seed {seed}, beside PostgreSQL: {prepared:?}"
            );
        }
    }
    if let Some(database) = database {
        database.drop().await;
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_parameters_agree_in_memory() {
    typed_statements("memory").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn typed_parameters_agree_on_sled() {
    typed_statements("sled").await;
}
