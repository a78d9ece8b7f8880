//! ALTER TABLE … ALTER COLUMN of identity columns: ADD GENERATED, SET GENERATED and options of the sequence, RESTART, DROP IDENTITY.

use super::table_change::undefined_column;
use super::{column, notice, sequence};
use crate::catalog::{CatalogWriter, ColumnDef, ColumnDefault, NO_SEQUENCE, TableDef};
use crate::parse::definition::{IdentityChange, SequenceOption};
use crate::system::StatementContext;
use crate::{Error, Result};

/// Does one change of an identity column. Errors: 42703, 55000, 22023.
pub(super) async fn apply(
    ctx: &StatementContext,
    table: &mut TableDef,
    column: &str,
    change: &IdentityChange,
) -> Result<()> {
    let at = table
        .column_index(column)
        .ok_or_else(|| undefined_column(column, table))?;
    let old = &table.columns[at];
    let has_identity = matches!(old.default, Some(ColumnDefault::Identity { .. }));
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    match change {
        IdentityChange::Add { always, options } => {
            give_identity(ctx, &writer, table, at, (*always, options)).await
        }
        IdentityChange::Drop { if_exists: true } if !has_identity => {
            let message = format!(
                "column \"{column}\" of relation \"{}\" is not an identity column, skipping",
                table.name
            );
            notice(ctx, "00000", message, None);
            Ok(())
        }
        IdentityChange::Set { .. } | IdentityChange::Drop { .. } if !has_identity => {
            Err(wrong(table, old, "is not an identity column"))
        }
        IdentityChange::Drop { .. } => {
            // The column stays as it is, but for its identity; its sequence goes.
            if let Some(sequence) = sequence::of_column(ctx, table, old) {
                writer.drop_sequence(sequence)?;
            }
            table.columns[at].default = None;
            Ok(())
        }
        IdentityChange::Set { always, options } => {
            match sequence::of_column(ctx, table, old) {
                Some(sequence) if !options.is_empty() => {
                    sequence::change_options(ctx, sequence, options).await?;
                }
                _ => {}
            }
            if let (Some(always), Some(ColumnDefault::Identity { always: old, .. })) =
                (always, &mut table.columns[at].default)
            {
                *old = *always;
            }
            Ok(())
        }
    }
}

/// Makes a column of a table an identity column, with a sequence of its own. Errors: 55000, 22023.
pub(super) async fn give_identity(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    table: &mut TableDef,
    at: usize,
    (always, options): (bool, &[SequenceOption]),
) -> Result<()> {
    let column = &table.columns[at];
    if matches!(column.default, Some(ColumnDefault::Identity { .. })) {
        return Err(wrong(table, column, "is already an identity column"));
    }
    column::check_identity_type(&column.ty)?;
    if !column.not_null {
        let what = "must be declared NOT NULL before identity can be added";
        return Err(wrong(table, column, what));
    }
    if column.default.is_some() {
        return Err(wrong(table, column, "already has a default value"));
    }
    table.columns[at].default = Some(ColumnDefault::Identity {
        always,
        oid: NO_SEQUENCE,
    });
    let of = (table.schema.as_str(), table.name.as_str(), table.oid);
    let mut taken = Vec::new();
    let made = sequence::create_for_column(ctx, writer, of, &table.columns[at], options, &mut taken);
    let oid = made.await?;
    table.columns[at].set_sequence(oid);
    Ok(())
}

/// 55000.
fn wrong(table: &TableDef, column: &ColumnDef, what: &str) -> Error {
    Error::NotInState {
        message: format!("column \"{}\" of relation \"{}\" {what}", column.name, table.name),
    }
}
