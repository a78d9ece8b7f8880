//! The clauses of a call (DISTINCT, ORDER BY, FILTER, WITHIN GROUP), refused of functions that have none. Called
//! by whoever binds the call; aggregates read theirs.

use sqlparser::ast;

use super::binder::fault;
use crate::Result;
use crate::error::StatementFault;

/// Errors: 42809 for a clause of a function that is no aggregate and has no OVER.
pub(super) fn check_plain(name: &str, function: &ast::Function) -> Result<()> {
    match of_aggregates(function) {
        None => Ok(()),
        Some(clause) => {
            let message = format!("{clause} specified, but {name} is not an aggregate function");
            Err(fault(StatementFault::WrongObjectType, message))
        }
    }
}

/// Errors: for a clause that stands with OVER nowhere, or with that of an aggregate alone.
pub(super) fn check_window(name: &str, function: &ast::Function, is_aggregate: bool) -> Result<()> {
    let (state, message) = match of_aggregates(function) {
        None => return Ok(()),
        Some("FILTER") if is_aggregate => return Ok(()),
        Some("DISTINCT") => (
            StatementFault::NotImplemented,
            "DISTINCT is not implemented for window functions".to_string(),
        ),
        Some("ORDER BY") => (
            StatementFault::NotImplemented,
            "aggregate ORDER BY is not implemented for window functions".to_string(),
        ),
        Some("FILTER") => (
            StatementFault::NotImplemented,
            "FILTER is not implemented for non-aggregate window functions".to_string(),
        ),
        Some(clause) => (
            StatementFault::WrongObjectType,
            format!("window function {name} cannot have {clause}"),
        ),
    };
    Err(fault(state, message))
}

/// The first clause of a call that only aggregates have.
fn of_aggregates(function: &ast::Function) -> Option<&'static str> {
    let list = match &function.args {
        ast::FunctionArguments::List(list) => Some(list),
        ast::FunctionArguments::None | ast::FunctionArguments::Subquery(_) => None,
    };
    if list.is_some_and(|list| list.duplicate_treatment == Some(ast::DuplicateTreatment::Distinct)) {
        Some("DISTINCT")
    } else if !function.within_group.is_empty() {
        Some("WITHIN GROUP")
    } else if list.is_some_and(|list| !list.clauses.is_empty()) {
        Some("ORDER BY")
    } else {
        function.filter.is_some().then_some("FILTER")
    }
}
