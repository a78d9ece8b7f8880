//! Names of constraints that are not indexes: those that PostgreSQL makes up, and errors of those that are given.

use crate::Error;
use crate::catalog::{MadeName, TableDef};
use crate::error::DuplicateKind;
use crate::system::StatementContext;

/// `t_a_check`, `t_check`, with a number behind it where a constraint in the table's schema has the name.
pub(super) fn free(ctx: &StatementContext, table: &TableDef, base: MadeName<'_>) -> String {
    base.free(|name| {
        let others = ctx.catalog.tables();
        let mut others = others.filter(|other| other.schema == table.schema && other.oid != table.oid);
        !table.has_constraint(name) && !others.any(|other| other.has_constraint(name))
    })
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
