//! Constraints of ALTER TABLE: those that are added and dropped, and the primary key, which orders the rows on disk: another
//! one has them written anew ([`super::rewrite`]).

use std::collections::BTreeMap;

use sqlparser::ast::{ConstraintUsingIndex, Ident, IndexColumn, TableConstraint};

use super::check::{self, NewCheck};
use super::create_table::primary_key;
use super::foreign_key::NewForeignKey;
use super::index::NewIndex;
use super::key::{self, KeyKind, NewUnique};
use super::primary_key::{hide_key, set_key};
use super::table_change::Change;
use super::{advice, column_users, column_views, constraint_name, exclusion, foreign_key, notice};
use crate::catalog::{Access, ColumnDef, IndexDef, KeyColumn, MadeName, Object, RelationName, TableDef};
use crate::codec::row::ColumnId;
use crate::error::StatementFault;
use crate::parse::{included, names};
use crate::system::StatementContext;
use crate::{Error, Result};

/// ADD CONSTRAINT. `not_valid`: what is there already need not be as it says. Errors: 42703, 42710, 42P07, 42P16, 0A000.
pub(super) async fn add(
    ctx: &StatementContext,
    change: &mut Change,
    constraint: &TableConstraint,
    not_valid: bool,
) -> Result<()> {
    if let TableConstraint::Check(written) = constraint {
        return check::add(ctx, change, NewCheck::of(written, None), not_valid).await;
    }
    if let TableConstraint::ForeignKey(written) = constraint {
        return foreign_key::add(ctx, change, NewForeignKey::of(written, None), not_valid).await;
    }
    check_may_be_valid(constraint, not_valid)?;
    let table = &change.table;
    match constraint {
        TableConstraint::Unique(unique) => match exclusion::read(unique)? {
            Some(new) => exclusion::add(ctx, change, new),
            None => add_unique(ctx, change, key::read_unique(unique)?),
        },
        TableConstraint::PrimaryKey(written) => {
            key::check_primary_characteristics(written.characteristics.as_ref())?;
            let name = written.name.as_ref();
            let include = included(&written.index_options)?;
            let include = key::included_columns(&include, &table.columns)?;
            add_primary_key(ctx, change, name.map(names::fold), &written.columns)?;
            change.table.primary_key.include = include;
            Ok(())
        }
        TableConstraint::PrimaryKeyUsingIndex(using) => {
            check_no_key(table)?;
            let index = usable_index(ctx, table, using)?;
            foreign_key::check_unused(ctx, table, &index)?;
            let name = promoted_name(ctx, table, &index, using)?;
            change.table.indexes.retain(|kept| kept.id != index.id);
            set_key(&mut change.table, name, true, index.columns);
            change.rewrite.get_or_insert_default().rekeyed = true;
            change.table.primary_key.include = index.include;
            Ok(())
        }
        TableConstraint::UniqueUsingIndex(using) => {
            let index = usable_index(ctx, table, using)?;
            let name = promoted_name(ctx, table, &index, using)?;
            let promoted = change.table.indexes.iter_mut();
            promoted
                .filter(|kept| kept.id == index.id)
                .for_each(|kept| (kept.name, kept.constraint) = (name.clone(), true));
            Ok(())
        }
        other => Err(Error::unsupported(format!("ADD {other}"), None)),
    }
}

/// ADD COLUMN … UNIQUE.
pub(super) fn add_unique_column(
    ctx: &StatementContext,
    change: &mut Change,
    unique: NewUnique,
    column: Ident,
) -> Result<()> {
    let columns = vec![column.into()];
    add_unique(ctx, change, NewUnique { columns, ..unique })
}

