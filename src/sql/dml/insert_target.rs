//! What an INSERT writes to: its table, and the columns that it names. Called by `insert` and `merge`.

use sqlparser::ast::{self, ObjectName, Spanned, TableObject};

use super::named_columns::NamedColumns;
use super::set;
use super::target::{Target, column_name};
use crate::catalog::Access;
use crate::parse::text_place;
use crate::parse::unread_words;
use crate::system::StatementContext;
use crate::{Error, Result};

/// The table of an INSERT and the names of its columns: those listed, or all. `narrows`: without those that it has nothing to do with.
/// Errors: 42P01, 42703, 42701.
pub(super) fn target_of(
    ctx: &StatementContext,
    insert: &ast::Insert,
    narrows: bool,
) -> Result<(Target, Vec<String>)> {
    let (mut target, names) = whole_target_of(ctx, insert)?;
    let lists_columns = !unread_words::split(&insert.columns).named.is_empty();
    if narrows && lists_columns && !updates_key(&target, insert)? {
        target.narrow(ctx, NamedColumns::of_insert(insert, &names))?;
    }
    Ok((target, names))
}

fn whole_target_of(ctx: &StatementContext, insert: &ast::Insert) -> Result<(Target, Vec<String>)> {
    let TableObject::TableName(name) = &insert.table else {
        return Err(Error::unsupported(format!("INSERT INTO {}", insert.table), None));
    };
    let target = Target::find(
        ctx,
        name,
        insert.table_alias.as_ref().map(|alias| &alias.alias),
        Access::Insert,
    )?;
    let names = columns_named(&target, unread_words::split(&insert.columns).named)?;
    Ok((target, names))
}

/// The columns of this list of an INSERT, or all. Errors: 42703, 42701.
pub(super) fn columns_named(target: &Target, named: &[ObjectName]) -> Result<Vec<String>> {
    if named.is_empty() {
        let columns = target.table.visible_columns();
        return Ok(columns.map(|column| column.name.clone()).collect());
    }
    let mut names: Vec<String> = Vec::with_capacity(named.len());
    for column in named {
        let name = column_name(column, &target.table.name)?;
        text_place::at_span(target.column(&name), column.span())?;
        if names.contains(&name) {
            return Err(Error::DuplicateColumn { name });
        }
        names.push(name);
    }
    Ok(names)
}

/// Whether ON CONFLICT DO UPDATE sets a column of the primary key. Errors: 42703 for a qualified name.
fn updates_key(target: &Target, insert: &ast::Insert) -> Result<bool> {
    let Some(ast::OnInsert::OnConflict(conflict)) = &insert.on else {
        return Ok(false);
    };
    match &conflict.action {
        ast::OnConflictAction::DoNothing => Ok(false),
        ast::OnConflictAction::DoUpdate(update) => set::sets_key(target, &update.assignments),
    }
}
