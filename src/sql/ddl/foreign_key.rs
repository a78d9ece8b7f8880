//! Foreign keys of CREATE TABLE and ALTER TABLE: read, named and added; and what must not go as long as one refers to it. What follows
//! the rows stands in `sql::dml`.

use std::sync::Arc;

use sqlparser::ast::{
    self, ConstraintCharacteristics, ConstraintReferenceMatchKind, DeferrableInitial, Ident,
};

use super::referenced_table::referenced_table;
use super::table_change::Change;
use super::{constraint_name, notice_cascade, verification};
use crate::catalog::{
    Catalog, CatalogWriter, ColumnDef, ForeignKey, IndexDef, MadeName, ReferentialAction, TableDef,
};
use crate::codec::row::ColumnId;
use crate::error::StatementFault;
use crate::parse::quoting::quote_ident;
use crate::parse::{names, set_columns};
use crate::sql::dml;
use crate::store::LockMode;
use crate::system::{Notice, StatementContext};
use crate::types::SqlType;
use crate::{Error, Result};

/// A foreign key, with its table.
pub(super) type Reference<'a> = (&'a Arc<TableDef>, &'a ForeignKey);

/// A FOREIGN KEY as written.
pub(super) struct NewForeignKey {
    /// Its name, if given.
    name: Option<String>,
    written: ast::ForeignKeyConstraint,
}

impl NewForeignKey {
    /// `column`: the one whose definition has it, with the constraint's name.
    pub(super) fn of(
        written: &ast::ForeignKeyConstraint,
        column: Option<(&Ident, Option<String>)>,
    ) -> NewForeignKey {
        let mut written = written.clone();
        let name = match column {
            Some((column, name)) => {
                written.columns = vec![column.clone()];
                name
            }
            None => written.name.as_ref().map(names::fold),
        };
        NewForeignKey { name, written }
    }
}

/// Adds a foreign key to a table that has its columns; answers it. Errors: 42710, 42P01, 42809, 42703, 42830, 42804, 0A000.
pub(super) async fn define(
    ctx: &StatementContext,
    table: &mut TableDef,
    new: NewForeignKey,
    not_valid: bool,
) -> Result<ForeignKey> {
    let NewForeignKey { name, written } = new;
    let (deferrable, initially_deferred) = deferral(written.characteristics.as_ref())?;
    let match_full = match written.match_kind {
        Some(ConstraintReferenceMatchKind::Partial) => {
            return Err(Error::unsupported(
                "MATCH PARTIAL",
                Some("Use MATCH FULL or MATCH SIMPLE."),
            ));
        }
        kind => matches!(kind, Some(ConstraintReferenceMatchKind::Full)),
    };
    if let Some(name) = name.as_ref().filter(|name| table.has_constraint(name)) {
        return Err(constraint_name::taken(name, table));
    }
    let referenced = referenced_table(ctx, table, &written.foreign_table)?;
    check_persistence(table, &referenced)?;
    let columns = column_ids(table, &written.columns)?;
    let (referred, set) = set_columns::split(&written.referred_columns);
    let (key, ids) = referenced_key(&referenced, &referred)?;
    if ids.len() != columns.len() {
        return Err(fault(
            StatementFault::InvalidForeignKey,
            "number of referencing and referenced columns for foreign key disagree".to_string(),
        ));
    }
    let name = match name {
        Some(name) => name,
        None => {
            let names: Vec<String> = written.columns.iter().map(names::fold).collect();
            let names = names.iter().map(String::as_str);
            constraint_name::free(ctx, table, MadeName::of_columns(&table.name, names, "fkey"))
        }
    };
    check_comparable(&name, (table, &columns), (&referenced, &ids))?;
    let set_columns = columns_to_set(table, &columns, &set)?;
    let foreign_key = ForeignKey {
        oid: ctx.sequences.object_ids().take_oid().await?,
        name,
        columns,
        table: referenced.oid,
        referenced: ids,
        key,
        match_full,
        on_delete: action(written.on_delete),
        set_columns,
        on_update: action(written.on_update),
        not_valid,
        deferrable,
        initially_deferred,
        comment: None,
    };
    check_settable(table, &foreign_key)?;
    if !table.is_temporary() {
        advise(ctx, table, &referenced, &foreign_key);
    }
    table.foreign_keys.push(foreign_key.clone());
    table.foreign_keys.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(foreign_key)
}

