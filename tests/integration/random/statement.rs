//! Random statements over two tables: SELECTs in parts that can be left out one by one, conditions and expressions of every
//! type. What PostgreSQL itself leaves open (the order of rows, which error comes first, sums of floats) is not asked.

use rand::Rng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use super::from::{FROM, From};

/// The tables with what stands in them, which is made by `Generator::rows`; `hash` stands before the key of `t`, options
/// behind each.
fn tables(hash: &str, options: [&str; 2]) -> String {
    let [t, u] = options;
    format!(
        "CREATE TABLE t (a int, s varchar(9), d date, v int, x double precision, n numeric(10,2), ts timestamp, b boolean,
                         PRIMARY KEY ({hash}a, s, d)) {t};
         CREATE TABLE u (k bigint PRIMARY KEY, a int, s varchar(9), w int) {u};"
    )
}

/// The type of an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Int,
    Text,
    Date,
    Float,
    Numeric,
    Timestamp,
    Bool,
}

const TYPES: [Type; 7] = [
    Type::Int,
    Type::Text,
    Type::Date,
    Type::Float,
    Type::Numeric,
    Type::Timestamp,
    Type::Bool,
];

/// How a statement is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// As it is.
    Plain,
    /// Over unions instead of tables, which no short statement reads.
    General,
    /// Prepared, with its literals as parameters.
    Parameters,
    /// Its literals without their types.
    Bare,
}

/// A piece of SQL: literals stand apart from the rest, with their types.
#[derive(Debug, Clone)]
pub(crate) struct Sql(Vec<Piece>);

#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    Literal(String, &'static str),
}

/// A SELECT in parts.
#[derive(Debug, Clone)]
pub(crate) struct Select {
    pub(super) from: From,
    pub(super) items: Vec<Sql>,
    pub(super) conditions: Vec<Sql>,
    /// Groups by this many of the items; the others are aggregates.
    pub(super) groups: Option<usize>,
    pub(super) having: Option<Sql>,
    pub(super) distinct: bool,
    /// The first row for each value of the first item.
    pub(super) distinct_on: bool,
    /// With the rows of another, by a set operation.
    pub(super) beside: Option<(&'static str, Box<Select>)>,
    /// By every column of the result.
    pub(super) descending: Option<Vec<bool>>,
    /// Where NULLs stand in the order, when it is said.
    pub(super) nulls_first: Option<bool>,
    pub(super) limit: Option<(u32, u32)>,
}

impl Sql {
    pub(super) fn new(text: impl Into<String>) -> Sql {
        Sql(vec![Piece::Text(text.into())])
    }

    fn literal(value: impl Into<String>, ty: &'static str) -> Sql {
        Sql(vec![Piece::Literal(value.into(), ty)])
    }

    /// The text with each `{}` replaced.
    pub(crate) fn of(template: &str, parts: &[Sql]) -> Sql {
        let mut pieces = Vec::new();
        let mut parts = parts.iter();
        for (at, text) in template.split("{}").enumerate() {
            if at > 0 {
                pieces.extend(parts.next().expect("as many parts as places").0.iter().cloned());
            }
            pieces.push(Piece::Text(text.to_string()));
        }
        Sql(pieces)
    }

    fn joined(parts: &[Sql], between: &str) -> Sql {
        let places = vec!["{}"; parts.len()].join(between);
        Sql::of(&places, parts)
    }

    /// The statement in a form; `name`: of the prepared statement.
    pub(crate) fn write(&self, form: Form, name: &str) -> Vec<String> {
        let (mut text, mut types, mut values) = (String::new(), Vec::new(), Vec::new());
        for piece in &self.0 {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Literal(value, ty) => {
                    let quoted = format!("'{}'", value.replace('\'', "''"));
                    match form {
                        Form::Parameters => {
                            types.push(*ty);
                            values.push(quoted);
                            text.push_str(&format!("${}", types.len()));
                        }
                        Form::Bare if value.parse::<i64>().is_ok() => text.push_str(value),
                        Form::Bare => text.push_str(&quoted),
                        Form::Plain | Form::General => text.push_str(&format!("{quoted}::{ty}")),
                    }
                }
            }
        }
        if form != Form::Parameters || types.is_empty() {
            return vec![text];
        }
        let execute = |values: &[String]| format!("EXECUTE {name} ({})", values.join(", "));
        let others = others_of_their_type(&types, &values);
        vec![
            format!("PREPARE {name} ({}) AS {text}", types.join(", ")),
            // The plan that it is left with is one that served other values.
            execute(&values),
            execute(&others),
            execute(&values),
            execute(&others),
            execute(&values),
            format!("DEALLOCATE {name}"),
        ]
    }
}

