//! DROP TABLE, VIEW, SEQUENCE, INDEX and SCHEMA, with CASCADE to the views that read what goes and the defaults that take of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sqlparser::ast::{ObjectName, ObjectType, Statement};

use super::alter_index::{check_on, name_on};
use super::default_dependents::{self, DependentDefault};
use super::foreign_key::Reference;
use super::{described, foreign_key, keys_lock, notice, notice_cascade, sequence, trash};
use crate::catalog::{
    Access, Catalog, CatalogWriter, ColumnDef, IndexDef, Kept, Object, ObjectKind, Relation, RoutineDef,
    SequenceDef, TableDef, counterpart,
};
use crate::codec::keyspace::{IndexId, TableId};
use crate::error::StatementFault;
use crate::sql::relation::{relation_if_exists, table};
use crate::store::LockMode;
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
        ObjectType::Table | ObjectType::View | ObjectType::MaterializedView | ObjectType::Sequence => {
            let kind = match object_type {
                ObjectType::Table => ObjectKind::Table,
                ObjectType::View => ObjectKind::View,
                ObjectType::MaterializedView => ObjectKind::MaterializedView,
                _ => ObjectKind::Sequence,
            };
            drop_relations(ctx, kind, names, *if_exists, *cascade).await?;
            Ok(format!("DROP {object_type}"))
        }
        ObjectType::Index => {
            drop_indexes(ctx, names, table.as_ref(), *if_exists).await?;
            Ok("DROP INDEX".to_string())
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

async fn drop_relations(
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
        if let Relation::Sequence(sequence) = relation {
            sequence::require_not_identity(ctx, sequence)?;
        }
        if !dropped.iter().any(|known| known.oid() == relation.oid()) {
            dropped.push(relation);
        }
    }
    if dropped.is_empty() {
        return Ok(());
    }
    add_partitions(&ctx.catalog, &mut dropped);
    let dependents = dependents_of(&ctx.catalog, &dropped);
    if !dependents.is_empty() {
        check_cascade(ctx, &object_of(ctx, &dropped), &dependents, cascade)?;
    }
    dropped.extend(dependents.views.iter().map(|(view, _)| *view));
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    let kept = trash::kept(ctx);
    drop_all(&ctx.catalog, &writer, &dropped, (&dependents, kept)).await
}

/// Partitions go with their tables.
pub(super) fn add_partitions<'c>(catalog: &'c Catalog, dropped: &mut Vec<&'c Relation>) {
    let mut at = 0;
    while let Some(relation) = dropped.get(at) {
        let oid = relation.oid();
        let partitions = catalog.relations.iter().filter(|relation| {
            let table = relation.get_table();
            table.is_some_and(|table| table.partition.as_ref().is_some_and(|of| of.parent == oid))
        });
        for partition in partitions {
            if dropped.iter().all(|known| known.oid() != partition.oid()) {
                dropped.push(partition);
            }
        }
        at += 1;
    }
}

/// Removes relations, and what cannot stay without them, without a word.
pub(super) async fn drop_with_dependents(
    catalog: &Catalog,
    writer: &CatalogWriter<'_>,
    mut dropped: Vec<&Relation>,
) -> Result<()> {
    let dependents = dependents_of(catalog, &dropped);
    dropped.extend(dependents.views.iter().map(|(view, _)| *view));
    drop_all(catalog, writer, &dropped, (&dependents, None)).await
}

