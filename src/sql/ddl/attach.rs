//! ATTACH PARTITION and DETACH PARTITION. A table that becomes a partition has then what its parent has: checks it must have, indexes, foreign
//! keys and triggers it gets.

use std::sync::Arc;

use sqlparser::ast::{ForValues, ForeignKeyConstraint, ObjectName, Spanned, TableConstraint};

use super::declared_keys::declared;
use super::partition_index::Owed;
use super::partition_of::{default_partition, partition_of, settle_new};
use super::{partition_bound, partition_key, partition_triggers, transition_names, verification};
use crate::catalog::{Access, CatalogWriter, TableDef};
use crate::error::Raised;
use crate::parse::{names, text_place};
use crate::sql::dml;
use crate::sql::relation::table;
use crate::store::LockMode;
use crate::system::StatementContext;
use crate::{Error, Result};

/// ATTACH PARTITION; answers the partition, and what it is to get of its parent's. Errors: 42809, 42P17, 42804 for a table that is not as its parent is, 23514 for rows that are not within the bound.
pub(super) async fn attach(
    ctx: &StatementContext,
    parent: &Arc<TableDef>,
    (name, bound): (&ObjectName, &ForValues),
) -> Result<(Arc<TableDef>, Owed)> {
    require_partitioned(parent)?;
    let child = table(ctx, name, Access::Alter)?;
    check_attachable(ctx, parent, &child)?;
    let place = bound.span();
    let read = Box::pin(partition_bound::read(ctx, parent, &child.name, bound)).await;
    let bound = text_place::at_span(read, place)?;
    text_place::at_span(
        partition_bound::check_free(ctx, parent, &child.name, &bound),
        place,
    )?;
    for table in ctx.tree_of(&child)? {
        verification::shut_writers_out(ctx, &table, LockMode::ShareRowExclusive).await?;
    }
    let mut changed = TableDef::clone(&child);
    changed.partition = Some(partition_of(parent, &child.columns, bound)?);
    transition_names::check_none_of_partition(&changed)?;
    partition_triggers::take_of_parent(ctx, parent, &mut changed).await?;
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    let attached = writer.put_table(changed)?;
    partition_triggers::give_to_partitions(ctx, &writer, (&child, &attached)).await?;
    let now = ctx.clone().seeing_definitions().await?;
    let message = format!(
        "partition constraint of relation \"{}\" is violated by some row",
        child.name
    );
    for table in now.tree_of(&attached)? {
        if table.oid != attached.oid {
            // Who writes rows there by an older definition knows of no bound.
            writer.put_table_in(TableDef::clone(&table), LockMode::ShareRowExclusive)?;
        }
        if table.partitioning.is_none() {
            dml::verify_partition(&now, (parent, child.oid), &table, message.clone()).await?;
        }
    }
    settle_new(ctx, &writer, (parent, LockMode::ShareUpdateExclusive), &attached).await?;
    let mut owed = Owed::indexes(parent, &attached)?;
    let keys = declared(ctx, parent).into_iter();
    let own = declared(ctx, &attached);
    let own: Vec<_> = own.into_iter().map(without_name).collect();
    let is_missing = |key: &ForeignKeyConstraint| {
        let name = key.name.as_ref().map(names::fold);
        let is_named = name.is_some_and(|name| attached.has_constraint(&name));
        !is_named && !own.contains(&without_name(key.clone()))
    };
    owed.constraints
        .extend(keys.filter(is_missing).map(TableConstraint::ForeignKey));
    Ok((attached, owed))
}

/// What a foreign key says, under whatever name.
fn without_name(key: ForeignKeyConstraint) -> ForeignKeyConstraint {
    ForeignKeyConstraint { name: None, ..key }
}

/// DETACH PARTITION. Errors: 42P01 for a table that is no partition of this one, 23503 for one to whose rows others refer.
pub(super) async fn detach(
    ctx: &StatementContext,
    parent: &TableDef,
    name: &ObjectName,
    (concurrently, finalizes): (bool, bool),
) -> Result<()> {
    if concurrently && ctx.in_block {
        return Err(Error::TransactionState {
            state: "25001",
            message: "ALTER TABLE ... DETACH CONCURRENTLY cannot run inside a transaction block".to_string(),
        });
    }
    require_partitioned(parent)?;
    let child = table(ctx, name, Access::Alter)?;
    if child.partition.as_ref().is_none_or(|of| of.parent != parent.oid) {
        let message = format!(
            "relation \"{}\" is not a partition of relation \"{}\"",
            child.name, parent.name
        );
        return Err(Raised::new("42P01", message).into());
    }
    if finalizes {
        // None is ever half detached.
        let message = format!(
            "partition \"{}\" in partitioned table \"{}\" is not being detached",
            child.name, parent.name
        );
        return Err(Raised::new("55000", message).into());
    }
    if concurrently && default_partition(ctx, parent).is_some() {
        let message = "cannot detach partitions concurrently when a default partition exists";
        return Err(Raised::new("55000", message).into());
    }
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    let mut changed = TableDef::clone(&child);
    changed.partition = None;
    partition_triggers::leave_to_parent(ctx, &writer, parent, changed)?;
    writer.put_table(parent.clone())?;
    check_unreferred(ctx, &writer, parent, &child.name).await
}

