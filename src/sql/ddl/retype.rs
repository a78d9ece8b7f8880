//! ALTER COLUMN … TYPE: without touching a row where the stored bytes mean the same in the new type, by [`super::rewrite`]
//! otherwise.

use sqlparser::ast::{DataType, Expr};

use super::column::collation_of;
use super::column_users;
use super::rewrite::{becomes, not_automatic};
use super::row_expression::check_no_subquery;
use super::table_change::Change;
use super::{check, default, expiry, foreign_key, index_expression, index_terms, sequence, triggers};
use crate::catalog::{ColumnDef, ColumnDefault, TableDef};
use crate::codec::key::check_key_type;
use crate::error::StatementFault;
use crate::parse::definition::SequenceOption;
use crate::parse::quoting::qualified;
use crate::parse::type_collation;
use crate::query;
use crate::query::type_name::{NamedType, declared_type};
use crate::sql::{column_type, dml};
use crate::system::StatementContext;
use crate::system::catalog_version::default_text::label_sql;
use crate::types::{SqlType, Value, keeps_all_times};
use crate::{Error, Result};

/// Gives the column at `at` another type. Errors: 42704, 42804, 0A000 for a column that something else is computed of.
pub(super) async fn set_type(
    ctx: &StatementContext,
    change: &mut Change,
    at: usize,
    written: &DataType,
    using: Option<&Expr>,
) -> Result<()> {
    let NamedType { ty, domain } = declared_type(ctx, written)?;
    query::warn_of_digits(ctx, written);
    column_type::check_stored(&ty)?;
    let (using, collation) = type_collation::of_type(using);
    if let Some(using) = using {
        check_no_subquery(using, "transform expression")?;
    }
    let collation = collation.map(|name| collation_of(&ty, &name)).transpose()?;
    let column = change.table.columns[at].clone();
    if column.generation().is_some() && using.is_some() {
        return Err(Error::InvalidStatement {
            state: StatementFault::InvalidColumnDefinition,
            message: "cannot specify USING when altering type of generated column".to_string(),
            hint: None,
        });
    }
    check_no_dependents(&change.table, &column)?;
    let is_same_domain =
        domain.as_ref().map(|domain| domain.oid) == column.domain.as_ref().map(|domain| domain.oid);
    let is_same_collation = collation.as_ref().is_none_or(|named| *named == column.collation);
    if ty == column.ty && using.is_none() && is_same_domain && is_same_collation {
        return Ok(());
    }
    if using.is_none() && !becomes(&column.ty, &ty) {
        return Err(not_automatic(&column.name, &ty, false));
    }
    check_no_foreign_key(ctx, &change.table, &column, &ty)?;
    column_users::check_none(ctx, &change.table, column.id, &column.name)?;
    triggers::check_no_users_of_column(&change.table, &column)?;
    check_keys(change, &column, &ty)?;
    expiry::check_retype(&change.table, &column.name, &ty)?;
    if matches!(column.default, Some(ColumnDefault::Identity { .. })) && !ty.is_integer() {
        return Err(Error::InvalidParameter {
            message: "identity column type must be smallint, integer, or bigint".to_string(),
            hint: None,
        });
    }
    retype_sequence(ctx, &change.table, &column, &ty).await?;
    let default = retyped_default(ctx, &change.table, &column, &ty).await?;
    // What is stored must pass a new domain: all rows are written anew, which asks them.
    let stays = using.is_none()
        && column.generation().is_none()
        && is_stored_alike(&column.ty, &ty)
        && (is_same_domain || domain.is_none());
    let retyped = &mut change.table.columns[at];
    retyped.domain = domain;
    retyped.default = default;
    retyped.collation = collation.flatten();
    retyped.ty = ty;
    if !stays {
        retyped.missing = Value::Null;
        let rewrite = change.rewrite.get_or_insert_default();
        rewrite.retyped.insert(column.id, using.cloned());
    }
    index_expression::retype_column(ctx, change, column.id)?;
    check::retype_column(ctx, change, column.id)
}

/// Errors: 0A000 for a column that generated ones are computed of, but for those that indexes hold.
fn check_no_dependents(table: &TableDef, column: &ColumnDef) -> Result<()> {
    let is_of_index = |dependent: &ColumnDef| dependent.hidden && !table.is_key_column(dependent.id);
    let mut dependents = table.columns_computed_of(column.id);
    match dependents.find(|dependent| !is_of_index(dependent)) {
        None => Ok(()),
        Some(dependent) => Err(Error::ColumnUsed {
            by: "by a generated column",
            detail: format!(
                "Column \"{}\" is used by generated column \"{}\".",
                column.name, dependent.name
            ),
        }),
    }
}

