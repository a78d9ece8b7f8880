//! ALTER TABLE … ALTER COLUMN of identity columns: ADD GENERATED, SET GENERATED and options of the sequence, RESTART, DROP IDENTITY.

use sqlparser::ast::ObjectName;

use super::{column, notice, sequence};
use crate::catalog::{Access, CatalogWriter, ColumnDef, ColumnDefault, NO_SEQUENCE, Object, TableDef};
use crate::parse::definition::{IdentityChange, SequenceOption};
use crate::sql::relation::{relation, relation_if_exists};
use crate::system::StatementContext;
use crate::{Error, Result};

/// Runs a change of an identity column. Errors: 42P01, 42703, 42809, 55000, 22023.
pub(super) async fn execute(
    ctx: &StatementContext,
    name: &ObjectName,
    if_exists: bool,
    column: &str,
    change: &IdentityChange,
) -> Result<()> {
    if relation_if_exists(ctx, name, Access::Alter, if_exists)?.is_none() {
        return Ok(());
    }
    let action = "ALTER COLUMN ... SET";
    let Object::Table(table) = relation(ctx, name, Access::AlterAction(action))? else {
        return Err(Error::internal("an identity column of what is no table"));
    };
    let at = table.column_index(column).ok_or_else(|| Error::UndefinedColumn {
        name: format!("\"{column}\" of relation \"{}\"", table.name),
        hint: None,
    })?;
    let old = &table.columns[at];
    let has_identity = matches!(old.default, Some(ColumnDefault::Identity { .. }));
    match change {
        IdentityChange::Add { always, options } => add(ctx, table, at, *always, options).await,
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
        IdentityChange::Drop { .. } => drop_identity(ctx, table, at),
        IdentityChange::Set { always, options } => {
            if let Some(always) = always {
                set_generated(ctx, table, at, *always)?;
            }
            match sequence::of_column(ctx, table, old) {
                Some(sequence) if !options.is_empty() => {
                    sequence::change_options(ctx, sequence, options).await
                }
                _ => Ok(()),
            }
        }
    }
}

/// ADD GENERATED … AS IDENTITY. Errors: 55000, 22023.
async fn add(
    ctx: &StatementContext,
    table: &TableDef,
    at: usize,
    always: bool,
    options: &[SequenceOption],
) -> Result<()> {
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    let mut changed = table.clone();
    give_identity(ctx, &writer, &mut changed, at, (always, options)).await?;
    writer.put_table(changed).map(drop)
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
    match column.default {
        Some(ColumnDefault::Identity { .. }) => {
            return Err(wrong(table, column, "is already an identity column"));
        }
        Some(_) => return Err(wrong(table, column, "already has a default value")),
        None if !column.not_null => {
            let what = "must be declared NOT NULL before identity can be added";
            return Err(wrong(table, column, what));
        }
        None => {}
    }
    column::check_identity_type(&column.ty)?;
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

fn set_generated(ctx: &StatementContext, table: &TableDef, at: usize, always: bool) -> Result<()> {
    let mut changed = table.clone();
    if let Some(ColumnDefault::Identity { always: old, .. }) = &mut changed.columns[at].default {
        *old = always;
    }
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?
        .put_table(changed)
        .map(drop)
}

/// The column stays as it is, but for its identity; its sequence goes.
fn drop_identity(ctx: &StatementContext, table: &TableDef, at: usize) -> Result<()> {
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    if let Some(sequence) = sequence::of_column(ctx, table, &table.columns[at]) {
        writer.drop_sequence(sequence)?;
    }
    let mut changed = table.clone();
    changed.columns[at].default = None;
    writer.put_table(changed).map(drop)
}

/// 55000.
fn wrong(table: &TableDef, column: &ColumnDef, what: &str) -> Error {
    Error::NotInState {
        message: format!("column \"{}\" of relation \"{}\" {what}", column.name, table.name),
    }
}
