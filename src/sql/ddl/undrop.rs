//! UNDROP TABLE and PURGE: takes tables out of the trash, back into the catalog or for good.
//!
//! What was dropped comes back as it was: rows, indexes, sequences, checks, and foreign keys that the rows still satisfy. What was emptied
//! comes back into the table that it was emptied of, as long as that is empty and defined as it was, or as a table of another name, with
//! sequences of its own. What of others went with a table by CASCADE comes back behind it (`undrop_dependents`).

use std::collections::BTreeMap;
use std::sync::Arc;

use sqlparser::ast::ObjectName;

use super::new_relation::NewRelation;
use super::undrop_dependents::{self, warn};
use super::{foreign_key, notice, sequence, undrop_expressions};
use crate::catalog::{
    CatalogWriter, ColumnDef, ForeignKey, MadeName, SequenceDef, SequenceOwner, TableDef, TrashedBy,
    TrashedTable, Unverified, Versions, written_key,
};
use crate::error::{DuplicateKind, StatementFault};
use crate::parse::definition::{Persistence, TrashName, TrashStatement};
use crate::parse::names;
use crate::parse::quoting::quote_ident;
use crate::sql::dml;
use crate::system::StatementContext;
use crate::table::{SequenceState, Sequences, is_empty};
use crate::{Error, Result};

/// Runs UNDROP TABLE or PURGE. Errors: 42P01 for what is not in the trash, 42P07 for a name that is taken, 3F000, 55000.
pub(super) async fn execute(ctx: &StatementContext, statement: &TrashStatement) -> Result<()> {
    match statement {
        TrashStatement::Undrop { table, new_name } => undrop(ctx, table, new_name.as_ref()).await,
        TrashStatement::Purge { table: Some(table) } => {
            let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
            writer.purge(&*find(ctx, table)?)
        }
        TrashStatement::Purge { table: None } => {
            let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
            let mut trash = ctx.catalog.trash.values();
            trash.try_for_each(|trashed| writer.purge(trashed))
        }
    }
}

/// The table in the trash that is meant. Errors: 42P01.
fn find(ctx: &StatementContext, name: &TrashName) -> Result<Arc<TrashedTable>> {
    let trash = &ctx.catalog.trash;
    let (schema, table) = match &name.name {
        Some(name) => {
            let (schema, table) = names::relation_name(name)?;
            (schema, Some(table))
        }
        None => (None, None),
    };
    let is_named = |trashed: &&Arc<TrashedTable>| {
        table.as_ref().is_none_or(|table| *table == trashed.name)
            && schema.as_ref().is_none_or(|schema| *schema == trashed.schema)
    };
    let found = match name.id {
        Some(id) => trash.get(&id).filter(is_named),
        None => {
            let newest = |schema: &str| {
                let named = trash.values().filter(is_named);
                let named = named.filter(|trashed| trashed.schema == schema);
                named.max_by_key(|trashed| (trashed.at, trashed.id))
            };
            match &schema {
                Some(schema) => newest(schema),
                None => ctx.settings.search_path.iter().find_map(|schema| newest(schema)),
            }
        }
    };
    found.cloned().ok_or_else(|| {
        let what = match (&name.name, name.id) {
            (Some(name), None) => format!("table \"{}\"", shown(name)),
            (Some(name), Some(id)) => format!("table \"{}\" with id {id}", shown(name)),
            (None, id) => format!("a table with id {}", id.unwrap_or_default()),
        };
        Error::InvalidStatement {
            state: StatementFault::UndefinedTable,
            message: format!("{what} is not in the trash"),
            hint: Some("SHOW TRASH lists what is there.".to_string()),
        }
    })
}

/// A name as messages show it.
fn shown(name: &ObjectName) -> String {
    match names::relation_name(name) {
        Ok((Some(schema), table)) => format!("{schema}.{table}"),
        Ok((None, table)) => table,
        Err(_) => name.to_string(),
    }
}

