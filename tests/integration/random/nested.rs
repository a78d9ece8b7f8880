//! Random queries of any nesting: queries in FROM, in the select list and in conditions, each of which may name what stands around it;
//! grouping sets, windows, set operations, WITH, recursion, LATERAL. Each must give PostgreSQL's rows.
//!
//! Every expression is one that no row fails, and every order one that says which rows LIMIT leaves, so that nothing is left open.

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::{number, run};
use crate::client::{Protocol, TextClient};
use crate::postgresql::Database;
use crate::server::TestServer;

/// Queries, unless `KEYSPAN_RANDOM_STATEMENTS` says how many.
const QUERIES: usize = 150;

/// Differences that are shown.
const SHOWN: usize = 8;

/// Types of columns; numbers are small, so that no sum of theirs overflows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Int,
    Text,
    Bool,
}

const TYPES: [Type; 5] = [Type::Int, Type::Int, Type::Text, Type::Text, Type::Bool];

/// A column that can be named, by what it is called there.
#[derive(Debug, Clone)]
struct Column {
    name: String,
    ty: Type,
}

/// What a query can name: its own columns, and those around it.
#[derive(Debug, Clone, Default)]
struct Scope {
    own: Vec<Column>,
    around: Vec<Column>,
}

impl Scope {
    /// The scope of a query inside.
    fn inside(&self) -> Scope {
        let around = self.own.iter().chain(&self.around).cloned().collect();
        Scope {
            own: Vec::new(),
            around,
        }
    }
}

/// A query and the types of its columns, which are named `c0` …
struct Query {
    sql: String,
    types: Vec<Type>,
}

struct Queries {
    random: StdRng,
    names: u32,
    /// WITH queries that can be named, with their columns' types.
    shared: Vec<(String, Vec<Type>)>,
}

const MAKE: &str = "
    CREATE TABLE p (a int, b int, s text, f boolean, PRIMARY KEY (a, b));
    CREATE TABLE q (k int PRIMARY KEY, a int, s text, f boolean);
    CREATE INDEX ON q (a, k DESC); CREATE INDEX ON q (s) INCLUDE (a); CREATE INDEX ON p (s) WHERE f;
    CREATE TABLE r (s text PRIMARY KEY, a int NOT NULL, f boolean);
    INSERT INTO p SELECT i / 4, i % 4, CASE i % 5 WHEN 0 THEN NULL ELSE chr(97 + i % 7) END, CASE WHEN i % 3 > 0 THEN i % 2 = 0 END
      FROM generate_series(0, 27) i;
    INSERT INTO q SELECT i * 2, CASE WHEN i % 4 > 0 THEN i % 6 END, CASE WHEN i % 5 > 0 THEN chr(97 + i % 4) END, i % 3 = 0
      FROM generate_series(0, 13) i;
    INSERT INTO r SELECT chr(97 + i), i % 4, CASE WHEN i % 4 > 0 THEN i % 2 = 0 END FROM generate_series(0, 5) i";

const TABLES: [(&str, &[(&str, Type)]); 3] = [
    (
        "p",
        &[
            ("a", Type::Int),
            ("b", Type::Int),
            ("s", Type::Text),
            ("f", Type::Bool),
        ],
    ),
    (
        "q",
        &[
            ("k", Type::Int),
            ("a", Type::Int),
            ("s", Type::Text),
            ("f", Type::Bool),
        ],
    ),
    ("r", &[("s", Type::Text), ("a", Type::Int), ("f", Type::Bool)]),
];

impl Queries {
    fn below(&mut self, end: usize) -> usize {
        self.random.random_range(0..end)
    }

