//! What a script knows of the tables that it makes: names, columns and their types. It is a guess, for statements may have failed.

use rand::Rng;
use rand::rngs::StdRng;

use super::triggers::{TRACE, Trigger};

/// A type with values that meet each other often.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) values: &'static [&'static str],
    /// Expressions of the type over a column of it.
    pub(super) over: &'static [&'static str],
    /// Conditions on a column of it, in which `{}` stands for the column and `$` for a value.
    pub(super) conditions: &'static [&'static str],
}

const COMPARED: [&str; 7] = [
    "{} = $",
    "{} <> $",
    "{} IS NULL",
    "{} IS NOT NULL",
    "{} IS DISTINCT FROM $",
    "{} IN ($, $)",
    "coalesce({} >= $, true)",
];

/// The types of columns; the first are of keys as well.
pub(super) const KINDS: [Kind; 17] = [
    Kind {
        name: "integer",
        values: &["0", "1", "2", "3", "4", "5", "-1", "7", "1000", "2147483647"],
        over: &["{} + 1", "abs({} % 10)", "-{}", "{} / 2", "coalesce({}, 3)"],
        conditions: &[
            "{} > $",
            "{} BETWEEN $ AND $",
            "{} % 2 = 0",
            "{} <= $ OR {} = $",
            "NOT {} < $",
        ],
    },
    Kind {
        name: "bigint",
        values: &["0", "1", "2", "3", "9", "-5", "9223372036854775807", "4294967296"],
        over: &["{} % 7", "{} # 1", "greatest({}, 2)", "{} / 3"],
        conditions: &["{} > $", "{} >= $ AND {} < $", "{}::text LIKE '%2%'"],
    },
    Kind {
        name: "text",
        values: &[
            "''", "'a'", "'b'", "'ab'", "'Ab'", "'a b'", "'é'", "'zz%'", "'10'", "'a_c'",
        ],
        over: &[
            "upper({})",
            "{} || 'x'",
            "left({}, 1)",
            "ltrim({})",
            "replace({}, 'a', 'b')",
        ],
        conditions: &[
            "{} LIKE 'a%'",
            "{} > $",
            "length({}) > 1",
            "lower({}) = $",
            "{} ~ '^[ab]'",
            "{} ILIKE '_b%'",
        ],
    },
    Kind {
        name: "numeric",
        values: &[
            "0", "1.5", "1.50", "2", "2.000", "-3.25", "1e20", "'NaN'", "0.001",
        ],
        over: &["{} * 2", "{} + 0.5", "-{}", "trunc({}, 1)", "coalesce({}, 7)"],
        conditions: &["{} > $", "{} BETWEEN $ AND $", "{} < $ OR {} = $", "{} <= 2"],
    },
    Kind {
        name: "date",
        values: &["'2024-01-01'", "'2024-02-29'", "'1999-12-31'", "'infinity'"],
        over: &["{} + 1", "greatest({}, '2024-01-02')"],
        conditions: &["{} > $", "extract(year FROM {}) = 2024", "{} < $"],
    },
    Kind {
        name: "uuid",
        values: &[
            "'00000000-0000-0000-0000-000000000001'",
            "'ffffffff-0000-0000-0000-000000000000'",
        ],
        over: &["coalesce({}, '00000000-0000-0000-0000-00000000000a')"],
        conditions: &["{} > $"],
    },
    Kind {
        name: "numeric(6,2)",
        values: &["0", "1.50", "-2.25", "9999.99", "1", "3.333"],
        over: &["{} * 2", "round({}, 1)", "{} + 0.01", "trunc({})"],
        conditions: &["{} > $", "{} <= $ AND {} <> 0", "{}::int = 1"],
    },
    Kind {
        name: "varchar(5)",
        values: &["'a'", "'abcde'", "'abcd'", "''", "'b '"],
        over: &["substr({}, 2)", "reverse({})", "{} || '!'"],
        conditions: &["{} LIKE '_b%'", "{} <= $"],
    },
    Kind {
        name: "char(3)",
        values: &["'a'", "'a  '", "'abc'", "''", "'ab'"],
        over: &["upper({})", "coalesce({}, 'z')"],
        conditions: &["{} > $", "{} = 'a'", "length({}) = 1"],
    },
    Kind {
        name: "boolean",
        values: &["true", "false"],
        over: &["NOT {}", "{} IS TRUE"],
        conditions: &["{}", "NOT {}", "{} IS NOT FALSE"],
    },
    Kind {
        name: "timestamptz",
        values: &[
            "'2024-01-01 00:00:00+00'",
            "'2024-03-31 01:30:00+02'",
            "'-infinity'",
            "'1970-01-01'",
        ],
        over: &["date_trunc('day', {}, 'UTC')", "{} + interval '1 hour'"],
        conditions: &["{} < $", "{} > $"],
    },
    Kind {
        name: "double precision",
        values: &["0", "-0.0", "1.5", "'NaN'", "'Infinity'", "1e300"],
        over: &["{} + 1", "-{}", "floor({})"],
        conditions: &["{} > $", "{} = 'NaN'", "{} < $"],
    },
    Kind {
        name: "jsonb",
        values: &[
            "'{}'",
            "'{\"a\": 1}'",
            "'{\"a\": {\"b\": [1, 2]}}'",
            "'[1, \"x\", null]'",
            "'null'",
            "'3'",
        ],
        over: &["{} || '{\"z\": 0}'", "{} -> 'a'", "jsonb_strip_nulls({})"],
        conditions: &[
            "{} @> '{\"a\": 1}'",
            "{} ? 'a'",
            "{} ->> 'a' = '1'",
            "jsonb_typeof({}) = 'object'",
        ],
    },
    Kind {
        name: "integer[]",
        values: &["'{}'", "'{1,2}'", "'{2,NULL}'", "'{3}'", "'{1,2,3}'"],
        over: &["{} || 9", "array_remove({}, 2)", "{}[2:]"],
        conditions: &[
            "1 = ANY({})",
            "{} && '{2,3}'",
            "cardinality({}) > 1",
            "{}[1] = 1",
            "{} @> '{1}'",
        ],
    },
    Kind {
        name: "mood",
        values: &["'sad'", "'ok'", "'happy'"],
        over: &["coalesce({}, 'ok')", "greatest({}, 'ok')"],
        conditions: &["{} > $", "{} < 'happy'", "{}::text LIKE '%a%'"],
    },
    Kind {
        name: "positive",
        values: &["1", "2", "3", "10", "-1", "0"],
        over: &["{} + 1", "{} * 2", "{} - 1"],
        conditions: &["{} > $", "{} % 2 = 1"],
    },
    Kind {
        name: "interval",
        values: &["'1 day'", "'24:00:00'", "'-1 month'", "'0'"],
        over: &["{} * 2", "-{}"],
        conditions: &["{} > $"],
    },
];