async fn undrop(ctx: &StatementContext, name: &TrashName, new_name: Option<&ObjectName>) -> Result<()> {
    let trashed = find(ctx, name)?;
    let table = trashed.table(&ctx.catalog.types).map_err(|error| {
        tracing::debug!(%error, "a table in the trash cannot be read");
        Error::InvalidStatement {
            state: StatementFault::UndefinedObject,
            message: format!(
                "a type that columns of \"{}\" are of does not exist any more",
                trashed.name
            ),
            hint: Some("PURGE TABLE removes what is left of it.".to_string()),
        }
    })?;
    if new_name.is_none() && trashed.by == TrashedBy::Truncate {
        let live = ctx.catalog.table_by_oid(trashed.oid);
        let live = live.filter(|live| live.schema == trashed.schema && live.name == trashed.name);
        if let Some(live) = live {
            return refill(ctx, live, (&trashed, table)).await;
        }
    }
    let target = target(ctx, &trashed, new_name)?;
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    writer.take_from_trash(&trashed)?;
    tell_detached(ctx, &table, &target.name);
    let mut restored = TableDef {
        schema: target.schema,
        name: target.name,
        partition: None,
        ..table
    };
    let mut taken = vec![restored.name.clone()];
    if trashed.by == TrashedBy::Truncate {
        give_oids(ctx, &mut restored).await?;
    }
    name_indexes(ctx, &mut restored, &mut taken);
    end_unfinished(&writer, &mut restored)?;
    let sequences = restore_sequences(ctx, &writer, (&trashed, &mut restored), &mut taken).await?;
    drop_lost_defaults(ctx, &mut restored, &sequences);
    let now = ctx.clone().seeing_definitions().await?;
    undrop_expressions::leave_out_unread(&now, &writer, &mut restored)?;
    undrop_expressions::verify_domains(&now, &restored).await?;
    let keeps_name = restored.name == trashed.name && restored.schema == trashed.schema;
    put_with_foreign_keys(ctx, &writer, restored).await?;
    undrop_dependents::restore(ctx, &trashed, keeps_name).await
}

/// Says of what was a partition that it comes back as a table of its own: its parent may be gone, or have another partition for its rows.
fn tell_detached(ctx: &StatementContext, table: &TableDef, name: &str) {
    let Some(partition) = &table.partition else {
        return;
    };
    let hint = ctx.catalog.table_by_oid(partition.parent).map(|parent| {
        let (parent, name) = (quote_ident(&parent.name), quote_ident(name));
        format!("ALTER TABLE {parent} ATTACH PARTITION {name} … makes it one of its partitions.")
    });
    let message = format!("\"{name}\" was a partition, and comes back as a table of its own");
    notice(ctx, "00000", message, hint);
}

/// Where the table is to be. Errors: 3F000, 42P07, 42501, 42P16.
fn target(
    ctx: &StatementContext,
    trashed: &TrashedTable,
    new_name: Option<&ObjectName>,
) -> Result<NewRelation> {
    let target = match new_name {
        Some(name) => {
            let (schema, named) = names::relation_name(name)?;
            let target = match schema {
                Some(_) => NewRelation::of(ctx, name, Persistence::Permanent)?,
                None => NewRelation {
                    schema: trashed.schema.clone(),
                    name: named,
                },
            };
            if target.is_temporary() {
                return Err(Error::InvalidStatement {
                    state: StatementFault::InvalidTableDefinition,
                    message: "cannot restore a table into a temporary schema".to_string(),
                    hint: None,
                });
            }
            target
        }
        None => NewRelation {
            schema: trashed.schema.clone(),
            name: trashed.name.clone(),
        },
    };
    if ctx.catalog.schema(&target.schema).is_err() {
        return Err(Error::UndefinedSchema { name: target.schema });
    }
    match ctx.catalog.is_name_taken(&target.schema, &target.name) {
        true => Err(Error::Duplicate {
            kind: DuplicateKind::Relation,
            name: target.name,
        }),
        false => Ok(target),
    }
}