/// What lasts must not rest on what goes sooner. Errors: 42P16.
fn check_persistence(table: &TableDef, referenced: &TableDef) -> Result<()> {
    let message = if table.is_temporary() {
        match referenced.is_temporary() {
            true => return Ok(()),
            false => "constraints on temporary tables may reference only temporary tables",
        }
    } else if referenced.is_temporary() {
        match table.options.unlogged {
            true => "constraints on unlogged tables may reference only permanent or unlogged tables",
            false => "constraints on permanent tables may reference only permanent tables",
        }
    } else if referenced.options.unlogged && !table.options.unlogged {
        "constraints on permanent tables may reference only permanent tables"
    } else {
        return Ok(());
    };
    Err(fault(StatementFault::InvalidTableDefinition, message.to_string()))
}

/// Whether it may be asked when the transaction commits, and whether it is. Errors: 42601.
pub(super) fn deferral(written: Option<&ConstraintCharacteristics>) -> Result<(bool, bool)> {
    let said = written.and_then(|written| written.deferrable);
    let later = written.is_some_and(|written| written.initially == Some(DeferrableInitial::Deferred));
    deferral_of(said, later)
}

fn deferral_of(said: Option<bool>, later: bool) -> Result<(bool, bool)> {
    match (said, later) {
        (Some(false), true) => Err(fault(
            StatementFault::Syntax,
            "constraint declared INITIALLY DEFERRED must be DEFERRABLE".to_string(),
        )),
        (said, later) => Ok((said == Some(true) || later, later)),
    }
}

/// ADD FOREIGN KEY. Errors: as [`define`].
pub(super) async fn add(
    ctx: &StatementContext,
    change: &mut Change,
    new: NewForeignKey,
    not_valid: bool,
) -> Result<()> {
    let key = define(ctx, &mut change.table, new, not_valid).await?;
    change.foreign_keys.push((key, !not_valid));
    Ok(())
}

/// ALTER CONSTRAINT: when the foreign key of this name is asked. Errors: 42601, 42704, 42809.
pub(super) fn alter(
    ctx: &StatementContext,
    table: &mut TableDef,
    constraint: &str,
    (deferrable, later): (Option<bool>, bool),
) -> Result<()> {
    let (deferrable, initially_deferred) = deferral_of(deferrable, later)?;
    if !table.has_constraint(constraint) {
        return Err(constraint_name::undefined(constraint, table));
    }
    let of = table.name.clone();
    let key = table.foreign_keys.iter_mut().find(|key| key.name == constraint);
    let key = key.ok_or_else(|| {
        fault(
            StatementFault::WrongObjectType,
            format!("constraint \"{constraint}\" of relation \"{of}\" is not a foreign key constraint"),
        )
    })?;
    (key.deferrable, key.initially_deferred) = (deferrable, initially_deferred);
    let key = key.clone();
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    touch_referenced(ctx, &writer, table, &[key])
}

/// Nobody writes rows of the tables that new foreign keys refer to until these are there: who did so before knows of none. Errors: 40P01,
/// 55P03.
pub(super) async fn shut_writers_out(
    ctx: &StatementContext,
    table: &TableDef,
    keys: &[ForeignKey],
) -> Result<()> {
    for referenced in referenced_by(ctx, table, keys)? {
        verification::shut_writers_out(ctx, &referenced, LockMode::ShareRowExclusive).await?;
    }
    Ok(())
}

/// Writes the records of the tables that new foreign keys refer to anew, so that who has planned a write to one plans it again.
pub(super) fn touch_referenced(
    ctx: &StatementContext,
    writer: &CatalogWriter<'_>,
    table: &TableDef,
    keys: &[ForeignKey],
) -> Result<()> {
    for referenced in referenced_by(ctx, table, keys)? {
        writer.put_table_in(TableDef::clone(&referenced), LockMode::ShareRowExclusive)?;
    }
    Ok(())
}

