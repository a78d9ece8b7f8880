//! Random partitioned tables, and random reads of and writes to them and their partitions, some of which come and go. Each statement must give
//! PostgreSQL's rows, or fail as there.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::{Answer, answer_of, number, run};
use crate::client::TextClient;
use crate::postgresql::Database;
use crate::server::TestServer;

/// Statements, unless `KEYSPAN_RANDOM_STATEMENTS` says how many.
const STATEMENTS: u64 = 500;
/// Statements until the table is made anew.
const BETWEEN_TABLES: u64 = 50;
const ROWS: usize = 30;

/// How the table is partitioned, by which columns, and its partitions: their names and what stands behind FOR VALUES.
struct Scheme {
    by: &'static str,
    columns: &'static str,
    has_null: bool,
    partitions: Named,
    /// Partitions of a partition: which it is, how it is partitioned, and they.
    below: Option<(&'static str, &'static str, Named)>,
}

/// Names of partitions, and their bounds.
type Named = &'static [(&'static str, &'static str)];

const SCHEMES: [Scheme; 7] = [
    Scheme {
        by: "RANGE (k)",
        columns: "k",
        has_null: false,
        partitions: &[
            ("pa", "FOR VALUES FROM (MINVALUE) TO (0)"),
            ("pb", "FOR VALUES FROM (0) TO (5)"),
            ("pc", "FOR VALUES FROM (7) TO (20)"),
        ],
        below: None,
    },
    Scheme {
        by: "RANGE (k)",
        columns: "k",
        has_null: true,
        partitions: &[
            ("pb", "FOR VALUES FROM (0) TO (5)"),
            ("pc", "FOR VALUES FROM (5) TO (MAXVALUE)"),
            ("pd", "DEFAULT"),
        ],
        below: Some((
            "pd",
            "LIST (t)",
            &[("pe", "FOR VALUES IN ('a', NULL)"), ("pf", "DEFAULT")],
        )),
    },
    Scheme {
        by: "LIST (t)",
        columns: "t",
        has_null: true,
        partitions: &[
            ("pa", "FOR VALUES IN ('a', 'b')"),
            ("pb", "FOR VALUES IN (NULL, 'c')"),
            ("pc", "DEFAULT"),
        ],
        below: None,
    },
    Scheme {
        by: "LIST (t)",
        columns: "t, k",
        has_null: false,
        partitions: &[
            ("pa", "FOR VALUES IN ('a', 'b')"),
            ("pb", "FOR VALUES IN ('c')"),
            ("pc", "FOR VALUES IN ('d')"),
        ],
        below: Some((
            "pa",
            "RANGE (k)",
            &[
                ("pe", "FOR VALUES FROM (MINVALUE) TO (3)"),
                ("pf", "FOR VALUES FROM (3) TO (MAXVALUE)"),
            ],
        )),
    },
    Scheme {
        by: "HASH (id)",
        columns: "id",
        has_null: false,
        partitions: &[
            ("pa", "FOR VALUES WITH (MODULUS 3, REMAINDER 0)"),
            ("pb", "FOR VALUES WITH (MODULUS 3, REMAINDER 1)"),
            ("pc", "FOR VALUES WITH (MODULUS 3, REMAINDER 2)"),
        ],
        below: None,
    },
    Scheme {
        by: "HASH (t, d)",
        columns: "t, d",
        has_null: true,
        partitions: &[
            ("pa", "FOR VALUES WITH (MODULUS 4, REMAINDER 0)"),
            ("pb", "FOR VALUES WITH (MODULUS 4, REMAINDER 2)"),
            ("pc", "FOR VALUES WITH (MODULUS 2, REMAINDER 1)"),
        ],
        below: None,
    },
    Scheme {
        by: "RANGE (d, k)",
        columns: "d, k",
        has_null: false,
        partitions: &[
            ("pa", "FOR VALUES FROM (MINVALUE, MINVALUE) TO ('2024-01-02', 3)"),
            (
                "pb",
                "FOR VALUES FROM ('2024-01-02', 3) TO ('2024-01-03', MINVALUE)",
            ),
            (
                "pc",
                "FOR VALUES FROM ('2024-01-03', MINVALUE) TO (MAXVALUE, MAXVALUE)",
            ),
        ],
        below: None,
    },
];

