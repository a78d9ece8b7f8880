//! Random statements over tables whose keys are of types made of others: documents, intervals, arrays, ranges, rows. Each must give
//! PostgreSQL's rows, or its SQLSTATE, and leave what it leaves.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::{answer_of, number, run};
use crate::postgresql::Database;
use crate::server::TestServer;

/// Statements, unless `KEYSPAN_RANDOM_STATEMENTS` says how many.
const STATEMENTS: u64 = 500;
/// Statements until the tables are made anew, with keys of another type.
const BETWEEN_TABLES: u64 = 50;
const ROWS: usize = 25;

/// Types and values of each, of which some are equal and not alike.
const TYPES: [(&str, &[&str]); 12] = [
    (
        "jsonb",
        &[
            "[]",
            "null",
            "1",
            "1.0",
            "-2e1",
            "\"\"",
            "\"a\"",
            "\"ab\"",
            "true",
            "{}",
            "[[]]",
            "[1,2]",
            "[1.0,2]",
            "{\"a\":1}",
            "{\"a\":1.00}",
            "{\"ab\":0,\"b\":null}",
            "{\"b\":0,\"c\":[]}",
            "0.001",
            "0.0010",
            "-5",
        ],
    ),
    (
        "interval",
        &[
            "1 mon",
            "30 days",
            "720:00",
            "-1 day",
            "0",
            "1 year",
            "360 days",
            "1 us",
            "-24:00",
            "100 years",
            "29 days 24:00",
        ],
    ),
    (
        "int[]",
        &[
            "{}",
            "{1}",
            "{1,2}",
            "{1,NULL}",
            "{NULL}",
            "{-1}",
            "{2}",
            "{1,2,3}",
            "{255}",
            "{256}",
            "{NULL,NULL}",
        ],
    ),
    (
        "text[]",
        &[
            "{}",
            "{\"\"}",
            "{a}",
            "{a,b}",
            "{ab}",
            "{a,NULL}",
            "{NULL,a}",
            "{\"a \",b}",
            "{ü}",
            "{A}",
        ],
    ),
    (
        "numeric[]",
        &[
            "{}",
            "{1.0}",
            "{1.00}",
            "{1,2}",
            "{1.0,2.00}",
            "{NaN}",
            "{-1e20}",
            "{0.001,NULL}",
        ],
    ),
    (
        "jsonb[]",
        &["{}", "{1}", "{1.0}", "{null}", "{NULL}", "{\"[]\"}", "{\"{}\",1}"],
    ),
    (
        "int[][]",
        &[
            "{{1,2}}",
            "{{1},{2}}",
            "{{1,2},{3,4}}",
            "{{1,2,3}}",
            "{{2}}",
            "{{1},{NULL}}",
        ],
    ),
    (
        "int4range",
        &[
            "empty", "(,)", "[1,5)", "[1,4]", "(0,4]", "[1,)", "(,1)", "[2,3)", "[-5,5)", "[1,1]",
        ],
    ),
    (
        "numrange",
        &[
            "empty",
            "(,)",
            "[1,5)",
            "[1.0,5.00)",
            "(1,5)",
            "[1,5]",
            "[1,)",
            "(1,)",
            "(,1)",
            "(,1]",
            "[0.5,0.50]",
        ],
    ),
    (
        "datemultirange",
        &[
            "{}",
            "{[2020-01-01,2020-02-01)}",
            "{[2020-01-01,2020-01-31]}",
            "{(,)}",
            "{(,2020-01-01),[2021-01-01,)}",
        ],
    ),
    (
        "pair",
        &[
            "(1,a)",
            "(1,)",
            "(,a)",
            "(,)",
            "(1,A)",
            "(0,z)",
            "(1,ab)",
            "(-1,\"a b\")",
        ],
    ),
    (
        "timestamp[]",
        &[
            "{}",
            "{2020-01-01}",
            "{\"2020-01-01 00:00:00.000001\"}",
            "{2020-01-01,NULL}",
            "{infinity}",
            "{-infinity}",
        ],
    ),
];

const KEYS: [&str; 4] = [
    "PRIMARY KEY (k)",
    "PRIMARY KEY (v, k)",
    "UNIQUE (k)",
    "PRIMARY KEY (k, v)",
];
const INDEXES: [&str; 4] = [
    "CREATE INDEX ON keyed (k)",
    "CREATE INDEX ON keyed (k DESC)",
    "CREATE INDEX ON keyed (o NULLS FIRST, v)",
    "CREATE INDEX ON keyed (v, o DESC)",
];

