//! ALTER TABLE: columns, names, defaults, NOT NULL, options; constraints, types and views have files of their own. What the
//! operations make of the table is written at the end, and its rows if they are stored otherwise.

use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, DropBehavior, Ident, RenameTableNameKind,
};

use super::alter_passes::{in_passes, lock_mode};
use super::column::{self, NewColumn};
use super::index::{self, Completion, NewIndex};
use super::index_expression;
use super::keys_lock::{self, Keys};
use super::rewrite::Rewrite;
use super::schema::moved_schema;
use super::settled_constraints::Settled;
use super::table_change::{Change, contains_null, undefined_column};
use super::verification::{self, NoNulls};
use super::{
    alter_action, alter_asked, alter_column, alter_index, alter_storage, alter_view, backfill, check,
    constraint, default, drop_column, expiry, foreign_key, generation, identity, notice, options,
    partition_key, partition_rules, region, rekey, rekey_build, rewrite, role, sequence, triggers, upkeep,
    view_text, wildcard,
};
use crate::catalog::{
    Access, CatalogWriter, ColumnDefault, ForeignKey, MadeName, Object, ObjectKind, TableDef, TriggerState,
    record_key, written_key,
};
use crate::codec::row::ColumnId;
use crate::error::DuplicateKind;
use crate::parse::definition::{AlterAction, SequenceOption};
use crate::parse::names;
use crate::parse::{AlteredKind, altered_kind, new_schema, own_action};
use crate::sql::relation::{relation, relation_if_exists};
use crate::sql::{column_type, dml};
use crate::store::LockMode;
use crate::system::StatementContext;
use crate::table::is_empty;
use crate::types::Value;
use crate::{Error, Result};

/// Alters a table, view, index or sequence, and no partitions. `is_inherited`: it comes of an ALTER TABLE of the table that the one it names
/// is a partition of.
pub(super) async fn execute(
    ctx: &StatementContext,
    alter: &AlterTable,
    is_inherited: bool,
) -> Result<String> {
    let kind = altered_kind(alter);
    let tag = kind.tag().to_string();
    let new_schema = new_schema(alter);
    if alter.location.is_some() || alter.on_cluster.is_some() && new_schema.is_none() {
        return Err(Error::unsupported("this form of ALTER TABLE", None));
    }
    let access = access_of(ctx, alter, kind);
    let Some(object) = relation_if_exists(ctx, &alter.name, access, alter.if_exists)? else {
        return Ok(tag);
    };
    if new_schema.is_some() {
        relation(ctx, &alter.name, Access::SetSchema)?;
    }
    match object {
        Object::View(view) => alter_view::execute(ctx, view, alter)?,
        Object::Index(table, index) => {
            for name in alter_named(ctx, alter)? {
                alter_index::rename(ctx, table, index.oid, &name)?;
            }
        }
        Object::Sequence(sequence) => {
            for name in alter_named(ctx, alter)? {
                sequence::rename(ctx, sequence, &name).await?;
            }
            if let Some(schema) = new_schema {
                sequence::set_schema(ctx, sequence, &names::fold(schema)).await?;
            }
        }
        Object::Table(table) => alter_table(ctx, table, alter, is_inherited).await?,
    }
    Ok(tag)
}

async fn alter_table(
    ctx: &StatementContext,
    table: &TableDef,
    alter: &AlterTable,
    is_inherited: bool,
) -> Result<()> {
    let mut change = Change {
        table: table.clone(),
        indexes: Vec::new(),
        checks: Vec::new(),
        row_checks: Vec::new(),
        foreign_keys: Vec::new(),
        rewrite: None,
        beside: false,
        sequence_names: Vec::new(),
    };
    for operation in in_passes(ctx, &alter.operations) {
        if table.is_materialized_view() {
            relation(ctx, &alter.name, alter_action::access(ctx, operation))?;
        }
        match is_inherited {
            true => partition_rules::check_partition_key(table, operation)?,
            false => partition_rules::check(ctx, table, operation)?,
        }
        apply(ctx, &mut change, operation).await?;
    }
    partition_key::check_keys(&change.table, &change.indexes)?;
    region::settle(ctx, &mut change.table, table)?;
    if let Some(schema) = new_schema(alter) {
        change.table.schema = moved_schema(ctx, &table.schema, &table.name, schema)?;
        for index in &table.indexes {
            moved_schema(ctx, &table.schema, &index.name, schema)?;
        }
        move_key_name(ctx, &mut change.table, (table, schema))?;
    }
    let in_phases = alter.operations.iter().all(can_be_taken_back);
    let lock = lock_mode(&alter.operations);
    let how = (in_phases, lock, alter.operations.len());
    Box::pin(carry_out(ctx, table, change, how)).await
}

