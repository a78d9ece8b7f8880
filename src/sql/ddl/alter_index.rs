//! ALTER INDEX: its name, and parameters that PostgreSQL has.

use sqlparser::ast::{Ident, ObjectName, ObjectNamePart};

use super::options::NewOption;
use super::{index_options, index_state, key, storage};
use crate::catalog::{Access, CatalogWriter, IndexDef, Object, ObjectKind, TableDef, counterpart};
use crate::error::Raised;
use crate::parse::definition::IndexChange;
use crate::parse::names;
use crate::sql::relation::{relation, relation_if_exists, table};
use crate::system::StatementContext;
use crate::{Error, Result};

/// Runs ALTER INDEX; the constraint that the index is of, if any, has the new name too. Errors: 42P01, 42P07, 42809, 42704, 22023.
pub(super) async fn execute(
    ctx: &StatementContext,
    (name, on): (&ObjectName, Option<&ObjectName>),
    if_exists: bool,
    change: &IndexChange,
) -> Result<()> {
    let access = Access::AlterKind(ObjectKind::Index);
    let on = on.map(|name| table(ctx, name, Access::CreateIndex)).transpose()?;
    let name = &name_on(name, on.as_deref());
    let (table, index) = match relation_if_exists(ctx, name, access, if_exists)? {
        None => return Ok(()),
        Some(Object::Index(table, index)) => (table, index),
        Some(_) => return Err(Error::internal("ALTER INDEX of what is no index")),
    };
    check_on(table, index, on.as_deref())?;
    match change {
        IndexChange::State { state, later } => index_state::change(ctx, table, index, (*state, *later)).await,
        IndexChange::Rename(new_name) => rename(ctx, table, index.oid, new_name),
        IndexChange::Tablespace(tablespace) => storage::check_tablespace(tablespace),
        IndexChange::Parameters(parameters) => set_options(ctx, table, index.oid, parameters),
        IndexChange::Attach(partition) => check_attached(ctx, (table, index), partition),
    }
}

/// ATTACH PARTITION: an index of a partition that is like the table's is attached to it already. Errors: 42P17 for another.
fn check_attached(
    ctx: &StatementContext,
    (table, index): (&TableDef, &IndexDef),
    partition: &ObjectName,
) -> Result<()> {
    let Object::Index(child, own) = relation(ctx, partition, Access::AlterKind(ObjectKind::Index))? else {
        return Err(Error::internal("ATTACH PARTITION of what is no index"));
    };
    let is_child = child.partition.as_ref().is_some_and(|of| of.parent == table.oid);
    let detail = match is_child {
        false => format!(
            "Index \"{}\" is not an index on any partition of table \"{}\".",
            own.name, table.name
        ),
        true if counterpart(table, index, child).is_some_and(|found| found.id == own.id) => return Ok(()),
        true => "The index definitions do not match.".to_string(),
    };
    let message = format!(
        "cannot attach index \"{}\" as a partition of index \"{}\"",
        own.name, index.name
    );
    Err(Raised {
        detail: Some(detail),
        ..Raised::new("42P17", message)
    }
    .into())
}

/// The name of an index that is said to be of a table, whose schema is its own.
pub(super) fn name_on(name: &ObjectName, on: Option<&TableDef>) -> ObjectName {
    let (Some(on), [ObjectNamePart::Identifier(only)]) = (on, name.0.as_slice()) else {
        return name.clone();
    };
    let folded = names::fold(only);
    match on.all_indexes().any(|index| index.name == folded) {
        true => ObjectName::from(vec![Ident::with_quote('"', &on.schema), only.clone()]),
        false => name.clone(),
    }
}

/// Errors: 42704 for an index that is of another table than it is said to be.
pub(super) fn check_on(table: &TableDef, index: &IndexDef, on: Option<&TableDef>) -> Result<()> {
    match on.filter(|on| on.oid != table.oid) {
        None => Ok(()),
        Some(on) => Err(Error::UndefinedObject {
            kind: "index",
            name: format!("{}\" of table \"{}", index.name, on.name),
        }),
    }
}

/// Sets or resets options. Errors: 22023, 0A000.
fn set_options(ctx: &StatementContext, table: &TableDef, oid: u32, parameters: &[NewOption]) -> Result<()> {
    let mut changed = table.clone();
    let indexes = std::iter::once(&mut changed.primary_key).chain(&mut changed.indexes);
    let mut unused = Vec::new();
    for index in indexes.filter(|candidate| candidate.oid == oid) {
        unused.extend(index_options::change(&mut index.options, parameters)?);
    }
    storage::tell(ctx, unused);
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_table(changed)?;
    Ok(())
}

/// Gives an index, and the constraint that it is of, another name. Errors: 42P07.
pub(super) fn rename(ctx: &StatementContext, table: &TableDef, oid: u32, new_name: &str) -> Result<()> {
    key::check_free(ctx, &table.schema, new_name)?;
    let mut changed = table.clone();
    let indexes = std::iter::once(&mut changed.primary_key).chain(&mut changed.indexes);
    for renamed in indexes.filter(|candidate| candidate.oid == oid) {
        renamed.name = new_name.to_string();
    }
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_table(changed)?;
    Ok(())
}
