//! ALTER PRIMARY KEY: which table it makes of one. What becomes of its rows is `rekey_build`'s, or in a block `rewrite`'s.
//!
//! A key of the same columns, in another order or spread otherwise, takes the place of the old one. A key of others leaves the old one
//! behind as a unique constraint, unless another key says as much: what refers to it goes on doing so, and no two rows may be alike in it.

use sqlparser::ast::IndexColumn;

use super::constraint::new_key;
use super::table_change::Change;
use super::{advice, notice};
use crate::catalog::{BUCKETS_MAX, IndexDef, MadeName, TableDef};
use crate::codec::row::ColumnId;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Gives a table another primary key. Errors: as PRIMARY KEY (…); 22023 for BUCKETS.
pub(super) async fn apply(
    ctx: &StatementContext,
    change: &mut Change,
    written: &[IndexColumn],
    buckets: Option<&str>,
) -> Result<()> {
    let old = change.table.clone();
    let mut table = old.clone();
    table.options.buckets = buckets.map(read_buckets).transpose()?;
    let columns = new_key(ctx, &mut table, written)?;
    let mut primary = IndexDef {
        columns,
        constraint: true,
        ..old.primary_key.clone()
    };
    primary
        .include
        .retain(|id| !primary.columns.iter().any(|part| part.column == *id));
    table.primary_key = primary;
    if is_same(&old, &table) {
        return Ok(());
    }
    if !old.has_hidden_key() && telling(&old) != telling(&table) && is_needed(ctx, &old, &table) {
        table.primary_key.oid = ctx.sequences.object_ids().take_oid().await?;
        table.primary_key.comment = None;
        table.primary_key.constraint_comment = None;
        keep_old(ctx, &old, &mut table);
    }
    advice::advise(ctx, &table)?;
    change.table = table;
    change.beside = true;
    change.rewrite.get_or_insert_default().rekeyed = true;
    Ok(())
}

/// Errors: 22023.
fn read_buckets(value: &str) -> Result<u16> {
    let count = value
        .parse()
        .ok()
        .filter(|count| (2..=BUCKETS_MAX).contains(count));
    count.ok_or_else(|| Error::InvalidParameter {
        message: format!("invalid value for BUCKETS: {value}"),
        hint: Some(format!("Available values: 2 to {BUCKETS_MAX}.")),
    })
}

/// Whether the keys sort rows alike.
fn is_same(old: &TableDef, new: &TableDef) -> bool {
    let parts = |table: &TableDef| {
        let parts = table.primary_key.columns.iter().map(|part| {
            let at = table.column_index_by_id(part.column);
            let column = at.map(|at| &table.columns[at]);
            let hidden = column.filter(|column| column.hidden);
            let computed = hidden.map(|column| column.generation().map(|generation| generation.sql.clone()));
            let id = if computed.is_some() { 0 } else { part.column };
            (id, computed, part.descending, part.nulls_first)
        });
        parts.collect::<Vec<_>>()
    };
    parts(old) == parts(new) && !old.has_hidden_key()
}

/// Whether the old key says what no other says: foreign keys refer to it, or no key of the new table is over some of its columns alone.
fn is_needed(ctx: &StatementContext, old: &TableDef, new: &TableDef) -> bool {
    let mut references = ctx.catalog.references_to(old.oid);
    if references.any(|(_, key)| key.key == old.primary_key.oid) {
        return true;
    }
    let of_old = telling(old);
    let is_part = |columns: Vec<ColumnId>| columns.iter().all(|id| of_old.contains(id));
    let unique = new
        .indexes
        .iter()
        .filter(|index| index.unique && index.is_plain() && index.is_complete());
    let unique = unique.map(|index| index.columns.iter().map(|part| part.column).collect());
    !std::iter::once(telling(new)).chain(unique).any(is_part)
}

/// The columns that tell rows apart, sorted.
fn telling(table: &TableDef) -> Vec<ColumnId> {
    let columns = table.telling_key_columns().into_iter();
    let mut ids: Vec<ColumnId> = columns.map(|at| table.columns[at].id).collect();
    ids.sort_unstable();
    ids
}

/// The old key stays as a unique constraint, under its oid, to which foreign keys refer.
fn keep_old(ctx: &StatementContext, old: &TableDef, table: &mut TableDef) {
    let telling = telling(old);
    let columns = old.primary_key.columns.iter();
    let columns: Vec<_> = columns
        .filter(|part| telling.contains(&part.column))
        .cloned()
        .collect();
    let ids = columns.iter().map(|part| part.column);
    let base = MadeName::of_column_ids(&table.name, ids, &old.columns, "key");
    let name = base.free_in(&ctx.catalog, &table.schema, &[]);
    let message = format!(
        "the old primary key of \"{}\" stays as unique constraint \"{name}\"",
        table.name
    );
    let hint = format!(
        "ALTER TABLE {} DROP CONSTRAINT {name} removes it, if nothing refers to it.",
        table.name
    );
    notice(ctx, "00000", message, Some(hint));
    let kept = IndexDef {
        id: table.next_index_id,
        name,
        columns,
        include: Vec::new(),
        ..old.primary_key.clone()
    };
    table.next_index_id += 1;
    table.indexes.push(kept);
}