/// The tables that the foreign keys of one refer to, but for itself, each once, with the partitions that have their rows: who writes these
/// has locked no more than the partition.
fn referenced_by(
    ctx: &StatementContext,
    table: &TableDef,
    keys: &[ForeignKey],
) -> Result<Vec<Arc<TableDef>>> {
    let mut found: Vec<Arc<TableDef>> = Vec::new();
    for key in keys.iter().filter(|key| key.table != table.oid) {
        let Some(referenced) = ctx.catalog.table_by_oid(key.table) else {
            continue;
        };
        for part in ctx.tree_of(referenced)? {
            if part.oid != table.oid && found.iter().all(|known| known.oid != part.oid) {
                found.push(part);
            }
        }
    }
    Ok(found)
}

/// Asks the rows that are there. Errors: 23503.
pub(super) async fn verify(
    ctx: &StatementContext,
    table: &TableDef,
    keys: &[(ForeignKey, bool)],
) -> Result<()> {
    for (key, _) in keys.iter().filter(|(_, verifies)| *verifies) {
        dml::verify_foreign_key(ctx, table, key).await?;
    }
    Ok(())
}

/// Takes off the foreign keys that refer to an index of a table. Errors: 2BP01 without CASCADE. `object`: what is dropped, in
/// PostgreSQL's words.
pub(super) fn release_key(
    ctx: &StatementContext,
    table: &mut TableDef,
    index: &IndexDef,
    (object, cascade): (&str, bool),
) -> Result<()> {
    let line = format!("index {}", index.name);
    release(ctx, table, |key| key.key == index.oid, (object, &line, cascade))
}

/// The same of a column.
pub(super) fn release_column(
    ctx: &StatementContext,
    table: &mut TableDef,
    column: &ColumnDef,
    cascade: bool,
) -> Result<()> {
    let object = format!("column {} of table {}", column.name, table.name);
    let id = column.id;
    release(
        ctx,
        table,
        |key| key.referenced.contains(&id),
        (&object, &object, cascade),
    )
}

fn release(
    ctx: &StatementContext,
    table: &mut TableDef,
    is_wanted: impl Fn(&ForeignKey) -> bool,
    (object, depended_on, cascade): (&str, &str, bool),
) -> Result<()> {
    let of_table = ctx.catalog.references_to(table.oid);
    let users: Vec<_> = of_table.filter(|(_, key)| is_wanted(key)).collect();
    let users: Vec<_> = users
        .into_iter()
        .filter(|(by, key)| by.oid != table.oid || table.foreign_key(&key.name).is_some())
        .collect();
    if users.is_empty() {
        return Ok(());
    }
    if !cascade {
        let line = |user| format!("{} depends on {depended_on}", described(user));
        return Err(Error::DependentObjects {
            object: object.to_string(),
            dependents: users.iter().map(line).collect(),
        });
    }
    notice_cascade(ctx, &users.iter().map(described).collect::<Vec<_>>());
    let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
    for (by, key) in users {
        match by.oid == table.oid {
            true => table.foreign_keys.retain(|own| own.oid != key.oid),
            false => {
                let mut without = TableDef::clone(by);
                without
                    .foreign_keys
                    .retain(|own| own.oid != key.oid && !is_wanted(own));
                writer.put_table(without)?;
            }
        }
    }
    Ok(())
}

/// The foreign keys of tables that stay and that refer to tables among those with these oids.
pub(super) fn referring_to<'a>(catalog: &'a Catalog, gone: &[u32]) -> Vec<Reference<'a>> {
    let mut found = Vec::new();
    for table in gone.iter().filter_map(|oid| catalog.table_by_oid(*oid)) {
        for (by, key) in catalog.references_to_rows_of(table) {
            let is_known = found
                .iter()
                .any(|(_, known): &Reference<'_>| known.oid == key.oid);
            if !is_known && !gone.contains(&by.oid) {
                found.push((by, key));
            }
        }
    }
    found
}

/// As messages name one.
pub(super) fn described((by, key): &Reference<'_>) -> String {
    format!("constraint {} on table {}", key.name, by.name)
}

/// Errors: 2BP01 for an index that a foreign key refers to.
pub(super) fn check_unused(ctx: &StatementContext, table: &TableDef, index: &IndexDef) -> Result<()> {
    let object = format!("index {}", index.name);
    release_key(ctx, &mut table.clone(), index, (&object, false))
}

