//! What went with a dropped table by CASCADE and comes back with it: foreign keys of other tables, and views. Called by `undrop` once the
//! table is there again; what cannot be again is a WARNING, and no error.

use std::sync::Arc;

use super::{foreign_key, verification};
use crate::catalog::{CatalogWriter, ForeignKey, TableDef, TrashedTable, ViewDef};
use crate::parse::parse_query;
use crate::parse::quoting::quote_ident;
use crate::query;
use crate::sql::dml;
use crate::store::LockMode;
use crate::system::{Notice, StatementContext};
use crate::{Error, Result};

/// Restores what a table was dropped with. `keeps_name`: it is called as it was, which views call it.
pub(super) async fn restore(ctx: &StatementContext, trashed: &TrashedTable, keeps_name: bool) -> Result<()> {
    for (by, key) in &trashed.dependents.foreign_keys {
        restore_foreign_key(ctx, *by, key).await?;
    }
    let mut left: Vec<&ViewDef> = trashed.dependents.views.iter().collect();
    while keeps_name && !left.is_empty() {
        let now = ctx.clone().seeing_definitions().await?;
        // Some are read by others.
        let is_there = |oid: &u32| {
            now.catalog
                .relations
                .iter()
                .any(|relation| relation.oid() == *oid)
        };
        let next = left.iter().position(|view| view.depends_on.iter().all(is_there));
        let Some(next) = next else { break };
        let view = left.remove(next);
        if let Err(why) = restore_view(&now, view).await? {
            warn(ctx, format!("view \"{}\" is not restored", view.name), &why);
        }
    }
    for view in left {
        let why = match keeps_name {
            true => "What it reads does not exist any more.",
            false => "It reads the table by another name.",
        };
        warn(ctx, format!("view \"{}\" is not restored", view.name), why);
    }
    Ok(())
}

/// Gives another table its foreign key back; NOT VALID where rows refer to none by now.
async fn restore_foreign_key(ctx: &StatementContext, by: u32, key: &ForeignKey) -> Result<()> {
    let now = ctx.clone().seeing_definitions().await?;
    let Some(table) = now.catalog.table_by_oid(by) else {
        return Ok(());
    };
    let referenced = now.catalog.table_by_oid(key.table);
    let has_columns = key
        .columns
        .iter()
        .all(|id| table.column_index_by_id(*id).is_some());
    let of = referenced.filter(|referenced| referenced.all_indexes().any(|index| index.oid == key.key));
    let types_fit = of.is_some_and(|of| {
        let sides = ((&**table, &*key.columns), (&**of, &*key.referenced));
        foreign_key::check_comparable(&key.name, sides.0, sides.1).is_ok()
    });
    let is_named = table.foreign_keys.iter().any(|known| known.name == key.name)
        || table.checks.iter().any(|check| check.name == key.name);
    let message = |what: &str| {
        format!(
            "foreign key \"{}\" of table \"{}\" is {what}",
            key.name, table.name
        )
    };
    if !has_columns || !types_fit || is_named {
        warn(ctx, message("not restored"), "The table was altered since.");
        return Ok(());
    }
    verification::shut_writers_out(&now, table, LockMode::ShareRowExclusive).await?;
    let mut changed = TableDef::clone(table);
    let mut key = key.clone();
    if !key.not_valid {
        key.not_valid = match dml::verify_foreign_key(&now, &Arc::new(changed.clone()), &key).await {
            Ok(()) => false,
            Err(Error::ForeignKeyViolation { .. }) => {
                warn(
                    ctx,
                    message("restored NOT VALID"),
                    "Rows refer to what does not exist any more.",
                );
                true
            }
            Err(error) => return Err(error),
        };
    }
    changed.foreign_keys.push(key);
    let writer = CatalogWriter::begin(&now.txn, &now.catalog)?;
    foreign_key::touch_referenced(&now, &writer, &changed, &changed.foreign_keys)?;
    writer.put_table(changed).map(drop)
}

/// Makes a view again; why not, where it cannot be.
async fn restore_view(ctx: &StatementContext, view: &ViewDef) -> Result<Result<(), String>> {
    if ctx.catalog.schema(&view.schema).is_err() {
        return Ok(Err(format!(
            "Schema \"{}\" does not exist any more.",
            view.schema
        )));
    }
    if ctx.catalog.is_name_taken(&view.schema, &view.name) {
        return Ok(Err("Its name is taken.".to_string()));
    }
    let savepoint = ctx.txn.savepoint();
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    writer.put_view(view)?;
    let now = ctx.clone().seeing_definitions().await?;
    let all = format!(
        "SELECT * FROM {}.{}",
        quote_ident(&view.schema),
        quote_ident(&view.name)
    );
    let all = parse_query(&all).map_err(|error| Error::internal(error.to_string()));
    let bound = all.and_then(|all| query::plan_query(&now, &all, &[]));
    Ok(bound.map(drop).map_err(|error| {
        ctx.txn.rollback_to(savepoint);
        format!("It cannot be read any more: {error}.")
    }))
}

/// A WARNING about what does not come back as it was.
pub(super) fn warn(ctx: &StatementContext, message: String, detail: &str) {
    ctx.notice(Notice {
        detail: Some(detail.to_string()),
        ..Notice::warning("01000", message)
    });
}
