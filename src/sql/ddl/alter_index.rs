//! ALTER INDEX … RENAME TO.

use sqlparser::ast::{AlterIndexOperation, ObjectName};

use super::key;
use crate::catalog::{CatalogWriter, TableDef};
use crate::exec::StatementContext;
use crate::parse::names;
use crate::{Error, Result};

/// Runs ALTER INDEX; the constraint that the index is of, if any, has the new name too. Errors: 42P01, 42P07.
pub(super) fn execute(
    ctx: &StatementContext,
    name: &ObjectName,
    operation: &AlterIndexOperation,
) -> Result<String> {
    let AlterIndexOperation::RenameIndex { index_name } = operation;
    let (schema, name) = names::relation_name(name)?;
    let path = &ctx.settings.search_path;
    let Some((table, index)) = ctx.catalog.get_index(schema.as_deref(), &name, path) else {
        let relation = ctx.catalog.relation(schema.as_deref(), &name, path)?;
        return Err(Error::WrongObjectType {
            name: relation.name().to_string(),
            expected: "index",
            hint: None,
        });
    };
    let (_, new_name) = names::relation_name(index_name)?;
    key::check_free(ctx, &table.schema, &new_name)?;
    let mut changed = TableDef::clone(table);
    let indexes = std::iter::once(&mut changed.primary_key).chain(&mut changed.indexes);
    for renamed in indexes.filter(|candidate| candidate.oid == index.oid) {
        renamed.name.clone_from(&new_name);
    }
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_table(changed)?;
    Ok("ALTER INDEX".to_string())
}
