//! DROP TABLE, VIEW, INDEX and SCHEMA, with CASCADE to the views that read what goes.

use std::collections::{BTreeMap, BTreeSet};

use sqlparser::ast::{ObjectName, ObjectType, Statement};

use super::notice;
use crate::catalog::{
    Access, BUILTIN_SCHEMAS, CatalogWriter, ColumnDef, IndexDef, Object, ObjectKind, Relation, RelationName,
    TableDef, sequence_name,
};
use crate::codec::keyspace::{IndexId, TableId};
use crate::error::StatementFault;
use crate::parse::names;
use crate::sql::relation::{relation_if_exists, table};
use crate::system::StatementContext;
use crate::{Error, Result};

/// Runs DROP.
pub(super) async fn execute(ctx: &StatementContext, statement: &Statement) -> Result<String> {
    let Statement::Drop {
        object_type,
        if_exists,
        names,
        cascade,
        table,
        ..
    } = statement
    else {
        return Err(Error::internal("not a DROP"));
    };
    match object_type {
        ObjectType::Table | ObjectType::View => {
            let kind = match object_type {
                ObjectType::Table => ObjectKind::Table,
                _ => ObjectKind::View,
            };
            drop_relations(ctx, kind, names, *if_exists, *cascade)?;
            Ok(format!("DROP {object_type}"))
        }
        ObjectType::Index => {
            drop_indexes(ctx, names, table.as_ref(), *if_exists)?;
            Ok("DROP INDEX".to_string())
        }
        ObjectType::Schema => {
            drop_schemas(ctx, names, *if_exists, *cascade)?;
            Ok("DROP SCHEMA".to_string())
        }
        ObjectType::Sequence => {
            for name in names {
                let found = relation_if_exists(ctx, name, Access::Drop(ObjectKind::Sequence), *if_exists)?;
                if let Some(Object::Sequence(table, column)) = found {
                    return Err(needed_sequence(table, column));
                }
            }
            Ok("DROP SEQUENCE".to_string())
        }
        other if *if_exists => {
            // Nothing of the kind exists here.
            for name in names {
                let kind = other.to_string().to_lowercase();
                notice(
                    ctx,
                    "00000",
                    format!("{kind} \"{name}\" does not exist, skipping"),
                    None,
                );
            }
            Ok(format!("DROP {other}"))
        }
        other => Err(Error::unsupported(format!("DROP {other}"), None)),
    }
}

fn drop_relations(
    ctx: &StatementContext,
    kind: ObjectKind,
    names: &[ObjectName],
    if_exists: bool,
    cascade: bool,
) -> Result<()> {
    let mut dropped: Vec<&Relation> = Vec::with_capacity(names.len());
    for name in names {
        let Some(object) = relation_if_exists(ctx, name, Access::Drop(kind), if_exists)? else {
            continue;
        };
        let relation = ctx.catalog.stored(object)?;
        if !dropped.iter().any(|known| known.oid() == relation.oid()) {
            dropped.push(relation);
        }
    }
    if dropped.is_empty() {
        return Ok(());
    }
    let dependents = dependents_of(ctx, &dropped);
    if !dependents.is_empty() {
        check_cascade(ctx, &object_of(ctx, &dropped), &dependents, cascade)?;
    }
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    dropped.extend(dependents.iter().map(|(view, _)| *view));
    dropped
        .into_iter()
        .try_for_each(|relation| drop_one(&writer, relation))
}

fn drop_one(writer: &CatalogWriter<'_>, relation: &Relation) -> Result<()> {
    match relation {
        Relation::Table(table) => writer.drop_table(table),
        Relation::View(view) => writer.drop_view(view),
    }
}