fn add_unique(ctx: &StatementContext, change: &mut Change, unique: NewUnique) -> Result<()> {
    let table = &change.table;
    let columns = key::key_columns(KeyKind::Unique, &unique.columns, &table.columns)?;
    let include = key::included_columns(&unique.include, &table.columns)?;
    let name = constraint_name(ctx, change, unique.name, &columns, &include)?;
    advice::check_constraint(ctx, &change.table, Some((name.as_str(), columns.as_slice())))?;
    change.indexes.push(NewIndex {
        name,
        columns,
        include,
        expressions: Vec::new(),
        buckets: None,
        predicate: None,
        terms: None,
        classes: BTreeMap::new(),
        unique: unique.deferral.is_none(),
        nulls_not_distinct: unique.nulls_not_distinct,
        constraint: true,
        deferral: unique.deferral,
        exclusion: None,
        options: BTreeMap::new(),
    });
    Ok(())
}

/// ADD PRIMARY KEY: with a hash before it, too, and in the buckets that the table has been given. Errors: 42P16, 42P07,
/// 42703.
pub(super) fn add_primary_key(
    ctx: &StatementContext,
    change: &mut Change,
    given: Option<String>,
    written: &[IndexColumn],
) -> Result<()> {
    let table = &change.table;
    check_no_key(table)?;
    let name = match given {
        // The key that it takes the place of has a name, too, which nobody sees.
        Some(name) if name != table.primary_key.name => {
            key::check_free(ctx, &table.schema, &name)?;
            name
        }
        Some(name) => name,
        None => {
            let is_taken = |name: &str| ctx.catalog.is_name_taken(&table.schema, name);
            let base = MadeName::of_table(&table.name, "pkey");
            base.free(|name| name == table.primary_key.name || !is_taken(name))
        }
    };
    let key = new_key(ctx, &mut change.table, written)?;
    set_key(&mut change.table, name, true, key);
    advice::check_constraint(ctx, &change.table, None)?;
    change.rewrite.get_or_insert_default().rekeyed = true;
    Ok(())
}

/// The key columns of another primary key of a table, which gets the hidden columns that are computed for it behind its others, and loses
/// those that were. Errors: as [`primary_key`].
pub(super) fn new_key(
    ctx: &StatementContext,
    table: &mut TableDef,
    written: &[IndexColumn],
) -> Result<Vec<KeyColumn>> {
    let mut columns: Vec<ColumnDef> = table.columns.clone();
    columns.retain(|column| !column.hidden || is_of_index(table, column.id));
    let declared = columns.len();
    let primary = Some((None, written.to_vec()));
    let buckets = table.options.buckets;
    let Some((_, mut key)) = primary_key(ctx, &table.name, &mut columns, (primary, buckets))? else {
        return Err(Error::internal("a primary key without columns"));
    };
    // A column that is computed for the key has the id of its place in a table that is created.
    let first = table.next_column_id;
    table.next_column_id += (columns.len() - declared) as ColumnId;
    // The last first, so that none takes the id that another still has.
    for (place, hidden) in columns[declared..].iter_mut().enumerate().rev() {
        let id = first + place as ColumnId;
        key.iter_mut()
            .filter(|part| part.column == hidden.id)
            .for_each(|part| part.column = id);
        hidden.id = id;
    }
    table.columns = columns;
    Ok(key)
}

/// Whether a hidden column is computed for an index.
fn is_of_index(table: &TableDef, id: ColumnId) -> bool {
    let mut indexes = table.indexes.iter();
    indexes.any(|index| index.computed_columns().any(|computed| computed == id))
}

