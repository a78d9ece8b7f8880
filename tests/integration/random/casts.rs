//! Random conditions on columns of many types, with casts on both sides, beside indexes over most of them, in sessions of several zones and
//! orders of dates; and expressions that fail for some rows, behind what keeps them from being asked of these. Each must give PostgreSQL's
//! rows, or fail as it does.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::{answer_of, number, run};
use crate::postgresql::Database;
use crate::server::TestServer;

/// Statements, unless `KEYSPAN_RANDOM_STATEMENTS` says how many.
const STATEMENTS: u64 = 300;
/// Statements until the session has other settings.
const BETWEEN_SETTINGS: u64 = 25;
const ROWS: usize = 40;

/// What columns of one kind hold, and what each of these can become. Columns of one kind compare with each other.
struct Kind {
    types: &'static [&'static str],
    values: &'static [&'static str],
    casts: &'static [&'static str],
}

const KINDS: [Kind; 8] = [
    Kind {
        types: &["int2", "int4", "int8"],
        values: &["-3", "0", "1", "7", "32767"],
        casts: &["int8", "numeric", "numeric(20,2)", "float8", "text"],
    },
    Kind {
        types: &["numeric", "numeric(8,2)"],
        values: &["-3.0", "0", "1.50", "7.25", "99999"],
        casts: &["numeric(20,1)", "float8", "text"],
    },
    Kind {
        types: &["float4", "float8"],
        values: &["-3", "0", "1.5", "0.1", "NaN", "Infinity"],
        casts: &["float8", "text"],
    },
    Kind {
        types: &["text", "varchar(12)", "char(5)", "citext"],
        values: &["ab", "ab  ", "AB", "Ab ", "1", "", "abc", "abcde", "a%"],
        casts: &["text", "varchar", "varchar(2)", "bpchar", "char(3)", "citext"],
    },
    Kind {
        types: &["date", "timestamp", "timestamptz"],
        values: &[
            "2024-03-31",
            "2024-03-31 02:30",
            "2024-03-31 00:30+00",
            "2024-10-27 01:30+00",
            "2024-10-27 02:30:00.7",
            "infinity",
            "-infinity",
        ],
        casts: &["date", "timestamp", "timestamptz", "timestamp(0)", "text"],
    },
    Kind {
        types: &["bool"],
        values: &["true", "false"],
        casts: &["text"],
    },
    Kind {
        types: &["inet", "cidr"],
        values: &["10.0.0.0/8", "10.1.0.0/16", "::1"],
        casts: &["inet", "text"],
    },
    Kind {
        types: &["varbit(6)", "bytea", "uuid"],
        values: &["1010", "10", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
        casts: &["text"],
    },
];

const SETTINGS: [&str; 5] = [
    "SET timezone = 'UTC'; SET datestyle = 'ISO, MDY'",
    "SET timezone = 'Europe/Berlin'; SET datestyle = 'ISO, DMY'",
    "SET timezone = 'America/Sao_Paulo'; SET datestyle = 'SQL, DMY'",
    "SET timezone = 'Asia/Kathmandu'; SET datestyle = 'German'",
    "SET timezone = '-09:30'; SET datestyle = 'Postgres, MDY'",
];

/// What fails where it is computed for every row, and what does not: tables `g` hold n (zeros, NULLs) and t (numbers, words).
const GUARDED: [&str; 14] = [
    "n = 0 OR 10 / n > {}",
    "n <> 0 AND 10 / n > {}",
    "n IS NULL OR n = 0 OR {} / n < 3",
    "NOT (n = 0 OR {} / n < 1)",
    "t ~ '^[0-9]+$' AND t::int > {}",
    "t !~ '^[0-9]+$' OR t::int > {}",
    "t::int > {} AND t ~ '^[0-9]+$'",
    "CASE WHEN n = 0 THEN false ELSE 10 / n > {} END",
    "coalesce(n, 0) = 0 OR 10 / n > {}",
    "n <> 0 AND (id % 2 = 0 OR 10 / n > {})",
    "(n <> 0 AND 10 / n > {}) IS NOT TRUE",
    "t = '' OR length(t) / length(t) = {}",
    "n > 0 AND sqrt(n) > {}",
    "id > {} AND (n = 0 OR id / n > 1) AND n IS NOT NULL",
];

/// Where a condition may stand.
const PLACES: [&str; 9] = [
    "SELECT id FROM g WHERE {} ORDER BY id",
    "SELECT id, {} FROM g ORDER BY id",
    "SELECT count(*) FILTER (WHERE {}) FROM g",
    "SELECT id FROM (SELECT * FROM g WHERE {}) q WHERE id > 3 ORDER BY id",
    "SELECT id, bool_or({}) OVER (ORDER BY id DESC) FROM g ORDER BY id",
    "SELECT id FROM g GROUP BY id, n, t HAVING {} ORDER BY id",
    "SELECT a.id FROM g a WHERE EXISTS (SELECT 1 FROM g WHERE g.id = a.id AND ({})) ORDER BY a.id",
    "SELECT CASE WHEN {} THEN id END FROM g ORDER BY id",
    "SELECT sum(10 / n) FILTER (WHERE n <> 0), count(t::int) FILTER (WHERE t ~ '^[0-9]+$' AND ({})) FROM g",
];

/// The columns: name, type and kind.
fn columns() -> Vec<(String, &'static str, &'static Kind)> {
    let types = KINDS
        .iter()
        .flat_map(|kind| kind.types.iter().map(move |ty| (*ty, kind)));
    let named = types.enumerate();
    named
        .map(|(at, (ty, kind))| (format!("c{at}"), ty, kind))
        .collect()
}

/// Statements that make the tables. Values that a type does not read are NULL there.
fn tables(random: &mut StdRng) -> Vec<String> {
    let columns = columns();
    let list: Vec<String> = columns
        .iter()
        .map(|(name, ty, _)| format!("{name} {ty}"))
        .collect();
    let mut statements = vec![
        "CREATE EXTENSION IF NOT EXISTS citext".to_string(),
        format!("CREATE TABLE ty (id int PRIMARY KEY, {})", list.join(", ")),
        "CREATE TABLE g (id int PRIMARY KEY, n int, t text)".to_string(),
        "INSERT INTO g SELECT i, nullif(i % 5, 3) - 1, (ARRAY['7', 'a', '', NULL, '12'])[1 + i % 5] \
         FROM generate_series(1, 30) i"
            .to_string(),
    ];
    for (at, (name, ..)) in columns.iter().enumerate() {
        let descending = if at % 3 == 0 { " DESC" } else { "" };
        statements.push(format!("CREATE INDEX ON ty ({name}{descending})"));
    }
    for row in 0..ROWS {
        statements.push(format!("INSERT INTO ty (id) VALUES ({row})"));
        for (name, ty, kind) in &columns {
            if random.random_bool(0.85) {
                let value = kind.values.choose(random).expect("there is one");
                statements.push(format!("UPDATE ty SET {name} = '{value}'::{ty} WHERE id = {row}"));
            }
        }
    }
    statements
}

/// Makes statements.
struct Casts(StdRng);

impl Casts {
    fn one_of<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts.choose(&mut self.0).expect("there is one")
    }

    fn column(&mut self) -> (String, &'static str, &'static Kind) {
        columns().choose(&mut self.0).cloned().expect("there is one")
    }

    fn operand(&mut self, (name, kind): (&str, &Kind)) -> String {
        match self.0.random_range(0..10) {
            0..5 => name.to_string(),
            5..9 => format!("{name}::{}", self.one_of(kind.casts)),
            _ => format!("{name}::{}::{}", self.one_of(kind.casts), self.one_of(kind.casts)),
        }
    }

    fn constant(&mut self, ty: &str, kind: &Kind) -> String {
        let value = self.one_of(kind.values);
        match self.0.random_range(0..10) {
            0..4 => format!("'{value}'"),
            4..8 => format!("'{value}'::{ty}"),
            _ => format!("'{value}'::{ty}::{}", self.one_of(kind.casts)),
        }
    }

    fn comparison(&mut self) -> String {
        let (name, ty, kind) = self.column();
        let left = self.operand((&name, kind));
        let operator = self.one_of(&["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM"]);
        match self.0.random_range(0..12) {
            0..5 => format!("{left} {operator} {}", self.constant(ty, kind)),
            5..7 => {
                let items = [self.constant(ty, kind), self.constant(ty, kind)];
                let not = self.one_of(&["", "NOT "]);
                format!("{left} {not}IN ({})", items.join(", "))
            }
            7 => {
                let (low, high) = (self.constant(ty, kind), self.constant(ty, kind));
                format!("{left} BETWEEN {low} AND {high}")
            }
            8 => {
                let pattern = self.one_of(&["ab%", "a_", "%b", "AB%", "", "ab %"]);
                let operator = self.one_of(&["LIKE", "ILIKE", "NOT LIKE"]);
                format!("{left} {operator} '{pattern}'")
            }
            9 => format!("{left} IS NULL"),
            _ => {
                let others: Vec<_> = columns()
                    .into_iter()
                    .filter(|(.., of)| std::ptr::eq(*of, kind))
                    .collect();
                let (other, ..) = others.choose(&mut self.0).expect("itself").clone();
                format!("{left} {operator} {}", self.operand((&other, kind)))
            }
        }
    }

    fn statement(&mut self) -> String {
        if self.0.random_bool(0.3) {
            let number = self.0.random_range(0..4).to_string();
            let condition = self.one_of(&GUARDED).replace("{}", &number);
            return self.one_of(&PLACES).replace("{}", &condition);
        }
        let mut condition = self.comparison();
        if self.0.random_bool(0.3) {
            let operator = self.one_of(&["AND", "OR"]);
            condition = format!("{condition} {operator} {}", self.comparison());
        }
        if self.0.random_bool(0.1) {
            condition = format!("NOT ({condition})");
        }
        match self.0.random_range(0..8) {
            0 => {
                let (name, _, kind) = self.column();
                let key = self.operand((&name, kind));
                let direction = self.one_of(&["", " DESC", " NULLS FIRST"]);
                format!("SELECT id, {key} FROM ty WHERE {condition} ORDER BY {key}{direction}, id")
            }
            1 => {
                let (name, _, kind) = self.column();
                let key = self.operand((&name, kind));
                // Which of several texts that are one group is told is open.
                format!("SELECT count(*), min(id) FROM ty WHERE {condition} GROUP BY {key} ORDER BY 2")
            }
            _ => format!("SELECT id FROM ty WHERE {condition} ORDER BY id"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn random_casts_and_guards_agree() {
    let seed = number("KEYSPAN_RANDOM_SEED").unwrap_or(1);
    let count = number("KEYSPAN_RANDOM_STATEMENTS").unwrap_or(STATEMENTS);
    let Some((database, mut theirs)) = Database::with_client("casts").await else {
        return;
    };
    let server = TestServer::start("sled").await;
    let mut ours = server.connect_text().await;
    run(&mut ours, "SET keyspan.full_scan = allow").await;
    for statement in tables(&mut StdRng::seed_from_u64(seed)) {
        // A value that its type does not read stays NULL, in both.
        let (own, other) = (
            answer_of(&mut ours, &statement).await.ok(),
            answer_of(&mut theirs, &statement).await.ok(),
        );
        assert_eq!(own.is_some(), other.is_some(), "{statement}");
    }
    for at in 0..count {
        let seed = seed * 1_000_000 + at;
        if at % BETWEEN_SETTINGS == 0 {
            let settings = SETTINGS[(at / BETWEEN_SETTINGS) as usize % SETTINGS.len()];
            for client in [&mut ours, &mut theirs] {
                run(client, settings).await;
            }
        }
        let sql = Casts(StdRng::seed_from_u64(seed)).statement();
        let (own, other) = (
            answer_of(&mut ours, &sql).await.ok(),
            answer_of(&mut theirs, &sql).await.ok(),
        );
        assert_eq!(own, other, "seed {seed}, beside PostgreSQL: {sql}");
    }
    database.drop().await;
    server.stop().await;
}