/// How many of the types stand in keys.
const KINDS_OF_KEYS: usize = 8;

#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) is_generated: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
    /// The columns of its unique constraints, the first being the key's.
    pub(super) unique: Vec<Vec<String>>,
    pub(super) is_view: bool,
}

/// A script in the making.
pub(super) struct Script {
    pub(super) statements: Vec<String>,
    pub(super) tables: Vec<Table>,
    pub(super) triggers: Vec<Trigger>,
    pub(super) in_block: bool,
    /// Of names that must not repeat.
    pub(super) number: u32,
    random: StdRng,
}

impl Script {
    pub(super) fn new(random: StdRng) -> Script {
        let statements = [
            "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')",
            "CREATE DOMAIN positive AS integer CHECK (VALUE > 0)",
        ];
        Script {
            statements: statements.map(str::to_string).to_vec(),
            tables: Vec::new(),
            triggers: Vec::new(),
            in_block: false,
            number: 0,
            random,
        }
    }

    /// The names of all that it makes and that can be read.
    pub(super) fn names(&self) -> Vec<String> {
        let traces = self.triggers.first().map(|_| TRACE.to_string());
        let tables = self.tables.iter().map(|table| table.name.clone());
        tables.chain(traces).collect()
    }

    pub(super) fn push(&mut self, sql: impl Into<String>) {
        self.statements.push(sql.into());
    }