/// Whether a column is one that a foreign key is over, or refers to.
pub(super) fn uses_column(ctx: &StatementContext, table: &TableDef, id: ColumnId) -> bool {
    let refers = table.foreign_keys.iter().any(|key| key.columns.contains(&id));
    refers
        || ctx
            .catalog
            .references_to(table.oid)
            .any(|(_, key)| key.referenced.contains(&id))
}

/// The key over the columns named, or the primary key: its oid, and the columns. Errors: 42703, 42830, 42704.
fn referenced_key(referenced: &TableDef, named: &[Ident]) -> Result<(u32, Vec<ColumnId>)> {
    if named.is_empty() {
        if !referenced.primary_key.constraint {
            return Err(fault(
                StatementFault::UndefinedObject,
                format!(
                    "there is no primary key for referenced table \"{}\"",
                    referenced.name
                ),
            ));
        }
        let key = referenced.primary_key.columns.iter().map(|part| part.column);
        let visible = key.filter(|id| {
            let at = referenced.column_index_by_id(*id);
            at.is_some_and(|at| !referenced.columns[at].hidden)
        });
        return Ok((referenced.primary_key.oid, visible.collect()));
    }
    let ids = column_ids(referenced, named)?;
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    let spans = |index: &IndexDef| {
        let columns = index.columns.iter().map(|part| part.column);
        let mut columns: Vec<ColumnId> = columns
            .filter(|id| {
                let at = referenced.column_index_by_id(*id);
                at.is_some_and(|at| !referenced.columns[at].hidden)
            })
            .collect();
        columns.sort_unstable();
        columns
    };
    let fits =
        |index: &&IndexDef| index.unique && index.is_complete() && index.is_plain() && spans(index) == sorted;
    let is_deferrable = |index: &&IndexDef| index.deferral.is_some() && spans(index) == sorted;
    if !referenced.all_indexes().any(|index| fits(&index))
        && referenced.all_indexes().any(|index| is_deferrable(&index))
    {
        return Err(fault(
            StatementFault::NotInPrerequisiteState,
            format!(
                "cannot use a deferrable unique constraint for referenced table \"{}\"",
                referenced.name
            ),
        ));
    }
    let index = referenced.all_indexes().find(fits);
    let index = index.filter(|index| index.id != 0 || !referenced.has_hidden_key());
    let no_key = || {
        fault(
            StatementFault::InvalidForeignKey,
            format!(
                "there is no unique constraint matching given keys for referenced table \"{}\"",
                referenced.name
            ),
        )
    };
    Ok((index.ok_or_else(no_key)?.oid, ids))
}

/// Errors: 42703.
fn column_ids(table: &TableDef, named: &[Ident]) -> Result<Vec<ColumnId>> {
    let id = |name: &Ident| {
        let name = names::fold(name);
        let at = table.column_index(&name).ok_or_else(|| Error::UndefinedColumn {
            name: format!("\"{name}\" referenced in foreign key constraint"),
            hint: None,
        })?;
        Ok(table.columns[at].id)
    };
    named.iter().map(id).collect()
}

/// The columns that ON DELETE SET names. Errors: 42703, 42P10.
fn columns_to_set(table: &TableDef, referring: &[ColumnId], named: &[String]) -> Result<Vec<ColumnId>> {
    let mut set = Vec::with_capacity(named.len());
    for name in named {
        let [id] = column_ids(table, &[Ident::with_quote('"', name)])?[..] else {
            continue;
        };
        if !referring.contains(&id) {
            return Err(fault(
                StatementFault::InvalidColumnReference,
                format!("column \"{name}\" referenced in ON DELETE SET action must be part of foreign key"),
            ));
        }
        if !set.contains(&id) {
            set.push(id);
        }
    }
    Ok(set)
}

/// Errors: 42804 for columns that are not compared with each other.
pub(super) fn check_comparable(
    name: &str,
    (table, columns): (&TableDef, &[ColumnId]),
    (referenced, ids): (&TableDef, &[ColumnId]),
) -> Result<()> {
    let column = |table: &TableDef, id: &ColumnId| {
        let at = table.column_index_by_id(*id)?;
        Some(table.columns[at].clone())
    };
    let pairs = columns.iter().zip(ids);
    for (own, other) in
        pairs.filter_map(|(own, other)| Some((column(table, own)?, column(referenced, other)?)))
    {
        if !is_comparable(&own.ty, &other.ty) {
            return Err(Error::IncomparableReference {
                constraint: name.to_string(),
                detail: format!(
                    "Key columns \"{}\" and \"{}\" are of incompatible types: {} and {}.",
                    own.name,
                    other.name,
                    own.ty.full_base_name(),
                    other.ty.full_base_name()
                ),
            });
        }
    }
    Ok(())
}

