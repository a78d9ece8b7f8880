//! `Clauses`: what an INSERT says beside its table and its rows.

use sqlparser::ast;

use crate::parse::is_upsert;

/// What an INSERT says beside its table and rows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Clauses<'a> {
    /// ON CONFLICT.
    pub(super) on: Option<&'a ast::OnInsert>,
    /// RETURNING.
    pub(super) returning: Option<&'a [ast::SelectItem]>,
    /// UPSERT, not INSERT.
    pub(super) is_upsert: bool,
}

impl<'a> Clauses<'a> {
    /// Those of a statement.
    pub(super) fn of(insert: &'a ast::Insert) -> Clauses<'a> {
        Clauses {
            on: insert.on.as_ref(),
            returning: insert.returning.as_deref(),
            is_upsert: is_upsert(insert),
        }
    }

    /// The same with another ON CONFLICT.
    pub(super) fn with_on(self, on: Option<&'a ast::OnInsert>) -> Clauses<'a> {
        Clauses { on, ..self }
    }
}
