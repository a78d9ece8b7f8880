//! What only the general plan answers: subqueries, windows and set operations, as parts of the random statements.

use super::from::From;
use super::statement::{Generator, Select, Sql, Type};

impl Generator {
    /// A condition by a subquery over `u`, correlated with `t` or not.
    pub(super) fn subquery_condition(&mut self, from: From, depth: u32) -> Sql {
        let correlated = from == From::T && self.chance(60);
        // In sight of the subquery: its own table, and the one around it.
        let (inside, link) = match correlated {
            true => (
                From::Join,
                self.pick(&[
                    "u.a = t.a AND ",
                    "u.k = t.v AND ",
                    "u.a > t.v AND ",
                    "u.s = t.s AND ",
                    "",
                ]),
            ),
            false => (From::U, ""),
        };
        let condition = Sql::of(&format!("{link}{{}}"), &[self.condition(inside, depth - 1)]);
        let operand = self.expression(from, Type::Int, 1);
        match self.random_kind(7) {
            0 => Sql::of("EXISTS (SELECT 1 FROM u WHERE {})", &[condition]),
            1 => Sql::of("NOT EXISTS (SELECT u.s FROM u WHERE {})", &[condition]),
            2 => Sql::of("{} IN (SELECT u.a FROM u WHERE {})", &[operand, condition]),
            3 => Sql::of("{} NOT IN (SELECT u.a FROM u WHERE {})", &[operand, condition]),
            4 => {
                let aggregate = self.pick(&["max(u.k)", "count(*)", "min(u.w::bigint) + 1", "sum(u.a)"]);
                let op = self.pick(&["=", "<", ">=", "IS DISTINCT FROM"]);
                let template = format!("{{}} {op} (SELECT {aggregate} FROM u WHERE {{}})");
                Sql::of(&template, &[operand, condition])
            }
            5 => {
                let all = self.pick(&["< ALL", ">= ANY", "<> ALL", "= ANY"]);
                Sql::of(
                    &format!("{{}} {all} (SELECT u.w FROM u WHERE {{}})"),
                    &[operand, condition],
                )
            }
            _ => Sql::of(
                "(SELECT max(u.k) FROM u WHERE {}) IN (SELECT u.a FROM u WHERE u.a IS NOT NULL)",
                &[condition],
            ),
        }
    }

    /// A window function in an order that leaves nothing open.
    pub(super) fn window(&mut self, from: From) -> Sql {
        let key = match from {
            From::T => "t.a, t.s DESC, t.d",
            From::U => "u.k",
            _ => "u.k DESC, t.a, t.s, t.d",
        };
        let ty = match from {
            From::U => self.pick(&[Type::Int, Type::Text]),
            _ => self.pick(&[Type::Int, Type::Text, Type::Date, Type::Timestamp]),
        };
        let argument = self.expression(from, ty, 1);
        let number = self.expression(from, Type::Int, 1);
        let call = match self.random_kind(11) {
            0 => Sql::new("row_number()"),
            1 => Sql::of("count({})", &[argument]),
            2 => Sql::of("min({})", &[argument]),
            3 => Sql::of("max({})", &[argument]),
            4 => Sql::of("sum({}::int)", &[Sql::of("{} % 1000", &[number])]),
            5 => Sql::of("lag({}, 2)", &[argument]),
            6 => Sql::of("lead({})", &[argument]),
            7 => Sql::of("first_value({})", &[argument]),
            8 => Sql::of("nth_value({}, 2)", &[argument]),
            9 => Sql::of("lag({}, ({} % 4)::int)", &[argument, number]),
            _ => Sql::of("last_value({})", &[argument]),
        };
        let frame = self.pick(&[
            "",
            "",
            " ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
            " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
            " ROWS UNBOUNDED PRECEDING",
            " GROUPS BETWEEN 2 PRECEDING AND 1 PRECEDING",
            " ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING EXCLUDE CURRENT ROW",
            " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW EXCLUDE TIES",
            " GROUPS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE GROUP",
            " RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING EXCLUDE TIES",
        ]);
        let frame = match from {
            From::U if self.chance(20) => " RANGE BETWEEN 2 PRECEDING AND 3 FOLLOWING",
            _ => frame,
        };
        match self.chance(50) {
            true => {
                let partition = self.expression(from, ty, 1);
                let template = format!("{{}} OVER (PARTITION BY {{}} ORDER BY {key}{frame})");
                Sql::of(&template, &[call, partition])
            }
            false => Sql::of(&format!("{{}} OVER (ORDER BY {key}{frame})"), &[call]),
        }
    }

    /// Two SELECTs of the same types.
    pub(super) fn set_operation(&mut self) -> Select {
        let types: Vec<Type> = (0..self.random_kind(3) + 1)
            .map(|_| self.pick(&[Type::Int, Type::Text, Type::Date, Type::Bool, Type::Timestamp]))
            .collect();
        let operation = self.pick(&[
            "UNION",
            "UNION ALL",
            "INTERSECT",
            "INTERSECT ALL",
            "EXCEPT",
            "EXCEPT ALL",
        ]);
        let mut one = |depth: u32| {
            let from = self.pick(&[From::T, From::T, From::Join, From::FullJoin]);
            let items = types.iter().map(|ty| self.expression(from, *ty, depth)).collect();
            let conditions = (0..self.random_kind(3))
                .map(|_| self.condition(from, 2))
                .collect();
            Select {
                from,
                items,
                conditions,
                groups: None,
                having: None,
                distinct: false,
                distinct_on: false,
                nulls_first: None,
                beside: None,
                descending: None,
                limit: None,
            }
        };
        let (first, second) = (one(1), one(1));
        Select {
            beside: Some((operation, Box::new(second))),
            descending: self.chance(40).then(|| types.iter().map(|_| false).collect()),
            ..first
        }
    }

    /// A transaction block: writes between savepoints, of which some are rolled back to or released.
    pub(super) fn block(&mut self) -> Vec<Sql> {
        let mut block = vec![Sql::new("BEGIN")];
        let mut savepoints: Vec<String> = Vec::new();
        for step in 0..6 + self.random_kind(6) {
            match self.random_kind(5) {
                0 => {
                    savepoints.push(format!("s{step}"));
                    block.push(Sql::new(format!("SAVEPOINT s{step}")));
                }
                1 if !savepoints.is_empty() => {
                    let at = self.random_kind(savepoints.len() as u32) as usize;
                    savepoints.truncate(at + 1);
                    block.push(Sql::new(format!("ROLLBACK TO {}", savepoints[at])));
                }
                2 if !savepoints.is_empty() => {
                    let at = self.random_kind(savepoints.len() as u32) as usize;
                    block.push(Sql::new(format!("RELEASE {}", savepoints[at])));
                    savepoints.truncate(at);
                }
                3 => block.push(Sql::new(self.rows(1).remove(0))),
                _ => {
                    let condition = self.condition_of_t();
                    block.push(match self.chance(60) {
                        true => {
                            let value = self.value_of_v();
                            Sql::of("UPDATE t SET v = {} WHERE {}", &[value, condition])
                        }
                        false => Sql::of("DELETE FROM t WHERE ({}) AND t.a < 3", &[condition]),
                    });
                }
            }
        }
        let end = match self.chance(70) {
            true => "COMMIT",
            false => "ROLLBACK",
        };
        block.push(Sql::new(end));
        block
    }

    /// One of so many kinds.
    fn random_kind(&mut self, kinds: u32) -> u32 {
        let all: Vec<u32> = (0..kinds).collect();
        self.pick(&all)
    }
}