/// Views that read the relations, or read such views, with what each reads; the relations themselves left out.
fn dependents_of<'a>(
    ctx: &'a StatementContext,
    dropped: &[&'a Relation],
) -> Vec<(&'a Relation, &'a Relation)> {
    let mut gone: BTreeSet<u32> = dropped.iter().map(|relation| relation.oid()).collect();
    let mut queue = dropped.to_vec();
    let mut dependents = Vec::new();
    while let Some(read) = queue.pop() {
        for view in ctx.catalog.relations.iter() {
            let Relation::View(def) = view else { continue };
            if def.depends_on.contains(&read.oid()) && gone.insert(def.oid()) {
                dependents.push((view, read));
                queue.push(view);
            }
        }
    }
    dependents
}

/// Without CASCADE dependents are an error, with it a NOTICE.
fn check_cascade(
    ctx: &StatementContext,
    object: &str,
    dependents: &[(&Relation, &Relation)],
    cascade: bool,
) -> Result<()> {
    if !cascade {
        let lines = dependents
            .iter()
            .map(|(view, read)| format!("{} depends on {}", described(ctx, view), described(ctx, read)));
        return Err(Error::DependentObjects {
            object: object.to_string(),
            dependents: lines.collect(),
        });
    }
    let views: Vec<_> = dependents.iter().map(|(view, _)| *view).collect();
    notice_cascade(ctx, &views);
    Ok(())
}

fn notice_cascade(ctx: &StatementContext, relations: &[&Relation]) {
    match relations {
        [] => {}
        [relation] => notice(
            ctx,
            "00000",
            format!("drop cascades to {}", described(ctx, relation)),
            None,
        ),
        relations => {
            let names: Vec<_> = relations
                .iter()
                .map(|relation| described(ctx, relation))
                .collect();
            let message = format!(
                "drop cascades to {} other objects: {}",
                relations.len(),
                names.join(", ")
            );
            notice(ctx, "00000", message, None);
        }
    }
}

/// `table t`, `view s.v`: the schema only when the name alone means something else.
fn described(ctx: &StatementContext, relation: &Relation) -> String {
    let kind = match relation {
        Relation::Table(_) => "table",
        Relation::View(_) => "view",
    };
    let name = RelationName::searched(relation.name(), &ctx.settings.search_path);
    let seen = ctx.catalog.get_relation(name, Access::Name);
    if seen.is_ok_and(|seen| seen.is_some_and(|seen| seen.oid() == Some(relation.oid()))) {
        return format!("{kind} {}", relation.name());
    }
    format!("{kind} {}.{}", relation.schema(), relation.name())
}

fn object_of(ctx: &StatementContext, dropped: &[&Relation]) -> String {
    match dropped {
        [only] => described(ctx, only),
        _ => "desired object(s)".to_string(),
    }
}

/// The sequence of a column goes with the column. Errors: 2BP01.
fn needed_sequence(table: &TableDef, column: &ColumnDef) -> Error {
    let sequence = sequence_name(&table.name, &column.name);
    Error::DependentObjects {
        dependents: vec![format!(
            "default value for column {} of table {} depends on sequence {sequence}",
            column.name, table.name
        )],
        object: format!("sequence {sequence}"),
    }
}

/// `on`: the table that the indexes are said to be of.
fn drop_indexes(
    ctx: &StatementContext,
    names: &[ObjectName],
    on: Option<&ObjectName>,
    if_exists: bool,
) -> Result<()> {
    if ctx.hints.drops_concurrently {
        if ctx.in_block {
            return Err(Error::TransactionState {
                state: "25001",
                message: "DROP INDEX CONCURRENTLY cannot run inside a transaction block".to_string(),
            });
        }
        if names.len() > 1 {
            return Err(Error::InvalidStatement {
                state: StatementFault::NotImplemented,
                message: "DROP INDEX CONCURRENTLY does not support dropping multiple objects".to_string(),
                hint: Some("Drop each in a statement of its own.".to_string()),
            });
        }
    }
    let on = on.map(|name| table(ctx, name, Access::CreateIndex)).transpose()?;
    // By the table's id: all that go of a table go at once.
    let mut dropped: BTreeMap<TableId, (&TableDef, Vec<IndexId>)> = BTreeMap::new();
    for name in names {
        if let Some((table, index)) = dropped_index(ctx, name, if_exists)? {
            if let Some(on) = on.as_ref().filter(|on| on.oid != table.oid) {
                return Err(Error::UndefinedObject {
                    kind: "index",
                    name: format!("{}\" of table \"{}", index.name, on.name),
                });
            }
            let (_, indexes) = dropped.entry(table.id).or_insert((table, Vec::new()));
            indexes.push(index.id);
        }
    }
    if dropped.is_empty() {
        return Ok(());
    }
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    dropped
        .into_values()
        .try_for_each(|(table, indexes)| remove_indexes(&writer, table, &indexes))
}

