//! Columns that writes may add to a table and nobody has written yet. The one rule for their names, asked by `expression` for a name
//! that is unknown in the query and in those around it, or that its relation does not have, where a table of the innermost of these
//! queries that has one gets the columns that writes name:
//!
//! - Where the name is *shown*, as a part of a select list or of RETURNING, it is NULL, with a NOTICE that says the nearest name.
//! - Where it *chooses*, it is unknown (42703): WHERE, ON, GROUP BY, HAVING, ORDER BY, DISTINCT ON, FILTER, windows, LIMIT, functions in
//!   FROM, whatever a write computes of rows, and subqueries in these. A misspelt name would decide there what is found, changed or
//!   lost, and nobody would see it. [`Binder::choosing`] marks these clauses.
//! - `keyspan.unwritten_columns` says `error` or `null` for those who want one of them everywhere.
//!
//! A quoted name is far more often a string in the wrong quotes, and gets PostgreSQL's error with a HINT; only `null`, for tools that
//! quote all names, lets one be read: where it is shown, and with its relation before it anywhere. The columns of a view or a subquery in
//! FROM are known: its own select list is asked.
//!
//! The NULL has no type of its own, so that whatever may be done with the column once it is written can be bound before; that of
//! a column that a pattern of the table matches has the pattern's.

use std::sync::Arc;

use sqlparser::ast::Ident;

use super::binder::{Binder, Bound, Place};
use super::scope::{ColumnName, Scope, is_version_time};
use crate::catalog::TableDef;
use crate::error::nearest_name;
use crate::parse::quoting::quote_ident;
use crate::system::{Notice, UnwrittenColumns};
use crate::types::Value;
use crate::{Error, Result};

impl Binder<'_> {
    /// Binds something that decides which rows there are, in which order or groups, or what is written.
    pub(super) fn choosing<R>(&mut self, bind: impl FnOnce(&mut Self) -> R) -> R {
        self.with_choice(true, bind)
    }

    /// Binds something that is shown, or whose text is not the statement's, wherever it is used.
    pub(super) fn showing<R>(&mut self, bind: impl FnOnce(&mut Self) -> R) -> R {
        self.with_choice(false, bind)
    }

    fn with_choice<R>(&mut self, chooses: bool, bind: impl FnOnce(&mut Self) -> R) -> R {
        let before = std::mem::replace(&mut self.chooses, chooses);
        let bound = bind(self);
        self.chooses = before;
        bound
    }

    /// What a name stands for that is no column. Errors: `unknown`, with what may be done about it.
    pub(super) fn unwritten_column(
        &mut self,
        column: ColumnName<'_>,
        place: Place<'_>,
        unknown: Error,
    ) -> Result<Bound> {
        let (mut table, mut outer) = (place.scope.dynamic_table(column), place.outer);
        while let (None, Some(around)) = (table, outer) {
            table = around.scope.dynamic_table(column);
            outer = around.parent;
        }
        let Some(table) = table.cloned() else {
            return Err(unknown);
        };
        // The time of a version is no column that a write adds.
        if is_version_time(column.name, |name| table.column_index(name).is_some()) {
            return Err(unknown);
        }
        if !self.reads_as_null(column) {
            return Err(match column.is_quoted {
                true => self.with_relation_before(unknown, column.name, &table),
                false => with_way_out(unknown, column.name, &table),
            });
        }
        self.note_unwritten(column.name, &table);
        let null = match table.pattern_of(column.name) {
            Some(pattern) => Bound::constant(&Value::Null, pattern.ty.clone())?,
            None => Bound::unknown(None),
        };
        Ok(null.of_unwritten_column(table.oid))
    }

    /// Whether the column of FROM or the output that a name means in ORDER BY, GROUP BY or DISTINCT ON was written at all. Errors: 42703.
    pub(super) fn require_written(&self, name: &str, bound: &Bound, scope: &Scope) -> Result<()> {
        let may_be_read = self.ctx.settings.unwritten_columns == UnwrittenColumns::Null;
        match bound.is_unwritten() && !may_be_read {
            true => Err(Error::UndefinedColumn {
                name: format!("\"{name}\""),
                hint: scope.hint_for(name, false).or_else(|| Some(format!(
                    "What \"{name}\" shows is a column that nobody has written yet: a write that names it adds it. \
                     SET keyspan.unwritten_columns = null reads it as NULL until then."
                ))),
            }),
            false => Ok(()),
        }
    }

    fn reads_as_null(&self, column: ColumnName<'_>) -> bool {
        match self.ctx.settings.unwritten_columns {
            UnwrittenColumns::Error => false,
            UnwrittenColumns::Shown => !self.chooses && !column.is_quoted,
            UnwrittenColumns::Null => !column.is_quoted || column.relation.is_some() || !self.chooses,
        }
    }

    /// The error of a name in quotes, which may be a string in the wrong ones: where columns are read that nobody has written, how this would be.
    fn with_relation_before(&self, unknown: Error, name: &str, table: &TableDef) -> Error {
        match unknown {
            Error::UndefinedColumn {
                name: shown,
                hint: Some(hint),
            } if self.ctx.settings.unwritten_columns == UnwrittenColumns::Null => Error::UndefinedColumn {
                name: shown,
                hint: Some(format!(
                    "{hint} A column that nobody has written yet is read behind the name of its relation: {}.{}.",
                    quote_ident(&table.name),
                    Ident::with_quote('"', name)
                )),
            },
            unknown => unknown,
        }
    }

    /// Says it once a statement.
    fn note_unwritten(&mut self, name: &str, table: &Arc<TableDef>) {
        if !self.unwritten.insert((table.name.clone(), name.to_string())) {
            return;
        }
        let columns = table.visible_columns().map(|column| column.name.as_str());
        let near = nearest_name(name, columns);
        self.ctx.notice(Notice {
            hint: near.map(|near| {
                format!(
                    "Perhaps you meant to reference the column \"{}.{near}\".",
                    table.name
                )
            }),
            ..Notice::new(
                "00000",
                format!(
                    "column \"{name}\" of relation \"{}\" has not been written yet, it reads as NULL",
                    table.name
                ),
            )
        });
    }
}

/// The error; where no name is near, what makes the column known.
fn with_way_out(unknown: Error, name: &str, table: &TableDef) -> Error {
    match unknown {
        Error::UndefinedColumn { name: shown, hint } => Error::UndefinedColumn {
            name: shown,
            hint: hint.or_else(|| {
                Some(format!(
                    "Nobody has written a column \"{name}\" of relation \"{}\" yet: a write that names it adds it. \
                     SET keyspan.unwritten_columns = null reads it as NULL until then.",
                    table.name
                ))
            }),
        },
        unknown => unknown,
    }
}