/// For each value another of those of its type, where there is one.
fn others_of_their_type(types: &[&str], values: &[String]) -> Vec<String> {
    let other = |at: usize| {
        let mut same = (0..values.len()).rev().filter(|other| types[*other] == types[at]);
        same.find(|other| values[*other] != values[at]).unwrap_or(at)
    };
    (0..values.len()).map(|at| values[other(at)].clone()).collect()
}

impl Select {
    /// The statement. `general`: over unions instead of tables.
    pub(crate) fn sql(&self, form: Form) -> Sql {
        let mut template = "{}".to_string();
        let mut parts = vec![self.body(form)];
        if let Some((operation, other)) = &self.beside {
            template.push_str(&format!(" {operation} {{}}"));
            parts.push(other.body(form));
        }
        if let Some(descending) = &self.descending {
            let nulls = match self.nulls_first {
                Some(true) => " NULLS FIRST",
                Some(false) => " NULLS LAST",
                None => "",
            };
            let keys = descending
                .iter()
                .zip(1..)
                .map(|(descending, at)| match descending {
                    true => format!("{at} DESC{nulls}"),
                    false => format!("{at}{nulls}"),
                });
            template.push_str(&format!(" ORDER BY {}", keys.collect::<Vec<_>>().join(", ")));
        }
        if let Some((limit, offset)) = self.limit {
            template.push_str(&format!(" LIMIT {limit} OFFSET {offset}"));
        }
        Sql::of(&template, &parts)
    }

    /// The statement without its order.
    fn body(&self, form: Form) -> Sql {
        let from = self.from.text(form);
        let mut template = "SELECT ".to_string();
        if self.distinct {
            template.push_str("DISTINCT ");
        } else if self.distinct_on && self.descending.is_some() {
            template.push_str("DISTINCT ON (1) ");
        }
        let mut parts = vec![Sql::joined(&self.items, ", ")];
        template.push_str(&format!("{{}} FROM {from}"));
        if !self.conditions.is_empty() {
            template.push_str(" WHERE {}");
            parts.push(Sql::joined(&self.conditions, " AND "));
        }
        let numbers = |count: usize| {
            (1..=count)
                .map(|at| at.to_string())
                .collect::<Vec<_>>()
                .join(", ")
        };
        match self.groups {
            Some(groups) if groups > 0 => template.push_str(&format!(" GROUP BY {}", numbers(groups))),
            _ => {}
        }
        if let Some(having) = &self.having {
            template.push_str(" HAVING {}");
            parts.push(having.clone());
        }
        Sql::of(&template, &parts)
    }

    /// Whether the order of its rows is its own.
    pub(crate) fn is_ordered(&self) -> bool {
        self.descending.is_some()
    }