/// Whether values of one type are compared with those of the other: by an operator for the two, or as values of the other, which they
/// become by themselves.
fn is_comparable(own: &SqlType, other: &SqlType) -> bool {
    use SqlType::{Char, Date, Enum, Float4, Float8, Numeric, Text, Timestamp, Varchar};
    match (own, other) {
        (own, other) if own.is_integer() => {
            other.is_integer() || matches!(other, Numeric(_) | Float4 | Float8)
        }
        (Numeric(_), Numeric(_) | Float4 | Float8) => true,
        (Float4 | Float8, Float4 | Float8) => true,
        (Date | Timestamp(_), Date | Timestamp(_)) => true,
        (Text | Varchar(_) | Char(_), Text | Varchar(_) | Char(_)) => true,
        (Enum(own), Enum(other)) => own == other,
        (own, other) => {
            std::mem::discriminant(own) == std::mem::discriminant(other)
                && own.arrow_type() == other.arrow_type()
        }
    }
}

/// Errors: 42P17 for SET NULL and CASCADE of a generated column, as PostgreSQL has it.
fn check_settable(table: &TableDef, key: &ForeignKey) -> Result<()> {
    let is_generated = |ids: &[ColumnId]| {
        ids.iter().any(|id| {
            let at = table.column_index_by_id(*id);
            at.is_some_and(|at| table.columns[at].generation().is_some())
        })
    };
    let sets = |action| matches!(action, ReferentialAction::SetNull | ReferentialAction::SetDefault);
    let (clause, set) = if key.on_update == ReferentialAction::Cascade || sets(key.on_update) {
        ("ON UPDATE", key.columns.as_slice())
    } else if sets(key.on_delete) {
        ("ON DELETE", key.columns_set())
    } else {
        return Ok(());
    };
    match is_generated(set) {
        false => Ok(()),
        true => Err(fault(
            StatementFault::Syntax,
            format!("invalid {clause} action for foreign key constraint containing generated column"),
        )),
    }
}

fn action(written: Option<ast::ReferentialAction>) -> ReferentialAction {
    match written {
        None | Some(ast::ReferentialAction::NoAction) => ReferentialAction::NoAction,
        Some(ast::ReferentialAction::Restrict) => ReferentialAction::Restrict,
        Some(ast::ReferentialAction::Cascade) => ReferentialAction::Cascade,
        Some(ast::ReferentialAction::SetNull) => ReferentialAction::SetNull,
        Some(ast::ReferentialAction::SetDefault) => ReferentialAction::SetDefault,
    }
}

/// Says so where no key leads from what is referred to to the rows that refer.
fn advise(ctx: &StatementContext, table: &TableDef, referenced: &TableDef, key: &ForeignKey) {
    let leads = |index: &IndexDef| {
        let first = index.columns.iter().map(|part| part.column).find(|id| {
            let at = table.column_index_by_id(*id);
            at.is_some_and(|at| !table.columns[at].hidden)
        });
        first.is_some_and(|first| key.columns.contains(&first))
    };
    if table.all_indexes().any(leads) {
        return;
    }
    let named = key
        .columns
        .iter()
        .filter_map(|id| table.columns.get(table.column_index_by_id(*id)?));
    let named: Vec<String> = named.map(|column| quote_ident(&column.name)).collect();
    ctx.notice(Notice {
        hint: Some(format!(
            "CREATE INDEX ON {} ({}) would lead to the rows that refer to it.",
            quote_ident(&table.name),
            named.join(", ")
        )),
        ..Notice::new(
            "00000",
            format!(
                "all of \"{}\" is read whenever a row of \"{}\" is deleted or gets another key",
                table.name, referenced.name
            ),
        )
    });
}

fn fault(state: StatementFault, message: String) -> Error {
    Error::InvalidStatement {
        state,
        message,
        hint: None,
    }
}