/// The index to be dropped. Errors: 42704, 42809, 2BP01 for a constraint's.
fn dropped_index<'a>(
    ctx: &'a StatementContext,
    name: &ObjectName,
    if_exists: bool,
) -> Result<Option<(&'a TableDef, &'a IndexDef)>> {
    let (table, index) = match relation_if_exists(ctx, name, Access::Drop(ObjectKind::Index), if_exists)? {
        None => return Ok(None),
        Some(Object::Index(table, index)) => (table, index),
        Some(_) => return Err(Error::internal("DROP INDEX of what is no index")),
    };
    let name = &index.name;
    if index.constraint || index.id == 0 {
        return Err(Error::InvalidStatement {
            state: StatementFault::DependentObjects,
            message: format!(
                "cannot drop index {name} because constraint {name} on table {} requires it",
                table.name
            ),
            hint: Some(format!(
                "You can drop constraint {name} on table {} instead.",
                table.name
            )),
        });
    }
    Ok(Some((table, index)))
}

/// Takes secondary indexes out of their table and leaves their entries to be removed.
fn remove_indexes(writer: &CatalogWriter<'_>, table: &TableDef, indexes: &[IndexId]) -> Result<()> {
    let mut changed = table.clone();
    changed.indexes.retain(|index| !indexes.contains(&index.id));
    for index in indexes {
        writer.drop_keys(table.id, *index)?;
    }
    writer.put_table(changed)?;
    Ok(())
}

fn drop_schemas(ctx: &StatementContext, names: &[ObjectName], if_exists: bool, cascade: bool) -> Result<()> {
    let mut schemas = Vec::with_capacity(names.len());
    for name in names {
        let (_, name) = names::relation_name(name)?;
        if BUILTIN_SCHEMAS.iter().any(|(builtin, _)| *builtin == name) {
            return Err(Error::InvalidStatement {
                state: StatementFault::DependentObjects,
                message: format!("cannot drop schema {name} because it is required by the database system"),
                hint: None,
            });
        }
        match ctx.catalog.schema(&name) {
            Ok(schema) => schemas.push(schema),
            Err(_) if if_exists => {
                notice(
                    ctx,
                    "00000",
                    format!("schema \"{name}\" does not exist, skipping"),
                    None,
                );
            }
            Err(error) => return Err(error),
        }
    }
    if schemas.is_empty() {
        return Ok(());
    }
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    let held = |relation: &&Relation| schemas.iter().any(|schema| schema.name == relation.schema());
    let mut dropped: Vec<&Relation> = ctx.catalog.relations.iter().filter(held).collect();
    if let Some(first) = schemas.first()
        && !dropped.is_empty()
        && !cascade
    {
        let lines = dropped.iter().map(|relation| {
            format!(
                "{} depends on schema {}",
                described(ctx, relation),
                relation.schema()
            )
        });
        let object = format!("schema {}", first.name);
        return Err(Error::DependentObjects {
            object,
            dependents: lines.collect(),
        });
    }
    dropped.extend(dependents_of(ctx, &dropped.clone()).iter().map(|(view, _)| *view));
    notice_cascade(ctx, &dropped);
    dropped
        .into_iter()
        .try_for_each(|relation| drop_one(&writer, relation))?;
    schemas
        .into_iter()
        .try_for_each(|schema| writer.drop_schema(schema))
}