/// DROP CONSTRAINT. Errors: 42704.
pub(super) async fn drop(
    ctx: &StatementContext,
    change: &mut Change,
    name: &Ident,
    (if_exists, cascade): (bool, bool),
) -> Result<()> {
    let name = names::fold(name);
    let table = &mut change.table;
    let named = |index: &&IndexDef| index.constraint && index.name == name;
    let index = table.all_indexes().find(named).cloned();
    if let Some(index) = index {
        let object = format!("constraint {name} on table {}", table.name);
        foreign_key::release_key(ctx, table, &index, (&object, cascade))?;
    }
    if table.primary_key.constraint && table.primary_key.name == name {
        let object = format!("constraint {name} on table {}", table.name);
        column_users::drop_all(ctx, column_views::of_primary_key(ctx, table), object, cascade).await?;
        hide_key(table);
        change.rewrite.get_or_insert_default().rekeyed = true;
        return Ok(());
    }
    if table.foreign_key(&name).is_some() {
        table.foreign_keys.retain(|key| key.name != name);
        return Ok(());
    }
    if table.check(&name).is_some() {
        table.checks.retain(|check| check.name != name);
        return Ok(());
    }
    let known = table.indexes.len();
    table
        .indexes
        .retain(|index| !(index.constraint && index.name == name));
    if table.indexes.len() < known {
        return Ok(());
    }
    if table.constraint_trigger(&name).is_some() {
        let of = format!("on table {}", table.name);
        return Err(Error::InvalidStatement {
            state: StatementFault::DependentObjects,
            message: format!("cannot drop constraint {name} {of} because trigger {name} {of} requires it"),
            hint: Some(format!("You can drop trigger {name} {of} instead.")),
        });
    }
    if if_exists {
        let message = format!(
            "constraint \"{name}\" of relation \"{}\" does not exist, skipping",
            table.name
        );
        notice(ctx, "00000", message, None);
        return Ok(());
    }
    Err(constraint_name::undefined(&name, table))
}

/// The primary key goes with a column of it. Errors: as [`drop`].
pub(super) async fn drop_key_over(
    ctx: &StatementContext,
    change: &mut Change,
    column: &Ident,
    cascade: bool,
) -> Result<()> {
    let table = &change.table;
    let at = table.column_index(&names::fold(column));
    let Some(column) = at.map(|at| table.columns[at].clone()) else {
        return Ok(());
    };
    if !table.primary_key.constraint || !table.is_key_column(column.id) {
        return Ok(());
    }
    let key = Ident::with_quote('"', &table.primary_key.name);
    if !cascade {
        // Said of the column.
        foreign_key::release_column(ctx, &mut change.table, &column, cascade)?;
    }
    drop(ctx, change, &key, (false, cascade)).await
}

/// RENAME CONSTRAINT. Errors: 42704, 42P07.
pub(super) fn rename(ctx: &StatementContext, table: &mut TableDef, old: &str, new: String) -> Result<()> {
    if table.has_constraint(old) && table.has_constraint(&new) {
        return Err(constraint_name::taken(&new, table));
    }
    if let Some(key) = table.foreign_keys.iter_mut().find(|key| key.name == old) {
        key.name = new;
        table.foreign_keys.sort_by(|a, b| a.name.cmp(&b.name));
        return Ok(());
    }
    if table.check(old).is_some() {
        check::rename(table, old, new);
        return Ok(());
    }
    key::check_free(ctx, &table.schema, &new)?;
    let indexes = std::iter::once(&mut table.primary_key).chain(&mut table.indexes);
    match indexes
        .into_iter()
        .find(|index| index.constraint && index.name == old)
    {
        Some(index) => {
            index.name = new;
            Ok(())
        }
        None => Err(Error::UndefinedObject {
            kind: "constraint",
            name: format!("{old}\" for table \"{}", table.name),
        }),
    }
}

fn check_no_key(table: &TableDef) -> Result<()> {
    match table.has_hidden_key() {
        true => Ok(()),
        false => Err(Error::InvalidStatement {
            state: StatementFault::InvalidTableDefinition,
            message: format!(
                "multiple primary keys for table \"{}\" are not allowed",
                table.name
            ),
            hint: Some(format!(
                "Put DROP CONSTRAINT {} before it, in the same ALTER TABLE.",
                table.primary_key.name
            )),
        }),
    }
}

