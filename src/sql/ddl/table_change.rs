//! `Change`: what ALTER TABLE makes of a table before any of it is written. Filled by `alter` and by those of its operations that
//! have files of their own.

use super::index::NewIndex;
use super::rewrite::Rewrite;
use super::verification::NoNulls;
use crate::catalog::{ForeignKey, ObjectKind, TableDef, dependents_key};
use crate::error::nearest_name;
use crate::system::StatementContext;
use crate::{Error, Result};

/// What ALTER TABLE makes of a table, operation by operation.
pub(super) struct Change {
    pub(super) table: TableDef,
    /// Indexes that it gets.
    pub(super) indexes: Vec<NewIndex>,
    /// What must hold of all rows; it holds of those that the transaction sees.
    pub(super) checks: Vec<NoNulls>,
    /// The names of CHECK constraints that the rows there are must be asked.
    pub(super) row_checks: Vec<String>,
    /// Foreign keys that it gets or that are to be valid, and whether the rows there are must be asked.
    pub(super) foreign_keys: Vec<(ForeignKey, bool)>,
    /// Its rows are to be stored otherwise.
    pub(super) rewrite: Option<Rewrite>,
    /// Names of sequences that its new columns have got.
    pub(super) sequence_names: Vec<String>,
}

/// Views are kept as text, which names columns.
pub(super) fn check_no_views(ctx: &StatementContext, table: &TableDef, change: &str) -> Result<()> {
    // Nor may anybody be creating one.
    ctx.txn.guard(&dependents_key(table.oid));
    match ctx.catalog.queries_reading(table.oid).next() {
        None => Ok(()),
        Some(view) => {
            let kind = match view.get_table() {
                Some(_) => ObjectKind::MaterializedView.word(),
                None => ObjectKind::View.word(),
            };
            let name = view.name();
            Err(Error::FeatureNotSupported {
                feature: format!("{change} while {kind} \"{name}\" reads table \"{}\"", table.name),
                hint: Some(format!(
                    "Use DROP {} {name} first, and create it again afterwards.",
                    kind.to_uppercase()
                )),
            })
        }
    }
}

/// 0A000: the key is the order of the rows on disk.
pub(super) fn changed_key(table: &TableDef) -> Error {
    Error::unsupported(
        format!("changing the primary key of \"{}\"", table.name),
        Some(
            "Use ALTER TABLE ... DROP CONSTRAINT for the old key first, and ADD PRIMARY KEY for the new one.",
        ),
    )
}

/// 42703.
pub(super) fn undefined_column(name: &str, table: &TableDef) -> Error {
    let nearest = nearest_name(name, table.visible_columns().map(|column| column.name.as_str()));
    Error::UndefinedColumn {
        name: format!("\"{name}\" of relation \"{}\"", table.name),
        hint: nearest.map(|nearest| format!("Perhaps you meant the column \"{nearest}\".")),
    }
}
