//! SET CONSTRAINTS: when the transaction's foreign keys, deferrable unique keys and constraint triggers are asked. Those that are to be asked at once are asked of what was left so far.

use std::sync::Arc;

use sqlparser::ast::ObjectName;

use crate::catalog::{Relation, TableDef, counterpart, is_system_schema};
use crate::error::StatementFault;
use crate::parse::names;
use crate::sql::dml;
use crate::system::{Notice, StatementContext};
use crate::{Error, Result};

/// `names`: none for ALL. Errors: 42704, 42809, 3F000; 23503 of what was left.
pub(super) async fn execute(ctx: &StatementContext, names: &[ObjectName], deferred: bool) -> Result<()> {
    if !ctx.in_block {
        ctx.notice(Notice::warning(
            "25P01",
            "SET CONSTRAINTS can only be used in transaction blocks".to_string(),
        ));
    }
    let mut named = Vec::new();
    for name in names {
        named.extend(constraints(ctx, name)?);
    }
    if !ctx.in_block {
        return Ok(());
    }
    if !deferred {
        let is_wanted = |constraint: u32| names.is_empty() || named.contains(&constraint);
        dml::check_deferred(ctx, is_wanted).await?;
    }
    ctx.session.touch();
    let deferred_constraints = &ctx.session.deferred;
    match names.is_empty() {
        true => deferred_constraints.say(None, deferred),
        false => named
            .into_iter()
            .for_each(|oid| deferred_constraints.say(Some(oid), deferred)),
    }
    Ok(())
}

/// The oids of the constraints of this name: in the schema said, or in the first of the search path that has a constraint of the name.
fn constraints(ctx: &StatementContext, name: &ObjectName) -> Result<Vec<u32>> {
    let (schema, name) = names::relation_name(name)?;
    let schemas = match schema {
        Some(schema) if is_system_schema(&schema) => vec![schema],
        Some(schema) => vec![ctx.catalog.schema(&schema)?.name.clone()],
        None => ctx.settings.search_path.clone(),
    };
    let tables = |schema: &String| {
        let relations = ctx.catalog.relations.iter();
        let tables = relations.filter_map(Relation::get_table);
        let tables = tables.filter(|table| table.schema == *schema && table.has_constraint(&name));
        let tables: Vec<&Arc<TableDef>> = tables.collect();
        (!tables.is_empty()).then_some(tables)
    };
    let fault = |state, message| Error::InvalidStatement {
        state,
        message,
        hint: None,
    };
    let Some(tables) = schemas.iter().find_map(tables) else {
        let message = format!("constraint \"{name}\" does not exist");
        return Err(fault(StatementFault::UndefinedObject, message));
    };
    let named = tables
        .into_iter()
        .map(|table| deferrable_in_tree(ctx, table, &name));
    let keys: Vec<u32> = named.flatten().collect();
    match keys.is_empty() {
        true => Err(fault(
            StatementFault::WrongObjectType,
            format!("constraint \"{name}\" is not deferrable"),
        )),
        false => Ok(keys),
    }
}

/// The oid of the constraint of this name, if it is DEFERRABLE, and of those that partitions have of it, which may have other names.
fn deferrable_in_tree(ctx: &StatementContext, table: &TableDef, name: &str) -> Vec<u32> {
    let mut found: Vec<u32> = deferrable(table, name).into_iter().collect();
    for partition in ctx.catalog.partitions_of(table.oid) {
        let key = table.foreign_key(name);
        let key = key.and_then(|key| table.foreign_key_below(key, partition));
        let index = table.all_indexes().find(|index| index.name == name);
        let index = index.and_then(|index| counterpart(table, index, partition));
        let own = key.map(|key| &key.name).or(index.map(|index| &index.name));
        let own = own.map_or(name, String::as_str);
        found.extend(deferrable_in_tree(ctx, partition, own));
    }
    found
}

/// The oid of the table's constraint of this name, if it is DEFERRABLE.
fn deferrable(table: &TableDef, name: &str) -> Option<u32> {
    let key = table.foreign_key(name).filter(|key| key.deferrable);
    let unique = table.deferrable_keys().find(|(index, _)| index.name == name);
    let mut exclusions = table.exclusions();
    let exclusion = exclusions.find(|(index, exclusion)| index.name == name && exclusion.deferral.is_some());
    let index = unique
        .map(|(index, _)| index)
        .or(exclusion.map(|(index, _)| index));
    let trigger = table
        .constraint_trigger(name)
        .filter(|trigger| trigger.is_deferrable());
    key.map(|key| key.oid)
        .or(index.map(|index| index.oid))
        .or(trigger.map(|trigger| trigger.oid))
}
