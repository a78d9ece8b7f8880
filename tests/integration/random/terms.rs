//! Random conditions on arrays, jsonb documents, texts and their words, with inverted indexes over all of them, among random writes. Each
//! statement must give PostgreSQL's rows.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::{answer_of, number, run};
use crate::postgresql::Database;
use crate::server::TestServer;

/// Statements, unless `KEYSPAN_RANDOM_STATEMENTS` says how many.
const STATEMENTS: u64 = 400;
/// Statements until the table is made anew.
const BETWEEN_TABLES: u64 = 100;
const ROWS: usize = 60;

/// Primary keys: the rows of a term stand in their order.
const KEYS: [&str; 3] = [
    "id int PRIMARY KEY",
    "id int, PRIMARY KEY (p, id)",
    "id int UNIQUE",
];

/// What is indexed; `{}`: perhaps a condition.
const INDEXES: [&str; 9] = [
    "CREATE INDEX ON terms USING gin (t){}",
    "CREATE INDEX ON terms USING gin (n, j){}",
    "CREATE INDEX ON terms USING gin (j jsonb_path_ops){}",
    "CREATE INDEX ON terms USING gin (w){}",
    "CREATE INDEX ON terms USING gin (b gin_trgm_ops){}",
    "CREATE INDEX ON terms USING gin (to_tsvector('english', b)){}",
    "CREATE INDEX ON terms USING gin ((j -> 'a')){}",
    "CREATE INDEX ON terms USING gin (t, w, d){}",
    "CREATE INDEX ON terms (p)",
];

const WORDS: [&str; 9] = ["ab", "Abc", "quick", "fox", "jumping", "x_1", "ünï", "a%b", "the"];
const LEAVES: [&str; 9] = ["1", "1.0", "-2e1", "\"ab\"", "\"x\"", "true", "null", "{}", "[]"];
const NUMERICS: [&str; 5] = ["1", "1.00", "-0.5", "NaN", "1e30"];

/// Makes statements.
struct Terms(StdRng);

