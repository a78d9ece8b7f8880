//! The rows that refer to keys that are gone: looked for by statements of their own, which read and write as any do, in a snapshot later
//! than the locks of the keys.

use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::take;

use super::keyed_statement::{KEYS_AT_ONCE, KeyedStatement, no_table, slice};
use super::referenced_keys::{Keys, absent_keys, equal_values, named_columns};
use super::references::{Gone, References};
use super::write_plan::WritePlan;
use crate::catalog::{ForeignKey, ReferentialAction, TableDef};
use crate::codec::row::ColumnId;
use crate::system::StatementContext;
use crate::system::plan_cache::PlanCache;
use crate::table::key_text;
use crate::{Error, Result};

/// Keys that change in one statement at most where rows follow them: all must be known at once, for one may become another.
const CHANGED_KEYS_MAX: usize = 4096;

/// Errors: 23503 for a row that refers to one of the keys, unless that is there again.
pub(super) async fn check_unreferred(ctx: &StatementContext, gone: &Gone) -> Result<()> {
    let by = ctx.table_by_oid(gone.by).cloned().ok_or_else(no_table)?;
    let (key, referenced) = (&gone.foreign_key, &gone.table);
    let found = match gone.action() {
        ReferentialAction::NoAction | ReferentialAction::SetDefault => {
            first_referring(ctx, (&by, key), referenced, &gone.old_keys()).await?
        }
        _ => first_with(ctx, (&by, key), &gone.old_keys()).await?,
    };
    match found {
        None => Ok(()),
        Some(found) => Err(still_referenced((referenced, key), &by, &found)),
    }
}

/// The key of a row that refers to one of these that is not there.
pub(super) async fn first_referring(
    ctx: &StatementContext,
    (by, key): (&TableDef, &ForeignKey),
    referenced: &TableDef,
    keys: &Keys<'_>,
) -> Result<Option<Vec<ArrayRef>>> {
    let absent = absent_keys(ctx, referenced, key, keys, false).await?;
    let absent = UInt32Array::from(absent);
    let columns = keys
        .columns
        .iter()
        .map(|column| take(column, &absent, None).map_err(Error::arrow));
    let columns: Vec<ArrayRef> = columns.collect::<Result<_>>()?;
    let keys = Keys {
        columns: &columns,
        types: keys.types.clone(),
    };
    first_with(ctx, (by, key), &keys).await
}

/// The key of a row that refers to one of these.
async fn first_with(
    ctx: &StatementContext,
    (by, key): (&TableDef, &ForeignKey),
    keys: &Keys<'_>,
) -> Result<Option<Vec<ArrayRef>>> {
    for from in (0..keys.len()).step_by(KEYS_AT_ONCE) {
        let part = slice(keys.columns, from, KEYS_AT_ONCE);
        let Some(run) = KeyedStatement::begin(ctx, (by, key), keys.types.clone()).await? else {
            return Ok(None);
        };
        run.remove_over(&part).await?;
        let text = format!(
            "SELECT {} FROM {} WHERE {} LIMIT 1 FOR KEY SHARE",
            run.names.join(", "),
            run.relation(),
            run.condition(part[0].len())
        );
        if let Some(found) = run.first_row(&text, &[&part]).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Does with the rows that refer to the keys what the foreign key says. What that leaves to be asked goes to `references`.
pub(super) async fn follow(ctx: &StatementContext, gone: &Gone, references: &References) -> Result<()> {
    let changes_keys = gone.action() == ReferentialAction::Cascade && gone.new.is_some();
    let at_once = if changes_keys {
        CHANGED_KEYS_MAX
    } else {
        KEYS_AT_ONCE
    };
    if changes_keys && gone.len() > CHANGED_KEYS_MAX {
        return Err(Error::LimitExceeded {
            state: crate::error::Limit::Program,
            message: format!(
                "ON UPDATE CASCADE of more than {CHANGED_KEYS_MAX} keys of \"{}\" in one statement",
                gone.table.name
            ),
            hint: "Change them in several statements.".to_string(),
        });
    }
    for from in (0..gone.len()).step_by(at_once) {
        let old = slice(&gone.old, from, at_once);
        let by = ctx.table_by_oid(gone.by).cloned().ok_or_else(no_table)?;
        let types = gone.old_keys().types;
        let Some(run) = KeyedStatement::begin(ctx, (&by, &gone.foreign_key), types).await? else {
            return Ok(());
        };
        run.remove_over(&old).await?;
        let (relation, condition) = (run.relation(), run.condition(old[0].len()));
        let key = &gone.foreign_key;
        let is_set = |id: &ColumnId| gone.new.is_some() || key.columns_set().contains(id);
        let set_all = |value: &str| {
            let names = run.names.iter().zip(&key.columns).filter(|(_, id)| is_set(id));
            let set: Vec<String> = names.map(|(name, _)| format!("{name} = {value}")).collect();
            format!("UPDATE {relation} SET {} WHERE {condition}", set.join(", "))
        };
        let (text, new) = match (gone.action(), &gone.new) {
            (ReferentialAction::SetNull, _) => (set_all("NULL"), None),
            (ReferentialAction::SetDefault, _) => (set_all("DEFAULT"), None),
            (_, None) => (format!("DELETE FROM {relation} WHERE {condition}"), None),
            (_, Some(new)) => {
                let set = run.changes(old[0].len());
                let text = format!("UPDATE {relation} SET {set} WHERE {condition}");
                (text, Some(slice(new, from, at_once)))
            }
        };
        let values: Vec<&[ArrayRef]> = std::iter::once(old.as_slice()).chain(new.as_deref()).collect();
        let (ctx, statement) = run.statement(&text, &values)?;
        let plan = WritePlan::of(&ctx, &statement, &PlanCache::default()).await?;
        plan.run(&ctx, None, references).await?;
    }
    Ok(())
}

/// 23503 of a row that is referred to, by a row with the key `found`.
pub(super) fn still_referenced(
    (referenced, key): (&TableDef, &ForeignKey),
    by: &TableDef,
    found: &[ArrayRef],
) -> Error {
    let named = named_columns(referenced, &key.referenced);
    // As the table that is referred to has it.
    let own = named_columns(by, &key.columns);
    let columns = found.iter().zip(own.iter().zip(&named));
    let columns = columns.map(|(column, ((_, own), (_, ty)))| equal_values(column, own, ty));
    let found = match columns.collect::<Result<Vec<_>>>() {
        Ok(found) => found,
        Err(error) => return error,
    };
    Error::ForeignKeyViolation {
        schema: by.schema.clone(),
        table: by.name.clone(),
        constraint: key.name.clone(),
        message: format!(
            "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
            referenced.name, key.name, by.name
        ),
        detail: format!(
            "Key {} is still referenced from table \"{}\".",
            key_text(&named, &found, 0),
            by.name
        ),
    }
}
