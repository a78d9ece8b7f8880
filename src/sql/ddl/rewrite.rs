//! Changes of a table that change what is stored of its rows: another primary key, another type of a column. The rows are
//! read as they are and written anew under a new id, entries of indexes with them; the old keys are left to be removed.
//!
//! All in the statement's transaction, so that the change is visible whole or not at all, in a block as outside of one. What
//! others write meanwhile is never lost: the old record goes, which every write guards, and the statement guards the table's
//! `Written` mark (`catalog`). So of a writer and the rewrite the second to commit conflicts, and runs again outside a block.

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlparser::ast::{Expr, Ident};

use super::{versions, view_text};
use crate::catalog::{CatalogWriter, ColumnDef, TableDef, written_key};
use crate::codec::row::ColumnId;
use crate::parse::Hints;
use crate::parse::quoting::quote_ident;
use crate::query::{self, Others, TargetRows};
use crate::sql::dml;
use crate::system::StatementContext;
use crate::table::{begin_count, carry_times, carry_versions, keep_rows_that_are_over};
use crate::types::{PackedKind, SqlType};
use crate::{Error, Result};

/// How the rows are to be read, beside that they are.
#[derive(Debug, Default)]
pub(super) struct Rewrite {
    /// The columns of another type, with the expressions of USING.
    pub(super) retyped: BTreeMap<ColumnId, Option<Expr>>,
    /// The primary key is another.
    pub(super) rekeyed: bool,
}

impl Rewrite {
    /// Whether a column of the primary key gets other values, or one that such a column is computed of.
    fn retypes_key(&self, old: &TableDef) -> bool {
        let generations = old.generations();
        let of_key = generations.filter(|(at, _)| old.is_key_column(old.columns[*at].id));
        let mut inputs = of_key.flat_map(|(_, generation)| generation.inputs.iter());
        let is_retyped = |id: &ColumnId| self.retyped.contains_key(id);
        inputs.any(is_retyped) || self.retyped.keys().any(|id| old.is_key_column(*id))
    }
}

/// Gives the table its new definition and its rows. Errors: 23502 and 23505 for rows that the new key cannot hold, 42804 for a
/// type that does not become another by itself, those of the expressions; 54000 for more than a transaction may write.
pub(super) async fn run(
    ctx: &StatementContext,
    old: &TableDef,
    new: TableDef,
    rewrite: &Rewrite,
) -> Result<()> {
    versions::check_rewrite(old, &new)?;
    ctx.txn.guard(&written_key(old.id));
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    let id = ctx.sequences.object_ids().take().await?;
    view_text::follow(ctx, &writer, old, &new)?;
    let new = writer.replace_table(old, TableDef { id, ..new })?;
    ctx.sequences.move_row_ids(&ctx.txn, old, &new, false).await?;
    begin_count(&ctx.txn, &new)?;
    let (mut expressions, mut positions) = (Vec::new(), Vec::new());
    for (position, column) in new.columns.iter().enumerate() {
        let stored = old.column_index_by_id(column.id).map(|at| &old.columns[at]);
        let Some(stored) = stored.filter(|_| !column.hidden && column.generation().is_none()) else {
            continue;
        };
        positions.push(position);
        expressions.push(read_as(stored, column, rewrite)?);
    }
    // The statement asks for every row: nobody need allow that.
    let reading = StatementContext {
        hints: Hints {
            allow_filtering: true,
            ..ctx.hints.clone()
        },
        ..ctx.clone()
    };
    let rows = TargetRows {
        after: None,
        table: &Arc::new(old.clone()),
        alias: None,
        columns: &[],
        expressions: &expressions.iter().collect::<Vec<_>>(),
        others: Others::From(&[]),
        selection: None,
        beside: false,
    };
    let planned = query::plan_target_rows(&reading, rows, &mut Vec::new())?.query;
    for (position, output) in positions.iter().zip(&planned.columns) {
        let column = &new.columns[*position];
        if let Some(using) = rewrite.retyped.get(&column.id)
            && !becomes(&output.ty, &column.ty)
        {
            return Err(not_automatic(&column.name, &column.ty, using.is_some()));
        }
    }
    let is_as_stored = rewrite.retyped.values().all(Option::is_none);
    let copied = dml::copy_rows(&reading, &new, &planned, &positions, is_as_stored).await;
    copied.map_err(|error| as_definition_error(error, rewrite))?;
    let written = (expressions.as_slice(), positions.as_slice());
    let copied = carry(&reading, old, &new, rewrite, written).await;
    copied.map_err(|error| as_definition_error(error, rewrite))
}

/// Gives the rows that were written anew the times and older versions that they had.
async fn carry(
    ctx: &StatementContext,
    old: &TableDef,
    new: &TableDef,
    rewrite: &Rewrite,
    written: (&[Expr], &[usize]),
) -> Result<()> {
    if !old.keeps_versions() || !new.keeps_versions() {
        return carry_times(&ctx.txn, old, new).await;
    }
    keep_rows_that_are_over(&ctx.txn, old).await?;
    if rewrite.rekeyed || rewrite.retypes_key(old) || old.has_hidden_key() {
        return dml::rekey_versions(ctx, &Arc::new(old.clone()), new, written).await;
    }
    carry_times(&ctx.txn, old, new).await?;
    let computes_more = new.generations().any(|(at, _)| {
        let column = &new.columns[at];
        !column.hidden && old.column_index_by_id(column.id).is_none()
    });
    match rewrite.retyped.is_empty() && !computes_more {
        true => carry_versions(&ctx.txn, old, new).await,
        false => dml::copy_versions(ctx, &Arc::new(old.clone()), new, written).await,
    }
}