impl Terms {
    fn one_of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts.choose(&mut self.0).expect("there is one")
    }

    fn some_of(&mut self, texts: &[&str], most: usize) -> Vec<String> {
        let count = self.0.random_range(0..=most);
        (0..count).map(|_| self.one_of(texts).to_string()).collect()
    }

    fn text_array(&mut self, most: usize) -> String {
        let mut items = self.some_of(&WORDS, most);
        if self.0.random_bool(0.1) {
            items.push("NULL".to_string());
        }
        format!("'{{{}}}'::text[]", items.join(","))
    }

    fn int_array(&mut self, most: usize) -> String {
        let items = self.some_of(&["0", "1", "2", "3", "-7"], most);
        format!("'{{{}}}'::int[]", items.join(","))
    }

    fn numeric_array(&mut self, most: usize) -> String {
        let items = self.some_of(&NUMERICS, most);
        format!("'{{{}}}'::numeric[]", items.join(","))
    }

    fn json(&mut self, depth: usize) -> String {
        if depth == 0 || self.0.random_bool(0.25) {
            return self.one_of(&LEAVES).to_string();
        }
        let count = self.0.random_range(0..4);
        if self.0.random_bool(0.35) {
            let items: Vec<String> = (0..count).map(|_| self.json(depth - 1)).collect();
            return format!("[{}]", items.join(","));
        }
        let members: Vec<String> = (0..count)
            .map(|_| {
                format!(
                    "\"{}\":{}",
                    self.one_of(&["a", "b", "ab", "x"]),
                    self.json(depth - 1)
                )
            })
            .collect();
        format!("{{{}}}", members.join(","))
    }

    fn text(&mut self) -> String {
        let words = self.some_of(&WORDS, 5);
        let between = self.one_of(&[" ", "-", "", ", "]);
        words.join(between)
    }

    fn pattern(&mut self) -> String {
        let words = self.some_of(
            &[
                "ab", "AB", "qui", "ing", "ox", "%", "_", "\\_", "fox jump", "ü", " ",
            ],
            3,
        );
        let (before, behind) = (self.one_of(&["%", "", "_"]), self.one_of(&["%", "", "%%"]));
        format!("{before}{}{behind}", words.concat())
    }

    fn query(&mut self) -> String {
        let word = |terms: &mut Terms| {
            let word = terms.one_of(&[
                "quick", "fox", "ab", "jump", "abc", "qu:*", "a:*", "x", "!fox", "zz",
            ]);
            word.to_string()
        };
        let mut query = word(self);
        for _ in 0..self.0.random_range(0..3) {
            let operator = self.one_of(&["&", "|", "<->", "& !"]);
            query = format!("({query}) {operator} {}", word(self));
        }
        query
    }

    fn keys(&mut self) -> String {
        let keys = self.some_of(&["a", "b", "ab", "x", "zz"], 3);
        format!("'{{{}}}'::text[]", keys.join(","))
    }

    fn test(&mut self) -> String {
        match self.0.random_range(0..15) {
            0 => format!(
                "t {} {}",
                self.one_of(&["@>", "<@", "&&", "="]),
                self.text_array(2)
            ),
            1 => format!("{} {} t", self.text_array(2), self.one_of(&["@>", "<@", "&&"])),
            2 => format!("'{}' = ANY (t)", self.one_of(&WORDS)),
            3 => format!(
                "n {} {}",
                self.one_of(&["@>", "<@", "&&", "="]),
                self.int_array(3)
            ),
            4 => format!("d {} {}", self.one_of(&["@>", "<@", "&&"]), self.numeric_array(2)),
            5 | 6 => format!("j @> '{}'", self.json(2)),
            7 => format!("j ? '{}'", self.one_of(&["a", "ab", "x", "zz"])),
            8 => format!("j {} {}", self.one_of(&["?|", "?&"]), self.keys()),
            9 => format!("j -> 'a' @> '{}'", self.json(1)),
            10 => format!("w @@ to_tsquery('simple', '{}')", self.query()),
            11 => format!(
                "to_tsvector('english', b) @@ to_tsquery('english', '{}')",
                self.query()
            ),
            12 | 13 => format!(
                "b {} '{}'",
                self.one_of(&["LIKE", "ILIKE", "NOT LIKE"]),
                self.pattern()
            ),
            _ => {
                let (one, other) = (self.text(), self.text());
                format!("b IN ('{one}', '{other}')")
            }
        }
    }

    fn condition(&mut self) -> String {
        let mut condition = self.test();
        for _ in 0..self.0.random_range(0..3) {
            let other = match self.0.random_range(0..4) {
                0 => format!(
                    "p {} {}",
                    self.one_of(&["=", ">", "<="]),
                    self.0.random_range(0..4)
                ),
                1 => format!(
                    "id {} {}",
                    self.one_of(&["=", ">", "<"]),
                    self.0.random_range(0..60)
                ),
                _ => self.test(),
            };
            condition = format!("{condition} {} {other}", self.one_of(&["AND", "AND", "OR"]));
            if self.0.random_bool(0.2) {
                condition = format!("({condition})");
            }
        }
        if self.0.random_bool(0.07) {
            condition = format!("NOT ({condition})");
        }
        condition
    }

    fn values(&mut self) -> [String; 7] {
        let mut values = [
            self.0.random_range(0..4).to_string(),
            self.text_array(4),
            self.int_array(4),
            self.numeric_array(3),
            format!("'{}'::jsonb", self.json(3)),
            format!("to_tsvector('simple', '{}')", self.text()),
            format!("'{}'", self.text()),
        ];
        for value in values.iter_mut().skip(1) {
            if self.0.random_bool(0.07) {
                *value = "NULL".to_string();
            }
        }
        values
    }

    fn tables(&mut self) -> Vec<String> {
        let key = self.one_of(&KEYS);
        let mut statements = vec![
            "DROP TABLE IF EXISTS terms".to_string(),
            format!(
                "CREATE TABLE terms (p int, t text[], n int[], d numeric[], j jsonb, w tsvector, b text, {key})"
            ),
        ];
        // Some are kept by the writes, others built of the rows.
        let early = self.0.random_range(0..INDEXES.len());
        for index in &INDEXES[..early] {
            statements.push(self.index(index));
        }
        for row in 0..ROWS {
            let values = self.values().join(", ");
            statements.push(format!("INSERT INTO terms VALUES ({values}, {row})"));
        }
        for index in &INDEXES[early..] {
            statements.push(self.index(index));
        }
        statements
    }

    fn index(&mut self, index: &str) -> String {
        let condition = self.one_of(&["", "", "", " WHERE p > 1", " WHERE t IS NOT NULL"]);
        index.replace("{}", condition)
    }

    fn statement(&mut self) -> String {
        let condition = self.condition();
        match self.0.random_range(0..14) {
            0 => {
                let [p, t, n, d, j, w, b] = self.values();
                let id = self.0.random_range(0..70);
                format!(
                    "INSERT INTO terms (p, t, n, d, j, w, b, id) SELECT {p}, {t}, {n}, {d}, {j}, {w}, {b}, {id} \
                     WHERE NOT EXISTS (SELECT 1 FROM terms WHERE id = {id})"
                )
            }
            1 => {
                let [p, t, n, ..] = self.values();
                let changed = self.one_of(&[
                    "p = {p}",
                    "t = {t}, n = {n}",
                    "t = t || {t}",
                    "j = j || '{\"x\": 1}', p = 2",
                ]);
                let changed = changed.replace("{p}", &p).replace("{t}", &t).replace("{n}", &n);
                format!(
                    "UPDATE terms SET {changed} WHERE jsonb_typeof(j) = 'object' AND {condition} AND id % 3 = 0"
                )
            }
            2 => format!("DELETE FROM terms WHERE ({condition}) AND id % 7 = 0"),
            3 => format!("SELECT count(*), min(id) FROM terms WHERE {condition}"),
            4 => {
                let direction = self.one_of(&["", " DESC"]);
                format!("SELECT id FROM terms WHERE {condition} ORDER BY id{direction} LIMIT 4")
            }
            5 => {
                let direction = self.one_of(&["p DESC, id", "p, id DESC"]);
                format!("SELECT p, id FROM terms WHERE {condition} ORDER BY {direction} LIMIT 5")
            }
            6 => format!(
                "SELECT a.id, b.id FROM terms a JOIN terms b ON a.id = b.p WHERE b.id < 40 AND {} ORDER BY 1, 2",
                {
                    let test = self.test();
                    // Of one of both.
                    format!("EXISTS (SELECT 1 FROM terms WHERE id = a.id AND {test})")
                }
            ),
            _ => format!("SELECT id FROM terms WHERE {condition} ORDER BY id"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn random_conditions_on_terms_agree() {
    let seed = number("KEYSPAN_RANDOM_SEED").unwrap_or(1);
    let count = number("KEYSPAN_RANDOM_STATEMENTS").unwrap_or(STATEMENTS);
    let Some((database, mut theirs)) = Database::with_client("terms").await else {
        return;
    };
    let server = TestServer::start("sled").await;
    let mut ours = server.connect_text().await;
    run(&mut ours, "SET keyspan.full_scan = allow").await;
    for client in [&mut ours, &mut theirs] {
        run(client, "CREATE EXTENSION IF NOT EXISTS pg_trgm").await;
    }
    for at in 0..count {
        let seed = seed * 1_000_000 + at;
        let mut terms = Terms(StdRng::seed_from_u64(seed));
        if at % BETWEEN_TABLES == 0 {
            for statement in terms.tables() {
                let (own, other) = (
                    answer_of(&mut ours, &statement).await.ok(),
                    answer_of(&mut theirs, &statement).await.ok(),
                );
                assert_eq!(own.is_some(), other.is_some(), "seed {seed}: {statement}");
            }
        }
        let sql = terms.statement();
        let (own, other) = (
            answer_of(&mut ours, &sql).await.ok(),
            answer_of(&mut theirs, &sql).await.ok(),
        );
        assert_eq!(own, other, "seed {seed}, beside PostgreSQL: {sql}");
    }
    database.drop().await;
    server.stop_sound("random statements").await;
}