    fn chance(&mut self, of_hundred: usize) -> bool {
        self.below(100) < of_hundred
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn literal(&mut self, ty: Type) -> String {
        match ty {
            Type::Int => self
                .pick(&["0", "1", "2", "3", "5", "-1", "NULL::int"])
                .to_string(),
            Type::Text => self
                .pick(&["'a'", "'b'", "'c'", "'zz'", "''", "NULL::text"])
                .to_string(),
            Type::Bool => self.pick(&["true", "false", "NULL::boolean"]).to_string(),
        }
    }

    fn column(&mut self, scope: &Scope, ty: Type) -> String {
        let of = |columns: &[Column]| -> Vec<String> {
            let columns = columns.iter().filter(|column| column.ty == ty);
            columns.map(|column| column.name.clone()).collect()
        };
        let (own, around) = (of(&scope.own), of(&scope.around));
        match (own.is_empty(), around.is_empty()) {
            (true, true) => self.literal(ty),
            (true, false) => self.pick(&around),
            (false, false) if self.chance(20) => self.pick(&around),
            _ => self.pick(&own),
        }
    }

    /// An expression without aggregates and windows.
    fn expression(&mut self, scope: &Scope, ty: Type, depth: usize) -> String {
        if depth == 0 || self.chance(35) {
            return match self.chance(80) {
                true => self.column(scope, ty),
                false => self.literal(ty),
            };
        }
        let mut one = |ty: Type| self.expression(scope, ty, depth - 1);
        match ty {
            Type::Int => {
                let (a, b, t, f) = (one(Type::Int), one(Type::Int), one(Type::Text), one(Type::Bool));
                match self.below(9) {
                    0 => format!("({a} + {b}) % 100"),
                    1 => format!("coalesce({a}, {b})"),
                    2 => format!("length({t})"),
                    3 => format!("CASE WHEN {f} THEN {a} ELSE {b} END"),
                    4 => format!("greatest({a}, {b})"),
                    5 => format!("nullif({a}, {b})"),
                    6 => format!("abs({a} % 7)"),
                    _ => self.scalar(scope, Type::Int, depth - 1),
                }
            }
            Type::Text => {
                let (a, b, i) = (one(Type::Text), one(Type::Text), one(Type::Int));
                match self.below(7) {
                    0 => format!("left({a} || {b}, 4)"),
                    1 => format!("coalesce({a}, {b})"),
                    2 => format!("upper({a})"),
                    3 => format!("({i})::text"),
                    4 => format!("CASE {i} WHEN 1 THEN {a} WHEN 2 THEN {b} END"),
                    _ => self.scalar(scope, Type::Text, depth - 1),
                }
            }
            Type::Bool => self.condition(scope, depth),
        }
    }

    fn condition(&mut self, scope: &Scope, depth: usize) -> String {
        let depth = depth.saturating_sub(1);
        let ty = self.pick(&[Type::Int, Type::Int, Type::Text]);
        let (a, b) = (
            self.expression(scope, ty, depth),
            self.expression(scope, ty, depth),
        );
        match self.below(15) {
            0 => format!(
                "({} AND {})",
                self.condition(scope, depth),
                self.condition(scope, depth)
            ),
            1 => format!(
                "({} OR {})",
                self.condition(scope, depth),
                self.condition(scope, depth)
            ),
            2 => format!("NOT ({})", self.condition(scope, depth)),
            3 => format!("({a} IS NULL)"),
            4 => format!("({a} IS DISTINCT FROM {b})"),
            5 => format!("({a} IN ({b}, {}))", self.literal(ty)),
            6 => format!("({a} BETWEEN {b} AND {})", self.column(scope, ty)),
            7 | 8 if depth > 0 => {
                let not = self.pick(&["", "NOT "]);
                let query = self.query(&scope.inside(), None, depth - 1);
                format!("({not}EXISTS ({}))", query.sql)
            }
            9 | 10 if depth > 0 => {
                let word = self.pick(&["IN", "NOT IN", "= ANY", "<> ALL", "> ANY", "<= ALL"]);
                let query = self.query(&scope.inside(), Some(&[ty]), depth - 1);
                format!("({a} {word} ({}))", query.sql)
            }
            11 => {
                let column = self.column(scope, Type::Bool);
                format!(
                    "({column} {})",
                    self.pick(&["IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT NULL"])
                )
            }
            _ => format!("({a} {} {b})", self.pick(&["=", "=", "<", ">=", "<>"])),
        }
    }

    /// A subquery of one value.
    fn scalar(&mut self, scope: &Scope, ty: Type, depth: usize) -> String {
        let inside = scope.inside();
        if self.chance(50) {
            let query = self.query(&inside, Some(&[ty]), depth);
            return format!(
                "(SELECT {}(c0) FROM ({}) x)",
                self.pick(&["min", "max"]),
                query.sql
            );
        }
        let (from, own) = self.from(&inside, depth);
        let scope = Scope { own, ..inside };
        // An aggregate of what stands around alone would be that query's.
        let inner = Scope {
            around: Vec::new(),
            ..scope.clone()
        };
        let (item, condition) = (self.expression(&inner, ty, 0), self.condition(&scope, depth));
        if !item.contains('.') {
            return self.literal(ty);
        }
        let aggregate = match ty {
            Type::Int => self.pick(&["count", "max", "min"]),
            _ => self.pick(&["max", "min"]),
        };
        match aggregate {
            "count" => format!("(SELECT count({item})::int FROM {from} WHERE {condition})"),
            aggregate => format!("(SELECT {aggregate}({item}) FROM {from} WHERE {condition})"),
        }
    }

    /// What stands in FROM, and its columns.
    fn from(&mut self, scope: &Scope, depth: usize) -> (String, Vec<Column>) {
        let (mut text, mut columns) = self.relation(scope, depth);
        let joins = match depth {
            0 => self.below(2),
            _ => self.below(3),
        };
        for _ in 0..joins {
            let word = self.pick(&[
                "JOIN",
                "JOIN",
                "LEFT JOIN",
                "LEFT JOIN",
                "RIGHT JOIN",
                "FULL JOIN",
                "CROSS JOIN",
                "LATERAL",
            ]);
            if word == "LATERAL" {
                let mut inside = scope.inside();
                inside.around.extend(columns.iter().cloned());
                let query = self.query(&inside, None, depth.saturating_sub(1));
                let name = self.fresh("l");
                let left = self.pick(&["JOIN", "LEFT JOIN"]);
                columns.extend(of_query(&name, &query.types));
                let both = Scope {
                    own: columns.clone(),
                    around: Vec::new(),
                };
                let on = match self.chance(50) {
                    true => "true".to_string(),
                    false => self.condition(&both, 1),
                };
                text = format!("{text} {left} LATERAL ({}) {name} ON {on}", query.sql);
                continue;
            }
            let (right, more) = self.relation(scope, depth.saturating_sub(1));
            let own = columns.iter().chain(&more).cloned().collect();
            let ty = self.pick(&[Type::Int, Type::Text]);
            let sides = [&columns, &more].map(|own| Scope {
                own: own.clone(),
                around: Vec::new(),
            });
            let mut on = format!("{} = {}", self.column(&sides[0], ty), self.column(&sides[1], ty));
            let both = Scope {
                own,
                around: Vec::new(),
            };
            // A full join by other than equalities is refused by PostgreSQL.
            if self.chance(30) && word != "FULL JOIN" {
                on = format!("{on} AND {}", self.condition(&both, 1));
            }
            text = match word {
                "CROSS JOIN" => format!("{text} CROSS JOIN {right}"),
                word => format!("{text} {word} {right} ON {on}"),
            };
            columns = both.own;
        }
        (text, columns)
    }

    fn relation(&mut self, scope: &Scope, depth: usize) -> (String, Vec<Column>) {
        let name = self.fresh("x");
        let kinds = if depth > 0 { 8 } else { 4 };
        match self.below(kinds) {
            4 | 5 => {
                // A query in FROM names nothing of its neighbours, but what stands around them all.
                let around = Scope {
                    own: Vec::new(),
                    around: scope.around.clone(),
                };
                let query = self.query(&around, None, depth - 1);
                (format!("({}) {name}", query.sql), of_query(&name, &query.types))
            }
            6 if !self.shared.is_empty() => {
                let shared = self.shared.clone();
                let (of, types) = self.pick(&shared);
                (format!("{of} {name}"), of_query(&name, &types))
            }
            7 => {
                let rows: Vec<String> = (0..1 + self.below(3))
                    .map(|_| format!("({}, {})", self.literal(Type::Int), self.literal(Type::Text)))
                    .collect();
                let text = format!("(VALUES {}) {name} (c0, c1)", rows.join(", "));
                (text, of_query(&name, &[Type::Int, Type::Text]))
            }
            _ => {
                let (table, columns) = self.pick(&TABLES);
                let columns = columns.iter().map(|(column, ty)| Column {
                    name: format!("{name}.{column}"),
                    ty: *ty,
                });
                (format!("{table} {name}"), columns.collect())
            }
        }
    }

    /// A query of these types, or of some.
    fn query(&mut self, scope: &Scope, types: Option<&[Type]>, depth: usize) -> Query {
        let types = match types {
            Some(types) => types.to_vec(),
            None => (0..1 + self.below(3)).map(|_| self.pick(&TYPES)).collect(),
        };
        if depth > 0 && self.chance(12) {
            let (first, second) = (
                self.body(scope, &types, depth - 1),
                self.body(scope, &types, depth - 1),
            );
            let word = self.pick(&[
                "UNION",
                "UNION ALL",
                "INTERSECT",
                "EXCEPT",
                "INTERSECT ALL",
                "EXCEPT ALL",
            ]);
            let sql = format!("({first}) {word} ({second})");
            return Query { sql, types };
        }
        let mut sql = self.body(scope, &types, depth);
        if self.chance(20) {
            let orders: Vec<String> = (1..=types.len())
                .map(|at| {
                    format!(
                        "{at}{}",
                        self.pick(&["", " DESC", " NULLS FIRST", " DESC NULLS LAST"])
                    )
                })
                .collect();
            sql = format!("{sql} ORDER BY {} LIMIT {}", orders.join(", "), self.below(6));
            if self.chance(30) {
                sql.push_str(" OFFSET 1");
            }
        }
        Query { sql, types }
    }

    fn body(&mut self, scope: &Scope, types: &[Type], depth: usize) -> String {
        let (from, own) = self.from(scope, depth);
        let scope = Scope {
            own,
            around: scope.around.clone(),
        };
        let condition = match self.chance(60) {
            true => format!(" WHERE {}", self.condition(&scope, depth)),
            false => String::new(),
        };
        match self.below(10) {
            0..=2 => self.grouped(&scope, types, &format!("{from}{condition}")),
            3 => {
                let items = types
                    .iter()
                    .map(|ty| self.window(&scope, *ty))
                    .collect::<Vec<_>>();
                format!("SELECT {} FROM {from}{condition}", named(&items))
            }
            kind => {
                let items: Vec<String> = types
                    .iter()
                    .map(|ty| self.expression(&scope, *ty, depth))
                    .collect();
                let distinct = if kind == 4 { "DISTINCT " } else { "" };
                format!("SELECT {distinct}{} FROM {from}{condition}", named(&items))
            }
        }
    }

    /// A query by groups: its items are keys, aggregates, and what is made of both.
    fn grouped(&mut self, scope: &Scope, types: &[Type], from: &str) -> String {
        let keys: Vec<(String, Type)> = (0..1 + self.below(3))
            .map(|_| {
                let ty = self.pick(&TYPES);
                let depth = self.below(2);
                (self.expression(scope, ty, depth), ty)
            })
            // A constant would be a position, or none.
            .filter(|(key, _)| key.contains('.'))
            .collect();
        let items: Vec<String> = types.iter().map(|ty| self.of_groups(scope, &keys, *ty)).collect();
        let having = match self.chance(30) {
            true => format!(
                " HAVING {} > {}",
                self.of_groups(scope, &keys, Type::Int),
                self.below(3)
            ),
            false => String::new(),
        };
        let list: Vec<&str> = keys.iter().map(|(key, _)| key.as_str()).collect();
        let list = list.join(", ");
        // PostgreSQL 15 keeps the value of a subquery in sets that leave it out.
        let has_subquery = list.contains("SELECT");
        let by = match (keys.len(), self.below(8)) {
            (0, _) => String::new(),
            (_, 0..=2) if has_subquery => format!(" GROUP BY {list}"),
            (_, 0) => format!(" GROUP BY ROLLUP ({list})"),
            (_, 1) => format!(" GROUP BY CUBE ({list})"),
            (_, 2) => format!(" GROUP BY GROUPING SETS (({list}), ({}), ())", keys[0].0),
            _ => format!(" GROUP BY {list}"),
        };
        format!("SELECT {} FROM {from}{by}{having}", named(&items))
    }

    fn of_groups(&mut self, scope: &Scope, keys: &[(String, Type)], ty: Type) -> String {
        let of_type: Vec<String> = keys
            .iter()
            .filter(|(_, other)| *other == ty)
            .map(|(key, _)| key.clone())
            .collect();
        if !of_type.is_empty() && self.chance(60) {
            let key = self.pick(&of_type);
            return match (ty, self.below(3)) {
                (Type::Int, 0) => format!("coalesce({key}, 7)"),
                (Type::Text, 0) => format!("upper({key})"),
                _ => key,
            };
        }
        let filter = match self.chance(20) {
            true => format!(" FILTER (WHERE {})", self.condition(scope, 1)),
            false => String::new(),
        };
        let (i, t) = (self.column(scope, Type::Int), self.column(scope, Type::Text));
        match ty {
            Type::Int => match self.below(5) {
                0 => format!("count(*){filter}::int"),
                1 => format!("sum({i}){filter}::int % 100"),
                2 => format!("count(DISTINCT {t}){filter}::int"),
                _ => format!("{}({i}){filter}", self.pick(&["min", "max"])),
            },
            Type::Text => match self.below(3) {
                0 => format!("string_agg({t}, ',' ORDER BY {t}){filter}"),
                _ => format!("{}({t}){filter}", self.pick(&["min", "max"])),
            },
            Type::Bool => format!("bool_or({i} > 1){filter}"),
        }
    }

    /// A window function whose rows' order, where it matters, is by values that are equal for equal rows.
    fn window(&mut self, scope: &Scope, ty: Type) -> String {
        let argument = self.expression(scope, ty, 1);
        let mut parts = Vec::new();
        if self.chance(60) {
            let ty = self.pick(&TYPES);
            parts.push(format!("PARTITION BY {}", self.expression(scope, ty, 1)));
        }
        if self.chance(70) {
            let ty = self.pick(&TYPES);
            parts.push(format!("ORDER BY {}", self.expression(scope, ty, 1)));
        }
        let over = parts.join(" ");
        match ty {
            Type::Int if self.chance(50) => {
                format!(
                    "({} OVER ({over}))::int",
                    self.pick(&["rank()", "dense_rank()", "count(*)", "sum(1)"])
                )
            }
            Type::Bool => format!("bool_and({argument}) OVER ({over})"),
            _ => format!("{}({argument}) OVER ({over})", self.pick(&["min", "max"])),
        }
    }

    /// A whole statement, and whether its rows have an order.
    fn statement(&mut self) -> (String, bool) {
        (self.names, self.shared) = (0, Vec::new());
        let mut with = Vec::new();
        for _ in 0..self.below(3) {
            let name = self.fresh("w");
            if self.chance(25) {
                let (first, step) = (self.literal(Type::Int), self.below(3) + 1);
                let word = self.pick(&["UNION", "UNION ALL"]);
                with.push(format!(
                    "{name} (c0, c1) AS (SELECT {first}, 'a'::text {word} SELECT c0 + {step}, left(c1 || 'b', 3) FROM {name} WHERE c0 < 5)"
                ));
                self.shared.push((name, vec![Type::Int, Type::Text]));
                continue;
            }
            let query = self.query(&Scope::default(), None, 1);
            let words = self.pick(&["", "", "MATERIALIZED ", "NOT MATERIALIZED "]);
            with.push(format!("{name} AS {words}({})", query.sql));
            self.shared.push((name, query.types));
        }
        let mut query = self.query(&Scope::default(), None, 3);
        let is_limited = query.sql.contains(" LIMIT ");
        let is_ordered = !is_limited && self.chance(60);
        if is_ordered {
            let orders = (1..=query.types.len()).map(|at| at.to_string());
            let orders: Vec<String> = orders.collect();
            query.sql = format!("{} ORDER BY {}", query.sql, orders.join(", "));
        }
        match with.is_empty() {
            true => (query.sql, is_ordered),
            false => (
                format!("WITH RECURSIVE {} {}", with.join(", "), query.sql),
                is_ordered,
            ),
        }
    }
}

/// The columns of a query by the name that it has in FROM.
fn of_query(name: &str, types: &[Type]) -> Vec<Column> {
    let columns = types.iter().enumerate();
    let columns = columns.map(|(at, ty)| Column {
        name: format!("{name}.c{at}"),
        ty: *ty,
    });
    columns.collect()
}

/// A select list whose items are named `c0` …
fn named(items: &[String]) -> String {
    let items = items
        .iter()
        .enumerate()
        .map(|(at, item)| format!("{item} AS c{at}"));
    items.collect::<Vec<_>>().join(", ")
}

async fn rows(
    client: &mut TextClient,
    sql: &str,
    is_ordered: bool,
) -> Result<Vec<Vec<Option<String>>>, String> {
    let reply = client.run(sql, Protocol::Simple).await;
    let mut rows = reply.map_err(|error| error.sqlstate)?.rows;
    if !is_ordered {
        rows.sort();
    }
    Ok(rows)
}

#[tokio::test(flavor = "multi_thread")]
async fn random_nested_queries_give_postgresqls_rows() {
    let Some((database, mut postgresql)) = Database::with_client("nested").await else {
        return;
    };
    let server = TestServer::start("memory").await;
    let mut keyspan = server.connect_text().await;
    run(&mut keyspan, "SET keyspan.full_scan = allow").await;
    for client in [&mut keyspan, &mut postgresql] {
        run(client, MAKE).await;
        run(client, "SET statement_timeout = '10s'").await;
    }
    let seed = number("KEYSPAN_RANDOM_SEED").unwrap_or(1);
    let count = number("KEYSPAN_RANDOM_STATEMENTS").map_or(QUERIES, |count| count as usize);
    let mut differences = Vec::new();
    for at in 0..count {
        let seed = seed * 1_000_000 + at as u64;
        let mut queries = Queries {
            random: StdRng::seed_from_u64(seed),
            names: 0,
            shared: Vec::new(),
        };
        let (sql, is_ordered) = queries.statement();
        let (ours, theirs) = (
            rows(&mut keyspan, &sql, is_ordered).await,
            rows(&mut postgresql, &sql, is_ordered).await,
        );
        // What takes too long is not asked, nor what PostgreSQL does not do.
        let is_asked = !matches!(theirs.as_ref().map_err(String::as_str), Err("57014" | "0A000"));
        if is_asked && ours != theirs {
            differences.push(format!(
                "seed {seed}: {sql};\nkeyspan: {ours:?}\npostgresql: {theirs:?}"
            ));
        }
        if differences.len() >= SHOWN {
            break;
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    database.drop().await;
    server.stop().await;
}