/// What it wants of the relation.
fn access_of(ctx: &StatementContext, alter: &AlterTable, kind: AlteredKind) -> Access {
    let renames = |operation| {
        let access = alter_action::access(ctx, operation);
        matches!(access, Access::Rename | Access::RenameColumns)
    };
    match kind {
        AlteredKind::View => Access::AlterKind(ObjectKind::View),
        AlteredKind::MaterializedView => Access::AlterKind(ObjectKind::MaterializedView),
        AlteredKind::Table if alter.operations.iter().all(renames) => Access::Rename,
        AlteredKind::Table => Access::Alter,
    }
}

/// The name of the primary key in the schema that the table is moved to: another, if there is no key that anybody sees and it is taken.
fn move_key_name(
    ctx: &StatementContext,
    moved: &mut TableDef,
    (table, schema): (&TableDef, &Ident),
) -> Result<()> {
    let name = &table.primary_key.name;
    if table.has_hidden_key() && moved.schema != table.schema {
        moved.primary_key.name = MadeName::like(name).free_in(&ctx.catalog, &moved.schema, &[]);
        return Ok(());
    }
    moved_schema(ctx, &table.schema, name, schema).map(drop)
}

/// ALTER TABLE of an index or a sequence, which can do no more than rename it: the names that it gets. Errors: 42809 for anything else.
fn alter_named(ctx: &StatementContext, alter: &AlterTable) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for operation in &alter.operations {
        relation(ctx, &alter.name, alter_action::access(ctx, operation))?;
        match operation {
            AlterTableOperation::RenameTable { table_name } => {
                let (RenameTableNameKind::As(name) | RenameTableNameKind::To(name)) = table_name;
                names.push(names::relation_name(name)?.1);
            }
            AlterTableOperation::OwnerTo { new_owner } => role::check_owner(ctx, new_owner)?,
            other => return Err(Error::unsupported(format!("ALTER TABLE ... {other}"), None)),
        }
    }
    Ok(names)
}

/// Writes what the operations, so many, have made of a table. `in_phases`: all of them can be taken back.
async fn carry_out(
    ctx: &StatementContext,
    old: &TableDef,
    change: Change,
    (in_phases, lock, operations): (bool, LockMode, usize),
) -> Result<()> {
    let Change {
        table: mut new,
        mut indexes,
        checks,
        row_checks,
        foreign_keys,
        rewrite,
        beside,
        sequence_names: _,
    } = change;
    let in_phases = in_phases
        && !checks.is_empty()
        && row_checks.is_empty()
        && foreign_keys.is_empty()
        && indexes.is_empty()
        && rewrite.is_none()
        && !ctx.in_block;
    if in_phases {
        verification::mark(old, &mut new, &checks);
    } else if !checks.is_empty() {
        ctx.txn.guard(&written_key(old.id));
    }
    let mut new_keys: Vec<ForeignKey> = foreign_keys.iter().map(|(key, _)| key.clone()).collect();
    new_keys.retain(|key| old.foreign_key(&key.name).is_none());
    // What the table has is asked of every row that is written: VALIDATE has only those to ask that are there.
    if lock != LockMode::ShareUpdateExclusive && !(row_checks.is_empty() && new_keys.is_empty()) {
        verification::shut_writers_out(ctx, old, lock).await?;
        foreign_key::shut_writers_out(ctx, old, &new_keys).await?;
    }
    let settled = Settled::of(&indexes);
    if let Some(rewrite) = rewrite {
        let beside = beside && operations == 1;
        Box::pin(store_anew(ctx, old, (new, indexes), (&rewrite, beside))).await?;
        return settled.verify(ctx, old.oid).await;
    }
    if new == *old && indexes.len() == 1 && settled.is_empty() {
        let index = indexes.remove(0);
        return index::add(ctx, old, index, Completion::Awaited).await;
    }
    if new != *old || in_phases {
        let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
        drop_keys(ctx, &writer, old, &new).await?;
        view_text::follow(ctx, &writer, old, &new)?;
        foreign_key::touch_referenced(ctx, &writer, &new, &new_keys)?;
        new = match backfill::columns(old, &new).is_empty() {
            true => TableDef::clone(&*writer.put_table_in(new, lock)?),
            false => backfill::fill_within(ctx, old, new, lock).await?,
        };
    }
    if in_phases {
        return verification::publish(ctx, &new, checks).await;
    }
    if !row_checks.is_empty() {
        dml::verify_checks(ctx, &new, &row_checks).await?;
    }
    foreign_key::verify(ctx, &new, &foreign_keys).await?;
    for index in indexes {
        new = index::add_within(ctx, &new, index).await?;
    }
    settled.verify(ctx, old.oid).await
}