/// What a column's new value is computed of. Errors: none but of a bug.
fn read_as(column: &ColumnDef, new: &ColumnDef, rewrite: &Rewrite) -> Result<Expr> {
    match rewrite.retyped.get(&column.id) {
        Some(Some(using)) => Ok(using.clone()),
        // What is assigned is the number; as text an object has its name.
        Some(None) if column.ty.names_objects() && new.ty.innermost().is_string() => {
            let name = quote_ident(&column.name);
            dml::parse_expression(&format!("CAST({name} AS {})", new.ty.name()))
        }
        _ => Ok(Expr::Identifier(Ident::with_quote('"', &column.name))),
    }
}

/// Whether PostgreSQL converts a value of one type to another without being told to, as an assignment does.
pub(super) fn becomes(from: &SqlType, to: &SqlType) -> bool {
    use SqlType::{
        Date, Int2, Int4, Int8, Interval, Json, Jsonb, Money, Multirange, Numeric, Oid, Packed, Range, Time,
        Timestamp, TimestampTz, Unknown,
    };
    let is_time_tz = |ty: &SqlType| matches!(ty, Packed(PackedKind::TimeTz(_)));
    let is_same = match (from, to) {
        (SqlType::Array(from), SqlType::Array(to)) => becomes(from, to),
        (SqlType::Enum(_) | Range(_) | Multirange(_), _) => from == to,
        (Packed(from), Packed(to)) => from.is_like(*to),
        _ => std::mem::discriminant(from) == std::mem::discriminant(to),
    };
    let is_number =
        |ty: &SqlType| ty.is_integer() || matches!(ty, SqlType::Float4 | SqlType::Float8 | Numeric(_));
    is_same
        || to.is_string()
        || from.is_bits() && to.is_bits()
        || is_number(from) && is_number(to)
        || to.names_objects() && matches!(from, Int2 | Int4 | Int8 | Oid)
        || from.names_objects() && matches!(to, Int4 | Int8 | Oid)
        || is_time_tz(to) && matches!(from, Time(_))
        || is_time_tz(from) && matches!(to, Time(_))
        || matches!(
            (from, to),
            (Unknown, _)
                | (Date, Timestamp(_) | TimestampTz(_))
                | (Timestamp(_), Date | Time(_) | TimestampTz(_))
                | (TimestampTz(_), Date | Time(_) | Timestamp(_))
                | (Time(_), Interval(_))
                | (Interval(_), Time(_))
                | (Json, Jsonb)
                | (Jsonb, Json)
                | (Int4 | Int8 | Numeric(_), Money)
                | (Money, Numeric(_))
                | (Int2 | Int4 | Int8, Oid)
                | (Oid, Int4 | Int8)
        )
}

/// 42804.
pub(super) fn not_automatic(name: &str, ty: &SqlType, has_using: bool) -> Error {
    let base = ty.full_base_name();
    match has_using {
        true => Error::DatatypeMismatch {
            message: format!(
                "result of USING clause for column \"{name}\" cannot be cast automatically to type {base}"
            ),
            hint: Some("You might need to add an explicit cast.".to_string()),
        },
        false => Error::DatatypeMismatch {
            message: format!("column \"{name}\" cannot be cast automatically to type {base}"),
            hint: Some(format!(
                "You might need to specify \"USING {}::{}\".",
                quote_ident(name),
                ty
            )),
        },
    }
}

/// Rows that the new definition cannot hold were there before it: PostgreSQL finds them while it builds the index.
fn as_definition_error(error: Error, rewrite: &Rewrite) -> Error {
    match as_duplicate_in_index(error) {
        error @ Error::NotNullViolation { .. } if rewrite.rekeyed || !rewrite.retyped.is_empty() => {
            as_null_of_before(error)
        }
        Error::CheckViolation {
            schema,
            table,
            constraint,
            ..
        } => Error::CheckViolated {
            schema,
            table,
            constraint,
        },
        error => error,
    }
}

/// NULL where none may be, as who finds it in a row that was there before tells it.
pub(super) fn as_null_of_before(error: Error) -> Error {
    match error {
        Error::NotNullViolation {
            schema,
            table,
            column,
            ..
        } => Error::ContainsNull {
            schema,
            table,
            column,
        },
        error => error,
    }
}

/// What a unique index cannot hold, as who builds the index tells it.
pub(super) fn as_duplicate_in_index(error: Error) -> Error {
    match error {
        Error::UniqueViolation {
            schema,
            table,
            constraint,
            key,
        } => Error::DuplicateInIndex {
            schema,
            table,
            index: constraint,
            key,
        },
        error => error,
    }
}
