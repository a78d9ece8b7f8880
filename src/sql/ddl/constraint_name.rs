//! Names of constraints that are not indexes: those that PostgreSQL makes up, and errors of those that are given.

use crate::Error;
use crate::catalog::TableDef;
use crate::error::DuplicateKind;
use crate::system::StatementContext;

/// Bytes of a name at most, as in PostgreSQL.
const NAME_BYTES_MAX: usize = 63;

/// `t_a_check`, `t_check`, with a number behind it where a constraint in the table's schema has the name.
pub(super) fn free(ctx: &StatementContext, table: &TableDef, column: Option<&str>, label: &str) -> String {
    let is_taken = |name: &str| {
        let others = ctx.catalog.tables();
        let mut others = others.filter(|other| other.schema == table.schema && other.oid != table.oid);
        table.has_constraint(name) || others.any(|other| other.has_constraint(name))
    };
    let numbers = std::iter::once(String::new()).chain((1u32..).map(|number| number.to_string()));
    let mut names = numbers.map(|number| made_of(&table.name, column, &format!("{label}{number}")));
    names.find(|name| !is_taken(name)).unwrap_or_default()
}

/// The parts joined, the longer of table and column cut so that the name is not too long.
fn made_of(table: &str, column: Option<&str>, label: &str) -> String {
    let (mut table, mut column) = (table, column);
    loop {
        let name = match column {
            Some(column) => format!("{table}_{column}_{label}"),
            None => format!("{table}_{label}"),
        };
        if name.len() <= NAME_BYTES_MAX {
            return name;
        }
        match &mut column {
            Some(column) if column.len() > table.len() => *column = without_last(column),
            _ => table = without_last(table),
        }
    }
}

fn without_last(text: &str) -> &str {
    let mut chars = text.chars();
    chars.next_back();
    chars.as_str()
}

/// 42710.
pub(super) fn taken(name: &str, table: &TableDef) -> Error {
    Error::Duplicate {
        kind: DuplicateKind::Constraint,
        name: format!("{name}\" for relation \"{}", table.name),
    }
}

/// 42704.
pub(super) fn undefined(name: &str, table: &TableDef) -> Error {
    Error::UndefinedObject {
        kind: "constraint",
        name: format!("{name}\" of relation \"{}", table.name),
    }
}