/// Removes relations, the sequences that go with them, and defaults that take values of these. Who takes values of a sequence is waited
/// for. `kept`: for how long tables go to the trash.
pub(super) async fn drop_all(
    catalog: &Catalog,
    writer: &CatalogWriter<'_>,
    dropped: &[&Relation],
    (dependents, kept): (&Dependents<'_>, Option<Kept>),
) -> Result<()> {
    for sequence in sequences_of(catalog, dropped) {
        sequence::lock(writer.txn(), sequence, LockMode::AccessExclusive).await?;
    }
    default_dependents::remove(writer, &dependents.defaults, &dependents.foreign_keys)?;
    let mut routines = dependents.routines.iter();
    routines.try_for_each(|(routine, _)| writer.drop_routine(routine))?;
    for parent in parents_left(catalog, dropped) {
        writer.put_table(TableDef::clone(parent))?;
    }
    for relation in dropped {
        match (relation, kept) {
            (Relation::Table(table), Some(kept)) if trash::takes(table) => {
                let gone = trash::dependents_of(table, dropped, &dependents.foreign_keys);
                trash::drop_table(catalog, writer, table, (kept, gone)).await?;
            }
            (Relation::Table(table), _) => writer.drop_table(table)?,
            (Relation::View(view), _) => writer.drop_view(view)?,
            (Relation::Sequence(sequence), _) => writer.drop_sequence(sequence)?,
        }
    }
    Ok(())
}

/// The tables that stay of which others are partitions: who has planned to read or write one plans it again.
fn parents_left<'c>(catalog: &'c Catalog, dropped: &[&Relation]) -> Vec<&'c Arc<TableDef>> {
    let mut parents: Vec<&Arc<TableDef>> = Vec::new();
    let tables = dropped.iter().filter_map(|relation| relation.get_table());
    for parent in tables.filter_map(|table| catalog.parent_of(table)) {
        let stays = dropped.iter().all(|gone| gone.oid() != parent.oid);
        if stays && parents.iter().all(|known| known.oid != parent.oid) {
            parents.push(parent);
        }
    }
    parents
}

/// The sequences among relations, and those that go with tables among them.
fn sequences_of<'a>(catalog: &'a Catalog, dropped: &[&'a Relation]) -> Vec<&'a SequenceDef> {
    let mut sequences = Vec::new();
    for relation in dropped {
        match relation {
            Relation::Table(table) => {
                sequences.extend(catalog.sequences_of(table.oid).map(|owned| &**owned));
            }
            Relation::Sequence(sequence) => sequences.push(&**sequence),
            Relation::View(_) => {}
        }
    }
    sequences
}

/// What cannot stay without what is dropped.
pub(super) struct Dependents<'a> {
    /// Views, with what each reads.
    pub(super) views: Vec<(&'a Relation, &'a Relation)>,
    /// Defaults of tables that stay.
    pub(super) defaults: Vec<DependentDefault<'a>>,
    /// Foreign keys of tables that stay.
    pub(super) foreign_keys: Vec<Reference<'a>>,
    /// Functions of bodies that are no strings, or of whose rows they are, with what each uses.
    pub(super) routines: Vec<(&'a Arc<RoutineDef>, &'a Relation)>,
}

impl Dependents<'_> {
    fn is_empty(&self) -> bool {
        self.views.is_empty()
            && self.defaults.is_empty()
            && self.foreign_keys.is_empty()
            && self.routines.is_empty()
    }
}

/// What depends on the relations, and on the sequences that go with them.
pub(super) fn dependents_of<'a>(catalog: &'a Catalog, dropped: &[&'a Relation]) -> Dependents<'a> {
    let sequences = sequences_of(catalog, dropped);
    let oids: Vec<u32> = dropped.iter().map(|relation| relation.oid()).collect();
    let is_gone = |table: &TableDef, _: &ColumnDef| dropped.iter().any(|gone| gone.oid() == table.oid);
    let views = views_over(catalog, dropped);
    let gone: Vec<&Relation> = dropped
        .iter()
        .copied()
        .chain(views.iter().map(|(view, _)| *view))
        .collect();
    let used_by = |routine: &'a Arc<RoutineDef>| {
        let uses = |relation: &&&'a Relation| {
            routine.depends_on.contains(&relation.oid()) || routine.types_used().contains(&relation.oid())
        };
        gone.iter().find(uses).map(|used| (routine, *used))
    };
    Dependents {
        routines: catalog.routines.iter().filter_map(used_by).collect(),
        views,
        defaults: default_dependents::of_sequences(catalog, &sequences, is_gone),
        foreign_keys: foreign_key::referring_to(catalog, &oids),
    }
}

