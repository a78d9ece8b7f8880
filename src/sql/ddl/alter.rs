//! ALTER TABLE: columns, names, defaults, NOT NULL, constraints, options. No operation rewrites rows.

use sqlparser::ast::{
    AlterColumnOperation, AlterTable, AlterTableOperation, DropBehavior, Ident, RenameTableNameKind,
    TableConstraint,
};

use super::column::{self, NewColumn};
use super::index::{self, Completion, NewIndex};
use super::key::{self, KeyKind};
use super::unverified::{self, NoNulls};
use super::{default, free_name, generation, notice, options, table};
use crate::catalog::{
    CatalogWriter, ColumnDef, ColumnDefault, IndexDef, TableDef, Unverified, dependents_key, nearest_name,
    written_key,
};
use crate::codec::row::ColumnId;
use crate::error::{DuplicateKind, StatementFault};
use crate::exec::StatementContext;
use crate::parse::names;
use crate::parse::type_name;
use crate::sql::dml;
use crate::table::{Sequences, has_null, is_empty};
use crate::types::{SqlType, Value};
use crate::{Error, Result};

/// Runs ALTER TABLE.
pub(super) async fn execute(ctx: &StatementContext, alter: &AlterTable) -> Result<String> {
    let (schema, name) = names::relation_name(&alter.name)?;
    if alter.if_exists
        && ctx
            .catalog
            .get_relation(schema.as_deref(), &name, &ctx.settings.search_path)
            .is_none()
    {
        notice(
            ctx,
            "00000",
            format!("relation \"{name}\" does not exist, skipping"),
            None,
        );
        return Ok("ALTER TABLE".to_string());
    }
    let old = table(ctx, &alter.name)?;
    let mut new = TableDef::clone(&old);
    let (mut indexes, mut checks) = (Vec::new(), Vec::new());
    for operation in &alter.operations {
        apply(ctx, &mut new, operation, &mut indexes, &mut checks).await?;
    }
    let in_phases = !checks.is_empty() && !ctx.in_block && alter.operations.iter().all(can_be_taken_back);
    if in_phases {
        unverified::mark(&old, &mut new, &checks);
    } else if !checks.is_empty() {
        ctx.txn.guard(&written_key(old.id));
    }
    if new != *old || in_phases {
        let writer = CatalogWriter::begin(&ctx.txn, &ctx.catalog)?;
        for index in old
            .indexes
            .iter()
            .filter(|index| new.indexes.iter().all(|kept| kept.id != index.id))
        {
            writer.drop_keys(old.id, index.id)?;
        }
        new = TableDef::clone(&*writer.put_table(new)?);
    }
    if in_phases {
        unverified::publish(ctx, &new, checks).await?;
    }
    match (indexes.len(), new == *old) {
        (0, _) => {}
        (1, true) => {
            for new_index in indexes {
                index::add(ctx, &old, new_index, Completion::Awaited).await?;
            }
        }
        _ => {
            return Err(Error::unsupported(
                "ADD UNIQUE beside other changes in one ALTER TABLE",
                Some("Add each unique constraint in a statement of its own."),
            ));
        }
    }
    Ok("ALTER TABLE".to_string())
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

/// `checks`: what must hold of all rows; it holds of those that the transaction sees.
async fn apply(
    ctx: &StatementContext,
    table: &mut TableDef,
    operation: &AlterTableOperation,
    indexes: &mut Vec<NewIndex>,
    checks: &mut Vec<NoNulls>,
) -> Result<()> {
    match operation {
        AlterTableOperation::AddColumn {
            if_not_exists,
            column_def,
            column_position: None,
            ..
        } => add_column(ctx, table, column_def, *if_not_exists, checks).await,
        AlterTableOperation::DropColumn {
            column_names,
            if_exists,
            drop_behavior,
            ..
        } => {
            let cascade = matches!(drop_behavior, Some(DropBehavior::Cascade));
            column_names
                .iter()
                .try_for_each(|name| drop_column(ctx, table, name, *if_exists, cascade))
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
            alter_column(ctx, table, column_name, op, checks).await
        }
        AlterTableOperation::AddConstraint { constraint, .. } => {
            let unique = add_constraint(ctx, table, constraint)?;
            indexes.push(unique);
            Ok(())
        }
        AlterTableOperation::DropConstraint { if_exists, name, .. } => {
            drop_constraint(ctx, table, name, *if_exists)
        }
        AlterTableOperation::RenameConstraint { old_name, new_name } => {
            rename_constraint(ctx, table, &names::fold(old_name), names::fold(new_name))
        }
        AlterTableOperation::SetOptionsParens { options: list }
        | AlterTableOperation::SetTblProperties {
            table_properties: list,
        } => {
            let buckets = table.options.buckets;
            options::set_all(&mut table.options, list)?;
            match table.options.buckets == buckets {
                true => Ok(()),
                false => Err(changed_key(table)),
            }
        }
        // Whoever connects owns everything: there are no roles to give a table to.
        AlterTableOperation::OwnerTo { .. } => Ok(()),
        AlterTableOperation::DropPrimaryKey { .. } => Err(changed_key(table)),
        other => Err(Error::unsupported(format!("ALTER TABLE ... {other}"), None)),
    }
}

async fn add_column(
    ctx: &StatementContext,
    table: &mut TableDef,
    written: &sqlparser::ast::ColumnDef,
    if_not_exists: bool,
    checks: &mut Vec<NoNulls>,
) -> Result<()> {
    let NewColumn {
        mut def,
        primary_key,
        unique,
        generation,
    } = column::read(ctx, &table.name, written).await?;
    if table.has_column_named(&def.name) {
        if if_not_exists {
            let message = format!(
                "column \"{}\" of relation \"{}\" already exists, skipping",
                def.name, table.name
            );
            notice(ctx, "42701", message, None);
            return Ok(());
        }
        return Err(duplicate_column(&def.name, table));
    }
    if primary_key.is_some() {
        return Err(changed_key(table));
    }
    if unique.is_some() {
        return Err(Error::unsupported(
            "ADD COLUMN ... UNIQUE",
            Some("Add the column first, then ADD UNIQUE (column)."),
        ));
    }
    if let Some(expr) = generation {
        def.default = Some(generation::read(ctx, &table.name, &table.columns, &def, &expr)?);
    }
    let unfilled = match missing_value(ctx, &def).await? {
        Some(missing) => {
            def.missing = missing;
            (def.not_null && def.missing == Value::Null).then(|| contains_null(table, &def.name))
        }
        None => Some(per_row_default(&def.name)),
    };
    if let Some(error) = &unfilled
        && !is_empty(&ctx.txn, table).await?
    {
        return Err(error.clone());
    }
    let serial = def.is_serial();
    let id = table.add_column(def)?;
    checks.extend(unfilled.map(|error| NoNulls { column: id, error }));
    if serial {
        Sequences::create_one(&ctx.txn, table, id)?;
    }
    Ok(())
}

/// What rows that are there already read the new column as: its default, evaluated once; `None` for one that differs from
/// row to row, which a table with rows cannot get.
async fn missing_value(ctx: &StatementContext, column: &crate::catalog::ColumnDef) -> Result<Option<Value>> {
    match &column.default {
        None => Ok(Some(Value::Null)),
        Some(ColumnDefault::Constant { value, .. }) => Ok(Some(value.clone())),
        Some(ColumnDefault::Expression { sql }) => {
            let expr = dml::parse_expression(sql)?;
            if default::is_volatile(&expr) {
                return Ok(None);
            }
            let evaluated = dml::evaluate_default(ctx, &expr, &column.ty, &column.name);
            evaluated.await.map(Some)
        }
        Some(
            ColumnDefault::Sequence
            | ColumnDefault::Identity { .. }
            | ColumnDefault::RowId
            | ColumnDefault::Generated(_),
        ) => Ok(None),
    }
}

fn contains_null(table: &TableDef, column: &str) -> Error {
    Error::ContainsNull {
        table: table.name.clone(),
        column: column.to_string(),
    }
}

fn per_row_default(column: &str) -> Error {
    Error::unsupported(
        format!(
            "ADD COLUMN with a default that differs from row to row (\"{column}\"), on a table that has rows"
        ),
        Some("Add the column without a default, UPDATE the rows, then ALTER COLUMN ... SET DEFAULT."),
    )
}

fn drop_column(
    ctx: &StatementContext,
    table: &mut TableDef,
    name: &Ident,
    if_exists: bool,
    cascade: bool,
) -> Result<()> {
    let name = names::fold(name);
    let Some(at) = table.column_index(&name) else {
        if !if_exists {
            return Err(undefined_column(&name, table));
        }
        let message = format!(
            "column \"{name}\" of relation \"{}\" does not exist, skipping",
            table.name
        );
        notice(ctx, "00000", message, None);
        return Ok(());
    };
    let (id, is_serial) = (table.columns[at].id, table.columns[at].is_serial());
    if table.is_key_column(id) {
        return Err(changed_key(table));
    }
    check_no_views(ctx, table, &format!("dropping column \"{name}\""))?;
    drop_dependents(table, id, &name, cascade)?;
    let has_column = |index: &IndexDef| index.held_columns().any(|held| held == id);
    if let Some(index) = table
        .indexes
        .iter()
        .find(|index| index.constraint && has_column(index))
        && !cascade
        && index.columns.len() > 1
    {
        return Err(Error::DependentObjects {
            object: format!("column {name} of table {}", table.name),
            dependents: vec![format!(
                "constraint {} on table {} depends on it",
                index.name, table.name
            )],
        });
    }
    table.indexes.retain(|index| !has_column(index));
    table.columns.retain(|column| column.id != id);
    if is_serial {
        Sequences::drop_one(&ctx.txn, table, id)?;
    }
    Ok(())
}

/// Drops the generated columns that are computed of a column. Errors: 2BP01 without CASCADE, 0A000 for one in the key.
fn drop_dependents(table: &mut TableDef, id: ColumnId, name: &str, cascade: bool) -> Result<()> {
    let dependents: Vec<ColumnDef> = generation::dependents(table, id).cloned().collect();
    if !cascade && !dependents.is_empty() {
        let depends = |column: &ColumnDef| {
            format!(
                "column {} of table {} depends on column {name} of table {}",
                column.name, table.name, table.name
            )
        };
        return Err(Error::DependentObjects {
            object: format!("column {name} of table {}", table.name),
            dependents: dependents.iter().map(depends).collect(),
        });
    }
    if dependents.iter().any(|column| table.is_key_column(column.id)) {
        return Err(changed_key(table));
    }
    for dependent in dependents {
        let has_column = |index: &IndexDef| index.held_columns().any(|held| held == dependent.id);
        table.indexes.retain(|index| !has_column(index));
        table.columns.retain(|column| column.id != dependent.id);
    }
    Ok(())
}

fn rename_table(ctx: &StatementContext, table: &mut TableDef, name: String) -> Result<()> {
    check_no_views(ctx, table, "renaming it")?;
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
    if table.has_column_named(&new) {
        return Err(duplicate_column(&new, table));
    }
    check_no_views(ctx, table, &format!("renaming column \"{old}\""))?;
    generation::rename_input(table, &old, &new)?;
    table.columns[at].name = new;
    Ok(())
}

/// Views are kept as text, which names relations and columns.
fn check_no_views(ctx: &StatementContext, table: &TableDef, change: &str) -> Result<()> {
    // Nor may anybody be creating one.
    ctx.txn.guard(&dependents_key(table.oid));
    match ctx.catalog.views_reading(table.oid).next() {
        None => Ok(()),
        Some(view) => Err(Error::FeatureNotSupported {
            feature: format!(
                "{change} while view \"{}\" reads table \"{}\"",
                view.name, table.name
            ),
            hint: Some(format!(
                "Use DROP VIEW {} first, and create it again afterwards.",
                view.name
            )),
        }),
    }
}

async fn alter_column(
    ctx: &StatementContext,
    table: &mut TableDef,
    name: &Ident,
    operation: &AlterColumnOperation,
    checks: &mut Vec<NoNulls>,
) -> Result<()> {
    let name = names::fold(name);
    let at = table
        .column_index(&name)
        .ok_or_else(|| undefined_column(&name, table))?;
    let column = table.columns[at].clone();
    let changes_default = matches!(
        operation,
        AlterColumnOperation::SetDefault { .. } | AlterColumnOperation::DropDefault
    );
    if changes_default && column.generation().is_some() {
        return Err(Error::InvalidStatement {
            state: StatementFault::Syntax,
            message: format!(
                "column \"{name}\" of relation \"{}\" is a generated column",
                table.name
            ),
            hint: Some("Add a column with the default, and drop this one.".to_string()),
        });
    }
    match operation {
        AlterColumnOperation::SetDefault { value } => {
            table.columns[at].default = default::read(ctx, value, &column.ty, &name).await?;
        }
        AlterColumnOperation::DropDefault => table.columns[at].default = None,
        AlterColumnOperation::SetNotNull => {
            if !column.is_never_null() {
                let error = contains_null(table, &name);
                if has_null(&ctx.txn, table, at, || Ok(())).await? {
                    return Err(error);
                }
                let column = column.id;
                checks.push(NoNulls { column, error });
            }
            table.columns[at].not_null = true;
        }
        AlterColumnOperation::DropNotNull => {
            if table.is_key_column(column.id) {
                return Err(Error::InvalidStatement {
                    state: StatementFault::InvalidTableDefinition,
                    message: format!("column \"{name}\" is in a primary key"),
                    hint: None,
                });
            }
            table.columns[at].not_null = false;
            table.columns[at]
                .unverified
                .take_if(|unverified| *unverified == Unverified::NotNull);
        }
        AlterColumnOperation::SetDataType {
            data_type,
            using: None,
            ..
        } => {
            let ty = type_name::sql_type(data_type)?;
            if !is_wider(&column.ty, &ty) {
                return Err(Error::unsupported(
                    format!("changing column \"{name}\" from {} to {ty}", column.ty),
                    Some("Add a column of the new type, UPDATE it from the old one, and drop that."),
                ));
            }
            if let Some(dependent) = generation::dependents(table, column.id).next() {
                return Err(Error::unsupported(
                    format!(
                        "altering the type of a column used by the generated column \"{}\"",
                        dependent.name
                    ),
                    Some("Drop the generated column first."),
                ));
            }
            table.columns[at].ty = ty;
        }
        other => return Err(Error::unsupported(format!("ALTER COLUMN ... {other}"), None)),
    }
    Ok(())
}

/// Whether every value of `old` is stored as the same bytes as a value of `new`.
fn is_wider(old: &SqlType, new: &SqlType) -> bool {
    match (old, new) {
        (old, new) if old == new => true,
        (SqlType::Varchar(_) | SqlType::Text, SqlType::Text | SqlType::Varchar(None)) => true,
        (SqlType::Varchar(Some(old)), SqlType::Varchar(Some(new))) => old <= new,
        _ => false,
    }
}

fn add_constraint(
    ctx: &StatementContext,
    table: &TableDef,
    constraint: &TableConstraint,
) -> Result<NewIndex> {
    match constraint {
        TableConstraint::Unique(unique) => {
            let unique = key::read_unique(unique)?;
            let columns = key::key_columns(KeyKind::Unique, &unique.columns, &table.columns)?;
            let name = match unique.name {
                Some(name) => {
                    key::check_free(ctx, &table.schema, &name)?;
                    name
                }
                None => {
                    let ids = columns.iter().map(|key| key.column);
                    let base = key::default_name(&table.name, ids, &table.columns, "key");
                    free_name(&ctx.catalog, &table.schema, base, &[])
                }
            };
            Ok(NewIndex {
                name,
                columns,
                include: Vec::new(),
                unique: true,
                constraint: true,
            })
        }
        TableConstraint::PrimaryKey(_) => Err(changed_key(table)),
        TableConstraint::Check(_) => Err(column::check_constraint()),
        TableConstraint::ForeignKey(_) => Err(column::foreign_key()),
        other => Err(Error::unsupported(format!("ADD {other}"), None)),
    }
}

fn drop_constraint(
    ctx: &StatementContext,
    table: &mut TableDef,
    name: &Ident,
    if_exists: bool,
) -> Result<()> {
    let name = names::fold(name);
    if table.primary_key.constraint && table.primary_key.name == name {
        return Err(changed_key(table));
    }
    let known = table.indexes.len();
    table
        .indexes
        .retain(|index| !(index.constraint && index.name == name));
    if table.indexes.len() < known {
        return Ok(());
    }
    if if_exists {
        let message = format!(
            "constraint \"{name}\" of relation \"{}\" does not exist, skipping",
            table.name
        );
        notice(ctx, "00000", message, None);
        return Ok(());
    }
    Err(undefined_constraint(&name, table))
}

fn rename_constraint(ctx: &StatementContext, table: &mut TableDef, old: &str, new: String) -> Result<()> {
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
        None => Err(undefined_constraint(old, table)),
    }
}

/// 0A000: the key is the order of the rows on disk.
fn changed_key(table: &TableDef) -> Error {
    Error::unsupported(
        format!("changing the primary key of \"{}\"", table.name),
        Some(
            "Create a table with the new key, INSERT INTO it SELECT from this one, then drop this one and rename.",
        ),
    )
}

fn undefined_column(name: &str, table: &TableDef) -> Error {
    let nearest = nearest_name(name, table.visible_columns().map(|column| column.name.as_str()));
    Error::UndefinedColumn {
        name: format!("\"{name}\" of relation \"{}\"", table.name),
        hint: nearest.map(|nearest| format!("Perhaps you meant the column \"{nearest}\".")),
    }
}

fn duplicate_column(name: &str, table: &TableDef) -> Error {
    Error::Duplicate {
        kind: DuplicateKind::Column,
        name: format!("{name}\" of relation \"{}", table.name),
    }
}

fn undefined_constraint(name: &str, table: &TableDef) -> Error {
    Error::UndefinedObject {
        kind: "constraint",
        name: format!("{name}\" of relation \"{}", table.name),
    }
}
