//! CREATE SEQUENCE, ALTER SEQUENCE, and the sequences that serial and identity columns come with. What a change makes of the values that
//! were given stands under another generation, so that it is rolled back with the transaction.

use sqlparser::ast::{Ident, ObjectName};

use super::new_relation::{NewRelation, make_schema};
use super::schema::moved_schema;
use super::{key, role, sequence_options};
use crate::catalog::{
    Access, CatalogWriter, ColumnDef, MadeName, Object, ObjectKind, SequenceDef, SequenceOwner, SequenceType,
    TableDef, is_temporary_schema, record_key,
};
use crate::codec::row::ColumnId;

use crate::error::StatementFault;
use crate::parse::definition::{Persistence, RoleName, SequenceChange, SequenceOption};
use crate::parse::{names, sequence_owner};
use crate::sql::relation::{relation, relation_if_exists};
use crate::store::{LockMode, Write};
use crate::system::StatementContext;
use crate::table::{SequenceState, Sequences};
use crate::txn::Transaction;
use crate::{Error, Result};

/// Runs CREATE SEQUENCE.
pub(super) async fn create(
    ctx: &StatementContext,
    (name, persistence): (&ObjectName, Persistence),
    if_not_exists: bool,
    options: &[SequenceOption],
) -> Result<()> {
    let new = NewRelation::of(ctx, name, persistence)?;
    if !new.is_free(ctx, if_not_exists)? {
        return Ok(());
    }
    if options
        .iter()
        .any(|option| matches!(option, SequenceOption::Name(_)))
    {
        return Err(syntax("invalid sequence option SEQUENCE NAME"));
    }
    let id = ctx.sequences.object_ids().take().await?;
    let mut def = SequenceDef::rising(id, new.schema, new.name, SequenceType::BigInt);
    def.unlogged = persistence == Persistence::Unlogged;
    let state = sequence_options::apply(&mut def, options, None)?;
    if let Some(owner) = owned_by(options) {
        def.owner = owner_column(ctx, &def, owner)?;
    }
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    make_schema(ctx, &writer, &def.schema).await?;
    writer.put_sequence(&def)?;
    Sequences::begin(&ctx.txn, &def, state)
}

/// Runs ALTER SEQUENCE.
pub(super) async fn alter(
    ctx: &StatementContext,
    name: &ObjectName,
    if_exists: bool,
    change: &SequenceChange,
) -> Result<()> {
    let access = Access::AlterKind(ObjectKind::Sequence);
    let sequence = match relation_if_exists(ctx, name, access, if_exists)? {
        None => return Ok(()),
        Some(Object::Sequence(sequence)) => sequence,
        Some(_) => return Err(Error::internal("ALTER SEQUENCE of what is no sequence")),
    };
    match change {
        SequenceChange::Options(options) => change_options(ctx, sequence, options).await,
        SequenceChange::Rename(new_name) => rename(ctx, sequence, new_name).await,
        SequenceChange::Schema(schema) => set_schema(ctx, sequence, schema).await,
        SequenceChange::Role(RoleName::Named(name)) => role::check(ctx, &Ident::with_quote('"', name)),
        SequenceChange::Role(RoleName::Current | RoleName::All) => Ok(()),
        SequenceChange::Unlogged(unlogged) => set_unlogged(ctx, sequence, *unlogged),
    }
}

/// SET UNLOGGED, SET LOGGED. Errors: 42P16 for a temporary one.
fn set_unlogged(ctx: &StatementContext, sequence: &SequenceDef, unlogged: bool) -> Result<()> {
    if is_temporary_schema(&sequence.schema) {
        return Err(Error::InvalidStatement {
            state: StatementFault::InvalidTableDefinition,
            message: format!(
                "cannot change logged status of table \"{}\" because it is temporary",
                sequence.name
            ),
            hint: None,
        });
    }
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_sequence(&SequenceDef {
        unlogged,
        ..sequence.clone()
    })
}

/// Gives a sequence another name; what takes its values goes on to. Errors: 42P07.
pub(super) async fn rename(ctx: &StatementContext, sequence: &SequenceDef, new_name: &str) -> Result<()> {
    key::check_free(ctx, &sequence.schema, new_name)?;
    let renamed = SequenceDef {
        name: new_name.to_string(),
        ..sequence.clone()
    };
    lock(&ctx.txn, sequence, LockMode::AccessExclusive).await?;
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_sequence(&renamed)
}