/// Views that read the relations, or read such views, with what each reads; the relations themselves left out.
pub(super) fn views_over<'a>(
    catalog: &'a Catalog,
    dropped: &[&'a Relation],
) -> Vec<(&'a Relation, &'a Relation)> {
    let mut gone: BTreeSet<u32> = dropped.iter().map(|relation| relation.oid()).collect();
    let mut queue = dropped.to_vec();
    let mut dependents = Vec::new();
    while let Some(read) = queue.pop() {
        for view in catalog.relations.iter() {
            if view.reads().contains(&read.oid()) && gone.insert(view.oid()) {
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
    dependents: &Dependents<'_>,
    cascade: bool,
) -> Result<()> {
    let (views, defaults) = (dependents.views.iter(), dependents.defaults.iter());
    let foreign_keys = dependents.foreign_keys.iter();
    if !cascade {
        let views =
            views.map(|(view, read)| format!("{} depends on {}", described(ctx, view), described(ctx, read)));
        return Err(Error::DependentObjects {
            object: object.to_string(),
            dependents: foreign_keys
                .map(|(by, key)| {
                    let of = ctx.catalog.table_by_oid(key.table);
                    let of = of.map(|of| of.name.as_str()).unwrap_or_default();
                    format!(
                        "constraint {} on table {} depends on table {of}",
                        key.name, by.name
                    )
                })
                .chain(defaults.map(DependentDefault::line))
                .chain(views)
                .chain(dependents.routines.iter().map(|(routine, used)| {
                    let routine = super::routine_ref::described(ctx, routine);
                    format!("{routine} depends on {}", described(ctx, used))
                }))
                .collect(),
        });
    }
    let views = views.map(|(view, _)| described(ctx, view));
    let keys = foreign_keys.map(foreign_key::described);
    let routines = dependents.routines.iter();
    let routines = routines.map(|(routine, _)| super::routine_ref::described(ctx, routine));
    let gone = keys
        .chain(defaults.map(DependentDefault::described))
        .chain(views)
        .chain(routines);
    notice_cascade(ctx, &gone.collect::<Vec<_>>());
    Ok(())
}

fn object_of(ctx: &StatementContext, dropped: &[&Relation]) -> String {
    match dropped {
        [only] => described(ctx, only),
        _ => "desired object(s)".to_string(),
    }
}

/// `on`: the table that the indexes are said to be of.
async fn drop_indexes(
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
        let name = &name_on(name, on.as_deref());
        if let Some((table, index)) = dropped_index(ctx, name, if_exists)? {
            check_on(table, index, on.as_deref())?;
            foreign_key::check_unused(ctx, table, index)?;
            check_own(ctx, table, index)?;
            for (table, index) in with_counterparts(&ctx.catalog, table, index) {
                let (_, indexes) = dropped.entry(table.id).or_insert((table, Vec::new()));
                indexes.push(index.id);
            }
        }
    }
    if dropped.is_empty() {
        return Ok(());
    }
    for (table, _) in dropped.values() {
        keys_lock::share(ctx, table).await?;
    }
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    dropped
        .into_values()
        .try_for_each(|(table, indexes)| remove_indexes(&writer, table, &indexes))
}

/// An index of a table, and those of its partitions that are like it.
fn with_counterparts<'c>(
    catalog: &'c Catalog,
    table: &'c TableDef,
    index: &'c IndexDef,
) -> Vec<(&'c TableDef, &'c IndexDef)> {
    let mut found = vec![(table, index)];
    for partition in catalog.partitions_of(table.oid) {
        if let Some(own) = counterpart(table, index, partition) {
            found.extend(with_counterparts(catalog, partition, own));
        }
    }
    found
}

/// Errors: 2BP01 for an index of a partition that its table has, too.
fn check_own(ctx: &StatementContext, table: &TableDef, index: &IndexDef) -> Result<()> {
    let Some(parent) = ctx.catalog.parent_of(table) else {
        return Ok(());
    };
    let above = parent.all_indexes().find(|above| {
        let own = counterpart(parent, above, table);
        own.is_some_and(|own| own.id == index.id)
    });
    match above {
        None => Ok(()),
        Some(above) => Err(Error::InvalidStatement {
            state: StatementFault::DependentObjects,
            message: format!(
                "cannot drop index {} because index {} requires it",
                index.name, above.name
            ),
            hint: Some(format!("You can drop index {} instead.", above.name)),
        }),
    }
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
pub(super) fn remove_indexes(
    writer: &CatalogWriter<'_>,
    table: &TableDef,
    indexes: &[IndexId],
) -> Result<()> {
    let mut changed = table.clone();
    changed.remove_indexes(|index| indexes.contains(&index.id));
    for index in indexes {
        writer.drop_keys(table.id, *index)?;
    }
    writer.put_table(changed)?;
    Ok(())
}
