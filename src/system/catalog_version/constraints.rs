//! Constraints of tables that are no indexes, as PostgreSQL's catalogs count and print them.

use crate::catalog::{CheckConstraint, TableDef};
use crate::codec::row::ColumnId;

/// A CHECK constraint.
#[derive(Debug)]
pub(crate) struct UserConstraint {
    pub(crate) oid: i64,
    pub(crate) name: String,
    /// As `pg_get_constraintdef` prints it.
    pub(crate) definition: String,
    /// The same without parentheses that are not needed.
    pub(crate) pretty_definition: String,
    /// Attribute numbers of the columns that it names.
    pub(crate) columns: Vec<usize>,
    /// pg_constraint.conbin, as `pg_get_expr` prints it.
    pub(crate) condition: String,
    pub(crate) no_inherit: bool,
    pub(crate) valid: bool,
    pub(crate) comment: Option<String>,
}

/// Those of a table, by name. `attribute`: the number of a column.
pub(super) fn user_constraints(
    table: &TableDef,
    attribute: impl Fn(ColumnId) -> Option<usize>,
) -> Vec<UserConstraint> {
    let constraint = |check: &CheckConstraint| UserConstraint {
        oid: i64::from(check.oid),
        name: check.name.clone(),
        definition: definition(check, &check.text),
        pretty_definition: definition(check, &check.pretty_text),
        columns: check.columns.iter().filter_map(|id| attribute(*id)).collect(),
        condition: check.text.clone(),
        no_inherit: check.no_inherit,
        valid: !check.not_valid,
        comment: check.comment.clone(),
    };
    table.checks.iter().map(constraint).collect()
}

fn definition(check: &CheckConstraint, condition: &str) -> String {
    let no_inherit = if check.no_inherit { " NO INHERIT" } else { "" };
    let not_valid = if check.not_valid { " NOT VALID" } else { "" };
    format!("CHECK ({condition}){no_inherit}{not_valid}")
}
