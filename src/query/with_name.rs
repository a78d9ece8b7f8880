//! The names that a WITH clause gives to its queries and to their columns.

use sqlparser::ast;

use super::binder::{BoundQuery, fault, fold};
use crate::error::{Raised, StatementFault};
use crate::{Error, Result};

/// `AS name(a, b)` on a WITH query. Errors: 42P10.
pub(crate) fn rename<'a>(
    columns: impl ExactSizeIterator<Item = &'a mut String>,
    alias: &ast::TableAlias,
    name: &str,
) -> Result<()> {
    if alias.columns.len() > columns.len() {
        let message = format!(
            "WITH query \"{name}\" has {} columns available but {} columns specified",
            columns.len(),
            alias.columns.len()
        );
        return Err(fault(StatementFault::InvalidColumnReference, message));
    }
    for (column, renamed) in columns.zip(&alias.columns) {
        *column = fold(&renamed.name);
    }
    Ok(())
}

/// The names of a query's columns.
pub(super) fn names_of(query: &mut BoundQuery) -> impl ExactSizeIterator<Item = &mut String> {
    query.columns.iter_mut().map(|column| &mut column.name)
}

/// An error of a query of a WITH clause: of a relation that is not there it tells that a query of the clause which cannot be read yet has
/// the name. `later`: the query itself, and those behind it.
pub(super) fn not_readable_yet(error: Error, later: &[ast::Cte]) -> Error {
    match &error {
        Error::UndefinedTable { name, .. } if later.iter().any(|cte| fold(&cte.alias.name) == *name) => Raised {
            detail: Some(format!(
                "There is a WITH item named \"{name}\", but it cannot be referenced from this part of the query."
            )),
            hint: Some(
                "Use WITH RECURSIVE, or re-order the WITH items to remove forward references.".to_string(),
            ),
            ..Raised::new("42P01", error.to_string())
        }
        .into(),
        _ => error,
    }
}

/// A name of a WITH clause that comes twice.
pub(crate) fn repeated_name(name: &str) -> Error {
    let message = format!("WITH query name \"{name}\" specified more than once");
    fault(StatementFault::DuplicateAlias, message)
}