/// SET SCHEMA. Errors: 0A000 for one that goes with a column, 3F000, 42P07.
pub(super) async fn set_schema(ctx: &StatementContext, sequence: &SequenceDef, schema: &str) -> Result<()> {
    if sequence.owner.is_some() {
        return Err(not_implemented(
            "cannot move an owned sequence into another schema",
        ));
    }
    let to = Ident::with_quote('"', schema);
    let moved = SequenceDef {
        schema: moved_schema(ctx, &sequence.schema, &sequence.name, &to)?,
        ..sequence.clone()
    };
    lock(&ctx.txn, sequence, LockMode::AccessExclusive).await?;
    CatalogWriter::begin(&ctx.txn, &ctx.catalog)?.put_sequence(&moved)
}

/// Changes options. Errors: 22023, 42601; those of OWNED BY.
pub(super) async fn change_options(
    ctx: &StatementContext,
    sequence: &SequenceDef,
    options: &[SequenceOption],
) -> Result<()> {
    lock(&ctx.txn, sequence, LockMode::ShareRowExclusive).await?;
    let mut changed = sequence.clone();
    let (given, _) = ctx.sequences.state(&ctx.txn, sequence).await?;
    let state = sequence_options::apply(&mut changed, options, Some(given))?;
    if let Some(owner) = owned_by(options) {
        if sequence.owner.is_some_and(|owner| owner.is_identity) {
            return Err(not_implemented("cannot change ownership of identity sequence"));
        }
        changed.owner = owner_column(ctx, sequence, owner)?;
    }
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    match options
        .iter()
        .all(|option| matches!(option, SequenceOption::OwnedBy(_)))
    {
        true => writer.put_sequence(&changed),
        false => put_counted(ctx, &writer, sequence, changed, state),
    }
}

/// TRUNCATE … RESTART IDENTITY: a sequence begins anew.
pub(super) async fn restart(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    sequence: &SequenceDef,
) -> Result<()> {
    lock(&ctx.txn, sequence, LockMode::AccessExclusive).await?;
    let state = SequenceState::starting_at(sequence.start);
    put_counted(ctx, writer, sequence, sequence.clone(), state)
}

/// Makes the sequences of a table's columns.
pub(super) async fn create_for_columns(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    table: (&str, &str, u32),
    (columns, sequences): (&mut [ColumnDef], &[(ColumnId, Vec<SequenceOption>)]),
    taken: &mut Vec<String>,
) -> Result<()> {
    for (column, options) in sequences {
        let is_it = |known: &&mut ColumnDef| known.id == *column;
        if let Some(column) = columns.iter_mut().find(is_it) {
            let made = create_for_column(ctx, writer, table, column, options, taken);
            column.set_sequence(made.await?);
        }
    }
    Ok(())
}

/// Makes the sequence of a serial or identity column of a table; answers its oid. `taken`: names of the schema that the statement gives.
/// Errors: 22023; 42P07 for a name that is given.
pub(super) async fn create_for_column(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    table: (&str, &str, u32),
    column: &ColumnDef,
    options: &[SequenceOption],
    taken: &mut Vec<String>,
) -> Result<u32> {
    let (schema, table_name, table_oid) = table;
    let named = options.iter().find_map(|option| match option {
        SequenceOption::Name(name) => Some(name),
        _ => None,
    });
    let name = match named {
        Some(name) => {
            let (_, name) = names::relation_name(name)?;
            key::check_free(ctx, schema, &name)?;
            name
        }
        None => {
            let base = MadeName::of_columns(table_name, [column.name.as_str()], "seq");
            base.free_in(&ctx.catalog, schema, taken)
        }
    };
    taken.push(name.clone());
    let ty = SequenceType::of(&column.ty);
    let ty = ty.ok_or_else(|| Error::internal("a sequence for a column of another type"))?;
    let id = ctx.sequences.object_ids().take().await?;
    let mut def = SequenceDef::rising(id, schema.to_string(), name, ty);
    let state = sequence_options::apply(&mut def, options, None)?;
    def.owner = Some(SequenceOwner::of(table_oid, column));
    writer.put_sequence(&def)?;
    Sequences::begin(&ctx.txn, &def, state)?;
    Ok(def.oid())
}

