//! Predicates as readable SQL with column names, for EXPLAIN: every operator stands in parentheses, as PostgreSQL does.

use crate::catalog::TableDef;
use crate::plan::{Predicate, literal};
use crate::tree::escape_clause;
use crate::types::Value;

/// The predicate as SQL. What it cannot say in SQL it names by its columns: `(condition on a, b)`.
pub(crate) fn condition_text(predicate: &Predicate, table: &TableDef) -> String {
    Printer { table }.print(predicate)
}

struct Printer<'a> {
    table: &'a TableDef,
}

impl Printer<'_> {
    fn print(&self, predicate: &Predicate) -> String {
        match predicate {
            Predicate::Constant(truth) => truth.map_or_else(|| "NULL".to_string(), |truth| truth.to_string()),
            Predicate::Compare { column, op, value } => {
                format!("({} {} {})", self.name(*column), op.symbol(), literal(value))
            }
            Predicate::InList { column, values } => {
                format!("({} IN ({}))", self.name(*column), literals(values))
            }
            Predicate::IsNull { column } => format!("({} IS NULL)", self.name(*column)),
            Predicate::IsTrue { column } => self.name(*column),
            Predicate::Like {
                column,
                pattern,
                escape,
                case_insensitive,
            } => {
                let operator = if *case_insensitive { "ILIKE" } else { "LIKE" };
                let escape = escape_clause(*escape);
                format!("({} {operator} {}{escape})", self.name(*column), literal(pattern))
            }
            Predicate::RowIn { columns, rows } => {
                let rows: Vec<_> = rows.iter().map(|row| format!("({})", literals(row))).collect();
                format!("(({}) IN ({}))", self.names(columns), rows.join(", "))
            }
            Predicate::And(children) => self.join(children, " AND "),
            Predicate::Or(children) => self.join(children, " OR "),
            Predicate::Not(child) => match child.as_ref() {
                Predicate::IsNull { column } => format!("({} IS NOT NULL)", self.name(*column)),
                child => format!("(NOT {})", self.print(child)),
            },
            Predicate::Is {
                child,
                truth,
                negated,
            } => {
                let truth = truth.map_or("UNKNOWN", |truth| if truth { "TRUE" } else { "FALSE" });
                let not = if *negated { "NOT " } else { "" };
                format!("({} IS {not}{truth})", self.print(child))
            }
            Predicate::HasTerm { .. } | Predicate::WouldHaveTerms { .. } => "true".to_string(),
            Predicate::Opaque { columns } if columns.is_empty() => "(condition)".to_string(),
            Predicate::Opaque { columns } => format!("(condition on {})", self.names(columns)),
        }
    }

    fn join(&self, children: &[Predicate], connective: &str) -> String {
        let children = children.iter().filter(|child| !child.is_told_beside());
        let children: Vec<_> = children.map(|child| self.print(child)).collect();
        match children.as_slice() {
            [only] => only.clone(),
            children => format!("({})", children.join(connective)),
        }
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

fn literals(values: &[Value]) -> String {
    values.iter().map(literal).collect::<Vec<_>>().join(", ")
}
