//! ALTER INDEX: its name, and parameters that PostgreSQL has.

use sqlparser::ast::ObjectName;

use super::{key, storage};
use crate::catalog::{Access, CatalogWriter, Object, ObjectKind, TableDef};
use crate::parse::definition::IndexChange;
use crate::sql::relation::relation_if_exists;
use crate::system::StatementContext;
use crate::{Error, Result};

/// Runs ALTER INDEX; the constraint that the index is of, if any, has the new name too. Errors: 42P01, 42P07, 42809, 42704, 22023.
pub(super) fn execute(
    ctx: &StatementContext,
    name: &ObjectName,
    if_exists: bool,
    change: &IndexChange,
) -> Result<()> {
    let access = Access::AlterKind(ObjectKind::Index);
    let (table, index) = match relation_if_exists(ctx, name, access, if_exists)? {
        None => return Ok(()),
        Some(Object::Index(table, index)) => (table, index),
        Some(_) => return Err(Error::internal("ALTER INDEX of what is no index")),
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