/// Leaves to be removed what the table has no more: entries of indexes, older versions of rows. Errors: 40P01, 55P03.
async fn drop_keys(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    old: &TableDef,
    new: &TableDef,
) -> Result<()> {
    let dropped = old.indexes.iter();
    let dropped = dropped.filter(|index| new.indexes.iter().all(|kept| kept.id != index.id));
    let dropped: Vec<_> = dropped.collect();
    if !dropped.is_empty() {
        keys_lock::share(ctx, old).await?;
    }
    for index in dropped {
        writer.drop_keys(old.id, index.id)?;
    }
    let (store, kept) = (old.options.versions.store, new.options.versions.store);
    if store != 0 && store != kept {
        writer.drop_keys(old.id, store)?;
    }
    Ok(())
}

/// Stores the rows of a table anew, with these indexes: beside the table if they may be, or in the statement's transaction.
async fn store_anew(
    ctx: &StatementContext,
    old: &TableDef,
    (mut new, indexes): (TableDef, Vec<NewIndex>),
    (rewrite, beside): (&Rewrite, bool),
) -> Result<()> {
    for index in indexes {
        let oid = ctx.sequences.object_ids().take_oid().await?;
        index::define(&mut new, &index, oid, false);
    }
    // Older versions are carried in the transaction that moves the table, with its rows.
    if beside && !ctx.in_block && !old.keeps_versions() {
        let keys = keys_lock::lock_for_job(ctx, old, Keys::Move).await?;
        // Whoever was waited for may have altered the table.
        ctx.txn
            .lock(&[record_key(old.id)], LockMode::ShareRowExclusive)
            .await?;
        return rekey_build::run(ctx, old, new, keys).await;
    }
    keys_lock::share(ctx, old).await?;
    rewrite::run(ctx, old, new, rewrite).await
}

/// Whether an operation can be published before the rows are verified.
fn can_be_taken_back(operation: &AlterTableOperation) -> bool {
    matches!(
        operation,
        AlterTableOperation::AddColumn { .. }
            | AlterTableOperation::AlterColumn {
                op: AlterColumnOperation::SetNotNull,
                ..
            }
    )
}

/// Does an action that the parser has no tree of.
async fn apply_own(ctx: &StatementContext, change: &mut Change, action: &AlterAction) -> Result<()> {
    let table = &mut change.table;
    match action {
        AlterAction::Storage(storage) => alter_storage::apply(ctx, table, storage),
        AlterAction::Options(options) => options::alter(ctx, table, options),
        AlterAction::Identity { column, change } => identity::apply(ctx, table, column, change).await,
        AlterAction::DropExpression { column, if_exists } => {
            generation::drop_expression(ctx, table, column, *if_exists)
        }
        AlterAction::Constraint {
            name,
            deferrable,
            initially_deferred,
        } => foreign_key::alter(ctx, table, name, (*deferrable, *initially_deferred)),
        AlterAction::AddWildcard {
            column,
            if_not_exists,
        } => wildcard::add_to_table(ctx, table, column, *if_not_exists).await,
        AlterAction::DropWildcard { name, if_exists } => {
            wildcard::drop_of_table(ctx, table, name, *if_exists)
        }
        AlterAction::PrimaryKey { columns, buckets } => {
            rekey::apply(ctx, change, columns, buckets.as_deref()).await
        }
        AlterAction::Compact => upkeep::reclaim(ctx, "ALTER TABLE ... COMPACT").await,
        AlterAction::SplitAt(_) | AlterAction::UnsplitAt(_) => region::alter(ctx, table, action).await,
        AlterAction::AttachPartition { .. } | AlterAction::DetachPartition { .. } => Err(Error::unsupported(
            "ATTACH PARTITION and DETACH PARTITION beside other actions",
            Some("Write an ALTER TABLE of its own."),
        )),
        AlterAction::Refused { feature, hint } => Err(Error::unsupported(*feature, Some(*hint))),
    }
}