    pub(super) fn chance(&mut self, of_hundred: u32) -> bool {
        self.random.random_range(0..100) < of_hundred
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        self.random.random_range(0..end)
    }

    pub(super) fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }

    pub(super) fn fresh(&mut self, prefix: &str) -> String {
        self.number += 1;
        format!("{prefix}{}", self.number)
    }

    pub(super) fn kind(&mut self) -> Kind {
        match self.chance(60) {
            true => self.kind_of_key(),
            false => self.pick(&KINDS),
        }
    }

    pub(super) fn kind_of_key(&mut self) -> Kind {
        match self.chance(70) {
            true => self.pick(&KINDS[..3]),
            false => self.pick(&KINDS[..KINDS_OF_KEYS]),
        }
    }

    /// A constant of the type, or seldom NULL.
    pub(super) fn value(&mut self, kind: Kind) -> String {
        match self.chance(8) {
            true => "NULL".to_string(),
            false => self.some_value(kind),
        }
    }

    pub(super) fn some_value(&mut self, kind: Kind) -> String {
        self.pick(kind.values).to_string()
    }

    /// An expression of the type over the column.
    pub(super) fn over(&mut self, column: &str, kind: Kind) -> String {
        self.pick(kind.over).replace("{}", column)
    }

    /// A condition on one column, which may be qualified.
    pub(super) fn condition_on(&mut self, column: &str, kind: Kind) -> String {
        let template = match self.chance(50) && !["jsonb", "boolean"].contains(&kind.name) {
            true => self.pick(&COMPARED),
            false => self.pick(kind.conditions),
        };
        let mut condition = String::new();
        for piece in template.split_inclusive('$') {
            match piece.strip_suffix('$') {
                Some(piece) => {
                    condition.push_str(piece);
                    condition.push_str(&self.some_value(kind));
                }
                None => condition.push_str(piece),
            }
        }
        condition.replace("{}", column)
    }

    /// A condition on columns of the table under a name, or on bare ones.
    pub(super) fn condition(&mut self, table: &Table, alias: &str) -> String {
        let one = |script: &mut Script| {
            let column = script.pick(&table.columns);
            script.condition_on(&qualified(alias, &column.name), column.kind)
        };
        let first = one(self);
        match self.below(6) {
            0 => format!("({first}) AND ({})", one(self)),
            1 => format!("({first}) OR ({})", one(self)),
            2 => format!("NOT ({first})"),
            _ => first,
        }
    }

    /// A table of those there are; seldom a view.
    pub(super) fn table(&mut self) -> Table {
        let tables = self.tables.clone();
        self.pick(&tables)
    }

    /// A table that is no view.
    pub(super) fn base_table(&mut self) -> Table {
        let tables: Vec<Table> = self
            .tables
            .iter()
            .filter(|table| !table.is_view)
            .cloned()
            .collect();
        self.pick(&tables)
    }

    /// What the script now takes a table for.
    pub(super) fn known(&mut self, name: &str) -> Option<&mut Table> {
        self.tables.iter_mut().find(|table| table.name == name)
    }

    /// A column of the table of this type, if it has one.
    pub(super) fn column_of(&mut self, table: &Table, kind: Kind) -> Option<Column> {
        let columns: Vec<Column> = table
            .columns
            .iter()
            .filter(|column| column.kind == kind)
            .cloned()
            .collect();
        (!columns.is_empty()).then(|| self.pick(&columns))
    }
}

impl Table {
    pub(super) fn written(&self) -> Vec<Column> {
        self.columns
            .iter()
            .filter(|column| !column.is_generated)
            .cloned()
            .collect()
    }
}

pub(super) fn qualified(alias: &str, column: &str) -> String {
    match alias {
        "" => column.to_string(),
        alias => format!("{alias}.{column}"),
    }
}

pub(super) fn names(columns: &[Column]) -> String {
    columns
        .iter()
        .map(|column| column.name.clone())
        .collect::<Vec<_>>()
        .join(", ")
}