    /// Every statement that has one condition less.
    fn smaller_conditions(&self) -> impl Iterator<Item = Select> + '_ {
        (0..self.conditions.len()).map(|at| {
            let mut select = self.clone();
            select.conditions.remove(at);
            select
        })
    }

    /// Every statement that has one part less.
    pub(crate) fn smaller(&self) -> Vec<Select> {
        let mut smaller = Vec::new();
        smaller.extend(self.smaller_conditions());
        for at in 0..self.items.len() {
            if self.items.len() == 1 {
                break;
            }
            let mut select = self.clone();
            select.items.remove(at);
            if let Some((_, other)) = &mut select.beside {
                other.items.remove(at);
            }
            if let Some(descending) = &mut select.descending {
                descending.remove(at);
            }
            match &mut select.groups {
                Some(groups) if at < *groups && *groups == 1 => continue,
                Some(groups) if at < *groups => *groups -= 1,
                _ => {}
            }
            smaller.push(select);
        }
        if self.distinct || self.distinct_on || self.having.is_some() || self.nulls_first.is_some() {
            let plain = || self.clone();
            let without = [
                Select {
                    distinct: false,
                    ..plain()
                },
                Select {
                    distinct_on: false,
                    ..plain()
                },
                Select {
                    having: None,
                    ..plain()
                },
                Select {
                    nulls_first: None,
                    ..plain()
                },
            ];
            let lacks = |select: &Select| {
                (
                    select.distinct,
                    select.distinct_on,
                    select.having.is_some(),
                    select.nulls_first,
                ) != (
                    self.distinct,
                    self.distinct_on,
                    self.having.is_some(),
                    self.nulls_first,
                )
            };
            smaller.extend(without.into_iter().filter(lacks));
        }
        if let Some((operation, other)) = &self.beside {
            let alone = |beside| Select {
                beside,
                ..self.clone()
            };
            smaller.push(alone(None));
            smaller.extend(
                other
                    .smaller_conditions()
                    .map(|other| alone(Some((*operation, Box::new(other))))),
            );
        }
        if self.limit.is_some() {
            let mut select = self.clone();
            select.limit = None;
            smaller.push(select);
        } else if self.descending.is_some() {
            let mut select = self.clone();
            select.descending = None;
            smaller.push(select);
        }
        smaller
    }
}

/// Makes statements and rows.
pub(crate) struct Generator {
    pub(crate) random: StdRng,
}