/// Makes statements.
struct Partitions<'s> {
    random: StdRng,
    scheme: &'s Scheme,
    has_key: bool,
    /// Ids are given once, but for those that may conflict.
    next_id: &'s mut u64,
}

impl Partitions<'_> {
    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        *choices.choose(&mut self.random).expect("there is one")
    }

    fn k(&mut self) -> String {
        let null = !self.has_key && self.random.random_bool(0.1);
        match null {
            true => "NULL".to_string(),
            false => self.random.random_range(-3..12).to_string(),
        }
    }

    fn t(&mut self) -> String {
        let null = !self.has_key && self.random.random_bool(0.15);
        match null {
            true => "NULL".to_string(),
            false => format!("'{}'", self.one_of(&["a", "b", "c", "d", "e"])),
        }
    }

    fn d(&mut self) -> String {
        format!("'2024-01-0{}'", self.random.random_range(1..5))
    }

    fn row(&mut self, id: u64) -> String {
        let (k, t, d) = (self.k(), self.t(), self.d());
        format!("({id}, {k}, {t}, {d}, {})", self.random.random_range(0..100))
    }

    fn rows(&mut self, most: usize) -> String {
        let count = self.random.random_range(1..=most);
        let rows = (0..count).map(|_| {
            *self.next_id += 1;
            let id = *self.next_id;
            self.row(id)
        });
        rows.collect::<Vec<_>>().join(", ")
    }

    fn tables(&mut self) -> Vec<String> {
        let scheme = self.scheme;
        let mut statements = vec![
            "DROP TABLE IF EXISTS refers".to_string(),
            "DROP TABLE IF EXISTS part".to_string(),
            "DROP TABLE IF EXISTS pa, pb, pc, pd, pe, pf".to_string(),
        ];
        let not_null = if self.has_key { " NOT NULL" } else { "" };
        statements.push(format!(
            "CREATE TABLE part (id int NOT NULL, k int{not_null}, t text{not_null}, d date NOT NULL, v int DEFAULT 7, \
             g int GENERATED ALWAYS AS (id * 2) STORED) PARTITION BY {}",
            scheme.by
        ));
        let early = self.random.random_bool(0.5);
        let key = match scheme.columns {
            "id" => "ALTER TABLE part ADD PRIMARY KEY (id)".to_string(),
            // By this one rows come in the order of the partitions.
            columns if self.random.random_bool(0.5) => {
                format!("ALTER TABLE part ADD PRIMARY KEY ({columns}, id)")
            }
            columns => format!("ALTER TABLE part ADD PRIMARY KEY (id, {columns})"),
        };
        let mut more = vec![
            self.one_of(&["CREATE INDEX ON part (k)", "CREATE INDEX ON part (t, v DESC)"])
                .to_string(),
        ];
        if self.has_key {
            more.push(key);
        }
        if early {
            statements.append(&mut more);
        }
        for (name, bound) in scheme.partitions {
            statements.push(self.partition("part", name, bound));
        }
        if let Some((of, _, partitions)) = scheme.below {
            for (name, bound) in partitions {
                statements.push(self.partition(of, name, bound));
            }
        }
        statements.append(&mut more);
        statements.push(format!("INSERT INTO part VALUES {}", self.rows(ROWS)));
        if self.has_key {
            let action = self.one_of(&[
                "",
                "ON DELETE CASCADE ON UPDATE CASCADE",
                "ON DELETE SET NULL ON UPDATE CASCADE",
            ]);
            let columns = self.key_columns();
            // Rows that follow their keys may become those of another partition.
            let (key, partitions) = self.one_of(&[
                (" PRIMARY KEY", ""),
                ("", " PARTITION BY RANGE (id); CREATE TABLE refers_a PARTITION OF refers FOR VALUES FROM (0) TO (12); CREATE TABLE refers_b (d date, t text, n int, k int, id int); ALTER TABLE refers ATTACH PARTITION refers_b FOR VALUES FROM (12) TO (40); CREATE TABLE refers_c PARTITION OF refers DEFAULT"),
                ("", " PARTITION BY HASH (id); CREATE TABLE refers_a PARTITION OF refers FOR VALUES WITH (MODULUS 2, REMAINDER 0); CREATE TABLE refers_b PARTITION OF refers FOR VALUES WITH (MODULUS 2, REMAINDER 1)"),
            ]);
            statements.push(format!(
                "CREATE TABLE refers (n int{key}, id int, k int, t text, d date, FOREIGN KEY ({columns}) REFERENCES part ({columns}) {action}){partitions}"
            ));
            statements.push("CREATE INDEX ON refers (id)".to_string());
        }
        statements
    }

    /// The columns of the primary key.
    fn key_columns(&self) -> String {
        match self.scheme.columns {
            "id" => "id".to_string(),
            columns => format!("id, {columns}"),
        }
    }

    /// How a partition is made: of its table, or attached to it, its columns in another order perhaps.
    fn partition(&mut self, of: &str, name: &str, bound: &str) -> String {
        let below = match self.scheme.below {
            Some((parent, by, _)) if parent == name => format!(" PARTITION BY {by}"),
            _ => String::new(),
        };
        if self.random.random_bool(0.6) || self.scheme.below.is_some() {
            return format!("CREATE TABLE {name} PARTITION OF {of} {bound}{below}");
        }
        let not_null = if self.has_key { " NOT NULL" } else { "" };
        format!(
            "CREATE TABLE {name} (v int DEFAULT 7, d date NOT NULL, g int GENERATED ALWAYS AS (id * 2) STORED, t text{not_null}, \
             k int{not_null}, id int NOT NULL); ALTER TABLE {of} ATTACH PARTITION {name} {bound}"
        )
    }

    fn test(&mut self) -> String {
        let op = self.one_of(&["=", "<>", "<", "<=", ">", ">="]);
        match self.random.random_range(0..11) {
            0 | 1 => format!("k {op} {}", self.random.random_range(-4..13)),
            2 | 3 => format!("t {op} {}", self.t()),
            4 => format!("d {op} {}", self.d()),
            5 => format!(
                "k IN ({}, {})",
                self.random.random_range(-4..13),
                self.random.random_range(-4..13)
            ),
            6 => format!(
                "t = ANY ('{{{},{}}}')",
                self.one_of(&["a", "b"]),
                self.one_of(&["c", "d", "zz"])
            ),
            7 => self
                .one_of(&["k IS NULL", "t IS NULL", "t IS NOT NULL", "k IS NOT NULL"])
                .to_string(),
            8 => format!("id % 3 = {}", self.random.random_range(0..3)),
            9 => format!("id = {}", self.random.random_range(1..60)),
            _ => format!(
                "k BETWEEN {} AND {}",
                self.random.random_range(-4..5),
                self.random.random_range(2..13)
            ),
        }
    }

    fn condition(&mut self) -> String {
        let (a, b) = (self.test(), self.test());
        match self.random.random_range(0..6) {
            0 => format!("{a} AND {b}"),
            1 => format!("({a} OR {b})"),
            2 => format!("NOT ({a} AND {b})"),
            3 => format!("(({a} AND {b}) OR {})", self.test()),
            _ => a,
        }
    }

    fn leaf(&mut self) -> &'static str {
        let mut names: Vec<&str> = self.scheme.partitions.iter().map(|(name, _)| *name).collect();
        names.extend(
            self.scheme
                .below
                .iter()
                .flat_map(|(_, _, below)| below.iter().map(|(name, _)| *name)),
        );
        names.choose(&mut self.random).expect("there is one")
    }

    /// The first rows in an order, or the ends of the table.
    fn page_or_ends(&mut self) -> String {
        match self.random.random_range(0..4) {
            0 | 1 => {
                let order = self.one_of(&[
                    "k, id, t, d, v",
                    "k DESC, id, t, d, v",
                    "d DESC, k DESC, id, t, v",
                    "d, k, id, t, v",
                ]);
                let (limit, mark) = (self.random.random_range(1..9), self.random.random_range(-2..12));
                let page = self.one_of(&[
                    "k >= {k}",
                    "k < {k}",
                    "d > '2024-01-02' AND k < {k}",
                    "d = '2024-01-03'",
                    "true",
                ]);
                let page = page.replace("{k}", &mark.to_string());
                format!("SELECT id, k, d FROM part WHERE {page} ORDER BY {order} LIMIT {limit}")
            }
            2 => {
                let totals = self.one_of(&[
                    "max(k)",
                    "min(d)",
                    "count(*)",
                    "max(k), min(k), count(*), max(t)",
                    "min(id), count(id)",
                    "max(d), sum(v)",
                ]);
                let condition = self.one_of(&["", " WHERE k > 3", " WHERE d < '2024-01-03' AND v > 20"]);
                format!("SELECT {totals} FROM part{condition}")
            }
            _ => {
                let (k, d) = (self.random.random_range(-3..12), self.d());
                format!(
                    "PREPARE page (int, date) AS SELECT id, v FROM part WHERE k >= $1 AND d <= $2 ORDER BY k, d, id, v LIMIT 4; \
                     EXECUTE page ({k}, {d}); EXECUTE page ({}, '2024-01-03'); EXECUTE page (NULL, {d}); DEALLOCATE page",
                    k + 3
                )
            }
        }
    }

    /// Of the table that refers to this one.
    fn referring(&mut self) -> String {
        match self.random.random_range(0..3) {
            0 | 1 => {
                *self.next_id += 1;
                let (n, k, t, d) = (*self.next_id, self.k(), self.t(), self.d());
                match self.random.random_bool(0.7) {
                    true => format!(
                        "INSERT INTO refers SELECT {n} * 100 + row_number() OVER (ORDER BY id, k, t, d), id, k, t, d FROM part WHERE id % 5 = {} RETURNING n, id",
                        n % 5
                    ),
                    false => format!("INSERT INTO refers VALUES ({n} * 100, {}, {k}, {t}, {d})", n % 30),
                }
            }
            _ => "SELECT tableoid::regclass, n, id, k, t, d FROM refers".to_string(),
        }
    }

    fn statement(&mut self) -> String {
        let condition = self.condition();
        match self.random.random_range(0..33) {
            24..28 => self.page_or_ends(),
            30..33 if self.has_key => self.referring(),
            0 | 1 => {
                let returned = self.one_of(&["tableoid::regclass, *", "part", "id, row_to_json(part), (part).k"]);
                format!("INSERT INTO part VALUES {} RETURNING {returned}", self.rows(4))
            }
            2 => format!("INSERT INTO {} (id, k, t, d, v) VALUES {} RETURNING id, g", self.leaf(), self.rows(1)),
            3 if self.has_key => {
                let id = self.random.random_range(1..40);
                let row = self.row(id);
                let action = self.one_of(&["NOTHING", "UPDATE SET v = excluded.v + 100", "UPDATE SET v = p.v + 1 WHERE p.v < 50"]);
                let target = match action {
                    "NOTHING" => String::new(),
                    _ if self.scheme.columns == "id" => "(id)".to_string(),
                    _ => format!("(id, {})", self.scheme.columns),
                };
                format!("INSERT INTO part AS p VALUES {row} ON CONFLICT {target} DO {action} RETURNING id, v")
            }
            4 => {
                let (k, t) = (self.k(), self.t());
                let set = self.one_of(&["k = {k}", "t = {t}", "k = {k}, t = {t}, v = v + 1", "d = '2024-01-02', k = {k}"]);
                let set = set.replace("{k}", &k).replace("{t}", &t);
                format!("UPDATE part SET {set} WHERE {condition} AND id % 4 = 0 RETURNING *")
            }
            5 => {
                let returned = self.one_of(&["id, v", "part", "to_json(part.*)"]);
                format!("UPDATE part SET v = v + 1 WHERE {condition} RETURNING {returned}")
            }
            6 => format!("UPDATE {} SET k = {} WHERE id % 5 = 0", self.leaf(), self.k()),
            7 => format!(
                "UPDATE part SET v = x.v, t = coalesce(x.t, part.t) FROM (VALUES (1, 5, 'a'), (2, 6, NULL), (9, 7, 'c')) x (id, v, t) \
                 WHERE part.id = x.id AND {}",
                condition.replace("id ", "part.id ").replace("t ", "part.t ").replace("v ", "part.v ")
            ),
            8 => format!("DELETE FROM part WHERE ({condition}) AND id % 6 = 0 RETURNING id"),
            9 => format!("DELETE FROM {} WHERE ({condition}) AND id % 5 = 1", self.leaf()),
            10 => "INSERT INTO part (id, k, t, d) SELECT id + 10000, k, t, d FROM part WHERE id % 7 = 0 AND id < 5000".to_string(),
            11 => "DELETE FROM part WHERE id > 5000".to_string(),
            12 => format!("SELECT tableoid::regclass, count(*), sum(v) FROM part WHERE {condition} GROUP BY tableoid"),
            13 => {
                let order = self.one_of(&["k, id, t, d, v", "t DESC, id, k, d, v", "d, k, id, t, v", "id DESC, k, t, d, v"]);
                let limit = self.random.random_range(1..6);
                let offset = self.one_of(&["", " OFFSET 2"]);
                format!("SELECT * FROM part WHERE {condition} ORDER BY {order} LIMIT {limit}{offset}")
            }
            14 => format!("SELECT k, max(v), min(t) FROM part WHERE {condition} GROUP BY k HAVING count(*) > 1"),
            15 => {
                let condition = condition.replace("id ", "p.id ").replace("k ", "p.k ").replace("t ", "p.t ");
                let condition = condition.replace("d ", "p.d ").replace("ip.d ", "id ");
                format!(
                    "SELECT a.id, b.id FROM part a JOIN {} b ON a.k = b.k WHERE a.id < 20 AND EXISTS (SELECT FROM part p WHERE p.id = a.id AND {})",
                    self.leaf(),
                    if condition.contains("ip") { "true".to_string() } else { condition }
                )
            }
            16 => format!("SELECT id, v FROM part WHERE {condition} ORDER BY id, k, t, d, v FOR UPDATE"),
            17 => format!("SELECT a.id, (SELECT count(*) FROM part b WHERE b.k = a.k AND b.t = a.t) FROM part a WHERE {}", condition.replace("id", "a.id")),
            18 if self.scheme.below.is_none() => {
                let at = self.random.random_range(0..self.scheme.partitions.len());
                let (name, bound) = self.scheme.partitions[at];
                format!("ALTER TABLE part DETACH PARTITION {name}; ALTER TABLE part ATTACH PARTITION {name} {bound}")
            }
            19 => format!("TRUNCATE {}", self.leaf()),
            20 => format!("WITH gone AS (DELETE FROM part WHERE ({condition}) AND id % 9 = 0 RETURNING *) INSERT INTO part (id, k, t, d, v) SELECT id, k, t, d, v + 1 FROM gone RETURNING id"),
            _ => format!("SELECT * FROM part WHERE {condition}"),
        }
    }
}

