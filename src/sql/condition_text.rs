//! Predicates as readable SQL with column names, for EXPLAIN.

use crate::catalog::TableDef;
use crate::plan::{Predicate, literal};

/// The predicate as SQL. What it cannot say in SQL it names by its columns: `(condition on a, b)`.
pub(crate) fn condition_text(predicate: &Predicate, table: &TableDef) -> String {
    Printer { table }.print(predicate, 0)
}

struct Printer<'a> {
    table: &'a TableDef,
}

/// How tightly connectives bind; a part that binds less than what is around it takes parentheses.
const OR: u8 = 1;
const AND: u8 = 2;
const NOT: u8 = 3;
const TEST: u8 = 4;

impl Printer<'_> {
    fn print(&self, predicate: &Predicate, around: u8) -> String {
        let (text, binds) = match predicate {
            Predicate::Constant(truth) => (
                truth.map_or_else(|| "NULL".to_string(), |truth| truth.to_string()),
                TEST,
            ),
            Predicate::Compare { column, op, value } => (
                format!("{} {} {}", self.name(*column), op.symbol(), literal(value)),
                TEST,
            ),
            Predicate::InList { column, values } => {
                let values: Vec<_> = values.iter().map(literal).collect();
                (format!("{} IN ({})", self.name(*column), values.join(", ")), TEST)
            }
            Predicate::IsNull { column } => (format!("{} IS NULL", self.name(*column)), TEST),
            Predicate::IsTrue { column } => (self.name(*column), TEST),
            Predicate::Like {
                column,
                pattern,
                escape,
                case_insensitive,
            } => {
                let operator = if *case_insensitive { "ILIKE" } else { "LIKE" };
                let escape = match escape {
                    Some('\\') => String::new(),
                    Some(escape) => format!(" ESCAPE '{escape}'"),
                    None => " ESCAPE ''".to_string(),
                };
                (
                    format!("{} {operator} {}{escape}", self.name(*column), literal(pattern)),
                    TEST,
                )
            }
            Predicate::RowCompare { columns, op, values } => {
                let values: Vec<_> = values.iter().map(literal).collect();
                (
                    format!(
                        "({}) {} ({})",
                        self.names(columns),
                        op.symbol(),
                        values.join(", ")
                    ),
                    TEST,
                )
            }
            Predicate::RowIn { columns, rows } => {
                let row = |row: &Vec<crate::types::Value>| {
                    format!("({})", row.iter().map(literal).collect::<Vec<_>>().join(", "))
                };
                let rows: Vec<_> = rows.iter().map(row).collect();
                (
                    format!("({}) IN ({})", self.names(columns), rows.join(", ")),
                    TEST,
                )
            }
            Predicate::And(children) => (self.join(children, " AND ", AND), AND),
            Predicate::Or(children) => (self.join(children, " OR ", OR), OR),
            Predicate::Not(child) => match child.as_ref() {
                Predicate::IsNull { column } => (format!("{} IS NOT NULL", self.name(*column)), TEST),
                child => (format!("NOT {}", self.print(child, NOT)), NOT),
            },
            Predicate::Is {
                child,
                truth,
                negated,
            } => {
                let truth = truth.map_or("UNKNOWN", |truth| if truth { "TRUE" } else { "FALSE" });
                let not = if *negated { "NOT " } else { "" };
                (format!("({}) IS {not}{truth}", self.print(child, 0)), TEST)
            }
            Predicate::Opaque { columns } if columns.is_empty() => ("(condition)".to_string(), TEST),
            Predicate::Opaque { columns } => (format!("(condition on {})", self.names(columns)), TEST),
        };
        if binds < around { format!("({text})") } else { text }
    }

    fn join(&self, children: &[Predicate], connective: &str, binds: u8) -> String {
        let children: Vec<_> = children
            .iter()
            .map(|child| self.print(child, binds + 1))
            .collect();
        children.join(connective)
    }

    fn name(&self, column: usize) -> String {
        self.table
            .columns
            .get(column)
            .map_or_else(|| format!("column {column}"), |column| column.name.clone())
    }

    fn names(&self, columns: &[usize]) -> String {
        columns
            .iter()
            .map(|column| self.name(*column))
            .collect::<Vec<_>>()
            .join(", ")
    }
}