/// Gives an emptied table its rows back. Errors: 55000 for one that is not empty, or is defined otherwise by now; 23503; 23514, 23502
/// where a domain is.
async fn refill(
    ctx: &StatementContext,
    live: &Arc<TableDef>,
    (trashed, table): (&TrashedTable, TableDef),
) -> Result<()> {
    ctx.txn.guard(&written_key(live.id));
    let refused = |why: &str| Error::InvalidStatement {
        state: StatementFault::NotInPrerequisiteState,
        message: format!("the rows of \"{}\" cannot be given back: {why}", live.name),
        hint: Some(format!(
            "UNDROP TABLE {} AS other_name restores them as another table.",
            live.name
        )),
    };
    if !is_empty(&ctx.txn, live).await? {
        return Err(refused("the table has rows"));
    }
    let history = table.options.versions.clone();
    let mut as_defined = TableDef {
        version: live.version,
        comment: live.comment.clone(),
        id: live.id,
        ..table
    };
    // When its history begins is no part of how it is defined.
    as_defined.options.versions = Versions {
        since: live.options.versions.since,
        whole_since: live.options.versions.whole_since,
        ..history.clone()
    };
    if as_defined != **live {
        return Err(refused("the table was altered since"));
    }
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    writer.take_from_trash(trashed)?;
    let mut filled = TableDef {
        id: trashed.id,
        ..TableDef::clone(live)
    };
    filled.options.versions = history;
    let filled = writer.replace_table(live, filled)?;
    Sequences::remove_row_ids(&ctx.txn, live)?;
    for kept in &trashed.sequences {
        let Some(now) = ctx.catalog.sequence(kept.def.oid()) else {
            continue;
        };
        let (state, _) = ctx.sequences.state(&ctx.txn, now).await?;
        let (last, is_called) = kept.given.unwrap_or((state.last, state.is_called));
        let is_behind = match now.increment > 0 {
            true => state.last < last || state.last == last && is_called && !state.is_called,
            false => state.last > last || state.last == last && is_called && !state.is_called,
        };
        if is_behind {
            let state = SequenceState { last, is_called };
            sequence::put_counted(ctx, &writer, now, SequenceDef::clone(now), state)?;
        }
    }
    undrop_expressions::verify_domains(ctx, &filled).await?;
    for key in filled.foreign_keys.iter().filter(|key| !key.not_valid) {
        dml::verify_foreign_key(ctx, &filled, key).await?;
    }
    Ok(())
}

/// A table beside the one that it was emptied of has oids of its own.
async fn give_oids(ctx: &StatementContext, table: &mut TableDef) -> Result<()> {
    let ids = ctx.sequences.object_ids();
    let old = table.oid;
    table.oid = ids.take_oid().await?;
    let mut indexes = BTreeMap::new();
    for index in std::iter::once(&mut table.primary_key).chain(&mut table.indexes) {
        let oid = ids.take_oid().await?;
        indexes.insert(std::mem::replace(&mut index.oid, oid), oid);
    }
    for check in &mut table.checks {
        check.oid = ids.take_oid().await?;
    }
    for key in &mut table.foreign_keys {
        key.oid = ids.take_oid().await?;
        if key.table == old {
            key.table = table.oid;
            key.key = indexes.get(&key.key).copied().unwrap_or(key.key);
        }
    }
    Ok(())
}

/// Gives indexes other names where theirs are taken.
fn name_indexes(ctx: &StatementContext, table: &mut TableDef, taken: &mut Vec<String>) {
    let schema = table.schema.clone();
    for index in std::iter::once(&mut table.primary_key).chain(&mut table.indexes) {
        let name = MadeName::like(&index.name).free_in(&ctx.catalog, &schema, taken);
        if name != index.name {
            tell_renamed(ctx, "index", &index.name, &name);
            index.name = name;
        }
        taken.push(index.name.clone());
    }
}

fn tell_renamed(ctx: &StatementContext, kind: &str, old: &str, new: &str) {
    let message = format!("{kind} \"{old}\" is restored as \"{new}\", for its name is taken");
    notice(ctx, "00000", message, None);
}

/// What was being built or verified when the table went was never finished.
fn end_unfinished(writer: &CatalogWriter<'_>, table: &mut TableDef) -> Result<()> {
    for index in table.indexes.iter_mut().filter(|index| index.building) {
        writer.drop_keys(table.id, index.id)?;
        index.id = table.next_index_id;
        (index.building, index.invalid) = (false, true);
        table.next_index_id += 1;
    }
    let unverified = table.columns.iter_mut();
    for column in unverified.filter(|column| column.unverified == Some(Unverified::NotNull)) {
        (column.not_null, column.unverified) = (false, None);
    }
    let is_new = |column: &&ColumnDef| column.unverified.is_some();
    let added: Vec<_> = table
        .columns
        .iter()
        .filter(is_new)
        .map(|column| column.id)
        .collect();
    added.into_iter().for_each(|id| table.remove_column(id));
    Ok(())
}