/// The name of a new UNIQUE constraint: as given, if free, else made of its columns.
fn constraint_name(
    ctx: &StatementContext,
    change: &Change,
    given: Option<String>,
    columns: &[KeyColumn],
    include: &[ColumnId],
) -> Result<String> {
    let table = &change.table;
    let taken: Vec<String> = change.indexes.iter().map(|index| index.name.clone()).collect();
    if let Some(name) = given {
        key::check_free(ctx, &table.schema, &name)?;
        return Ok(name);
    }
    let ids = columns
        .iter()
        .map(|key| key.column)
        .chain(include.iter().copied());
    let base = MadeName::of_column_ids(&table.name, ids, &table.columns, "key");
    Ok(base.free_in(&ctx.catalog, &table.schema, &taken))
}

/// The index that becomes a constraint's. Errors: 42704, 55000, 42809.
fn usable_index(ctx: &StatementContext, table: &TableDef, using: &ConstraintUsingIndex) -> Result<IndexDef> {
    key::check_index_characteristics(using.characteristics.as_ref())?;
    let name = names::fold(&using.index_name);
    let Some(index) = table.indexes.iter().find(|index| index.name == name) else {
        let elsewhere = RelationName::in_schema(&table.schema, &name);
        return Err(match ctx.catalog.get_relation(elsewhere, Access::Name)? {
            Some(Object::Index(..)) => Error::NotInState {
                message: format!("index \"{name}\" does not belong to table \"{}\"", table.name),
            },
            _ => Error::UndefinedObject { kind: "index", name },
        });
    };
    if index.constraint {
        return Err(Error::NotInState {
            message: format!("index \"{name}\" is already associated with a constraint"),
        });
    }
    if !index.is_complete() {
        return Err(Error::NotInState {
            message: format!("index \"{name}\" is not valid"),
        });
    }
    let wrong = |message: String, hint: &str| Error::InvalidStatement {
        state: StatementFault::WrongObjectType,
        message,
        hint: Some(hint.to_string()),
    };
    if !index.is_plain() {
        let message = match index.predicate {
            Some(_) => format!("\"{name}\" is a partial index"),
            None => format!("index \"{name}\" contains expressions"),
        };
        return Err(wrong(
            message,
            "Cannot create a primary key or unique constraint using such an index.",
        ));
    }
    if !index.unique {
        return Err(wrong(
            format!("\"{name}\" is not a unique index"),
            "Cannot create a primary key or unique constraint using such an index.",
        ));
    }
    if let Some(at) = index
        .columns
        .iter()
        .position(|part| part.descending || part.nulls_first)
    {
        return Err(wrong(
            format!(
                "index \"{name}\" column number {} does not have default sorting behavior",
                at + 1
            ),
            "Cannot create a primary key or unique constraint using such an index.",
        ));
    }
    Ok(index.clone())
}

/// The name of a constraint that takes an index over. Errors: 42P07.
fn promoted_name(
    ctx: &StatementContext,
    table: &TableDef,
    index: &IndexDef,
    using: &ConstraintUsingIndex,
) -> Result<String> {
    let name = using
        .name
        .as_ref()
        .map_or_else(|| index.name.clone(), names::fold);
    if name != index.name {
        key::check_free(ctx, &table.schema, &name)?;
        let message = format!(
            "ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"{}\" to \"{name}\"",
            index.name
        );
        notice(ctx, "00000", message, None);
    }
    Ok(name)
}

/// Errors: 0A000 for NOT VALID behind what is an index.
fn check_may_be_valid(constraint: &TableConstraint, not_valid: bool) -> Result<()> {
    let kind = match constraint {
        _ if !not_valid => return Ok(()),
        TableConstraint::PrimaryKey(_) | TableConstraint::PrimaryKeyUsingIndex(_) => "PRIMARY KEY",
        _ => "UNIQUE",
    };
    Err(Error::InvalidStatement {
        state: StatementFault::NotImplemented,
        message: format!("{kind} constraints cannot be marked NOT VALID"),
        hint: None,
    })
}