impl Generator {
    pub(super) fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.random.random_range(0..items.len())].clone()
    }

    pub(super) fn chance(&mut self, of_hundred: u32) -> bool {
        self.random.random_range(0..100) < of_hundred
    }

    /// A value as text.
    fn value(&mut self, ty: Type) -> String {
        let few =
            |values: &[&str], random: &mut StdRng| values[random.random_range(0..values.len())].to_string();
        let random = &mut self.random;
        match ty {
            Type::Int if random.random_bool(0.7) => random.random_range(-3..8).to_string(),
            Type::Int => few(&["2147483647", "-2147483648", "1000", "-1"], random),
            Type::Text => few(
                &["", "a", "ab", "b", "B", "a b", "z%", "z_", "é", "中文", "~", "0"],
                random,
            ),
            Type::Date => few(
                &[
                    "2024-01-01",
                    "2024-02-29",
                    "1969-12-31",
                    "1970-01-01",
                    "0001-01-01",
                    "9999-12-31",
                ],
                random,
            ),
            Type::Float => few(
                &["0", "1.5", "-2.25", "NaN", "Infinity", "-Infinity", "1e300", "3"],
                random,
            ),
            Type::Numeric => few(
                &["0", "0.10", "-1.50", "99999999.99", "2", "3.00", "-0.01"],
                random,
            ),
            Type::Timestamp => few(
                &[
                    "2024-01-01 00:00:00",
                    "2024-02-29 12:30:00.123456",
                    "1969-12-31 23:59:59",
                    "infinity",
                    "2024-01-01 00:00:00.5",
                ],
                random,
            ),
            Type::Bool => few(&["true", "false"], random),
        }
    }

    pub(super) fn literal(&mut self, ty: Type) -> Sql {
        let name = match ty {
            Type::Int => "int",
            Type::Text => "text",
            Type::Date => "date",
            Type::Float => "float8",
            Type::Numeric => "numeric",
            Type::Timestamp => "timestamp",
            Type::Bool => "boolean",
        };
        Sql::literal(self.value(ty), name)
    }

    pub(super) fn column(&mut self, from: From, ty: Type) -> Option<Sql> {
        let of_t: &[&str] = match ty {
            Type::Int => &["t.a", "t.v"],
            Type::Text => &["t.s"],
            Type::Date => &["t.d"],
            Type::Float => &["t.x"],
            Type::Numeric => &["t.n"],
            Type::Timestamp => &["t.ts"],
            Type::Bool => &["t.b"],
        };
        let of_u: &[&str] = match ty {
            Type::Int => &["u.k", "u.a", "u.w"],
            Type::Text => &["u.s"],
            _ => &[],
        };
        let columns = match from {
            From::T => of_t.to_vec(),
            From::U => of_u.to_vec(),
            _ => [of_t, of_u].concat(),
        };
        match columns.is_empty() {
            true => None,
            false => Some(Sql::new(self.pick(&columns))),
        }
    }

    /// An expression of the type that fails for no row.
    pub(super) fn expression(&mut self, from: From, ty: Type, depth: u32) -> Sql {
        if depth == 0 || self.chance(40) {
            let column = match self.chance(75) {
                true => self.column(from, ty),
                false => None,
            };
            return match column {
                Some(column) => column,
                None => self.literal(ty),
            };
        }
        if self.chance(50) {
            return self.template(from, ty, depth);
        }
        let (template, parts): (&str, Vec<Sql>) = match ty {
            Type::Int => match self.random.random_range(0..7) {
                0 => (
                    "({}::bigint + {})",
                    vec![self.expression(from, ty, depth - 1), self.literal(ty)],
                ),
                1 => (
                    "({}::bigint * {})",
                    vec![self.expression(from, ty, 0), self.literal(ty)],
                ),
                2 => ("length({})", vec![self.expression(from, Type::Text, depth - 1)]),
                3 => ("({}::bigint % 7)", vec![self.expression(from, ty, depth - 1)]),
                4 => ("abs({}::bigint)", vec![self.expression(from, ty, depth - 1)]),
                5 => {
                    let parts = vec![
                        self.condition(from, depth - 1),
                        self.expression(from, ty, depth - 1),
                        self.expression(from, ty, depth - 1),
                    ];
                    ("CASE WHEN {} THEN {} ELSE {} END", parts)
                }
                _ => (
                    "coalesce({}, {})",
                    vec![self.expression(from, ty, depth - 1), self.expression(from, ty, 0)],
                ),
            },
            Type::Text => match self.random.random_range(0..6) {
                0 => ("upper({})", vec![self.expression(from, ty, depth - 1)]),
                1 => (
                    "({} || {})",
                    vec![self.expression(from, ty, depth - 1), self.expression(from, ty, 0)],
                ),
                2 => ("substr({}, 2)", vec![self.expression(from, ty, depth - 1)]),
                3 => (
                    "coalesce({}, {})",
                    vec![self.expression(from, ty, depth - 1), self.literal(ty)],
                ),
                4 => (
                    "nullif({}, {})",
                    vec![self.expression(from, ty, depth - 1), self.literal(ty)],
                ),
                _ => ("{}::text", vec![self.expression(from, Type::Int, depth - 1)]),
            },
            Type::Date => (
                "coalesce({}, {})",
                vec![self.expression(from, ty, depth - 1), self.literal(ty)],
            ),
            // No zero has a sign here: which of two equal zeros stands for both, PostgreSQL leaves open.
            Type::Float => match self.chance(30) {
                true => ("({} - {})", vec![Sql::new("t.x"), Sql::new("t.x")]),
                false => ("(0.25 - {})", vec![self.expression(from, ty, depth - 1)]),
            },
            Type::Numeric => match self.random.random_range(0..3) {
                0 => ("({} * 2)", vec![self.expression(from, ty, depth - 1)]),
                1 => ("round({}, 1)", vec![self.expression(from, ty, depth - 1)]),
                _ => (
                    "({} + {})",
                    vec![self.expression(from, ty, depth - 1), self.literal(ty)],
                ),
            },
            Type::Timestamp => (
                "greatest({}, {})",
                vec![self.expression(from, ty, depth - 1), self.literal(ty)],
            ),
            Type::Bool => ("({})", vec![self.condition(from, depth - 1)]),
        };
        Sql::of(template, &parts)
    }

    /// A condition that fails for no row.
    pub(super) fn condition(&mut self, from: From, depth: u32) -> Sql {
        if depth > 0 && self.chance(12) {
            return self.subquery_condition(from, depth);
        }
        if depth > 0 && self.chance(30) {
            let both = [self.condition(from, depth - 1), self.condition(from, depth - 1)];
            return match self.random.random_range(0..3) {
                0 => Sql::of("({} AND {})", &both),
                1 => Sql::of("({} OR {})", &both),
                _ => Sql::of("NOT ({})", &both[..1]),
            };
        }
        if self.chance(30) {
            return self.template(from, Type::Bool, depth);
        }
        let ty = match from {
            From::U => self.pick(&[Type::Int, Type::Text]),
            _ => self.pick(&TYPES),
        };
        let operand = match self.column(from, ty) {
            Some(column) if self.chance(70) => column,
            _ => self.expression(from, ty, depth),
        };
        match self.random.random_range(0..12) {
            0 => Sql::of("{} IS NULL", &[operand]),
            1 => Sql::of("{} IS NOT NULL", &[operand]),
            2 => {
                let items: Vec<Sql> = (0..3).map(|_| self.literal(ty)).collect();
                Sql::of("{} IN ({})", &[operand, Sql::joined(&items, ", ")])
            }
            3 => {
                let items: Vec<Sql> = (0..2).map(|_| self.literal(ty)).collect();
                Sql::of("{} NOT IN ({}, NULL)", &[operand, Sql::joined(&items, ", ")])
            }
            4 => Sql::of(
                "{} BETWEEN {} AND {}",
                &[operand, self.literal(ty), self.literal(ty)],
            ),
            5 => Sql::of("{} IS DISTINCT FROM {}", &[operand, self.literal(ty)]),
            6 if ty == Type::Text => {
                let pattern = self.pick(&["a%", "%b", "z\\%%", "_", "%", "", "a_b", "é%"]);
                Sql::of("{} LIKE {}", &[operand, Sql::literal(pattern, "text")])
            }
            6 if ty == Type::Bool => Sql::of("{} IS NOT TRUE", &[operand]),
            _ => {
                let op = self.pick(&["=", "=", "=", "<", "<=", ">", ">=", "<>"]);
                let other = match self.chance(80) {
                    true => self.literal(ty),
                    false => self.expression(from, ty, 1),
                };
                Sql::of(&format!("{{}} {op} {{}}"), &[operand, other])
            }
        }
    }

    /// A condition over `t` alone.
    pub(crate) fn condition_of_t(&mut self) -> Sql {
        self.condition(From::T, 2)
    }

    pub(crate) fn is_update(&mut self) -> bool {
        self.chance(70)
    }

    /// What SET makes of `t.v`.
    pub(crate) fn value_of_v(&mut self) -> Sql {
        let value = self.expression(From::T, Type::Int, 2);
        Sql::of("({} % 100)::int", &[value])
    }

    pub(crate) fn statement(&mut self) -> Select {
        match self.chance(15) {
            true => self.set_operation(),
            false => self.select(),
        }
    }

    fn select(&mut self) -> Select {
        let from = self.pick(&FROM);
        let kind = self.random.random_range(0..10);
        let ty_of = |generator: &mut Generator| match from {
            From::U => generator.pick(&[Type::Int, Type::Text]),
            _ => generator.pick(&TYPES),
        };
        let mut items = Vec::new();
        let mut groups = None;
        let count = self.random.random_range(1..4);
        if kind < 3 {
            let grouped = if kind == 0 {
                0
            } else {
                self.random.random_range(1..3)
            };
            for _ in 0..grouped {
                let ty = ty_of(self);
                items.push(match self.column(from, ty) {
                    Some(column) => column,
                    None => Sql::new("u.k"),
                });
            }
            for _ in 0..count {
                items.push(self.aggregate(from));
            }
            groups = Some(grouped);
        } else {
            for _ in 0..count {
                let ty = ty_of(self);
                items.push(self.shown(from, ty, 2));
            }
            if self.chance(20) {
                items.push(self.window(from));
            }
        }
        let conditions = (0..self.random.random_range(0..4))
            .map(|_| self.condition(from, 2))
            .collect();
        let is_ordered = self.chance(50);
        let descending: Vec<bool> = items.iter().map(|_| self.random.random()).collect();
        let distinct = groups.is_none() && self.chance(15);
        Select {
            from,
            conditions,
            groups,
            having: match groups {
                Some(_) if self.chance(30) => Some(self.having(from)),
                _ => None,
            },
            distinct,
            distinct_on: groups.is_none() && !distinct && is_ordered && self.chance(20),
            nulls_first: (is_ordered && self.chance(40)).then(|| self.random.random()),
            limit: (is_ordered && self.chance(60)).then(|| {
                let random = &mut self.random;
                (random.random_range(0..12), random.random_range(0..4))
            }),
            descending: is_ordered.then_some(descending),
            beside: None,
            items,
        }
    }

    fn aggregate(&mut self, from: From) -> Sql {
        let ty = match from {
            From::U => self.pick(&[Type::Int, Type::Text]),
            _ => self.pick(&[
                Type::Int,
                Type::Text,
                Type::Date,
                Type::Numeric,
                Type::Timestamp,
                Type::Float,
            ]),
        };
        if self.chance(40) {
            return self.wide_aggregate(from);
        }
        let argument = self.shown(from, ty, 1);
        match self.random.random_range(0..6) {
            0 => Sql::new("count(*)"),
            1 => Sql::of("count({})", &[argument]),
            2 => Sql::of("count(DISTINCT {})", &[argument]),
            3 => Sql::of("min({})", &[argument]),
            4 => Sql::of("max({})", &[argument]),
            _ => {
                let numbers = self.expression(from, Type::Int, 1);
                let condition = self.condition(from, 1);
                Sql::of("sum({}) FILTER (WHERE {})", &[numbers, condition])
            }
        }
    }

    /// Statements that make the tables, for Keyspan, which may spread their keys, and for PostgreSQL.
    pub(crate) fn tables(&mut self) -> [String; 2] {
        let (hash, of_t) = match self.random.random_range(0..4) {
            0 => (self.pick(&["hash8(a), ", "hash32(a, s), ", "hash64(d), "]), ""),
            1 => ("", self.pick(&["WITH (buckets = 2)", "WITH (buckets = 16)"])),
            _ => ("", ""),
        };
        let of_u = self.pick(&["", "WITH (buckets = 5)"]);
        [tables(hash, [of_t, of_u]), tables("", ["", ""])]
    }

    /// Statements that give the tables up to three indexes each, in any directions, some with further columns.
    pub(crate) fn indexes(&mut self) -> Vec<String> {
        let mut statements = Vec::new();
        for (table, columns) in [
            ("t", &["a", "s", "d", "v", "x", "n", "ts", "b"][..]),
            ("u", &["a", "s", "w"]),
        ] {
            for _ in 0..self.random.random_range(0..=3) {
                let mut columns = columns.to_vec();
                columns.shuffle(&mut self.random);
                let keys = self.random.random_range(1..=columns.len().min(3));
                let keys: Vec<String> = columns
                    .drain(..keys)
                    .map(|column| {
                        let direction = self.pick(&["", " DESC", " NULLS FIRST", " DESC NULLS LAST"]);
                        format!("{column}{direction}")
                    })
                    .collect();
                let include = match columns.is_empty() || self.chance(60) {
                    true => String::new(),
                    false => format!(" INCLUDE ({})", columns.join(", ")),
                };
                statements.push(format!("CREATE INDEX ON {table} ({}){include}", keys.join(", ")));
            }
        }
        statements
    }

    /// Statements that fill the tables.
    pub(crate) fn rows(&mut self, count: usize) -> Vec<String> {
        let mut statements = Vec::new();
        for _ in 0..count {
            let mut value = |ty: Type, may_be_null: bool| match may_be_null && self.chance(20) {
                true => "NULL".to_string(),
                false => format!("'{}'", self.value(ty)),
            };
            statements.push(format!(
                "INSERT INTO t VALUES ({}, {}, {}, {}, {}, {}, {}, {}) ON CONFLICT DO NOTHING",
                value(Type::Int, false),
                value(Type::Text, false),
                value(Type::Date, false),
                value(Type::Int, true),
                value(Type::Float, true),
                value(Type::Numeric, true),
                value(Type::Timestamp, true),
                value(Type::Bool, true),
            ));
            statements.push(format!(
                "INSERT INTO u VALUES ({}, {}, {}, {}) ON CONFLICT DO NOTHING",
                value(Type::Int, false),
                value(Type::Int, true),
                value(Type::Text, true),
                value(Type::Int, true),
            ));
        }
        statements
    }
}