async fn apply(ctx: &StatementContext, change: &mut Change, operation: &AlterTableOperation) -> Result<()> {
    if let Some(action) = own_action(operation, &ctx.hints) {
        return apply_own(ctx, change, action).await;
    }
    let table = &mut change.table;
    match operation {
        AlterTableOperation::AddColumn {
            if_not_exists,
            column_def,
            column_position: None,
            ..
        } => add_column(ctx, change, column_def, *if_not_exists).await,
        AlterTableOperation::DropColumn {
            column_names,
            if_exists,
            drop_behavior,
            ..
        } => {
            let cascade = matches!(drop_behavior, Some(DropBehavior::Cascade));
            for name in column_names {
                constraint::drop_key_over(ctx, change, name, cascade).await?;
                drop_column::drop(ctx, &mut change.table, name, *if_exists, cascade).await?;
            }
            Ok(())
        }
        AlterTableOperation::RenameTable { table_name } => {
            let (RenameTableNameKind::As(name) | RenameTableNameKind::To(name)) = table_name;
            rename_table(ctx, table, names::relation_name(name)?.1)
        }
        AlterTableOperation::RenameColumn {
            old_column_name,
            new_column_name,
        } => rename_column(ctx, table, old_column_name, new_column_name),
        AlterTableOperation::AlterColumn { column_name, op } => {
            alter_column::alter_column(ctx, change, column_name, op).await
        }
        AlterTableOperation::AddConstraint {
            constraint,
            not_valid,
        } => constraint::add(ctx, change, constraint, *not_valid).await,
        AlterTableOperation::ValidateConstraint { name } => check::validate(change, name),
        AlterTableOperation::DropConstraint {
            if_exists,
            name,
            drop_behavior,
        } => {
            let cascade = matches!(drop_behavior, Some(DropBehavior::Cascade));
            constraint::drop(ctx, change, name, (*if_exists, cascade)).await
        }
        AlterTableOperation::RenameConstraint { old_name, new_name } => {
            constraint::rename(ctx, table, &names::fold(old_name), names::fold(new_name))
        }
        AlterTableOperation::SetOptionsParens { options: list }
        | AlterTableOperation::SetTblProperties {
            table_properties: list,
        } => options::alter(ctx, table, &options::written(list)?),
        AlterTableOperation::DropPrimaryKey { .. } => {
            let name = Ident::with_quote('"', &table.primary_key.name);
            constraint::drop(ctx, change, &name, (false, false)).await
        }
        AlterTableOperation::EnableTrigger { name } => triggers::set(table, name, TriggerState::Enabled),
        AlterTableOperation::DisableTrigger { name } => triggers::set(table, name, TriggerState::Disabled),
        AlterTableOperation::EnableAlwaysTrigger { name } => triggers::set(table, name, TriggerState::Always),
        AlterTableOperation::EnableReplicaTrigger { name } => {
            triggers::set(table, name, TriggerState::Replica)
        }
        other => alter_asked::apply(ctx, table, other),
    }
}

async fn add_column(
    ctx: &StatementContext,
    change: &mut Change,
    written: &sqlparser::ast::ColumnDef,
    if_not_exists: bool,
) -> Result<()> {
    let table = &mut change.table;
    if is_passed_over(ctx, table, &names::fold(&written.name), if_not_exists)? {
        return Ok(());
    }
    let NewColumn {
        mut def,
        primary_key,
        unique,
        checks,
        foreign_keys,
        generation,
        sequence,
    } = column::read(ctx, &table.name, written).await?;
    if let Some(expr) = generation {
        def.default = Some(generation::read(ctx, &table.name, &table.columns, &def, &expr)?);
    }
    let name = Ident::with_quote('"', &def.name);
    let missing = missing_value(ctx, &def).await?;
    let unfilled = match missing {
        Some(missing) => {
            def.missing = missing;
            (def.not_null && def.missing == Value::Null).then(|| contains_null(table, &def.name))
        }
        // It is computed of each row in its place (`backfill`).
        None if def.generation().is_some() && !table.keeps_versions() => None,
        None => {
            // Each row gets a value of its own.
            change.rewrite.get_or_insert_default();
            None
        }
    };
    if let Some(error) = &unfilled
        && !is_empty(&ctx.txn, table).await?
    {
        return Err(error.clone());
    }
    let id = table.add_column(def)?;
    change
        .checks
        .extend(unfilled.map(|error| NoNulls { column: id, error }));
    if let Some(options) = sequence {
        make_sequence(ctx, change, id, &options).await?;
    }
    for new in checks {
        check::add(ctx, change, new, false).await?;
    }
    for new in foreign_keys {
        foreign_key::add(ctx, change, new, false).await?;
    }
    if let Some(constraint) = unique {
        constraint::add_unique_column(ctx, change, constraint, name.clone())?;
    }
    match primary_key {
        Some(constraint) => constraint::add_primary_key(ctx, change, constraint, &[name.into()]),
        None => Ok(()),
    }
}