/// The rows of a statement, sorted unless their order counts, or its SQLSTATE.
async fn answer(client: &mut TextClient, sql: &str) -> Answer {
    let mut answer = answer_of(client, sql).await;
    if let Ok(rows) = &mut answer
        && !sql.contains("ORDER BY")
    {
        rows.sort();
    }
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn random_partitions_agree() {
    let seed = number("KEYSPAN_RANDOM_SEED").unwrap_or(1);
    let count = number("KEYSPAN_RANDOM_STATEMENTS").unwrap_or(STATEMENTS);
    let Some((database, mut theirs)) = Database::with_client("partitions").await else {
        return;
    };
    let server = TestServer::start("sled").await;
    let mut ours = server.connect_text().await;
    run(&mut ours, "SET keyspan.full_scan = allow").await;
    // It leaves out too much for `k IN (-3, -2) AND k IS NOT NULL`, whose rows are in DEFAULT.
    run(&mut theirs, "SET enable_partition_pruning = off").await;
    let mut next_id = 0;
    let mut shape = (&SCHEMES[0], false);
    for at in 0..count {
        let seed = seed * 1_000_000 + at;
        let mut random = StdRng::seed_from_u64(seed);
        let is_new = at % BETWEEN_TABLES == 0;
        if is_new {
            let scheme = SCHEMES.choose(&mut random).expect("there is one");
            shape = (scheme, !scheme.has_null && random.random_bool(0.7));
            next_id = 0;
        }
        let mut partitions = Partitions {
            random,
            scheme: shape.0,
            has_key: shape.1,
            next_id: &mut next_id,
        };
        let statements = match is_new {
            true => partitions.tables(),
            false => vec![partitions.statement()],
        };
        for sql in statements {
            let (own, other) = (answer(&mut ours, &sql).await, answer(&mut theirs, &sql).await);
            assert_eq!(
                own, other,
                "seed {seed}, beside PostgreSQL: {sql}\n{}",
                shape.0.by
            );
        }
    }
    database.drop().await;
    server.stop_sound("random statements").await;
}