/// The default of a column that gets another type. Errors: 42804.
async fn retyped_default(
    ctx: &StatementContext,
    table: &TableDef,
    column: &ColumnDef,
    ty: &SqlType,
) -> Result<Option<ColumnDefault>> {
    match &column.default {
        Some(ColumnDefault::Constant { sql, value, .. }) => {
            let label = column
                .ty
                .enum_type()
                .map(|_| label_sql(&ctx.catalog, value, &column.ty));
            let expr = dml::parse_expression(label.as_ref().unwrap_or(sql))?;
            if !becomes(&column.ty, ty) {
                return Err(default_mismatch(&column.name, ty));
            }
            if let Ok(read) = default::read(ctx, &expr, ty, &column.name).await {
                return Ok(read);
            }
            // A literal that was of the old type: '1.5' of a numeric column that becomes an integer one.
            let of_old = format!("CAST({} AS {})", label.as_ref().unwrap_or(sql), column.ty.name());
            let read = default::read(ctx, &dml::parse_expression(&of_old)?, ty, &column.name).await;
            read.map_err(|_| default_mismatch(&column.name, ty))
        }
        Some(ColumnDefault::Expression { sql, .. }) => {
            let expr = dml::parse_expression(sql)?;
            if !becomes(&column.ty, ty) {
                return Err(default_mismatch(&column.name, ty));
            }
            let read = default::read(ctx, &expr, ty, &column.name).await;
            read.map_err(|_| default_mismatch(&column.name, ty))
        }
        // The next number as a value of the type.
        Some(ColumnDefault::Sequence { .. }) if !ty.is_integer() => {
            let sequence = sequence::of_column(ctx, table, column);
            let Some(sequence) = sequence.filter(|_| becomes(&SqlType::Int8, ty)) else {
                return Err(default_mismatch(&column.name, ty));
            };
            let name = qualified(&sequence.schema, &sequence.name).replace('\'', "''");
            let next = dml::parse_expression(&format!("nextval('{name}')"))?;
            let read = default::read(ctx, &next, ty, &column.name).await;
            read.map_err(|_| default_mismatch(&column.name, ty))
        }
        other => Ok(other.clone()),
    }
}

/// Errors: 0A000 for a column of a key, and a type that no key is of.
fn check_keys(change: &Change, column: &ColumnDef, ty: &SqlType) -> Result<()> {
    let new = change.indexes.iter().flat_map(|index| &index.columns);
    let known = change.table.all_indexes().flat_map(|index| &index.columns);
    let new_terms = change.indexes.iter().flat_map(|index| &index.terms);
    let known_terms = change.table.indexes.iter().flat_map(|index| &index.terms);
    index_terms::check_type(known_terms.chain(new_terms), column.id, ty)?;
    match known.chain(new).any(|part| part.column == column.id) {
        true => check_key_type(ty, &column.name),
        false => Ok(()),
    }
}

/// Errors: 0A000 for a column that a foreign key is over or refers to, and whose values would be stored otherwise.
fn check_no_foreign_key(
    ctx: &StatementContext,
    table: &TableDef,
    column: &ColumnDef,
    ty: &SqlType,
) -> Result<()> {
    match foreign_key::uses_column(ctx, table, column.id) && !is_stored_alike(&column.ty, ty) {
        false => Ok(()),
        true => Err(Error::unsupported(
            format!(
                "altering the type of column \"{}\", which a foreign key uses",
                column.name
            ),
            Some("Use DROP CONSTRAINT for the foreign key first, and ADD FOREIGN KEY afterwards."),
        )),
    }
}

/// The sequence of an identity column is of the column's type.
async fn retype_sequence(
    ctx: &StatementContext,
    table: &TableDef,
    column: &ColumnDef,
    ty: &SqlType,
) -> Result<()> {
    let has_identity = matches!(column.default, Some(ColumnDefault::Identity { .. }));
    match sequence::of_column(ctx, table, column).filter(|_| has_identity) {
        Some(sequence) => {
            let option = SequenceOption::Type(ty.name());
            sequence::change_options(ctx, sequence, &[option]).await
        }
        None => Ok(()),
    }
}

/// Whether every value of `old` is stored as the same bytes as a value of `new`, in rows and in keys.
fn is_stored_alike(old: &SqlType, new: &SqlType) -> bool {
    use SqlType::{Int2, Int4, Int8, Text, Varchar};
    match (old, new) {
        (Varchar(_) | Text, Text | Varchar(None)) | (Int2, Int4 | Int8) | (Int4, Int8) => true,
        (Varchar(Some(old)), Varchar(Some(new))) => old <= new,
        (old, new) => {
            let is_same = old == new && old.declared_dimensions() == new.declared_dimensions();
            is_same || keeps_all_times(old, new)
        }
    }
}

fn default_mismatch(column: &str, ty: &SqlType) -> Error {
    Error::DatatypeMismatch {
        message: format!(
            "default for column \"{column}\" cannot be cast automatically to type {}",
            ty.full_base_name()
        ),
        hint: Some(format!(
            "Use ALTER COLUMN {column} DROP DEFAULT first, and SET DEFAULT afterwards."
        )),
    }
}
