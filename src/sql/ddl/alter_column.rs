//! ALTER COLUMN: defaults, NOT NULL, the type.

use sqlparser::ast::{AlterColumnOperation, Ident};

use super::table_change::{Change, contains_null, undefined_column};
use super::verification::NoNulls;
use super::{default, retype};
use crate::catalog::{ColumnDef, ColumnDefault, TableDef, Unverified};
use crate::error::StatementFault;
use crate::parse::names;
use crate::system::StatementContext;
use crate::table::has_null;
use crate::{Error, Result};

/// What an ALTER COLUMN makes of a table. Errors: 42703, 42601, 42P16, 23502, those of the default and of the type.
pub(super) async fn alter_column(
    ctx: &StatementContext,
    change: &mut Change,
    name: &Ident,
    operation: &AlterColumnOperation,
) -> Result<()> {
    let table = &mut change.table;
    let name = names::fold(name);
    let at = table
        .column_index(&name)
        .ok_or_else(|| undefined_column(&name, table))?;
    let column = table.columns[at].clone();
    let changes_default = matches!(
        operation,
        AlterColumnOperation::SetDefault { .. } | AlterColumnOperation::DropDefault
    );
    if changes_default {
        check_default_may_change(table, &column, operation)?;
    }
    match operation {
        AlterColumnOperation::SetDefault { value } => {
            let read = default::read(ctx, value, &column.ty, &name).await?;
            table.columns[at].default = default::or_null_over_domain(ctx, read, &table.columns[at]);
        }
        AlterColumnOperation::DropDefault => table.columns[at].default = None,
        AlterColumnOperation::SetNotNull => {
            if !column.is_never_null() {
                let error = contains_null(table, &name);
                if has_null(&ctx.txn, table, at, || Ok(())).await? {
                    return Err(error);
                }
                let column = column.id;
                change.checks.push(NoNulls { column, error });
            }
            table.columns[at].not_null = true;
        }
        AlterColumnOperation::DropNotNull => {
            if let Some(ColumnDefault::Identity { .. }) = column.default {
                let hint = "Use ALTER COLUMN ... DROP IDENTITY first.";
                return Err(not_plain(table, &column, "an identity", hint));
            }
            if table.is_key_column(column.id) {
                return Err(Error::InvalidStatement {
                    state: StatementFault::InvalidTableDefinition,
                    message: format!("column \"{name}\" is in a primary key"),
                    hint: None,
                });
            }
            table.columns[at].not_null = false;
            table.columns[at]
                .unverified
                .take_if(|unverified| *unverified == Unverified::NotNull);
        }
        AlterColumnOperation::SetDataType { data_type, using, .. } => {
            retype::set_type(ctx, change, at, data_type, using.as_ref()).await?;
        }
        other => return Err(Error::unsupported(format!("ALTER COLUMN ... {other}"), None)),
    }
    Ok(())
}

/// Errors: 42601 for a column whose values come from elsewhere.
fn check_default_may_change(
    table: &TableDef,
    column: &ColumnDef,
    operation: &AlterColumnOperation,
) -> Result<()> {
    let drops = matches!(operation, AlterColumnOperation::DropDefault);
    let (kind, hint) = match &column.default {
        Some(ColumnDefault::Generated(_)) if drops => (
            "a generated",
            "Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.",
        ),
        Some(ColumnDefault::Generated(_)) => {
            ("a generated", "Add a column with the default, and drop this one.")
        }
        Some(ColumnDefault::Identity { .. }) => (
            "an identity",
            "Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead.",
        ),
        _ => return Ok(()),
    };
    Err(not_plain(table, column, kind, hint))
}

/// 42601.
fn not_plain(table: &TableDef, column: &ColumnDef, kind: &str, hint: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::Syntax,
        message: format!(
            "column \"{}\" of relation \"{}\" is {kind} column",
            column.name, table.name
        ),
        hint: Some(hint.to_string()),
    }
}