/// The sequences of the table's columns, by oid: those that went with it, or new ones that go on where they were.
async fn restore_sequences(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    (trashed, table): (&TrashedTable, &mut TableDef),
    taken: &mut Vec<String>,
) -> Result<Vec<u32>> {
    let mut restored = Vec::with_capacity(trashed.sequences.len());
    for kept in &trashed.sequences {
        let mut def = kept.def.clone();
        def.version = 0;
        def.schema.clone_from(&table.schema);
        def.name = MadeName::like(&kept.def.name).free_in(&ctx.catalog, &table.schema, taken);
        taken.push(def.name.clone());
        match trashed.by {
            TrashedBy::Drop => {
                if def.name != kept.def.name {
                    tell_renamed(ctx, "sequence", &kept.def.name, &def.name);
                }
                writer.put_sequence(&def)?;
            }
            TrashedBy::Truncate => {
                def.id = ctx.sequences.object_ids().take().await?;
                def.generation = 0;
                def.owner = def.owner.map(|owner| SequenceOwner {
                    table: table.oid,
                    ..owner
                });
                writer.put_sequence(&def)?;
                let (last, is_called) = kept.given.unwrap_or((def.start, false));
                Sequences::begin(&ctx.txn, &def, SequenceState { last, is_called })?;
                let (old, new) = (kept.def.oid(), def.oid());
                let columns = table.columns.iter_mut();
                columns
                    .filter(|column| column.sequence() == Some(old))
                    .for_each(|column| column.set_sequence(new));
            }
        }
        restored.push(def.oid());
    }
    Ok(restored)
}

/// Defaults that take values of sequences which are not there any more are none. `restored`: those that the statement brings.
fn drop_lost_defaults(ctx: &StatementContext, table: &mut TableDef, restored: &[u32]) {
    let name = table.name.clone();
    let is_there = |oid: &u32| restored.contains(oid) || ctx.catalog.sequence(*oid).is_some();
    for column in &mut table.columns {
        if column.sequences_used().iter().all(is_there) {
            continue;
        }
        column.default = None;
        let message = format!(
            "column \"{}\" of table \"{name}\" is restored without its default",
            column.name
        );
        warn(
            ctx,
            message,
            "A sequence that it took values of does not exist any more.",
        );
    }
}

/// Writes the table, and its foreign keys as far as what they refer to is there and its rows refer to what is there.
async fn put_with_foreign_keys(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    mut table: TableDef,
) -> Result<()> {
    let keys = std::mem::take(&mut table.foreign_keys);
    let own = table.clone();
    let is_there = |key: &ForeignKey| match key.table == own.oid {
        true => true,
        false => ctx.catalog.table_by_oid(key.table).is_some_and(|referenced| {
            let has_key = referenced.all_indexes().any(|index| index.oid == key.key);
            has_key
                && key
                    .referenced
                    .iter()
                    .all(|id| referenced.column_index_by_id(*id).is_some())
        }),
    };
    let (keys, lost): (Vec<_>, Vec<_>) = keys.into_iter().partition(is_there);
    for key in &lost {
        let message = format!(
            "foreign key \"{}\" of table \"{}\" is not restored",
            key.name, own.name
        );
        warn(ctx, message, "What it refers to does not exist any more.");
    }
    foreign_key::shut_writers_out(ctx, &table, &keys).await?;
    table.foreign_keys = keys;
    foreign_key::touch_referenced(ctx, writer, &table, &table.foreign_keys)?;
    for at in 0..table.foreign_keys.len() {
        let key = table.foreign_keys[at].clone();
        if key.not_valid {
            continue;
        }
        match dml::verify_foreign_key(ctx, &table, &key).await {
            Ok(()) => {}
            Err(Error::ForeignKeyViolation { .. }) => {
                table.foreign_keys[at].not_valid = true;
                let message = format!(
                    "foreign key \"{}\" of table \"{}\" is restored NOT VALID",
                    key.name, own.name
                );
                warn(ctx, message, "Rows refer to what does not exist any more.");
            }
            Err(error) => return Err(error),
        }
    }
    writer.put_table(table).map(drop)
}
