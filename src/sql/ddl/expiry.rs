//! TTL and TTL_COLUMN of a table: what they say as texts, and whether the table can have them. Called by CREATE TABLE and ALTER TABLE once
//! options are set, and by what changes columns.

use super::table_change::undefined_column;
use crate::catalog::{Expiry, TableDef};
use crate::codec::expiry::MomentUnit;
use crate::error::StatementFault;
use crate::system::StatementContext;
use crate::types::SqlType;
use crate::{Error, Result};

/// Makes a table's new options whole, which were `before`. Errors: 42703 for a TTL_COLUMN that is not there, 42804 for one of a wrong type,
/// 0A000 where rows cannot be over.
pub(super) fn settle(ctx: &StatementContext, table: &mut TableDef, before: &Expiry) -> Result<()> {
    let expiry = &table.options.expiry;
    if expiry == before {
        return Ok(());
    }
    let column = match &expiry.column {
        None => None,
        Some(name) => {
            let at = table
                .column_index(name)
                .or_else(|| table.column_index(&name.to_lowercase()));
            let column = &table.columns[at.ok_or_else(|| undefined_column(name, table))?];
            check_type(table, &column.name, &column.ty)?;
            Some(column.name.clone())
        }
    };
    let since = match (expiry.is_of_all_rows(), before.is_of_all_rows()) {
        (false, _) => 0,
        (true, true) => before.since,
        (true, false) => ctx.txn.write_time(),
    };
    (table.options.expiry.column, table.options.expiry.since) = (column, since);
    Ok(())
}

/// Errors: 42804 for a type that holds no moments.
fn check_type(table: &TableDef, column: &str, ty: &SqlType) -> Result<()> {
    match MomentUnit::of(ty) {
        Some(_) => Ok(()),
        None => Err(Error::DatatypeMismatch {
            message: format!(
                "TTL_COLUMN \"{column}\" of table \"{}\" is of type {}, which holds no moments",
                table.name,
                ty.full_base_name()
            ),
            hint: Some(
                "It must be of type timestamp, timestamp with time zone or date, or a bigint of milliseconds since 1970."
                    .to_string(),
            ),
        }),
    }
}

/// A column gets another type. Errors: 42804 for TTL_COLUMN and a type that holds no moments.
pub(super) fn check_retype(table: &TableDef, column: &str, ty: &SqlType) -> Result<()> {
    match table.options.expiry.column.as_deref() == Some(column) {
        true => check_type(table, column, ty),
        false => Ok(()),
    }
}

/// A column is to be dropped. Errors: 2BP01 for TTL_COLUMN, with CASCADE as well: its rows would stay for ever.
pub(super) fn check_drop(table: &TableDef, column: &str) -> Result<()> {
    match table.options.expiry.column.as_deref() == Some(column) {
        true => Err(Error::InvalidStatement {
            state: StatementFault::DependentObjects,
            message: format!(
                "cannot drop column {column} of table {} because its TTL_COLUMN names it",
                table.name
            ),
            hint: Some(format!(
                "Rows would not be over any more. Say so first: ALTER TABLE {} RESET (ttl_column).",
                table.name
            )),
        }),
        false => Ok(()),
    }
}

/// A column got another name.
pub(super) fn follow_rename(table: &mut TableDef, old: &str, new: &str) {
    if let Some(column) = &mut table.options.expiry.column
        && column == old
    {
        *column = new.to_string();
    }
}
