//! CHECK constraints of CREATE TABLE and ALTER TABLE: read, named, added, renamed and removed. What they are asked of, and when,
//! stands in `sql::dml`.

use sqlparser::ast::{self, Expr, Ident};

use super::table_change::Change;
use super::{constraint_name, notice, row_expression};
use crate::catalog::{CheckConstraint, MadeName, TableDef};
use crate::codec::row::ColumnId;
use crate::error::{DuplicateKind, StatementFault};
use crate::parse::names;
use crate::query;
use crate::sql::dml;
use crate::system::StatementContext;
use crate::{Error, Result};

/// A CHECK constraint as written.
#[derive(Clone)]
pub(super) struct NewCheck {
    /// Its name, if given.
    pub(super) name: Option<String>,
    pub(super) expr: Expr,
    pub(super) no_inherit: bool,
    /// It is that of the table of which its own is a partition.
    pub(super) of_parent: bool,
}

impl NewCheck {
    /// `name`: where a column's has it.
    pub(super) fn of(written: &ast::CheckConstraint, name: Option<String>) -> NewCheck {
        NewCheck {
            name: name.or_else(|| written.name.as_ref().map(names::fold)),
            expr: Expr::clone(&written.expr),
            no_inherit: crate::parse::is_no_inherit(written),
            of_parent: false,
        }
    }
}

/// Adds a constraint to a table that has its columns; answers its name. Errors: 42710 for a name that is taken, 42703, 42804, 42803,
/// 42P20, 0A000 for what the expression may not hold.
pub(super) async fn define(
    ctx: &StatementContext,
    table: &mut TableDef,
    new: NewCheck,
    not_valid: bool,
) -> Result<String> {
    row_expression::check_no_subquery(&new.expr, "check constraint")?;
    dml::check_condition(ctx, table, &row_expression::with_schemas(ctx, &new.expr))?;
    let expr = row_expression::kept(ctx, &new.expr, &table.name);
    let expr = query::pinned_condition(ctx, table, &expr)?;
    let columns = row_expression::columns_named(&expr, &table.columns);
    let name = match new.name {
        Some(name) => name,
        None => {
            let named = match columns.as_slice() {
                [only] => table.column_index_by_id(*only),
                _ => None,
            };
            let column = named.map(|at| table.columns[at].name.as_str());
            let base = match column {
                Some(column) => MadeName::of_columns(&table.name, [column], "check"),
                None => MadeName::of_table(&table.name, "check"),
            };
            constraint_name::free(ctx, table, base)
        }
    };
    let (text, pretty_text) = query::condition_text(ctx, table, &expr)?;
    let check = CheckConstraint {
        oid: ctx.sequences.object_ids().take_oid().await?,
        name: name.clone(),
        sql: expr.to_string(),
        text,
        pretty_text,
        columns,
        no_inherit: new.no_inherit,
        not_valid,
        comment: None,
    };
    table.checks.push(check);
    sort(table);
    Ok(name)
}

/// ADD CONSTRAINT … CHECK. Errors: as [`define`]; what is there already is asked when all operations are known.
pub(super) async fn add(
    ctx: &StatementContext,
    change: &mut Change,
    new: NewCheck,
    not_valid: bool,
) -> Result<()> {
    if let Some(name) = new.name.as_ref().filter(|name| change.table.has_constraint(name)) {
        return Err(constraint_name::taken(name, &change.table));
    }
    let name = define(ctx, &mut change.table, new, not_valid).await?;
    if !not_valid {
        change.row_checks.push(name);
    }
    Ok(())
}

/// Adds that of a new table. Errors: as [`define`].
pub(super) async fn define_of_new(ctx: &StatementContext, table: &mut TableDef, new: NewCheck) -> Result<()> {
    if is_merged(ctx, table, &new).await? {
        return Ok(());
    }
    check_not_repeated(table, &new)?;
    define(ctx, table, new, false).await.map(drop)
}