/// Makes statements over keys of a type.
struct Keyed {
    random: StdRng,
    ty: (&'static str, &'static [&'static str]),
}

impl Keyed {
    fn one_of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts.choose(&mut self.random).expect("there is one")
    }

    fn value(&mut self) -> String {
        format!("'{}'::{}", self.one_of(self.ty.1), self.ty.0)
    }

    fn value_or_null(&mut self) -> String {
        match self.random.random_bool(0.1) {
            true => "NULL".to_string(),
            false => self.value(),
        }
    }

    fn tables(&mut self) -> Vec<String> {
        let (ty, key) = (self.ty.0, self.one_of(&KEYS));
        let mut statements = vec![
            "DROP TABLE IF EXISTS keyed, other".to_string(),
            format!("CREATE TABLE keyed (k {ty}, v int, o {ty}, {key})"),
            format!("CREATE TABLE other (x int PRIMARY KEY, r {ty})"),
        ];
        let early = self.random.random_range(0..=INDEXES.len());
        statements.extend(INDEXES[..early].iter().map(|index| index.to_string()));
        for row in 0..ROWS {
            let [k, o, r] = [self.value(), self.value_or_null(), self.value_or_null()];
            statements.push(format!(
                "INSERT INTO keyed VALUES ({k}, {}, {o}) ON CONFLICT DO NOTHING",
                row % 7
            ));
            statements.push(format!("INSERT INTO other VALUES ({row}, {r})"));
        }
        if early < INDEXES.len() {
            statements.push(INDEXES[early].to_string());
        }
        statements
    }

    fn test(&mut self) -> String {
        let column = self.one_of(&["k", "k", "o"]);
        match self.random.random_range(0..7) {
            0 | 1 => format!("{column} = {}", self.value()),
            2 => format!(
                "{column} {} {}",
                self.one_of(&["<", "<=", ">", ">=", "<>"]),
                self.value()
            ),
            3 => format!("{column} BETWEEN {} AND {}", self.value(), self.value()),
            4 => format!(
                "{column} IN ({}, {}, {})",
                self.value(),
                self.value(),
                self.value()
            ),
            5 => format!("{column} IS NOT DISTINCT FROM {}", self.value_or_null()),
            _ => format!(
                "v {} {}",
                self.one_of(&["=", "<", ">="]),
                self.random.random_range(0..7)
            ),
        }
    }

    fn condition(&mut self) -> String {
        match self.random.random_range(0..4) {
            0 => format!("{} AND {}", self.test(), self.test()),
            1 => format!("({} OR {})", self.test(), self.test()),
            _ => self.test(),
        }
    }

    fn statement(&mut self) -> String {
        let (condition, value) = (self.condition(), self.value());
        match self.random.random_range(0..14) {
            0 => format!(
                "INSERT INTO keyed VALUES ({value}, {}, NULL)",
                self.random.random_range(0..7)
            ),
            1 => format!("INSERT INTO keyed VALUES ({value}, 3, {value}) ON CONFLICT DO NOTHING RETURNING *"),
            2 => format!("UPDATE keyed SET o = {value} WHERE {condition}"),
            3 => format!("UPDATE keyed SET k = {value} WHERE {condition}"),
            4 => format!("DELETE FROM keyed WHERE {condition} AND v % 3 = 0"),
            5 => format!("SELECT count(*) FROM keyed WHERE {condition} GROUP BY o ORDER BY o"),
            6 => format!("SELECT v, x FROM keyed JOIN other ON k = r WHERE {condition} ORDER BY k, v, x"),
            7 => format!(
                "SELECT v FROM keyed WHERE EXISTS (SELECT 1 FROM other WHERE r = o) AND {condition} ORDER BY k, v"
            ),
            8 => format!(
                "SELECT k, v FROM keyed WHERE {condition} ORDER BY k{}, v LIMIT 5",
                self.one_of(&["", " DESC"])
            ),
            9 => format!("SELECT v, o FROM keyed WHERE (k, v) > ({value}, 2) ORDER BY k, v"),
            10 => format!(
                "SELECT x FROM other WHERE r NOT IN (SELECT k FROM keyed WHERE {condition}) ORDER BY x"
            ),
            _ => format!(
                "SELECT * FROM keyed WHERE {condition} ORDER BY {}",
                self.one_of(&["k, v", "k DESC, v DESC", "o NULLS FIRST, v, k", "v, o DESC, k"])
            ),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn random_statements_over_nested_keys_agree() {
    let seed = number("KEYSPAN_RANDOM_SEED").unwrap_or(1);
    let count = number("KEYSPAN_RANDOM_STATEMENTS").unwrap_or(STATEMENTS);
    let Some((database, mut theirs)) = Database::with_client("nested_keys").await else {
        return;
    };
    let server = TestServer::start("sled").await;
    let mut ours = server.connect_text().await;
    run(&mut ours, "SET keyspan.full_scan = allow").await;
    for client in [&mut ours, &mut theirs] {
        run(client, "CREATE TYPE pair AS (x int, y text)").await;
    }
    for at in 0..count {
        let random = StdRng::seed_from_u64(seed * 1_000_000 + at);
        let ty = TYPES[(at / BETWEEN_TABLES + seed) as usize % TYPES.len()];
        let is_new = at % BETWEEN_TABLES == 0;
        let state = "SELECT k, v, o FROM keyed ORDER BY k, v, o";
        let mut keyed = Keyed { random, ty };
        let mut statements = if is_new { keyed.tables() } else { Vec::new() };
        let sql = keyed.statement();
        let is_write = !sql.starts_with("SELECT");
        statements.push(sql);
        statements.extend(is_write.then(|| state.to_string()));
        for sql in statements {
            let (own, other) = (
                answer_of(&mut ours, &sql).await,
                answer_of(&mut theirs, &sql).await,
            );
            assert_eq!(
                own, other,
                "statement {at} of seed {seed}, beside PostgreSQL: {sql}"
            );
        }
    }
    database.drop().await;
    server.stop_sound("random statements").await;
}