/// Whether there is a column of this name, and IF NOT EXISTS: whatever else is said of it counts for nothing then. Errors: 42701.
fn is_passed_over(ctx: &StatementContext, table: &TableDef, name: &str, if_not_exists: bool) -> Result<bool> {
    if !table.has_column_named(name) {
        return Ok(false);
    }
    if !if_not_exists {
        return Err(duplicate_column(name, table));
    }
    let message = format!(
        "column \"{name}\" of relation \"{}\" already exists, skipping",
        table.name
    );
    notice(ctx, "42701", message, None);
    Ok(true)
}

/// Makes the sequence of a column that was just added.
async fn make_sequence(
    ctx: &StatementContext,
    change: &mut Change,
    id: ColumnId,
    options: &[SequenceOption],
) -> Result<()> {
    let table = &mut change.table;
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    let of = (table.schema.as_str(), table.name.as_str(), table.oid);
    let at = table.column_index_by_id(id);
    let at = at.ok_or_else(|| Error::internal("a column that was just added"))?;
    let mut taken = change.sequence_names.clone();
    let made = sequence::create_for_column(ctx, &writer, of, &table.columns[at], options, &mut taken);
    let oid = made.await?;
    table.columns[at].set_sequence(oid);
    change.sequence_names = taken;
    Ok(())
}

/// What rows that are there already read the new column as: its default, evaluated once; `None` for one that differs from
/// row to row.
async fn missing_value(ctx: &StatementContext, column: &crate::catalog::ColumnDef) -> Result<Option<Value>> {
    match &column.default {
        // What is to pass a domain is written.
        _ if column.domain.is_some() => Ok(None),
        None => Ok(Some(Value::Null)),
        Some(ColumnDefault::Constant { value, .. }) => Ok(Some(value.clone())),
        Some(ColumnDefault::Expression { sql, .. }) => {
            let expr = dml::parse_expression(sql)?;
            if default::is_volatile(&expr) {
                return Ok(None);
            }
            let of = (&column.ty, column.name.as_str());
            let evaluated = dml::evaluate_stated(ctx, &expr, of, crate::query::Clause::Default);
            evaluated.await.map(Some)
        }
        Some(
            ColumnDefault::Sequence { .. }
            | ColumnDefault::Identity { .. }
            | ColumnDefault::RowId
            | ColumnDefault::Generated(_),
        ) => Ok(None),
    }
}

fn rename_table(ctx: &StatementContext, table: &mut TableDef, name: String) -> Result<()> {
    if ctx.catalog.is_name_taken(&table.schema, &name) {
        return Err(Error::Duplicate {
            kind: DuplicateKind::Relation,
            name,
        });
    }
    table.name = name;
    Ok(())
}

fn rename_column(ctx: &StatementContext, table: &mut TableDef, old: &Ident, new: &Ident) -> Result<()> {
    let (old, new) = (names::fold(old), names::fold(new));
    let at = table.column_index(&old).ok_or_else(|| Error::UndefinedColumn {
        name: format!("\"{old}\""),
        hint: undefined_column(&old, table).hint(),
    })?;
    column_type::check_no_system_column(&new)?;
    if table.has_column_named(&new) {
        return Err(duplicate_column(&new, table));
    }
    generation::rename_input(table, &old, &new)?;
    let id = table.columns[at].id;
    table.columns[at].name.clone_from(&new);
    expiry::follow_rename(table, &old, &new);
    index_expression::print(ctx, table, id)?;
    generation::print(ctx, table, id)?;
    triggers::rename_column(ctx, table, id, &new)?;
    check::rename_column(ctx, table, id, (&old, &new))
}

fn duplicate_column(name: &str, table: &TableDef) -> Error {
    Error::Duplicate {
        kind: DuplicateKind::Column,
        name: format!("{name}\" of relation \"{}", table.name),
    }
}