/// Whether a new partition says itself what it is given of its parent's under that name, of which it is told. Errors: 42710 where it says
/// something else.
async fn is_merged(ctx: &StatementContext, table: &TableDef, new: &NewCheck) -> Result<bool> {
    let own = new.name.as_ref().and_then(|name| table.check(name));
    let Some(own) = own.filter(|_| new.of_parent) else {
        return Ok(false);
    };
    let mut other = table.clone();
    other.checks.clear();
    define(ctx, &mut other, new.clone(), false).await?;
    if other.checks.iter().any(|check| check.sql != own.sql) || own.no_inherit {
        return Err(constraint_name::taken(&own.name, table));
    }
    let message = format!("merging constraint \"{}\" with inherited definition", own.name);
    notice(ctx, "00000", message, None);
    Ok(true)
}

/// Errors: 42710 in the words that PostgreSQL has for one statement that names two alike.
fn check_not_repeated(table: &TableDef, new: &NewCheck) -> Result<()> {
    match new.name.as_ref().filter(|name| table.check(name).is_some()) {
        Some(name) => Err(Error::Duplicate {
            kind: DuplicateKind::Check,
            name: name.clone(),
        }),
        None => Ok(()),
    }
}

/// VALIDATE CONSTRAINT. Errors: 42704, 42809 for one of another kind.
pub(super) fn validate(change: &mut Change, name: &Ident) -> Result<()> {
    let name = names::fold(name);
    let table = &mut change.table;
    if let Some(check) = table.checks.iter_mut().find(|check| check.name == name) {
        if std::mem::take(&mut check.not_valid) {
            change.row_checks.push(name);
        }
        return Ok(());
    }
    if let Some(key) = table.foreign_keys.iter_mut().find(|key| key.name == name) {
        if std::mem::take(&mut key.not_valid) {
            change.foreign_keys.push((key.clone(), true));
        }
        return Ok(());
    }
    Err(match table.has_constraint(&name) {
        true => Error::InvalidStatement {
            state: StatementFault::WrongObjectType,
            message: format!(
                "constraint \"{name}\" of relation \"{}\" is not a foreign key or check constraint",
                table.name
            ),
            hint: None,
        },
        false => constraint_name::undefined(&name, table),
    })
}

/// Writes a column's new name into the constraints that name it; the table has it already. Errors: `Corrupt`.
pub(super) fn rename_column(
    ctx: &StatementContext,
    table: &mut TableDef,
    id: ColumnId,
    (old, new): (&str, &str),
) -> Result<()> {
    for at in 0..table.checks.len() {
        if table.checks[at].columns.contains(&id) {
            let sql = row_expression::with_column_renamed(&table.checks[at].sql, old, new)?;
            table.checks[at].sql = sql;
            print(ctx, table, at)?;
        }
    }
    Ok(())
}

/// A column has another type: the constraints that name it must hold of that, and be written so. Errors: those of binding.
pub(super) fn retype_column(ctx: &StatementContext, change: &mut Change, id: ColumnId) -> Result<()> {
    for at in 0..change.table.checks.len() {
        if !change.table.checks[at].columns.contains(&id) {
            continue;
        }
        // As it is printed it says what its literals and operands are.
        let check = &mut change.table.checks[at];
        check.sql.clone_from(&check.text);
        let expr = dml::parse_expression(&check.sql)?;
        dml::check_condition(ctx, &change.table, &expr).map_err(Error::without_place)?;
        print(ctx, &mut change.table, at)?;
        let check = &change.table.checks[at];
        if !check.not_valid {
            change.row_checks.push(check.name.clone());
        }
    }
    Ok(())
}

/// Gives a constraint another name.
pub(super) fn rename(table: &mut TableDef, old: &str, new: String) {
    let named = table.checks.iter_mut().find(|check| check.name == old);
    if let Some(check) = named {
        check.name = new;
    }
    sort(table);
}

fn print(ctx: &StatementContext, table: &mut TableDef, at: usize) -> Result<()> {
    let expr = dml::parse_expression(&table.checks[at].sql)?;
    let (text, pretty_text) = query::condition_text(ctx, table, &expr)?;
    let check = &mut table.checks[at];
    (check.text, check.pretty_text) = (text, pretty_text);
    Ok(())
}

/// Rows are asked in the order of names.
fn sort(table: &mut TableDef) {
    table.checks.sort_by(|a, b| a.name.cmp(&b.name));
}
