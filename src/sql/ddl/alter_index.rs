//! ALTER INDEX: its name, and parameters that PostgreSQL has.

use sqlparser::ast::ObjectName;

use super::{key, notice, storage};
use crate::catalog::{CatalogWriter, TableDef};
use crate::parse::definition::IndexChange;
use crate::parse::names;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Runs ALTER INDEX; the constraint that the index is of, if any, has the new name too. Errors: 42P01, 42P07, 42809, 42704, 22023.
pub(super) fn execute(
    ctx: &StatementContext,
    name: &ObjectName,
    if_exists: bool,
    change: &IndexChange,
) -> Result<()> {
    let (schema, name) = names::relation_name(name)?;
    let path = &ctx.settings.search_path;
    let Some((table, index)) = ctx.catalog.get_index(schema.as_deref(), &name, path) else {
        if if_exists && ctx.catalog.get_relation(schema.as_deref(), &name, path).is_none() {
            let message = format!("relation \"{name}\" does not exist, skipping");
            notice(ctx, "00000", message, None);
            return Ok(());
        }
        let relation = ctx.catalog.relation(schema.as_deref(), &name, path)?;
        return Err(Error::WrongObjectType {
            name: relation.name().to_string(),
            expected: "index",
            hint: None,
        });
    };
    match change {
        IndexChange::Rename(new_name) => rename(ctx, table, index.oid, new_name),
        IndexChange::Tablespace(tablespace) => storage::check_tablespace(tablespace),
        IndexChange::Parameters(parameters) => {
            for (name, value) in parameters {
                storage::check_index_parameter(name, value.as_deref())?;
            }
            let set = parameters.iter().filter(|(_, value)| value.is_some());
            storage::tell(ctx, set.map(|(name, _)| name.clone()).collect());
            Ok(())
        }
    }
}

fn rename(ctx: &StatementContext, table: &TableDef, oid: u32, new_name: &str) -> Result<()> {
    key::check_free(ctx, &table.schema, new_name)?;
    let mut changed = table.clone();
    let indexes = std::iter::once(&mut changed.primary_key).chain(&mut changed.indexes);
    for renamed in indexes.filter(|candidate| candidate.oid == oid) {
        renamed.name = new_name.to_string();
    }
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_table(changed)?;
    Ok(())
}