/// That no rows refer to those of a partition that was removed. Errors: 23503.
async fn check_unreferred(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    parent: &TableDef,
    removed: &str,
) -> Result<()> {
    let now = ctx.clone().seeing_definitions().await?;
    let references = now.catalog.references_to_rows_of(parent).into_iter();
    // Those of partitions are of their rows.
    for (by, key) in references.filter(|(by, _)| by.partitioning.is_none()) {
        verification::shut_writers_out(ctx, by, LockMode::ShareRowExclusive).await?;
        // Who writes a row by an older definition takes what was removed for what it refers to.
        writer.put_table_in(TableDef::clone(by), LockMode::ShareRowExclusive)?;
        dml::verify_without_partition(&now, by, key, removed).await?;
    }
    Ok(())
}

/// Errors: 42P17.
fn require_partitioned(parent: &TableDef) -> Result<()> {
    match parent.partitioning {
        Some(_) => Ok(()),
        None => {
            let message = format!("table \"{}\" is not partitioned", parent.name);
            Err(Raised::new("42P17", message).into())
        }
    }
}

/// Errors: 42809 for what is a partition already, 42P07 for a table below which the other stands, 42P16 for one that lasts otherwise, 42804 for
/// other columns and constraints.
fn check_attachable(ctx: &StatementContext, parent: &TableDef, child: &TableDef) -> Result<()> {
    let (of, name) = (&parent.name, &child.name);
    if child.partition.is_some() {
        return Err(Raised::new("42809", format!("\"{name}\" is already a partition")).into());
    }
    let mut above = Some(parent);
    while let Some(table) = above {
        if table.oid == child.oid {
            return Err(Raised {
                detail: Some(format!("\"{of}\" is already a child of \"{name}\".")),
                ..Raised::new("42P07", "circular inheritance not allowed")
            }
            .into());
        }
        above = ctx.catalog.parent_of(table).map(Arc::as_ref);
    }
    if parent.is_temporary() != child.is_temporary() {
        let (what, whose) = match parent.is_temporary() {
            true => ("a permanent", "temporary"),
            false => ("a temporary", "permanent"),
        };
        let message = format!("cannot attach {what} relation as partition of {whose} relation \"{of}\"");
        return Err(Raised::new("42809", message).into());
    }
    partition_key::check_columns_stay(child)?;
    check_columns(parent, child)?;
    for check in parent.checks.iter().filter(|check| !check.no_inherit) {
        match child.check(&check.name) {
            Some(own) if own.sql == check.sql => {}
            Some(_) => {
                let message = format!(
                    "child table \"{name}\" has different definition for check constraint \"{}\"",
                    check.name
                );
                return Err(Raised::new("42804", message).into());
            }
            None => {
                let message = format!("child table is missing constraint \"{}\"", check.name);
                return Err(Raised::new("42804", message).into());
            }
        }
    }
    Ok(())
}

fn check_columns(parent: &TableDef, child: &TableDef) -> Result<()> {
    let wrong = |message: String| -> Result<()> { Err(Raised::new("42804", message).into()) };
    if let Some(more) = child
        .visible_columns()
        .find(|column| !parent.has_column_named(&column.name))
    {
        return Err(Raised {
            detail: Some("The new partition may contain only the columns present in parent.".to_string()),
            ..Raised::new(
                "42804",
                format!(
                    "table \"{}\" contains column \"{}\" not found in parent \"{}\"",
                    child.name, more.name, parent.name
                ),
            )
        }
        .into());
    }
    for column in parent.visible_columns() {
        let name = &column.name;
        let Some(own) = child.visible_columns().find(|own| own.name == *name) else {
            return wrong(format!("child table is missing column \"{name}\""));
        };
        if own.ty != column.ty {
            let of = &child.name;
            return wrong(format!(
                "child table \"{of}\" has different type for column \"{name}\""
            ));
        }
        if column.not_null && !own.not_null && !parent.is_key_column(column.id) {
            return wrong(format!(
                "column \"{name}\" in child table must be marked NOT NULL"
            ));
        }
        if column.generation().is_some() != own.generation().is_some() {
            return wrong(match column.generation() {
                Some(_) => format!("column \"{name}\" in child table must be a generated column"),
                None => format!("column \"{name}\" in child table must not be a generated column"),
            });
        }
    }
    Ok(())
}