/// Locks a sequence: who takes values of it waits, or is waited for, if the modes say so.
pub(super) async fn lock(txn: &Transaction, sequence: &SequenceDef, mode: LockMode) -> Result<()> {
    txn.lock_unread(&[record_key(sequence.id)], mode).await
}

/// The sequence of an identity column, which it is nothing without. Errors: 2BP01.
pub(super) fn require_not_identity(ctx: &StatementContext, sequence: &SequenceDef) -> Result<()> {
    let Some(owner) = sequence.owner.filter(|owner| owner.is_identity) else {
        return Ok(());
    };
    let mut tables = ctx.catalog.tables();
    let Some(table) = tables.find(|table| table.oid == owner.table) else {
        return Ok(());
    };
    let column = table.column_index_by_id(owner.column);
    let column = column.map_or("", |at| &table.columns[at].name);
    Err(Error::InvalidStatement {
        state: StatementFault::DependentObjects,
        message: format!(
            "cannot drop sequence {} because column {column} of table {} requires it",
            sequence.name, table.name
        ),
        hint: Some(format!(
            "You can drop column {column} of table {} instead.",
            table.name
        )),
    })
}

/// The sequence that goes with a column.
pub(super) fn of_column<'a>(
    ctx: &'a StatementContext,
    table: &TableDef,
    column: &ColumnDef,
) -> Option<&'a SequenceDef> {
    let is_its = |owner: SequenceOwner| owner.column == column.id;
    let mut owned = ctx.catalog.sequences_of(table.oid);
    let found = owned.find(|sequence| sequence.owner.is_some_and(is_its));
    found.map(|sequence| &**sequence)
}

/// Writes a changed definition, and what it has given, under a generation of its own.
pub(super) fn put_counted(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    old: &SequenceDef,
    mut new: SequenceDef,
    state: SequenceState,
) -> Result<()> {
    new.generation = old.generation.wrapping_add(1);
    writer.put_sequence(&new)?;
    let key = old.counter_key();
    ctx.txn.write(Write::Delete { key }, None)?;
    Sequences::begin(&ctx.txn, &new, state)
}

fn owned_by(options: &[SequenceOption]) -> Option<&ObjectName> {
    options.iter().find_map(|option| match option {
        SequenceOption::OwnedBy(name) => Some(name),
        _ => None,
    })
}

/// The column that OWNED BY names. Errors: 42601, 42P01, 42809, 55000, 42703.
fn owner_column(
    ctx: &StatementContext,
    sequence: &SequenceDef,
    name: &ObjectName,
) -> Result<Option<SequenceOwner>> {
    let Some((table_name, column)) = sequence_owner(name)? else {
        return Ok(None);
    };
    let object = relation(ctx, &table_name, Access::Name)?;
    let not_materialized = match object {
        Object::Table(table) if !table.is_materialized_view() => Some(table),
        _ => None,
    };
    let Some(table) = not_materialized else {
        return Err(Error::InvalidStatement {
            state: StatementFault::WrongObjectType,
            message: format!("sequence cannot be owned by relation \"{}\"", object.name()),
            hint: None,
        });
    };
    if table.schema != sequence.schema {
        return Err(Error::NotInState {
            message: "sequence must be in same schema as table it is linked to".to_string(),
        });
    }
    let at = table
        .column_index(&column)
        .ok_or_else(|| Error::UndefinedColumn {
            name: format!("\"{column}\" of relation \"{}\"", table.name),
            hint: None,
        })?;
    Ok(Some(SequenceOwner {
        table: table.oid,
        column: table.columns[at].id,
        is_identity: false,
    }))
}

fn syntax(message: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::Syntax,
        message: message.to_string(),
        hint: None,
    }
}

fn not_implemented(message: &str) -> Error {
    Error::InvalidStatement {
        state: StatementFault::NotImplemented,
        message: message.to_string(),
        hint: None,
    }
}
