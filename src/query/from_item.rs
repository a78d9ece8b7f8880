//! `FromItem`: a relation or join of FROM, bound: its plan and what names mean over it.

use sqlparser::ast;

use super::binder::{fault, fold};
use super::scope::{Scope, ScopeColumn};
use crate::error::StatementFault;
use crate::parse::row_assignment::is_row_name;
use crate::tree::Plan;
use crate::{Error, Result};

/// A bound FROM item.
#[derive(Clone)]
pub(super) struct FromItem {
    pub(super) plan: Plan,
    pub(super) scope: Scope,
}

/// A FROM item and those before it.
pub(super) enum Beside {
    /// It uses columns of theirs: their join.
    Joined(FromItem),
    /// It could, and uses none: it alone.
    Apart(FromItem),
    /// It sees none of them, and is not bound yet.
    Unbound,
}

impl FromItem {
    /// What there is without FROM: one row of no columns.
    pub(super) fn one_row() -> FromItem {
        FromItem {
            plan: Plan::one_row(),
            scope: Scope::default(),
        }
    }
}

/// A function's columns are defined, and it has its own.
pub(super) fn columns_of_their_own() -> Error {
    let message = "a column definition list is only allowed for functions returning \"record\"";
    fault(StatementFault::Syntax, message)
}

/// `AS name(a, b)` renames the first columns. `takes_types`: so may `AS name(a int, b text)`. Errors: 42P10 when it names more than there
/// are, 42601 for types where the columns have theirs, and for a row that is assigned to more or fewer columns than it has.
pub(super) fn renamed(
    mut columns: Vec<ScopeColumn>,
    alias: Option<&ast::TableAlias>,
    relation: &str,
    takes_types: bool,
) -> Result<Vec<ScopeColumn>> {
    let Some(alias) = alias else { return Ok(columns) };
    if !takes_types && alias.columns.iter().any(|column| column.data_type.is_some()) {
        return Err(columns_of_their_own());
    }
    if is_row_name(relation) && alias.columns.len() != columns.len() {
        let message = "number of columns does not match number of values";
        return Err(fault(StatementFault::Syntax, message));
    }
    if alias.columns.len() > columns.len() {
        return Err(fault(
            StatementFault::InvalidColumnReference,
            format!(
                "table \"{relation}\" has {} columns available but {} columns specified",
                columns.len(),
                alias.columns.len()
            ),
        ));
    }
    for (column, name) in columns.iter_mut().zip(&alias.columns) {
        column.name = fold(&name.name);
    }
    Ok(columns)
}
